//! The operations that conjugate gradients need: the seam between the method and the place where its vectors live.

use crate::linalg::log::Log;
use crate::linalg::outcome::{Approximation, Status};
use crate::{Result, Scalar};

/// The vectors of a solve (`x`, `r`, `p`, `q = A p`, and `z = M r` where it must be stored) and the work on them.
///
/// `method.rs` decides when to confirm, to start again and to give up. Within a sequence of iterations, `stepwise.rs` decides for vectors in
/// host memory, and the device by the same rules for vectors there (`cg_state.cuh`). `r`, `p`, `q` and `z` are in a unit that the method
/// chooses; `x` and `b` are in the caller's. Sums are carried in f64 and have the same bits each time.
pub(super) trait Engine<T: Scalar>: Approximation<T> + Sized {
    /// The type of the solution.
    type Vector;

    /// Norm of `b`; NaN or infinite where `b` is.
    fn norm_of_b(&mut self) -> Result<f64>;

    /// Whether all of the guess is finite.
    fn guess_is_finite(&mut self) -> Result<bool>;

    /// `r = b`: the residual of `x = 0`.
    fn residual_of_zero(&mut self) -> Result<()>;

    /// `r = b - A x`, in the caller's unit; returns its norm, NaN or infinite where `r` is.
    fn true_residual(&mut self) -> Result<f64>;

    /// `r /= unit`, a power of two; returns `r . r`.
    fn rescale(&mut self, unit: f64) -> Result<f64>;

    /// Iterates from the present `r` on until the residual meets the limit or something ends the solve; records each iteration.
    fn iterate(&mut self, segment: WorkSegment, log: &mut Log<'_, T>) -> Result<End>;

    /// `x`, at the end.
    fn into_solution(self) -> Result<Self::Vector>;

    /// 0, in place of `x`.
    fn into_zero(self) -> Result<Self::Vector>;
}

/// A sequence of iterations between two looks at the true residual.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkSegment {
    /// The unit of `r`, `p`, `q`, `z`.
    pub(super) scale: f64,
    /// `r . r`
    pub(super) square: f64,
    /// The norm of `r`, in the caller's unit, at which to stop.
    pub(super) limit: f64,
    /// Most iterations, those before this segment included.
    pub(super) maxiter: usize,
}

/// How a sequence of iterations ended.
pub(super) enum End {
    /// The recursive residual met the limit.
    Reached,
    /// No need to go on.
    Ended(Status),
}

/// By how much the norm of `r` may grow in one iteration.
pub(super) fn growth_limit<T: Scalar>() -> f64 {
    (16.0 * T::epsilon().into()).recip()
}
