//! The bandwidth of memory, and the part of it that arrays reach.

mod arrays;
mod ceilings;
mod launches;
mod read;

pub use arrays::arrays;
pub use ceilings::ceilings;
#[cfg_attr(not(feature = "peers"), expect(unused_imports, reason = "the driver's own launches are a peer"))]
pub(crate) use launches::{ByName, OPERATION, THREADS};
pub use read::KERNELS;

use crate::harness::Harness;

/// The machine's ceilings, then arrays and launches.
pub fn figures(harness: &mut Harness) {
    ceilings(harness);
    arrays(harness);
    launches::figures(harness);
}
