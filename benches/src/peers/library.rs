//! NVIDIA's libraries: where they are, and whether they have the functions that are called.
#![expect(unsafe_code, reason = "libraries are opened, and their functions looked up")]

use std::{
    collections::HashMap,
    env,
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock, PoisonError},
};

use gpu_driver::{Device, nvrtc};

use crate::harness::Outcome;

/// A library, and how `cudarc` opens it. `cudarc` panics where a library or a function is missing, so both are looked for before.
pub(super) struct Library {
    /// Its name in ids: `cublas`.
    pub(super) name: &'static str,
    /// Whether `cudarc` finds it.
    pub(super) is_present: unsafe fn() -> bool,
    /// The one that `cudarc` calls.
    pub(super) opened: unsafe fn() -> &'static libloading::Library,
    /// Every function that is called.
    pub(super) functions: &'static [&'static str],
}

impl Library {
    /// Opens it, once per process; the error names the library or function that is missing.
    pub(super) fn ready(&self, device: &Device) -> Outcome {
        if device.is_emulated() {
            return Err("the emulated device has no libraries of NVIDIA's".into());
        }
        static FOUND: Mutex<Option<HashMap<&'static str, Result<(), String>>>> = Mutex::new(None);
        let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = found.get_or_insert_default().entry(self.name).or_insert_with(|| self.open());
        Ok(outcome.clone()?)
    }

    fn open(&self) -> Result<(), String> {
        // SAFETY: NVIDIA's libraries may be opened by anyone.
        if !unsafe { (self.is_present)() } {
            self.open_by_path()?;
        }
        // SAFETY: as above.
        if !unsafe { (self.is_present)() } {
            return Err(format!("lib{} was opened, but under a name that is not looked for", self.name));
        }
        // SAFETY: it is present, so this does not panic.
        let library = unsafe { (self.opened)() };
        for function in self.functions {
            // SAFETY: the address is looked at, not called.
            let found = unsafe { library.get::<*const ()>(function.as_bytes()) };
            found.map_err(|_| format!("this lib{} has no {function}", self.name))?;
        }
        Ok(())
    }

    /// Opens the first that is found in the usual folders, for good: the loader then finds it by name as well.
    fn open_by_path(&self) -> Result<(), String> {
        let folders = folders();
        let mut why = Vec::new();
        for path in folders.iter().flat_map(|folder| files(folder, &format!("lib{}.so", self.name))) {
            // SAFETY: as above. It is never closed.
            match unsafe { libloading::Library::new(&path) } {
                Ok(library) => {
                    std::mem::forget(library);
                    return Ok(());
                }
                Err(error) => why.push(format!("{}: {error}", path.display())),
            }
        }
        let searched = folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ");
        Err(if why.is_empty() {
            format!("no lib{}.so, neither by the system's search nor in {searched}", self.name)
        } else {
            why.join("; ")
        })
    }
}

/// The folders to look for these libraries in: beside NVRTC, in toolkits, in Python environments.
fn folders() -> &'static [PathBuf] {
    static FOLDERS: OnceLock<Vec<PathBuf>> = OnceLock::new();
    FOLDERS.get_or_init(|| {
        let beside = nvrtc::version().ok().and_then(|(_, path)| path.parent().map(Path::to_owned));
        let toolkits = ["CUDA_PATH", "CUDA_HOME", "CUDA_ROOT"].into_iter().filter_map(env::var_os).map(PathBuf::from);
        let toolkits = toolkits.chain(["/usr/local/cuda".into(), "/opt/cuda".into()]).map(|at| at.join("lib64"));
        let pythons = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(env::var_os).map(PathBuf::from);
        let tested = env::var_os("GPU_TEST_PYTHON").map(PathBuf::from);
        let tested = tested.and_then(|python| Some(python.parent()?.parent()?.to_owned()));
        let user = env::var_os("HOME").map(|home| PathBuf::from(home).join(".local"));
        let pythons = pythons.chain(tested).chain(user).chain(["/usr/local".into(), "/usr".into()]);
        let mut all: Vec<PathBuf> = beside.into_iter().chain(toolkits).collect();
        all.extend(pythons.flat_map(|python| in_python(&python.join("lib"))));
        all.retain(|folder| folder.is_dir());
        all
    })
}

/// `nvidia/*/lib` of each Python below an environment's `lib`.
fn in_python(lib: &Path) -> Vec<PathBuf> {
    let pythons = entries(lib).into_iter().filter(|path| name(path).starts_with("python"));
    let packages = pythons.flat_map(|python| ["site-packages", "dist-packages"].map(|at| python.join(at)));
    packages.flat_map(|packages| entries(&packages.join("nvidia"))).map(|package| package.join("lib")).collect()
}

/// The files of a folder whose name begins so, the longest names last: `libcublas.so.13` before `libcublas.so.13.0.2`.
fn files(folder: &Path, beginning: &str) -> Vec<PathBuf> {
    entries(folder).into_iter().filter(|path| name(path).starts_with(beginning)).collect()
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let read = std::fs::read_dir(folder).into_iter().flatten();
    let mut entries: Vec<PathBuf> = read.filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    entries
}

/// An error unless `status` is that of success.
pub(super) fn check<S: PartialEq + std::fmt::Debug>(call: &str, status: S, success: S) -> Outcome {
    if status == success { Ok(()) } else { Err(format!("{call}: {status:?}").into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_that_are_not_there_are_named() {
        unsafe fn nowhere() -> bool {
            false
        }
        unsafe fn never() -> &'static libloading::Library {
            unreachable!("only libraries that are present are opened")
        }
        let library = Library { name: "cunothing", is_present: nowhere, opened: never, functions: &["cuNothing"] };
        let error = library.open().unwrap_err();
        assert!(error.contains("no libcunothing.so"), "{error}");
    }

    #[test]
    fn functions_that_are_not_there_are_named() -> Outcome {
        unsafe fn here() -> bool {
            true
        }
        unsafe fn this() -> &'static libloading::Library {
            static THIS: OnceLock<libloading::Library> = OnceLock::new();
            THIS.get_or_init(|| libloading::os::unix::Library::this().into())
        }
        let library = |functions| Library { name: "c", is_present: here, opened: this, functions };
        library(&["malloc"]).open()?;
        let error = library(&["malloc", "cuNothing"]).open().unwrap_err();
        assert!(error.contains("has no cuNothing"), "{error}");
        Ok(())
    }

    #[test]
    fn python_environments_are_searched() -> Outcome {
        let environment = tempfile::tempdir()?;
        let folder = environment.path().join("lib/python3.11/site-packages/nvidia/cu13/lib");
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("libcublas.so.13"), "no library")?;
        let found = in_python(&environment.path().join("lib"));
        assert_eq!(found, std::slice::from_ref(&folder));
        assert_eq!(files(&found[0], "libcublas.so"), [folder.join("libcublas.so.13")]);
        assert!(files(&found[0], "libcurand.so").is_empty());
        Ok(())
    }
}
