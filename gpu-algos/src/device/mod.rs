//! What the kernels of reductions, scans and compactions share.

use gpu_array::gpu_driver::Header;

/// Behind those of expressions (`loop.cuh` and what it includes).
pub(crate) const HEADERS: [Header; 3] = [
    Header { name: "handover.cuh", text: include_str!("handover.cuh") },
    Header { name: "operators.cuh", text: include_str!("operators.cuh") },
    Header { name: "walk.cuh", text: include_str!("walk.cuh") },
];

/// Behind [`HEADERS`], for what goes through tiles: scans and compactions.
pub(crate) const TILES: Header = Header { name: "tiles.cuh", text: include_str!("tiles.cuh") };
