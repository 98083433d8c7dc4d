//! NVRTC opened while the driver makes a device's context, since the first kernel of a new process waits for both.
//!
//! In a process's first compilation NVRTC maps and initialises its libraries, about as long as an empty kernel takes to compile. The driver needs
//! longer than both for a context, on another thread.

use std::{fs, path::PathBuf, thread};

use gpu_driver_core::cache::usable;

use super::{Arch, Program, sys};
use crate::{Result, sys::loader};

/// Runs `make_context`. If kernels will have to be compiled, since the cache is empty or off, NVRTC compiles an empty one meanwhile.
///
/// A missing NVRTC is no error here: the first kernel reports it.
pub(crate) fn beside<T>(make_context: impl FnOnce() -> T) -> T {
    if loader::is_emulated() || !is_empty(usable()) {
        return make_context();
    }
    thread::scope(|scope| {
        // A system without a thread to spare lets the first kernel wait.
        let _ = thread::Builder::new().name("nvrtc".into()).spawn_scoped(scope, compile_empty);
        make_context()
    })
}

/// Whether the cache holds no kernel; also where there is none.
fn is_empty(folder: Option<PathBuf>) -> bool {
    folder.and_then(|folder| fs::read_dir(folder).ok()).is_none_or(|mut entries| entries.next().is_none())
}

/// Compiles a kernel for no use but that NVRTC has run. Whatever fails here fails again for a kernel that somebody waits for.
fn compile_empty() -> Result<()> {
    let nvrtc = sys::nvrtc()?;
    let arch = nvrtc.archs.first().map_or(Arch::new(9, 0), |&number| Arch::new(number / 10, number % 10));
    let program = Program::new("empty.cu", "#include \"prelude.cuh\"\n__global__ void empty() {}").minimal();
    let (kind, options) = program.target(arch, nvrtc)?;
    program.run(kind, &options).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_empty_without_a_folder_or_without_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = || Some(folder.path().to_owned());
        assert!(is_empty(None) && is_empty(path().map(|path| path.join("absent"))) && is_empty(path()));
        fs::write(folder.path().join("kernel"), "").unwrap();
        assert!(!is_empty(path()));
    }

    #[test]
    fn the_context_is_made_once_in_the_callers_thread() {
        let caller = thread::current().id();
        let mut calls = 0;
        let made = beside(|| {
            calls += 1;
            thread::current().id()
        });
        assert_eq!((made, calls), (caller, 1));
    }
}
