//! The program that writes matrices for others.
#![allow(missing_docs)]

use std::{fs, path::PathBuf, process::Command};

use serde_json::Value;

/// As cargo built it, or in the bundle.
fn program() -> PathBuf {
    let built = PathBuf::from(env!("CARGO_BIN_EXE_export_cases"));
    let here = std::env::current_exe().unwrap_or_default();
    let bundled = here.ancestors().nth(2).map(|bundle| bundle.join("bin/export_cases"));
    bundled.filter(|_| !built.exists()).unwrap_or(built)
}

#[test]
fn cases_are_named_as_in_ids() {
    let folder = tempfile::tempdir().unwrap();
    let run = |set: &str| Command::new(program()).args(["--set", set, "--out"]).arg(folder.path()).output().unwrap();
    assert!(run("tiny").status.success());
    let header = |name: &str| -> Value {
        serde_json::from_slice(&fs::read(folder.path().join(name).join("header.json")).unwrap()).unwrap()
    };
    let line = header("poisson1d-500-variable-f64");
    assert_eq!((line["matrix"].as_str(), line["dtype"].as_str()), (Some("poisson1d-500-variable"), Some("f64")));
    let operations: Vec<_> = line["operations"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(["spmv", "cg200", "cg200-jacobi"].iter().all(|operation| operations.contains(operation)), "{operations:?}");
    let cube = header("poisson3d-6-variable-f32");
    assert_eq!((cube["matrix"].as_str(), cube["rows"].as_u64()), (Some("poisson3d-6-variable"), Some(216)));
    let bytes = |name| fs::metadata(folder.path().join("poisson3d-6-variable-f32").join(name)).unwrap().len();
    assert_eq!((bytes("row_starts.bin"), bytes("x.bin")), (217 * 4, 216 * 4));
    assert!(!run("huge").status.success());
}
