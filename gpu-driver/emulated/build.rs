//! Tells tests whether there is a C++ compiler: those that compile are shown as ignored where there is none.

use std::{env, path::Path};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(has_cxx)");
    for variable in ["CXX", "PATH"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    if has_cxx() {
        println!("cargo:rustc-cfg=has_cxx");
    }
}

/// Whether the search of `compile::toolchain` would find a program.
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
