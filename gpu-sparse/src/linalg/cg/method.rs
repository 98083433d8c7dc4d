//! The method of conjugate gradients around its iterations: where it starts, and whether a residual that looks small is confirmed.

use std::time::Instant;

use gpu_algos::host::power_of_two_below;

use super::engine::{End, Engine, WorkSegment};
use crate::linalg::log::Log;
use crate::linalg::outcome::{Quantity, Solution, Status};
use crate::vector::VectorBackend;
use crate::{Result, Scalar};

/// How often a solve starts again from the true residual.
const MAX_RESTARTS: usize = 3;

/// By how much the true residual may exceed the tolerance that the recursive one has met.
const CONFIRMATION_FACTOR: f64 = 2.0;

/// The numbers that steer a solve. `b` is neither zero nor without a finite norm.
pub(super) struct Method {
    pub(super) norm_b: f64,
    pub(super) tolerance: f64,
    /// `eps |b|`: a recursive residual below it is confirmed whatever the tolerance.
    pub(super) floor: f64,
    pub(super) maxiter: usize,
    /// Whether `x` starts elsewhere than at 0.
    pub(super) guessed: bool,
}

/// The outcome of a solve, before it becomes a [`Solution`].
pub(super) struct Outcome<V> {
    pub(super) x: V,
    pub(super) status: Status,
    pub(super) norm_b: f64,
    /// Norm of `b - A x`.
    pub(super) residual_norm: f64,
    pub(super) history: Vec<f64>,
}

impl<V> Outcome<V> {
    pub(super) fn into_solution<T: Scalar, P: VectorBackend>(
        self,
        started: Instant,
        place: impl FnOnce(V) -> Result<P::Vector<T>>,
    ) -> Result<Solution<T, P>> {
        let Self { x, status, norm_b, residual_norm, history } = self;
        Ok(Solution {
            recursive_residual: history.last().copied().unwrap_or(residual_norm),
            x: place(x)?,
            iterations: history.len().saturating_sub(1),
            residual_norm,
            relative_residual: if residual_norm == 0.0 { 0.0 } else { residual_norm / norm_b },
            history,
            status,
            elapsed: started.elapsed(),
        })
    }
}

impl Method {
    /// Iterates until an outcome is certain; returns it with the norm of `b - A x`.
    pub(super) fn run<T: Scalar>(&self, engine: &mut impl Engine<T>, log: &mut Log<'_, T>) -> Result<(Status, f64)> {
        let mut true_norm = if self.guessed {
            engine.true_residual()?
        } else {
            engine.residual_of_zero()?;
            self.norm_b
        };
        if !true_norm.is_finite() {
            return Ok((Status::NonFinite { quantity: Quantity::Residual, iteration: 0 }, f64::NAN));
        }
        // A power of two near the norm of the first residual: `r`, `p`, `q`, `z` are in this unit, `x` is not.
        let scale = power_of_two_below(true_norm);
        log.history.push(true_norm);
        for restarts in 0.. {
            let square = engine.rescale(scale)?;
            let before = log.iterations();
            let end = self.iterate(engine, square, scale, log)?;
            let last = if restarts == 0 { f64::INFINITY } else { true_norm };
            if log.iterations() > before {
                true_norm = engine.true_residual()?;
            }
            if !true_norm.is_finite() {
                let status = Status::NonFinite { quantity: Quantity::Residual, iteration: log.iterations() };
                return Ok((status, true_norm));
            }
            if let End::Ended(status) = end {
                return Ok((status, true_norm));
            }
            if true_norm <= CONFIRMATION_FACTOR * self.tolerance {
                return Ok((Status::Converged, true_norm));
            }
            if restarts == MAX_RESTARTS || true_norm > 0.5 * last || log.iterations() == before {
                return Ok((Status::Stagnated { iteration: log.iterations(), restarts }, true_norm));
            }
        }
        unreachable!("the loop returns after MAX_RESTARTS")
    }

    /// One sequence of iterations, where there is anything to do.
    fn iterate<T: Scalar>(
        &self,
        engine: &mut impl Engine<T>,
        square: f64,
        scale: f64,
        log: &mut Log<'_, T>,
    ) -> Result<End> {
        let limit = self.tolerance.max(self.floor);
        if square.sqrt() * scale <= limit {
            return Ok(End::Reached);
        }
        if log.iterations() >= self.maxiter {
            return Ok(End::Ended(Status::MaxIterations));
        }
        engine.iterate(WorkSegment { scale, square, limit, maxiter: self.maxiter }, log)
    }
}
