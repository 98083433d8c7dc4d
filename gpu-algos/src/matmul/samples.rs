//! Samples of products, for checks without a device.

use gpu_array::{
    DType,
    gpu_driver::{Arch, Registry},
};

use super::{
    constants::{ALONG_K, ALONG_OUTER, PACKS, PACKS_ALONG_K},
    epilogue,
    params::TYPE,
    policy::{MatmulPolicy, MatmulTuning, TileKernel},
    program::{self, MATMUL, SHARES, STACK, WARPS, of_tiles},
    stack::{StackPolicy, TILES},
    tensor_cores::{self, BoxOrder},
    tile::{BOXES, COMPLEX_BOXES, MatmulTile, SKINNY},
    warps,
};

/// The architecture of the samples.
const ARCH: Arch = Arch::new(9, 0);

/// The policy of a tile that writes packs, in a grid whose blocks have equal shares or not.
fn policy(tile: MatmulTile, [load_a, load_b]: [u32; 2], has_equal_shares: bool) -> MatmulPolicy {
    MatmulPolicy { kernel: TileKernel::of(&tile, has_equal_shares), tile, load_a, load_b, is_c_packed: true }
}

/// Adds each tile of boxes for matrices in C order, and the largest one for the other orders and with an epilogue.
fn of_boxes(registry: Registry) -> Registry {
    let [along, across] = [BoxOrder::AlongK, BoxOrder::AcrossK].map(BoxOrder::boxes);
    let each = BOXES.iter().map(|tile| (DType::F64, *tile, [along, across], false));
    let of_complex = COMPLEX_BOXES.iter().map(|tile| (DType::C128, *tile, [along, across], false));
    let others =
        [([across, across], false), ([along, along], false), ([across, along], false), ([along, across], true)];
    let largest = [(DType::F64, BOXES[0]), (DType::C128, COMPLEX_BOXES[0])]
        .into_iter()
        .flat_map(|(dtype, tile)| others.map(|(orders, is_fused)| (dtype, tile, orders, is_fused)))
        // The expression of the sample is one of real numbers.
        .filter(|(dtype, .., is_fused)| !(dtype.is_complex() && *is_fused));
    each.chain(of_complex).chain(largest).fold(registry, |registry, (dtype, tile, loads, is_fused)| {
        let policy = policy(tile, loads, false);
        let epilogue = is_fused.then(|| epilogue::sample(TYPE, dtype));
        registry.with_sample(program::BOXES.name, of_tiles(dtype, &policy, epilogue))
    })
}

/// Adds each tile of few columns for matrices in C order, and the widest one for the other loads and with an epilogue.
fn of_few_columns(registry: Registry) -> Registry {
    let each = SKINNY.iter().map(|tile| (DType::F32, *tile, [PACKS_ALONG_K, PACKS], false));
    let others = [
        (DType::F32, [PACKS, PACKS_ALONG_K], false),
        (DType::U32, [PACKS_ALONG_K, ALONG_OUTER], false),
        (DType::F32, [PACKS_ALONG_K, ALONG_K], true),
    ];
    let widest = others.into_iter().map(|(dtype, loads, is_fused)| (dtype, SKINNY[0], loads, is_fused));
    each.chain(widest).fold(registry, |registry, (dtype, tile, loads, is_fused)| {
        let policy = policy(tile, loads, false);
        let epilogue = is_fused.then(|| epilogue::sample(TYPE, dtype));
        registry.with_sample(program::SKINNY.name, of_tiles(dtype, &policy, epilogue))
    })
}

/// Adds each tile with the loads of matrices in C order, and the largest ones of floats with the others and with an epilogue.
pub(crate) fn add_to(registry: Registry) -> Registry {
    let types = [DType::F32, DType::F64, DType::U32, DType::U64, DType::C64, DType::C128];
    let tiles = types.into_iter().flat_map(|dtype| {
        let tiles = MatmulTuning::of(ARCH).tiles(dtype);
        let most = if dtype.is_float() || dtype == DType::C128 { tiles.len() } else { 1 };
        // Tensor cores read no packs along k.
        let along_k = if matches!(dtype, DType::F64 | DType::C128) { ALONG_K } else { PACKS_ALONG_K };
        tiles[..most].iter().map(move |tile| (dtype, *tile, [along_k, PACKS]))
    });
    let others = [DType::F32, DType::F64].into_iter().flat_map(|dtype| {
        let loads = [[PACKS, PACKS], [ALONG_K, ALONG_K], [ALONG_OUTER, ALONG_OUTER]];
        loads.map(|loads| (dtype, MatmulTuning::of(ARCH).tiles(dtype)[0], loads))
    });
    let registry = tiles.chain(others).fold(registry, |registry, (dtype, tile, loads)| {
        let policy = policy(tile, loads, false);
        registry.with_sample(MATMUL.name, of_tiles(dtype, &policy, None))
    });
    let registry = MatmulTuning::of(ARCH).tiles(DType::F32).iter().fold(registry, |registry, &tile| {
        let policy = policy(tile, [ALONG_K, ALONG_OUTER], true);
        registry.with_sample(SHARES.name, of_tiles(DType::F32, &policy, None))
    });
    let registry = [DType::F32, DType::F64].into_iter().fold(registry, |registry, dtype| {
        let load_a = if dtype == DType::F64 { ALONG_K } else { PACKS_ALONG_K };
        let tile = MatmulTuning::of(ARCH).tiles(dtype)[0];
        let policy = policy(tile, [load_a, PACKS], false);
        registry.with_sample(MATMUL.name, of_tiles(dtype, &policy, Some(epilogue::sample(TYPE, dtype))))
    });
    let registry = of_few_columns(registry);
    let registry = of_boxes(tensor_cores::samples::add_to(registry));
    let stacks = [DType::F32, DType::F64].into_iter().flat_map(|dtype| TILES.map(|tile| (dtype, tile)));
    let stacks = stacks.chain([(DType::C64, TILES[0])]);
    let warps = [(DType::F32, &warps::TILE), (DType::U32, &warps::TILE), (DType::F32, &warps::SHARED_RIGHT)];
    let registry = warps
        .into_iter()
        .fold(registry, |registry, (dtype, tile)| registry.with_sample(WARPS.name, program::of_warps(dtype, tile)));
    let stack = |tile| StackPolicy { tile, is_a_packed: true, is_b_packed: true, is_c_packed: true };
    let narrow = [(DType::F16, TILES[1]), (DType::F16, TILES[2]), (DType::I8, TILES[1])];
    let registry = stacks.chain(narrow).fold(registry, |registry, (dtype, tile)| {
        registry.with_sample(STACK.name, program::of_stack(dtype, &stack(tile), None))
    });
    // Matrices that lie anywhere.
    let registry = TILES.iter().fold(registry, |registry, &tile| {
        registry.with_sample(STACK.name, program::of_stack(DType::F32, &stack(tile), Some(program::listed())))
    });
    let tile = MatmulTuning::of(ARCH).tiles(DType::F32)[0];
    let policy = policy(tile, [PACKS_ALONG_K, PACKS], false);
    registry.with_sample(MATMUL.name, of_tiles(DType::F32, &policy, Some(program::listed())))
}
