//! The kernel that fills memory with a value.
#![expect(unsafe_code, reason = "one block per kernel launch, and memory that a kernel fills before anyone reads it")]

use std::{marker::PhantomData, sync::LazyLock};

use gpu_driver::{
    DevicePod, DeviceSliceMut, DeviceVec, Dim3, Entry, Kernel, Out, Registry, Result as DriverResult, Source, Stream,
};

use crate::Result;

static SOURCE: Source = Source { name: "create.cu", text: include_str!("create.cu"), headers: &[] };

/// Tuning of these kernels.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    threads: u32,
    /// Blocks per multiprocessor, at most.
    blocks_per_multiprocessor: u32,
}

const POLICY: Policy = Policy {
    threads: 256, // tune gpu-array.fill_threads: 128 256 512 1024; (fill|arange)/.*/gpu-array/device
    blocks_per_multiprocessor: 16, // tune gpu-array.fill_blocks: 4 8 16 32; (fill|arange)/.*/gpu-array/device
};

impl Policy {
    /// Blocks so that each thread has work, and no more than fill the device.
    fn grid(&self, stream: &Stream, items: usize) -> DriverResult<u32> {
        let most = stream.device().multiprocessors()?.max(1) * self.blocks_per_multiprocessor;
        let wanted = items.div_ceil(self.threads as usize);
        Ok(u32::try_from(wanted).unwrap_or(most).clamp(1, most))
    }
}

macro_rules! entry {
    ($name:ident, $cuda:literal, $($args:ty),*) => {
        pub(crate) struct $name<T>(PhantomData<T>);
        impl<T: DevicePod> Entry for $name<T> {
            type Policy = Policy;
            type Args<'a> = ($($args,)* Out<'a, T>, u64);
            const SOURCE: &'static Source = &SOURCE;
            const NAME: &'static str = $cuda;
            fn template(policy: &Policy) -> String {
                format!("{}, {}", T::CUDA_NAME, policy.threads)
            }
            fn block(policy: &Policy) -> Dim3 {
                policy.threads.into()
            }
        }
    };
}

entry!(Fill, "fill", T);

/// The kernels of this crate.
pub static KERNELS: LazyLock<Registry> = LazyLock::new(|| {
    fn both<T: DevicePod>(registry: Registry) -> Registry {
        registry.with::<Fill<T>>(&POLICY)
    }
    let registry = both::<f64>(both::<f32>(Registry::new("gpu-array")));
    let registry = both::<i64>(both::<i32>(both::<i16>(both::<i8>(registry))));
    both::<u64>(both::<u32>(both::<u16>(both::<u8>(registry))))
});

/// Writes `value` to each element of part of a buffer; does not wait.
///
/// # Cost
/// One kernel at the speed of memory writes, in 16-byte stores whatever the alignment.
///
/// # Errors
/// `NoNvrtc` where the kernel cannot be compiled; the driver's.
pub fn fill<T: DevicePod>(part: DeviceSliceMut<'_, T>, value: T) -> Result<()> {
    let (stream, n) = (part.home().clone(), part.len());
    if n == 0 {
        return Ok(());
    }
    let kernel: Kernel<Fill<T>> = KERNELS.kernel(stream.device(), &POLICY)?;
    let grid = POLICY.grid(&stream, n.div_ceil(16 / size_of::<T>()))?;
    // SAFETY: writes out[..n], which is borrowed mutably and aligned for T; its release is stream-ordered.
    unsafe { kernel.launch(grid, (value, part.output(), n as u64), &stream)? };
    Ok(())
}

pub(crate) fn full<T: DevicePod>(home: &Stream, n: usize, value: T) -> Result<DeviceVec<T>> {
    // SAFETY: every element is written next.
    let mut data = unsafe { DeviceVec::uninitialized(home, n)? };
    fill(data.as_mut_slice(), value)?;
    Ok(data)
}
