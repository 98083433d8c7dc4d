//! Tells tests whether there is a C++ compiler, and lets `-lcuda` succeed without a CUDA installation.
//!
//! cust_raw's build script asks the linker for `-lcuda`.

use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
};

fn main() -> Result<(), Box<dyn Error>> {
    // An empty linker script: GNU ld, gold and lld read it as a library without symbols. gpu-driver itself defines the
    // driver's symbols (src/sys), so nothing is left for `-lcuda` to give. Inside the workspace .cargo/config.toml points
    // at the same script in `stub/`; this copy serves crates outside it.
    let folder = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(folder.join("libcuda.so"), include_str!("stub/lib64/libcuda.so"))?;
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:rerun-if-changed=stub/lib64/libcuda.so");
    println!("cargo:rerun-if-changed=build.rs");
    // Tests of the emulated device's compiler are shown as ignored where there is none; nothing else looks at it.
    println!("cargo:rustc-check-cfg=cfg(has_cxx)");
    for variable in ["CXX", "PATH"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    if has_cxx() {
        println!("cargo:rustc-cfg=has_cxx");
    }
    Ok(())
}

/// Whether the search of `emulated::compile::toolchain` would find a program.
fn has_cxx() -> bool {
    let asked = env::var("CXX").unwrap_or_default();
    let candidates = asked.split_whitespace().next().map_or(vec!["c++", "g++", "clang++"], |program| vec![program]);
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = env::split_paths(&path).collect();
    let is_there = |program: &&str| {
        Path::new(program).components().count() > 1 && Path::new(program).is_file()
            || folders.iter().any(|folder| folder.join(program).is_file())
    };
    candidates.iter().any(is_there)
}
