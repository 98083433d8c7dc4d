//! From the parts of a result to a launch: which part goes by packs, the number of blocks, the words.

use gpu_driver::{LaunchConfig, ListElement, Stream};
use smallvec::SmallVec;

use super::{
    JoinPart,
    axes::JoinAxes,
    params::{BY_ELEMENTS, ConcatenateHead, ConcatenateParams, PartEntry, PartHead},
    policy::JoinPolicy,
};
use crate::shape::Strides;

/// The most blocks of a grid.
const MOST_BLOCKS: usize = i32::MAX as usize;

/// A launch, and the streams of the memory that it reads.
#[derive(Debug)]
pub(super) struct JoinLaunch<'s> {
    pub(super) words: Vec<u64>,
    /// The table of parts for device memory; empty where the words have it.
    pub(super) table: Vec<u64>,
    pub(super) config: LaunchConfig,
    pub(super) homes: SmallVec<[&'s Stream; 4]>,
}

/// The steps in which a part is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PartWalk {
    /// Elements before the first aligned pack; none where the part goes by elements.
    peel: Option<usize>,
    /// Packs, or elements.
    items: usize,
}

impl PartWalk {
    /// The walk over a part whose strides are `strides`.
    fn of(part: &JoinPart<'_>, strides: &[isize], axes: &JoinAxes, policy: &JoinPolicy) -> Self {
        let lengths: SmallVec<[usize; 8]> = axes.lengths_of(part).collect();
        let rows: usize = lengths[1..].iter().product();
        let whole = |stride: isize| (stride * policy.bytes as isize) % 16 == 0;
        let mut outer = (1..axes.rank()).filter(|&axis| lengths[axis] > 1);
        let is_packed = (strides[0] == 1 || lengths[0] == 1)
            && part.from.abs_diff(part.to).is_multiple_of(16)
            && outer.all(|axis| whole(strides[axis]) && whole(axes.strides[axis]));
        if !is_packed {
            return Self { peel: None, items: rows * lengths[0] };
        }
        let peel = (part.to % 16) as usize / policy.bytes;
        Self { peel: Some(peel), items: rows * (lengths[0] + peel).div_ceil(policy.pack()) }
    }

    fn blocks(&self, policy: &JoinPolicy) -> usize {
        self.items.div_ceil(policy.threads * policy.items)
    }
}

/// The launch that copies `parts`, with the strides of each: one at least, and at most as many as the policy has room for. None where it
/// would have more blocks than a grid.
pub(super) fn launch<'s>(
    parts: &[JoinPart<'s>],
    strides: &[Strides],
    axes: &JoinAxes,
    policy: &JoinPolicy,
) -> Option<JoinLaunch<'s>> {
    let mut homes: SmallVec<[&Stream; 4]> = SmallVec::new();
    let mut list: Vec<PartEntry<'_>> = Vec::with_capacity(parts.len());
    let (mut blocks, mut most_items) = (0usize, 0);
    for (part, strides) in parts.iter().zip(strides) {
        if !homes.contains(&part.home) {
            homes.push(part.home);
        }
        let walk = PartWalk::of(part, strides, axes, policy);
        let before = (walk.peel.unwrap_or(0) * policy.bytes) as u64;
        let head = PartHead {
            from: part.from - before,
            to: part.to - before,
            length: (part.length * axes.scale) as u64,
            first_block: blocks as u32,
            peel: walk.peel.map_or(BY_ELEMENTS, |peel| peel as u32),
        };
        list.push(PartEntry { head, strides, room: policy.rank });
        blocks = blocks.checked_add(walk.blocks(policy)).filter(|&blocks| blocks <= MOST_BLOCKS)?;
        most_items = most_items.max(walk.items);
    }
    let config = LaunchConfig { grid: (blocks as u32).into(), block: (policy.threads as u32).into(), shared_bytes: 0 };
    let mut table = Vec::new();
    if policy.is_table_in_memory() {
        table.reserve(parts.len() * PartEntry::words(policy.rank));
        list.drain(..).for_each(|part| part.write(&mut table));
    }
    let words = words(parts.len(), list, axes, policy, most_items);
    Some(JoinLaunch { words, table, config, homes })
}

/// The words of the parameters for `count` parts, of which `list` has those that the parameters have room for.
fn words(count: usize, list: Vec<PartEntry<'_>>, axes: &JoinAxes, policy: &JoinPolicy, most_items: usize) -> Vec<u64> {
    let mut words = Vec::with_capacity(policy.words());
    // The last block has numbers of items beyond the last one.
    let is_wide = most_items > i32::MAX as usize;
    let padding = policy.rank - axes.rank();
    ConcatenateParams {
        head: ConcatenateHead {
            count: count as u32,
            rank: axes.rank() as u32,
            along: axes.along as u32,
            is_wide: is_wide.into(),
            table: 0,
        },
        lengths: axes.lengths.iter().map(|&length| length as u64).chain(std::iter::repeat_n(1, padding)),
        strides: axes.strides.iter().map(|&stride| stride as i64).chain(std::iter::repeat_n(0, padding)),
        parts: list,
    }
    .write(&mut words);
    // There is room for more parts.
    words.resize(policy.words(), 0);
    words
}
