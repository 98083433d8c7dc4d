//! Loaded programs, and kernels found in them by name.

use std::{
    ffi::{CString, c_void},
    fmt, fs,
    path::Path,
    ptr::null_mut,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::raw::{CUfunction, CUmodule};
use gpu_driver_core::{
    launch::{self, Attribute},
    lock,
};

use crate::{
    Binary, BinaryKind, CudaCode, CudaVersion, Device, DriverError, LaunchArguments, Program, Result, Stream,
    context::{Current, SharedLimit},
    launch_arguments::StagedArguments,
    nvrtc,
    signature::{self, ArgumentType, Declaration, Signature},
    sys,
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
///
/// ```
/// use gpu_driver::LaunchConfig;
/// let config = LaunchConfig::for_elements(1000);
/// assert_eq!((config.grid.x, config.block.x), (4, 256));
/// let tiles = LaunchConfig::new((8, 8), (16, 16)).shared_bytes(2048);
/// assert_eq!((tiles.grid.y, tiles.block.y, tiles.shared_bytes), (8, 16, 2048));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks.
    pub grid: Dim3,
    /// Threads of a block.
    pub block: Dim3,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
}

impl LaunchConfig {
    /// Threads of a block of [`LaunchConfig::for_elements`].
    pub const ELEMENT_THREADS: u32 = 256;

    /// A grid of `grid` blocks of `block` threads, without dynamic shared memory.
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Self {
        Self { grid: grid.into(), block: block.into(), shared_bytes: 0 }
    }

    /// A thread for each of `n` elements, in blocks of 256: at least `n` threads, so the kernel checks its index, `if (i < n)`.
    ///
    /// One block where `n` is 0. Beyond 256 (2^31 - 1) elements, about 5.5e11, the grid has as many blocks as CUDA allows.
    pub fn for_elements(n: usize) -> Self {
        let blocks = n.div_ceil(Self::ELEMENT_THREADS as usize).clamp(1, i32::MAX as usize);
        Self::new(blocks as u32, Self::ELEMENT_THREADS)
    }

    /// This shape with that much dynamic shared memory for each block.
    #[must_use]
    pub fn shared_bytes(self, shared_bytes: u32) -> Self {
        Self { shared_bytes, ..self }
    }
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
    text: Arc<str>,
    /// The kernels of the text, read when the first is asked for.
    declarations: OnceLock<Vec<Declaration>>,
}

// SAFETY: the driver's module functions may be called from any thread.
unsafe impl Send for Loaded {}
// SAFETY: as above; the handle is never changed.
unsafe impl Sync for Loaded {}

impl Device {
    /// Compiles a program for this device, or takes it from the cache, and loads it: [`Program::compile`] and [`Module::load`].
    ///
    /// # Errors
    /// Those of both.
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
        Module::load(self, &program.into().compile(self.arch())?)
    }
}

impl Module {
    /// Loads a compiled program.
    ///
    /// # Errors
    /// `DriverTooOld` when the driver is older than the NVRTC that compiled it; else the driver's error.
    pub fn load(device: &Device, binary: &Binary) -> Result<Self> {
        let raw = load_raw(device, binary)?;
        let (names, text) = (binary.names().to_vec(), binary.text());
        Ok(Self(Arc::new(Loaded { device: device.clone(), raw, names, text, declarations: OnceLock::new() })))
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
        let (shared, signature, checked) = (Arc::default(), Arc::default(), Arc::default());
        let mode = LaunchMode::Plain;
        Ok(Function { module: self.clone(), raw, name: name.to_owned(), shared, signature, checked, mode })
    }

    /// The device that holds it.
    pub fn device(&self) -> &Device {
        &self.0.device
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
    /// `Length` for an empty image; `Cuda` with the driver's code for one that it does not take.
    ///
    /// # Safety
    /// The image is whole: the driver reads as many bytes as its headers say, and runs its code.
    #[doc(alias("module_from_buffer", "from_cubin", "from_ptx"))]
    pub unsafe fn load_image(device: &Device, image: &[u8]) -> Result<Self> {
        // Headers of images have up to 64 bytes, which the driver reads in any case; text ends in NUL.
        if image.is_empty() {
            let (op, expected) = ("Module::load_image", "an image".to_owned());
            return Err(DriverError::Length { op, expected, got: "0 bytes".to_owned() });
        }
        let mut whole = image.to_vec();
        whole.resize(image.len().max(64) + 1, 0);
        let _current = device.enter()?;
        let mut raw = null_mut();
        // SAFETY: the pointer is valid for the call; the image is whole, as the caller promises.
        device.check("cuModuleLoadData", unsafe { sys::cuModuleLoadData(&mut raw, whole.as_ptr().cast()) })?;
        let (names, text, declarations) = (Vec::new(), "".into(), OnceLock::new());
        Ok(Self(Arc::new(Loaded { device: device.clone(), raw, names, text, declarations })))
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

pub(crate) fn same_device(op: &'static str, expected: &Device, got: &Device) -> Result<()> {
    if expected == got {
        return Ok(());
    }
    Err(DriverError::WrongDevice { op, expected: expected.ordinal(), got: got.ordinal() })
}

/// How the blocks of a launch stand to each other and to the work before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LaunchMode {
    #[default]
    Plain,
    /// The kernel waits for its stream itself.
    Overlapping,
    /// All blocks run at once.
    Cooperative,
    /// So many neighbouring blocks run at once, on one part of the device.
    Clusters(Dim3),
}

/// Enqueues a kernel on `stream`, after the work that the homes hold and before their later work.
///
/// # Safety
/// The promises of [`launch_raw`].
pub(crate) unsafe fn launch_in_order(
    name: &str,
    function: CUfunction,
    mode: LaunchMode,
    config: LaunchConfig,
    values: &mut [*mut c_void],
    for_each_home: impl Fn(&mut dyn FnMut(&Stream) -> Result<()>) -> Result<()>,
    stream: &Stream,
) -> Result<()> {
    let device = stream.device();
    let current = device.enter()?;
    for_each_home(&mut |home| {
        same_device("a kernel and its argument", device, home.device())?;
        stream.follow_entered(home, &current)
    })?;
    // SAFETY: as the caller promises.
    let mut outcome = unsafe { launch_raw(name, function, mode, config, values, stream, &current) };
    // Whatever happened, every home must come after the kernel if it was launched, or a release could overtake it.
    let joined = for_each_home(&mut |home| home.follow_entered(stream, &current));
    if joined.is_err() {
        let waited = stream.synchronize_entered(&current);
        outcome = outcome.and(joined).and(waited);
    }
    outcome
}

/// A launch within a call that has entered the stream's device.
///
/// # Safety
/// As [`Function::launch_raw`]; with [`LaunchMode::Overlapping`] its threads wait for the stream before they touch memory.
pub(crate) unsafe fn launch_raw(
    name: &str,
    function: CUfunction,
    mode: LaunchMode,
    config: LaunchConfig,
    arguments: &mut [*mut c_void],
    stream: &Stream,
    current: &Current,
) -> Result<()> {
    let LaunchConfig { grid, block, shared_bytes } = config;
    let device = stream.device();
    static OVERLAP: Attribute = Attribute::new(launch::OVERLAP, 1);
    let cluster;
    let attribute = match mode {
        LaunchMode::Overlapping if device.0.overlaps => Some(&OVERLAP),
        LaunchMode::Clusters(blocks) => {
            cluster = Attribute::cluster(blocks.into());
            Some(&cluster)
        }
        _ => None,
    };
    let (call, code) = if let Some(attribute) = attribute {
        let stream = stream.as_raw();
        let (grid, block) = (grid.into(), block.into());
        let config = launch::Config {
            grid,
            block,
            shared_bytes,
            stream: stream.cast(),
            attributes: attribute,
            attribute_count: 1,
        };
        // SAFETY: as the caller promises; the driver copies configuration and argument values before it returns.
        let code =
            unsafe { sys::cuLaunchKernelEx((&raw const config).cast(), function, arguments.as_mut_ptr(), null_mut()) };
        ("cuLaunchKernelEx", code)
    } else if mode == LaunchMode::Cooperative {
        let (stream, values) = (stream.as_raw(), arguments.as_mut_ptr());
        let (Dim3 { x: across, y: down, z: deep }, Dim3 { x, y, z }) = (grid, block);
        // SAFETY: as below.
        let code = unsafe {
            sys::cuLaunchCooperativeKernel(function, across, down, deep, x, y, z, shared_bytes, stream, values)
        };
        ("cuLaunchCooperativeKernel", code)
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
