//! Conjugate gradients (Hestenes & Stiefel 1952): the builder that a caller sees. The method itself is in `method.rs`.
//!
//! # From `cg(&a, &b)` to the answer
//! 1. `Cg::solve` checks shapes and tolerances, prepares the preconditioner (`../preconditioner.rs`) and chooses the engine: the device's if
//!    `LinearOperator::on_device` returns a matrix there, else the CPU's. The type of `b` tells where the solution goes (`src/vector.rs`).
//! 2. `Cg::run` answers the cases that need no iteration, such as a right-hand side of zeros.
//! 3. `method.rs` makes a sequence of iterations, confirms the residual on `b - A x`, and starts again from there if it has drifted. It
//!    works through the trait `Engine` (`engine.rs`), whose implementation owns the vectors.
//! 4. On the CPU `stepwise.rs` takes the decisions between the passes that `host/` makes with rayon. On a device the kernels take the
//!    same decisions (`device/`).
//! 5. `../outcome.rs` holds the `Solution` with its `Status`. The callback's `Progress` fetches `x` only on request.

pub(crate) mod device;
mod engine;
mod host;
mod method;
mod stepwise;

#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Instant;

use device::{DeviceEngine, MAX_BLOCK};
use engine::Engine;
use host::HostEngine;
use method::{Method, Outcome};

use super::LinearOperator;
use super::log::{Callback, Log, Monitor};
use super::outcome::{Progress, Quantity, ResidualNorm, Solution, Status};
use super::preconditioner::{Identity, Preconditioner, Prepared};
use crate::product::check_length;
use crate::vector::{Host, IntoView, VectorBackend};
use crate::{Result, Scalar, SparseError, start_threads};

/// Begins the solution of `A x = b` for a symmetric positive definite `A`, by conjugate gradients.
///
/// `a` is a [`CsrMatrix`](crate::CsrMatrix) or any other [`LinearOperator`]. With a [`DeviceMatrix`](crate::DeviceMatrix) the solve runs
/// on its device, else on the CPU's threads. `b` is a slice, an array or a vector on the host, or on a device a `&GpuArray`, a view of one or an
/// expression; the solution comes back where `b` is. The builder's methods are SciPy's keywords, with SciPy's defaults; [`solve`](Cg::solve) does the work.
///
/// Several right-hand sides take a loop, `for j in 0..k { linalg::cg(&a, b.column(j)).solve()?; }`; column `j` of a matrix on the device is
/// `b.slice(s![.., j])?`.
///
/// ```
/// use gpu_sparse::{gallery, linalg};
///
/// let a = gallery::Poisson::one_d(100).build::<f64>()?;
/// let solution = linalg::cg(&a, &vec![1.0; 100]).rtol(1e-10).solve()?;
/// assert!(solution.is_converged() && solution.iterations == 50);
/// # Ok::<(), gpu_sparse::SparseError>(())
/// ```
pub fn cg<'a, T: Scalar, B: IntoView<'a, T>>(a: &'a impl LinearOperator<T>, b: B) -> Cg<'a, T, B::Backend> {
    Cg {
        a,
        b: b.into_view(),
        x0: None,
        rtol: 1e-5,
        atol: 0.0,
        maxiter: None,
        preconditioner: Box::new(Identity),
        callback: None,
        monitor: None,
        check_every: None,
    }
}

/// A solve by conjugate gradients, ready to run: see [`cg`].
///
/// # The method
/// With `r = b - A x`, `z = M r`, `p = z`, each iteration makes three passes:
/// 1. `q = A p` and `p . q` (matrix + 2n); `alpha = r . z / p . q`;
/// 2. `r -= alpha q`, `r . r` (and `r . z`) (3n; 4n with Jacobi); `beta = r . z / (r . z of before)`;
/// 3. `x += alpha p`, `p = z + beta p` (5n; 6n with Jacobi, whose `z` is never stored).
///
/// That is the matrix and 10n elements moved per iteration, 12n with Jacobi, 15n and the operator's own traffic with another
/// preconditioner. Vectors are in the element type, sums in f64. The residual is scaled by a power of two to about 1, so `b` and `A`
/// may have any scale that f64 squares would not survive; this changes no bits otherwise.
///
/// # When it stops
/// - The test `|r| <= max(rtol |b|, atol)` is made before the first and after every iteration. When it holds, `b - A x` is
///   computed. Within twice the tolerance the answer is [`Status::Converged`]; else the recurrence has drifted, as it does near
///   the attainable accuracy, and the iteration starts again from the true residual: at most three times, and only while the
///   true residual at least halves from one confirmation to the next. After that it is [`Status::Stagnated`].
/// - A recursive residual below `eps |b|` (`eps` of the element type) says nothing about `x` any more: it is confirmed in the same
///   way, whatever the tolerance. So `rtol = atol = 0` ends, with `Converged` where `b - A x` is exactly 0 and else `Stagnated`.
/// - `p . q <= 0`, or a step so long that the residual would grow more than `1 / (16 eps)` times (for a positive definite matrix
///   that takes a condition number above 1e29 in f64, 1e12 in f32; for a skew or singular one it is the rounding error of
///   `p . q` that has been divided by): [`Status::NotPositiveDefinite`]. `r . z <= 0`: [`Status::PreconditionerNotPositive`].
/// - A NaN or an infinity: [`Status::NonFinite`]. In `A`, `b` or `x0` it is found before the first iteration and `x` is the guess;
///   of a host matrix it has row and column ([`Quantity::Element`]);
///   later, `x` is left as the last good iteration made it. A solution beyond the range of its type ends so, too, in the residual.
///
/// `b = 0` gives `x = 0` after no iterations, whatever the guess. Whether `A` is symmetric is not checked
/// ([`CsrMatrix::is_symmetric`](crate::CsrMatrix::is_symmetric) does); a convergence reported is true for any `A`.
///
/// # Determinism
/// On the CPU the result is bitwise the same for any number of threads, given an operator of which that is true (as of a `CsrMatrix` and a
/// `PacketMatrix`). On a device (a `DeviceMatrix`) it is bitwise the same on every run and every device, whatever
/// [`check_every`](Cg::check_every), callback or monitor. Between the two, and between the formats, the order of additions differs, and
/// with it the last digits and, on badly conditioned systems, the number of iterations.
///
/// # On a device
/// Five vectors (six with a preconditioner) live there during a solve, on a stream of the solve's own: solves with one matrix run side by side.
/// The device takes the decisions of an iteration itself. The host enqueues blocks of iterations as captured graphs and looks at the
/// results of one block while the next runs; a solve that stops within a block freezes, so it ends in the very iteration in which it would
/// have ended with a look after each. The cost of this is at most two blocks of launches that read some vectors and change nothing. A callback makes
/// the host look after each iteration, and costs a copy of `x` where it asks for it; a monitor does not. A preconditioner that
/// is an operator costs a copy of `r` and one of `z` and two looks per iteration, unless it is a `DeviceMatrix` on the same device.
#[must_use = "nothing is computed before solve()"]
pub struct Cg<'a, T: Scalar, P: VectorBackend = Host> {
    a: &'a dyn LinearOperator<T>,
    b: P::View<'a, T>,
    x0: Option<P::View<'a, T>>,
    rtol: f64,
    atol: f64,
    maxiter: Option<usize>,
    preconditioner: Box<dyn Preconditioner<T> + 'a>,
    callback: Option<Callback<'a, T>>,
    monitor: Option<Monitor<'a>>,
    check_every: Option<usize>,
}

impl<T: Scalar, P: VectorBackend> fmt::Debug for Cg<'_, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rtol, atol, maxiter, .. } = self;
        let mut out = f.debug_struct("Cg");
        out.field("shape", &self.a.shape()).field("rtol", rtol).field("atol", atol).field("maxiter", maxiter);
        out.finish_non_exhaustive()
    }
}

impl<'a, T: Scalar, P: VectorBackend> Cg<'a, T, P> {
    /// The initial guess, at the place of `b`; zeros by default.
    pub fn x0(mut self, x0: impl IntoView<'a, T, Backend = P>) -> Self {
        self.x0 = Some(x0.into_view());
        self
    }

    /// Tolerance relative to the norm of `b`; 1e-5 by default.
    pub fn rtol(mut self, rtol: f64) -> Self {
        self.rtol = rtol;
        self
    }

    /// Absolute tolerance; 0 by default. The larger of the two counts.
    pub fn atol(mut self, atol: f64) -> Self {
        self.atol = atol;
        self
    }

    /// Most iterations to make; ten times the number of unknowns by default.
    pub fn maxiter(mut self, maxiter: usize) -> Self {
        self.maxiter = Some(maxiter);
        self
    }

    /// An approximation of `A^-1`: [`Jacobi`](super::Jacobi), or an operator such as `&matrix`.
    #[doc(alias = "M")]
    pub fn preconditioner(mut self, preconditioner: impl Preconditioner<T> + 'a) -> Self {
        self.preconditioner = Box::new(preconditioner);
        self
    }

    /// Called after every iteration, with `x` up to date. Makes a solve on a device wait after each; see [`monitor`](Cg::monitor).
    pub fn callback(mut self, callback: impl FnMut(&Progress<'_, T>) + 'a) -> Self {
        self.callback = Some(Box::new(callback));
        self
    }

    /// Shown the residual of every iteration, in order. On a device that comes some iterations late, and costs nothing.
    pub fn monitor(mut self, monitor: impl FnMut(&ResidualNorm) + 'a) -> Self {
        self.monitor = Some(Box::new(monitor));
        self
    }

    /// How many iterations a device makes between two looks of the host, from 1 to 64; by default as many as take some 250 us, at least 4.
    /// It changes nothing about the result. The CPU has no use for it.
    pub fn check_every(mut self, iterations: usize) -> Self {
        self.check_every = Some(iterations);
        self
    }

    /// Compiles and loads the kernels that this solve launches on a device, side by side on all processors. [`solve`](Cg::solve) does so at its
    /// start; who calls this before keeps the compiler's time out of [`Solution::elapsed`]. Takes next to nothing when they are in the cache on disk
    /// or loaded, and nothing where the solve runs on the CPU.
    ///
    /// # Errors
    /// `Driver`: no NVRTC, a lost device; the preconditioner's error when it cannot be made for `A`.
    pub fn load_kernels(&self) -> Result<()> {
        match self.a.on_device() {
            Some(a) => device::load_kernels(a, &self.preconditioner.prepare(self.a)?),
            None => Ok(()),
        }
    }

    /// Solves. How that went is in [`Solution::status`].
    ///
    /// # Errors
    /// `Shape` when `A` is not square or `b`, `x0` or the preconditioner do not fit it; `Parameter` when a tolerance is negative or
    /// NaN, or `check_every` not from 1 to 64; the preconditioner's error when it cannot be made for `A`; an operator's error when it fails;
    /// `Threads`; `Driver` when the device fails, or when `A` and a vector are on different devices; `Array` when the solution cannot be made
    /// an array.
    pub fn solve(mut self) -> Result<Solution<T, P>> {
        let started = Instant::now();
        self.check()?;
        start_threads()?;
        let (callback, monitor) = (self.callback.take(), self.monitor.take());
        let log = Log { norm_b: 0.0, history: Vec::new(), callback, monitor };
        let preconditioner = self.preconditioner.prepare(self.a)?;
        if let Prepared::Diagonal(inverse) = &preconditioner {
            check_length("linalg::cg", "the preconditioner's diagonal", inverse.len(), self.a.shape().0)?;
        }
        let Some(a) = self.a.on_device() else {
            let x0 = self.x0.as_ref().map(P::on_host).transpose()?;
            let engine = HostEngine::new(self.a, P::on_host(&self.b)?, x0, preconditioner);
            return self.run(engine, log)?.into_solution(started, |x| P::from_host(x, &self.b));
        };
        if (a.rows(), a.cols()) != self.a.shape() {
            let ((rows, cols), (got_rows, got_cols)) = (self.a.shape(), (a.rows(), a.cols()));
            let (expected, got) =
                (format!("{rows} x {cols} on the device, as the operator"), format!("{got_rows} x {got_cols}"));
            return Err(SparseError::Shape { op: "linalg::cg", expected, got });
        }
        let engine = DeviceEngine::new(a, preconditioner, self.check_every, |stream| {
            let x0 = self.x0.as_ref().map(|x0| P::on_stream(x0, stream)).transpose()?;
            Ok((P::on_stream(&self.b, stream)?, x0))
        })?;
        self.run(engine, log)?.into_solution(started, |x| P::from_device(x, &self.b))
    }

    /// Iterates, unless `b` is zero, or `b`, `A` or the guess is not finite.
    fn run<E: Engine<T>>(&self, mut engine: E, mut log: Log<'_, T>) -> Result<Outcome<E::Vector>> {
        let norm_b = engine.norm_of_b()?;
        let non_finite = if !norm_b.is_finite() {
            Some(Quantity::RightHandSide)
        } else if !self.a.is_finite() {
            Some(non_finite_element(self.a))
        } else if norm_b > 0.0 && self.x0.is_some() && !engine.guess_is_finite()? {
            Some(Quantity::Guess)
        } else {
            None
        };
        if let Some(quantity) = non_finite {
            let (status, residual_norm) = (Status::NonFinite { quantity, iteration: 0 }, f64::NAN);
            return Ok(Outcome { x: engine.into_solution()?, status, norm_b, residual_norm, history: log.history });
        }
        if norm_b == 0.0 {
            let (status, history) = (Status::Converged, vec![0.0]);
            return Ok(Outcome { x: engine.into_zero()?, status, norm_b, residual_norm: 0.0, history });
        }
        log.norm_b = norm_b;
        let method = Method {
            norm_b,
            tolerance: (self.rtol * norm_b).max(self.atol),
            floor: T::epsilon().into() * norm_b,
            maxiter: self.maxiter.unwrap_or_else(|| self.a.shape().0.saturating_mul(10)),
            guessed: self.x0.is_some(),
        };
        let (status, residual_norm) = method.run(&mut engine, &mut log)?;
        Ok(Outcome { x: engine.into_solution()?, status, norm_b, residual_norm, history: log.history })
    }

    /// Shapes and parameters.
    fn check(&self) -> Result<()> {
        const OP: &str = "linalg::cg";
        let (n, cols) = self.a.shape();
        if n != cols {
            return Err(SparseError::Shape {
                op: OP,
                expected: "a square matrix".into(),
                got: format!("{n} x {cols}"),
            });
        }
        check_length(OP, "b", P::length(&self.b)?, n)?;
        if let Some(x0) = &self.x0 {
            check_length(OP, "x0", P::length(x0)?, n)?;
        }
        for (name, value) in [("rtol", self.rtol), ("atol", self.atol)] {
            if value.is_nan() || value < 0.0 {
                return Err(SparseError::Parameter { name, value, range: "at least 0" });
            }
        }
        match self.check_every {
            Some(k) if !(1..=MAX_BLOCK).contains(&k) => {
                Err(SparseError::Parameter { name: "check_every", value: k as f64, range: "from 1 to 64" })
            }
            _ => Ok(()),
        }
    }
}

/// The element of a matrix that is not finite, where the operator knows its place.
fn non_finite_element<T: Scalar>(a: &dyn LinearOperator<T>) -> Quantity {
    let of = |(row, col, value): (usize, usize, T)| Quantity::Element { row, col, is_nan: value.is_nan() };
    a.first_non_finite().map_or(Quantity::Matrix, of)
}
