//! The pages PYCUDA.md of gpu-array and gpu-algos, compared with the tests that they name (that of gpu-driver has a test in its crate), and
//! ARCHITECTURE.md's list of kernel files with assembly, compared with the files; the tests that heads of modules name.

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    path::Path,
};

use regex::Regex;

use crate::files_below;

/// The texts of all Rust files in the tests of the crates, by the files' names.
fn tests(root: &Path) -> HashMap<String, Vec<String>> {
    let mut texts: HashMap<String, Vec<String>> = HashMap::new();
    for name in ["gpu-array", "gpu-algos", "gpu-random"] {
        for file in files_below(root, &format!("{name}/tests"), &[".rs"]).unwrap() {
            let name = file.rsplit('/').next().unwrap().to_owned();
            texts.entry(name).or_default().push(fs::read_to_string(root.join(file)).unwrap());
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
    let kernels = CRATES.map(|name| files_below(root, &format!("{name}/src"), &[".cuh", ".cu"]).unwrap()).concat();
    let holds_it = |file: &&String| assembly.is_match(&fs::read_to_string(root.join(file)).unwrap());
    let name = |file: &String| file.rsplit('/').next().unwrap().to_owned();
    assert_eq!(listed, kernels.iter().filter(holds_it).map(name).collect());
}

#[test]
fn pages_of_modules_name_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut count = 0;
    for name in CRATES {
        let known = ["src", "tests"].map(|part| files_below(root, &format!("{name}/{part}"), &[""]).unwrap()).concat();
        for module in known.iter().filter(|file| file.ends_with("/mod.rs")) {
            let text = fs::read_to_string(root.join(module)).unwrap();
            let head: Vec<&str> = text.lines().take_while(|line| line.starts_with("//!")).collect();
            let Some(first) = head.iter().position(|line| line.starts_with("//! Tests:")) else { continue };
            for named in head[first..].join(" ").split('`').skip(1).step_by(2) {
                let is_there = |file: &String| {
                    let path = Path::new(file);
                    path.ends_with(named) || path.parent().is_some_and(|folder| folder.ends_with(named))
                };
                assert!(known.iter().any(is_there) || !named.contains(['.', '/']), "{module}: no test `{named}`");
                count += 1;
            }
        }
    }
    assert!(count >= 40, "{count} tests");
}
