//! Kernels found by name, and their launches with arguments that are compared.

use std::{
    ffi::c_void,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use gpu_driver_core::lock;

use super::{
    Dim3, LaunchConfig, Module,
    launch::{LaunchMode, launch_in_order, launch_raw, same_device},
};
use crate::{
    CudaCode, Device, DriverError, LaunchArguments, Result, Stream,
    context::{SharedLimit, not_forked},
    launch_arguments::StagedArguments,
    raw::CUfunction,
    signature::{ArgumentType, Signature},
    sys,
};

/// A kernel found by name. Its launches compare the arguments with the compiled kernel.
#[derive(Clone, Debug)]
pub struct Function {
    module: Module,
    raw: CUfunction,
    name: String,
    shared: Arc<SharedLimit>,
    signature: Arc<OnceLock<Signature>>,
    /// The types of arguments that fitted last, by the address of the function that tells them; 0 for none.
    checked: Arc<AtomicUsize>,
    mode: LaunchMode,
}

// SAFETY: a handle that the driver accepts from any thread; the module it belongs to is held.
unsafe impl Send for Function {}
// SAFETY: as above; the handle is never changed.
unsafe impl Sync for Function {}

impl Function {
    pub(crate) fn new(module: Module, raw: CUfunction, name: String) -> Self {
        let (shared, signature, checked) = (module.0.limit(raw), Arc::default(), Arc::default());
        Self { module, raw, name, shared, signature, checked, mode: LaunchMode::Plain }
    }

    /// Enqueues the kernel on `stream`. `arguments` is a tuple of values, device memory and slices of the host: see
    /// [`LaunchArgument`](crate::LaunchArgument).
    ///
    /// The first launch with a tuple's types checks them: their number and sizes as the driver tells them (CUDA from 12.4 on, and the emulated device),
    /// and the types as the text of the program declares them, if it does so in plain words. A tuple that was checked costs the comparison of one address.
    ///
    /// Device memory whose home is another stream is handled as in [`Kernel::launch`](crate::Kernel::launch). Slices of the host are copied to device
    /// memory in the order of `stream`; if one is copied back, the call waits for the kernel.
    ///
    /// # Errors
    /// `ArgumentCount`, `ArgumentType`; `Launch` when the driver refuses the shape (nothing ran); `SharedMemory`; `WrongDevice`; `DeviceLost`;
    /// `OutOfMemory` and `InCapture` for slices of the host.
    ///
    /// # Safety
    /// The kernel stays within the memory of its arguments for this shape, and writes none that it was given to read. Parameters whose types the text
    /// does not tell take arguments of their size. Nobody else writes memory that is passed by its address, or variables of the program
    /// ([`Global`](crate::Global)) while the kernel runs.
    #[doc(alias("prepared_call", "prepare"))]
    pub unsafe fn launch<A: LaunchArguments>(&self, config: LaunchConfig, arguments: A, stream: &Stream) -> Result<()> {
        self.same_device("Function::launch", stream)?;
        self.check::<A>()?;
        self.allow_shared(config.shared_bytes)?;
        let staged = arguments.stage(stream)?;
        // A graph that the launch is captured for runs it later.
        stream.retain_in_graph(&self.module.0)?;
        staged.retain(stream)?;
        staged.with_values(|values| {
            // SAFETY: the types are checked as far as they are known; the rest is the caller's promise.
            unsafe {
                launch_in_order(
                    &self.name,
                    self.raw,
                    self.mode,
                    config,
                    values,
                    |each| staged.for_each_home(each),
                    stream,
                )
            }
        })?;
        staged.finish()
    }

    /// Checks the types of a tuple of arguments, as a launch does.
    ///
    /// # Errors
    /// `ArgumentCount`, `ArgumentType`; the driver's error.
    ///
    /// ```no_run
    /// # use gpu_driver::{Device, In, InOut};
    /// # let device = Device::first()?;
    /// # let text = "extern \"C\" __global__ void axpy(float a, const float *x, float *y, int n) {}";
    /// let axpy = device.compile(text)?.function("axpy")?;
    /// axpy.check::<(f32, In<f32>, InOut<f32>, i32)>()?;
    /// let error = axpy.check::<(f64, In<f32>, InOut<f32>, i32)>().unwrap_err();
    /// assert!(error.to_string().contains("argument 1 of kernel `axpy`, `a`"));
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    pub fn check<A: LaunchArguments>(&self) -> Result<()> {
        // The function's result is all that is looked at, so two types that share one address fit alike.
        let types = A::describe as fn() -> Vec<ArgumentType>;
        if self.checked.load(Ordering::Relaxed) == types as usize {
            return Ok(());
        }
        let signature = match self.signature.get() {
            Some(signature) => signature,
            None => {
                let signature = Signature::new(self.parameter_bytes()?, self.module.0.declaration(&self.name));
                self.signature.get_or_init(|| signature)
            }
        };
        signature.check(&self.name, &types())?;
        self.checked.store(types as usize, Ordering::Relaxed);
        Ok(())
    }

    /// The sizes of the kernel's parameters in bytes; None where the driver does not tell them (before CUDA 12.4).
    ///
    /// # Errors
    /// `DeviceLost`.
    pub fn parameter_bytes(&self) -> Result<Option<Vec<usize>>> {
        let device = &self.module.0.device;
        let _current = device.enter()?;
        let mut sizes = Vec::new();
        loop {
            let (mut offset, mut bytes) = (0usize, 0usize);
            // SAFETY: the pointers are valid for the call; the driver checks the number.
            let code = unsafe { sys::cuFuncGetParamInfo(self.raw, sizes.len(), &mut offset, &mut bytes) };
            match CudaCode(code) {
                CudaCode(0) => sizes.push(bytes),
                CudaCode::INVALID_VALUE => return Ok(Some(sizes)),
                code if code.is_fatal() => device.check("cuFuncGetParamInfo", code.0)?,
                _ => return Ok(None),
            }
        }
    }

    /// Enqueues the kernel with unchecked arguments. `arguments` holds the address of each argument's value, in order.
    ///
    /// # Errors
    /// `Launch` when the driver refuses; `SharedMemory`; `WrongDevice`; `DeviceLost`.
    ///
    /// # Safety
    /// The values have the types of the kernel's parameters; the kernel stays within the memory they point to, which
    /// nothing else accesses meanwhile and which lives until the kernel has run.
    pub unsafe fn launch_raw(
        &self,
        config: LaunchConfig,
        arguments: &mut [*mut c_void],
        stream: &Stream,
    ) -> Result<()> {
        self.same_device("Function::launch_raw", stream)?;
        self.allow_shared(config.shared_bytes)?;
        stream.retain_in_graph(&self.module.0)?;
        let current = stream.device().enter()?;
        // SAFETY: as the caller promises; module and stream are alive.
        unsafe { launch_raw(&self.name, self.raw, self.mode, config, arguments, stream, &current) }
    }

    /// This kernel, with launches that run all blocks at once, so that blocks may wait for each other: a cooperative launch. A grid that does not fit the
    /// device ([`Function::max_active_blocks`] for each multiprocessor) is refused with `COOPERATIVE_LAUNCH_TOO_LARGE`.
    #[doc(alias = "launch_cooperative")]
    #[must_use]
    pub fn cooperative(&self) -> Self {
        Self { mode: LaunchMode::Cooperative, ..self.clone() }
    }

    /// This kernel, with launches that form clusters of `blocks` neighbouring blocks, which run at once and reach each other's shared memory
    /// (architectures from 9.0 on; the emulated device refuses them). The grid is a multiple of it in each direction.
    #[must_use]
    pub fn with_clusters(&self, blocks: impl Into<Dim3>) -> Self {
        Self { mode: LaunchMode::Clusters(blocks.into()), ..self.clone() }
    }

    /// The name that the kernel was found by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The device that holds the kernel.
    pub fn device(&self) -> &Device {
        &self.module.0.device
    }

    #[cfg(feature = "cust")]
    pub(crate) fn module(&self) -> &Module {
        &self.module
    }

    pub(crate) fn raw(&self) -> CUfunction {
        self.raw
    }

    pub(crate) fn allow_shared(&self, shared_bytes: u32) -> Result<()> {
        self.shared.allow(self.device(), &self.name, self.raw, shared_bytes)
    }

    fn same_device(&self, op: &'static str, stream: &Stream) -> Result<()> {
        same_device(op, &self.module.0.device, stream.device())
    }
}

impl SharedLimit {
    pub(crate) fn allow(&self, device: &Device, name: &str, function: CUfunction, bytes: u32) -> Result<()> {
        const MAX_DYNAMIC_SHARED_SIZE_BYTES: i32 = 8;
        if bytes == 0 {
            return Ok(());
        }
        not_forked()?;
        let mut limit = lock(&self.0);
        if bytes <= *limit {
            return Ok(());
        }
        let _current = device.enter()?;
        let mut present = 0;
        // Another handle of the same kernel may have raised the limit, which is therefore never lowered.
        // SAFETY: the pointer is valid for the call, the function is alive.
        let code = unsafe { sys::cuFuncGetAttribute(&mut present, MAX_DYNAMIC_SHARED_SIZE_BYTES, function) };
        device.check("cuFuncGetAttribute", code)?;
        let value = i32::try_from(bytes).unwrap_or(i32::MAX).max(present);
        // SAFETY: the function is alive; the driver checks the value.
        let code = unsafe { sys::cuFuncSetAttribute(function, MAX_DYNAMIC_SHARED_SIZE_BYTES, value) };
        device.check("cuFuncSetAttribute", code).map_err(|error| match error {
            DriverError::Cuda { code, .. } => {
                DriverError::SharedMemory { kernel: name.to_owned(), shared_bytes: bytes, code }
            }
            other => other,
        })?;
        *limit = bytes;
        Ok(())
    }
}
