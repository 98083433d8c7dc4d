//! Constants that the host and the kernels of reductions share.

use gpu_array::gpu_driver::kernel_constants;

kernel_constants! {
    pub(super) const CONSTANTS: &str;
    /// Bytes of the counters at the head of `Stream::with_scratch`, behind which the states begin.
    pub(super) const COUNTER_BYTES: usize = 16384;
    /// The form of a kernel for one reduced axis and leaves in memory that are all `PACKED`, or along an outer axis some of several `CONSTANT`.
    pub(super) const CONTIGUOUS: u32 = 1;
    /// The form of a kernel for one result.
    pub(super) const ONE_RESULT: u32 = 2;
}
const _: () =
    assert!(COUNTER_BYTES == gpu_array::gpu_driver::SCRATCH_COUNTERS, "the counters of a stream's scratch memory");
