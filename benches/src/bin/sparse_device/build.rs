//! The host's part of making packets.

use gpu_sparse::{CsrMatrix, Scalar};

use crate::timing::median;
use crate::{Outcome, formats, report::Report};
use serde_json::json;

const REPEATS: usize = 3;

/// Seconds of the plan and of the filling, apart; medians.
pub(crate) fn measure<T: Scalar>(a: &CsrMatrix<T>, report: &mut Report) -> Outcome {
    let (mut plan, mut build, mut description) = (Vec::new(), Vec::new(), String::new());
    for _ in 0..REPEATS {
        let built = formats::build_packets(a)?;
        plan.push(built.plan_s);
        build.push(built.build_s);
        description = built.description;
    }
    report.line(json!({
        "what": "build",
        "plan_s": median(&mut plan),
        "build_s": median(&mut build),
        "threads": rayon::current_num_threads(),
        "description": description,
    }));
    Ok(())
}
