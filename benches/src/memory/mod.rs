//! The bandwidth of memory, and the part of it that arrays reach.

mod arrays;
mod ceilings;
mod read;

pub use arrays::arrays;
pub use ceilings::ceilings;
pub use read::KERNELS;

use crate::harness::Harness;

/// The machine's ceilings, then arrays.
pub fn figures(harness: &mut Harness) {
    ceilings(harness);
    arrays(harness);
}
