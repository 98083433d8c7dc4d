//! The launches of a selection's kernels.
#![expect(unsafe_code, reason = "the launches of generated kernels")]

use gpu_array::{
    DType,
    expression::{LoweredLeaf, loop_program},
    gpu_driver::{Device, GeneratedKernel, Header, KernelSpace, Program, Stream},
};
use smallvec::SmallVec;

use super::{
    leaves::Read,
    plan::{OP, SelectPlan, choose},
    policy::{LOADING, SelectAlgorithm, SelectOperands, SelectPolicy, SelectProblem},
};
pub(crate) use crate::device::params::{FLAGS, INDICES, KEYS, LENGTHS, REJECTED, VALUES};
use crate::{
    Result,
    common::{
        axes::Leaves,
        launch::{DeviceLimits, unique, with_headers},
        shape::in_order,
        source::ValueSource,
    },
    device::{
        HEADERS, TILES,
        params::{CONTIGUOUS, TILE_PARAMS, check_text},
    },
    tiles::{
        axes::TileAxes,
        layout::{MemoryLayout, SelectTargets, TileTarget},
    },
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

    pub(super) fn sources(&self) -> impl Iterator<Item = &dyn ValueSource> {
        self.values.into_iter().chain([self.heads])
    }

    /// Enqueues the selection on `stream`. Returns false, and writes nothing, if there are no values. Does not wait.
    pub(crate) fn run(&self, out: &Out, out_homes: &[&Stream], stream: &Stream) -> Result<bool> {
        let leaves: Leaves<'_> = self.sources().flat_map(|source| source.leaves()).collect();
        if self.heads.shape().contains(&0) {
            return Ok(false);
        }
        let (layout, read) = (self.layout(&leaves, out), Read::of(&leaves, self.leaves_of_values()));
        let (problem, device) = (self.problem(&layout, &leaves, &read, out), stream.device());
        let compile = |policy: &SelectPolicy| self.kernel(problem.mode, &read, *policy).generated(device);
        let SelectPlan { kernel, policy, grid } = choose(&problem, &DeviceLimits::of(device)?, compile)?;
        let scalars = self.sources().flat_map(|source| source.scalars().iter().copied());
        let extra = self.sources().flat_map(|source| source.extra());
        let launch = layout.launch(grid, &policy.tile, (scalars, extra));
        let homes = unique(self.sources().flat_map(|source| source.homes()).chain(out_homes.iter().copied()));
        // SAFETY: the params fulfil the kernel's contract: `MemoryLayout` made them of the axes. Every offset of a leaf lies within the views that leaves were
        // made from, and the targets have room for all values. All are borrowed (the targets exclusively) until this call returns, and their homes
        // come before the launch.
        unsafe { launch.enqueue(&kernel, &homes, stream)? };
        Ok(true)
    }

    /// The layout of the operands, in C order.
    pub(super) fn layout(&self, leaves: &[LoweredLeaf<'_>], out: &Out) -> MemoryLayout {
        let shape = self.heads.shape();
        let strides: SmallVec<[&[isize]; 4]> = leaves.iter().map(|leaf| leaf.strides).collect();
        let in_order = in_order(shape, 1);
        let target = TileTarget { address: out.address, dtype: out.dtype, strides: &in_order };
        let axes = TileAxes::of(shape, target.strides, &strides, None, false);
        let Out { count, step, places, lengths, .. } = *out;
        let selection = SelectTargets { count, step: step as i64, places, lengths };
        MemoryLayout::of(OP, shape, axes, leaves, &target).with_selection(selection)
    }

    /// The problem for which a kernel and a grid are chosen.
    pub(super) fn problem<'p>(
        &self,
        layout: &'p MemoryLayout,
        leaves: &'p [LoweredLeaf<'p>],
        read: &'p Read<'_>,
        out: &Out,
    ) -> SelectProblem<'p> {
        let operands = SelectOperands::of(read, self.mode, out.dtype);
        SelectProblem { layout, leaves, operands, mode: self.mode | layout.mode & CONTIGUOUS, step: out.step }
    }

    pub(super) fn kernel(&self, mode: u32, read: &Read<'_>, policy: SelectPolicy) -> KernelSpec<'_> {
        KernelSpec { job: self, mode, policy, same: read.same }
    }
}

/// The kernel of a job.
pub(crate) struct KernelSpec<'k> {
    job: &'k SelectJob<'k>,
    mode: u32,
    policy: SelectPolicy,
    /// Leaves of the values that are leaves of `heads` too, encoded as in `selected.cuh`.
    same: u64,
}

impl KernelSpec<'_> {
    fn generated(&self, device: &Device) -> Result<GeneratedKernel> {
        let mut key: SmallVec<[u64; 64]> = SmallVec::new();
        let is_pipelined = u64::from(matches!(self.policy.algorithm, SelectAlgorithm::Pipelined { .. }));
        key.extend([SPACE.word(), is_pipelined << 32 | u64::from(self.mode), self.policy.tile.key(), self.same]);
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
        let (mode, same, numbers) = (self.mode, self.same, self.policy.tile.arguments());
        let (header, name) = match self.policy.algorithm {
            SelectAlgorithm::Pipelined { tiles_ahead } => {
                let policy = format!("gpu::tiles::PipelinePolicy<{numbers}, {tiles_ahead}, {LOADING}>");
                let arguments = format!("{value}, {heads}, {mode}, {same}ull, {policy}");
                let bytes = self.policy.tile.shared_bytes;
                text += &format!(
                    "static_assert(gpu::algos::select::StageBuffers<{arguments}>::ALL == {bytes}, \"the shared memory in Rust\");\n"
                );
                (PIPELINED, format!("gpu::algos::select::select_pipelined<{arguments}>"))
            }
            SelectAlgorithm::SinglePass => {
                let policy = format!("gpu::tiles::Policy<{numbers}>");
                (
                    SINGLE_PASS,
                    format!("gpu::algos::select::select_single_pass<{value}, {heads}, {mode}, {same}ull, {policy}>"),
                )
            }
        };
        text += &check_text(self.job.sources(), [value, heads, "gpu::tiles::Nothing"]);
        program(header.name, &text, &headers, name)
    }
}

fn program(header: &str, text: &str, headers: &[Header], name: String) -> Program {
    let text = format!("#include \"{header}\"\n{text}");
    let program = loop_program("select.cu", text).name_expression(name);
    with_headers(
        program,
        headers.iter().copied().chain(HEADERS).chain([TILE_PARAMS, TILES, SINGLE_PASS, PIPELINED]).chain(PARTS),
    )
}
