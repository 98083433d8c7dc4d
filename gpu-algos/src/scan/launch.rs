//! The launch of a scan's kernel.
#![expect(unsafe_code, reason = "the launch of a generated kernel")]

use gpu_array::{
    ArrayError,
    gpu_driver::{Device, GeneratedKernel, Header, LaunchConfig, PARAMETER_BYTES, Program, Stream},
};
use smallvec::SmallVec;

use super::{
    axes::Axes,
    behind::SCANNED,
    plan::{ACROSS, FLAGS, KEYS, LINES, Leaves, Lie, PLAIN, SCRATCH_WORD, Target},
    policy::Policy,
};
use crate::{
    Result,
    device::{HEADERS, TILES},
    reduce::{Operator, Source},
};

pub(crate) const SCAN: Header = Header { name: "scan.cuh", text: include_str!("device/scan.cuh") };
const COLUMNS: Header = Header { name: "columns.cuh", text: include_str!("device/columns.cuh") };

/// Ways of scans that have segments.
const SEGMENTS: u32 = LINES | FLAGS | KEYS;

/// What keys of scans begin with: no other crate's do.
const KEY: u64 = u64::from_be_bytes(*b"gpu.scan");

/// Where segments begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heads {
    /// Where a flag is set.
    Flags,
    /// Where a key differs from the one before it.
    Keys,
}

/// What is scanned, and how.
pub(crate) struct Job<'j> {
    pub(crate) source: &'j dyn Source,
    pub(crate) heads: Option<(&'j dyn Source, Heads)>,
    /// What is made of the results, and which of its extra words stand for them.
    pub(crate) behind: Option<(&'j dyn Source, &'j [usize])>,
    pub(crate) operator: &'j Operator,
    /// `EXCLUSIVE` or nothing.
    pub(crate) how: u32,
    /// None for all axes in C order.
    pub(crate) axis: Option<usize>,
    pub(crate) reverse: bool,
}

impl Job<'_> {
    fn sources(&self) -> impl Iterator<Item = &dyn Source> {
        [Some(self.source), self.heads.map(|(source, _)| source), self.behind.map(|(source, _)| source)]
            .into_iter()
            .flatten()
    }

    /// Computes the scan into the target, in the order of `stream`. Does not wait.
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
                Lie::of(axes, &leaves, target)
            }
        };
        let how = lie.how
            | self.how
            | match self.heads {
                Some((_, Heads::Flags)) => FLAGS,
                Some((_, Heads::Keys)) => KEYS,
                None => 0,
            };
        let kernel = Kernel::of(self, &leaves, target, how, count);
        let scalars = self.sources().flat_map(|source| source.scalars().to_vec());
        let extra = self.sources().flat_map(|source| source.extra());
        let words = scalars.chain(extra);
        let (device, threads) = (stream.device(), kernel.policy.threads);
        let generated = kernel.generated(device)?;
        let resident = generated.resident_blocks(threads, 0)?.max(1) as usize * device.multiprocessors()? as usize;
        // A word with a mark for each four bytes of a state.
        let slot = 8 * kernel.state_bytes().div_ceil(4);
        let launch = lie.launch(shape, &leaves, &kernel.policy, slot, resident, words)?;

        let mut homes: SmallVec<[&Stream; 4]> = SmallVec::new();
        for home in self.sources().flat_map(|source| source.homes()).chain(target_home) {
            if !homes.contains(&home) {
                homes.push(home);
            }
        }
        let mut words = launch.words;
        if size_of_val(&words[..]) > PARAMETER_BYTES {
            let (limit, got) = (PARAMETER_BYTES, size_of_val(&words[..]));
            return Err(ArrayError::TooManyArguments { limit, got }.into());
        }
        let config = LaunchConfig { grid: launch.blocks.into(), block: threads.into(), shared_bytes: 0 };
        let mut enqueue = |scratch: u64| {
            words[SCRATCH_WORD] = scratch;
            // SAFETY: the words are what the kernel's contract asks for, which `Lie` made of the axes: every offset lies within the views that leaves and target were
            // made from, which are borrowed (the target exclusively) until this call returns and whose homes come after the launch; the scratch
            // memory is the stream's own, with a desk and slots for all tiles.
            unsafe { generated.launch(config, &words, &homes, stream) }
        };
        match launch.scratch_bytes {
            0 => enqueue(0)?,
            bytes => stream.with_cleared_scratch(bytes, enqueue)?,
        }
        Ok(())
    }
}

/// The kernel of a job.
pub(crate) struct Kernel<'k> {
    job: &'k Job<'k>,
    how: u32,
    policy: Policy,
}

impl<'k> Kernel<'k> {
    pub(crate) fn of(job: &'k Job<'k>, leaves: &Leaves<'_>, target: &Target<'_>, how: u32, count: usize) -> Self {
        let state = job.operator.state_bytes();
        let policy = match how & ACROSS {
            0 => Policy::of(leaves, state, target.dtype.bytes(), how & SEGMENTS != 0, how & PLAIN != 0, count),
            _ => Policy::across(leaves, state, target.dtype.bytes()),
        };
        Self { job, how, policy }
    }

    /// Bytes of what tiles hand on.
    fn state_bytes(&self) -> usize {
        // The mark of a segment comes with padding.
        let bytes = self.job.operator.state_bytes();
        if self.how & SEGMENTS != 0 { bytes + bytes.next_power_of_two().clamp(4, 16) } else { bytes }
    }

    fn generated(&self, device: &Device) -> Result<GeneratedKernel> {
        let Policy { threads, width, unroll } = self.policy;
        let mut key: SmallVec<[u64; 64]> = SmallVec::new();
        let numbers = u64::from(threads) << 32 | u64::from(width) << 16 | u64::from(unroll);
        key.extend([KEY, u64::from(self.how), self.job.operator.key(), numbers]);
        for source in self.job.sources() {
            source.add_key(&mut key);
            // Where one ends and the next begins.
            key.push(u64::MAX);
        }
        Ok(device.generated_kernel(&key, || Ok(self.program()))?)
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
        let Policy { threads, width, unroll } = self.policy;
        let (kernel, heads) = match self.how & ACROSS {
            0 => ("lines", format!("{heads}, ")),
            _ => ("columns", String::new()),
        };
        let how = self.how & !ACROSS;
        let name =
            format!("gpu::scan::{kernel}<{value}, {heads}{behind}, {operator}, {how}, {threads}, {width}, {unroll}>");
        let custom = job.operator.definition();
        let text = format!("#include \"columns.cuh\"\n{custom}{text}");
        let program = Program::new("scan.cu", text).option("-default-device").overlapping().name_expression(name);
        let mut all: Vec<Header> = Vec::new();
        for header in headers.into_iter().chain(HEADERS).chain([TILES, SCANNED, SCAN, COLUMNS]) {
            if all.iter().all(|other| other.name != header.name) {
                all.push(header);
            }
        }
        all.into_iter().fold(program, |program, header| program.header(header.name, header.text))
    }
}
