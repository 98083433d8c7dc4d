//! Samples of products on Hopper's tensor cores, for checks without a device.

use gpu_array::gpu_driver::Registry;

use super::{
    launch::{MATMUL, SPLIT, program, split_program},
    operand::Order::{AcrossK, AlongK},
    policy::{Products, TILES},
};

/// Adds each tile for matrices in C order, the largest ones for other orders, and the copies.
pub(in crate::matmul) fn add_to(registry: Registry) -> Registry {
    let of_c_order = |products| match products {
        Products::Tf32 => [AcrossK, AlongK],
        Products::ThreeBf16 => [AlongK, AcrossK],
    };
    let registry = TILES
        .iter()
        .fold(registry, |registry, tile| registry.with_sample(MATMUL.name, program(tile, of_c_order(tile.products))));
    let largest =
        [Products::Tf32, Products::ThreeBf16].map(|products| TILES.iter().find(|tile| tile.products == products));
    let registry = largest
        .into_iter()
        .flatten()
        .fold(registry, |registry, tile| registry.with_sample(MATMUL.name, program(tile, [AlongK, AlongK])));
    [Products::Tf32, Products::ThreeBf16]
        .into_iter()
        .fold(registry, |registry, products| registry.with_sample(SPLIT.name, split_program(products)))
}
