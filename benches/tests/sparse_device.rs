//! The measuring program, on the emulated device.
#![allow(missing_docs)]

use std::{
    path::PathBuf,
    process::{Command, Output},
};

use serde_json::Value;

/// As cargo built it, or in the bundle.
fn program() -> PathBuf {
    let built = PathBuf::from(env!("CARGO_BIN_EXE_sparse_device"));
    let here = std::env::current_exe().unwrap_or_default();
    let bundled = here.ancestors().nth(2).map(|bundle| bundle.join("bin/sparse_device"));
    bundled.filter(|_| !built.exists()).unwrap_or(built)
}

fn run(arguments: &[&str]) -> Output {
    Command::new(program()).args(arguments).output().expect("the program starts")
}

fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
}

fn of<'a>(lines: &'a [Value], what: &'a str) -> impl Iterator<Item = &'a Value> {
    lines.iter().filter(move |line| line["what"] == what)
}

#[test]
fn both_formats_are_measured() {
    let sizes = ["--emulated", "--iterations", "10", "--batches", "3"];
    let output = run(&[&["--case", "poisson2d:8", "--case", "poisson3d:4:f32"][..], &sizes].concat());
    let lines = lines(&output);
    if of(&lines, "error").any(|line| line["error"].to_string().contains("no C++ compiler")) {
        eprintln!("SKIPPED: {}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    assert_eq!((output.status.code(), of(&lines, "error").count()), (Some(0), 0), "{lines:#?}");
    for (matrix, nnz, tolerance) in [("poisson2d:8", 288, 1e-15), ("poisson3d:4:f32", 352, 1e-6)] {
        let lines: Vec<Value> = lines.iter().filter(|line| line["matrix"] == matrix).cloned().collect();
        assert_eq!(of(&lines, "build").count(), 1);
        for format in ["csr", "packets"] {
            let one = |what| {
                let mut found = of(&lines, what).filter(|line| line["format"] == format);
                let line = found.next().unwrap_or_else(|| panic!("{matrix}: no {what} of {format}"));
                assert!(found.next().is_none() && line["nnz"] == nnz, "{line}");
                line
            };
            let (spmv, cg, solve) = (one("spmv"), one("cg"), one("solve"));
            assert!(spmv["error"].as_f64().is_some_and(|error| error <= tolerance), "{spmv}");
            assert!(spmv["ms"].as_f64() > Some(0.0) && spmv["format_bytes"].as_u64() > Some(nnz), "{spmv}");
            assert!(cg["iterations"] == 10 && cg["ms_per_iteration"].as_f64() > Some(0.0), "{cg}");
            assert!(solve["true_residual"].as_f64().is_some_and(|residual| residual < 1e-5), "{solve}");
        }
    }
}

#[test]
fn what_fails_is_a_line_and_the_rest_goes_on() {
    let output = run(&["--what", "build", "--case", "file:/nonexistent.mtx", "--case", "poisson2d:8"]);
    let lines = lines(&output);
    assert_eq!(output.status.code(), Some(1));
    let errors: Vec<_> = of(&lines, "error").collect();
    assert!(matches!(errors[..], [error] if error["matrix"] == "file:/nonexistent.mtx"), "{lines:#?}");
    assert!(of(&lines, "build").any(|line| line["matrix"] == "poisson2d:8"), "{lines:#?}");
}

#[test]
fn an_export_needs_no_device() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let output = run(&["--what", "none", "--case", "stencil27:3", "--export", path]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let header: Value = serde_json::from_slice(&std::fs::read(folder.path().join("header.json")).unwrap()).unwrap();
    let nnz = header["nnz"].as_u64().unwrap();
    let bytes = |name| std::fs::metadata(folder.path().join(name)).unwrap().len();
    assert_eq!((bytes("row_starts.bin"), bytes("x.bin"), bytes("b.bin")), (28 * 4, 27 * 8, 27 * 8));
    assert_eq!((bytes("columns.bin"), bytes("values.bin")), (nnz * 4, nnz * 8));
}
