//! Pieces of kernels: operations of all threads of a block, as headers for kernels of one's own.
//!
//! A kernel that includes one is compiled with [`HEADERS`]. The head of each file and its functions say who calls them, whether they
//! synchronise, which memory they need, and their cost. Blocks and grids have one dimension. `device/block/examples.cu` has a kernel for each piece.
//!
//! | header | pieces |
//! |---|---|
//! | `block/state.cuh` | shuffles of states of any size, shared memory for them |
//! | `block/reduce.cuh` | `gpu::block::Reduce`: reduction over a block, whole or in steps; `reduce_lanes`, `reduce_stored`, `reduce_groups` |
//! | `block/scan.cuh` | `gpu::block::Scan`: inclusive and exclusive scan over a block; `scan_values`, `scan_lanes`, `prefix_of_thread`, `add_prefix` |
//! | `block/tile_status.cuh` | `gpu::Slot`: a value that one block publishes and others wait for |
//! | `block/tile_prefix.cuh` | `gpu::block::TilePrefix`: scans over all blocks of one launch: `claim_tile`, `publish`, `resolve`, `reset_by_last_block` |
//! | `block/polled_prefix.cuh` | `gpu::block::PolledPrefix`: the same prefixes, polled by one warp while the others go on |
//! | `block/vector_io.cuh` | `gpu::block::VectorTile`: loads and stores of tiles, several neighbours at an access |
//! | `block/staged_tiles.cuh` | `gpu::block::StagedTile`, `StagedTiles`: tiles that come into shared memory while the block does something else |
//!
//! Reductions, scans and selections of this crate have kernels of the same steps: `reduce_lanes`, `reduce_groups`, `Reduce::store_warp` and `combine_warps`;
//! `scan_lanes`, `scan_values`, `Scan::scan_warp`, `prefix_of_thread` and `add_prefix`; slots, `TilePrefix`, `PolledPrefix` and `StagedTile`. The rest is for
//! kernels of users alone. `Reduce::all`, `Scan::inclusive` and `Scan::exclusive` have barriers of their own, where our kernels do several steps between two.
//! `VectorTile` and `StagedTiles` hold tiles of one array; our kernels read expressions of several arrays, of any strides and in either direction
//! (`device/tiles.cuh`, `scan/device/staged.cuh`). A kernel with a form of its own for a step says why beside it.
//!
//! Operators are structures with a `State`, an `identity()` and an associative `combine(earlier, later)`. States are combined in order, so operators
//! need not commute, and every launch gives the same bits.
//!
//! # Example
//! The sums of blocks of 256 values:
//! ```no_run
//! use gpu_algos::{block, gpu_array::gpu_driver::{Device, Module, Program}};
//!
//! let text = r#"
//!     #include "block/reduce.cuh"
//!     struct Add {
//!         typedef float State;
//!         static __device__ float identity() { return 0.0f; }
//!         static __device__ float combine(float a, float b) { return a + b; }
//!     };
//!     extern "C" __global__ void __launch_bounds__(256) sums(const float *x, float *out) {
//!         typedef gpu::block::Reduce<Add, 256> Reduce;
//!         SHARED(Reduce::Storage, storage, [1]);
//!         const float sum = Reduce::all(x[blockIdx.x * 256 + threadIdx.x], storage[0]);
//!         if (threadIdx.x == 0) out[blockIdx.x] = sum;
//!     }
//! "#;
//! let device = Device::first()?;
//! let program = block::add_headers(Program::new("sums.cu", text));
//! let sums = Module::load(&device, &program.compile(device.arch())?)?.function("sums")?;
//! # let _ = sums;
//! # Ok::<(), gpu_algos::gpu_array::gpu_driver::DriverError>(())
//! ```
//!
//! # Sources
//! Block-wide pieces with a contract of their own follow CUB (Merrill, NVIDIA) and moderngpu (Baxter); the prefixes of tiles are a variant of
//! decoupled look-back (Merrill and Garland 2016).

use gpu_array::{
    expression::PACKS,
    gpu_driver::{Header, Program, Registry},
};

// A new piece is `device/block/<name>.cuh` (contract and example at its top), a row of the table above, a header in `HEADERS` (and by name in
// `device/mod.rs` if kernels of this crate include it), a kernel in `device/block/examples.cu`, its name in `add_to`, and a test in `tests/gpu/block.rs`.

pub(crate) const STATE: Header = Header { name: "block/state.cuh", text: include_str!("device/block/state.cuh") };
pub(crate) const REDUCE: Header = Header { name: "block/reduce.cuh", text: include_str!("device/block/reduce.cuh") };
pub(crate) const SCAN: Header = Header { name: "block/scan.cuh", text: include_str!("device/block/scan.cuh") };
pub(crate) const TILE_STATUS: Header =
    Header { name: "block/tile_status.cuh", text: include_str!("device/block/tile_status.cuh") };
pub(crate) const TILE_PREFIX: Header =
    Header { name: "block/tile_prefix.cuh", text: include_str!("device/block/tile_prefix.cuh") };
pub(crate) const POLLED_PREFIX: Header =
    Header { name: "block/polled_prefix.cuh", text: include_str!("device/block/polled_prefix.cuh") };
pub(crate) const VECTOR_IO: Header =
    Header { name: "block/vector_io.cuh", text: include_str!("device/block/vector_io.cuh") };
pub(crate) const STAGED_TILES: Header =
    Header { name: "block/staged_tiles.cuh", text: include_str!("device/block/staged_tiles.cuh") };

/// The headers of this module, for [`Program::header`]. Each includes the ones that it needs; the prelude belongs to every program.
pub const HEADERS: [Header; 9] =
    [PACKS, STATE, REDUCE, SCAN, TILE_STATUS, TILE_PREFIX, POLLED_PREFIX, VECTOR_IO, STAGED_TILES];

/// Bytes of `gpu::block::GridCounters`, which `tiles.cuh` compares with the structure.
pub(crate) const GRID_COUNTERS_BYTES: usize = 16;

/// Bytes of a `gpu::Slot` for states of so many bytes: a word with a mark for each four bytes.
pub(crate) const fn slot_bytes(state_bytes: usize) -> usize {
    state_bytes.div_ceil(4).saturating_mul(8)
}

/// The program with [`HEADERS`].
pub fn add_headers(program: Program) -> Program {
    HEADERS.into_iter().fold(program, |program, header| program.header(header.name, header.text))
}

/// Bytes of scratch memory of a `gpu::block::TilePrefix` for so many tiles, whose states have so many bytes:
/// 16 + 8 ⌈`state_bytes` / 4⌉ `tiles`. `usize::MAX` where that is not a number of bytes, which no allocation grants.
///
/// The memory comes from [`Stream::with_cleared_scratch`](gpu_array::gpu_driver::Stream::with_cleared_scratch).
pub const fn tile_prefix_bytes(tiles: usize, state_bytes: usize) -> usize {
    slot_bytes(state_bytes).saturating_mul(tiles).saturating_add(GRID_COUNTERS_BYTES)
}

/// Adds the examples of the headers to a registry.
pub(crate) fn add_to(registry: Registry) -> Registry {
    let examples = Program::new("examples.cu", include_str!("device/block/examples.cu")).option("-default-device");
    let names = [
        "reduce_blocks<96>",
        "scan_blocks<256, 4, false>",
        "scan_blocks<256, 4, true>",
        "scan_all<128>",
        "increment<float, 256, 4>",
    ];
    let examples = names.into_iter().fold(add_headers(examples), Program::name_expression);
    registry.with_sample("examples.cu", examples)
}
