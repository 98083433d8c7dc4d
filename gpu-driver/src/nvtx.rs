//! The library that ranges of profilers go to (NVTX), and its functions.

use std::{
    env,
    ffi::{OsString, c_char},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use libloading::Library;

use crate::{DriverError, Result, raw::CUstream};

/// The functions of NVTX.
pub(crate) struct Nvtx {
    pub(crate) start: unsafe extern "C" fn(*const c_char) -> u64,
    pub(crate) end: unsafe extern "C" fn(u64),
    pub(crate) mark: unsafe extern "C" fn(*const c_char),
    pub(crate) name_stream: unsafe extern "C" fn(CUstream, *const c_char),
    /// Keeps the functions mapped.
    _library: Library,
}

/// The functions, where there is a library.
pub(crate) fn functions() -> Option<&'static Nvtx> {
    static NVTX: OnceLock<Option<Nvtx>> = OnceLock::new();
    NVTX.get_or_init(|| match asked() {
        Some(path) if path == "off" => None,
        Some(path) => open(&path),
        None => candidates().iter().find_map(open),
    })
    .as_ref()
}

/// Whether the library that `GPU_NVTX` names is there; nothing is searched or opened where it names none.
///
/// # Errors
/// `Setting` for a file that is not there, or has not the functions.
pub(crate) fn check_environment() -> Result<()> {
    match asked().filter(|path| path != "off") {
        Some(path) if functions().is_none() => Err(DriverError::Setting {
            name: "GPU_NVTX",
            value: path.to_string_lossy().into_owned(),
            expected: "off, or the file of a library with the functions of NVTX",
        }),
        _ => Ok(()),
    }
}

/// The value of `GPU_NVTX`; None where it is not set, or empty.
fn asked() -> Option<OsString> {
    env::var_os("GPU_NVTX").filter(|value| !value.is_empty())
}

/// The library's name since CUDA 12.9, and before.
const NAMES: [&str; 2] = ["libnvtx3interop.so.1", "libnvToolsExt.so.1"];

/// The library in the folders that the system searches, in the toolkit, and beside the NVRTC that `GPU_NVRTC` names, where Python's packages have it.
fn candidates() -> Vec<OsString> {
    let nvrtc = env::var_os("GPU_NVRTC").map(PathBuf::from);
    let beside = nvrtc.iter().filter_map(|nvrtc| nvrtc.parent());
    let folders = [Path::new(""), Path::new("/usr/local/cuda/lib64")].into_iter().chain(beside);
    folders.flat_map(|folder| NAMES.map(|name| folder.join(name).into())).collect()
}

fn open(path: &OsString) -> Option<Nvtx> {
    // SAFETY: loading runs the initialisers of the vendor's library, as the user asked; the functions have these signatures in each version.
    unsafe {
        let library = Library::new(path).ok()?;
        let start = *library.get(b"nvtxRangeStartA\0").ok()?;
        let end = *library.get(b"nvtxRangeEnd\0").ok()?;
        let mark = *library.get(b"nvtxMarkA\0").ok()?;
        let name_stream = *library.get(b"nvtxNameCuStreamA\0").ok()?;
        Some(Nvtx { start, end, mark, name_stream, _library: library })
    }
}
