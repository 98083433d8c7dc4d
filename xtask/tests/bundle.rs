//! The suite, the sanitizer and the evidence in a bundle whose programs are scripts.
#![allow(missing_docs)]

use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{PoisonError, RwLock},
};

use serde_json::{Value, json};

/// Lists or runs tests as a suite of ours does, and notes its arguments; fails where there is a file `fail`.
const GPU: &str = r#"#!/bin/sh
case "$*" in *--list*)
    echo 'device::fill: test'; echo 'device::error_none: test'; echo 'kernels::fill sm_90: test'; echo
    echo '3 tests, 0 benchmarks'; exit 0;;
esac
echo "$PWD $GPU_TESTS $GPU_COMPILE $GPU_DEVICE $*" >>"$NOTES"
if [ -e fail ]; then
    echo 'test device::fill ... FAILED'
    echo 'test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out'; exit 101
fi
case "$*" in
    *--test-threads*) echo 'test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out';;
    *) echo 'test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out';;
esac
"#;
const UNIT: &str = "#!/bin/sh\necho 'test result: ok. 20 passed; 0 failed; 4 ignored; 0 measured; 0 filtered out'\n";
const SANITIZER: &str = r#"#!/bin/sh
echo "sanitizer $*" >>"$NOTES"
while [ "${1#--}" != "$1" ]; do shift 2; done
"$@" || exit
[ -z "$SILENT" ] || exit 0
[ -z "$HAZARDS" ] || { echo "========= ERROR SUMMARY: $HAZARDS errors"; exit 9; }
echo '========= ERROR SUMMARY: 0 errors'
"#;
const NVIDIA_SMI: &str = "#!/bin/sh\necho 'NVIDIA H200, 580.95.05'\n";

/// Taken to write a program, and shared to start one: a process inherits the files that other threads have open until it is
/// another program, and a program that anybody has open for writing cannot be started ("text file busy").
static PROGRAMS: RwLock<()> = RwLock::new(());

struct Bundle(tempfile::TempDir);

struct Ended {
    ok: bool,
    text: String,
}

impl Bundle {
    fn new() -> Self {
        let bundle = Self(tempfile::tempdir().unwrap());
        bundle.program("xtask", |path| fs::copy(env!("CARGO_BIN_EXE_xtask"), path).map(drop));
        bundle
            .write("programs.txt", "test alpha deps/alpha--gpu\nlib alpha deps/alpha--unit\nbin benches bin/kernels\n");
        fs::create_dir_all(bundle.at("alpha")).unwrap();
        bundle.script("deps/alpha--gpu", GPU);
        bundle.script("deps/alpha--unit", UNIT);
        bundle.script("path/nvidia-smi", NVIDIA_SMI);
        bundle.script("path/compute-sanitizer", SANITIZER);
        bundle.build("abc", "1");
        bundle
    }

    /// Another build, whose only kernel has that digest.
    fn build(&self, revision: &str, digest: &str) {
        let build = json!({"revision": revision, "rustc": "rustc 1.89.0", "date": "2026-01-01"});
        self.write("build.json", &build.to_string());
        let kernel = json!({"crate": "alpha", "kernel": "fill<int>", "source": "fill.cu", "digest": digest});
        self.script("bin/kernels", &format!("#!/bin/sh\necho '{kernel}'\n"));
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn script(&self, name: &str, text: &str) {
        self.program(name, |path| fs::write(path, text));
    }

    fn program(&self, name: &str, write: impl FnOnce(&Path) -> io::Result<()>) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _alone = PROGRAMS.write().unwrap_or_else(PoisonError::into_inner);
        write(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn xtask(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Ended {
        let mut command = Command::new(self.at("xtask"));
        for variable in ["GPU_DEVICE", "GPU_TESTS", "GPU_COMPILE", "CUDA_PATH", "CUDA_HOME"] {
            command.env_remove(variable);
        }
        command.env("PATH", format!("{}:/usr/bin:/bin", self.at("path").display())).env("NOTES", self.at("notes"));
        command.args(arguments).envs(variables.iter().copied()).current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = {
            let _shared = PROGRAMS.read().unwrap_or_else(PoisonError::into_inner);
            command.spawn().unwrap()
        };
        let output = started.wait_with_output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        Ended { ok: output.status.success(), text: String::from_utf8_lossy(&text).into_owned() }
    }

    fn notes(&self) -> String {
        fs::read_to_string(self.at("notes")).unwrap_or_default()
    }

    fn evidence(&self) -> Option<Value> {
        read(&self.at("benches/record/nvidia-h200/evidence.json"))
    }
}

fn read(path: &Path) -> Option<Value> {
    Some(serde_json::from_str(&fs::read_to_string(path).ok()?).unwrap())
}

#[test]
fn a_suite_that_passes_on_a_gpu_leaves_evidence() {
    let bundle = Bundle::new();
    let suite = bundle.xtask(&["suite"], &[]);
    assert!(suite.ok && suite.text.contains("all programs passed, 23 tests"), "{}", suite.text);
    let note = format!("{} require require cuda", fs::canonicalize(bundle.at("alpha")).unwrap().display());
    assert_eq!(bundle.notes().trim(), note);
    let evidence = bundle.evidence().unwrap();
    assert_eq!(evidence["device"], "NVIDIA H200");
    assert_eq!(evidence["driver"], "580.95.05");
    assert_eq!(evidence["revision"], "abc");
    assert_eq!(evidence["kernels"], json!({"alpha::fill<int>": "1"}));
    let tests = json!({"alpha::gpu": {"passed": 3, "ignored": 0}, "alpha::unit": {"passed": 20, "ignored": 4}});
    assert_eq!(evidence["tests"], tests);
}

#[test]
fn part_of_a_suite_or_one_without_a_gpu_leaves_none() {
    let bundle = Bundle::new();
    let part = bundle.xtask(&["suite", "fill"], &[]);
    assert!(part.ok && part.text.contains("no evidence"), "{}", part.text);
    assert!(bundle.notes().ends_with("cuda fill\n"), "{}", bundle.notes());
    let listed = bundle.xtask(&["suite", "--list"], &[]);
    assert!(listed.ok && listed.text.contains("device::fill: test"), "{}", listed.text);
    let emulated = bundle.xtask(&["suite"], &[("GPU_DEVICE", "emulated")]);
    assert!(emulated.ok && emulated.text.contains("without a real GPU"), "{}", emulated.text);
    assert!(bundle.notes().ends_with("emulated \n"), "{}", bundle.notes());
    bundle.script("path/nvidia-smi", "#!/bin/sh\necho 'No devices were found'\nexit 6\n");
    let without = bundle.xtask(&["suite"], &[]);
    assert!(without.ok && without.text.contains("without a real GPU"), "{}", without.text);
    assert_eq!(bundle.evidence(), None);
}

#[test]
fn a_suite_that_fails_leaves_what_there_was() {
    let bundle = Bundle::new();
    bundle.write("alpha/fail", "");
    let failed = bundle.xtask(&["suite"], &[]);
    assert!(!failed.ok && failed.text.contains("error: failed: alpha::gpu\n"), "{}", failed.text);
    assert!(failed.text.contains("FAILED: alpha::gpu device::fill"), "{}", failed.text);
    // The programs after it have run.
    assert!(failed.text.contains("20 passed"), "{}", failed.text);
    assert_eq!(bundle.evidence(), None);
    fs::remove_file(bundle.at("alpha/fail")).unwrap();
    assert!(bundle.xtask(&["suite"], &[]).ok);
    let passed = bundle.evidence();
    for (name, script) in [("alpha--unit", "#!/bin/sh\nkill -9 $$\n"), ("alpha--gpu", "#!/bin/sh\nexit 0\n")] {
        bundle.script(&format!("deps/{name}"), script);
        bundle.build("def", "2");
        assert!(!bundle.xtask(&["suite"], &[]).ok, "{name}");
        assert_eq!(bundle.evidence(), passed, "{name}");
    }
}

#[test]
fn tools_that_find_nothing_are_added_to_the_evidence() {
    let bundle = Bundle::new();
    assert!(bundle.xtask(&["suite"], &[]).ok);
    let clean = bundle.xtask(&["sanitize", "--tool", "memcheck,racecheck"], &[]);
    assert!(clean.ok, "{}", clean.text);
    let notes = bundle.notes();
    // Calls that fail are no errors of memory.
    assert!(notes.contains("sanitizer --tool memcheck --error-exitcode 9 --report-api-errors no /"), "{notes}");
    assert!(
        notes.ends_with(
            "require require cuda --exact --test-threads 1 --skip device::error_none --skip kernels::fill sm_90\n"
        ),
        "{notes}"
    );
    let of = |evidence: &Value, key: &str| -> Vec<Value> {
        evidence["sanitizer"].as_array().unwrap().iter().map(|entry| entry[key].clone()).collect()
    };
    let evidence = bundle.evidence().unwrap();
    assert_eq!(of(&evidence, "tool"), ["memcheck", "racecheck"]);
    assert_eq!(of(&evidence, "passed"), [1, 1]);
    let skipped = [
        "device::error_",
        "device::fault_",
        "device::short_calls_are_timed_in_graphs",
        "device::eight_processes_start_with_one_cache",
    ];
    assert_eq!(of(&evidence, "skipped")[0], json!(skipped));
    // A part is recorded as one, beside the whole.
    assert!(bundle.xtask(&["sanitize", "fill"], &[]).ok);
    assert!(
        bundle
            .notes()
            .ends_with("cuda --exact --test-threads 1 --skip device::error_none --skip kernels::fill sm_90\n"),
        "{}",
        bundle.notes()
    );
    assert_eq!(of(&bundle.evidence().unwrap(), "filter"), [Value::Null, Value::Null, "fill".into()]);
    // Another build's begin anew, and the suite's stays as it was.
    bundle.build("def", "2");
    assert!(bundle.xtask(&["sanitize", "--tool", "synccheck"], &[]).ok);
    let evidence = bundle.evidence().unwrap();
    assert_eq!((of(&evidence, "tool"), of(&evidence, "revision")), (vec!["synccheck".into()], vec!["def".into()]));
    assert_eq!((&evidence["revision"], &evidence["kernels"]["alpha::fill<int>"]), (&"abc".into(), &"1".into()));
    assert!(bundle.xtask(&["suite"], &[]).ok);
    let evidence = bundle.evidence().unwrap();
    assert_eq!((of(&evidence, "tool"), &evidence["revision"]), (vec!["synccheck".into()], &"def".into()));
}

#[test]
fn tools_that_find_something_or_cannot_run_are_not() {
    let bundle = Bundle::new();
    let listed = bundle.xtask(&["sanitize", "--list"], &[]);
    assert!(listed.ok && listed.text.trim() == "alpha::gpu device::fill", "{}", listed.text);
    let hazards = bundle.xtask(&["sanitize"], &[("HAZARDS", "2")]);
    assert!(!hazards.ok && hazards.text.contains("memcheck: failed: alpha::gpu"), "{}", hazards.text);
    let silent = bundle.xtask(&["sanitize"], &[("SILENT", "1")]);
    assert!(!silent.ok && silent.text.contains("printed no summary"), "{}", silent.text);
    let unknown = bundle.xtask(&["sanitize", "nothing of that name"], &[]);
    assert!(!unknown.ok && unknown.text.contains("no device test"), "{}", unknown.text);
    fs::remove_file(bundle.at("path/compute-sanitizer")).unwrap();
    if !Path::new("/usr/local/cuda/bin/compute-sanitizer").exists() {
        let missing = bundle.xtask(&["sanitize"], &[]);
        assert!(!missing.ok && missing.text.contains("comes with the CUDA toolkit"), "{}", missing.text);
    }
    assert_eq!(bundle.evidence(), None);
}

#[test]
fn the_evidence_tells_what_has_changed_and_never_fails() {
    let bundle = Bundle::new();
    let nothing = bundle.xtask(&["evidence"], &[]);
    assert!(nothing.ok && nothing.text.contains("no device has evidence"), "{}", nothing.text);
    assert!(bundle.xtask(&["suite"], &[]).ok);
    let same = bundle.xtask(&["evidence"], &[]);
    assert!(same.ok && same.text.contains("NVIDIA H200: 23 tests of abc passed"), "{}", same.text);
    assert!(same.text.contains("1 as they were, 0 changed, 0 new, 0 removed"), "{}", same.text);
    bundle.build("def", "2");
    let changed = bundle.xtask(&["evidence"], &[]);
    assert!(changed.ok && changed.text.contains("changed: alpha::fill (1)"), "{}", changed.text);
    bundle.write("benches/record/nvidia-h200/evidence.json", "{");
    let broken = bundle.xtask(&["evidence"], &[]);
    assert!(broken.ok && broken.text.contains("evidence.json"), "{}", broken.text);
    bundle.script("bin/kernels", "#!/bin/sh\nexit 1\n");
    let unknown = bundle.xtask(&["evidence"], &[]);
    assert!(unknown.ok && unknown.text.contains("not compared"), "{}", unknown.text);
}

#[test]
fn another_folder_can_be_chosen() {
    let bundle = Bundle::new();
    let elsewhere = bundle.at("elsewhere");
    let out = ["--out", elsewhere.to_str().unwrap()];
    assert!(bundle.xtask(&[&["suite"][..], &out].concat(), &[]).ok);
    assert!(bundle.xtask(&[&["sanitize"][..], &out].concat(), &[]).ok);
    let evidence = read(&elsewhere.join("nvidia-h200/evidence.json")).unwrap();
    assert_eq!((&evidence["revision"], &evidence["sanitizer"][0]["tool"]), (&"abc".into(), &"memcheck".into()));
    assert_eq!(bundle.evidence(), None);
}

#[test]
fn what_needs_cargo_says_so() {
    let bundle = Bundle::new();
    let ci = bundle.xtask(&["ci"], &[]);
    assert!(!ci.ok && ci.text.contains("not of a bundle"), "{}", ci.text);
}
