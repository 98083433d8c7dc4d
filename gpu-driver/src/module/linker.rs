//! Modules that are linked to one program.

use std::{ffi::c_void, fmt, path::Path, ptr::null_mut, slice};

use super::{JitOptions, Loaded, Module, jit::Logged};
use crate::{Binary, BinaryKind, Device, Result, raw::all::CUlinkState, sys};

/// The form of code that a [`Linker`] takes.
#[doc(alias = "jit_input_type")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum LinkInput {
    /// Machine code for one architecture, with relocations.
    Cubin = 0,
    /// PTX text.
    Ptx = 1,
    /// Several of both.
    Fatbin = 2,
    /// An object of the host with code for devices in it.
    Object = 3,
    /// An archive of such objects, such as the device runtime `libcudadevrt.a`, for kernels that launch kernels.
    Library = 4,
}

/// The driver's linker: programs that call each other's `__device__` functions and use each other's variables become one module.
///
/// The programs are compiled with `-rdc=true` (relocatable device code). On the emulated device programs cannot call each
/// other: one program holds all texts there, and a second one is refused.
///
/// ```no_run
/// use gpu_driver::{Device, JitOptions, Linker, Program};
/// let device = Device::first()?;
/// let part = |name, text: &str| Program::new(name, text).option("-rdc=true").compile(device.arch());
/// let library = part("twice.cu", "__device__ float twice(float x) { return 2 * x; }")?;
/// let text = "__device__ float twice(float); extern \"C\" __global__ void map(float *x) { x[threadIdx.x] = twice(x[threadIdx.x]); }";
/// let kernels = part("map.cu", text)?;
/// let mut linker = Linker::new(&device, &JitOptions::new())?;
/// linker.add_binary("twice", &library)?;
/// linker.add_binary("map", &kernels)?;
/// let map = linker.link()?.function("map")?;
/// # Ok::<(), gpu_driver::DriverError>(())
/// ```
#[doc(alias("cuLinkCreate", "DynamicModule", "link_module"))]
pub struct Linker {
    device: Device,
    state: CUlinkState,
    /// The driver writes its logs there until the state goes.
    logged: Logged,
    names: Vec<(String, String)>,
    text: String,
}

// SAFETY: a handle that the driver accepts from any thread, and memory of its own.
unsafe impl Send for Linker {}

impl Linker {
    /// A linker with no program yet. The options are those for PTX.
    ///
    /// # Errors
    /// `DeviceLost`; the driver's error.
    pub fn new(device: &Device, options: &JitOptions) -> Result<Self> {
        let (mut logged, mut state) = (Logged::new(options), null_mut());
        {
            let _current = device.enter()?;
            let (count, options, values) = logged.parts();
            // SAFETY: the lists have that many entries, and stay until the state is destroyed; so do the logs that they name.
            let code = unsafe { sys::cuLinkCreate_v2(count, options, values, &mut state) };
            logged.check(device, "cuLinkCreate", code)?;
        }
        Ok(Self { device: device.clone(), state, logged, names: Vec::new(), text: String::new() })
    }

    /// Adds a compiled program. The module finds its kernels by name and by name expression, and checks their arguments as its text declares them.
    ///
    /// # Errors
    /// `WrongKind` for one that was compiled for the other kind of device; `Jit` with the driver's log, on the emulated device for a second program; `Nul`;
    /// `DeviceLost`.
    pub fn add_binary(&mut self, name: &str, binary: &Binary) -> Result<()> {
        super::right_kind(&self.device, binary)?;
        let kind = match binary.kind() {
            BinaryKind::Ptx => LinkInput::Ptx,
            BinaryKind::Fatbin => LinkInput::Fatbin,
            BinaryKind::Cubin | BinaryKind::SharedObject => LinkInput::Cubin,
        };
        // SAFETY: a compiler made the image.
        unsafe { self.add_image(kind, name, binary.image())? };
        self.names.extend_from_slice(binary.names());
        self.text.push_str(&binary.text());
        self.text.push('\n');
        Ok(())
    }

    /// Adds PTX. The driver compiles it; its messages call it `name`.
    ///
    /// # Errors
    /// `Jit` with the driver's log; `Nul`; `DeviceLost`.
    pub fn add_ptx(&mut self, name: &str, text: &str) -> Result<()> {
        let text = super::c_string(text, "PTX")?;
        // SAFETY: text, of which the driver reads no more than it is given.
        unsafe { self.add_image(LinkInput::Ptx, name, text.as_bytes_with_nul()) }
    }

    /// Adds an image of other origin.
    ///
    /// # Errors
    /// `Jit` with the driver's log; `Cuda` with its code; `Nul`; `DeviceLost`.
    ///
    /// # Safety
    /// The image is whole, and of that kind.
    pub unsafe fn add_image(&mut self, kind: LinkInput, name: &str, image: &[u8]) -> Result<()> {
        let name = super::c_string(name, "a program's name")?;
        let mut bytes = image.to_vec();
        if kind == LinkInput::Ptx && bytes.last() != Some(&0) {
            bytes.push(0);
        }
        let _current = self.device.enter()?;
        let (data, size): (*mut c_void, usize) = (bytes.as_mut_ptr().cast(), bytes.len());
        // SAFETY: the state is alive; the driver copies the data, which is whole as the caller promises.
        let code = unsafe {
            sys::cuLinkAddData_v2(self.state, kind as i32, data, size, name.as_ptr(), 0, null_mut(), null_mut())
        };
        self.logged.check(&self.device, "cuLinkAddData", code)
    }

    /// [`Linker::add_image`] of a file.
    ///
    /// # Errors
    /// Those of [`Linker::add_image`]; the driver's `FILE_NOT_FOUND`.
    ///
    /// # Safety
    /// As [`Linker::add_image`].
    pub unsafe fn add_file(&mut self, kind: LinkInput, path: impl AsRef<Path>) -> Result<()> {
        let path = super::c_string(path.as_ref().as_os_str().as_encoded_bytes(), "a path")?;
        let _current = self.device.enter()?;
        // SAFETY: the state is alive, and the path ends in NUL.
        let code = unsafe { sys::cuLinkAddFile_v2(self.state, kind as i32, path.as_ptr(), 0, null_mut(), null_mut()) };
        self.logged.check(&self.device, "cuLinkAddFile", code)
    }

    /// Links the programs, and loads the result.
    ///
    /// # Errors
    /// `Jit` with the driver's log, where a function is missing or there twice; `DeviceLost`.
    pub fn link(self) -> Result<Module> {
        let image = self.complete()?;
        let (device, logged) = (&self.device, Logged::new(&JitOptions::new()));
        // SAFETY: the driver made the image, which is whole.
        let raw = unsafe { super::load_logged(device, &image, logged) }.map(|(raw, _)| raw)?;
        Ok(Loaded::module(device, raw, self.names.clone(), self.text.as_str().into(), self.logged.information()))
    }

    /// Links the programs to a cubin, which [`Module::load_image`] loads.
    ///
    /// # Errors
    /// Those of [`Linker::link`].
    pub fn into_image(self) -> Result<Vec<u8>> {
        self.complete()
    }

    fn complete(&self) -> Result<Vec<u8>> {
        let _current = self.device.enter()?;
        let (mut image, mut bytes): (*mut c_void, usize) = (null_mut(), 0);
        // SAFETY: the state is alive, and the places are valid for the call.
        let code = unsafe { sys::cuLinkComplete(self.state, &mut image, &mut bytes) };
        self.logged.check(&self.device, "cuLinkComplete", code)?;
        // SAFETY: the driver's image has that many bytes, and stays until the state is destroyed.
        Ok(unsafe { slice::from_raw_parts(image.cast::<u8>(), bytes) }.to_vec())
    }
}

impl Drop for Linker {
    fn drop(&mut self) {
        // SAFETY: made in `new`, destroyed once.
        self.device.0.in_drop("a linker", "cuLinkDestroy", || unsafe { sys::cuLinkDestroy(self.state) });
    }
}

impl fmt::Debug for Linker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Linker(device {})", self.device.ordinal())
    }
}
