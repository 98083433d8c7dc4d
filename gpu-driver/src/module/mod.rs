//! Loaded programs, and kernels found in them by name.

use std::{
    collections::HashMap,
    ffi::CString,
    fmt, fs,
    path::Path,
    ptr::null_mut,
    sync::{Arc, Mutex, OnceLock},
};

use gpu_driver_core::lock;
use jit::Logged;

use crate::raw::{CUfunction, CUmodule};

use crate::{
    Binaries, Binary, BinaryKind, CudaCode, CudaVersion, Device, DriverError, Program, Result,
    context::SharedLimit,
    nvrtc,
    signature::{self, Declaration},
    sys,
};

mod dynamic;
mod function;
mod jit;
mod launch;
mod linker;
mod shape;

pub use function::Function;
pub use jit::JitOptions;
pub(crate) use launch::{LaunchMode, launch_in_order, same_device};
pub use linker::{LinkInput, Linker};
pub use shape::{Dim3, LaunchConfig};

/// A program in a device's memory. Unloaded when the last [`Function`] of it goes.
///
/// For programs made at run time; kernels that ship with a crate go through its [`Registry`](crate::Registry).
#[derive(Clone)]
pub struct Module(Arc<Loaded>);

struct Loaded {
    device: Device,
    raw: CUmodule,
    names: Vec<(String, String)>,
    text: Arc<str>,
    /// The driver's log of information.
    log: String,
    /// The kernels of the text, read when the first is asked for.
    declarations: OnceLock<Vec<Declaration>>,
    /// The limits of shared memory, which the driver has one of for each kernel.
    limits: Mutex<HashMap<usize, Arc<SharedLimit>>>,
    /// Whether it is unloaded with this.
    unloads: bool,
}

// SAFETY: the driver's module functions may be called from any thread.
unsafe impl Send for Loaded {}
// SAFETY: as above; the handle is never changed.
unsafe impl Sync for Loaded {}

impl Device {
    /// Compiles a program for this device, or takes it from the cache, and loads it: [`Program::compile`] and [`Module::load`]. Of the architectures of
    /// [`Program::for_archs`], if there are any, it takes the one that fits.
    ///
    /// # Errors
    /// Those of both; `NoFittingArch` where none of the program's architectures runs on the device.
    ///
    /// # Example
    /// ```no_run
    /// use gpu_driver::{Device, DeviceVec, LaunchConfig};
    ///
    /// let device = Device::first()?;
    /// let stream = device.stream();
    /// let x = DeviceVec::from_slice(&stream, &[1.0f32, 2.0, 3.0])?;
    /// let mut y = DeviceVec::<f32>::zeros(&stream, 3)?;
    ///
    /// let square = device.compile(r#"extern "C" __global__ void square(const float *x, float *y, int n) {
    ///     int i = blockIdx.x * blockDim.x + threadIdx.x;
    ///     if (i < n) y[i] = x[i] * x[i];
    /// }"#)?.function("square")?;
    /// // SAFETY: the kernel touches x[..3] and y[..3] alone, each element of y in one thread.
    /// unsafe { square.launch(LaunchConfig::for_elements(3), (x.input(), y.output(), 3), &stream)? };
    /// assert_eq!(y.to_vec()?, [1.0, 4.0, 9.0]);
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    #[doc(alias = "SourceModule")]
    pub fn compile(&self, program: impl Into<Program>) -> Result<Module> {
        Module::load(self, &program.into().compile_fitting(self.arch())?)
    }
}

impl Module {
    /// Loads a compiled program.
    ///
    /// # Errors
    /// `DriverTooOld` when the driver is older than the NVRTC that compiled it; else the driver's error.
    pub fn load(device: &Device, binary: &Binary) -> Result<Self> {
        let raw = load_raw(device, binary)?;
        Ok(Loaded::module(device, raw, binary.names().to_vec(), binary.text(), String::new()))
    }

    /// Loads the code that fits the device, of a program compiled for several architectures.
    ///
    /// # Errors
    /// `NoFittingArch`, which lists the architectures, where none runs on the device; those of [`Module::load`].
    pub fn load_fitting(device: &Device, binaries: &Binaries) -> Result<Self> {
        Self::load(device, binaries.fitting(device.arch())?)
    }

    /// The kernel of a name expression that was given to [`crate::Program::name_expression`], or of an `extern "C"` name.
    ///
    /// # Errors
    /// `NoKernel` when the program has no kernel of that name, with the names that it has; `Nul`.
    #[doc(alias = "get_function")]
    pub fn function(&self, name: &str) -> Result<Function> {
        let lowered = self.0.names.iter().find(|(expression, _)| expression == name).map_or(name, |(_, low)| low);
        if name.is_empty() {
            // The driver would call it an invalid value.
            return Err(self.0.no_kernel(name));
        }
        let raw = find(&self.0.device, self.0.raw, lowered).map_err(|error| match error {
            DriverError::Cuda { code: CudaCode::NOT_FOUND, .. } => self.0.no_kernel(name),
            error => error,
        })?;
        Ok(Function::new(self.clone(), raw, name.to_owned()))
    }

    /// The device that holds it.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// The module of that handle, of whose program nothing else is known.
    #[cfg(feature = "cust")]
    pub(crate) fn of_raw(device: &Device, raw: CUmodule, unloads: bool) -> Self {
        let (device, text, declarations) = (device.clone(), "".into(), OnceLock::new());
        let (names, log, limits) = (Vec::new(), String::new(), Mutex::default());
        Self(Arc::new(Loaded { device, raw, names, text, log, declarations, limits, unloads }))
    }

    /// Gives up the handle of a module that nobody else has: whoever takes it unloads the module.
    #[cfg(feature = "cust")]
    pub(crate) fn into_raw(self, op: &'static str) -> Result<CUmodule> {
        let refused = |got: &str| {
            let (expected, got) = ("a module without kernels, clones and graphs".to_owned(), got.to_owned());
            Err(DriverError::Length { op, expected, got })
        };
        if self.0.device.0.captures_here() {
            return Err(DriverError::InCapture { op });
        }
        self.0.device.synchronize()?;
        let Ok(mut loaded) = Arc::try_unwrap(self.0) else { return refused("one that others share") };
        if !std::mem::replace(&mut loaded.unloads, false) {
            return refused("another library's module");
        }
        Ok(loaded.raw)
    }

    pub(crate) fn raw(&self) -> CUmodule {
        self.0.raw
    }

    /// Loads an image of other origin: a cubin, a fatbin, PTX text, or on the emulated device an image of its own
    /// ([`Binary::image`]).
    ///
    /// Its kernels are found by the names in the image; the types of their arguments are not known, only the sizes.
    ///
    /// # Errors
    /// `Length` for an empty image; `Jit` with the driver's log for PTX that it does not compile; `Cuda` with its code for other images that it does not
    /// take.
    ///
    /// # Safety
    /// The image is whole: the driver reads as many bytes as its headers say, and runs its code.
    #[doc(alias("module_from_buffer", "from_cubin", "from_ptx"))]
    pub unsafe fn load_image(device: &Device, image: &[u8]) -> Result<Self> {
        // SAFETY: as the caller promises.
        unsafe { Self::load_image_with(device, image, &JitOptions::new()) }
    }

    /// [`Module::load_image`] with options for PTX.
    ///
    /// # Errors
    /// Those of [`Module::load_image`].
    ///
    /// # Safety
    /// As [`Module::load_image`].
    ///
    /// ```no_run
    /// # use gpu_driver::{Device, JitOptions, Module};
    /// let ptx = std::fs::read("kernels.ptx").expect("a file");
    /// let options = JitOptions::new().max_registers(32).verbose();
    /// // SAFETY: the file holds PTX.
    /// let module = unsafe { Module::load_image_with(&Device::first()?, &ptx, &options)? };
    /// println!("{}", module.jit_log());
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    pub unsafe fn load_image_with(device: &Device, image: &[u8], options: &JitOptions) -> Result<Self> {
        // Headers of images have up to 64 bytes, which the driver reads in any case; text ends in NUL.
        if image.is_empty() {
            let (op, expected) = ("Module::load_image", "an image".to_owned());
            return Err(DriverError::Length { op, expected, got: "0 bytes".to_owned() });
        }
        let mut whole = image.to_vec();
        whole.resize(image.len().max(64) + 1, 0);
        // SAFETY: the image is whole, as the caller promises, with a NUL behind it.
        let (raw, log) = unsafe { load_logged(device, &whole, Logged::new(options))? };
        let names = names_in(image).into_iter().map(|name| (name.clone(), name)).collect();
        Ok(Loaded::module(device, raw, names, "".into(), log))
    }

    /// The log of information of the driver's compiler and linker; mostly empty without [`JitOptions::verbose`], and for machine code.
    pub fn jit_log(&self) -> &str {
        &self.0.log
    }

    /// [`Module::load_image`] of a file.
    ///
    /// # Errors
    /// `Compiler` when the file cannot be read; those of [`Module::load_image`].
    ///
    /// # Safety
    /// As [`Module::load_image`].
    #[doc(alias = "module_from_file")]
    pub unsafe fn load_file(device: &Device, path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let image = fs::read(path).map_err(|error| DriverError::Compiler {
            command: format!("reading {}", path.display()),
            message: error.to_string(),
        })?;
        // SAFETY: as the caller promises.
        unsafe { Self::load_image(device, &image) }
    }
}

impl Loaded {
    fn module(device: &Device, raw: CUmodule, names: Vec<(String, String)>, text: Arc<str>, log: String) -> Module {
        let (device, declarations, limits) = (device.clone(), OnceLock::new(), Mutex::default());
        Module(Arc::new(Self { device, raw, names, text, log, declarations, limits, unloads: true }))
    }

    /// The limit of a kernel, which all its functions share.
    fn limit(&self, kernel: CUfunction) -> Arc<SharedLimit> {
        lock(&self.limits).entry(kernel as usize).or_default().clone()
    }

    fn declarations(&self) -> &[Declaration] {
        self.declarations.get_or_init(|| signature::declarations(&self.text))
    }

    /// The declaration of a kernel by its name or name expression.
    fn declaration(&self, name: &str) -> Option<&Declaration> {
        let plain = name.split('<').next().unwrap_or_default().trim().trim_start_matches('&');
        let plain = plain.rsplit("::").next().unwrap_or_default();
        self.declarations().iter().find(|declaration| declaration.name == plain)
    }

    fn no_kernel(&self, name: &str) -> DriverError {
        let by_expression = self.names.iter().map(|(expression, _)| expression.clone());
        let plain = self.declarations().iter().filter(|declaration| declaration.is_extern_c);
        let plain = plain.map(|declaration| declaration.name.clone());
        let mut known: Vec<String> = by_expression.collect();
        known.extend(plain.filter(|name| !known.contains(name)).collect::<Vec<_>>());
        let hint = match self.declaration(name) {
            Some(Declaration { is_template: true, name, .. }) => {
                format!("`{name}` is a template: ask for an instance by Program::name_expression(\"{name}<…>\").")
            }
            Some(Declaration { is_extern_c: false, name, .. }) => {
                format!(
                    "Put extern \"C\" before the __global__ of `{name}`, or give Program::name_expression(\"{name}\")."
                )
            }
            _ => {
                "A kernel has a name by extern \"C\" before its __global__, or by Program::name_expression.".to_owned()
            }
        };
        DriverError::NoKernel { name: name.to_owned(), known, hint }
    }
}

/// The kernels that PTX declares or a cubin has, by their names in it; nothing of images that do not tell: those of several architectures, and those of
/// the emulated device.
fn names_in(image: &[u8]) -> Vec<String> {
    // A cubin has a section of parameters for each kernel.
    let (before, ends): (&[u8], &[u8]) =
        if image.starts_with(b"\x7fELF") { (b"\0.nv.constant0.", b"\0") } else { (b".entry ", b"( \t\r\n") };
    let mut names = Vec::new();
    let mut rest = image;
    while let Some(at) = rest.windows(before.len()).position(|window| window == before) {
        rest = &rest[at + before.len()..];
        let end = rest.iter().position(|byte| ends.contains(byte)).unwrap_or(rest.len());
        match std::str::from_utf8(&rest[..end]) {
            Ok(name) if !name.is_empty() && !names.iter().any(|known| known == name) => names.push(name.to_owned()),
            _ => {}
        }
    }
    names
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.names.iter().map(|(expression, _)| expression).collect();
        f.debug_struct("Module").field("device", &self.0.device.ordinal()).field("kernels", &names).finish()
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        if self.unloads {
            self.device.0.unload(self.raw);
        }
    }
}

pub(crate) fn load_raw(device: &Device, binary: &Binary) -> Result<CUmodule> {
    debug_assert!(!binary.image().is_empty(), "the compiler and the cache refuse empty images");
    right_kind(device, binary)?;
    if binary.kind() == BinaryKind::Ptx {
        let text = [binary.image(), &[0]].concat();
        // SAFETY: NVRTC's text, with a NUL behind it: a second one does no harm.
        return unsafe { load_logged(device, &text, Logged::new(&JitOptions::new())) }.map(|(raw, _)| raw);
    }
    let _current = device.enter()?;
    let mut raw = null_mut();
    // SAFETY: the pointer is valid for the call; the image is a compiler's.
    device.check("cuModuleLoadData", unsafe { sys::cuModuleLoadData(&mut raw, binary.image().as_ptr().cast()) })?;
    Ok(raw)
}

/// Loads an image; the driver's log of information.
///
/// # Safety
/// The image is whole; text ends in NUL.
unsafe fn load_logged(device: &Device, image: &[u8], mut logged: Logged) -> Result<(CUmodule, String)> {
    let _current = device.enter()?;
    let mut raw = null_mut();
    let (count, options, values) = logged.parts();
    // SAFETY: the pointer is valid for the call, and so are the lists and logs; the image is whole, as the caller promises.
    let code = unsafe { sys::cuModuleLoadDataEx(&mut raw, image.as_ptr().cast(), count, options, values) };
    logged.check(device, "cuModuleLoadDataEx", code)?;
    Ok((raw, logged.information()))
}

/// Refuses programs for another kind of device, and from a compiler that is newer than the driver.
fn right_kind(device: &Device, binary: &Binary) -> Result<()> {
    match (binary.kind() == BinaryKind::SharedObject, device.is_emulated()) {
        (true, false) => Err(DriverError::WrongKind { compiled: "the emulated device", device: "a CUDA device" }),
        (false, true) => Err(DriverError::WrongKind { compiled: "a GPU", device: "the emulated device" }),
        (true, true) => Ok(()),
        (false, false) => match (binary.nvcc(), nvrtc::version()) {
            (Some(nvcc), _) => refuse_newer_code(OF_NVCC, nvcc, Device::driver_version()?),
            (None, Ok((nvrtc, _))) => refuse_newer_code(OF_NVRTC, nvrtc, Device::driver_version()?),
            (None, Err(_)) => Ok(()),
        },
    }
}

const OF_NVRTC: &str = "code from the NVRTC that was found";
const OF_NVCC: &str = "code from the nvcc that was found";

/// A driver runs the code of its own CUDA major version and of older ones.
fn refuse_newer_code(needed_by: &'static str, compiler: CudaVersion, driver: CudaVersion) -> Result<()> {
    if compiler.major <= driver.major {
        return Ok(());
    }
    let hint = match needed_by {
        OF_NVCC => format!(", or install a CUDA toolkit {} and name its nvcc in GPU_NVCC", driver.major),
        _ => format!(
            ", or install an NVRTC of CUDA {} (`pip install 'nvidia-cuda-nvrtc-cu{0}'`) and name it in GPU_NVRTC",
            driver.major
        ),
    };
    let needed = CudaVersion { major: compiler.major, minor: 0 };
    Err(DriverError::DriverTooOld { found: driver, needed, needed_by, hint })
}

/// A text for the driver; an error names its kind.
fn c_string(text: impl Into<Vec<u8>>, kind: &'static str) -> Result<CString> {
    CString::new(text).map_err(|_| DriverError::Nul { text: kind })
}

pub(crate) fn find(device: &Device, module: CUmodule, lowered: &str) -> Result<CUfunction> {
    let name = c_string(lowered, "a kernel's name")?;
    let _current = device.enter()?;
    let mut raw = null_mut();
    // SAFETY: the pointer is valid for the call; module and name are alive.
    device.check("cuModuleGetFunction", unsafe { sys::cuModuleGetFunction(&mut raw, module, name.as_ptr()) })?;
    Ok(raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_older_than_the_compiler_is_refused_with_both_versions() {
        let [older, compiler] = [12, 13].map(|major| CudaVersion { major, minor: 8 });
        assert!([compiler, older].map(|code| refuse_newer_code(OF_NVRTC, code, compiler)).iter().all(Result::is_ok));
        let text = refuse_newer_code(OF_NVRTC, compiler, older).unwrap_err().to_string();
        assert!(text.contains(&format!("CUDA {older}")) && text.contains("GPU_NVRTC"), "{text}");
    }

    #[test]
    fn images_tell_the_names_of_their_kernels() {
        let ptx = "// f.entry\n.visible .entry f(\n.param .u64 a)\n{ ret; }\n.visible .entry _Z1gPi\n(.param .u64 a)\n.entry f(";
        assert_eq!(names_in(ptx.as_bytes()), ["f", "_Z1gPi"]);
        let cubin = b"\x7fELF..\0.text.f\0.nv.constant0.f\0.nv.constant0._Z1gPi\0.nv.constant0.\xff\0";
        assert_eq!(names_in(cubin), ["f", "_Z1gPi"]);
        assert_eq!(names_in(b"\x50\xed\x55\xba of several").len(), 0);
    }
}
