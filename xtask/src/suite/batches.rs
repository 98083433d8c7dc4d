//! Tests of one program that a process runs, and processes side by side.

use std::{
    collections::VecDeque,
    process::Command,
    sync::{Mutex, PoisonError},
    thread,
};

use crate::{Outcome, programs::Program};

/// Tests of a program that one process runs.
pub(super) struct Batch<'p> {
    pub(super) program: &'p Program,
    pub(super) tests: Vec<String>,
    /// The program's other tests: a suite takes one name to run and any number to skip.
    pub(super) others: Vec<String>,
}

impl<'p> Batch<'p> {
    pub(super) fn of(program: &'p Program, names: &[String], tests: &[String]) -> Self {
        let others = names.iter().filter(|name| !tests.contains(name)).cloned().collect();
        Self { program, tests: tests.to_vec(), others }
    }

    /// The arguments that leave out the other tests; `--exact` belongs to them.
    pub(super) fn skips(&self) -> impl Iterator<Item = &str> {
        self.others.iter().flat_map(|name| ["--skip", name])
    }
}

/// The names of all tests of a program, which `command` starts.
pub(super) fn names(program: &Program, mut command: Command) -> Outcome<Vec<String>> {
    let output = command.arg("--list").output();
    let output = output.map_err(|error| format!("{}: {error}", program.path.display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("{} --list: {}: {said}", program.title(), output.status).into());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

/// The results of `work` for each item, by so many threads. Items begin in their order, and results come as they end; the function that `work` gets
/// tells how many items wait.
pub(super) fn side_by_side<T: Send, R: Send>(
    items: impl IntoIterator<Item = T>,
    threads: usize,
    work: impl Fn(T, &dyn Fn() -> usize) -> R + Sync,
) -> Vec<R> {
    let (waiting, ended) = (Mutex::new(items.into_iter().collect::<VecDeque<_>>()), Mutex::new(Vec::new()));
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let left = || waiting.lock().unwrap_or_else(PoisonError::into_inner).len();
    let thread = || {
        while let Some(item) = next() {
            let result = work(item, &left);
            ended.lock().unwrap_or_else(PoisonError::into_inner).push(result);
        }
    };
    thread::scope(|scope| (0..threads.max(1)).for_each(|_| drop(scope.spawn(thread))));
    ended.into_inner().unwrap_or_else(PoisonError::into_inner)
}
