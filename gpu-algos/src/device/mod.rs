//! Headers that the kernels of reductions, scans and selections share.

pub(crate) mod params;

use gpu_array::gpu_driver::Header;

/// Headers that need those of expressions (`loop.cuh` and its includes).
pub(crate) const HEADERS: [Header; 3] = [
    Header { name: "tile_status.cuh", text: include_str!("tile_status.cuh") },
    Header { name: "operators.cuh", text: include_str!("operators.cuh") },
    Header { name: "walk.cuh", text: include_str!("walk.cuh") },
];

/// Header of kernels that process tiles, which are scans and selections. It needs [`HEADERS`].
pub(crate) const TILES: Header = Header { name: "tiles.cuh", text: include_str!("tiles.cuh") };
