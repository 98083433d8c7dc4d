//! Fills the table of driver functions, once per process.

use std::{
    env,
    ffi::{OsString, c_int},
    path::Path,
    sync::{
        OnceLock,
        atomic::{AtomicU8, Ordering},
    },
};

use gpu_driver_core::{environment, fork};
use gpu_driver_emulated as emulated;
use libloading::Library;

use super::{NO_DEVICE, NOT_INITIALIZED, NOT_SUPPORTED, symbols::NAMES};
use crate::{DriverError, Result, environment::waits_after_launches, nvtx};

/// The places where the driver library is looked for, in this order, unless `GPU_LIBCUDA` names one.
const CANDIDATES: [&str; 6] = [
    "libcuda.so.1", // the dynamic linker's own path
    "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
    "/usr/lib/aarch64-linux-gnu/libcuda.so.1",
    "/usr/local/nvidia/lib64/libcuda.so.1", // containers
    "/usr/lib/wsl/lib/libcuda.so.1",        // Windows Subsystem for Linux
    "/run/opengl-driver/lib/libcuda.so.1",  // NixOS
];

/// The addresses of the driver's functions, in slot order; 0 where the driver lacks one.
struct Table {
    addresses: [usize; NAMES.len()],
    state: Result<()>,
    emulated: bool,
    /// Keeps the library mapped. A process never unloads its driver.
    _library: Option<Library>,
}

static TABLE: OnceLock<Table> = OnceLock::new();

/// The address in a slot, or the code to return in place of a call.
pub(super) fn target(slot: usize) -> Result<usize, c_int> {
    if fork::is_child() {
        return Err(NOT_INITIALIZED);
    }
    let table = TABLE.get_or_init(fill);
    match table.addresses[slot] {
        0 if table.state.is_err() => Err(NO_DEVICE),
        0 => Err(NOT_SUPPORTED),
        address => Ok(address),
    }
}

/// Whether the table holds a driver, else why not.
pub(crate) fn state() -> Result<()> {
    if fork::is_child() {
        return TABLE.get().map_or(Err(DriverError::Forked), |table| table.state.clone().and(Err(DriverError::Forked)));
    }
    TABLE.get_or_init(fill).state.clone()
}

/// Whether the table holds the emulated driver.
pub(crate) fn is_emulated() -> bool {
    TABLE.get_or_init(fill).emulated
}

/// The driver that a program asked for before its first call; `GPU_DEVICE` goes before it.
static REQUESTED: AtomicU8 = AtomicU8::new(Requested::Cuda as u8);

/// See [`wish`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Requested {
    Cuda,
    /// The emulated device where there is no CUDA device.
    StandIn,
    Emulated,
}

/// Asks for a driver. Has an effect before the first call of the driver only, and where `GPU_DEVICE` does not decide.
pub(crate) fn wish(wish: Requested) {
    REQUESTED.store(wish as u8, Ordering::Relaxed);
}

/// The driver that fills the table.
enum Driver {
    Cuda(Library),
    Emulated,
}

fn fill() -> Table {
    let empty = [0; NAMES.len()];
    fork::watch();
    match choose() {
        Ok(Driver::Cuda(library)) => {
            let addresses = NAMES.map(|name| address(&library, name));
            Table { addresses, state: Ok(()), emulated: false, _library: Some(library) }
        }
        Ok(Driver::Emulated) => match emulated::check_environment() {
            Ok(()) => Table { addresses: NAMES.map(emulated::address), state: Ok(()), emulated: true, _library: None },
            Err(error) => Table { addresses: empty, state: Err(error), emulated: true, _library: None },
        },
        Err(error) => Table { addresses: empty, state: Err(error), emulated: false, _library: None },
    }
}

fn address(library: &Library, name: &str) -> usize {
    // SAFETY: only the address is taken here; each is called with its own signature in `forward!`.
    unsafe { library.get::<*const ()>(name.as_bytes()).map_or(0, |symbol| *symbol as usize) }
}

/// The driver that `GPU_DEVICE` asks for, else the program's wish.
fn choose() -> Result<Driver> {
    waits_after_launches()?;
    nvtx::check_environment()?;
    match environment::text("GPU_DEVICE", "cuda, emulated or none")?.as_deref() {
        None => match REQUESTED.load(Ordering::Relaxed) {
            wish if wish == Requested::Emulated as u8 => Ok(Driver::Emulated),
            wish if wish == Requested::StandIn as u8 => match open() {
                Ok(library) if has_device(&library) => Ok(Driver::Cuda(library)),
                _ => Ok(Driver::Emulated),
            },
            _ => open().map(Driver::Cuda),
        },
        Some("cuda") => open().map(Driver::Cuda),
        Some("none") => Err(DriverError::Disabled),
        Some("emulated") => Ok(Driver::Emulated),
        Some(other) => Err(DriverError::UnknownDeviceKind { value: other.to_owned() }),
    }
}

/// Whether a driver finds any device.
fn has_device(library: &Library) -> bool {
    let (init, count) = (address(library, "cuInit\0"), address(library, "cuDeviceGetCount\0"));
    if init == 0 || count == 0 {
        return false;
    }
    let mut devices = 0;
    // SAFETY: the driver's functions of these names have these signatures; the pointer is valid for the call.
    unsafe {
        let init: unsafe extern "C" fn(u32) -> c_int = std::mem::transmute(init);
        let count: unsafe extern "C" fn(*mut c_int) -> c_int = std::mem::transmute(count);
        init(0) == 0 && count(&mut devices) == 0 && devices > 0
    }
}

fn open() -> Result<Library> {
    let asked = env::var_os("GPU_LIBCUDA").filter(|path| !path.is_empty());
    let candidates: Vec<OsString> = match &asked {
        Some(path) => vec![path.clone()],
        None => CANDIDATES.iter().map(OsString::from).collect(),
    };
    let mut searched = Vec::new();
    for candidate in candidates {
        let path = Path::new(&candidate);
        if path.is_absolute() && !path.exists() {
            searched.push(format!("{} (no such file)", path.display()));
            continue;
        }
        // SAFETY: loading runs the initialisers of the vendor's driver library, as the user asked.
        match unsafe { Library::new(&candidate) } {
            Ok(library) => return Ok(library),
            Err(error) => searched.push(format!("{} ({})", path.display(), reason(&error))),
        }
    }
    Err(DriverError::NoDriver { searched })
}

/// The loader's own words; libloading keeps them in the error's source.
pub(crate) fn reason(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}
