//! The bandwidth of memory, and the part of it that arrays reach.

mod arrays;
mod ceilings;
mod entries;
mod launches;
mod read;

pub use arrays::arrays;
pub use ceilings::ceilings;
pub use entries::KERNELS;
#[cfg_attr(not(feature = "peers"), expect(unused_imports, reason = "the driver's own launches are a peer"))]
pub(crate) use {
    entries::THREADS,
    launches::{ByName, OPERATION},
};

use crate::harness::Harness;

/// The machine's ceilings, then arrays and launches.
pub fn figures(harness: &mut Harness) {
    ceilings(harness);
    arrays(harness);
    launches::figures(harness);
}
