//! From an expression and its destination to launches: the loop, its words, the number of blocks.

use gpu_driver::LaunchConfig;
use smallvec::SmallVec;

use super::{
    axes::Axes,
    policy::{Loop, Policy},
};
use crate::{
    ArrayError, Result,
    expression::{Code, Memory},
};

/// The most axes of a launch, after joining; as in `loop.cuh`.
pub const MAX_AXES: usize = 8;
/// Kind of a leaf along the axis that threads go along, as in `loop.cuh`: neighbours, aligned to packs.
pub const PACKED: u64 = 0;
/// Kind of a leaf: elements at a distance.
pub const SPACED: u64 = 1;
/// Kind of a leaf: one element for all.
pub const CONSTANT: u64 = 2;
const CROSSED: u64 = 3;

/// Shared memory that a block has without opting in.
const SHARED_BYTES: usize = 48 * 1024;

/// The most blocks of a grid.
const MOST_BLOCKS: usize = i32::MAX as usize;

/// Shortest axes that are worth a tile.
const SHORTEST_TILED: usize = 16;

/// The argument of a launch.
pub(crate) type Words = SmallVec<[u64; 64]>;

/// Destination of the values: an address for each output, all with the same strides.
pub(crate) struct Target<'t> {
    pub(crate) addresses: &'t [u64],
    pub(crate) sizes: SmallVec<[usize; 2]>,
}

/// Chooses the loop for the axes, and brings them into its order.
pub(crate) fn choose(code: &Code<'_>, axes: &mut Axes) -> Loop {
    let unit = |stride: isize| stride == 1 || stride == 0;
    let in_memory = |leaf: usize| !matches!(code.leaves[leaf].memory, Memory::Nowhere);
    if axes.rank() == 0 {
        return Loop::Linear;
    }
    let inner = axes.strides(0);
    let leaves = 0..code.leaves.len();
    if axes.rank() == 1 && inner[0] == 1 && leaves.clone().all(|leaf| !in_memory(leaf) || unit(inner[leaf + 1])) {
        return Loop::Linear;
    }
    if inner[0] != 1 || axes.rank() > MAX_AXES || axes.length(0) < SHORTEST_TILED {
        return Loop::Strided;
    }
    // The second axis of a tile is the one along which most of the leaves lie that do not lie along the output's axis.
    let crosses = |axis: usize, leaf: usize| {
        in_memory(leaf) && !unit(axes.strides(0)[leaf + 1]) && axes.strides(axis)[leaf + 1] == 1
    };
    let count = |axis: usize| leaves.clone().filter(|&leaf| crosses(axis, leaf)).count();
    let best = (1..axes.rank()).filter(|&axis| axes.length(axis) >= SHORTEST_TILED).max_by_key(|&axis| count(axis));
    match best {
        Some(axis) if count(axis) > 0 => {
            axes.move_axis(axis, 1);
            Loop::Tiled
        }
        _ => Loop::Strided,
    }
}

/// Number of words of a loop's parameter: `COUNT` of the structures in the `.cuh` files.
pub(crate) fn words(code: &Code<'_>, which: Loop) -> usize {
    let leaves = code.leaves.len();
    let own = match which {
        Loop::Linear => 2,
        Loop::Strided => 5 + MAX_AXES * (3 + leaves),
        Loop::Tiled => 3 + MAX_AXES * (2 + leaves),
    };
    own + code.outputs.len() + 2 * leaves + code.scalars.len() + extra(code).count()
}

/// Calls `launch` with each launch of a loop. There is one, unless the expression needs more axes than a kernel takes.
pub(crate) fn for_each_launch(
    code: &Code<'_>,
    axes: &Axes,
    which: Loop,
    policy: &Policy,
    target: &Target<'_>,
    launch: &dyn Fn(&[u64], LaunchConfig) -> Result<()>,
) -> Result<()> {
    if axes.rank() > MAX_AXES {
        let mut outermost = 0..axes.length(axes.rank() - 1);
        return outermost
            .try_for_each(|place| for_each_launch(code, &axes.at_outermost(place), which, policy, target, launch));
    }
    let mut words = Words::new();
    let size = match which {
        Loop::Linear => linear(code, axes, policy, target, &mut words),
        Loop::Strided => strided(code, axes, policy, target, &mut words),
        Loop::Tiled => tiled(code, axes, policy, target, &mut words),
    };
    if size.blocks > MOST_BLOCKS {
        return Err(ArrayError::TooLarge { shape: code.shape.to_vec() });
    }
    launch(&words, size.launch(policy))
}

/// The address of the first element of an output.
fn output_address(axes: &Axes, target: &Target<'_>, output: usize) -> u64 {
    target.addresses[output].wrapping_add_signed((axes.offsets[0] * target.sizes[output] as isize) as i64)
}

/// The address of a leaf's first element, or the first value of a leaf without memory.
fn leaf_address(code: &Code<'_>, axes: &Axes, leaf: usize) -> u64 {
    code.leaves[leaf].address(axes.offsets[leaf + 1])
}

/// The alignment in bytes of a pack of `width` elements that is moved at once.
pub fn pack_bytes(width: usize, element_bytes: usize) -> u64 {
    (width as u64 * element_bytes as u64).min(16)
}

/// The words of tables and sources.
pub(crate) fn extra<'c>(code: &'c Code<'_>) -> impl Iterator<Item = u64> + 'c {
    let tables = code.tables.iter().map(|table| table.memory.address(table.offset, table.dtype));
    tables.chain(code.sources.iter().flat_map(|source| source.words().iter().copied()))
}

fn push_rest(code: &Code<'_>, words: &mut Words) {
    words.extend_from_slice(&code.scalars);
    words.extend(extra(code));
}

/// The size of a launch.
struct Size {
    blocks: usize,
    shared_bytes: usize,
}

impl Size {
    fn launch(&self, policy: &Policy) -> LaunchConfig {
        let blocks = u32::try_from(self.blocks.max(1)).unwrap_or(u32::MAX);
        LaunchConfig { grid: blocks.into(), block: policy.threads.into(), shared_bytes: self.shared_bytes as u32 }
    }
}

fn linear(code: &Code<'_>, axes: &Axes, policy: &Policy, target: &Target<'_>, words: &mut Words) -> Size {
    let n = axes.places();
    let out = output_address(axes, target, 0);
    // Several outputs are new and all aligned.
    let shift = out % pack_bytes(policy.width as usize, target.sizes[0]) / target.sizes[0] as u64;
    words.extend_from_slice(&[n as u64, shift]);
    words.extend((0..target.addresses.len()).map(|output| output_address(axes, target, output)));
    for (number, leaf) in code.leaves.iter().enumerate() {
        let stride = if axes.rank() == 0 { 0 } else { axes.strides(0)[number + 1] };
        let address = leaf_address(code, axes, number);
        let kind = match leaf.memory {
            Memory::Nowhere => stride as u64,
            _ if stride == 0 => CONSTANT,
            _ => {
                let bytes = leaf.dtype.bytes();
                let aligned =
                    address.wrapping_sub(shift * bytes as u64).is_multiple_of(pack_bytes(policy.width as usize, bytes));
                if aligned { PACKED } else { SPACED }
            }
        };
        words.extend_from_slice(&[address, kind]);
    }
    push_rest(code, words);
    let tile = (policy.threads * policy.width * policy.unroll) as usize;
    Size { blocks: (n + shift as usize).div_ceil(tile), shared_bytes: 0 }
}

/// Whether packs along an axis are aligned everywhere: stride 1 there, and all other strides whole packs.
fn is_packed(axes: &Axes, axis: usize, operand: usize, address: u64, bytes: usize, policy: &Policy) -> bool {
    let pack = pack_bytes(policy.width as usize, bytes);
    let whole = |other: usize| axes.strides(other)[operand] * bytes as isize % pack as isize == 0;
    let mut others = (0..axes.rank()).filter(|&other| other != axis);
    axes.strides(axis)[operand] == 1 && address.is_multiple_of(pack) && others.all(whole)
}

fn outputs_packed(axes: &Axes, policy: &Policy, target: &Target<'_>) -> bool {
    let packed =
        |output: usize| is_packed(axes, 0, 0, output_address(axes, target, output), target.sizes[output], policy);
    (0..target.addresses.len()).all(packed)
}

fn leaf_kind(code: &Code<'_>, axes: &Axes, policy: &Policy, leaf: usize, address: u64) -> u64 {
    if matches!(code.leaves[leaf].memory, Memory::Nowhere) {
        0
    } else if axes.strides(0)[leaf + 1] == 0 {
        CONSTANT
    } else if is_packed(axes, 0, leaf + 1, address, code.leaves[leaf].dtype.bytes(), policy) {
        PACKED
    } else {
        SPACED
    }
}

/// The word by which `quotient` in `loop.cuh` divides by a length of at least 1.
///
/// It serves dividends of at most 31 bits (Granlund and Montgomery, Division by Invariant Integers using Multiplication, 1994).
pub fn divisor(length: usize) -> u64 {
    let d = length as u64;
    if d > i32::MAX as u64 {
        return 0; // then the items are not counted in 31 bits either
    }
    let shift = u64::from(d.next_power_of_two().trailing_zeros());
    let multiplier = ((1u64 << 32) * ((1u64 << shift) - d)) / d + 1;
    multiplier | shift << 32
}

fn strided(code: &Code<'_>, axes: &Axes, policy: &Policy, target: &Target<'_>, words: &mut Words) -> Size {
    let rank = axes.rank();
    let length = axes.length(0);
    let per_row = length.div_ceil(policy.width as usize);
    let rows: usize = (1..rank).map(|axis| axes.length(axis)).product();
    let items = rows * per_row;
    let packed = outputs_packed(axes, policy, target);
    let wide = items > i32::MAX as usize;
    words.extend([items as u64, rank as u64 | u64::from(packed) << 8 | u64::from(wide) << 16, length as u64]);
    words.extend([per_row as u64, divisor(per_row)]);
    words.extend((0..target.addresses.len()).map(|output| output_address(axes, target, output)));
    for leaf in 0..code.leaves.len() {
        let address = leaf_address(code, axes, leaf);
        words.extend([address, leaf_kind(code, axes, policy, leaf, address)]);
    }
    for axis in 0..MAX_AXES {
        if axis < rank {
            words.extend([axes.length(axis) as u64, divisor(axes.length(axis))]);
            words.extend(axes.strides(axis).iter().map(|&stride| stride as u64));
        } else {
            words.extend(std::iter::repeat_n(0, 3 + code.leaves.len()));
        }
    }
    push_rest(code, words);
    let block = (policy.threads * policy.unroll) as usize;
    Size { blocks: items.div_ceil(block), shared_bytes: 0 }
}

fn tiled(code: &Code<'_>, axes: &Axes, policy: &Policy, target: &Target<'_>, words: &mut Words) -> Size {
    let rank = axes.rank();
    let tile = policy.tile as usize;
    let tiles = [axes.length(0).div_ceil(tile), axes.length(1).div_ceil(tile)];
    let outer: usize = (2..rank).map(|axis| axes.length(axis)).product();
    let packed = outputs_packed(axes, policy, target);
    words.extend([rank as u64 | u64::from(packed) << 8, tiles[0] as u64, tiles[1] as u64]);
    words.extend((0..target.addresses.len()).map(|output| output_address(axes, target, output)));
    let mut shared_bytes = 0;
    for (number, leaf) in code.leaves.iter().enumerate() {
        let address = leaf_address(code, axes, number);
        let (along, across) = (axes.strides(0)[number + 1], axes.strides(1)[number + 1]);
        let bytes = leaf.dtype.bytes();
        let room = (tile * (tile + 1) * bytes).next_multiple_of(16);
        let crosses = !matches!(leaf.memory, Memory::Nowhere) && along != 0 && along != 1 && across == 1;
        let kind = if crosses && shared_bytes + room <= SHARED_BYTES {
            let aligned = is_packed(axes, 1, number + 1, address, bytes, policy);
            let kind = CROSSED | u64::from(aligned) << 8 | (shared_bytes as u64) << 16;
            shared_bytes += room;
            kind
        } else {
            leaf_kind(code, axes, policy, number, address)
        };
        words.extend([address, kind]);
    }
    for axis in 0..MAX_AXES {
        if axis < rank {
            words.push(axes.length(axis) as u64);
            words.extend(axes.strides(axis).iter().map(|&stride| stride as u64));
        } else {
            words.extend(std::iter::repeat_n(0, 2 + code.leaves.len()));
        }
    }
    push_rest(code, words);
    Size { blocks: tiles[0] * tiles[1] * outer, shared_bytes }
}
