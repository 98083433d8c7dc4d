//! Programs whose kernels launch kernels (dynamic parallelism).

use super::{JitOptions, LinkInput, Linker, Module};
use crate::{Device, DriverError, Program, Result, nvrtc};

impl Device {
    /// Compiles a program whose kernels launch kernels (`child<<<blocks, threads>>>(…)`), links it with the device runtime, and loads it.
    ///
    /// The program is compiled with `-rdc=true`; the driver's linker adds `libcudadevrt.a` ([`nvrtc::device_runtime`] says which).
    ///
    /// # Cost
    /// The compilation comes from the cache; linking takes some milliseconds each time.
    ///
    /// # Errors
    /// `NoDeviceRuntime` where `libcudadevrt.a` is not found, and on the emulated device, whose kernels launch none; else those of
    /// [`Program::compile`] and [`Linker::link`].
    ///
    /// # Example
    /// ```no_run
    /// use gpu_driver::{Device, HostOut, LaunchConfig};
    /// let device = Device::first()?;
    /// let text = r#"
    /// __global__ void child(int *x) { x[threadIdx.x] = threadIdx.x; }
    /// extern "C" __global__ void parent(int *x) { child<<<1, 4>>>(x); }"#;
    /// let parent = device.compile_dynamic(text)?.function("parent")?;
    /// let mut x = [0i32; 4];
    /// // SAFETY: the child writes the four elements, before the parent's launch counts as run.
    /// unsafe { parent.launch(LaunchConfig::new(1, 1), (HostOut(&mut x),), &device.stream())? };
    /// assert_eq!(x, [0, 1, 2, 3]);
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    #[doc(alias("DynamicSourceModule", "cudadevrt"))]
    pub fn compile_dynamic(&self, program: impl Into<Program>) -> Result<Module> {
        if self.is_emulated() {
            let why = "kernels of the emulated device cannot launch kernels; launch from the host there".to_owned();
            return Err(DriverError::NoDeviceRuntime { why });
        }
        let runtime = nvrtc::device_runtime()?;
        let binary = program.into().option("-rdc=true").compile_fitting(self.arch())?;
        let mut linker = Linker::new(self, &JitOptions::new())?;
        linker.add_binary("program", &binary)?;
        // SAFETY: a library of the toolkit, of that kind.
        unsafe { linker.add_file(LinkInput::Library, &runtime)? };
        linker.link()
    }
}
