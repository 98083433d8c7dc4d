//! A sequence of iterations with every decision taken here, between passes: the plain version, and the reference for the device, which
//! takes the same decisions itself (`cg_state.cuh`).

use super::engine::{End, WorkSegment, growth_limit};
use crate::linalg::log::Log;
use crate::linalg::outcome::{Approximation, Quantity, Status};
use crate::{Result, Scalar};

/// The passes of an iteration. Scalars of the vectors' type are rounded once, here.
pub(super) trait Passes<T: Scalar>: Approximation<T> {
    /// Makes `z = M r` where it must be stored; returns `r . z`, which is `square` (`r . r`) without a preconditioner.
    fn precondition(&mut self, square: f64) -> Result<f64>;

    /// `p = z`.
    fn first_direction(&mut self) -> Result<()>;

    /// Pass 1: `q = A p`; returns `p . q`.
    fn apply_dot(&mut self) -> Result<f64>;

    /// Pass 2: `r -= alpha q`; returns `r . r` and `r . z`. The second is None where `z` must be stored: it takes
    /// [`precondition`](Passes::precondition), which is spared in the last iteration.
    fn update_residual(&mut self, alpha: T) -> Result<(f64, Option<f64>)>;

    /// Pass 3: `x += step p`, `p = z + beta p`.
    fn update_solution_and_direction(&mut self, step: T, beta: T) -> Result<()>;

    /// Pass 3 of the last iteration: `x += step p`.
    fn update_solution(&mut self, step: T) -> Result<()>;
}

/// Conjugate gradients from the present `r` on.
pub(super) fn iterate<T: Scalar, E: Passes<T>>(
    passes: &mut E,
    segment: WorkSegment,
    log: &mut Log<'_, T>,
) -> Result<End> {
    let WorkSegment { scale, mut square, limit, maxiter } = segment;
    let mut rho = passes.precondition(square)?;
    if let Some(status) = judge_rho(rho, log.iterations()) {
        return Ok(End::Ended(status));
    }
    passes.first_direction()?;
    loop {
        let non_finite = |quantity| Ok(End::Ended(Status::NonFinite { quantity, iteration: log.iterations() }));
        let not_positive =
            |p_dot_ap| Ok(End::Ended(Status::NotPositiveDefinite { iteration: log.iterations() + 1, p_dot_ap }));
        // 1. q = A p, p . q
        let curvature = passes.apply_dot()?;
        if !curvature.is_finite() {
            return non_finite(Quantity::Curvature);
        }
        if curvature <= 0.0 {
            return not_positive(curvature);
        }
        let (alpha, step) = (T::from_f64(rho / curvature), T::from_f64(rho / curvature * scale));
        if !alpha.is_finite() || !step.is_finite() {
            return non_finite(Quantity::Step);
        }
        // 2. r -= alpha q, r . r, r . z
        let square_before = square;
        let rho_in_pass;
        (square, rho_in_pass) = passes.update_residual(alpha)?;
        if !square.is_finite() {
            return non_finite(Quantity::Residual);
        }
        if square > square_before * growth_limit::<T>() * growth_limit::<T>() {
            return not_positive(curvature);
        }
        let iterations = log.iterations() + 1;
        // 3. x += alpha p, p = z + beta p
        let norm = square.sqrt() * scale;
        let reached = norm <= limit;
        let rho_next = match rho_in_pass {
            Some(rho_next) => rho_next,
            None if reached => rho,
            None => passes.precondition(square)?,
        };
        let verdict = if reached { None } else { judge_rho(rho_next, iterations) };
        if reached || verdict.is_some() || iterations >= maxiter {
            passes.update_solution(step)?;
        } else {
            passes.update_solution_and_direction(step, T::from_f64(rho_next / rho))?;
        }
        log.record(norm, passes);
        match verdict {
            _ if reached => return Ok(End::Reached),
            Some(status) => return Ok(End::Ended(status)),
            None if iterations >= maxiter => return Ok(End::Ended(Status::MaxIterations)),
            None => rho = rho_next,
        }
    }
}

/// The status of a bad `r . z` after so many iterations; `None` for a good one.
pub(super) fn judge_rho(r_dot_z: f64, iteration: usize) -> Option<Status> {
    if !r_dot_z.is_finite() {
        return Some(Status::NonFinite { quantity: Quantity::Preconditioned, iteration });
    }
    (r_dot_z <= 0.0).then_some(Status::PreconditionerNotPositive { iteration, r_dot_z })
}
