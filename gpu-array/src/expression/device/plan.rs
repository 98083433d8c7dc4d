//! From an expression and its destination to launches: the loop, its words, the number of blocks.

use gpu_driver::{Arch, LaunchConfig};
use smallvec::SmallVec;

use super::{
    axes::Axes,
    params::{
        AxisEntry, CONSTANT, LeafParams, LinearHead, LinearParams, MAX_AXES, PACKED, RowsHead, RowsParams, STRIDED,
        SharedTile, StridedHead, StridedParams, TRANSPOSED, TiledHead, TiledParams, divisor,
    },
    policy::{Loop, Policy},
};
use crate::{
    ArrayError, Result,
    expression::graph::{Code, Leaf, LeafMemory},
};

/// Shared memory that a block has without opting in.
const SHARED_BYTES: usize = 48 * 1024;

/// The most blocks of a grid.
const MOST_BLOCKS: usize = i32::MAX as usize;

/// The shortest rows of expressions without tables, in packs, that have a loop of their own: shorter ones leave threads idle.
const SHORTEST_ROW: usize = 64;

/// Shortest axes that are worth a tile.
const SHORTEST_TILED: usize = 16;

/// The argument of a launch.
pub(crate) type Words = SmallVec<[u64; 64]>;

/// Destination of the values: an address for each output, all with the same strides.
pub(crate) struct LaunchTarget<'t> {
    addresses: &'t [u64],
    sizes: SmallVec<[usize; 2]>,
}

impl<'t> LaunchTarget<'t> {
    pub(crate) fn of(code: &Code<'_>, addresses: &'t [u64]) -> Self {
        let bytes = |&step: &u32| code.steps[step as usize].dtype.bytes();
        Self { addresses, sizes: code.outputs.iter().map(bytes).collect() }
    }
}

/// Chooses the loop for the axes, which it brings into the loop's order, and its policy.
pub(crate) fn choose(code: &Code<'_>, axes: &mut Axes, target: &LaunchTarget<'_>, arch: Arch) -> (Loop, Policy) {
    let which = choose_loop(code, axes);
    if which == Loop::Strided && axes.rank() > 1 {
        // Without tables nothing but loads would be spared, and each pattern of leaves would have a kernel.
        let same = if code.tables.is_empty() { 0 } else { same_along_rows(code, axes) };
        let rows = Loop::Rows { same };
        let policy = Policy::of(arch, rows, code);
        let (length, width) = (axes.length(0), policy.vector_size as usize);
        let is_whole = width > 1 && length.is_multiple_of(width) && length <= i32::MAX as usize;
        let is_worth_it =
            || if code.tables.is_empty() { are_long_rows(code, axes, &policy, target) } else { same != 0 };
        if is_whole && is_worth_it() {
            return (rows, policy);
        }
    }
    (which, Policy::of(arch, which, code))
}

/// Whether rows are long, and all that lies along them is moved in aligned packs.
fn are_long_rows(code: &Code<'_>, axes: &Axes, policy: &Policy, target: &LaunchTarget<'_>) -> bool {
    axes.length(0) / policy.vector_size as usize >= SHORTEST_ROW
        && outputs_packed(axes, policy, target)
        && leaves(code, axes, policy).all(|leaf| leaf.kind != STRIDED)
}

/// The leaves that have one value for all places of a row, as bits.
fn same_along_rows(code: &Code<'_>, axes: &Axes) -> u64 {
    let leaves = (0..code.leaves.len().min(u64::BITS as usize)).filter(|&leaf| step_along(axes, leaf) == 0);
    leaves.map(|leaf| 1 << leaf).sum()
}

fn choose_loop(code: &Code<'_>, axes: &mut Axes) -> Loop {
    let unit = |stride: isize| stride == 1 || stride == 0;
    let in_memory = |leaf: usize| !matches!(code.leaves[leaf].memory, LeafMemory::Nowhere);
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

/// Words of the lists that all loops have: outputs, leaves, steps or axes, scalars and extra words.
fn list_words(code: &Code<'_>, which: Loop) -> [usize; 5] {
    let leaves = code.leaves.len();
    let of_axes = match which {
        Loop::Linear => leaves.max(1),
        Loop::Strided | Loop::Rows { .. } | Loop::Tiled => MAX_AXES * AxisEntry::words(1 + leaves),
    };
    // An empty list has an element in C++.
    [code.outputs.len(), 2 * leaves.max(1), of_axes, code.scalars.len().max(1), extra(code).count().max(1)]
}

/// Words of a loop's parameters.
pub(crate) fn words(code: &Code<'_>, which: Loop) -> usize {
    let (head, tiles) = match which {
        Loop::Linear => (size_of::<LinearHead>(), 0),
        Loop::Strided => (size_of::<StridedHead>(), 0),
        Loop::Rows { .. } => (size_of::<RowsHead>(), 0),
        Loop::Tiled => (size_of::<TiledHead>(), code.leaves.len().max(1)),
    };
    head / size_of::<u64>() + tiles + list_words(code, which).iter().sum::<usize>()
}

/// Text that compares the parameters of the loop over the structure `expression` with those that the launch passes.
pub(crate) fn check_text(code: &Code<'_>, which: Loop, expression: &str) -> String {
    let words = list_words(code, which);
    match which {
        Loop::Linear => LinearHead::check(&format!("gpu::LinearParams<{expression}>"), words),
        Loop::Strided => StridedHead::check(&format!("gpu::StridedParams<{expression}>"), words),
        Loop::Rows { .. } => RowsHead::check(&format!("gpu::RowsParams<{expression}>"), words),
        Loop::Tiled => {
            let [outputs, leaves, axes, scalars, extra] = words;
            let words = [outputs, leaves, code.leaves.len().max(1), axes, scalars, extra];
            TiledHead::check(&format!("gpu::TiledParams<{expression}>"), words)
        }
    }
}

/// Calls `launch` with each launch of a loop. There is one, unless the expression needs more axes than a kernel takes.
pub(crate) fn for_each_launch(
    code: &Code<'_>,
    axes: &Axes,
    which: Loop,
    policy: &Policy,
    target: &LaunchTarget<'_>,
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
        Loop::Rows { .. } => rows(code, axes, policy, target, &mut words),
        Loop::Tiled => tiled(code, axes, policy, target, &mut words),
    };
    if size.blocks > MOST_BLOCKS {
        return Err(ArrayError::TooLarge { shape: code.shape.to_vec() });
    }
    launch(&words, size.launch(policy))
}

/// The address of the first element of an output.
fn output_address(axes: &Axes, target: &LaunchTarget<'_>, output: usize) -> u64 {
    target.addresses[output].wrapping_add_signed((axes.offsets[0] * target.sizes[output] as isize) as i64)
}

fn outputs<'a>(axes: &'a Axes, target: &'a LaunchTarget<'_>) -> impl ExactSizeIterator<Item = u64> + 'a {
    (0..target.addresses.len()).map(|output| output_address(axes, target, output))
}

/// Places of the axes from `first` on.
fn outer_places(axes: &Axes, first: usize) -> usize {
    (first..axes.rank()).map(|axis| axes.length(axis)).product()
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

fn linear(code: &Code<'_>, axes: &Axes, policy: &Policy, target: &LaunchTarget<'_>, words: &mut Words) -> Size {
    let n = axes.places();
    let out = output_address(axes, target, 0);
    // Several outputs are new and all aligned.
    let peel = out % pack_bytes(policy.vector_size as usize, target.sizes[0]) / target.sizes[0] as u64;
    let leaf = |(number, leaf): (usize, &_)| {
        let address = leaf_address(code, axes, number);
        LeafParams { address, kind: linear_kind(axes, policy, peel, number, leaf, address) }
    };
    LinearParams {
        head: LinearHead { count: n as u64, peel },
        outputs: outputs(axes, target),
        leaves: code.leaves.iter().enumerate().map(leaf),
        steps: (0..code.leaves.len()).map(|leaf| step_along(axes, leaf) as i64),
        scalars: code.scalars.iter().copied(),
        extra: extra(code),
    }
    .write(words);
    let tile = (policy.threads * policy.vector_size * policy.vectors_per_thread) as usize;
    Size { blocks: (n + peel as usize).div_ceil(tile), shared_bytes: 0 }
}

/// The step of a leaf along the one axis that there is, or 0 where there is none.
fn step_along(axes: &Axes, leaf: usize) -> isize {
    if axes.rank() == 0 { 0 } else { axes.strides(0)[leaf + 1] }
}

fn linear_kind(axes: &Axes, policy: &Policy, peel: u64, number: usize, leaf: &Leaf<'_>, address: u64) -> u64 {
    if matches!(leaf.memory, LeafMemory::Nowhere) {
        return STRIDED;
    }
    if step_along(axes, number) == 0 {
        return CONSTANT;
    }
    let bytes = leaf.dtype.bytes();
    let first_pack = address.wrapping_sub(peel * bytes as u64);
    if first_pack.is_multiple_of(pack_bytes(policy.vector_size as usize, bytes)) { PACKED } else { STRIDED }
}

/// Whether packs along an axis are aligned everywhere: stride 1 there, and all other strides whole packs.
fn is_packed(axes: &Axes, axis: usize, operand: usize, address: u64, bytes: usize, policy: &Policy) -> bool {
    let pack = pack_bytes(policy.vector_size as usize, bytes);
    let whole = |other: usize| axes.strides(other)[operand] * bytes as isize % pack as isize == 0;
    let mut others = (0..axes.rank()).filter(|&other| other != axis);
    axes.strides(axis)[operand] == 1 && address.is_multiple_of(pack) && others.all(whole)
}

fn outputs_packed(axes: &Axes, policy: &Policy, target: &LaunchTarget<'_>) -> bool {
    let packed =
        |output: usize| is_packed(axes, 0, 0, output_address(axes, target, output), target.sizes[output], policy);
    (0..target.addresses.len()).all(packed)
}

fn leaf_kind(code: &Code<'_>, axes: &Axes, policy: &Policy, leaf: usize, address: u64) -> u64 {
    if matches!(code.leaves[leaf].memory, LeafMemory::Nowhere) {
        0
    } else if axes.strides(0)[leaf + 1] == 0 {
        CONSTANT
    } else if is_packed(axes, 0, leaf + 1, address, code.leaves[leaf].dtype.bytes(), policy) {
        PACKED
    } else {
        STRIDED
    }
}

/// The leaves of a loop whose threads go along axis 0.
fn leaves<'a>(
    code: &'a Code<'_>,
    axes: &'a Axes,
    policy: &'a Policy,
) -> impl ExactSizeIterator<Item = LeafParams> + 'a {
    (0..code.leaves.len()).map(move |leaf| {
        let address = leaf_address(code, axes, leaf);
        LeafParams { address, kind: leaf_kind(code, axes, policy, leaf, address) }
    })
}

fn strided(code: &Code<'_>, axes: &Axes, policy: &Policy, target: &LaunchTarget<'_>, words: &mut Words) -> Size {
    let rank = axes.rank();
    let length = axes.length(0);
    let per_row = length.div_ceil(policy.vector_size as usize);
    let rows = outer_places(axes, 1);
    let items = rows * per_row;
    StridedParams {
        head: StridedHead {
            items: items as u64,
            length: length as u64,
            row_packs: per_row as u64,
            row_divisor: divisor(per_row),
            rank: rank as u32,
            is_packed: outputs_packed(axes, policy, target).into(),
            is_wide: (items > i32::MAX as usize).into(),
        },
        outputs: outputs(axes, target),
        leaves: leaves(code, axes, policy),
        axes: axis_params(code, axes),
        scalars: code.scalars.iter().copied(),
        extra: extra(code),
    }
    .write(words);
    let block = (policy.threads * policy.vectors_per_thread) as usize;
    Size { blocks: items.div_ceil(block), shared_bytes: 0 }
}

fn rows(code: &Code<'_>, axes: &Axes, policy: &Policy, target: &LaunchTarget<'_>, words: &mut Words) -> Size {
    let (rank, vectors, threads) = (axes.rank(), policy.vectors_per_thread as usize, policy.threads as usize);
    let row_packs = axes.length(0) / policy.vector_size as usize;
    let rows = outer_places(axes, 1);
    let lanes = row_packs.div_ceil(vectors).next_power_of_two().min(threads);
    let parts = row_packs.div_ceil(lanes * vectors);
    RowsParams {
        head: RowsHead {
            rows: rows as u64,
            parts_divisor: divisor(parts),
            row_packs: row_packs as u32,
            parts: parts as u32,
            log_lanes: lanes.trailing_zeros(),
            rank: rank as u32,
            is_packed: outputs_packed(axes, policy, target).into(),
            is_wide: (rows > i32::MAX as usize).into(),
        },
        outputs: outputs(axes, target),
        leaves: leaves(code, axes, policy),
        axes: axis_params(code, axes),
        scalars: code.scalars.iter().copied(),
        extra: extra(code),
    }
    .write(words);
    Size { blocks: rows.div_ceil(threads / lanes).saturating_mul(parts), shared_bytes: 0 }
}

fn axis_params<'a>(code: &Code<'_>, axes: &'a Axes) -> impl Iterator<Item = AxisEntry<'a>> {
    let there = (0..axes.rank()).map(|axis| AxisEntry::new(axes.length(axis), axes.strides(axis)));
    AxisEntry::list(there, 1 + code.leaves.len())
}

fn tiled(code: &Code<'_>, axes: &Axes, policy: &Policy, target: &LaunchTarget<'_>, words: &mut Words) -> Size {
    let rank = axes.rank();
    let tile = policy.tile as usize;
    let tiles = [axes.length(0).div_ceil(tile), axes.length(1).div_ceil(tile)];
    let outer = outer_places(axes, 2);
    let mut shared_bytes = 0;
    let mut shared_tiles: SmallVec<[SharedTile; 4]> = SmallVec::new();
    let mut leaf = |number: usize| {
        let leaf = &code.leaves[number];
        let address = leaf_address(code, axes, number);
        let (along, across) = (axes.strides(0)[number + 1], axes.strides(1)[number + 1]);
        let bytes = leaf.dtype.bytes();
        let room = (tile * (tile + 1) * bytes).next_multiple_of(16);
        let crosses = !matches!(leaf.memory, LeafMemory::Nowhere) && along != 0 && along != 1 && across == 1;
        if !crosses || shared_bytes + room > SHARED_BYTES {
            shared_tiles.push(SharedTile { offset: 0, is_packed: 0 });
            return LeafParams { address, kind: leaf_kind(code, axes, policy, number, address) };
        }
        let is_packed = is_packed(axes, 1, number + 1, address, bytes, policy).into();
        shared_tiles.push(SharedTile { offset: shared_bytes as u32, is_packed });
        shared_bytes += room;
        LeafParams { address, kind: TRANSPOSED }
    };
    let leaves: SmallVec<[LeafParams; 4]> = (0..code.leaves.len()).map(&mut leaf).collect();
    TiledParams {
        head: TiledHead {
            rank: rank as u32,
            is_packed: outputs_packed(axes, policy, target).into(),
            tiles_0: tiles[0] as u32,
            tiles_1: tiles[1] as u32,
        },
        outputs: outputs(axes, target),
        leaves,
        tiles: shared_tiles,
        axes: axis_params(code, axes),
        scalars: code.scalars.iter().copied(),
        extra: extra(code),
    }
    .write(words);
    Size { blocks: tiles[0] * tiles[1] * outer, shared_bytes }
}
