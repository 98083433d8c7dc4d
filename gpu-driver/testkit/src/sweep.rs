//! Sweeps of operations over failures, and the check that no public function is left out of them.

use std::error::Error;

use crate::{Outcome, ensure};

/// Begins the body of a function.
const BODY: char = '{';

/// An operation and the kinds of driver calls `C` that it makes, each of which is made to fail by a sweep.
#[derive(Debug)]
pub struct Operation<C: 'static> {
    /// The function's name as in [`fallible_functions`]; text behind a comma names the form of the operation.
    pub name: &'static str,
    /// The kinds of calls it makes, with the least number of each.
    pub makes: &'static [(C, u64)],
    /// Fails each of its calls of a kind and returns how many there are.
    pub sweep: fn(C) -> Result<u64, Box<dyn Error>>,
}

impl<C: Copy + PartialEq + std::fmt::Debug> Operation<C> {
    /// Sweeps each kind, and checks that the operation makes the calls that it is listed with, or a failure of another kind
    /// would go unseen.
    pub fn check(&self, kinds: &[C]) -> Outcome {
        for &kind in kinds {
            let least = self.makes.iter().find(|(listed, _)| *listed == kind).map(|&(_, least)| least);
            let calls = (self.sweep)(kind)?;
            let right = least.map_or(calls == 0, |least| calls >= least && least > 0);
            ensure!(right, "{calls} calls of kind {kind:?}, listed are {least:?}");
        }
        Ok(())
    }
}

/// A test for each operation, for [`Suite::cases`](crate::Suite::cases), where the operation itself opens its device.
pub fn sweeps<C: Copy + PartialEq + std::fmt::Debug + Sync + 'static>(
    operations: &'static [Operation<C>],
    kinds: &'static [C],
) -> impl Iterator<Item = (String, impl FnOnce(&()) -> Outcome + Send + 'static)> {
    operations.iter().map(move |operation| (operation.name.to_owned(), move |_: &()| operation.check(kinds)))
}

/// Checks that each of the `found` functions is the name of an operation or listed in `others`, and that these lists name no other.
pub fn none_forgotten<C>(found: &[String], operations: &[Operation<C>], others: &[&str]) -> Outcome {
    let swept = operations.iter().map(|operation| operation.name.split(',').next().unwrap_or_default());
    let listed: Vec<&str> = swept.chain(others.iter().copied()).collect();
    let forgotten: Vec<_> = found.iter().filter(|name| !listed.contains(&name.as_str())).collect();
    let gone: Vec<_> = listed.iter().filter(|name| !found.iter().any(|known| known == *name)).collect();
    ensure!(forgotten.is_empty(), "neither swept nor excused: {forgotten:?}");
    ensure!(gone.is_empty(), "listed, but not in the sources: {gone:?}");
    Ok(())
}

/// The public functions in a Rust source that return a `Result`, as `Type::name` or `name`; those of unit tests too. Made
/// for sources in rustfmt's layout.
pub fn fallible_functions(source: &str) -> Vec<String> {
    let (mut found, mut of_type) = (Vec::new(), String::new());
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("impl") {
            let header = line.rsplit_once(" for ").map_or(line, |(_, of)| of);
            let header = header.trim_start_matches("impl");
            // Behind the generic parameters of the impl itself, which may nest.
            let mut depth = 0;
            let start = header.starts_with('<').then(|| {
                header.find(|c| {
                    depth += i32::from(c == '<') - i32::from(c == '>');
                    depth == 0
                })
            });
            let name = &header[start.flatten().map_or(0, |at| at + 1)..];
            of_type = name.trim().split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default().into();
        }
        let declared = line.trim_start();
        let Some(rest) = ["pub fn ", "pub unsafe fn "].iter().find_map(|start| declared.strip_prefix(start)) else {
            continue;
        };
        let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        let mut signature = rest.to_owned();
        while !signature.contains(BODY) && !signature.ends_with(';') {
            let Some(next) = lines.next() else { break };
            signature += next;
        }
        let signature = signature.split(BODY).next().unwrap_or_default();
        if signature.rsplit_once("-> ").is_some_and(|(_, result)| result.contains("Result<")) {
            found.push(if line.starts_with(' ') { format!("{of_type}::{name}") } else { name.to_owned() });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fallible_functions_are_found() {
        let source = [
            "impl<T: Into<Vec<u8>>> Buffer<T> {",
            "    pub fn len(&self) -> usize {",
            "    pub fn zeros(n: usize) -> Result<Self> {",
            "    pub unsafe fn launch(",
            "        &self,",
            "        a: u32,",
            "    ) -> DriverResult<()> {",
            "    pub fn both<const N: usize>(parts: [u8; N]) -> Result<()> {",
            "    pub fn each(f: impl Fn() -> Result<()>) -> usize {",
            "impl Display for Other<'_> {",
            "    fn fmt(&self) -> Result<()> {",
            "impl Stream {",
            "    pub fn new() -> gpu::Result<Self> {",
            "}",
            "pub fn fill(n: usize) -> Result<()> {",
            "pub(crate) fn hidden() -> Result<()> {",
        ];
        assert_eq!(
            fallible_functions(&source.join("\n")),
            ["Buffer::zeros", "Buffer::launch", "Buffer::both", "Stream::new", "fill"]
        );
    }

    #[test]
    fn forgotten_operations_are_named() {
        let operation = |name| Operation { name, makes: &[(1, 2)], sweep: |_| Ok(2) };
        let (found, operations) = (["a".to_owned(), "b".to_owned()], [operation("a, twice")]);
        assert!(none_forgotten(&found, &operations, &["b"]).is_ok());
        assert!(none_forgotten(&found, &operations, &[]).unwrap_err().to_string().contains("\"b\""));
        assert!(none_forgotten(&found[..1], &operations, &["b"]).unwrap_err().to_string().contains("\"b\""));
        assert!(operations[0].check(&[1]).is_ok() && operations[0].check(&[1, 2]).is_err());
    }
}
