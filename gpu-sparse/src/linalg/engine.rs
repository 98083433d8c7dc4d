//! What conjugate gradients needs done: the seam between the method and the place where its vectors live.

use std::borrow::Cow;

use super::outcome::Approximation;
use super::preconditioner::Prepared;
use crate::{Result, Scalar};

/// The vectors of a solve (`x`, `r`, `p`, `q = A p`, and `z = M r` where it must be stored) and the passes over them.
///
/// Every decision (when to stop, to confirm, to start again, what counts as a breakdown) is taken in `method.rs`, from the numbers
/// returned here. `r`, `p`, `q` and `z` are in a unit that the method chooses; `x` and `b` are in the caller's. Scalars of the
/// vectors' type are rounded once, by the method; sums are carried in f64 and have the same bits each time.
pub(super) trait Engine<T: Scalar>: Approximation<T> {
    /// `r = b`: the residual of `x = 0`.
    fn residual_of_zero(&mut self) -> Result<()>;

    /// `r = b - A x`, in the caller's unit; returns its norm, NaN or infinite where `r` is.
    fn true_residual(&mut self) -> Result<f64>;

    /// `r /= unit`, a power of two; returns `r . r`.
    fn rescale(&mut self, unit: f64) -> Result<f64>;

    /// Makes `z = M r` where it must be stored; returns `r . z`, which is `square` (`r . r`) without a preconditioner.
    fn precondition(&mut self, square: f64) -> Result<f64>;

    /// `p = z`.
    fn first_direction(&mut self) -> Result<()>;

    /// Pass 1: `q = A p`; returns `p . q`.
    fn apply_dot(&mut self) -> Result<f64>;

    /// Pass 2: `r -= alpha q`; returns `r . r` and `r . z`. The second is None where `z` must be stored: it takes
    /// [`precondition`](Engine::precondition), which the method spares the last iteration.
    fn update_residual(&mut self, alpha: T) -> Result<(f64, Option<f64>)>;

    /// Pass 3: `x += step p`, `p = z + beta p`.
    fn update_solution_and_direction(&mut self, step: T, beta: T) -> Result<()>;

    /// Pass 3 of the last iteration: `x += step p`.
    fn update_solution(&mut self, step: T) -> Result<()>;

    /// `x`, at the end.
    fn into_solution(self) -> Result<Vec<T>>;
}

/// What an engine is made of besides the matrix.
pub(super) struct System<'a, 'm, T> {
    pub(super) b: &'a [T],
    pub(super) x0: Option<&'a [T]>,
    pub(super) preconditioner: Prepared<'m, T>,
}

impl<'a, T: Scalar> System<'a, '_, T> {
    /// Where `x` starts.
    pub(super) fn guess(&self) -> Cow<'a, [T]> {
        self.x0.map_or_else(|| vec![T::zero(); self.b.len()].into(), Cow::Borrowed)
    }
}
