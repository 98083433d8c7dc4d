//! The lines.

use std::{
    error::Error,
    io::{self, Write},
};

use gpu_sparse::{CsrMatrix, Scalar};
use serde_json::{Map, Value, json};

use crate::{Outcome, formats::Format};

/// Prints objects, each with the facts of the matrix and the format that it is about.
#[derive(Default)]
pub(crate) struct Report {
    facts: Map<String, Value>,
    failed: bool,
}

impl Report {
    /// A new matrix begins.
    pub(crate) fn case(&mut self, name: &str) {
        self.facts = Map::from_iter([("matrix".to_owned(), json!(name))]);
    }

    pub(crate) fn matrix<T: Scalar>(&mut self, a: &CsrMatrix<T>) {
        let facts = [("rows", json!(a.rows())), ("nnz", json!(a.nnz())), ("dtype", json!(element_type::<T>()))];
        self.facts.extend(facts.map(|(name, value)| (name.to_owned(), value)));
    }

    pub(crate) fn format(&mut self, format: Option<Format>) {
        match format {
            Some(format) => self.facts.insert("format".to_owned(), json!(format.to_string())),
            None => self.facts.remove("format"),
        };
    }

    /// Prints `value` (an object) and the facts, at once: nothing measured is lost when the program is stopped.
    pub(crate) fn line(&mut self, value: Value) {
        let Value::Object(mut object) = value else { return };
        object.extend(self.facts.clone());
        let mut out = io::stdout().lock();
        if writeln!(out, "{}", Value::Object(object)).and_then(|()| out.flush()).is_err() {
            self.failed = true;
        }
    }

    /// Does one step; its error becomes a line, and the next step can follow.
    pub(crate) fn guard(&mut self, stage: &str, step: impl FnOnce(&mut Self) -> Outcome) {
        if let Err(error) = step(self) {
            self.error(stage, error.as_ref());
        }
    }

    pub(crate) fn error(&mut self, stage: &str, error: &dyn Error) {
        eprintln!("{stage}: {error}");
        self.line(json!({"what": "error", "stage": stage, "error": error.to_string()}));
        self.failed = true;
    }

    /// Whether an error was reported.
    pub(crate) fn failed(&self) -> bool {
        self.failed
    }
}

/// `f32` or `f64`.
pub(crate) fn element_type<T: Scalar>() -> &'static str {
    if size_of::<T>() == 4 { "f32" } else { "f64" }
}
