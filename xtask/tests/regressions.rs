//! `cargo xtask bench` from end to end, on a benchmark whose speed is known.
//!
//! Tests run side by side: where they judge times, these are computed, or may be disturbed.
#![allow(missing_docs)]

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
};

/// The benchmark, as cargo built it beside this test.
fn planted() -> PathBuf {
    let here = env::current_exe().unwrap();
    here.ancestors().nth(2).unwrap().join("examples/planted")
}

/// A folder with its list, in which the benchmark runs with these variables.
fn build(folder: &Path, revision: &str, variables: &str) -> PathBuf {
    let folder = folder.join(revision);
    let script = folder.join("benches/xtask--planted");
    fs::create_dir_all(script.parent().unwrap()).unwrap();
    fs::write(&script, format!("#!/bin/sh\nexec env {variables} {} \"$@\"\n", planted().display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.join("programs.txt"), "bench xtask benches/xtask--planted\n").unwrap();
    fs::write(
        folder.join("build.json"),
        format!(r#"{{"revision":"{revision}","rustc":"rustc 1.89","date":"2026-01-01"}}"#),
    )
    .unwrap();
    folder
}

struct Ended {
    code: i32,
    text: String,
}

impl Ended {
    /// The verdict on a figure.
    fn of(&self, case: &str) -> &str {
        let id = format!("spin/u64/{case}/xtask/cpu");
        self.text.lines().find(|line| line.starts_with(&id)).unwrap_or("")
    }
}

fn bench(arguments: &[&str], target: &Path) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(["bench", "--seconds", "0.06"]).args(arguments).env("CARGO_TARGET_DIR", target);
    let output = command.output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Ended { code: output.status.code().unwrap_or(-1), text }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Keeps every core busy, on and off, until it is dropped.
struct Load {
    stop: &'static AtomicBool,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Load {
    fn new() -> Self {
        let stop: &'static AtomicBool = Box::leak(Box::default());
        let burn = move |which: u64| {
            let mut x = which + 1;
            while !stop.load(Relaxed) {
                for _ in 0..20_000_000 {
                    x = std::hint::black_box(x.wrapping_mul(6364136223846793005).wrapping_add(1));
                }
                thread::sleep(std::time::Duration::from_millis(x % 40));
            }
        };
        let cores = thread::available_parallelism().map_or(1, usize::from) as u64;
        Self { stop, threads: (0..2 * cores).map(|which| thread::spawn(move || burn(which))).collect() }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().unwrap();
        }
    }
}

#[test]
fn a_slowdown_of_20_percent_is_caught() {
    let folder = tempfile::tempdir().unwrap();
    let slow = build(folder.path(), "slow", "PLANTED_QUIET=1 PLANTED_WORK=1.2");
    let base = build(folder.path(), "base", "PLANTED_QUIET=1");
    let ended = bench(&["--programs", text(&slow), "--against", text(&base)], folder.path());
    assert_eq!(ended.code, 1, "{}", ended.text);
    assert!(ended.of("planted").contains("SLOWER") && !ended.of("steady").contains("SLOWER"), "{}", ended.text);
    assert!(ended.text.contains("FAIL: slower or gone: spin/u64/planted/xtask/cpu"), "{}", ended.text);
    let page = fs::read_to_string(folder.path().join("bench/report.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("spin/u64/planted/cpu"));
    assert!(fs::read_to_string(folder.path().join("bench/report.md")).unwrap().contains("SLOWER"));
    let allowed = ["--programs", text(&slow), "--against", text(&base), "--allow", "planted"];
    assert_eq!(bench(&allowed, folder.path()).code, 0);
}

#[test]
fn repeats_of_one_build_are_the_same_on_a_quiet_machine() {
    let folder = tempfile::tempdir().unwrap();
    let [this, base] = ["this", "base"].map(|name| build(folder.path(), name, "PLANTED_QUIET=1"));
    let ended = bench(&["--programs", text(&this), "--against", text(&base)], folder.path());
    assert_eq!(ended.code, 0, "{}", ended.text);
    for case in ["planted", "steady"] {
        assert!(ended.of(case).ends_with("same"), "{}", ended.text);
    }
}

/// On the clock of this machine, whoever else uses it: figures that it disturbs may be left unjudged, and are never called slower.
#[test]
fn repeats_of_one_build_raise_no_alarm_idle_or_under_load() {
    let folder = tempfile::tempdir().unwrap();
    let [this, base] = ["this", "base"].map(|name| build(folder.path(), name, ""));
    let no_alarm = |when: &str| {
        let ended = bench(&["--programs", text(&this), "--against", text(&base)], folder.path());
        assert_eq!(ended.code, 0, "{when}: {}", ended.text);
        assert!(ended.of("planted").contains("cpu"), "{when}: {}", ended.text);
    };
    no_alarm("idle");
    no_alarm("idle");
    let _load = Load::new();
    no_alarm("under load");
    no_alarm("under load");
}

#[test]
fn what_scatters_vanishes_or_fails_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let against = |variables: &str| {
        let (this, base) = (build(folder.path(), "this", variables), build(folder.path(), "base", ""));
        bench(&["--programs", text(&this), "--against", text(&base), "--rounds", "6"], folder.path())
    };
    let scattered = against("PLANTED_SCATTER=1");
    assert!(scattered.of("planted").contains("not judged: rounds scatter"), "{}", scattered.text);
    assert_eq!(scattered.code, 0, "{}", scattered.text);
    let vanished = against("PLANTED_WITHOUT=1");
    assert!(vanished.code == 1 && vanished.of("planted").contains("GONE"), "{}", vanished.text);
    let dead = {
        let (this, base) = (build(folder.path(), "this", ""), build(folder.path(), "base", "PLANTED_WORK=none"));
        bench(&["--programs", text(&this), "--against", text(&base), "--rounds", "1"], folder.path())
    };
    assert!(dead.code == 3 && dead.text.contains("FAILED in the baseline"), "{}", dead.text);
    fs::write(folder.path().join("base/benches/xtask--planted"), "#!/bin/sh\nexit 3\n").unwrap();
    let (this, base) = (folder.path().join("this"), folder.path().join("base"));
    let arguments = ["--programs", text(&this), "--against", text(&base)];
    let nothing = bench(&[&arguments[..], &["--rounds", "1"]].concat(), folder.path());
    assert!(nothing.code == 3 && nothing.text.contains("nothing could be measured of"), "{}", nothing.text);
    let failed = against("PLANTED_FAILURE=1");
    assert!(failed.code == 1 && failed.text.contains("the answer is off by 1"), "{}", failed.text);
}

#[test]
fn baselines_are_saved_found_and_refused() {
    let folder = tempfile::tempdir().unwrap();
    let this = build(folder.path(), "this", "");
    let bench =
        |arguments: &[&str]| bench(&[&["--programs", text(&this), "--rounds", "1"], arguments].concat(), folder.path());
    let ended = bench(&["--against", "no-such-thing"]);
    assert!(ended.code == 3 && ended.text.contains("NO BASELINE"), "{}", ended.text);
    assert_eq!(bench(&["--save", "main"]).code, 0);
    let again = bench(&["steady", "--against", "main"]);
    assert!(again.code == 0 && again.of("steady").contains("too few rounds"), "{}", again.text);
    assert_eq!(again.of("planted"), "", "the filter leaves it out: {}", again.text);

    // Figures of another machine are refused, unless they are asked for.
    let saved = folder.path().join("bench/saved/main/run.json");
    let other = folder.path().join("other.json");
    let figures = fs::read_to_string(&saved).unwrap();
    let at = figures.find("\"device\":").unwrap();
    fs::write(&other, format!("{}\"device\": \"other\",{}", &figures[..at], figures[at..].split_once(',').unwrap().1))
        .unwrap();
    let ended = bench(&["--against", text(&other)]);
    assert!(ended.code == 3 && ended.text.contains("device cpu, baseline other"), "{}", ended.text);
    assert_eq!(bench(&["--against", text(&other), "--force"]).code, 0);
    let loaded = self::bench(&["--load", "main", "--against", text(&saved)], folder.path());
    assert!(loaded.code == 0 && loaded.text.contains("NOT measured in turn"), "{}", loaded.text);
    // A wrong command line, and work that cannot be done, have codes of their own.
    assert_eq!(bench(&["--threshold", "none"]).code, 2);
    assert_eq!(bench(&["nothing-matches-this"]).code, 4);
    assert_eq!(bench(&["--against", text(&folder.path().join("programs.txt"))]).code, 3);
}
