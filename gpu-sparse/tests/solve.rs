//! The program `solve`, run as its user runs it. It needs the example to be built, which `cargo test` does by default.
#![allow(missing_docs)]

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode, Output},
};

use approx::{abs_diff_eq, relative_eq};
use gpu_driver::emulated::Emulated;
use gpu_sparse::{CsrMatrix, gallery::Poisson, io};
use testkit::{Suite, functions};

fn main() -> ExitCode {
    let on_cpu = functions![
        the_built_in_system_converges_below_its_tolerance,
        a_file_is_solved_and_its_answer_written_and_drawn,
        wrong_input_ends_with_a_plain_message,
        auto_says_what_it_took_and_why,
        a_format_that_does_not_exist_is_refused_with_those_that_do,
        the_true_residual_is_told_for_right_hand_sides_of_any_size,
        a_solve_without_residuals_is_reported_and_drawn,
        a_report_that_cannot_be_printed_is_no_panic_and_loses_nothing,
        a_stream_is_written_to_and_a_file_replaced,
        a_descriptor_is_written_to_by_whatever_name,
        new_files_honour_the_umask,
        threads_that_cannot_be_had_end_in_a_message,
        memory_that_is_refused_while_reading_is_an_error_with_sizes,
        elements_that_are_not_finite_are_named,
    ];
    let emulated = functions![
        the_emulated_device_is_used_when_asked_for_and_never_otherwise,
        the_matrix_is_in_the_format_asked_for_and_the_answers_agree,
        auto_takes_the_format_that_pays_and_says_why,
        the_table_says_the_format_in_one_line,
    ];
    Suite::new()
        .functions("cpu", Ok::<(), &str>(()), "", on_cpu)
        .functions("emulated", Emulated::new().open().map(drop), "GPU_TESTS", emulated)
        .run()
}

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

/// Runs it on the device.
fn on(device: &str, arguments: &[&str]) -> Output {
    run(&[&["--device", device], arguments].concat())
}

fn fails(arguments: &[&str], message: &str) {
    let output = solve(arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", stderr(&output));
    let said = stderr(&output) + &String::from_utf8_lossy(&output.stdout);
    assert!(said.contains(message), "{arguments:?}: {said}");
}

fn the_built_in_system_converges_below_its_tolerance() {
    for precond in ["none", "jacobi"] {
        let output = solve(&["--json", "--precond", precond]);
        let facts = json(&output);
        assert!(output.status.success(), "{facts}");
        assert_eq!(facts["status"], "Converged");
        assert_eq!(facts["rows"], 103_823);
        assert_eq!(facts["format"], "csr");
        assert!(facts["true_residual"].as_f64().unwrap() <= facts["rtol"].as_f64().unwrap(), "{facts}");
        let keys = ["nnz", "bytes_per_nnz", "iterations", "build_s", "compile_s", "solve_s", "ms_per_iteration"];
        assert!(keys.iter().all(|key| facts[key].as_f64().unwrap() >= 0.0), "{facts}");
    }
}

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
    assert!(
        abs_diff_eq!(got[0], 1.0 / 11.0, epsilon = 1e-8) && abs_diff_eq!(got[1], 7.0 / 11.0, epsilon = 1e-8),
        "{got:?}"
    );
    assert!(std::fs::read_to_string(plot).unwrap().contains("<svg"));
    let table = String::from_utf8(output.stdout).unwrap();
    for line in ["device", "rows", "nonzeros", "iterations", "outcome", "true residual", "per iteration"] {
        assert!(table.contains(line), "{table}");
    }
}

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
    let output = on("emulated", &[&a, "--json"]);
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
    assert!(relative_eq!(number("bytes_per_nnz"), bytes / nnz, epsilon = 0.0, max_relative = 1e-12), "{facts}");
    let vectors = if facts["precond"] == "none" { 10.0 } else { 12.0 };
    let moved = number("gb_per_s") * 1e9 * number("solve_s") / number("iterations");
    assert!(relative_eq!(moved, bytes + vectors * 8.0 * n, epsilon = 0.0, max_relative = 1e-9), "{moved}: {facts}");
    facts["iterations"].as_u64().unwrap()
}

fn the_matrix_is_in_the_format_asked_for_and_the_answers_agree() {
    let folder = tempfile::tempdir().unwrap();
    for (a, path) in matrices(&folder) {
        for precond in ["none", "jacobi"] {
            let cases = ["cpu", "emulated"].map(|device| ["csr", "packets"].map(|format| (device, format)));
            let counts = cases.into_iter().flatten().map(|(device, format)| {
                let output = on(device, &[&path, "--json", "--format", format, "--precond", precond]);
                let facts = json(&output);
                assert!(output.status.success() && facts["device"].as_str().unwrap().contains(device), "{facts}");
                iterations_in(&a, format, &facts)
            });
            let counts: Vec<u64> = counts.collect();
            assert!(counts.iter().all(|count| count.abs_diff(counts[0]) <= 2), "{path}, {precond}: {counts:?}");
        }
    }
}

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
        let output = on("emulated", &[path, "--json"]);
        let (format, why) = facts(output);
        assert!(format == want && why.starts_with(reason), "{format}, {why}");
    }
}

fn the_table_says_the_format_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let [(_, grid), _] = matrices(&folder);
    let line = |output: Output, lines: usize| {
        let table = String::from_utf8(output.stdout).unwrap();
        assert_eq!(table.lines().count(), lines, "{table}");
        table.lines().find(|line| line.starts_with("format")).unwrap_or_else(|| panic!("{table}")).to_owned()
    };
    let said = line(solve(&[&grid, "--format", "packets"]), 14);
    assert!(
        said.starts_with("format          packets, ") && said.ends_with(" bytes per nonzero (asked for)"),
        "{said}"
    );
    let output = on("emulated", &[&grid]);
    // With the time that kernels took to compile.
    let said = line(output, 15);
    assert!(
        said.starts_with("format          packets, ") && said.contains(" bytes per nonzero (packets pay"),
        "{said}"
    );
}

fn a_format_that_does_not_exist_is_refused_with_those_that_do() {
    let output = solve(&["--format", "ell"]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(["'ell'", "--format", "auto", "csr", "packets"].iter().all(|word| said.contains(word)), "{said}");
}

/// `1/4 0; 0 3` and a right-hand side of these two numbers.
fn small(folder: &tempfile::TempDir, b: [&str; 2]) -> [String; 2] {
    let a = file(folder, "a.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 0.25\n2 2 3\n");
    let b = file(folder, "b.mtx", &format!("%%MatrixMarket matrix array real general\n2 1\n{}\n{}\n", b[0], b[1]));
    [a, b]
}

/// Squares of such numbers are 0 or infinite; what is told of the residual is right.
fn the_true_residual_is_told_for_right_hand_sides_of_any_size() {
    let folder = tempfile::tempdir().unwrap();
    for (scale, rtol) in [("e-198", "1e-3"), ("e170", "1e-3"), ("e0", "1e-3"), ("e-300", "1e-3")] {
        let [a, b] = small(&folder, [&format!("1{scale}"), &format!("2{scale}")]);
        let output = solve(&[&a, "--rhs", &b, "--rtol", rtol, "--maxiter", "1", "--json"]);
        let facts = json(&output);
        // One step of steepest descent: the residual that is left is of the size of b, and the same for each scale.
        let residual = facts["true_residual"].as_f64().unwrap_or(f64::NAN);
        assert!((0.3..0.5).contains(&residual), "{scale}: {facts}");
        assert_eq!(output.status.code(), Some(1), "{scale}: {facts}");
        let table = String::from_utf8(solve(&[&a, "--rhs", &b]).stdout).unwrap();
        assert!(table.contains("converged") && !table.contains("NaN"), "{scale}: {table}");
    }
}

fn a_solve_without_residuals_is_reported_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = small(&folder, ["0", "0"]);
    let plot = folder.path().join("r.svg").display().to_string();
    let output = solve(&[&a, "--rhs", &b, "--plot", &plot]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(String::from_utf8(output.stdout).unwrap().contains("converged"));
    assert!(std::fs::read_to_string(plot).unwrap().contains("no residual above 0"));
}

/// The program's report has nowhere to go; what it was asked to write is there.
fn a_report_that_cannot_be_printed_is_no_panic_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = small(&folder, ["1", "2"]);
    for (number, redirection) in ["> /dev/full", ">&-", "2>&- > /dev/full", "| true"].into_iter().enumerate() {
        for json in ["", "--json"] {
            let x = folder.path().join(format!("x{number}{json}.mtx")).display().to_string();
            let command = format!("{} --device cpu {a} --rhs {b} --out {x} {json} {redirection}", program().display());
            let output = Command::new("bash").args(["-c", &format!("set -o pipefail; {command}")]).output().unwrap();
            assert!(!stderr(&output).contains("panicked"), "{redirection}: {}", stderr(&output));
            // A pipe whose reader has gone may still have taken the report; a closed output is opened as /dev/null.
            let may_succeed = redirection == "| true" || redirection == ">&-";
            let code = output.status.code();
            assert!(code == Some(1) || (may_succeed && code == Some(0)), "{redirection}: {code:?} {}", stderr(&output));
            if redirection == "> /dev/full" {
                assert!(stderr(&output).contains("standard output: No space left"), "{}", stderr(&output));
            }
            let got = io::read_vector::<f64>(&x).unwrap();
            assert!(
                abs_diff_eq!(got[0], 4.0, epsilon = 1e-6) && abs_diff_eq!(got[1], 2.0 / 3.0, epsilon = 1e-6),
                "{redirection}: {got:?}"
            );
        }
    }
    // A pipe that nobody reads, from before the program's start on.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = Command::new(program())
        .args(["--device", "cpu", &a, "--rhs", &b])
        .stdout(writer)
        .stderr(std::process::Stdio::piped())
        .output()
        .unwrap();
    let said = stderr(&output);
    assert!(output.status.code() == Some(1) && said.contains("standard output: Broken pipe"), "{said}");
}

fn a_stream_is_written_to_and_a_file_replaced() {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = small(&folder, ["1", "2"]);
    // A pipe with a name.
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for option in ["--out", "--plot"] {
        let reader = Command::new("timeout")
            .args(["20", "cat"])
            .arg(&pipe)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let output = solve(&[&a, "--rhs", &b, option, pipe.to_str().unwrap()]);
        assert!(output.status.success(), "{}", stderr(&output));
        let read = String::from_utf8(reader.wait_with_output().unwrap().stdout).unwrap();
        let want = if option == "--out" { "%%MatrixMarket matrix array real general\n2 1\n" } else { "<svg" };
        assert!(read.starts_with(want), "{read}");
    }
    assert!(std::fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    // The program's own output, in a file.
    let all = folder.path().join("all");
    let output = Command::new(program())
        .args(["--device", "cpu", &a, "--rhs", &b, "--out", "/dev/stdout"])
        .stdout(std::fs::File::create(&all).unwrap())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let text = std::fs::read_to_string(&all).unwrap();
    assert!(text.starts_with("%%MatrixMarket") && text.contains("true residual"), "{text}");
    // A picture that is there is replaced as a whole, with its permissions; one that cannot be is left.
    let plot = folder.path().join("r.svg");
    std::fs::write(&plot, "old").unwrap();
    std::fs::set_permissions(&plot, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
    let before = std::fs::metadata(&plot).unwrap().ino();
    assert!(solve(&[&a, "--rhs", &b, "--plot", plot.to_str().unwrap()]).status.success());
    let after = std::fs::metadata(&plot).unwrap();
    assert!(std::fs::read_to_string(&plot).unwrap().contains("</svg>"));
    assert!(after.ino() != before && after.mode() & 0o777 == 0o640);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 5, "nothing else stays behind");
    let output = solve(&[&a, "--rhs", &b, "--plot", "/nonexistent/r.svg"]);
    assert!(output.status.code() == Some(1) && stderr(&output).contains("/nonexistent/r.svg"), "{}", stderr(&output));
    assert!(String::from_utf8(output.stdout).unwrap().contains("converged"), "the report comes first");
}

/// A file that was opened for the program is added to: a file in its place would be lost on whoever opened it.
fn a_descriptor_is_written_to_by_whatever_name() {
    use std::os::unix::fs::{MetadataExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = small(&folder, ["1", "2"]);
    let [link, fds, log] = ["link", "fds", "log"].map(|name| folder.path().join(name));
    symlink("/dev/stderr", folder.path().join("stderr")).unwrap();
    symlink("stderr", &link).unwrap();
    symlink("/dev/fd", &fds).unwrap();
    let (link, fds) = (link.display().to_string(), fds.display().to_string());
    let below = format!("{fds}/3");
    let shell = ["/proc/$$/fd/3", "/proc/$$/task/$$/fd/3"];
    let own = ["/dev/stderr", "/dev/fd/3", "/proc/self/fd/2", "/proc/thread-self/fd/3", &link, &below];
    for path in shell.iter().chain(&own) {
        for (option, start) in [("--out", "%%MatrixMarket matrix array real general\n2 1\n"), ("--plot", "<svg")] {
            std::fs::write(&log, "before\n").unwrap();
            let before = std::fs::metadata(&log).unwrap().ino();
            let opened = format!("exec 3>>{log} 2>&3", log = log.display());
            // More follows the program, so that the shell stays and `$$` is another process than the program's own.
            let program = program().display().to_string();
            let script = format!("{opened}; {program} --device cpu {a} --rhs {b} {option} {path}; exit $?");
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            let text = std::fs::read_to_string(&log).unwrap();
            assert!(output.status.success(), "{option} {path}: {text}");
            assert_eq!(std::fs::metadata(&log).unwrap().ino(), before, "{option} {path}: the file was replaced");
            assert!(text.starts_with(&format!("before\n{start}")), "{option} {path}: {text}");
        }
    }
    // The output by another name is still the one that the report goes to, behind the vector.
    let output = solve(&[&a, "--rhs", &b, "--out", &format!("{fds}/1")]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("%%MatrixMarket") && text.contains("true residual"), "{text}");
    // Links without an end are opened, which fails, and stay links.
    let circle = folder.path().join("circle");
    symlink("circle", &circle).unwrap();
    for option in ["--out", "--plot"] {
        let output = solve(&[&a, "--rhs", &b, option, circle.to_str().unwrap()]);
        assert!(output.status.code() == Some(1) && stderr(&output).contains("circle"), "{}", stderr(&output));
        assert!(circle.symlink_metadata().unwrap().is_symlink());
    }
}

fn new_files_honour_the_umask() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = small(&folder, ["1", "2"]);
    for (mask, want) in [("077", 0o600), ("027", 0o640), ("000", 0o666)] {
        let names = [format!("{mask}.mtx"), format!("{mask}.svg")];
        let [x, plot] = names.map(|name| folder.path().join(name));
        let command = format!("umask {mask}; {} --device cpu {a} --rhs {b}", program().display());
        let script = format!("{command} --out {} --plot {}", x.display(), plot.display());
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        for path in [x, plot] {
            let mode = std::fs::metadata(&path).unwrap().mode() & 0o777;
            assert_eq!(mode, want, "{}: {mode:o}", path.display());
        }
    }
}

fn threads_that_cannot_be_had_end_in_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let [a, _] = small(&folder, ["1", "2"]);
    let run = |command: &str| {
        let script = format!("{command} {} --device cpu {a}", program().display());
        let output = Command::new("timeout").args(["60", "sh", "-c", &script]).output().unwrap();
        assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
        output
    };
    let output = run("RAYON_NUM_THREADS=20000");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("RAYON_NUM_THREADS=20000 asks for more than 1024"), "{}", stderr(&output));
    assert!(run("RAYON_NUM_THREADS=64").status.success());
    // Rayon's old name of the variable counts where the new one holds no number.
    for new in ["unset RAYON_NUM_THREADS;", "RAYON_NUM_THREADS=many"] {
        let output = run(&format!("{new} RAYON_RS_NUM_CPUS=20000"));
        assert_eq!(output.status.code(), Some(1), "{new}: {}", stderr(&output));
        assert!(stderr(&output).contains("RAYON_RS_NUM_CPUS=20000 asks for more than 1024"), "{}", stderr(&output));
    }
    for new in ["RAYON_NUM_THREADS=2", "RAYON_NUM_THREADS=0"] {
        let output = run(&format!("{new} RAYON_RS_NUM_CPUS=20000"));
        assert!(output.status.success(), "{new}: {}", stderr(&output));
    }
    // Each thread's stack is address space.
    let output = run("ulimit -v 600000; RAYON_NUM_THREADS=1000");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("no threads to work on") && stderr(&output).contains("for the stacks of 1000"),
        "{}",
        stderr(&output)
    );
}

/// Memory follows the entries of a file, so a long file can need more than there is.
fn memory_that_is_refused_while_reading_is_an_error_with_sizes() {
    let folder = tempfile::tempdir().unwrap();
    let entries = 3_000_000;
    let text = format!("%%MatrixMarket matrix coordinate pattern general\n1 1 {entries}\n{}", "1 1\n".repeat(entries));
    let a = file(&folder, "long.mtx", &text);
    let array = format!("%%MatrixMarket matrix array pattern general\n{entries} 1\n{}", "1\n".repeat(entries));
    let many = file(&folder, "many.mtx", &array.replace("pattern", "integer"));
    let [small, _] = small(&folder, ["1", "2"]);
    // While entries come in, when they are put into rows, and when a row is sorted.
    let of_vector = format!("{small} --rhs {many}");
    for (arguments, kilobytes) in [(&a, 35_000), (&a, 75_000), (&a, 130_000), (&of_vector, 45_000)] {
        let script = format!(
            "ulimit -v {kilobytes}; MALLOC_ARENA_MAX=1 RAYON_NUM_THREADS=1 exec {} --device cpu {arguments}",
            program().display()
        );
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{kilobytes}: {said}");
        assert!(said.contains("out of memory") && said.contains(" bytes for "), "{kilobytes}: {said}");
    }
}

fn elements_that_are_not_finite_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for (value, shown) in [("nan", "NaN"), ("inf", "inf"), ("-inf", "-inf")] {
        let a = file(
            &folder,
            "a.mtx",
            &format!("%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 1\n2 1 1\n2 2 3\n3 3 {value}\n"),
        );
        fails(&[&a], &format!("the matrix's element (3, 3) is {shown}; all must be finite"));
    }
}
