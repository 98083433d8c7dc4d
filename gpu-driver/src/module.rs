//! Loaded programs, and kernels found in them by name.

use std::{
    ffi::{CString, c_void},
    fmt,
    ptr::null_mut,
    sync::Arc,
};

use cust::sys::{CUfunction, CUmodule};
use gpu_driver_core::{
    launch::{self, Attribute},
    lock,
};

use crate::{
    Binary, BinaryKind, CudaCode, CudaVersion, Device, DriverError, Result, Stream,
    context::{Current, SharedLimit},
    nvrtc, sys,
};

/// Threads or blocks along x, y and z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dim3 {
    /// Along x.
    pub x: u32,
    /// Along y.
    pub y: u32,
    /// Along z.
    pub z: u32,
}

impl From<u32> for Dim3 {
    fn from(x: u32) -> Self {
        Self { x, y: 1, z: 1 }
    }
}

impl From<(u32, u32)> for Dim3 {
    fn from((x, y): (u32, u32)) -> Self {
        Self { x, y, z: 1 }
    }
}

impl From<(u32, u32, u32)> for Dim3 {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self { x, y, z }
    }
}

impl From<Dim3> for [u32; 3] {
    fn from(dim: Dim3) -> Self {
        [dim.x, dim.y, dim.z]
    }
}

/// Shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks.
    pub grid: Dim3,
    /// Threads of a block.
    pub block: Dim3,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
}

/// A program in a device's memory. Unloaded when the last [`Function`] of it goes.
///
/// For programs made at run time; kernels that ship with a crate go through its [`Registry`](crate::Registry).
#[derive(Clone)]
pub struct Module(Arc<Loaded>);

struct Loaded {
    device: Device,
    raw: CUmodule,
    names: Vec<(String, String)>,
}

// SAFETY: the driver's module functions may be called from any thread.
unsafe impl Send for Loaded {}
// SAFETY: as above; the handle is never changed.
unsafe impl Sync for Loaded {}

impl Module {
    /// Loads a compiled program.
    ///
    /// # Errors
    /// `DriverTooOld` when the driver is older than the NVRTC that compiled it; else the driver's error.
    pub fn load(device: &Device, binary: &Binary) -> Result<Self> {
        let raw = load_raw(device, binary)?;
        Ok(Self(Arc::new(Loaded { device: device.clone(), raw, names: binary.names().to_vec() })))
    }

    /// The kernel of a name expression that was given to [`crate::Program::name_expression`], or of an `extern "C"` name.
    ///
    /// # Errors
    /// `NoKernel` when the program has no kernel of that name; `Nul`.
    pub fn function(&self, name: &str) -> Result<Function> {
        let lowered = self.0.names.iter().find(|(expression, _)| expression == name).map_or(name, |(_, low)| low);
        let no_kernel = || DriverError::NoKernel {
            name: name.to_owned(),
            known: self.0.names.iter().map(|(expression, _)| expression.clone()).collect(),
        };
        if name.is_empty() {
            // The driver would call it an invalid value.
            return Err(no_kernel());
        }
        let raw = find(&self.0.device, self.0.raw, lowered).map_err(|error| match error {
            DriverError::Cuda { code: CudaCode::NOT_FOUND, .. } => no_kernel(),
            error => error,
        })?;
        Ok(Function { module: self.clone(), raw, name: name.to_owned(), shared: Arc::default() })
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.names.iter().map(|(expression, _)| expression).collect();
        f.debug_struct("Module").field("device", &self.0.device.ordinal()).field("kernels", &names).finish()
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        self.device.0.unload(self.raw);
    }
}

/// A kernel found by name, launched with unchecked arguments.
#[derive(Clone, Debug)]
pub struct Function {
    module: Module,
    raw: CUfunction,
    name: String,
    shared: Arc<SharedLimit>,
}

// SAFETY: a handle that the driver accepts from any thread; the module it belongs to is held.
unsafe impl Send for Function {}
// SAFETY: as above; the handle is never changed.
unsafe impl Sync for Function {}

impl Function {
    /// Enqueues the kernel. `arguments` holds the address of each argument's value, in order.
    ///
    /// # Errors
    /// `Launch` when the driver refuses; `WrongDevice`; `DeviceLost`.
    ///
    /// # Safety
    /// The values have the types of the kernel's parameters; the kernel stays within the memory they point to, which
    /// nothing else accesses meanwhile and which lives until the kernel has run.
    pub unsafe fn launch(&self, config: LaunchConfig, arguments: &mut [*mut c_void], stream: &Stream) -> Result<()> {
        if stream.device() != &self.module.0.device {
            let (expected, got) = (self.module.0.device.ordinal(), stream.device().ordinal());
            return Err(DriverError::WrongDevice { op: "Function::launch", expected, got });
        }
        self.shared.allow(&self.module.0.device, &self.name, self.raw, config.shared_bytes)?;
        // A graph that the launch is captured for runs it later.
        stream.retain_in_graph(&self.module.0)?;
        let current = stream.device().enter()?;
        // SAFETY: as the caller promises; module and stream are alive.
        unsafe { launch_raw(&self.name, self.raw, false, config, arguments, stream, &current) }
    }
}

/// A launch within a call that has entered the stream's device.
///
/// # Safety
/// As [`Function::launch`]; where the kernel `overlaps`, its threads wait for the stream before they touch memory.
pub(crate) unsafe fn launch_raw(
    name: &str,
    function: CUfunction,
    overlaps: bool,
    config: LaunchConfig,
    arguments: &mut [*mut c_void],
    stream: &Stream,
    current: &Current,
) -> Result<()> {
    let LaunchConfig { grid, block, shared_bytes } = config;
    let device = stream.device();
    let (call, code) = if overlaps && device.0.overlaps {
        static OVERLAP: Attribute = Attribute::new(launch::OVERLAP, 1);
        let stream = stream.as_raw();
        let (grid, block) = (grid.into(), block.into());
        let config = launch::Config {
            grid,
            block,
            shared_bytes,
            stream: stream.cast(),
            attributes: &OVERLAP,
            attribute_count: 1,
        };
        // SAFETY: as the caller promises; the driver copies configuration and argument values before it returns.
        let code =
            unsafe { sys::cuLaunchKernelEx((&raw const config).cast(), function, arguments.as_mut_ptr(), null_mut()) };
        ("cuLaunchKernelEx", code)
    } else {
        // SAFETY: as the caller promises; the driver copies the argument values before it returns.
        let code = unsafe {
            sys::cuLaunchKernel(
                function,
                grid.x,
                grid.y,
                grid.z,
                block.x,
                block.y,
                block.z,
                shared_bytes,
                stream.as_raw(),
                arguments.as_mut_ptr(),
                null_mut(),
            )
        };
        ("cuLaunchKernel", code)
    };
    device.check(call, code).map_err(|error| match error {
        DriverError::Cuda { code, .. } => {
            let (grid, block) = (grid.into(), block.into());
            DriverError::Launch { kernel: name.to_owned(), grid, block, shared_bytes, code }
        }
        other => other,
    })?;
    stream.finish_launch(current).map_err(|error| match error {
        DriverError::DeviceLost { code, report, .. } => {
            DriverError::DeviceLost { code, kernel: Some(name.to_owned()), report }
        }
        other => other,
    })
}

pub(crate) fn load_raw(device: &Device, binary: &Binary) -> Result<CUmodule> {
    debug_assert!(!binary.image().is_empty(), "the compiler and the cache refuse empty images");
    match (binary.kind() == BinaryKind::SharedObject, device.is_emulated()) {
        (true, false) => {
            return Err(DriverError::WrongKind { compiled: "the emulated device", device: "a CUDA device" });
        }
        (false, true) => return Err(DriverError::WrongKind { compiled: "a GPU", device: "the emulated device" }),
        (true, true) => {}
        (false, false) => {
            if let Ok((compiler, _)) = nvrtc::version() {
                refuse_newer_code(compiler, Device::driver_version()?)?;
            }
        }
    }
    let _current = device.enter()?;
    let mut image = binary.image().to_vec();
    if binary.kind() == BinaryKind::Ptx {
        // A second one does no harm.
        image.push(0);
    }
    let mut raw = null_mut();
    // SAFETY: the pointer is valid for the call; the image is NVRTC's, PTX with a NUL behind it.
    device.check("cuModuleLoadData", unsafe { sys::cuModuleLoadData(&mut raw, image.as_ptr().cast()) })?;
    Ok(raw)
}

/// A driver runs the code of its own CUDA major version and of older ones.
fn refuse_newer_code(compiler: CudaVersion, driver: CudaVersion) -> Result<()> {
    if compiler.major <= driver.major {
        return Ok(());
    }
    Err(DriverError::DriverTooOld {
        found: driver,
        needed: CudaVersion { major: compiler.major, minor: 0 },
        needed_by: "code from the NVRTC that was found",
        hint: format!(
            ", or install an NVRTC of CUDA {} (`pip install 'nvidia-cuda-nvrtc-cu{0}'`) and name it in GPU_NVRTC",
            driver.major
        ),
    })
}

pub(crate) fn find(device: &Device, module: CUmodule, lowered: &str) -> Result<CUfunction> {
    let name = CString::new(lowered).map_err(|_| DriverError::Nul { what: "a kernel's name" })?;
    let _current = device.enter()?;
    let mut raw = null_mut();
    // SAFETY: the pointer is valid for the call; module and name are alive.
    device.check("cuModuleGetFunction", unsafe { sys::cuModuleGetFunction(&mut raw, module, name.as_ptr()) })?;
    Ok(raw)
}

impl SharedLimit {
    pub(crate) fn allow(&self, device: &Device, name: &str, function: CUfunction, bytes: u32) -> Result<()> {
        const MAX_DYNAMIC_SHARED_SIZE_BYTES: i32 = 8;
        if bytes == 0 {
            return Ok(());
        }
        let mut limit = lock(&self.0);
        if bytes <= *limit {
            return Ok(());
        }
        let _current = device.enter()?;
        let value = i32::try_from(bytes).unwrap_or(i32::MAX);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_older_than_the_compiler_is_refused_with_both_versions() {
        let [older, compiler] = [12, 13].map(|major| CudaVersion { major, minor: 8 });
        assert!(refuse_newer_code(compiler, compiler).is_ok() && refuse_newer_code(older, compiler).is_ok());
        let text = refuse_newer_code(compiler, older).unwrap_err().to_string();
        assert!(text.contains(&format!("CUDA {older}")) && text.contains("GPU_NVRTC"), "{text}");
    }
}
