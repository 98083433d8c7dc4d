//! The method of conjugate gradients: every decision of a solve, for whatever engine makes the passes.

use std::marker::PhantomData;
use std::time::Instant;

use gpu_algos::reference::power_of_two_below;
use ndarray::Array1;

use super::engine::Engine;
use super::outcome::{Progress, Quantity, Solution, Status};
use crate::{Result, Scalar};

/// How often a solve starts again from the true residual.
const MAX_RESTARTS: usize = 3;

/// By how much the true residual may exceed the tolerance that the recursive one has met.
const CONFIRMATION_FACTOR: f64 = 2.0;

pub(super) type Callback<'a, T> = Box<dyn FnMut(&Progress<'_, T>) + 'a>;

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

/// What a solve came to, before it is dressed as a [`Solution`].
pub(super) struct Outcome<T> {
    pub(super) x: Vec<T>,
    pub(super) status: Status,
    /// Norm of `b - A x`.
    pub(super) residual_norm: f64,
    pub(super) iterations: usize,
    pub(super) history: Vec<f64>,
}

impl<T: Scalar> Outcome<T> {
    pub(super) fn without_iterations(x: impl Into<Vec<T>>, status: Status, residual_norm: f64) -> Self {
        Self { x: x.into(), status, residual_norm, iterations: 0, history: Vec::new() }
    }

    pub(super) fn into_solution(self, norm_b: f64, started: Instant) -> Solution<T> {
        let Self { x, status, residual_norm, iterations, history } = self;
        Solution {
            recursive_residual: history.last().copied().unwrap_or(residual_norm),
            x: Array1::from_vec(x),
            iterations,
            residual_norm,
            relative_residual: if residual_norm == 0.0 { 0.0 } else { residual_norm / norm_b },
            history,
            status,
            elapsed: started.elapsed(),
        }
    }
}

impl Method {
    /// Solves with the vectors and passes of `engine`.
    pub(super) fn run<'a, T: Scalar, E: Engine<T>>(
        self,
        engine: E,
        callback: Option<Callback<'a, T>>,
    ) -> Result<Outcome<T>> {
        let (history, element) = (Vec::new(), PhantomData);
        let mut run = Run { method: self, engine, callback, scale: 1.0, square: 0.0, iterations: 0, history, element };
        let (status, residual_norm) = run.solve()?;
        let Run { iterations, history, .. } = run;
        Ok(Outcome { x: run.engine.into_solution()?, status, residual_norm, iterations, history })
    }
}

/// A solve under way.
struct Run<'a, T: Scalar, E> {
    method: Method,
    engine: E,
    callback: Option<Callback<'a, T>>,
    /// A power of two near the norm of the first residual: `r`, `p`, `q`, `z` are in this unit, `x` is not.
    scale: f64,
    /// `r . r`
    square: f64,
    iterations: usize,
    history: Vec<f64>,
    element: PhantomData<T>,
}

/// How a sequence of iterations ended.
enum Segment {
    /// The recursive residual met the tolerance, or the floor.
    Reached,
    /// No need to go on.
    Ended(Status),
}

impl<T: Scalar, E: Engine<T>> Run<'_, T, E> {
    /// Iterates until an outcome is certain; returns it with the norm of `b - A x`.
    fn solve(&mut self) -> Result<(Status, f64)> {
        let mut true_norm = self.start()?;
        if !true_norm.is_finite() {
            return Ok((Status::NonFinite { what: Quantity::Residual, iteration: 0 }, f64::NAN));
        }
        self.history.push(true_norm);
        for restarts in 0.. {
            let before = self.iterations;
            let end = self.iterate()?;
            let last = if restarts == 0 { f64::INFINITY } else { true_norm };
            if self.iterations > before {
                true_norm = self.engine.true_residual()?;
            }
            if !true_norm.is_finite() {
                let status = Status::NonFinite { what: Quantity::Residual, iteration: self.iterations };
                return Ok((status, true_norm));
            }
            if let Segment::Ended(status) = end {
                return Ok((status, true_norm));
            }
            if true_norm <= CONFIRMATION_FACTOR * self.method.tolerance {
                return Ok((Status::Converged, true_norm));
            }
            if restarts == MAX_RESTARTS || true_norm > 0.5 * last || self.iterations == before {
                return Ok((Status::Stagnated { iteration: self.iterations, restarts }, true_norm));
            }
            self.square = self.engine.rescale(self.scale)?;
        }
        unreachable!("the loop returns after MAX_RESTARTS")
    }

    /// Makes the first residual and chooses the unit; returns its norm.
    fn start(&mut self) -> Result<f64> {
        let norm = if self.method.guessed {
            self.engine.true_residual()?
        } else {
            self.engine.residual_of_zero()?;
            self.method.norm_b
        };
        self.scale = power_of_two_below(norm);
        self.square = self.engine.rescale(self.scale)?;
        Ok(norm)
    }

    /// Norm of the recursive residual, in the caller's unit.
    fn norm(&self) -> f64 {
        self.square.sqrt() * self.scale
    }

    fn reached(&self) -> bool {
        self.norm() <= self.method.tolerance.max(self.method.floor)
    }

    /// Conjugate gradients from the present `r` on.
    fn iterate(&mut self) -> Result<Segment> {
        if self.reached() {
            return Ok(Segment::Reached);
        }
        if self.iterations >= self.method.maxiter {
            return Ok(Segment::Ended(Status::MaxIterations));
        }
        let mut rho = self.engine.precondition(self.square)?;
        if let Some(status) = self.judge_rho(rho) {
            return Ok(Segment::Ended(status));
        }
        self.engine.first_direction()?;
        loop {
            // 1. q = A p, p . q
            let curvature = self.engine.apply_dot()?;
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
            let rho_in_pass;
            (self.square, rho_in_pass) = self.engine.update_residual(alpha)?;
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
            let rho_next = match rho_in_pass {
                Some(rho_next) => rho_next,
                None if reached => rho,
                None => self.engine.precondition(self.square)?,
            };
            let verdict = if reached { None } else { self.judge_rho(rho_next) };
            if reached || verdict.is_some() || self.iterations >= self.method.maxiter {
                self.engine.update_solution(step)?;
            } else {
                self.engine.update_solution_and_direction(step, T::from_f64(rho_next / rho))?;
            }
            self.report();
            match verdict {
                _ if reached => return Ok(Segment::Reached),
                Some(status) => return Ok(Segment::Ended(status)),
                None if self.iterations >= self.method.maxiter => return Ok(Segment::Ended(Status::MaxIterations)),
                None => rho = rho_next,
            }
        }
    }

    /// Records the iteration just completed and shows it to the callback.
    fn report(&mut self) {
        let residual_norm = self.norm();
        self.history.push(residual_norm);
        if let Some(callback) = &mut self.callback {
            let (iteration, relative_residual) = (self.iterations, residual_norm / self.method.norm_b);
            callback(&Progress { iteration, residual_norm, relative_residual, solution: &self.engine });
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
