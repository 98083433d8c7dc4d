//! The pages PYCUDA.md of gpu-array and gpu-algos, compared with the tests that they name (that of gpu-driver has a test in its crate), and
//! ARCHITECTURE.md's list of kernel files with assembly, compared with the files; the tests that heads of modules name.

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    path::{Path, PathBuf},
};

use regex::Regex;

/// The texts of all Rust files in the tests of the crates, by the files' names.
fn tests(root: &Path) -> HashMap<String, Vec<String>> {
    let mut texts: HashMap<String, Vec<String>> = HashMap::new();
    let mut folders: Vec<PathBuf> =
        ["gpu-array", "gpu-algos", "gpu-random"].iter().map(|name| root.join(name).join("tests")).collect();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                texts.entry(name).or_default().push(fs::read_to_string(&path).unwrap());
            }
        }
    }
    texts
}

/// Whether the tests have the file, test or group of tests (`name*`) that a page names.
fn is_known(named: &str, tests: &HashMap<String, Vec<String>>) -> bool {
    let (file, name) = match named.split_once(": ") {
        Some((file, name)) => (Some(file), name),
        None if named.ends_with(".rs") => (Some(named), ""),
        None => (None, named),
    };
    let has = |text: &String| match name.strip_suffix('*') {
        Some(start) => text.contains(&format!("fn {start}")),
        None => text.contains(name),
    };
    match file {
        Some(file) => tests.get(file).is_some_and(|texts| texts.iter().any(has)),
        None => tests.values().flatten().any(|text| text.contains(&format!("fn {name}("))),
    }
}

#[test]
fn pages_from_pycuda_name_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let tests = tests(root);
    for (page, least) in [("gpu-array", 50), ("gpu-algos", 15)] {
        let text = fs::read_to_string(root.join(page).join("PYCUDA.md")).unwrap();
        let mut count = 0;
        for row in text.lines().filter(|line| line.starts_with("| ") && !line.contains("| ours |")) {
            let ours = row.split(" | ").nth(2).unwrap_or_else(|| panic!("three cells: {row}"));
            // A folder, or a method in parentheses, is no test.
            let ours = ours.split(" (`").next().unwrap();
            for named in ours.split('`').skip(1).step_by(2).filter(|named| !named.ends_with('/')) {
                assert!(is_known(named, &tests), "no test `{named}`: {row}");
                count += 1;
            }
        }
        assert!(count >= least, "{page}: {count} tests");
    }
    assert!(!is_known("math.rs: every_function", &tests) && !is_known("no_such_test", &tests));
}

/// All files below these folders.
fn files(mut folders: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() { &mut folders } else { &mut files }.push(path);
        }
    }
    files
}

const CRATES: [&str; 6] = ["gpu-driver", "gpu-array", "gpu-algos", "gpu-random", "gpu-sparse", "benches"];

#[test]
fn pages_list_each_kernel_file_with_assembly() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let list = text.split("Inline assembly stands in").nth(1).and_then(|rest| rest.split(". Each use").next());
    let listed: BTreeSet<String> =
        list.expect("a list of files").split('`').skip(1).step_by(2).map(str::to_owned).collect();
    // No comments.
    let assembly = Regex::new(r"(?m)^[^/]*\basm( volatile)?\s*\(").unwrap();
    let holds_it = |path: &&PathBuf| {
        path.extension().is_some_and(|extension| extension == "cuh" || extension == "cu")
            && assembly.is_match(&fs::read_to_string(path).unwrap())
    };
    let all = files(CRATES.map(|name| root.join(name).join("src")).into());
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(listed, all.iter().filter(holds_it).map(name).collect());
}

#[test]
fn pages_of_modules_name_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut count = 0;
    for name in CRATES {
        let known = files(
            ["src", "tests"].map(|part| root.join(name).join(part)).into_iter().filter(|part| part.is_dir()).collect(),
        );
        for module in known.iter().filter(|path| path.ends_with("mod.rs")) {
            let text = fs::read_to_string(module).unwrap();
            let head: Vec<&str> = text.lines().take_while(|line| line.starts_with("//!")).collect();
            let Some(first) = head.iter().position(|line| line.starts_with("//! Tests:")) else { continue };
            for named in head[first..].join(" ").split('`').skip(1).step_by(2) {
                let is_there = |path: &PathBuf| {
                    path.ends_with(named) || path.parent().is_some_and(|folder| folder.ends_with(named))
                };
                assert!(
                    known.iter().any(is_there) || !named.contains(['.', '/']),
                    "{}: no test `{named}`",
                    module.display()
                );
                count += 1;
            }
        }
    }
    assert!(count >= 40, "{count} tests");
}
