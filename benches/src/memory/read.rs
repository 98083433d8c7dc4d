//! Reads of memory by a kernel.
#![expect(unsafe_code, reason = "the launch of the kernel")]

use gpu_driver::{DeviceVec, Kernel, Result};

use super::entries::{KERNELS, POLICY, ReadAll};
use crate::harness::Gpu;

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
