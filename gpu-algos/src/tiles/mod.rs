//! Kernels that go through tiles of values, which are scans and selections: the order of the walk, the layout of operands, and policies.
//!
//! "Tile" stands in five places: this module (the host's part), `device/params.rs` (`TileParams`, the parameters), `device/tiles.cuh` (tiles in registers),
//! `scan/device/staged.cuh` (a scan's tiles in shared memory, of all leaves), `device/block/staged_tiles.cuh` (a tile of one array there).

pub(crate) mod axes;
pub(crate) mod layout;
pub(crate) mod policy;
