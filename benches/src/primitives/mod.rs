//! Primitives on a device: reductions, scans, selections, matrix products and linear algebra.

mod linalg;
mod products;
mod reductions;
mod scans;
mod selections;

#[cfg(feature = "peers")]
pub(crate) use linalg::Systems;

use crate::harness::Harness;

const BY: &str = "gpu-algos";

/// Figures on a device.
pub fn figures(harness: &mut Harness) {
    reductions::figures(harness);
    scans::figures(harness);
    selections::figures(harness);
    products::figures(harness);
    linalg::figures(harness);
}
