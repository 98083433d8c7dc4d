//! The program `solve`, run as its user runs it. It needs the example to be built, which `cargo test` does by default.
#![allow(missing_docs)]

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use gpu_sparse::{CsrMatrix, gallery::Poisson, io};

/// The example's program, beside the folder that holds this test.
fn program() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let folder = test.parent().and_then(Path::parent).expect("tests lie in target/<profile>/deps");
    let program = folder.join("examples/solve");
    assert!(program.exists(), "{} is missing: run `cargo build --example solve` for this profile", program.display());
    program
}

/// Runs it on the CPU; nothing may panic.
fn solve(arguments: &[&str]) -> Output {
    run(&[&["--device", "cpu"], arguments].concat())
}

fn run(arguments: &[&str]) -> Output {
    let output = Command::new(program()).args(arguments).output().expect("the program starts");
    assert!(!stderr(&output).contains("panicked"), "{arguments:?}: {}", stderr(&output));
    output
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stderr(output)))
}

/// Writes a Matrix Market file into a folder of the test's own.
fn file(folder: &tempfile::TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("the folder can be written");
    path.display().to_string()
}

/// Runs it on the device; none where that is the emulated one and its compiler is missing.
fn on(device: &str, arguments: &[&str]) -> Option<Output> {
    let output = run(&[&["--device", device], arguments].concat());
    if device == "emulated" && stderr(&output).contains("no C++ compiler") {
        eprintln!("SKIPPED: {}", stderr(&output));
        return None;
    }
    Some(output)
}

fn fails(arguments: &[&str], message: &str) {
    let output = solve(arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", stderr(&output));
    let said = stderr(&output) + &String::from_utf8_lossy(&output.stdout);
    assert!(said.contains(message), "{arguments:?}: {said}");
}

#[test]
fn the_built_in_system_converges_below_its_tolerance() {
    for precond in ["none", "jacobi"] {
        let output = solve(&["--json", "--precond", precond]);
        let facts = json(&output);
        assert!(output.status.success(), "{facts}");
        assert_eq!(facts["status"], "Converged");
        assert_eq!(facts["rows"], 103_823);
        assert_eq!(facts["format"], "csr");
        assert!(facts["true_residual"].as_f64().unwrap() <= facts["rtol"].as_f64().unwrap(), "{facts}");
        let keys = ["nnz", "bytes_per_nnz", "iterations", "build_s", "solve_s", "ms_per_iteration"];
        assert!(keys.iter().all(|key| facts[key].as_f64().unwrap() >= 0.0), "{facts}");
    }
}

#[test]
fn a_file_is_solved_and_its_answer_written_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let a = file(&folder, "a.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 4\n2 1 1\n2 2 3\n");
    let b = file(&folder, "b.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n2\n");
    let (x, plot) = (folder.path().join("x.mtx"), folder.path().join("r.svg"));
    let (x, plot) = (x.display().to_string(), plot.display().to_string());
    let output = solve(&[&a, "--rhs", &b, "--out", &x, "--plot", &plot]);
    assert!(output.status.success(), "{}", stderr(&output));
    let got = gpu_sparse::io::read_vector::<f64>(&x).unwrap();
    // 4x + y = 1, x + 3y = 2
    assert!((got[0] - 1.0 / 11.0).abs() < 1e-8 && (got[1] - 7.0 / 11.0).abs() < 1e-8, "{got:?}");
    assert!(std::fs::read_to_string(plot).unwrap().contains("<svg"));
    let table = String::from_utf8(output.stdout).unwrap();
    for line in ["device", "rows", "nonzeros", "iterations", "outcome", "true residual", "per iteration"] {
        assert!(table.contains(line), "{table}");
    }
}

#[test]
fn wrong_input_ends_with_a_plain_message() {
    let folder = tempfile::tempdir().unwrap();
    let matrix = |name, entries| {
        file(&folder, name, &format!("%%MatrixMarket matrix coordinate real general\n2 2 4\n{entries}"))
    };
    let good = matrix("good.mtx", "1 1 4\n1 2 1\n2 1 1\n2 2 3\n");
    let unsymmetric = matrix("unsymmetric.mtx", "1 1 4\n1 2 2\n2 1 1\n2 2 3\n");
    let indefinite = matrix("indefinite.mtx", "1 1 1\n1 2 5\n2 1 5\n2 2 1\n");
    let zero_diagonal = matrix("zero_diagonal.mtx", "1 1 0\n1 2 1\n2 1 1\n2 2 1\n");
    let malformed = matrix("malformed.mtx", "1 1 4\n1 9 1\n2 1 1\n2 2 3\n");
    let rectangular = file(&folder, "r.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n");
    let long = file(&folder, "long.mtx", "%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n");
    fails(&["/nonexistent/a.mtx"], "/nonexistent/a.mtx");
    fails(&[&malformed], "line 4");
    fails(&[&unsymmetric], "not symmetric: elements (1, 2) and (2, 1)");
    fails(&[&rectangular], "2 x 3");
    fails(&[&indefinite], "not positive definite");
    fails(&[&zero_diagonal, "--precond", "jacobi"], "diagonal");
    fails(&[&good, "--rhs", &long], "3 numbers for a matrix with 2 rows");
    fails(&[&good, "--rtol", "-1"], "rtol");
    fails(&[&good, "--maxiter", "1"], "iteration limit");
    fails(&[&good, "--out", "/nonexistent/x.mtx"], "/nonexistent/x.mtx");
}

#[test]
fn auto_says_what_it_took_and_why() {
    let facts = json(&run(&["--json"]));
    let (device, why) = (facts["device"].as_str().unwrap(), facts["device_reason"].as_str().unwrap());
    assert!(device.starts_with("cpu") || device.starts_with("cuda"), "{device}");
    assert!(!why.is_empty());
    // Hidden devices leave the CPU, and insisting on CUDA is then an error.
    let hidden = |arguments: &[&str]| {
        Command::new(program()).env("GPU_DEVICE", "none").args(arguments).output().expect("the program starts")
    };
    let facts = json(&hidden(&["--json"]));
    assert!(facts["device"].as_str().unwrap().starts_with("cpu"), "{facts}");
    assert!(facts["device_reason"].as_str().unwrap().contains("GPU_DEVICE=none"), "{facts}");
    let output = hidden(&["--device", "cuda"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("GPU_DEVICE=none"), "{}", stderr(&output));
}

#[test]
fn the_emulated_device_is_used_when_asked_for_and_never_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let a = file(&folder, "a.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 4\n2 1 1\n2 2 3\n");
    let emulated = |arguments: &[&str]| {
        let mut command = Command::new(program());
        command.env("GPU_DEVICE", "emulated").arg(&a).args(arguments).output().expect("the program starts")
    };
    let facts = json(&emulated(&["--json"]));
    assert!(facts["device"].as_str().unwrap().starts_with("cpu"), "{facts}");
    assert!(facts["device_reason"].as_str().unwrap().contains("--device emulated"), "{facts}");
    assert_eq!(emulated(&["--device", "cuda"]).status.code(), Some(1));
    let Some(output) = on("emulated", &[&a, "--json"]) else { return };
    let facts = json(&output);
    assert!(facts["device"].as_str().unwrap().contains("emulated") && facts["status"] == "Converged", "{facts}");
    assert_eq!(facts["iterations"], 2);
}

/// A matrix that packets suit, and one so small that their padding is most of them; in files.
fn matrices(folder: &tempfile::TempDir) -> [(CsrMatrix<f64>, String); 2] {
    let grid = Poisson::two_d(20, 21).random_coefficients(3, 10.0).build::<f64>().unwrap();
    let tiny = Poisson::one_d(2).build::<f64>().unwrap();
    [(grid, "grid.mtx"), (tiny, "tiny.mtx")].map(|(a, name)| {
        let path = folder.path().join(name).display().to_string();
        io::write_matrix_market(&path, &a).unwrap();
        (a, path)
    })
}

/// Whether a solve of `a` went well and tells the truth about its format; the iterations that it took.
fn iterations_in(a: &CsrMatrix<f64>, format: &str, facts: &serde_json::Value) -> u64 {
    let number = |key: &str| facts[key].as_f64().unwrap_or_else(|| panic!("{key}: {facts}"));
    assert!(facts["status"] == "Converged" && number("true_residual") <= 2.0 * number("rtol"), "{facts}");
    assert_eq!([&facts["format"], &facts["format_asked"], &facts["format_reason"]], [format, format, "asked for"]);
    let (n, nnz) = (a.rows() as f64, a.nnz() as f64);
    let bytes = match format {
        "csr" => (8.0 + 4.0) * nnz + 8.0 * (n + 1.0),
        _ => a.to_packets().unwrap().description().bytes as f64,
    };
    assert!((number("bytes_per_nnz") / (bytes / nnz) - 1.0).abs() < 1e-12, "{facts}");
    let vectors = if facts["precond"] == "none" { 10.0 } else { 12.0 };
    let moved = number("gb_per_s") * 1e9 * number("solve_s") / number("iterations");
    assert!((moved / (bytes + vectors * 8.0 * n) - 1.0).abs() < 1e-9, "{moved}: {facts}");
    facts["iterations"].as_u64().unwrap()
}

#[test]
fn the_matrix_is_in_the_format_asked_for_and_the_answers_agree() {
    let folder = tempfile::tempdir().unwrap();
    for (a, path) in matrices(&folder) {
        for precond in ["none", "jacobi"] {
            let cases = ["cpu", "emulated"].map(|device| ["csr", "packets"].map(|format| (device, format)));
            let counts = cases.into_iter().flatten().filter_map(|(device, format)| {
                let output = on(device, &[&path, "--json", "--format", format, "--precond", precond])?;
                let facts = json(&output);
                assert!(output.status.success() && facts["device"].as_str().unwrap().contains(device), "{facts}");
                Some(iterations_in(&a, format, &facts))
            });
            let counts: Vec<u64> = counts.collect();
            assert!(counts.iter().all(|count| count.abs_diff(counts[0]) <= 2), "{path}, {precond}: {counts:?}");
        }
    }
}

#[test]
fn auto_takes_the_format_that_pays_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let [(_, grid), (_, tiny)] = matrices(&folder);
    let facts = |output: Output| {
        let facts = json(&output);
        assert!(output.status.success(), "{facts}");
        assert_eq!(facts["format_asked"], "auto");
        let why = facts["format_reason"].as_str().unwrap().to_owned();
        assert!(!why.contains('\n') && !why.contains("asked"), "{why}");
        (facts["format"].as_str().unwrap().to_owned(), why)
    };
    for path in [&grid, &tiny] {
        let (format, why) = facts(solve(&[path, "--json", "--format", "auto"]));
        assert!(format == "csr" && why.contains("GPU"), "{format}, {why}");
    }
    for (path, want, reason) in [(&grid, "packets", "packets pay"), (&tiny, "csr", "packets do not pay")] {
        let Some(output) = on("emulated", &[path, "--json"]) else { return };
        let (format, why) = facts(output);
        assert!(format == want && why.starts_with(reason), "{format}, {why}");
    }
}

#[test]
fn the_table_says_the_format_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let [(_, grid), _] = matrices(&folder);
    let line = |output: Output| {
        let table = String::from_utf8(output.stdout).unwrap();
        assert_eq!(table.lines().count(), 14, "{table}");
        table.lines().find(|line| line.starts_with("format")).unwrap_or_else(|| panic!("{table}")).to_owned()
    };
    let said = line(solve(&[&grid, "--format", "packets"]));
    assert!(
        said.starts_with("format          packets, ") && said.ends_with(" bytes per nonzero (asked for)"),
        "{said}"
    );
    let Some(output) = on("emulated", &[&grid]) else { return };
    let said = line(output);
    assert!(
        said.starts_with("format          packets, ") && said.contains(" bytes per nonzero (packets pay"),
        "{said}"
    );
}

#[test]
fn a_format_that_does_not_exist_is_refused_with_those_that_do() {
    let output = solve(&["--format", "ell"]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(["'ell'", "--format", "auto", "csr", "packets"].iter().all(|word| said.contains(word)), "{said}");
}
