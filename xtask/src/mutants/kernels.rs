//! Mutants of kernels: tokens are changed in the text that a test program holds.
//!
//! The text of a kernel is a constant of the program (`include_str!`), so a mutant is a copy of the program in which some bytes differ: nothing
//! is built. Each change keeps the length, with blanks where it is shorter. The program compiles the changed kernels when its tests
//! ask for them, on the emulated device, whose cache goes by the text.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Mutex, mpsc},
    thread,
    time::{Duration, Instant},
};

use regex::Regex;

use super::{Arguments, Fate, Mutant, Tried, limit, shuffled, tell};
use crate::{
    Outcome, files_below,
    programs::{self, Program},
    suite,
};

/// Folders of kernels, and the package whose test program `gpu` has the nearest tests.
pub(crate) const AREAS: [(&str, &str); 14] = [
    ("gpu-array/src/concatenate/device", "gpu-array"),
    ("gpu-array/src/expression/device", "gpu-array"),
    ("gpu-array/src/put/device", "gpu-array"),
    ("gpu-algos/src/device", "gpu-algos"),
    ("gpu-algos/src/kernels", "gpu-algos"),
    ("gpu-algos/src/linalg/device", "gpu-algos"),
    ("gpu-algos/src/matmul/device", "gpu-algos"),
    ("gpu-algos/src/reduce/device", "gpu-algos"),
    ("gpu-algos/src/scan/device", "gpu-algos"),
    ("gpu-algos/src/select/device", "gpu-algos"),
    ("gpu-driver/src/prelude", "gpu-driver"),
    ("gpu-random/src/device", "gpu-random"),
    ("gpu-sparse/src/linalg/cg/device", "gpu-sparse"),
    ("gpu-sparse/src/product/device", "gpu-sparse"),
];

/// Patterns, and the text that replaces each. Blanks around operators keep templates, pointers and references apart.
const CHANGES: [(&str, &str); 27] = [
    (r" (<=) ", "<"),
    (r" (>=) ", ">"),
    (r" (<) ", ">"),
    (r" (>) ", "<"),
    (r" (==) ", "!="),
    (r" (!=) ", "=="),
    (r" (&&) ", "||"),
    (r" (\|\|) ", "&&"),
    (r" (\+) ", "-"),
    (r" (-) ", "+"),
    (r" (\*) ", "+"),
    (r" (/) ", "*"),
    (r" (%) ", "/"),
    (r" (&) ", "|"),
    (r" (\|) ", "&"),
    (r" (\^) ", "|"),
    (r" (<<) ", ">>"),
    (r" (>>) ", "<<"),
    (r" (\+=) ", "-="),
    (r" (\|=) ", "&="),
    (r"[ (\[](0)[;,)\] ]", "1"),
    (r"[ (\[](1)[;,)\] ]", "2"),
    (r"^ *(__sync(?:threads|warp)\(\);)", ""),
    (r"^ *(__threadfence(?:_block)?\(\);)", ""),
    (r"^ *(gpu::[a-z_]*wait[a-z_]*\([a-z_]*\);)", ""),
    (r" (return;)$", ";"),
    (r"^ *([a-z_.]+(?:\[[^\]]*\])? [-+|]?= [^;{}]*;)$", ""),
];

/// Part of the error of a kernel that does not compile.
const NO_KERNEL: &str = "does not compile";

struct Change {
    mutant: Mutant,
    package: &'static str,
    /// The offset of the bytes in the whole file's text, and their replacement.
    at: usize,
    bytes: Vec<u8>,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<Vec<Tried>> {
    let root = programs::root();
    let rules: Vec<_> =
        CHANGES.iter().map(|&(find, put)| Regex::new(find).map(|find| (find, put))).collect::<Result<_, _>>()?;
    let mut changes = Vec::new();
    for (folder, package) in AREAS {
        for file in files_below(&root, folder, &[".cuh", ".cu"])? {
            if file.contains(&arguments.file) {
                changes.extend(changes_of(&file, &fs::read_to_string(root.join(&file))?, package, &rules));
            }
        }
    }
    println!("{} places in kernels", changes.len());
    let changes = shuffled(changes, arguments.seed);
    if arguments.list {
        changes.iter().take(arguments.kernels).for_each(|change| println!("{}", change.mutant));
        return Ok(Vec::new());
    }
    let programs: Vec<_> = suite::test_programs(true)?.into_iter().filter(|program| program.name == "gpu").collect();
    for program in programs.iter().filter(|program| AREAS.iter().any(|(_, package)| *package == program.package)) {
        if changes.iter().any(|change| change.package == program.package) {
            println!("{} without mutants", program.title());
            passes(program, arguments.jobs, limit(arguments))?;
        }
    }
    try_all(arguments, changes, &programs)
}

/// Checks that a program passes as it is: else every mutant would count as caught.
fn passes(program: &Program, jobs: usize, limit: Duration) -> Outcome {
    match watch(tests_of(program, &program.path, jobs).spawn()?, limit)? {
        Fate::Survived => Ok(()),
        fate => Err(format!("{} fails without any mutant: {fate:?}", program.title()).into()),
    }
}

/// Tries changes, several at a time, until as many as are wanted compile.
fn try_all(arguments: &Arguments, changes: Vec<Change>, programs: &[Program]) -> Outcome<Vec<Tried>> {
    let (waiting, tried) = (Mutex::new(changes.into_iter()), Mutex::new(Vec::new()));
    let viable = |tried: &[Tried]| tried.iter().filter(|tried| tried.fate != Fate::Unviable).count();
    let work = || -> Result<(), String> {
        loop {
            let enough = viable(&tried.lock().map_err(|error| error.to_string())?) >= arguments.kernels;
            let next = waiting.lock().map_err(|error| error.to_string())?.next();
            let Some(change) = next.filter(|_| !enough) else { return Ok(()) };
            let program = programs.iter().find(|program| program.package == change.package);
            let program = program.ok_or_else(|| format!("{} has no program `gpu`", change.package))?;
            let one = try_one(program, change, limit(arguments)).map_err(|error| error.to_string())?;
            tell(&one);
            tried.lock().map_err(|error| error.to_string())?.push(one);
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..arguments.jobs.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(|_| Err("a worker panicked".into())))
    })?;
    let mut tried = tried.into_inner()?;
    // Workers that were under way when there were enough have left a few more.
    let mut seen = 0;
    tried.retain(|tried| {
        seen += usize::from(tried.fate != Fate::Unviable);
        seen <= arguments.kernels
    });
    Ok(tried)
}

/// Every change of a file: one for each rule and place outside comments, preprocessor lines and declarations of templates.
fn changes_of(file: &str, text: &str, package: &'static str, rules: &[(Regex, &str)]) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut start = 0;
    for (number, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default().trim_end();
        let first = code.trim_start();
        if !["#", "template", "static_assert", "using", "*", "/*"].iter().any(|word| first.starts_with(word)) {
            for (find, put) in rules {
                for found in find.captures_iter(code).filter_map(|captures| captures.get(1)) {
                    let put = format!("{put:length$}", length = found.len());
                    let after = format!("{}{put}{}", &line[..found.start()], &line[found.end()..]);
                    let change = format!("`{}` becomes `{}`", line.trim(), after.trim());
                    let mutant = Mutant { file: file.to_owned(), line: number + 1, change };
                    changes.push(Change { mutant, package, at: start + found.start(), bytes: put.into_bytes() });
                }
            }
        }
        start += line.len() + 1;
    }
    changes
}

fn try_one(program: &Program, change: Change, limit: Duration) -> Outcome<Tried> {
    let began = Instant::now();
    let text = fs::read(programs::root().join(&change.mutant.file))?;
    let mut image = fs::read(&program.path)?;
    let places: Vec<_> = places_of(&image, &text);
    if places.is_empty() {
        return Err(format!("{} does not hold the text of {}", program.path.display(), change.mutant.file).into());
    }
    for place in places {
        let at = place + change.at;
        image[at..at + change.bytes.len()].copy_from_slice(&change.bytes);
    }
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("mutant");
    fs::write(&path, image)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    let mut fate = watch(tests_of(program, &path, 1).spawn()?, limit)?;
    if let Fate::Caught(test) = &fate
        && test.starts_with("device::")
    {
        let mut again = command_of(program, &path);
        again.args(["--exact", test]);
        let output = again.output()?;
        if String::from_utf8_lossy(&output.stdout).contains(NO_KERNEL) {
            fate = Fate::Unviable;
        }
    }
    Ok(Tried { mutant: change.mutant, fate, seconds: began.elapsed().as_secs_f64() })
}

/// The device tests of a program, or of a copy of it.
fn tests_of(program: &Program, path: &Path, jobs: usize) -> Command {
    let mut command = command_of(program, path);
    command
        .args(["device::", "--test-threads", &(2 * jobs.max(1)).to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

fn command_of(program: &Program, path: &Path) -> Command {
    let mut command = Command::new(path);
    // A group of its own, so that children of its tests end with it.
    command.current_dir(program.folder()).process_group(0);
    command.envs([("GPU_DEVICE", "emulated"), ("GPU_TESTS", "require"), ("GPU_EMULATED_SEED", "1")]);
    // Kernels that do not differ are compiled once for all mutants.
    command.env("GPU_CACHE_DIR", programs::target().join("mutants"));
    command
}

/// The places of a text in an image.
fn places_of(image: &[u8], text: &[u8]) -> Vec<usize> {
    let Some(&first) = text.first() else { return Vec::new() };
    let windows = image.windows(text.len()).enumerate();
    windows.filter(|(_, window)| window[0] == first && *window == text).map(|(at, _)| at).collect()
}

/// Follows the tests until the first fails, all have passed, or time is up.
fn watch(mut child: Child, limit: Duration) -> Outcome<Fate> {
    let (send, lines) = mpsc::channel();
    let out = child.stdout.take().ok_or("no pipe")?;
    thread::spawn(move || BufReader::new(out).lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
    let until = Instant::now() + limit;
    let fate = loop {
        match lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) if line.ends_with("... FAILED") => {
                break Fate::Caught(line.split_whitespace().nth(1).unwrap_or_default().to_owned());
            }
            Ok(_) => {}
            Err(mpsc::RecvTimeoutError::Timeout) => break Fate::Caught(format!("no end in {} s", limit.as_secs())),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                let status = child.wait()?;
                break if status.success() { Fate::Survived } else { Fate::Caught(status.to_string()) };
            }
        }
    };
    let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", child.id())]).stderr(Stdio::null()).status();
    let _ = child.wait();
    Ok(fate)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn changes_keep_the_length_and_leave_comments_alone() -> Outcome {
        let text = "template <int N = 0 < 1> struct S;\n// a < b\n#if A < 1\n    if (i < n) return; // i < n\n    \
                    __syncthreads();\n";
        let rules: Vec<_> =
            CHANGES.iter().map(|&(find, put)| Regex::new(find).map(|find| (find, put))).collect::<Result<_, _>>()?;
        let changes = changes_of("f.cuh", text, "p", &rules);
        let told: Vec<_> = changes.iter().map(|change| (change.mutant.line, change.mutant.change.as_str())).collect();
        let want = [
            (4, "`if (i < n) return; // i < n` becomes `if (i > n) return; // i < n`"),
            (4, "`if (i < n) return; // i < n` becomes `if (i < n) ;       // i < n`"),
            (5, "`__syncthreads();` becomes ``"),
        ];
        assert_eq!(told, want);
        for change in changes {
            let mut changed = text.as_bytes().to_vec();
            changed[change.at..change.at + change.bytes.len()].copy_from_slice(&change.bytes);
            let lines = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().count();
            assert!(changed != text.as_bytes() && lines(&changed) == lines(text.as_bytes()));
        }
        Ok(())
    }

    #[test]
    fn every_kernel_file_is_in_an_area() -> Outcome {
        let root = programs::root();
        let mut count = 0;
        for package in BTreeSet::from(AREAS.map(|(_, package)| package)) {
            for file in files_below(&root, &format!("{package}/src"), &[".cuh", ".cu"])? {
                let area = AREAS.iter().find(|(folder, _)| file.starts_with(&format!("{folder}/")));
                assert_eq!(area.map(|(_, package)| *package), Some(package), "{file}");
                count += 1;
            }
        }
        assert!(count > 100, "{count} files");
        Ok(())
    }

    #[test]
    fn a_text_is_found_wherever_a_program_holds_it() {
        assert_eq!(places_of(b"..abcabc.", b"abc"), [2, 5]);
        assert!(places_of(b"..", b"abc").is_empty());
    }
}
