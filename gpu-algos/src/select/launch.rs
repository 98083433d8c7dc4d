//! The launches of a selection's kernels.
#![expect(unsafe_code, reason = "the launches of generated kernels")]

use gpu_array::{
    DType,
    expression::LoweredLeaf,
    gpu_driver::{Device, GeneratedKernel, Header, KernelSpace, Program, Stream},
};
use smallvec::SmallVec;

use super::policy::{LOADING, Staged, TILES_OF_AHEAD, policy};
pub(crate) use crate::device::params::{FLAGS, INDICES, KEYS, LENGTHS, REJECTED, VALUES};
use crate::{
    Result,
    device::{
        HEADERS, TILES,
        params::{TILE_PARAMS, check_text},
    },
    launch::{resident, unique, with_headers},
    reduce::ValueSource,
    scan::{Algorithm, CONTIGUOUS, Leaves, MOST_SHARED_BYTES, MemoryLayout, Policy, ScanAxes, ScanTarget, Selection},
    shape::in_order,
};

pub(crate) const SINGLE_PASS: Header =
    Header { name: "select_single_pass.cuh", text: include_str!("device/select_single_pass.cuh") };
const PIPELINED: Header = Header { name: "select_pipelined.cuh", text: include_str!("device/select_pipelined.cuh") };

/// Parts of both kernels, and of the second one.
const PARTS: [Header; 3] = [
    Header { name: "selected.cuh", text: include_str!("device/selected.cuh") },
    Header { name: "select_staged.cuh", text: include_str!("device/select_staged.cuh") },
    Header { name: "select_counting.cuh", text: include_str!("device/select_counting.cuh") },
];

/// The keys of kernels of selections.
static SPACE: KernelSpace = KernelSpace::new();

/// Bytes of a tile's slot: the tile's count, and the mark of a slot beside it.
const SLOT_BYTES: usize = 8;

const OP: &str = "a selection";

/// The operands of a selection, and its mode.
pub(crate) struct SelectJob<'j> {
    /// ValueSource of the moved values, if it is not `heads`.
    pub(crate) values: Option<&'j dyn ValueSource>,
    /// ValueSource that decides which values are selected.
    pub(crate) heads: &'j dyn ValueSource,
    /// `FLAGS` or `KEYS`, and the flags of the output.
    pub(crate) mode: u32,
}

/// Destination of a selection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Out {
    /// Address of the values, or of the indices if no values are written.
    pub(crate) address: u64,
    pub(crate) dtype: DType,
    /// Step between neighbouring values, in elements.
    pub(crate) step: isize,
    /// Addresses of the indices beside values, and of the lengths of runs.
    pub(crate) places: u64,
    pub(crate) lengths: u64,
    pub(crate) count: u64,
}

impl SelectJob<'_> {
    /// Number of leaves that belong to the moved values.
    pub(super) fn leaves_of_values(&self) -> usize {
        self.values.map_or(0, |values| values.leaves().len())
    }

    fn sources(&self) -> impl Iterator<Item = &dyn ValueSource> {
        self.values.into_iter().chain([self.heads])
    }

    /// Enqueues the selection on `stream`. Returns false, and writes nothing, if there are no values. Does not wait.
    pub(crate) fn run(&self, out: &Out, out_homes: &[&Stream], stream: &Stream) -> Result<bool> {
        let shape = self.heads.shape();
        let leaves: Leaves<'_> = self.sources().flat_map(|source| source.leaves()).collect();
        let strides: SmallVec<[&[isize]; 4]> = leaves.iter().map(|leaf| leaf.strides).collect();
        let count: usize = shape.iter().product();
        if count == 0 {
            return Ok(false);
        }
        let in_order = in_order(shape, 1);
        let target = ScanTarget { address: out.address, dtype: out.dtype, strides: &in_order };
        let mut layout =
            MemoryLayout::of(OP, ScanAxes::of(shape, target.strides, &strides, None, false), &leaves, &target);
        layout.selection =
            Selection { count: out.count, step: out.step as i64, places: out.places, lengths: out.lengths };
        let most_shared = stream.device().attribute(MOST_SHARED_BYTES)? as usize;
        let enough = TILES_OF_AHEAD * stream.device().multiprocessors()? as usize;
        let read = Read::of(&leaves, self.leaves_of_values());
        let ahead = KernelSpec::ahead(self, &read, out.dtype, layout.mode, most_shared, |policy| {
            out.step == 1 && count / policy.tile() >= enough && layout.are_leaves_packed(&leaves, policy.width as usize)
        });
        let kernel = ahead.unwrap_or_else(|| KernelSpec::of(self, &read, out.dtype, layout.mode, count));
        let scalars = self.sources().flat_map(|source| source.scalars().iter().copied());
        let extra = self.sources().flat_map(|source| source.extra());
        let generated = kernel.generated(stream.device())?;
        let Policy { threads, helpers, shared_bytes, .. } = kernel.policy;
        let resident = resident(&generated, threads + helpers, shared_bytes, stream.device())?;
        // With REJECTED the total needs a slot after those of the tiles: two slots per tile leave room for it.
        let slot = if self.mode & REJECTED != 0 { 2 * SLOT_BYTES } else { SLOT_BYTES };
        let launch = layout.launch(shape, &leaves, &kernel.policy, slot, resident, (scalars, extra))?;
        let homes = unique(self.sources().flat_map(|source| source.homes()).chain(out_homes.iter().copied()));
        // SAFETY: the params fulfil the kernel's contract: `MemoryLayout` made them of the axes. Every offset of a leaf lies within the views that leaves were
        // made from, and the targets have room for all values. All are borrowed (the targets exclusively) until this call returns, and their homes
        // come before the launch.
        unsafe { launch.enqueue(&generated, &homes, stream)? };
        Ok(true)
    }
}

/// The kernel of a job.
pub(crate) struct KernelSpec<'k> {
    job: &'k SelectJob<'k>,
    mode: u32,
    policy: Policy,
    /// Leaves of the values that are leaves of `heads` too, encoded as in `selected.cuh`.
    same: u64,
}

/// The leaves that a kernel reads.
pub(super) struct Read<'l> {
    /// Leaves of the values that are leaves of `heads` too, encoded as in `selected.cuh`.
    same: u64,
    /// The leaves without those repetitions.
    leaves: SmallVec<[LoweredLeaf<'l>; 4]>,
    /// Bytes of a value of each leaf, or 0 if the leaf is not read.
    bytes: SmallVec<[usize; 4]>,
}

impl<'l> Read<'l> {
    /// Finds the repeated leaves; the first `of_values` leaves belong to the moved values.
    pub(super) fn of(leaves: &Leaves<'l>, of_values: usize) -> Self {
        let is_same = |one: &LoweredLeaf<'_>, other: &LoweredLeaf<'_>| {
            let layout = |leaf: &LoweredLeaf<'_>| (leaf.address, leaf.dtype, leaf.is_place);
            !one.is_place && layout(one) == layout(other) && one.strides == other.strides
        };
        // The encoding has a digit of 4 bits for each leaf.
        let seen = &leaves[..of_values.min(15)];
        let mut read = Self { same: 0, leaves: SmallVec::new(), bytes: SmallVec::new() };
        for (number, leaf) in leaves.iter().enumerate() {
            let digit = number.checked_sub(of_values).filter(|&digit| digit < 16);
            let same = digit.and_then(|digit| Some((digit, seen.iter().position(|other| is_same(leaf, other))?)));
            if let Some((digit, place)) = same {
                read.same |= (place as u64 + 1) << (4 * digit);
            } else {
                read.leaves.push(*leaf);
            }
            let is_read = same.is_none() && !leaf.is_place;
            read.bytes.push(if is_read { leaf.dtype.bytes() } else { 0 });
        }
        read
    }
}

impl<'k> KernelSpec<'k> {
    /// The kernel for `count` values with the layout `layout`.
    pub(super) fn of(job: &'k SelectJob<'k>, read: &Read<'_>, value: DType, layout: u32, count: usize) -> Self {
        // An index in a tile takes two bytes.
        let value_bytes = if job.mode & VALUES != 0 { value.bytes() } else { 0 };
        let moved_bytes = if job.mode & INDICES != 0 { value_bytes.max(2) } else { value_bytes };
        let plain = layout & CONTIGUOUS;
        let heavy = job.mode & (REJECTED | LENGTHS) != 0;
        let policy = policy(&read.leaves, moved_bytes, plain != 0, heavy, count);
        Self { job, mode: job.mode | plain, policy, same: read.same }
    }

    /// The kernel with its tiles in shared memory, with the first policy that `fits` accepts; None if there is none.
    pub(super) fn ahead(
        job: &'k SelectJob<'k>,
        read: &Read<'_>,
        value: DType,
        layout: u32,
        most_shared: usize,
        fits: impl FnMut(&Policy) -> bool,
    ) -> Option<Self> {
        if layout & CONTIGUOUS == 0 {
            return None;
        }
        let mode = job.mode | CONTIGUOUS;
        let bytes_if = |what: u32, bytes: usize| if mode & what != 0 { bytes } else { 0 };
        let (of_values, of_places) = (bytes_if(VALUES, value.bytes()), bytes_if(INDICES, 2));
        let (selected, beside) = if of_values > 0 { (of_values, of_places) } else { (of_places, 0) };
        let staged = Staged { leaves: &read.bytes, selected, beside, keys: mode & KEYS != 0 };
        let policy = staged.policies(most_shared).find(fits)?;
        Some(Self { job, mode, policy, same: read.same })
    }

    fn generated(&self, device: &Device) -> Result<GeneratedKernel> {
        let Policy { threads, width, unroll, .. } = self.policy;
        let mut key: SmallVec<[u64; 64]> = SmallVec::new();
        let numbers = u64::from(threads) << 32 | u64::from(width) << 16 | u64::from(unroll);
        let is_ahead = u64::from(matches!(self.policy.algorithm, Algorithm::Pipelined { .. }));
        key.extend([SPACE.word(), is_ahead << 32 | u64::from(self.mode), numbers, self.same]);
        for source in self.job.sources() {
            source.add_key(&mut key);
            // The word separates the keys of the sources.
            key.push(u64::MAX);
        }
        Ok(device.generated_kernel(&SPACE, &key, || Ok(self.program()))?)
    }

    pub(crate) fn program(&self) -> Program {
        let mut headers: Vec<Header> = Vec::new();
        let mut text = String::new();
        let mut add = |source: Option<&dyn ValueSource>, name: &'static str| {
            let Some(source) = source else { return "gpu::tiles::Nothing" };
            let (structure, includes) = source.text(name);
            text += &structure;
            headers.extend(includes);
            name
        };
        let (value, heads) = (add(self.job.values, "Value"), add(Some(self.job.heads), "Heads"));
        let Policy { threads, width, unroll, .. } = self.policy;
        let (mode, same) = (self.mode, self.same);
        let (header, name) = match self.policy.algorithm {
            Algorithm::Pipelined { ahead } => {
                let policy = format!("gpu::tiles::PipelinePolicy<{threads}, {width}, {unroll}, {ahead}, {LOADING}>");
                (PIPELINED, format!("gpu::select::select_pipelined<{value}, {heads}, {mode}, {same}ull, {policy}>"))
            }
            _ => {
                let policy = format!("gpu::tiles::Policy<{threads}, {width}, {unroll}>");
                (SINGLE_PASS, format!("gpu::select::select_single_pass<{value}, {heads}, {mode}, {same}ull, {policy}>"))
            }
        };
        text += &check_text(self.job.sources(), [value, heads, "gpu::tiles::Nothing"]);
        program(header.name, &text, &headers, name)
    }
}

fn program(header: &str, text: &str, headers: &[Header], name: String) -> Program {
    let text = format!("#include \"{header}\"\n{text}");
    let program = Program::new("compact.cu", text).option("-default-device").overlapping().name_expression(name);
    with_headers(
        program,
        headers.iter().copied().chain(HEADERS).chain([TILE_PARAMS, TILES, SINGLE_PASS, PIPELINED]).chain(PARTS),
    )
}
