//! Constants of the kernels' template arguments and of their scratch memory, for both languages.

use gpu_array::gpu_driver::kernel_constants;

kernel_constants! {
    pub(super) const CONSTANTS: &str;
    /// Threads copy packs of 16 bytes along the outer axis of an operand: rows of a, columns of b.
    pub(super) const PACKS: u32 = 0;
    /// Neighbouring threads copy neighbours along the outer axis.
    pub(super) const ALONG_OUTER: u32 = 1;
    /// Neighbouring threads copy neighbours along k.
    pub(super) const ALONG_K: u32 = 2;
    /// Threads copy packs of 16 bytes along k.
    pub(super) const PACKS_ALONG_K: u32 = 3;
    /// Each thread multiplies on its own.
    pub(super) const CUDA_CORES: u32 = 0;
    /// The threads of a warp multiply together, in f64.
    pub(super) const TENSOR_CORES: u32 = 1;
    /// The threads of a warp multiply together, in f64, the tiles that a thread of another copied box by box.
    pub(super) const TENSOR_CORES_OF_BOXES: u32 = 2;
    /// Each thread multiplies on its own, and the warps of a block divide k.
    pub(super) const CUDA_CORES_ALONG_K: u32 = 3;
    /// Elements of 16 or 8 bits in a pack of a stack of small matrices: 16 or 8 bytes, and whole packs of every tile's rows.
    pub(super) const NARROW_PACK: i32 = 8;
    /// Bytes of the counters at the head of `Stream::with_scratch`, behind which the sums begin.
    pub(super) const COUNTER_BYTES: usize = 16384;
}
const _: () =
    assert!(COUNTER_BYTES == gpu_array::gpu_driver::SCRATCH_COUNTERS, "the counters of a stream's scratch memory");
