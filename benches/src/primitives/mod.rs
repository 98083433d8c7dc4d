//! Primitives on a device: reductions, scans and compactions.

mod compactions;
mod reductions;
mod scans;

use crate::harness::Harness;

const BY: &str = "gpu-algos";

/// Figures on a device.
pub fn figures(harness: &mut Harness) {
    reductions::figures(harness);
    scans::figures(harness);
    compactions::figures(harness);
}
