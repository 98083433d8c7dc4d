//! Conjugate gradients (Hestenes & Stiefel 1952), the CPU version.

use std::borrow::Cow;
use std::fmt;
use std::time::Instant;

use gpu_algos::reference::{dot, norm2, power_of_two_below};
use ndarray::{Array1, ArrayView1};

use super::outcome::{Progress, Quantity, Solution, Status};
use super::preconditioner::{Identity, Preconditioner, Prepared};
use super::{LinearOperator, passes};
use crate::csr::{check_length, contiguous};
use crate::{Result, Scalar, SparseError};

/// How often a solve starts again from the true residual.
const MAX_RESTARTS: usize = 3;

/// By how much the true residual may exceed the tolerance that the recursive one has met.
const CONFIRMATION_FACTOR: f64 = 2.0;

/// Begins the solution of `A x = b` for a symmetric positive definite `A`, by conjugate gradients.
///
/// `a` is a [`CsrMatrix`](crate::CsrMatrix) or any other [`LinearOperator`]; `b` an array, slice or vector. The builder's methods
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

type Callback<'a, T> = Box<dyn FnMut(&Progress<'_, T>) + 'a>;

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
/// Bitwise the same for any number of threads, given an operator of which that is true (a `CsrMatrix` is one).
#[must_use = "nothing is computed before solve()"]
pub struct Cg<'a, T> {
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
    /// NaN; what the preconditioner says when it cannot be made for `A`; what an operator says when it fails.
    pub fn solve(mut self) -> Result<Solution<T>> {
        let started = Instant::now();
        let n = self.check()?;
        let preconditioner = self.preconditioner.prepare(self.a)?;
        let b = contiguous(&self.b);
        let norm_b = norm2(&b);
        let x0 = self.x0.as_ref().map(contiguous);
        let mut run = Run {
            a: self.a,
            tolerance: (self.rtol * norm_b).max(self.atol),
            floor: T::epsilon().into() * norm_b,
            maxiter: self.maxiter.unwrap_or(n.saturating_mul(10)),
            callback: self.callback.take(),
            x: x0.as_ref().map_or_else(|| vec![T::zero(); n], |x0| x0.to_vec()),
            r: Vec::new(),
            history: Vec::new(),
            iterations: 0,
            scale: 1.0,
            square: 0.0,
            norm_b,
            preconditioner,
            b,
        };
        let (status, residual_norm) = run.solve(x0.is_some())?;
        let relative_residual = if residual_norm == 0.0 { 0.0 } else { residual_norm / norm_b };
        Ok(Solution {
            recursive_residual: run.history.last().copied().unwrap_or(residual_norm),
            x: Array1::from_vec(run.x),
            iterations: run.iterations,
            residual_norm,
            relative_residual,
            history: run.history,
            status,
            elapsed: started.elapsed(),
        })
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

/// A solve under way.
struct Run<'a, 'm, T: Scalar> {
    a: &'a dyn LinearOperator<T>,
    preconditioner: Prepared<'m, T>,
    callback: Option<Callback<'a, T>>,
    b: Cow<'a, [T]>,
    norm_b: f64,
    tolerance: f64,
    /// `eps |b|`: a recursive residual below it is confirmed whatever the tolerance.
    floor: f64,
    maxiter: usize,
    x: Vec<T>,
    /// The recursive residual over `scale`.
    r: Vec<T>,
    /// A power of two near the norm of the first residual: `r`, `p`, `q`, `z` are in this unit, `x` is not.
    scale: f64,
    /// `r . r`
    square: f64,
    iterations: usize,
    history: Vec<f64>,
}

/// How a sequence of iterations ended.
enum Segment {
    /// The recursive residual met the tolerance, or the floor.
    Reached,
    /// No need to go on.
    Ended(Status),
}

impl<T: Scalar> Run<'_, '_, T> {
    /// Iterates until an outcome is certain; returns it with the norm of `b - A x`.
    fn solve(&mut self, guessed: bool) -> Result<(Status, f64)> {
        if let Some(what) = self.non_finite_input(guessed) {
            return Ok((Status::NonFinite { what, iteration: 0 }, f64::NAN));
        }
        if self.norm_b == 0.0 {
            self.x.fill(T::zero());
            self.history.push(0.0);
            return Ok((Status::Converged, 0.0));
        }
        let mut true_norm = self.start(guessed)?;
        if !true_norm.is_finite() {
            return Ok((Status::NonFinite { what: Quantity::Residual, iteration: 0 }, f64::NAN));
        }
        self.history.push(true_norm);
        for restarts in 0.. {
            let before = self.iterations;
            let end = self.iterate()?;
            let last = if restarts == 0 { f64::INFINITY } else { true_norm };
            let mut residual = Vec::new();
            if self.iterations > before {
                (residual, true_norm) = self.true_residual()?;
            }
            if !true_norm.is_finite() {
                let status = Status::NonFinite { what: Quantity::Residual, iteration: self.iterations };
                return Ok((status, true_norm));
            }
            if let Segment::Ended(status) = end {
                return Ok((status, true_norm));
            }
            if true_norm <= CONFIRMATION_FACTOR * self.tolerance {
                return Ok((Status::Converged, true_norm));
            }
            if restarts == MAX_RESTARTS || true_norm > 0.5 * last || self.iterations == before {
                return Ok((Status::Stagnated { iteration: self.iterations, restarts }, true_norm));
            }
            self.r = residual;
            self.rescale();
        }
        unreachable!("the loop returns after MAX_RESTARTS")
    }

    fn non_finite_input(&self, guessed: bool) -> Option<Quantity> {
        if !self.norm_b.is_finite() {
            return Some(Quantity::RightHandSide);
        }
        if !self.a.is_finite() {
            return Some(Quantity::Matrix);
        }
        let bad_guess = guessed && self.norm_b > 0.0 && !self.x.iter().all(|x| x.is_finite());
        bad_guess.then_some(Quantity::Guess)
    }

    /// Computes the first residual and chooses the unit; returns its norm.
    fn start(&mut self, guessed: bool) -> Result<f64> {
        let norm = if guessed {
            let (residual, norm) = self.true_residual()?;
            self.r = residual;
            norm
        } else {
            self.r = self.b.to_vec();
            self.norm_b
        };
        self.scale = power_of_two_below(norm);
        self.rescale();
        Ok(norm)
    }

    /// Brings `r` to the unit and computes its square.
    fn rescale(&mut self) {
        let scale = self.scale;
        self.r.iter_mut().for_each(|r| *r = T::from_f64((*r).into() / scale));
        self.square = norm2(&self.r).powi(2);
    }

    /// `b - A x` and its norm.
    fn true_residual(&self) -> Result<(Vec<T>, f64)> {
        let mut residual = vec![T::zero(); self.x.len()];
        self.a.residual(&self.x, &self.b, &mut residual)?;
        let norm = norm2(&residual);
        Ok((residual, norm))
    }

    /// Norm of the recursive residual, in the caller's unit.
    fn norm(&self) -> f64 {
        self.square.sqrt() * self.scale
    }

    fn reached(&self) -> bool {
        self.norm() <= self.tolerance.max(self.floor)
    }

    /// Conjugate gradients from the present `r` on.
    fn iterate(&mut self) -> Result<Segment> {
        if self.reached() {
            return Ok(Segment::Reached);
        }
        if self.iterations >= self.maxiter {
            return Ok(Segment::Ended(Status::MaxIterations));
        }
        let n = self.x.len();
        let (mut z, mut q) = (Vec::new(), vec![T::zero(); n]);
        let mut rho = self.precondition(&mut z)?;
        if let Some(status) = self.judge_rho(rho) {
            return Ok(Segment::Ended(status));
        }
        let mut p = self.first_direction(&z);
        loop {
            // 1. q = A p, p . q
            let curvature = self.a.apply_dot(&p, &mut q)?;
            if !curvature.is_finite() {
                return Ok(self.non_finite(Quantity::Curvature));
            }
            if curvature <= 0.0 {
                return Ok(self.not_positive_definite(curvature));
            }
            let (alpha, step) = (T::from_f64(rho / curvature), T::from_f64(rho / curvature * self.scale));
            if !alpha.is_finite() || !step.is_finite() {
                return Ok(self.non_finite(Quantity::Step));
            }
            // 2. r -= alpha q, r . r, r . z
            let square_before = self.square;
            let mut rho_next = self.update_residual(&q, alpha);
            if !self.square.is_finite() {
                return Ok(self.non_finite(Quantity::Residual));
            }
            let growth_limit = (16.0 * T::epsilon().into()).recip();
            if self.square > square_before * growth_limit * growth_limit {
                return Ok(self.not_positive_definite(curvature));
            }
            self.iterations += 1;
            // 3. x += alpha p, p = z + beta p
            let reached = self.reached();
            if !reached && matches!(self.preconditioner, Prepared::Operator(_)) {
                rho_next = self.precondition(&mut z)?;
            }
            let verdict = if reached { None } else { self.judge_rho(rho_next) };
            if reached || verdict.is_some() || self.iterations >= self.maxiter {
                passes::update_solution(&mut self.x, &mut p, step);
            } else {
                self.update_solution_and_direction(&mut p, &z, step, T::from_f64(rho_next / rho));
            }
            self.report();
            match verdict {
                _ if reached => return Ok(Segment::Reached),
                Some(status) => return Ok(Segment::Ended(status)),
                None if self.iterations >= self.maxiter => return Ok(Segment::Ended(Status::MaxIterations)),
                None => rho = rho_next,
            }
        }
    }

    /// Makes `z = M r` where it must be stored; returns `r . z`.
    fn precondition(&mut self, z: &mut Vec<T>) -> Result<f64> {
        match &self.preconditioner {
            Prepared::Identity => Ok(self.square),
            Prepared::Diagonal(inverse) => Ok(passes::weighted_square(&mut self.r, inverse)),
            Prepared::Operator(m) => {
                z.resize(self.r.len(), T::zero());
                m.apply(&self.r, z)?;
                Ok(dot(&self.r, z)?)
            }
        }
    }

    fn first_direction(&self, z: &[T]) -> Vec<T> {
        match &self.preconditioner {
            Prepared::Identity => self.r.clone(),
            Prepared::Diagonal(inverse) => self.r.iter().zip(inverse).map(|(&r, &d)| d * r).collect(),
            Prepared::Operator(_) => z.to_vec(),
        }
    }

    /// Pass 2; returns `r . z` where it can be had in the same pass.
    fn update_residual(&mut self, q: &[T], alpha: T) -> f64 {
        if let Prepared::Diagonal(inverse) = &self.preconditioner {
            let [square, rho] = passes::update_residual_diagonal(&mut self.r, q, alpha, inverse);
            self.square = square;
            return rho;
        }
        self.square = passes::update_residual(&mut self.r, q, alpha);
        self.square
    }

    /// Pass 3.
    fn update_solution_and_direction(&mut self, p: &mut [T], z: &[T], step: T, beta: T) {
        let (x, r) = (&mut self.x, &self.r);
        match &self.preconditioner {
            Prepared::Identity => passes::update_solution_and_direction(x, p, r, step, beta),
            Prepared::Diagonal(inverse) => {
                passes::update_solution_and_direction_diagonal(x, p, (r, inverse), step, beta);
            }
            Prepared::Operator(_) => passes::update_solution_and_direction(x, p, z, step, beta),
        }
    }

    /// Records the iteration just completed and shows it to the callback.
    fn report(&mut self) {
        let residual_norm = self.norm();
        self.history.push(residual_norm);
        let (iteration, relative_residual) = (self.iterations, residual_norm / self.norm_b);
        if let Some(callback) = &mut self.callback {
            callback(&Progress { iteration, residual_norm, relative_residual, x: ArrayView1::from(&self.x) });
        }
    }

    fn judge_rho(&self, r_dot_z: f64) -> Option<Status> {
        let iteration = self.iterations;
        if !r_dot_z.is_finite() {
            return Some(Status::NonFinite { what: Quantity::Preconditioned, iteration });
        }
        (r_dot_z <= 0.0).then_some(Status::PreconditionerNotPositive { iteration, r_dot_z })
    }

    fn non_finite(&self, what: Quantity) -> Segment {
        Segment::Ended(Status::NonFinite { what, iteration: self.iterations })
    }

    fn not_positive_definite(&self, p_dot_ap: f64) -> Segment {
        Segment::Ended(Status::NotPositiveDefinite { iteration: self.iterations + 1, p_dot_ap })
    }
}
