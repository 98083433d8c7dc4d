//! NVRTC's C functions, opened at run time.

use std::{
    env,
    ffi::{CStr, CString, c_char, c_int, c_void},
    path::{Path, PathBuf},
    ptr::null_mut,
    sync::OnceLock,
};

use libloading::Library;

use crate::{CudaVersion, DriverError, Result, sys::loader::reason};

/// An `nvrtcProgram`.
type RawProgram = *mut c_void;

/// The functions of NVRTC that this crate uses, and where they come from.
pub(super) struct Nvrtc {
    pub(super) version: CudaVersion,
    pub(super) path: PathBuf,
    /// The `sm_` numbers that it compiles for, ascending; empty when it is too old to say.
    pub(super) archs: Vec<u32>,
    error_string: unsafe extern "C" fn(c_int) -> *const c_char,
    create: unsafe extern "C" fn(
        *mut RawProgram,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int,
    destroy: unsafe extern "C" fn(*mut RawProgram) -> c_int,
    compile: unsafe extern "C" fn(RawProgram, c_int, *const *const c_char) -> c_int,
    add_name: unsafe extern "C" fn(RawProgram, *const c_char) -> c_int,
    lowered_name: unsafe extern "C" fn(RawProgram, *const c_char, *mut *const c_char) -> c_int,
    log: Text,
    ptx: Text,
    cubin: Option<Text>,
    /// The builtins library must stay mapped while NVRTC is used.
    _libraries: Vec<Library>,
}

/// A pair of NVRTC functions that give the size of a text and the text.
#[derive(Clone, Copy)]
struct Text {
    size: unsafe extern "C" fn(RawProgram, *mut usize) -> c_int,
    get: unsafe extern "C" fn(RawProgram, *mut c_char) -> c_int,
}

static NVRTC: OnceLock<Result<Nvrtc>> = OnceLock::new();

/// NVRTC, opened at the first call of the process.
pub(super) fn nvrtc() -> Result<&'static Nvrtc> {
    NVRTC.get_or_init(Nvrtc::open).as_ref().map_err(Clone::clone)
}

impl Nvrtc {
    fn open() -> Result<Self> {
        let mut searched = Vec::new();
        for candidate in candidates() {
            if candidate.is_absolute() && !candidate.exists() {
                searched.push(format!("{} (no such file)", candidate.display()));
                continue;
            }
            match Self::open_at(&candidate) {
                Ok(nvrtc) => return Ok(nvrtc),
                Err(error) => searched.push(format!("{} ({})", candidate.display(), reason(&error))),
            }
        }
        Err(DriverError::NoNvrtc { searched })
    }

    fn open_at(path: &Path) -> Result<Self, libloading::Error> {
        let mut libraries = Vec::new();
        // NVRTC opens its builtins by bare name, which fails for a library that was itself opened by its full path:
        // with the builtins mapped before, the name is found.
        for builtins in builtins_beside(path) {
            // SAFETY: NVIDIA's own library, from the folder that NVRTC is opened from.
            libraries.extend(unsafe { Library::new(builtins) });
        }
        // SAFETY: the library that the search names; its initialisers are NVIDIA's.
        let library = unsafe { Library::new(path)? };
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the field's type is the C signature that NVRTC documents for this function.
                *unsafe { library.get(concat!($name, "\0").as_bytes())? }
            };
        }
        let version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int = function!("nvrtcVersion");
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both pointers are valid for the call.
        unsafe { version(&mut major, &mut minor) };
        // SAFETY: as above; these two came with CUDA 11.1 and 11.2.
        let cubin = unsafe {
            let size = library.get(b"nvrtcGetCUBINSize\0").map(|s| *s);
            let get = library.get(b"nvrtcGetCUBIN\0").map(|s| *s);
            size.ok().zip(get.ok()).map(|(size, get)| Text { size, get })
        };
        Ok(Self {
            version: CudaVersion { major: major.unsigned_abs(), minor: minor.unsigned_abs() },
            path: path.to_owned(),
            archs: supported_archs(&library),
            error_string: function!("nvrtcGetErrorString"),
            create: function!("nvrtcCreateProgram"),
            destroy: function!("nvrtcDestroyProgram"),
            compile: function!("nvrtcCompileProgram"),
            add_name: function!("nvrtcAddNameExpression"),
            lowered_name: function!("nvrtcGetLoweredName"),
            log: Text { size: function!("nvrtcGetProgramLogSize"), get: function!("nvrtcGetProgramLog") },
            ptx: Text { size: function!("nvrtcGetPTXSize"), get: function!("nvrtcGetPTX") },
            cubin,
            _libraries: {
                libraries.push(library);
                libraries
            },
        })
    }

    /// A text that tells two compilers apart: the version, and the file's name and size, as two updates share one version.
    pub(super) fn identity(&self) -> String {
        let bytes = std::fs::metadata(&self.path).map_or(0, |file| file.len());
        format!("{} {} {bytes}", self.version, file_name(&self.path))
    }

    fn check(&self, call: &'static str, code: c_int) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: NVRTC returns a static text for every code.
        let text = unsafe { CStr::from_ptr((self.error_string)(code)) };
        Err(DriverError::Nvrtc { call, message: format!("{} ({code})", text.to_string_lossy()) })
    }
}

fn supported_archs(library: &Library) -> Vec<u32> {
    type Count = unsafe extern "C" fn(*mut c_int) -> c_int;
    // SAFETY: both have the signature that NVRTC documents; the buffer has the length that NVRTC gave.
    unsafe {
        let (Ok(count), Ok(list)) =
            (library.get::<Count>(b"nvrtcGetNumSupportedArchs\0"), library.get::<Count>(b"nvrtcGetSupportedArchs\0"))
        else {
            return Vec::new();
        };
        let mut n = 0;
        count(&mut n);
        let mut archs = vec![0; usize::try_from(n).unwrap_or(0)];
        if !archs.is_empty() {
            list(archs.as_mut_ptr());
        }
        archs.iter().filter_map(|&arch| u32::try_from(arch).ok()).collect()
    }
}

/// One program inside NVRTC; destroyed on drop.
pub(super) struct Session {
    nvrtc: &'static Nvrtc,
    raw: RawProgram,
}

impl Session {
    /// A program of this text, with headers as (name, text).
    pub(super) fn new(text: &CStr, name: &CStr, headers: &[(CString, CString)]) -> Result<Self> {
        let nvrtc = nvrtc()?;
        let names: Vec<_> = headers.iter().map(|(name, _)| name.as_ptr()).collect();
        let texts: Vec<_> = headers.iter().map(|(_, text)| text.as_ptr()).collect();
        let mut raw = null_mut();
        let count = c_int::try_from(headers.len()).unwrap_or(c_int::MAX);
        // SAFETY: all texts end in NUL and live through the call; the two lists have `count` entries.
        let code =
            unsafe { (nvrtc.create)(&mut raw, text.as_ptr(), name.as_ptr(), count, texts.as_ptr(), names.as_ptr()) };
        nvrtc.check("nvrtcCreateProgram", code)?;
        Ok(Self { nvrtc, raw })
    }

    pub(super) fn add_name(&self, expression: &CStr) -> Result<()> {
        // SAFETY: the program is alive and the text ends in NUL.
        self.nvrtc.check("nvrtcAddNameExpression", unsafe { (self.nvrtc.add_name)(self.raw, expression.as_ptr()) })
    }

    /// Compiles; `Ok(false)` when the program's text is at fault, which the log then tells.
    pub(super) fn compile(&self, options: &[CString]) -> Result<bool> {
        /// Options, text and name expressions at fault, and a failure inside the compiler: the log says more.
        const TOLD_IN_THE_LOG: [c_int; 4] = [5, 6, 7, 10];
        let pointers: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
        let count = c_int::try_from(options.len()).unwrap_or(c_int::MAX);
        // SAFETY: the program is alive; the list has `count` texts that end in NUL.
        match unsafe { (self.nvrtc.compile)(self.raw, count, pointers.as_ptr()) } {
            code if TOLD_IN_THE_LOG.contains(&code) => Ok(false),
            code => self.nvrtc.check("nvrtcCompileProgram", code).map(|()| true),
        }
    }

    /// The mangled name of a kernel that was added by [`Session::add_name`].
    pub(super) fn lowered_name(&self, expression: &CStr) -> Result<String> {
        let mut name = std::ptr::null();
        // SAFETY: the program is alive and the pointer is valid for the call.
        let code = unsafe { (self.nvrtc.lowered_name)(self.raw, expression.as_ptr(), &mut name) };
        self.nvrtc.check("nvrtcGetLoweredName", code)?;
        // SAFETY: on success NVRTC gives a text that lives as long as the program.
        Ok(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
    }

    pub(super) fn log(&self) -> Result<String> {
        let bytes = self.text("nvrtcGetProgramLog", self.nvrtc.log)?;
        Ok(String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned())
    }

    /// The PTX text, with its final NUL, which the driver wants.
    pub(super) fn ptx(&self) -> Result<Vec<u8>> {
        self.text("nvrtcGetPTX", self.nvrtc.ptx)
    }

    pub(super) fn cubin(&self) -> Result<Vec<u8>> {
        let missing = || DriverError::Nvrtc { call: "nvrtcGetCUBIN", message: "this NVRTC is too old for it".into() };
        self.text("nvrtcGetCUBIN", self.nvrtc.cubin.ok_or_else(missing)?)
    }

    fn text(&self, call: &'static str, text: Text) -> Result<Vec<u8>> {
        let mut size = 0;
        // SAFETY: the program is alive and the pointer is valid for the call.
        self.nvrtc.check(call, unsafe { (text.size)(self.raw, &mut size) })?;
        let mut bytes = vec![0u8; size];
        // SAFETY: the buffer has the size that NVRTC gave.
        self.nvrtc.check(call, unsafe { (text.get)(self.raw, bytes.as_mut_ptr().cast()) })?;
        Ok(bytes)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: created in `new`, destroyed once.
        let _ = unsafe { (self.nvrtc.destroy)(&mut self.raw) };
    }
}

/// The paths at which NVRTC is looked for: `GPU_NVRTC` alone when it is set and not empty, else the system, toolkits, and Python environments.
fn candidates() -> Vec<PathBuf> {
    if let Some(path) = env::var_os("GPU_NVRTC").filter(|path| !path.is_empty()).map(PathBuf::from) {
        return if path.is_dir() { in_folder(&path) } else { vec![path] };
    }
    let mut found: Vec<PathBuf> = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"].map(PathBuf::from).to_vec();
    let toolkits = ["CUDA_PATH", "CUDA_HOME", "CUDA_ROOT"].into_iter().filter_map(env::var_os).map(PathBuf::from);
    for toolkit in toolkits.chain(["/usr/local/cuda".into(), "/opt/cuda".into()]) {
        found.extend(in_folder(&toolkit.join("lib64")));
    }
    let environments = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(env::var_os).map(PathBuf::from);
    let user = env::var_os("HOME").map(|home| PathBuf::from(home).join(".local"));
    for environment in environments.chain(user).chain(["/usr/local".into(), "/usr".into()]) {
        found.extend(in_python(&environment.join("lib")));
    }
    found
}

/// The NVRTC libraries below a Python environment's `lib`: conda's own, and those that pip installs.
fn in_python(lib: &Path) -> Vec<PathBuf> {
    let pythons = entries(lib).into_iter().filter(|path| file_name(path).starts_with("python"));
    let packages = pythons.flat_map(|python| ["site-packages", "dist-packages"].map(|packages| python.join(packages)));
    let folders =
        packages.flat_map(|packages| ["cu13/lib", "cuda_nvrtc/lib"].map(|at| packages.join("nvidia").join(at)));
    let folders = folders.chain([lib.to_owned()]).filter(|folder| folder.is_dir());
    folders.flat_map(|folder| in_folder(&folder)).filter(|path| path.exists()).collect()
}

/// The NVRTC libraries of a folder, newest first; the plain name when the folder has none, so that the search names it.
fn in_folder(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        entries(folder).into_iter().filter(|path| file_name(path).starts_with("libnvrtc.so.")).collect();
    found.sort_by_key(|path| std::cmp::Reverse(major_of(path)));
    if found.is_empty() {
        found.push(folder.join("libnvrtc.so"));
    }
    found
}

/// 13 of `libnvrtc.so.13.0.88`; 0 where there is no number.
fn major_of(path: &Path) -> u32 {
    file_name(path).split('.').nth(2).and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn builtins_beside(nvrtc: &Path) -> Vec<PathBuf> {
    let folder = nvrtc.parent().filter(|folder| folder.is_dir());
    let all = folder.map(entries).unwrap_or_default();
    all.into_iter().filter(|path| file_name(path).starts_with("libnvrtc-builtins.so.")).collect()
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    paths.sort();
    paths
}
