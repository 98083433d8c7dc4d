//! Conjugate gradients (Hestenes & Stiefel 1952): what a caller asks for. The method itself is in `method.rs`.

use std::fmt;
use std::time::Instant;

use gpu_algos::reference::norm2;
use ndarray::ArrayView1;

use super::LinearOperator;
use super::cpu::Cpu;
use super::cuda::Cuda;
use super::engine::System;
use super::method::{Callback, Method, Outcome};
use super::outcome::{Progress, Quantity, Solution, Status};
use super::preconditioner::{Identity, Preconditioner};
use crate::csr::{check_length, contiguous};
use crate::{Result, Scalar, SparseError};

/// Begins the solution of `A x = b` for a symmetric positive definite `A`, by conjugate gradients.
///
/// `a` is a [`CsrMatrix`](crate::CsrMatrix) or any other [`LinearOperator`]; `b` an array, slice or vector. With a
/// [`DeviceCsr`](crate::DeviceCsr) the solve runs on its device, else on the CPU's threads. The builder's methods
/// are SciPy's keywords, with SciPy's defaults; [`solve`](Cg::solve) does the work.
///
/// ```
/// use gpu_sparse::{gallery, linalg};
///
/// let a = gallery::Poisson::one_d(100).build::<f64>()?;
/// let solution = linalg::cg(&a, &vec![1.0; 100]).rtol(1e-10).solve()?;
/// assert!(solution.is_converged() && solution.iterations == 50);
/// # Ok::<(), gpu_sparse::SparseError>(())
/// ```
pub fn cg<'a, T: Scalar>(a: &'a impl LinearOperator<T>, b: impl Into<ArrayView1<'a, T>>) -> Cg<'a, T> {
    Cg {
        a,
        b: b.into(),
        x0: None,
        rtol: 1e-5,
        atol: 0.0,
        maxiter: None,
        preconditioner: Box::new(Identity),
        callback: None,
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
///   later, `x` is left as the last good iteration made it. A solution beyond the range of its type ends so, too, in the residual.
///
/// `b = 0` gives `x = 0` after no iterations, whatever the guess. Whether `A` is symmetric is not checked
/// ([`CsrMatrix::is_symmetric`](crate::CsrMatrix::is_symmetric) does); a convergence reported is true for any `A`.
///
/// # Determinism
/// On the CPU bitwise the same for any number of threads, given an operator of which that is true (a `CsrMatrix` is one). On a
/// device (a `DeviceCsr`) bitwise the same on every run and every device. Between the two the order of additions differs, and with
/// it the last digits and, on badly conditioned systems, the number of iterations.
///
/// # On a device
/// `b` and the guess are copied there and the solution back; five vectors (six with a preconditioner) stay there meanwhile. The host
/// waits for two sums in each iteration. A callback costs a copy of `x` per iteration; a preconditioner that is an operator one
/// of `r` and one of `z`, unless it is a `DeviceCsr` on the same device.
#[must_use = "nothing is computed before solve()"]
pub struct Cg<'a, T: Scalar> {
    a: &'a dyn LinearOperator<T>,
    b: ArrayView1<'a, T>,
    x0: Option<ArrayView1<'a, T>>,
    rtol: f64,
    atol: f64,
    maxiter: Option<usize>,
    preconditioner: Box<dyn Preconditioner<T> + 'a>,
    callback: Option<Callback<'a, T>>,
}

impl<T: Scalar> fmt::Debug for Cg<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rtol, atol, maxiter, .. } = self;
        let mut out = f.debug_struct("Cg");
        out.field("shape", &self.a.shape()).field("rtol", rtol).field("atol", atol).field("maxiter", maxiter);
        out.finish_non_exhaustive()
    }
}

impl<'a, T: Scalar> Cg<'a, T> {
    /// Where to start; zeros by default.
    pub fn x0(mut self, x0: impl Into<ArrayView1<'a, T>>) -> Self {
        self.x0 = Some(x0.into());
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
    pub fn preconditioner(mut self, preconditioner: impl Preconditioner<T> + 'a) -> Self {
        self.preconditioner = Box::new(preconditioner);
        self
    }

    /// Called after every iteration, with `x` up to date.
    pub fn callback(mut self, callback: impl FnMut(&Progress<'_, T>) + 'a) -> Self {
        self.callback = Some(Box::new(callback));
        self
    }

    /// Solves. How that went is in [`Solution::status`].
    ///
    /// # Errors
    /// `Shape` when `A` is not square or `b`, `x0` or the preconditioner do not fit it; `Parameter` when a tolerance is negative or
    /// NaN; what the preconditioner says when it cannot be made for `A`; what an operator says when it fails; `Driver` when the
    /// device does.
    pub fn solve(mut self) -> Result<Solution<T>> {
        let started = Instant::now();
        let n = self.check()?;
        let preconditioner = self.preconditioner.prepare(self.a)?;
        let (b, x0) = (contiguous(&self.b), self.x0.as_ref().map(contiguous));
        let norm_b = norm2(&b);
        let method = Method {
            norm_b,
            tolerance: (self.rtol * norm_b).max(self.atol),
            floor: T::epsilon().into() * norm_b,
            maxiter: self.maxiter.unwrap_or(n.saturating_mul(10)),
            guessed: x0.is_some(),
        };
        let system = System { b: &b, x0: x0.as_deref(), preconditioner };
        let outcome = if let Some(what) = self.non_finite_input(norm_b, x0.as_deref()) {
            Outcome::without_iterations(system.guess(), Status::NonFinite { what, iteration: 0 }, f64::NAN)
        } else if norm_b == 0.0 {
            Outcome { history: vec![0.0], ..Outcome::without_iterations(vec![T::zero(); n], Status::Converged, 0.0) }
        } else {
            let callback = self.callback.take();
            match self.a.on_device() {
                Some(a) => method.run(Cuda::new(a, system)?, callback)?,
                None => method.run(Cpu::new(self.a, system), callback)?,
            }
        };
        Ok(outcome.into_solution(norm_b, started))
    }

    /// What is not finite in the input, if anything is.
    fn non_finite_input(&self, norm_b: f64, x0: Option<&[T]>) -> Option<Quantity> {
        if !norm_b.is_finite() {
            return Some(Quantity::RightHandSide);
        }
        if !self.a.is_finite() {
            return Some(Quantity::Matrix);
        }
        let good_guess = norm_b == 0.0 || x0.is_none_or(|x0| x0.iter().all(|x| x.is_finite()));
        (!good_guess).then_some(Quantity::Guess)
    }

    /// Shapes and tolerances; returns the number of unknowns.
    fn check(&self) -> Result<usize> {
        const OP: &str = "linalg::cg";
        let (n, cols) = self.a.shape();
        if n != cols {
            return Err(SparseError::Shape {
                op: OP,
                expected: "a square matrix".into(),
                got: format!("{n} x {cols}"),
            });
        }
        check_length(OP, "b", self.b.len(), n)?;
        if let Some(x0) = &self.x0 {
            check_length(OP, "x0", x0.len(), n)?;
        }
        for (name, value) in [("rtol", self.rtol), ("atol", self.atol)] {
            if value.is_nan() || value < 0.0 {
                return Err(SparseError::Parameter { name, value, range: "at least 0" });
            }
        }
        Ok(n)
    }
}
