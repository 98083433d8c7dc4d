//! The cost of a launch to the host: of a kernel whose types were checked when it was compiled, and of one by name, whose tuple of arguments is checked
//! against the compiled signature.
#![expect(unsafe_code, reason = "the launches of a kernel that does nothing")]

use gpu_driver::{DeviceVec, Function, Kernel, LaunchConfig, Stream};

use super::entries::{Empty, KERNELS, THREADS};
use crate::harness::{Check, Gpu, Harness, Outcome};

/// The operation of all launches of an empty kernel.
pub(crate) const OPERATION: &str = "launch-empty";

/// The text of the same kernel, compiled by name.
const BY_NAME: &str = "extern \"C\" __global__ void empty(const float *, unsigned long long) {}";

/// A stream, memory of one float, and the function of a string.
pub(crate) struct ByName {
    pub(crate) stream: Stream,
    pub(crate) memory: DeviceVec<f32>,
    pub(crate) function: Function,
}

impl ByName {
    /// Compiles the kernel.
    pub(crate) fn new(gpu: &Gpu) -> Outcome<Self> {
        let function = gpu.device().compile(BY_NAME)?.function("empty")?;
        Ok(Self { stream: gpu.stream().clone(), memory: DeviceVec::zeros(gpu.stream(), 1)?, function })
    }
}

/// The launches of this workspace.
pub(super) fn figures(harness: &mut Harness) {
    harness.figure(OPERATION, "f32", "typed", "gpu-driver").enqueue_only().on_gpu(
        |gpu| {
            let kernel: Kernel<Empty> = KERNELS.kernel(gpu.device(), &THREADS)?;
            Ok((gpu.stream().clone(), DeviceVec::<f32>::zeros(gpu.stream(), 1)?, kernel))
        },
        // SAFETY: the kernel touches no memory.
        |(stream, memory, kernel)| Ok(unsafe { kernel.launch(1, (memory.input(), 1), stream) }?),
        |(_, memory, _), ()| Ok(Check::equal(&memory.to_vec()?, &[0.0])),
    );
    harness.figure(OPERATION, "f32", "tuple", "gpu-driver").enqueue_only().on_gpu(
        ByName::new,
        |ByName { stream, memory, function }| {
            let config = LaunchConfig { grid: 1.into(), block: THREADS.into(), shared_bytes: 0 };
            // SAFETY: the kernel touches no memory.
            Ok(unsafe { function.launch(config, (memory.input(), 1u64), stream) }?)
        },
        |ByName { memory, .. }, ()| Ok(Check::equal(&memory.to_vec()?, &[0.0])),
    );
}
