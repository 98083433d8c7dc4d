//! Conjugate gradients on the device, by the host's clock, as a caller sees them: from the call to the device at rest.

use std::time::Instant;

use gpu_sparse::{CsrMatrix, Scalar};
use serde_json::json;

use crate::{
    Outcome,
    formats::{Resident, RightHandSide, Solved},
    options::Options,
    reference::relative_residual,
    report::Report,
    timing::median,
};

/// Solves of one kind are repeated until they have taken this long together.
const REPEAT_S: f64 = 0.25;

/// Times a solve to the tolerance, and solves of a fixed number of iterations.
pub(crate) fn measure<T: Scalar>(
    a: &CsrMatrix<T>,
    resident: &Resident<T>,
    b: &[T],
    options: &Options,
    report: &mut Report,
) -> Outcome {
    let solver = Solver { resident, rhs: resident.right_hand_side(b)?, options };
    resident.load_kernels()?;
    solver.solve(0.0, options.iterations.min(20))?;

    let limit = a.rows().saturating_mul(10).min(100_000);
    let (ms, solved) = solver.time(options.rtol, limit, 1)?;
    report.line(json!({
        "what": "solve",
        "rtol": options.rtol,
        "iterations": solved.iterations(),
        "status": solved.status(),
        "ms": ms,
        "true_residual": relative_residual(a, &solved.x()?, b),
        "check_every": options.check_every,
    }));
    // Beyond half as many iterations again, rounding errors would end the solves.
    solver.fixed(options.iterations, solved.iterations() * 3 / 2, report)
}

struct Solver<'a, T: Scalar> {
    resident: &'a Resident<T>,
    rhs: RightHandSide<T>,
    options: &'a Options,
}

impl<T: Scalar> Solver<'_, T> {
    /// `iterations` of them, as a whole; and by the difference to twice as many. Fewer where `most` is less.
    fn fixed(&self, iterations: usize, most: usize, report: &mut Report) -> Outcome {
        let timed =
            |maxiter: usize| self.time(0.0, maxiter, 3).map(|(ms, solved)| (ms, solved.iterations(), solved.status()));
        let (whole_ms, made, status) = timed(iterations.min(most).max(1))?;
        let by_difference = if 2 * iterations <= most {
            let (long_ms, long, _) = timed(2 * iterations)?;
            (long_ms - whole_ms) / (long as f64 - made as f64)
        } else {
            let ((long_ms, long, _), (short_ms, short, _)) = (timed(most.max(2))?, timed((most / 2).max(1))?);
            (long_ms - short_ms) / (long as f64 - short as f64)
        };
        report.line(json!({
            "what": "cg",
            "iterations": made,
            "status": status,
            "ms": whole_ms,
            "ms_per_iteration": whole_ms / made as f64,
            "ms_per_iteration_by_difference": by_difference,
            "check_every": self.options.check_every,
        }));
        Ok(())
    }

    /// Solves, and waits.
    fn solve(&self, rtol: f64, maxiter: usize) -> Outcome<Solved<T>> {
        let solved = self.resident.solve(&self.rhs, rtol, maxiter, self.options.check_every)?;
        self.resident.synchronize()?;
        Ok(solved)
    }

    /// The median time of a solve in ms, and what the last one gave.
    fn time(&self, rtol: f64, maxiter: usize, least_repeats: usize) -> Outcome<(f64, Solved<T>)> {
        let (mut times, began) = (Vec::new(), Instant::now());
        loop {
            let started = Instant::now();
            let solved = self.solve(rtol, maxiter)?;
            times.push(started.elapsed().as_secs_f64() * 1e3);
            let enough = times.len() >= least_repeats && began.elapsed().as_secs_f64() >= REPEAT_S;
            if enough || times.len() >= self.options.batches {
                return Ok((median(&mut times), solved));
            }
        }
    }
}
