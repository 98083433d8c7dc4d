//! Headers that the kernels of reductions, scans and selections share.

pub(crate) mod params;

use gpu_array::gpu_driver::Header;

use crate::block;

/// Headers that need those of expressions (`loop.cuh` and its includes).
pub(crate) const HEADERS: [Header; 13] = {
    use block::{REDUCE, SCAN, STAGED_TILES, STATE, TILE_PREFIX, TILE_STATUS};
    let operators = Header { name: "operators.cuh", text: include_str!("operators.cuh") };
    let plain = Header { name: "operators/plain.cuh", text: include_str!("operators/plain.cuh") };
    let sums = Header { name: "operators/sums.cuh", text: include_str!("operators/sums.cuh") };
    let extremes = Header { name: "operators/extremes.cuh", text: include_str!("operators/extremes.cuh") };
    let moments = Header { name: "operators/moments.cuh", text: include_str!("operators/moments.cuh") };
    let norms = Header { name: "operators/norms.cuh", text: include_str!("operators/norms.cuh") };
    let walk = Header { name: "walk.cuh", text: include_str!("walk.cuh") };
    [
        STATE,
        REDUCE,
        SCAN,
        TILE_STATUS,
        TILE_PREFIX,
        STAGED_TILES,
        plain,
        sums,
        extremes,
        moments,
        norms,
        operators,
        walk,
    ]
};

/// Header of kernels that process tiles, which are scans and selections. It needs [`HEADERS`].
pub(crate) const TILES: Header = Header { name: "tiles.cuh", text: include_str!("tiles.cuh") };
