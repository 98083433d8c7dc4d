//! The outcome of a solve.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use ndarray::{Array1, ArrayView1, CowArray, Ix1};

use crate::vector::{Host, VectorBackend};
use crate::{Result, Scalar};

/// How a solve ended.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Status {
    /// The residual met the tolerance, and `b - A x`, computed afresh, confirms it to within a factor of two.
    Converged,
    /// The iterations allowed were used up.
    MaxIterations,
    /// `p . A p` was not positive for some direction `p`: the matrix is not positive definite.
    NotPositiveDefinite {
        /// The iteration (from 1) that could not be completed.
        iteration: usize,
        /// `p . A p`, for the residual scaled to about 1.
        p_dot_ap: f64,
    },
    /// `r . M r` was not positive: the preconditioner is not positive definite.
    PreconditionerNotPositive {
        /// Iterations completed.
        iteration: usize,
        /// `r . M r`, for the residual scaled to about 1.
        r_dot_z: f64,
    },
    /// A NaN or an infinity turned up.
    NonFinite {
        /// The quantity that is not finite.
        quantity: Quantity,
        /// Iterations completed.
        iteration: usize,
    },
    /// The residual cannot be brought down to the tolerance in this precision: `b - A x` stayed above it although the recurrence
    /// said otherwise, and starting again from the true residual did not help.
    Stagnated {
        /// Iterations completed.
        iteration: usize,
        /// How often the solve was started again from the true residual.
        restarts: usize,
    },
}

/// The quantity in which a NaN or an infinity was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Quantity {
    /// The matrix, one in GPU memory or of an operator that does not know the place.
    Matrix,
    /// An element of the matrix, the first one row by row.
    Element {
        /// Its row, from 0.
        row: usize,
        /// Its column, from 0.
        col: usize,
        /// Whether it is NaN, and else an infinity.
        is_nan: bool,
    },
    /// `b`; also a finite one whose norm exceeds the largest f64.
    RightHandSide,
    /// `x0`.
    Guess,
    /// `b - A x`, or the recurrence for it.
    Residual,
    /// `p . A p`.
    Curvature,
    /// The step length, which does not fit the element type.
    Step,
    /// `r . M r`.
    Preconditioned,
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Matrix => "the matrix",
            Self::Element { row, col, .. } => return write!(f, "the matrix's row {row}, column {col}"),
            Self::RightHandSide => "b",
            Self::Guess => "x0",
            Self::Residual => "the residual",
            Self::Curvature => "p . A p",
            Self::Step => "the step length",
            Self::Preconditioned => "r . M r",
        })
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Converged => write!(f, "converged"),
            Self::MaxIterations => write!(f, "iteration limit reached"),
            Self::NotPositiveDefinite { iteration, p_dot_ap } => {
                write!(f, "matrix not positive definite (p . A p = {p_dot_ap:.1e} in iteration {iteration})")
            }
            Self::PreconditionerNotPositive { iteration, r_dot_z } => {
                write!(f, "preconditioner not positive definite (r . M r = {r_dot_z:.1e} after iteration {iteration})")
            }
            Self::NonFinite { quantity, iteration } => {
                let found = match quantity {
                    Quantity::Element { is_nan: true, .. } => "NaN",
                    Quantity::Element { is_nan: false, .. } => "infinity",
                    _ => "NaN or infinity",
                };
                write!(f, "{found} in {quantity} (iteration {iteration})")
            }
            Self::Stagnated { restarts, .. } => write!(f, "stagnated after {restarts} restarts"),
        }
    }
}

/// The residual norm of one iteration, for the monitor.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ResidualNorm {
    /// Iterations completed, from 1.
    pub iteration: usize,
    /// Norm of the residual, by its recurrence.
    pub residual_norm: f64,
    /// `residual_norm` over the norm of `b`.
    pub relative_residual: f64,
}

/// The progress of a solve after one iteration, for the callback.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Progress<'x, T: Clone> {
    /// Iterations completed, from 1.
    pub iteration: usize,
    /// Norm of the residual, by its recurrence.
    pub residual_norm: f64,
    /// `residual_norm` over the norm of `b`.
    pub relative_residual: f64,
    pub(super) solution: &'x dyn Approximation<T>,
}

/// Access to the approximate solution.
pub(super) trait Approximation<T: Clone> {
    fn on_host(&self) -> Result<Cow<'_, [T]>>;
}

impl<'x, T: Clone> Progress<'x, T> {
    /// The approximate solution, up to date. Free on the CPU; a solve on a device waits and copies it, for each call.
    ///
    /// # Errors
    /// `Driver` on a lost device.
    pub fn x(&self) -> Result<CowArray<'x, T, Ix1>> {
        Ok(match self.solution.on_host()? {
            Cow::Borrowed(x) => ArrayView1::from(x).into(),
            Cow::Owned(x) => Array1::from_vec(x).into(),
        })
    }
}

impl<T: Clone> fmt::Debug for Progress<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { iteration, residual_norm, relative_residual, .. } = self;
        let mut out = f.debug_struct("Progress");
        out.field("iteration", iteration).field("residual_norm", residual_norm);
        out.field("relative_residual", relative_residual).finish_non_exhaustive()
    }
}

/// The result of a solve, converged or not.
#[derive(Debug)]
#[non_exhaustive]
pub struct Solution<T: Scalar, P: VectorBackend = Host> {
    /// The approximate solution, where `b` was; the initial guess where no iteration could be completed.
    pub x: P::Vector<T>,
    /// Iterations completed, those after restarts included.
    pub iterations: usize,
    /// Norm of `b - A x`, computed from `x` at the end. NaN where `A`, `b` or the guess are not finite.
    pub residual_norm: f64,
    /// `residual_norm` over the norm of `b`; 0 when both are 0.
    pub relative_residual: f64,
    /// Norm of the residual by its recurrence: the one that SciPy tests.
    pub recursive_residual: f64,
    /// Norms of the recursive residual: before the first iteration, then after each (`iterations + 1` numbers; none where the
    /// input is not finite).
    pub history: Vec<f64>,
    /// How the solve ended.
    pub status: Status,
    /// Time spent in `solve`; with that of the compiler, where it had to compile kernels first.
    pub elapsed: Duration,
}

impl<T: Scalar> Clone for Solution<T> {
    fn clone(&self) -> Self {
        let (x, history) = (self.x.clone(), self.history.clone());
        Self { x, history, ..*self }
    }
}

impl<T: Scalar, P: VectorBackend> Solution<T, P> {
    /// Whether the tolerance was met.
    pub fn is_converged(&self) -> bool {
        self.status == Status::Converged
    }

    /// SciPy's `info`: 0 when converged; the iterations done (at least 1) when the tolerance was not met; negative for a
    /// breakdown: -1 the matrix and -2 the preconditioner is not positive definite, -3 a NaN or an infinity.
    pub fn info(&self) -> i64 {
        match self.status {
            Status::Converged => 0,
            Status::MaxIterations | Status::Stagnated { .. } => {
                i64::try_from(self.iterations).unwrap_or(i64::MAX).max(1)
            }
            Status::NotPositiveDefinite { .. } => -1,
            Status::PreconditionerNotPositive { .. } => -2,
            Status::NonFinite { .. } => -3,
        }
    }
}

impl<T: Scalar, P: VectorBackend> fmt::Display for Solution<T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, iterations, residual_norm, relative_residual, .. } = self;
        let ms = self.elapsed.as_secs_f64() * 1e3;
        write!(
            f,
            "{status}: {iterations} iterations, |b - Ax| = {residual_norm:.2e} ({relative_residual:.2e} |b|), {ms:.1} ms"
        )
    }
}

#[cfg(test)]
mod tests {
    use crate::linalg::{LinearOperator, cg};
    use crate::{CsrMatrix, gallery::Poisson};

    /// In either format of the host, and behind references.
    #[test]
    fn an_element_that_is_not_finite_is_named_with_its_place() {
        let clean = Poisson::one_d(3000).build::<f64>().unwrap();
        assert!(LinearOperator::first_non_finite(&clean.to_packets().unwrap()).is_none());
        for (bad, found) in [(f64::NAN, "NaN"), (f64::INFINITY, "infinity"), (f64::NEG_INFINITY, "infinity")] {
            let mut a: CsrMatrix<f64> = clean.clone();
            // Row i has the entries from 3 i - 1 on; a later one does not count.
            (a.values_mut()[6001], a.values_mut()[8000]) = (bad, f64::NAN);
            let packets = a.to_packets().unwrap();
            let solve = |a: &dyn LinearOperator<f64>| cg(&a, &vec![1.0; 3000]).solve().unwrap().status.to_string();
            for status in [solve(&a), solve(&packets), solve(&&packets)] {
                assert_eq!(status, format!("{found} in the matrix's row 2000, column 2001 (iteration 0)"));
            }
        }
    }
}
