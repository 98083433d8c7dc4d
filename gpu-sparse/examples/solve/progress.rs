//! The progress bar: how far the residual has come, on a logarithmic scale.

use std::time::Duration;

use gpu_sparse::linalg::ResidualNorm;
use indicatif::{ProgressBar, ProgressStyle};

/// Steps of a whole bar.
const STEPS: f64 = 1000.0;

pub(crate) struct Bar {
    bar: ProgressBar,
    rtol: f64,
}

impl Bar {
    /// A bar on standard error; invisible where that is no terminal.
    pub(crate) fn new(rtol: f64) -> Self {
        let bar = ProgressBar::new(STEPS as u64);
        if let Ok(style) = ProgressStyle::with_template("[{bar:40}] {msg} {elapsed}") {
            bar.set_style(style.progress_chars("=> "));
        }
        Self { bar, rtol }
    }

    /// Names the reason of a wait before the first iteration, with a clock that goes on.
    pub(crate) fn waits(&self, reason: &'static str) {
        self.bar.set_message(reason);
        self.bar.enable_steady_tick(Duration::from_millis(100));
    }

    pub(crate) fn show(&self, state: &ResidualNorm) {
        if self.bar.is_hidden() {
            return;
        }
        let way = state.relative_residual.ln() / self.rtol.ln();
        if way.is_finite() {
            self.bar.set_position((way.clamp(0.0, 1.0) * STEPS) as u64);
        }
        self.bar.set_message(format!("iteration {}, |r|/|b| = {:.2e}", state.iteration, state.relative_residual));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
