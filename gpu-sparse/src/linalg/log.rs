//! The history of a solve, and its listeners.

use super::outcome::{Approximation, Progress, ResidualNorm};
use crate::Scalar;

pub(super) type Callback<'a, T> = Box<dyn FnMut(&Progress<'_, T>) + 'a>;
pub(super) type Monitor<'a> = Box<dyn FnMut(&ResidualNorm) + 'a>;

/// The history of a solve so far, and its listeners.
pub(super) struct Log<'a, T: Scalar> {
    pub(super) norm_b: f64,
    /// Norms of the recursive residual: before the first iteration, then after each.
    pub(super) history: Vec<f64>,
    pub(super) callback: Option<Callback<'a, T>>,
    pub(super) monitor: Option<Monitor<'a>>,
}

impl<T: Scalar> Log<'_, T> {
    /// Iterations completed.
    pub(super) fn iterations(&self) -> usize {
        self.history.len().saturating_sub(1)
    }

    /// Whether someone may look at `x` after each iteration.
    pub(super) fn shows_x(&self) -> bool {
        self.callback.is_some()
    }

    /// Records an iteration that left a residual of that norm.
    pub(super) fn record(&mut self, residual_norm: f64, solution: &dyn Approximation<T>) {
        self.history.push(residual_norm);
        let (iteration, relative_residual) = (self.iterations(), residual_norm / self.norm_b);
        if let Some(monitor) = &mut self.monitor {
            monitor(&ResidualNorm { iteration, residual_norm, relative_residual });
        }
        if let Some(callback) = &mut self.callback {
            callback(&Progress { iteration, residual_norm, relative_residual, solution });
        }
    }
}
