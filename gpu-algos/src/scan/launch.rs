//! The launch of a scan's kernel.
//!
//! # From a method to the launch
//! The example is `x.cumsum().by_key(&keys).map(|sum| sum * 2.0).eval()`.
//!
//! 1. `methods.rs` lowers the scanned expression, and `Scan::by_key` (`lazy.rs`) the keys. `Scan::map` calls the closure with an expression
//!    whose placeholder the kernel replaces by each result (`epilogue.rs`). The kernel is a template over these three and the operator.
//! 2. `tiles/axes.rs` puts the scanned axes innermost, or finds that neighbours lie along another axis (`TileAxes::across`). A scan from the end
//!    walks all axes from their ends.
//! 3. `tiles/layout.rs` finds the layout of the operands in memory (`MemoryLayout`). If all are contiguous, threads read packs, else single values.
//! 4. `plan.rs` chooses the kernel with its template arguments (`policy.rs`) and the grid. This file compiles and launches the kernel.
//!
//! Blocks that share a line or columns (`scan_single_pass`, `scan_single_wave`, `scan_pipelined`, `scan_columns`) claim tiles in order. Each publishes the
//! aggregate of its tile in a slot and combines the aggregates of all tiles before it. The last block to end clears the slots for the next launch on the
//! stream. A block that knows the number of its tiles from the start claims them while the kernel before it still runs (`gpu::claim_before_dependency`). In
//! `scan_rows` and `scan_column_strips` a block has a line or a strip of columns to itself and needs no other block.
//!
//! Scans of a user's text (`kernels/scan`) have a kernel of their own, `scan_kernel.cuh`, because their output is a statement and their states
//! have any size. It shares the tiles of `tiles.cuh` and the slots and segments of `scan_single_pass.cuh`.
#![expect(unsafe_code, reason = "the launch of a generated kernel")]

use gpu_array::{
    expression::{LoweredLeaf, loop_program},
    gpu_driver::{Device, GeneratedKernel, Header, KernelSpace, Program, Stream},
};
use smallvec::SmallVec;

use super::{
    epilogue::{COMPLEX_RESULT_WORD, HALF_RESULT_WORD, Placeholder, RESULT_WORD},
    options::OP,
    plan::{ScanPlan, choose},
    policy::{CONSTANTS_HEADER, LOADING, ScanAlgorithm, ScanOperands, ScanPolicy, ScanProblem},
};
use crate::{
    Result,
    block::{POLLED_PREFIX, slot_bytes},
    common::{
        axes::Leaves,
        launch::{DeviceLimits, unique, with_headers},
        operator::DeviceOperator,
        source::ValueSource,
    },
    device::{
        HEADERS, TILES,
        params::{FLAGS, KEYS, TILE_PARAMS, check_text},
    },
    tiles::{
        axes::TileAxes,
        layout::{MemoryLayout, TileTarget},
    },
};

pub(crate) const SINGLE_PASS: Header =
    Header { name: "scan_single_pass.cuh", text: include_str!("device/scan_single_pass.cuh") };
const STAGED: Header = Header { name: "staged.cuh", text: include_str!("device/staged.cuh") };
const PIPELINED: Header = Header { name: "scan_pipelined.cuh", text: include_str!("device/scan_pipelined.cuh") };
const SINGLE_WAVE: Header = Header { name: "scan_single_wave.cuh", text: include_str!("device/scan_single_wave.cuh") };
const ROWS: Header = Header { name: "scan_rows.cuh", text: include_str!("device/scan_rows.cuh") };
const COLUMN_STRIPS: Header =
    Header { name: "scan_column_strips.cuh", text: include_str!("device/scan_column_strips.cuh") };
const COLUMNS: Header = Header { name: "scan_columns.cuh", text: include_str!("device/scan_columns.cuh") };

/// The keys of kernels of scans.
static SPACE: KernelSpace = KernelSpace::new();

/// Kinds of segment heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heads {
    /// A segment begins where a flag is set.
    Flags,
    /// A segment begins where a key differs from the one before it.
    Keys,
}

/// The operands of a scan, and its mode.
pub(crate) struct ScanJob<'j> {
    pub(crate) source: &'j dyn ValueSource,
    pub(crate) heads: Option<(&'j dyn ValueSource, Heads)>,
    /// The epilogue, and its extra params that stand for the results.
    pub(crate) epilogue: Option<(&'j dyn ValueSource, &'j [Placeholder])>,
    pub(crate) operator: &'j DeviceOperator,
    /// `EXCLUSIVE` or nothing.
    pub(crate) mode: u32,
    /// The scanned axis; None for all axes in C order.
    pub(crate) axis: Option<usize>,
    pub(crate) reverse: bool,
}

impl ScanJob<'_> {
    pub(super) fn sources(&self) -> impl Iterator<Item = &dyn ValueSource> {
        [Some(self.source), self.heads.map(|(source, _)| source), self.epilogue.map(|(source, _)| source)]
            .into_iter()
            .flatten()
    }

    /// Enqueues the scan into the target, in the order of `stream`. Does not wait.
    pub(crate) fn run(&self, target: &TileTarget<'_>, target_home: Option<&Stream>, stream: &Stream) -> Result<()> {
        let leaves: Leaves<'_> = self.sources().flat_map(|source| source.leaves()).collect();
        if self.source.shape().contains(&0) {
            return Ok(());
        }
        let layout = self.layout(&leaves, target);
        let (problem, device) = (self.problem(&layout, &leaves, target), stream.device());
        let compile = |policy: &ScanPolicy| self.kernel(problem.mode, *policy).generated(device);
        let ScanPlan { kernel, policy, grid } = choose(&problem, &DeviceLimits::of(device)?, compile)?;
        let scalars = self.sources().flat_map(|source| source.scalars().iter().copied());
        let extra = self.sources().flat_map(|source| source.extra());
        let launch = layout.launch(grid, &policy.tile, (scalars, extra));
        let homes = unique(self.sources().flat_map(|source| source.homes()).chain(target_home));
        // SAFETY: the params fulfil the kernel's contract: `MemoryLayout` made them of the axes. Every offset lies within the views that leaves and target were
        // made from. These are borrowed (the target exclusively) until this call returns, and their homes precede and follow the launch.
        unsafe { launch.enqueue(&kernel, &homes, stream) }
    }

    /// The layout of the operands; a scan without segments goes across rows if neighbours lie along another axis.
    pub(super) fn layout(&self, leaves: &[LoweredLeaf<'_>], target: &TileTarget<'_>) -> MemoryLayout {
        let (shape, axis, reverse) = (self.source.shape(), self.axis, self.reverse);
        let strides: SmallVec<[&[isize]; 4]> = leaves.iter().map(|leaf| leaf.strides).collect();
        let across = axis.filter(|_| self.heads.is_none());
        match across.and_then(|axis| TileAxes::across(shape, target.strides, &strides, axis, reverse)) {
            Some(axes) => MemoryLayout::across(OP, shape, axes, leaves, target),
            None => {
                let axes = TileAxes::of(shape, target.strides, &strides, axis, reverse);
                MemoryLayout::of(OP, shape, axes, leaves, target)
            }
        }
    }

    /// The problem for which a kernel and a grid are chosen.
    pub(super) fn problem<'p>(
        &self,
        layout: &'p MemoryLayout,
        leaves: &'p [LoweredLeaf<'p>],
        target: &TileTarget<'_>,
    ) -> ScanProblem<'p> {
        let heads = match self.heads {
            Some((_, Heads::Flags)) => FLAGS,
            Some((_, Heads::Keys)) => KEYS,
            None => 0,
        };
        let epilogue_reads = self.epilogue.is_some_and(|(source, _)| !source.leaves().is_empty());
        let mode = layout.mode | self.mode | heads;
        ScanProblem { layout, operands: self.operands(leaves, target), mode, epilogue_reads }
    }

    pub(super) fn operands<'p>(&self, leaves: &'p [LoweredLeaf<'p>], target: &TileTarget<'_>) -> ScanOperands<'p, 'p> {
        ScanOperands { leaves, state_bytes: self.operator.state_bytes(), result_bytes: target.dtype.bytes() }
    }

    pub(super) fn kernel(&self, mode: u32, policy: ScanPolicy) -> KernelSpec<'_> {
        KernelSpec { job: self, mode, policy }
    }
}

/// The kernel of a job.
pub(crate) struct KernelSpec<'k> {
    pub(crate) job: &'k ScanJob<'k>,
    pub(crate) mode: u32,
    pub(crate) policy: ScanPolicy,
}

impl KernelSpec<'_> {
    fn generated(&self, device: &Device) -> Result<GeneratedKernel> {
        let mut key: SmallVec<[u64; 64]> = SmallVec::new();
        let algorithm = match self.policy.algorithm {
            ScanAlgorithm::SinglePass => 0,
            ScanAlgorithm::Pipelined { tiles_ahead } => 1 | u64::from(tiles_ahead) << 8,
            ScanAlgorithm::Rows => 2,
            ScanAlgorithm::Columns => 3,
            ScanAlgorithm::ColumnStrips { lanes } => 4 | u64::from(lanes) << 8,
            ScanAlgorithm::SingleWave { .. } => 5,
        };
        let (tile, mode) = (self.policy.tile.key(), u64::from(self.mode));
        key.extend([SPACE.word(), mode << 32 | algorithm, self.job.operator.key(), tile]);
        for source in self.job.sources() {
            source.add_key(&mut key);
            // The word separates the keys of the sources.
            key.push(u64::MAX);
        }
        Ok(device.generated_kernel(&SPACE, &key, || Ok(self.program()))?)
    }

    pub(crate) fn program(&self) -> Program {
        let job = self.job;
        let operator = job.operator.text();
        let mut headers: Vec<Header> = Vec::new();
        let mut text = String::new();
        let mut add = |source: Option<&dyn ValueSource>, name: &'static str| {
            let Some(source) = source else { return "gpu::algos::scan::Nothing" };
            let (structure, includes) = source.text(name);
            text += &structure;
            headers.extend(includes);
            name
        };
        let value = add(Some(job.source), "Value");
        let heads = add(job.heads.map(|(source, _)| source), "Heads");
        let mut epilogue = add(job.epilogue.map(|(source, _)| source), "Expression");
        if let Some((_, placeholders)) = job.epilogue {
            for header in [HALF_RESULT_WORD, COMPLEX_RESULT_WORD] {
                if headers.contains(&header) {
                    text = format!("#include \"{}\"\n{text}", header.name);
                }
            }
            text += &epilogue_text(placeholders);
            epilogue = "Epilogue";
        }
        let (includes, kernel, policy) = self.entry();
        let heads = if self.takes_segments() { format!("{heads}, ") } else { String::new() };
        let header = includes.last().map_or(SINGLE_PASS.name, |header| header.name);
        let mode = self.mode;
        let name = format!("gpu::algos::scan::{kernel}<{value}, {heads}{epilogue}, {operator}, {mode}, {policy}>");
        let custom = job.operator.definition();
        let segments = if heads.is_empty() { "gpu::algos::scan::Nothing" } else { heads.trim_end_matches(", ") };
        let check = check_text(job.sources(), [value, segments, epilogue]);
        let memory = self.memory_check([value, segments, &operator, &policy]);
        let text = format!("#include \"{header}\"\n{custom}{text}{check}{memory}");
        let program = loop_program("scan.cu", text).name_expression(name);
        with_headers(
            program,
            headers
                .into_iter()
                .chain(HEADERS)
                .chain([TILE_PARAMS, TILES, RESULT_WORD, SINGLE_PASS])
                .chain(includes.iter().copied()),
        )
    }

    /// Whether the kernel's template has a parameter for segments.
    fn takes_segments(&self) -> bool {
        matches!(
            self.policy.algorithm,
            ScanAlgorithm::SinglePass | ScanAlgorithm::Pipelined { .. } | ScanAlgorithm::SingleWave { .. }
        )
    }

    /// The kernel: its headers, the last of which has it, its name and its policy in C++.
    fn entry(&self) -> (&'static [Header], &'static str, String) {
        let numbers = self.policy.tile.arguments();
        let of_block = format!("gpu::tiles::Policy<{numbers}>");
        match self.policy.algorithm {
            ScanAlgorithm::SinglePass => (&[SINGLE_PASS], "scan_single_pass", of_block),
            ScanAlgorithm::Pipelined { tiles_ahead } => (
                &[CONSTANTS_HEADER, STAGED, POLLED_PREFIX, PIPELINED],
                "scan_pipelined",
                format!("gpu::tiles::PipelinePolicy<{numbers}, {tiles_ahead}, {LOADING}>"),
            ),
            ScanAlgorithm::SingleWave { .. } => {
                (&[CONSTANTS_HEADER, STAGED, SINGLE_WAVE], "scan_single_wave", of_block)
            }
            ScanAlgorithm::Rows => (&[CONSTANTS_HEADER, STAGED, ROWS], "scan_rows", of_block),
            ScanAlgorithm::Columns => (&[COLUMNS], "scan_columns", of_block),
            ScanAlgorithm::ColumnStrips { lanes } => (
                &[CONSTANTS_HEADER, STAGED, ROWS, COLUMNS, COLUMN_STRIPS],
                "scan_column_strips",
                format!("gpu::tiles::StripPolicy<{numbers}, {lanes}>"),
            ),
        }
    }

    /// Text that compares the memory of slots and tiles with the host's sizes; the names are those of C++.
    fn memory_check(&self, [value, heads, operator, policy]: [&str; 4]) -> String {
        let slot = slot_bytes(self.job.operator.state_bytes());
        let mut text = format!(
            "static_assert(sizeof(gpu::Slot<gpu::algos::scan::SegmentedOperator<{operator}, true>::State>) == {slot}, \
             \"the slots in Rust\");\n"
        );
        let (buffers, tiles) = match self.policy.algorithm {
            ScanAlgorithm::SinglePass | ScanAlgorithm::Columns => return text,
            ScanAlgorithm::Pipelined { .. } => (format!("PipelinedBuffers<{value}, {heads}, {operator}, {policy}>"), 1),
            ScanAlgorithm::SingleWave { tiles_per_block } => {
                (format!("WaveBuffers<{value}, {heads}, {operator}, {policy}>"), tiles_per_block)
            }
            ScanAlgorithm::Rows => (format!("RowBuffers<{value}, {operator}, {policy}>"), 1),
            ScanAlgorithm::ColumnStrips { .. } => (format!("StripBuffers<{value}, {policy}>"), 1),
        };
        let bytes = self.policy.tile.shared_bytes / tiles;
        text +=
            &format!("static_assert(gpu::algos::scan::{buffers}::ALL == {bytes}, \"the shared memory in Rust\");\n");
        text
    }
}

/// The text of the structure `Epilogue`, some of whose extra parameters stand for the results.
fn epilogue_text(results: &[Placeholder]) -> String {
    let tests: String =
        results.iter().map(|Placeholder { number, part }| format!("k == {number} ? {part} : ")).collect();
    format!(
        "struct Epilogue : Expression {{\n    static __device__ constexpr int part_of_result(int k) {{ return {tests}-1; }}\n}};\n"
    )
}
