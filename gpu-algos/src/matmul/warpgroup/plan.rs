//! The one decision of a product on Hopper's tensor cores: whether it pays, the tile, and the operands that are copied first.

use super::{
    operand::{Factor, Order},
    policy::{Products, TILES, WarpgroupTile, copy_time},
};
use crate::{
    common::launch::{DeviceLimits, MOST_BLOCKS},
    matmul::problem::MatmulProblem,
};

/// The source of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// It is read where it is, in this order.
    InPlace(Order),
    /// It is copied first, into this order.
    Copied(Order),
}

impl Source {
    pub(super) fn order(self) -> Order {
        match self {
            Self::InPlace(order) | Self::Copied(order) => order,
        }
    }
}

/// The chosen kernel and its grid.
#[derive(Clone, Debug)]
pub(super) struct WarpgroupPlan {
    pub(super) tile: WarpgroupTile,
    /// Whether c' = b' a' is computed in place of c = a b.
    pub(super) is_transposed: bool,
    /// Of a and b as the kernel takes them.
    pub(super) sources: [Source; 2],
    pub(super) tiles_m: usize,
    pub(super) tiles_n: usize,
    pub(super) tiles: usize,
    pub(super) blocks: usize,
}

/// The architecture whose tensor cores these are.
const HOPPER: u32 = 90;

/// Chooses a plan, if one is expected to take less than `strict`, the time of a product on CUDA cores.
pub(super) fn choose(
    problem: &MatmulProblem,
    products: Products,
    strict: f64,
    device: &DeviceLimits,
) -> Option<WarpgroupPlan> {
    let factors = [1, 2].map(|operand| Factor::of(problem, operand));
    if device.arch.number() != HOPPER || problem.k == 0 || !factors.iter().all(Factor::fits_a_map) {
        return None;
    }
    let (is_transposed, sources) = sources(products, &factors);
    let copying: f64 =
        (sources.iter().zip(if is_transposed { [&factors[1], &factors[0]] } else { factors.each_ref() }))
            .filter(|(source, _)| matches!(source, Source::Copied(_)))
            .map(|(_, factor)| copy_time(factor.copied_bytes(products), device.multiprocessors))
            .sum();
    let (m, n) = if is_transposed { (problem.n, problem.m) } else { (problem.m, problem.n) };
    let tiles =
        TILES.iter().filter(|tile| tile.products == products && tile.shared_bytes() <= device.most_shared_bytes);
    let plans = tiles.filter_map(|&tile| {
        let (tiles_m, tiles_n) = (m.div_ceil(tile.block_m), n.div_ceil(tile.block_n));
        let tiles = tiles_m.checked_mul(tiles_n)?.checked_mul(problem.matrices())?;
        let blocks = tiles.min(device.multiprocessors);
        let time = copying + tile.time(tiles.div_ceil(blocks.max(1)), problem.k);
        let plan = WarpgroupPlan { tile, is_transposed, sources, tiles_m, tiles_n, tiles, blocks };
        (tiles <= MOST_BLOCKS && time < strict).then_some((time, plan))
    });
    plans.min_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, plan)| plan)
}

/// Which operands are copied, and whether a and b change places.
fn sources(products: Products, factors: &[Factor; 2]) -> (bool, [Source; 2]) {
    let in_place = |factor: &Factor| factor.in_place().map(|operand| Source::InPlace(operand.order));
    let copied = |factor: &Factor| Source::Copied(factor.nearest_order());
    match products {
        Products::ThreeBf16 => return (false, factors.each_ref().map(copied)),
        Products::Bf16 | Products::F16 => {
            return (false, factors.each_ref().map(|factor| in_place(factor).unwrap_or_else(|| copied(factor))));
        }
        Products::Tf32 => {}
    }
    // The right operand lies along k, the left one in either order.
    let [a, b] = factors.each_ref().map(|factor| factor.in_place().map(|operand| operand.order));
    let left = |order: Option<Order>| order.map_or(Source::Copied(Order::AlongK), Source::InPlace);
    match (a, b) {
        (a, Some(Order::AlongK)) => (false, [left(a), Source::InPlace(Order::AlongK)]),
        (Some(Order::AlongK), b) => (true, [left(b), Source::InPlace(Order::AlongK)]),
        (a, None) => (false, [left(a), Source::Copied(Order::AlongK)]),
        (None, b) => (true, [left(b), Source::Copied(Order::AlongK)]),
        (a, b) if factors[1].bytes() <= factors[0].bytes() => {
            debug_assert_eq!(b, Some(Order::AcrossK));
            (false, [left(a), Source::Copied(Order::AlongK)])
        }
        (_, b) => (true, [left(b), Source::Copied(Order::AlongK)]),
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
    let Some(plan) = choose(problem, products, strict, device) else { return "the other kernels".to_owned() };
    let WarpgroupPlan { tile, is_transposed, sources: [a, b], tiles_m, tiles_n, blocks, .. } = plan;
    let transposed = if is_transposed { " transposed" } else { "" };
    format!("{}{transposed} {a:?} {b:?} tiles {tiles_m} x {tiles_n} blocks {blocks}", tile.text())
}
