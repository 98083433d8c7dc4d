//! The host's part of making packets.

use gpu_sparse::{CsrMatrix, Scalar};
use serde_json::json;

use crate::{Outcome, formats, report::Report, timing::median};

const REPEATS: usize = 3;

/// Seconds of the plan and of the filling, apart; medians.
pub(crate) fn measure<T: Scalar>(a: &CsrMatrix<T>, report: &mut Report) -> Outcome {
    let built = (0..REPEATS).map(|_| formats::build_packets(a)).collect::<Outcome<Vec<_>>>()?;
    let seconds = |of: fn(&formats::Built) -> f64| median(&mut built.iter().map(of).collect::<Vec<f64>>());
    let last = &built[REPEATS - 1];
    report.line(json!({
        "what": "build",
        "plan_s": seconds(|built| built.plan_s),
        "build_s": seconds(|built| built.build_s),
        "threads": rayon::current_num_threads(),
        "format_bytes": last.bytes,
        "bytes_per_nonzero": last.bytes as f64 / a.nnz().max(1) as f64,
        "advised": last.advised,
        "description": last.description,
    }));
    Ok(())
}
