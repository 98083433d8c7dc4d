//! cuRAND, opened at run time where it is installed.
#![expect(unsafe_code, reason = "calls of a C library")]

use std::{
    env,
    error::Error,
    ffi::{OsStr, c_int, c_void},
    path::PathBuf,
    ptr::null_mut,
    sync::Arc,
};

use gpu_driver::nvrtc;
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

pub const XORWOW: c_int = 101;
pub const PHILOX: c_int = 161;

/// The functions that are called.
struct Functions {
    create: unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int,
    create_host: unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int,
    destroy: unsafe extern "C" fn(*mut c_void) -> c_int,
    set_stream: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
    set_seed: unsafe extern "C" fn(*mut c_void, u64) -> c_int,
    set_offset: unsafe extern "C" fn(*mut c_void, u64) -> c_int,
    bits: unsafe extern "C" fn(*mut c_void, *mut u32, usize) -> c_int,
    uniform_f32: unsafe extern "C" fn(*mut c_void, *mut f32, usize) -> c_int,
    uniform_f64: unsafe extern "C" fn(*mut c_void, *mut f64, usize) -> c_int,
    normal_f32: unsafe extern "C" fn(*mut c_void, *mut f32, usize, f32, f32) -> c_int,
    normal_f64: unsafe extern "C" fn(*mut c_void, *mut f64, usize, f64, f64) -> c_int,
    log_normal_f32: unsafe extern "C" fn(*mut c_void, *mut f32, usize, f32, f32) -> c_int,
    log_normal_f64: unsafe extern "C" fn(*mut c_void, *mut f64, usize, f64, f64) -> c_int,
    /// Keeps the functions there.
    _library: Library,
}

/// The library.
#[derive(Clone)]
pub struct Curand(Arc<Functions>);

/// Opens it: from the folder that `GPU_CURAND` names, else by the system's search, beside NVRTC, in a toolkit, or in a Python's packages.
pub fn open() -> Result<Curand, String> {
    let named = env::var_os("GPU_CURAND").map(PathBuf::from);
    let folders = match &named {
        Some(folder) => vec![folder.clone()],
        None => folders(),
    };
    let mut reasons = Vec::new();
    if named.is_none() {
        match load(OsStr::new("libcurand.so.10")).and_then(functions) {
            Ok(functions) => return Ok(Curand(Arc::new(functions))),
            Err(error) => reasons.push(error.to_string()),
        }
    }
    for folder in folders.iter().filter(|folder| folder.join("libcurand.so.10").is_file()) {
        // What it needs lies beside it in a Python environment; elsewhere the system finds it.
        for runtime in ["libcudart.so.13", "libcudart.so.12"] {
            let _ = load(folder.join(runtime).as_os_str()).map(std::mem::forget);
        }
        match load(folder.join("libcurand.so.10").as_os_str()).and_then(functions) {
            Ok(functions) => return Ok(Curand(Arc::new(functions))),
            Err(error) => reasons.push(error.to_string()),
        }
    }
    Err(format!("no libcurand.so.10 (GPU_CURAND names its folder): {}", reasons.join("; ")))
}

fn folders() -> Vec<PathBuf> {
    let beside = nvrtc::version().ok().and_then(|(_, path)| Some(path.parent()?.to_owned()));
    let toolkits = ["CUDA_PATH", "CUDA_HOME"].into_iter().filter_map(env::var_os).map(PathBuf::from);
    let toolkits = toolkits.chain(["/usr/local/cuda".into()]).map(|toolkit| toolkit.join("lib64"));
    let tested = env::var_os("GPU_TEST_PYTHON").map(PathBuf::from);
    let tested = tested.and_then(|python| Some(python.parent()?.parent()?.to_owned()));
    let pythons = env::var_os("VIRTUAL_ENV").map(PathBuf::from).into_iter().chain(tested);
    let libraries = pythons.chain(["/usr/local".into(), "/usr".into()]).map(|python| python.join("lib"));
    let packages = libraries.flat_map(entries).flat_map(|python| {
        ["site-packages", "dist-packages"].into_iter().flat_map(move |at| entries(python.join(at).join("nvidia")))
    });
    beside.into_iter().chain(toolkits).chain(packages.map(|package| package.join("lib"))).collect()
}

fn entries(folder: PathBuf) -> Vec<PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect()
}

fn load(file: &OsStr) -> Result<Library, libloading::Error> {
    // SAFETY: a library of NVIDIA's, whose initialisers have no preconditions.
    unsafe { Library::open(Some(file), RTLD_NOW | RTLD_GLOBAL) }
}

fn functions(library: Library) -> Result<Functions, libloading::Error> {
    // SAFETY: the types are those of curand.h.
    unsafe {
        Ok(Functions {
            create: *library.get(b"curandCreateGenerator")?,
            create_host: *library.get(b"curandCreateGeneratorHost")?,
            destroy: *library.get(b"curandDestroyGenerator")?,
            set_stream: *library.get(b"curandSetStream")?,
            set_seed: *library.get(b"curandSetPseudoRandomGeneratorSeed")?,
            set_offset: *library.get(b"curandSetGeneratorOffset")?,
            bits: *library.get(b"curandGenerate")?,
            uniform_f32: *library.get(b"curandGenerateUniform")?,
            uniform_f64: *library.get(b"curandGenerateUniformDouble")?,
            normal_f32: *library.get(b"curandGenerateNormal")?,
            normal_f64: *library.get(b"curandGenerateNormalDouble")?,
            log_normal_f32: *library.get(b"curandGenerateLogNormal")?,
            log_normal_f64: *library.get(b"curandGenerateLogNormalDouble")?,
            _library: library,
        })
    }
}

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn ok(call: &str, status: c_int) -> Outcome {
    if status == 0 { Ok(()) } else { Err(format!("{call} gives the status {status}").into()) }
}

/// A generator of the library.
pub struct Theirs {
    raw: *mut c_void,
    functions: Arc<Functions>,
}

impl Curand {
    /// A generator that fills memory of the host.
    pub fn on_host(&self, kind: c_int, seed: u64, offset: u64) -> Outcome<Theirs> {
        self.start(self.0.create_host, kind, seed, offset)
    }

    /// A generator that fills memory of the current device, on that stream.
    ///
    /// # Safety
    /// The stream is alive as long as the generator.
    pub unsafe fn on_device(&self, kind: c_int, seed: u64, offset: u64, stream: *mut c_void) -> Outcome<Theirs> {
        let theirs = self.start(self.0.create, kind, seed, offset)?;
        // SAFETY: both are alive.
        ok("curandSetStream", unsafe { (self.0.set_stream)(theirs.raw, stream) })?;
        Ok(theirs)
    }

    fn start(
        &self,
        create: unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int,
        kind: c_int,
        seed: u64,
        offset: u64,
    ) -> Outcome<Theirs> {
        let mut raw = null_mut();
        // SAFETY: the pointer is valid for the call.
        ok("curandCreateGenerator", unsafe { create(&mut raw, kind) })?;
        let theirs = Theirs { raw, functions: self.0.clone() };
        // SAFETY: the generator is alive.
        ok("curandSetPseudoRandomGeneratorSeed", unsafe { (self.0.set_seed)(raw, seed) })?;
        // SAFETY: as above.
        ok("curandSetGeneratorOffset", unsafe { (self.0.set_offset)(raw, offset) })?;
        Ok(theirs)
    }
}

/// What is asked of a generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Bits,
    Uniform,
    Normal,
    LogNormal,
}

/// The types that cuRAND fills.
pub trait Number: Sized {
    /// # Safety
    /// There is room for `n` numbers at `out`, where the generator fills.
    unsafe fn fill(theirs: &mut Theirs, kind: Kind, out: *mut Self, n: usize) -> Outcome;
}

impl Number for u32 {
    unsafe fn fill(theirs: &mut Theirs, _: Kind, out: *mut Self, n: usize) -> Outcome {
        // SAFETY: the caller's promise.
        ok("curandGenerate", unsafe { (theirs.functions.bits)(theirs.raw, out, n) })
    }
}

macro_rules! number {
    ($type:ident, $uniform:ident, $normal:ident, $log_normal:ident) => {
        impl Number for $type {
            unsafe fn fill(theirs: &mut Theirs, kind: Kind, out: *mut Self, n: usize) -> Outcome {
                let functions = &theirs.functions;
                // SAFETY: the caller's promise.
                let status = unsafe {
                    match kind {
                        Kind::Normal => (functions.$normal)(theirs.raw, out, n, 0.0, 1.0),
                        Kind::LogNormal => (functions.$log_normal)(theirs.raw, out, n, 0.5, 0.25),
                        _ => (functions.$uniform)(theirs.raw, out, n),
                    }
                };
                ok("curandGenerate", status)
            }
        }
    };
}
number!(f32, uniform_f32, normal_f32, log_normal_f32);
number!(f64, uniform_f64, normal_f64, log_normal_f64);

impl Theirs {
    /// New numbers on the host.
    pub fn numbers<T: Number + Clone + Default>(&mut self, kind: Kind, n: usize) -> Outcome<Vec<T>> {
        let mut out = vec![T::default(); n];
        // SAFETY: there is room for n.
        unsafe { T::fill(self, kind, out.as_mut_ptr(), n)? };
        Ok(out)
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        // SAFETY: made in `start`, destroyed once.
        unsafe { (self.functions.destroy)(self.raw) };
    }
}
