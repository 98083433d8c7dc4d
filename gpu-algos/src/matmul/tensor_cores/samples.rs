//! Samples of products on tensor cores, for checks without a device.

use gpu_array::gpu_driver::Registry;

use super::{
    super::epilogue,
    launch::{MATMUL, MMA, PARAMS_TYPE, SPLIT, program, split_program},
    operand::BoxOrder::{AcrossK, AlongK},
    policy::{MMA_TILES, Products, TILES, TensorCoreTile},
};

/// Adds tiles of warps of each size and type of elements, in each order of both operands, and one with any stores and an epilogue.
fn of_mma_tiles(registry: Registry) -> Registry {
    let along = [AlongK, AlongK];
    let samples = [
        (Products::Tf32, 256, along, true),
        (Products::Tf32, 64, along, false),
        (Products::ThreeBf16, 128, along, true),
        (Products::Bf16, 256, [AlongK, AcrossK], true),
        (Products::Bf16, 128, [AcrossK, AlongK], true),
        (Products::F16, 64, [AcrossK, AcrossK], false),
        (Products::I8, 64, along, true),
        (Products::U8, 256, along, true),
    ];
    samples.into_iter().fold(registry, |registry, (products, columns, orders, is_plain)| {
        let is_wanted = |tile: &&TensorCoreTile| (tile.products, tile.block_n) == (products, columns);
        let tile = MMA_TILES.iter().find(is_wanted).expect("a tile of this size");
        let epilogue = (products == Products::F16).then(|| epilogue::sample(PARAMS_TYPE, products.result()));
        registry.with_sample(MMA.name, program(tile, orders, is_plain, epilogue))
    })
}

/// Adds each tile for matrices in C order and plain stores, the largest ones for other orders and any stores, and the copies.
pub(in crate::matmul) fn add_to(registry: Registry) -> Registry {
    let of_c_order = |products| if products == Products::Tf32 { [AcrossK, AlongK] } else { [AlongK, AcrossK] };
    let registry = TILES
        .iter()
        .filter(|tile| !matches!(tile.products, Products::F16 | Products::I8 | Products::U8))
        .fold(registry, |registry, tile| {
            registry.with_sample(MATMUL.name, program(tile, of_c_order(tile.products), true, None))
        });
    let each = [Products::Tf32, Products::ThreeBf16, Products::Bf16, Products::F16];
    let largest = each.map(|products| TILES.iter().find(|tile| tile.products == products));
    let registry = largest.into_iter().flatten().fold(registry, |registry, tile| {
        registry.with_sample(MATMUL.name, program(tile, [AlongK, AlongK], false, None))
    });
    let fused = TILES.iter().filter(|tile| matches!(tile.products, Products::Tf32 | Products::Bf16));
    let registry = fused.filter(|tile| tile.block_n == 256 && tile.cluster == 1).fold(registry, |registry, tile| {
        let epilogue = epilogue::sample(PARAMS_TYPE, tile.products.result());
        registry.with_sample(
            MATMUL.name,
            program(tile, of_c_order(tile.products), tile.products == Products::Bf16, Some(epilogue)),
        )
    });
    let bytes =
        TILES.iter().filter(|tile| tile.products == Products::I8 || tile.products == Products::U8 && tile.cluster > 1);
    let registry = bytes.fold(registry, |registry, tile| {
        registry.with_sample(MATMUL.name, program(tile, [AlongK, AlongK], true, None))
    });
    [Products::Tf32, Products::ThreeBf16, Products::Bf16, Products::I8]
        .iter()
        .fold(of_mma_tiles(registry), |registry, &products| registry.with_sample(SPLIT.name, split_program(products)))
}
