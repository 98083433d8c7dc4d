//! Drivers that are old, broken or empty, played by a small library in place of libcuda.

use std::{path::Path, process::Command, sync::Arc};

use testkit::{Outcome, ensure};

use crate::missing::answer;

/// The folder of the library; removed when the last test is done.
pub type Fake = Arc<tempfile::TempDir>;

/// Compiles the library with the C compiler that Rust links with.
pub fn build() -> Result<Fake, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let source = folder.path().join("fake.c");
    std::fs::write(&source, include_str!("fake_libcuda.c")).map_err(|error| error.to_string())?;
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(library(folder.path())).arg(&source);
    let output = compiler.output().map_err(|error| format!("cc: {error}"))?;
    if !output.status.success() {
        return Err(format!("cc: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(Arc::new(folder))
}

fn library(folder: &Path) -> std::path::PathBuf {
    folder.join("libcuda.so.1")
}

/// What `Device::first` says with the fake driver and these variables.
fn says(fake: &Fake, variables: &[(&str, &str)], words: &[&str]) -> Outcome {
    let path = library(fake.path()).display().to_string();
    let text = answer("device", &[&[("GPU_LIBCUDA", path.as_str())], variables].concat())?;
    for word in words {
        ensure!(text.contains(word), "no `{word}` in: {text}");
    }
    Ok(())
}

pub fn an_old_driver_is_named_with_what_is_needed(fake: &Fake) -> Outcome {
    says(fake, &[("FAKE_VERSION", "11040")], &["CUDA 11.4", "needs 12.0", "Update the driver"])
}

pub fn a_driver_without_devices_says_so(fake: &Fake) -> Outcome {
    says(fake, &[("FAKE_INIT", "100")], &["found no device", "CUDA_VISIBLE_DEVICES"])?;
    says(fake, &[("FAKE_COUNT", "0")], &["found no device"])
}

pub fn a_broken_driver_is_explained(fake: &Fake) -> Outcome {
    says(fake, &[("FAKE_INIT", "34")], &["cuInit", "CUDA_ERROR_STUB_LIBRARY (34)", "not a driver"])?;
    says(fake, &[("FAKE_INIT", "803")], &["reboot after a driver update"])?;
    says(fake, &[("FAKE_INIT", "4242")], &["cuInit", "4242"])
}

pub fn functions_that_a_driver_lacks_are_errors(fake: &Fake) -> Outcome {
    says(fake, &[], &["cuDeviceGet failed", "CUDA_ERROR_NOT_SUPPORTED (801)"])
}

pub fn ranges_go_to_the_profiler_s_library(fake: &Fake) -> Outcome {
    let path = library(fake.path()).display().to_string();
    let text = answer("ranges", &[("GPU_NVTX", path.as_str())])?;
    let want = "listens: true\nstart outer 1\nstart inner 2\nmark moment\nstream copies\nend 1\nend 2\n";
    ensure!(text == want, "{text}");
    let text = answer("ranges", &[("GPU_NVTX", "off")])?;
    ensure!(text == "listens: false\n", "{text}");
    // Neither a file that is not there nor another library.
    for nothing in ["/no/such/library", "/proc/self/exe"] {
        let text = answer("ranges", &[("GPU_NVTX", nothing)])?;
        let error = format!("GPU_NVTX={nothing} is not known; expected off, or the file of a library");
        ensure!(text.starts_with(&format!("listens: false\n{error}")), "{text}");
    }
    Ok(())
}
