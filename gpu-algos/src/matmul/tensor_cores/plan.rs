//! The one decision of a product on tensor cores: whether it pays, the tile, and the operands that are copied first.

use super::{
    operand::{BoxOrder, FactorLayout},
    policy::{LEAST_WAVES_OF_CLUSTERS, MMA_TILES, Products, TILES, TensorCoreTile, TensorCores, copy_time, split_time},
};
use crate::{
    common::launch::{DeviceLimits, MOST_BLOCKS},
    matmul::problem::MatmulProblem,
};

/// The way of an operand to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Preparation {
    /// It is read where it is, in this order.
    InPlace(BoxOrder),
    /// It is copied first, into this order.
    Copied(BoxOrder),
}

impl Preparation {
    pub(super) fn order(self) -> BoxOrder {
        match self {
            Self::InPlace(order) | Self::Copied(order) => order,
        }
    }
}

/// The chosen kernel and its grid.
#[derive(Clone, Debug)]
pub(super) struct TensorCorePlan {
    pub(super) tile: TensorCoreTile,
    /// Whether c' = b' a' is computed in place of c = a b.
    pub(super) is_transposed: bool,
    /// The preparations of a and b as the kernel takes them.
    pub(super) preparations: [Preparation; 2],
    /// Whether c is not read, and stored in whole packs; with an epilogue in whole tiles besides.
    pub(super) is_plain: bool,
    pub(super) tiles_m: usize,
    pub(super) tiles_n: usize,
    pub(super) tiles: usize,
    pub(super) blocks: usize,
}

/// The architecture that copies boxes, multiplies 8 and 16 values of f64 along k at once, and gives registers to other warps.
pub(in crate::matmul) const HOPPER: u32 = 90;

/// Chooses a plan, without an epilogue or with one, if one is expected to take less than `strict`, the time of a product on CUDA cores.
pub(super) fn choose(
    problem: &MatmulProblem,
    (products, has_epilogue): (Products, bool),
    strict: f64,
    device: &DeviceLimits,
) -> Option<TensorCorePlan> {
    let factors = [1, 2].map(|operand| FactorLayout::of(problem, operand));
    let cores = TensorCores::of(device.arch)?;
    if problem.k == 0 || !factors.iter().all(FactorLayout::fits_a_map) {
        return None;
    }
    let (is_transposed, preparations) = preparations(products, &factors, cores.has_warpgroups);
    let copied = (preparations.iter().zip(if is_transposed { [&factors[1], &factors[0]] } else { factors.each_ref() }))
        .filter(|(source, _)| matches!(source, Preparation::Copied(_)))
        .map(|(_, factor)| factor.copied_bytes(products));
    let (copying, strict) = match products {
        Products::ThreeBf16 => {
            (split_time(copied.fold(0, usize::saturating_add), device.multiprocessors), cores.strict_time(strict))
        }
        _ => (copied.map(|bytes| copy_time(bytes, device.multiprocessors)).sum(), strict),
    };
    let is_stored_whole = is_stored_whole(problem, products, is_transposed, preparations[0].order());
    let (m, n) = if is_transposed { (problem.n, problem.m) } else { (problem.m, problem.n) };
    let tiles = if cores.has_warpgroups { TILES } else { MMA_TILES };
    let fitting =
        tiles.iter().filter(|tile| tile.products == products && tile.shared_bytes() <= device.most_shared_bytes);
    let plans = fitting.filter_map(|&tile| {
        let (tiles_m, tiles_n) = (m.div_ceil(tile.rows()), n.div_ceil(tile.block_n));
        let tiles = tiles_m.checked_mul(tiles_n)?.checked_mul(problem.matrices())?;
        let multiprocessors = (device.multiprocessors / tile.cluster).max(1);
        let at_once = tiles.min(multiprocessors * tile.warps.map_or(1, |warps| warps.resident));
        let waves = tiles.div_ceil(at_once.clamp(1, multiprocessors));
        let blocks = at_once * tile.cluster;
        let time = copying + tile.time(waves, problem.k, &cores);
        let is_plain =
            is_stored_whole && (!has_epilogue || m.is_multiple_of(tile.rows()) && n.is_multiple_of(tile.block_n));
        let plan = TensorCorePlan { tile, is_transposed, preparations, is_plain, tiles_m, tiles_n, tiles, blocks };
        let is_allowed = tiles <= MOST_BLOCKS && (tile.cluster == 1 || waves >= LEAST_WAVES_OF_CLUSTERS);
        (is_allowed && time < strict).then_some((time, plan))
    });
    plans.min_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, plan)| plan)
}

/// Whether c is not read, and lies in whole packs as threads store it, behind a left operand in the order `left`.
fn is_stored_whole(problem: &MatmulProblem, products: Products, is_transposed: bool, left: BoxOrder) -> bool {
    let problem = if is_transposed { &problem.transposed() } else { problem };
    let is_by_rows = products == Products::Tf32 && left == BoxOrder::AcrossK;
    let width = 16 / products.result().bytes();
    problem.beta[0] == 0 && if is_by_rows { problem.c.row == 1 } else { problem.is_packed(0, width) }
}

/// Whether a and b change places, and the preparation of each.
fn preparations(products: Products, factors: &[FactorLayout; 2], has_warpgroups: bool) -> (bool, [Preparation; 2]) {
    let in_place = |factor: &FactorLayout| {
        let operand = factor.in_place();
        let operand = operand.filter(|operand| has_warpgroups || operand.has_whole_chunks(products.element_bytes()));
        operand.map(|operand| Preparation::InPlace(operand.order))
    };
    let copied = |factor: &FactorLayout| Preparation::Copied(factor.nearest_order());
    let along_k = |factor: &FactorLayout| match in_place(factor) {
        Some(there @ Preparation::InPlace(BoxOrder::AlongK)) => there,
        _ => Preparation::Copied(BoxOrder::AlongK),
    };
    match products {
        Products::ThreeBf16 => return (false, factors.each_ref().map(copied)),
        Products::Bf16 | Products::F16 => {
            return (false, factors.each_ref().map(|factor| in_place(factor).unwrap_or_else(|| copied(factor))));
        }
        Products::I8 | Products::U8 => return (false, factors.each_ref().map(along_k)),
        Products::Tf32 if !has_warpgroups => return (false, factors.each_ref().map(along_k)),
        Products::Tf32 => {}
    }
    // The right operand lies along k, the left one in either order.
    let [a, b] = factors.each_ref().map(|factor| factor.in_place().map(|operand| operand.order));
    let left = |order: Option<BoxOrder>| order.map_or(Preparation::Copied(BoxOrder::AlongK), Preparation::InPlace);
    match (a, b) {
        (a, Some(BoxOrder::AlongK)) => (false, [left(a), Preparation::InPlace(BoxOrder::AlongK)]),
        (Some(BoxOrder::AlongK), _) if factors[1].is_copied_soon(&factors[0]) => {
            (false, [Preparation::InPlace(BoxOrder::AlongK), Preparation::Copied(BoxOrder::AlongK)])
        }
        (Some(BoxOrder::AlongK), b) => (true, [left(b), Preparation::InPlace(BoxOrder::AlongK)]),
        (a, None) => (false, [left(a), Preparation::Copied(BoxOrder::AlongK)]),
        (None, b) => (true, [left(b), Preparation::Copied(BoxOrder::AlongK)]),
        (a, b) if factors[1].bytes() <= factors[0].bytes() => {
            debug_assert_eq!(b, Some(BoxOrder::AcrossK));
            (false, [left(a), Preparation::Copied(BoxOrder::AlongK)])
        }
        (_, b) => (true, [left(b), Preparation::Copied(BoxOrder::AlongK)]),
    }
}

/// A choice as a line of the table.
#[cfg(test)]
pub(in crate::matmul) fn described(
    problem: &MatmulProblem,
    products: Products,
    strict: f64,
    device: &DeviceLimits,
) -> String {
    let Some(plan) = choose(problem, (products, false), strict, device) else { return "the other kernels".to_owned() };
    let TensorCorePlan { tile, is_transposed, preparations: [a, b], tiles_m, tiles_n, blocks, .. } = plan;
    let transposed = if is_transposed { " transposed" } else { "" };
    format!("{}{transposed} {a:?} {b:?} tiles {tiles_m} x {tiles_n} blocks {blocks}", tile.text())
}
