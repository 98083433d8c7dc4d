//! Fills the table of driver functions, once per process.

use std::{
    env,
    ffi::{OsString, c_int},
    path::Path,
    sync::OnceLock,
};

use libloading::Library;

use super::{NO_DEVICE, NOT_SUPPORTED, symbols::NAMES};
use crate::{DriverError, Result};

/// Where the driver library is looked for, in this order, after `GPU_LIBCUDA`.
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
    /// Keeps the library mapped. A process never unloads its driver.
    _library: Option<Library>,
}

static TABLE: OnceLock<Table> = OnceLock::new();

/// The address in a slot, or the code to return in place of a call.
pub(super) fn target(slot: usize) -> Result<usize, c_int> {
    let table = TABLE.get_or_init(fill);
    match table.addresses[slot] {
        0 if table.state.is_err() => Err(NO_DEVICE),
        0 => Err(NOT_SUPPORTED),
        address => Ok(address),
    }
}

/// Whether the table holds a driver, else why not.
pub(crate) fn state() -> Result<()> {
    TABLE.get_or_init(fill).state.clone()
}

fn fill() -> Table {
    match choose() {
        Ok(library) => {
            // SAFETY: only the address is taken here; each is called with its own signature in `forward!`.
            let address = |name: &str| unsafe { library.get::<*const ()>(name.as_bytes()).map_or(0, |s| *s as usize) };
            Table { addresses: NAMES.map(address), state: Ok(()), _library: Some(library) }
        }
        Err(error) => Table { addresses: [0; NAMES.len()], state: Err(error), _library: None },
    }
}

/// Which driver `GPU_DEVICE` asks for.
fn choose() -> Result<Library> {
    match env::var("GPU_DEVICE").as_deref() {
        Err(_) | Ok("" | "cuda") => open(),
        Ok("none") => Err(DriverError::Disabled),
        Ok("emulated") => Err(DriverError::NoEmulatedDevice),
        Ok(other) => Err(DriverError::UnknownDeviceKind { value: other.to_owned() }),
    }
}

fn open() -> Result<Library> {
    let asked = env::var_os("GPU_LIBCUDA");
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
        // SAFETY: loading runs the initialisers of the vendor's driver library, which is what the user asked for.
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
