//! The page PYCUDA.md, compared with the tests of the workspace.

use std::{collections::HashSet, fs, path::Path};

/// Adds the names of all functions in the Rust files of a folder.
fn functions(folder: &Path, names: &mut HashSet<String>) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            functions(&path, names);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let after_fn = text.split("fn ").skip(1).filter_map(|rest| rest.split(['(', '<']).next());
            names.extend(after_fn.map(str::to_owned));
        }
    }
}

#[test]
fn each_test_that_the_page_from_pycuda_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Ok(page) = fs::read_to_string(root.join("PYCUDA.md")) else { return }; // a bundle has no sources
    let mut known = HashSet::new();
    ["src", "tests", "core/src"].iter().for_each(|folder| functions(&root.join(folder), &mut known));
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("|---"));
    let (mut named, mut open) = (0, 0);
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [_, ours, tests] = cells[..] else { panic!("three cells: {row}") };
        let names: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        named += names.len();
        open += usize::from(ours.starts_with("open"));
        for name in &names {
            assert!(known.contains(*name), "no test `{name}`: {row}");
        }
        let is_excused = ours.starts_with("open") || ours.starts_with("no use") || ours == "ours";
        assert!(is_excused || !names.is_empty(), "neither test nor reason: {row}");
    }
    let mistakes = page.split("## Mistakes").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap_or_default();
    let mistakes = mistakes.lines().filter(|line| line.starts_with("| ")).count();
    assert!(named > 60 && open < 20 && mistakes > 20, "{named} tests, {open} open rows, {mistakes} mistakes");
}
