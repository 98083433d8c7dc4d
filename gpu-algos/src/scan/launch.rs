//! The launch of a scan's kernel.
//!
//! # From a method to the launch
//! The example is `x.cumsum().by_key(&keys).map(|sum| sum * 2.0).eval()`.
//!
//! 1. `methods.rs` lowers the scanned expression, and `Scan::by_key` (`lazy.rs`) the keys. `Scan::map` calls the closure with an expression
//!    whose placeholder the kernel replaces by each result (`behind.rs`). The kernel is a template over these three and the operator.
//! 2. `axes.rs` puts the scanned axes innermost, or finds that neighbours lie along another axis (`ScanAxes::across`). A scan from the end
//!    walks all axes from their ends.
//! 3. `plan.rs` finds out how the operands lie in memory (`MemoryLayout`). If all are contiguous, threads read packs, else single values.
//! 4. This file chooses the kernel and its template arguments (`policy.rs`), and launches it.
//!
//! Blocks that share a line or columns (`scan_single_pass`, `scan_single_wave`, `scan_pipelined`, `scan_columns`) draw tiles in order. Each leaves the
//! sum of its tile in a slot and adds up the sums of all tiles before it. The last block to end clears the slots for the next launch on the
//! stream. A block that knows the number of its tiles from the start draws them while the kernel before it still runs (`gpu::claim_before_dependency`). In
//! `scan_rows` and `scan_column_strips` a block has a line or a strip of columns to itself and needs no other block.
//!
//! Scans of a user's text (`kernels/scan`) have a kernel of their own, `scan_kernel.cuh`, because their output is a statement and their states
//! have any size. It shares the tiles of `tiles.cuh` and the slots and segments of `scan_single_pass.cuh`.
#![expect(unsafe_code, reason = "the launch of a generated kernel")]

use gpu_array::gpu_driver::{Device, GeneratedKernel, Header, KernelSpace, Program, Stream};
use smallvec::SmallVec;

use super::{
    axes::ScanAxes,
    epilogue::SCANNED,
    plan::{ACROSS, Leaves, MemoryLayout, OP, ScanTarget},
    policy::{Algorithm, Bytes, LOADING, Policy},
};
use crate::{
    Result,
    device::{
        HEADERS, TILES,
        params::{CONTIGUOUS, FLAGS, KEYS, LINES, TILE_PARAMS, check_text},
    },
    launch::{resident, unique, with_headers},
    reduce::{Operator, ValueSource},
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

/// The kernel `scan_single_wave` pays if at least one multiprocessor in this many has a tile.
const WAVE_SHARE: usize = 8;
/// Tiles, or lines, per multiprocessor from which on tiles in shared memory pay.
const TILES_OF_RING: usize = 4;
const LINES_OF_ALONG: usize = 2;
/// Rows from which on a strip of columns for each block pays.
const ROWS_OF_DOWN: usize = 256;

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
    /// The epilogue, and the indices of its extra params that stand for the results.
    pub(crate) epilogue: Option<(&'j dyn ValueSource, &'j [usize])>,
    pub(crate) operator: &'j Operator,
    /// `EXCLUSIVE` or nothing.
    pub(crate) mode: u32,
    /// The scanned axis; None for all axes in C order.
    pub(crate) axis: Option<usize>,
    pub(crate) reverse: bool,
}

impl ScanJob<'_> {
    fn sources(&self) -> impl Iterator<Item = &dyn ValueSource> {
        [Some(self.source), self.heads.map(|(source, _)| source), self.epilogue.map(|(source, _)| source)]
            .into_iter()
            .flatten()
    }

    /// Enqueues the scan into the target, in the order of `stream`. Does not wait.
    pub(crate) fn run(&self, target: &ScanTarget<'_>, target_home: Option<&Stream>, stream: &Stream) -> Result<()> {
        let leaves: Leaves<'_> = self.sources().flat_map(|source| source.leaves()).collect();
        let strides: SmallVec<[&[isize]; 4]> = leaves.iter().map(|leaf| leaf.strides).collect();
        let shape = self.source.shape();
        let count = shape.iter().product();
        if count == 0 {
            return Ok(());
        }
        let across = self.axis.filter(|_| self.heads.is_none());
        let across = across.and_then(|axis| ScanAxes::across(shape, target.strides, &strides, axis, self.reverse));
        let layout = match across {
            Some(axes) => MemoryLayout::across(axes, &leaves, target),
            None => {
                let axes = ScanAxes::of(shape, target.strides, &strides, self.axis, self.reverse);
                MemoryLayout::of(OP, axes, &leaves, target)
            }
        };
        let mode = layout.mode
            | self.mode
            | match self.heads {
                Some((_, Heads::Flags)) => FLAGS,
                Some((_, Heads::Keys)) => KEYS,
                None => 0,
            };
        let policy = match self.staged(&layout, mode, &leaves, target, count, stream.device())? {
            Some(policy) => policy,
            None => self.policy(&leaves, target, mode, count),
        };
        let kernel = KernelSpec { job: self, mode, policy };
        let scalars = self.sources().flat_map(|source| source.scalars().iter().copied());
        let extra = self.sources().flat_map(|source| source.extra());
        let generated = kernel.generated(stream.device())?;
        let Policy { threads, helpers, shared_bytes, .. } = kernel.policy;
        let resident = resident(&generated, threads + helpers, shared_bytes, stream.device())?;
        // A slot has a word with a mark for each four bytes of a state.
        let slot = 8 * self.operator.state_bytes().div_ceil(4);
        let launch = layout.launch(shape, &leaves, &kernel.policy, slot, resident, (scalars, extra))?;
        let homes = unique(self.sources().flat_map(|source| source.homes()).chain(target_home));
        // SAFETY: the params fulfil the kernel's contract: `MemoryLayout` made them of the axes. Every offset lies within the views that leaves and target were
        // made from. These are borrowed (the target exclusively) until this call returns, and their homes come before the launch.
        unsafe { launch.enqueue(&generated, &homes, stream) }
    }

    pub(crate) fn bytes(&self, target: &ScanTarget<'_>) -> Bytes {
        Bytes { state: self.operator.state_bytes(), result: target.dtype.bytes() }
    }

    /// The policy of a kernel with its tiles in registers.
    pub(crate) fn policy(&self, leaves: &Leaves<'_>, target: &ScanTarget<'_>, mode: u32, count: usize) -> Policy {
        let Bytes { state, result } = self.bytes(target);
        match mode & ACROSS {
            0 => Policy::of(leaves, state, result, mode & CONTIGUOUS != 0, count),
            _ => Policy::across(leaves, state, result),
        }
    }

    /// The policy of a kernel with its tiles in shared memory, if one fits and has enough work for the device.
    fn staged(
        &self,
        layout: &MemoryLayout,
        mode: u32,
        leaves: &Leaves<'_>,
        target: &ScanTarget<'_>,
        count: usize,
        device: &Device,
    ) -> Result<Option<Policy>> {
        // The kernel would wait for operands that the epilogue reads.
        if self.epilogue.is_some_and(|(source, _)| !source.leaves().is_empty()) {
            return Ok(None);
        }
        let (bytes, length, lines) = (self.bytes(target), layout.axes.length(), layout.axes.line_count());
        let most_shared = device.attribute(MOST_SHARED_BYTES)? as usize;
        let multiprocessors = device.multiprocessors()? as usize;
        let is_packed = |policy: &Policy| layout.is_packed(leaves, policy.width as usize);
        let policy = if mode & ACROSS != 0 {
            let wide = |policy: &Policy| layout.is_packed_in_rows(leaves, policy.width as usize);
            let policy = Policy::down(leaves, bytes, lines, multiprocessors, most_shared);
            policy.filter(|policy| length >= ROWS_OF_DOWN && wide(policy))
        } else if mode & (CONTIGUOUS | LINES) == CONTIGUOUS {
            let ring = Policy::ring(leaves, bytes, most_shared);
            let ring = ring.filter(|policy| count / policy.tile() >= TILES_OF_RING * multiprocessors);
            let wave = || Policy::wave(leaves, bytes, count, multiprocessors, most_shared);
            let wave = || {
                wave().filter(|policy| count > policy.tile() && count / policy.tile() * WAVE_SHARE >= multiprocessors)
            };
            ring.or_else(wave).filter(is_packed)
        } else if mode & (CONTIGUOUS | LINES | FLAGS | KEYS) == CONTIGUOUS | LINES {
            let whole =
                |policy: &Policy| length.is_multiple_of(policy.width as usize) && layout.is_aligned(leaves, policy);
            let policy = Policy::along(leaves, bytes, length, most_shared);
            policy.filter(|policy| lines >= LINES_OF_ALONG * multiprocessors && whole(policy) && is_packed(policy))
        } else {
            None
        };
        Ok(policy)
    }
}

/// `CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN`.
pub(crate) const MOST_SHARED_BYTES: i32 = 97;

/// The kernel of a job.
pub(crate) struct KernelSpec<'k> {
    pub(crate) job: &'k ScanJob<'k>,
    pub(crate) mode: u32,
    pub(crate) policy: Policy,
}

impl KernelSpec<'_> {
    fn generated(&self, device: &Device) -> Result<GeneratedKernel> {
        let Policy { threads, width, unroll, .. } = self.policy;
        let mut key: SmallVec<[u64; 64]> = SmallVec::new();
        let numbers = u64::from(threads) << 32 | u64::from(width) << 16 | u64::from(unroll);
        let algorithm = match self.policy.algorithm {
            Algorithm::SinglePass => 0,
            Algorithm::Pipelined { ahead } => 1 | u64::from(ahead) << 8,
            Algorithm::Rows => 2,
            Algorithm::Columns => 3,
            Algorithm::ColumnStrips { lanes } => 4 | u64::from(lanes) << 8,
            Algorithm::SingleWave { .. } => 5,
        };
        key.extend([SPACE.word(), u64::from(self.mode) << 32 | algorithm, self.job.operator.key(), numbers]);
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
            let Some(source) = source else { return "gpu::scan::Nothing" };
            let (structure, includes) = source.text(name);
            text += &structure;
            headers.extend(includes);
            name
        };
        let value = add(Some(job.source), "Value");
        let heads = add(job.heads.map(|(source, _)| source), "Heads");
        let mut epilogue = add(job.epilogue.map(|(source, _)| source), "Expression");
        if let Some((_, placeholders)) = job.epilogue {
            text += &epilogue_text(placeholders);
            epilogue = "Epilogue";
        }
        let Policy { threads, width, unroll, .. } = self.policy;
        let numbers = format!("{threads}, {width}, {unroll}");
        let of_block = format!("gpu::tiles::Policy<{numbers}>");
        let one_line = format!("{heads}, ");
        let (includes, kernel, heads, policy): (&[Header], _, _, _) = match self.policy.algorithm {
            Algorithm::SinglePass => (&[SINGLE_PASS], "scan_single_pass", one_line, of_block),
            Algorithm::Pipelined { ahead } => (
                &[STAGED, PIPELINED],
                "scan_pipelined",
                one_line,
                format!("gpu::tiles::PipelinePolicy<{numbers}, {ahead}, {LOADING}>"),
            ),
            Algorithm::SingleWave { .. } => (&[STAGED, SINGLE_WAVE], "scan_single_wave", one_line, of_block),
            Algorithm::Rows => (&[STAGED, ROWS], "scan_rows", String::new(), of_block),
            Algorithm::Columns => (&[COLUMNS], "scan_columns", String::new(), of_block),
            Algorithm::ColumnStrips { lanes } => (
                &[STAGED, ROWS, COLUMNS, COLUMN_STRIPS],
                "scan_column_strips",
                String::new(),
                format!("gpu::tiles::StripPolicy<{numbers}, {lanes}>"),
            ),
        };
        let header = includes.last().map_or(SINGLE_PASS.name, |header| header.name);
        let mode = self.mode & !ACROSS;
        let name = format!("gpu::scan::{kernel}<{value}, {heads}{epilogue}, {operator}, {mode}, {policy}>");
        let custom = job.operator.definition();
        let segments = if heads.is_empty() { "gpu::scan::Nothing" } else { heads.trim_end_matches(", ") };
        let check = check_text(job.sources(), [value, segments, epilogue]);
        let text = format!("#include \"{header}\"\n{custom}{text}{check}");
        let program = Program::new("scan.cu", text).option("-default-device").overlapping().name_expression(name);
        with_headers(
            program,
            headers
                .into_iter()
                .chain(HEADERS)
                .chain([TILE_PARAMS, TILES, SCANNED, SINGLE_PASS])
                .chain(includes.iter().copied()),
        )
    }
}

/// The text of the structure `Epilogue`, whose extra parameters of these indices stand for the results.
fn epilogue_text(results: &[usize]) -> String {
    let tests: String = results.iter().map(|result| format!(" || k == {result}")).collect();
    format!(
        "struct Epilogue : Expression {{\n    static __device__ constexpr bool is_result(int k) {{ return false{tests}; }}\n}};\n"
    )
}
