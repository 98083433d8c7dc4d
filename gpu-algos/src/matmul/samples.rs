//! Samples of products, for checks without a device.

use gpu_array::{
    DType,
    gpu_driver::{Arch, Registry},
};

use super::{
    launch::{MATMUL, program},
    params::{ALONG_K, ALONG_OUTER, PACKS},
    policy::{MatmulPolicy, MatmulTuning},
};

/// The architecture of the samples.
const ARCH: Arch = Arch::new(9, 0);

/// Adds each tile with the loads of matrices in C order, and the largest one with the others.
pub(crate) fn add_to(registry: Registry) -> Registry {
    let types = [DType::F32, DType::F64, DType::U32, DType::U64];
    let tiles = types.into_iter().flat_map(|dtype| {
        let tiles = MatmulTuning::of(ARCH).tiles(dtype);
        let most = if dtype.is_float() { tiles.len() } else { 1 };
        tiles[..most].iter().map(move |tile| (dtype, *tile, [ALONG_K, PACKS]))
    });
    let loads = [[PACKS, PACKS], [ALONG_K, ALONG_K], [ALONG_OUTER, ALONG_OUTER]];
    let largest = MatmulTuning::of(ARCH).tiles(DType::F32)[0];
    tiles.chain(loads.map(|loads| (DType::F32, largest, loads))).fold(
        registry,
        |registry, (dtype, tile, [load_a, load_b])| {
            let policy = MatmulPolicy { tile, load_a, load_b, is_c_packed: true };
            registry.with_sample(MATMUL.name, program(dtype, &policy))
        },
    )
}
