//! The launch of a scan's kernel.
//!
//! # From a method to the launch
//! The example is `x.cumsum().by_key(&keys).map(|sum| sum * 2.0).eval()`.
//!
//! 1. `methods.rs` lowers the scanned expression, and `Scan::by_key` (`lazy.rs`) the keys. `Scan::map` calls the closure with an expression
//!    whose placeholder the kernel replaces by each result (`behind.rs`). The kernel is a template over these three and the operator.
//! 2. `axes.rs` puts the scanned axes innermost, or finds that neighbours lie along another axis (`Axes::across`). A scan from the end
//!    walks all axes from their ends.
//! 3. `plan.rs` finds out how the operands lie in memory (`Lie`). If all are contiguous, threads read packs, else single values.
//! 4. This file chooses the kernel and its template arguments (`policy.rs`), and launches it.
//!
//! Blocks that share a line or columns (`lines`, `wave`, `ring`, `columns`) draw tiles in order. Each leaves the sum of its tile in a slot
//! and adds up the sums of all tiles before it. The last block to end clears the slots for the next launch on the stream. A block that
//! knows the number of its tiles from the start draws them while the kernel before it still runs (`gpu::draw_before_stream`). In
//! `along` and `down` a block has a line or a strip of columns to itself and needs no other block.
//!
//! Scans of a user's text (`kernels/scan`) have a kernel of their own, `places.cuh`, because their output is a statement and their states
//! have any size. It shares the tiles of `tiles.cuh` and the slots and segments of `scan.cuh`.
#![expect(unsafe_code, reason = "the launch of a generated kernel")]

use gpu_array::gpu_driver::{Device, GeneratedKernel, Header, KernelSpace, Program, Stream};
use smallvec::SmallVec;

use super::{
    axes::Axes,
    behind::SCANNED,
    plan::{ACROSS, Leaves, Lie, OP, Target},
    policy::{Bytes, Form, Policy},
};
use crate::{
    Result,
    device::{
        HEADERS, TILES,
        params::{FLAGS, KEYS, LINES, PLAIN, TILE_PARAMS, check_text},
    },
    launch::{resident, unique, with_headers},
    reduce::{Operator, Source},
};

pub(crate) const SCAN: Header = Header { name: "scan.cuh", text: include_str!("device/scan.cuh") };
const STAGED: Header = Header { name: "staged.cuh", text: include_str!("device/staged.cuh") };
const RING: Header = Header { name: "ring.cuh", text: include_str!("device/ring.cuh") };
const WAVE: Header = Header { name: "wave.cuh", text: include_str!("device/wave.cuh") };
const ALONG: Header = Header { name: "along.cuh", text: include_str!("device/along.cuh") };
const DOWN: Header = Header { name: "down.cuh", text: include_str!("device/down.cuh") };
const COLUMNS: Header = Header { name: "columns.cuh", text: include_str!("device/columns.cuh") };

/// The kernel `wave` pays if at least one multiprocessor in this many has a tile.
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
pub(crate) struct Job<'j> {
    pub(crate) source: &'j dyn Source,
    pub(crate) heads: Option<(&'j dyn Source, Heads)>,
    /// The epilogue, and the indices of its extra words that stand for the results.
    pub(crate) behind: Option<(&'j dyn Source, &'j [usize])>,
    pub(crate) operator: &'j Operator,
    /// `EXCLUSIVE` or nothing.
    pub(crate) how: u32,
    /// The scanned axis; None for all axes in C order.
    pub(crate) axis: Option<usize>,
    pub(crate) reverse: bool,
}

impl Job<'_> {
    fn sources(&self) -> impl Iterator<Item = &dyn Source> {
        [Some(self.source), self.heads.map(|(source, _)| source), self.behind.map(|(source, _)| source)]
            .into_iter()
            .flatten()
    }

    /// Enqueues the scan into the target, in the order of `stream`. Does not wait.
    pub(crate) fn run(&self, target: &Target<'_>, target_home: Option<&Stream>, stream: &Stream) -> Result<()> {
        let leaves: Leaves<'_> = self.sources().flat_map(|source| source.leaves()).collect();
        let strides: SmallVec<[&[isize]; 4]> = leaves.iter().map(|leaf| leaf.strides).collect();
        let shape = self.source.shape();
        let count = shape.iter().product();
        if count == 0 {
            return Ok(());
        }
        let across = self.axis.filter(|_| self.heads.is_none());
        let across = across.and_then(|axis| Axes::across(shape, target.strides, &strides, axis, self.reverse));
        let lie = match across {
            Some(axes) => Lie::across(axes, &leaves, target),
            None => {
                let axes = Axes::of(shape, target.strides, &strides, self.axis, self.reverse);
                Lie::of(OP, axes, &leaves, target)
            }
        };
        let how = lie.how
            | self.how
            | match self.heads {
                Some((_, Heads::Flags)) => FLAGS,
                Some((_, Heads::Keys)) => KEYS,
                None => 0,
            };
        let policy = match self.staged(&lie, how, &leaves, target, count, stream.device())? {
            Some(policy) => policy,
            None => self.policy(&leaves, target, how, count),
        };
        let kernel = Kernel { job: self, how, policy };
        let scalars = self.sources().flat_map(|source| source.scalars().iter().copied());
        let extra = self.sources().flat_map(|source| source.extra());
        let generated = kernel.generated(stream.device())?;
        let Policy { threads, helpers, shared_bytes, .. } = kernel.policy;
        let resident = resident(&generated, threads + helpers, shared_bytes, stream.device())?;
        // A slot has a word with a mark for each four bytes of a state.
        let slot = 8 * self.operator.state_bytes().div_ceil(4);
        let launch = lie.launch(shape, &leaves, &kernel.policy, slot, resident, scalars, extra)?;
        let homes = unique(self.sources().flat_map(|source| source.homes()).chain(target_home));
        // SAFETY: the words fulfil the kernel's contract: `Lie` made them of the axes. Every offset lies within the views that leaves and target were
        // made from. These are borrowed (the target exclusively) until this call returns, and their homes come before the launch.
        unsafe { launch.enqueue(&generated, &homes, stream) }
    }

    pub(crate) fn bytes(&self, target: &Target<'_>) -> Bytes {
        Bytes { state: self.operator.state_bytes(), result: target.dtype.bytes() }
    }

    /// The policy of a kernel with its tiles in registers.
    pub(crate) fn policy(&self, leaves: &Leaves<'_>, target: &Target<'_>, how: u32, count: usize) -> Policy {
        let Bytes { state, result } = self.bytes(target);
        match how & ACROSS {
            0 => Policy::of(leaves, state, result, how & PLAIN != 0, count),
            _ => Policy::across(leaves, state, result),
        }
    }

    /// The policy of a kernel with its tiles in shared memory, if one fits and has enough work for the device.
    fn staged(
        &self,
        lie: &Lie,
        how: u32,
        leaves: &Leaves<'_>,
        target: &Target<'_>,
        count: usize,
        device: &Device,
    ) -> Result<Option<Policy>> {
        // The kernel would wait for operands that the epilogue reads.
        if self.behind.is_some_and(|(source, _)| !source.leaves().is_empty()) {
            return Ok(None);
        }
        let (bytes, length, lines) = (self.bytes(target), lie.axes.length(), lie.axes.line_count());
        let most_shared = device.attribute(MOST_SHARED_BYTES)? as usize;
        let multiprocessors = device.multiprocessors()? as usize;
        let is_packed = |policy: &Policy| lie.is_packed(leaves, policy.width as usize);
        let policy = if how & ACROSS != 0 {
            let wide = |policy: &Policy| lie.is_packed_in_rows(leaves, policy.width as usize);
            let policy = Policy::down(leaves, bytes, lines, multiprocessors, most_shared);
            policy.filter(|policy| length >= ROWS_OF_DOWN && wide(policy))
        } else if how & (PLAIN | LINES) == PLAIN {
            let ring = Policy::ring(leaves, bytes, most_shared);
            let ring = ring.filter(|policy| count / policy.tile() >= TILES_OF_RING * multiprocessors);
            let wave = || Policy::wave(leaves, bytes, count, multiprocessors, most_shared);
            let wave = || {
                wave().filter(|policy| count > policy.tile() && count / policy.tile() * WAVE_SHARE >= multiprocessors)
            };
            ring.or_else(wave).filter(is_packed)
        } else if how & (PLAIN | LINES | FLAGS | KEYS) == PLAIN | LINES {
            let whole =
                |policy: &Policy| length.is_multiple_of(policy.width as usize) && lie.is_aligned(leaves, policy);
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
pub(crate) struct Kernel<'k> {
    pub(crate) job: &'k Job<'k>,
    pub(crate) how: u32,
    pub(crate) policy: Policy,
}

impl Kernel<'_> {
    fn generated(&self, device: &Device) -> Result<GeneratedKernel> {
        let Policy { threads, width, unroll, .. } = self.policy;
        let mut key: SmallVec<[u64; 64]> = SmallVec::new();
        let numbers = u64::from(threads) << 32 | u64::from(width) << 16 | u64::from(unroll);
        let form = match self.policy.form {
            Form::Lines => 0,
            Form::Ring { ahead } => 1 | u64::from(ahead) << 8,
            Form::Along => 2,
            Form::Columns => 3,
            Form::Down { lanes } => 4 | u64::from(lanes) << 8,
            Form::Wave { .. } => 5,
        };
        key.extend([SPACE.word(), u64::from(self.how) << 32 | form, self.job.operator.key(), numbers]);
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
        let mut add = |source: Option<&dyn Source>, name: &'static str| {
            let Some(source) = source else { return "gpu::scan::Nothing" };
            let (structure, includes) = source.text(name);
            text += &structure;
            headers.extend(includes);
            name
        };
        let value = add(Some(job.source), "Value");
        let heads = add(job.heads.map(|(source, _)| source), "Heads");
        let mut behind = add(job.behind.map(|(source, _)| source), "Expression");
        if let Some((_, holes)) = job.behind {
            let holes: Vec<String> = holes.iter().map(|hole| format!(" || k == {hole}")).collect();
            let holes = holes.concat();
            text += &format!(
                "struct Behind : Expression {{\n    static __device__ constexpr bool is_result(int k) {{ return false{holes}; }}\n}};\n"
            );
            behind = "Behind";
        }
        let Policy { threads, width, unroll, .. } = self.policy;
        let one_line = format!("{heads}, ");
        let (includes, kernel, heads, more): (&[Header], _, _, _) = match self.policy.form {
            Form::Lines => (&[SCAN], "lines", one_line, String::new()),
            Form::Ring { ahead } => (&[STAGED, RING], "ring", one_line, format!(", {ahead}")),
            Form::Wave { .. } => (&[STAGED, WAVE], "wave", one_line, String::new()),
            Form::Along => (&[STAGED, ALONG], "along", String::new(), String::new()),
            Form::Columns => (&[COLUMNS], "columns", String::new(), String::new()),
            Form::Down { lanes } => (&[STAGED, ALONG, COLUMNS, DOWN], "down", String::new(), format!(", {lanes}")),
        };
        let header = includes.last().map_or(SCAN.name, |header| header.name);
        let how = self.how & !ACROSS;
        let name = format!(
            "gpu::scan::{kernel}<{value}, {heads}{behind}, {operator}, {how}, {threads}, {width}, {unroll}{more}>"
        );
        let custom = job.operator.definition();
        let segments = if heads.is_empty() { "gpu::scan::Nothing" } else { heads.trim_end_matches(", ") };
        let check = check_text(job.sources(), [value, segments, behind]);
        let text = format!("#include \"{header}\"\n{custom}{text}{check}");
        let program = Program::new("scan.cu", text).option("-default-device").overlapping().name_expression(name);
        with_headers(
            program,
            headers
                .into_iter()
                .chain(HEADERS)
                .chain([TILE_PARAMS, TILES, SCANNED, SCAN])
                .chain(includes.iter().copied()),
        )
    }
}
