//! The facts of figures beside their times: a file of JSON objects, one a line.

use std::{
    collections::HashSet,
    fs::{File, OpenOptions},
    io::Write,
    path::Path,
};

use serde_json::{Value, json};

use super::Outcome;

/// The file; without one lines are dropped.
#[derive(Debug, Default)]
pub struct Facts {
    file: Option<File>,
    /// The lines of [`Facts::line_once`] that were written.
    told: HashSet<String>,
    failed: bool,
}

impl Facts {
    /// Appends to the file at `path`.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn to(path: Option<&Path>) -> Outcome<Self> {
        let open = |path: &Path| {
            let file = OpenOptions::new().create(true).append(true).open(path);
            file.map_err(|error| format!("{}: {error}", path.display()))
        };
        Ok(Self { file: path.map(open).transpose()?, ..Self::default() })
    }

    /// Writes a line at once, whole: nothing that is known is lost when the program ends early.
    pub fn line(&mut self, value: Value) {
        let Some(file) = &mut self.file else { return };
        if let Err(error) = file.write_all(format!("{value}\n").as_bytes()) {
            eprintln!("facts: {error}");
            self.failed = true;
        }
    }

    /// Writes a line unless this function wrote the same one before.
    pub fn line_once(&mut self, value: Value) {
        if self.told.insert(value.to_string()) {
            self.line(value);
        }
    }

    /// Reports a failure, in the file and to the person at the terminal.
    pub fn failure(&mut self, id: &str, reason: &str) {
        eprintln!("FAILED {id}: {reason}");
        self.failed = true;
        self.line(json!({"kind": "failure", "id": id, "reason": reason}));
    }

    /// A peer that is not there, or one figure of it; said once.
    pub fn gap(&mut self, peer: &str, id: Option<&str>, reason: &str) {
        let mut line = json!({"kind": "gap", "peer": peer, "reason": reason});
        if let (Some(id), Value::Object(fields)) = (id, &mut line) {
            fields.insert("id".to_owned(), json!(id));
        }
        if !self.told.contains(&line.to_string()) {
            eprintln!("gap: {}: {reason}", id.unwrap_or(peer));
        }
        self.line_once(line);
    }

    /// Whether anything failed so far.
    pub fn failed(&self) -> bool {
        self.failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_appended_and_gaps_are_no_failures() -> Outcome {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("facts.jsonl");
        let mut facts = Facts::to(Some(&path))?;
        facts.gap("cupy", None, "none here");
        facts.gap("cupy", None, "none here");
        assert!(!facts.failed());
        let mut facts = Facts::to(Some(&path))?;
        facts.failure("a/b/c/d/cpu", "wrong");
        assert!(facts.failed());
        let text = std::fs::read_to_string(&path)?;
        let lines: Vec<Value> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0], json!({"kind": "gap", "peer": "cupy", "reason": "none here"}));
        assert_eq!(lines[1], json!({"kind": "failure", "id": "a/b/c/d/cpu", "reason": "wrong"}));
        assert!(Facts::to(Some(&folder.path().join("none/facts"))).is_err());
        Ok(())
    }
}
