//! The kernel that reads, and the kernels of this crate.
#![expect(unsafe_code, reason = "the launch of the kernel")]

use std::sync::LazyLock;

use gpu_driver::{DeviceVec, Dim3, Entry, In, Kernel, Out, Registry, Result, Source};

use super::launches::{Empty, THREADS};
use crate::harness::Gpu;

static SOURCE: Source = Source { name: "read.cu", text: include_str!("read.cu"), headers: &[] };

/// Tuning of the kernel, such as reads fastest on an H200: any grid of at least two blocks a multiprocessor does.
#[derive(Clone, Debug)]
struct Policy {
    threads: u32,
    /// Loads of 16 bytes that are under way at once in a thread.
    loads: u32,
    blocks_per_multiprocessor: u32,
}

const POLICY: Policy = Policy { threads: 512, loads: 4, blocks_per_multiprocessor: 8 };

struct ReadAll;

impl Entry for ReadAll {
    type Policy = Policy;
    type Args<'a> = (In<'a, u32>, Out<'a, u32>, u64);
    const SOURCE: &'static Source = &SOURCE;
    const NAME: &'static str = "read_all";
    fn template(policy: &Policy) -> String {
        format!("{}, {}", policy.threads, policy.loads)
    }
    fn block(policy: &Policy) -> Dim3 {
        policy.threads.into()
    }
}

/// The kernels of this crate: for the measurement of ceilings and launches alone.
pub static KERNELS: LazyLock<Registry> =
    LazyLock::new(|| Registry::new("benches").with::<ReadAll>(&POLICY).with::<Empty>(&THREADS));

/// Memory that is read, and the partial sums of its words.
#[derive(Debug)]
pub(super) struct Reader {
    words: DeviceVec<u32>,
    partials: DeviceVec<u32>,
}

impl Reader {
    /// Copies `host`, whose length is a multiple of 4, to the device.
    pub(super) fn new(gpu: &Gpu, host: &[u32]) -> Result<Self> {
        let blocks = gpu.device().multiprocessors()? * POLICY.blocks_per_multiprocessor;
        let wanted = host.len().div_ceil(4 * POLICY.threads as usize).clamp(1, blocks as usize);
        let whole = &host[..host.len() / 4 * 4];
        Ok(Self {
            words: DeviceVec::from_slice(gpu.stream(), whole)?,
            partials: DeviceVec::zeros(gpu.stream(), wanted)?,
        })
    }

    /// Reads everything once.
    pub(super) fn read(&mut self) -> Result<()> {
        let stream = self.words.home().clone();
        let kernel: Kernel<ReadAll> = KERNELS.kernel(stream.device(), &POLICY)?;
        let (grid, n) = (self.partials.len() as u32, self.words.len() as u64 / 4);
        // SAFETY: reads words[..n], whose start the driver aligns to 256 bytes, and writes a partial per block; both outlive the work,
        // for their release is stream-ordered.
        unsafe { kernel.launch(grid, (self.words.input(), self.partials.output(), n), &stream) }
    }

    /// The sum of the words that were read, modulo 2^32.
    pub(super) fn sum(&self) -> Result<u32> {
        Ok(self.partials.to_vec()?.into_iter().fold(0, u32::wrapping_add))
    }
}
