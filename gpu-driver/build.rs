//! Lets `-lcuda` succeed without a CUDA installation.
//!
//! cust_raw's build script asks the linker for `-lcuda`.

use std::{env, error::Error, fs, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    if env::var_os("CARGO_FEATURE_CUST").is_none() {
        return Ok(());
    }
    // An empty linker script: GNU ld, gold and lld read it as a library without symbols. gpu-driver itself defines the
    // driver's symbols (src/sys), so nothing is left for `-lcuda` to give. Inside the workspace .cargo/config.toml points
    // at the same script in `stub/`; this copy serves crates outside it.
    let folder = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(folder.join("libcuda.so"), include_str!("stub/lib64/libcuda.so"))?;
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:rerun-if-changed=stub/lib64/libcuda.so");
    println!("cargo:rerun-if-changed=build.rs");
    Ok(())
}
