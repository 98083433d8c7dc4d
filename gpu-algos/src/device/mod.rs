//! Headers that the kernels of reductions, scans and compactions share.

pub(crate) mod params;

use gpu_array::gpu_driver::Header;

/// Headers that need those of expressions (`loop.cuh` and its includes).
pub(crate) const HEADERS: [Header; 3] = [
    Header { name: "handover.cuh", text: include_str!("handover.cuh") },
    Header { name: "operators.cuh", text: include_str!("operators.cuh") },
    Header { name: "walk.cuh", text: include_str!("walk.cuh") },
];

/// Header of kernels that process tiles, which are scans and compactions. It needs [`HEADERS`].
pub(crate) const TILES: Header = Header { name: "tiles.cuh", text: include_str!("tiles.cuh") };
