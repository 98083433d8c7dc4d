//! The pages PYCUDA.md of gpu-array and gpu-algos, compared with the tests that they name. That of gpu-driver has a test in its crate.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

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
