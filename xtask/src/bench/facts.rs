//! The facts that programs tell of themselves: a file of JSON lines beside the files of criterion.

use std::{collections::BTreeMap, fs, path::Path};

use serde::Deserialize;
use serde_json::Value;

use super::{
    record::{Failure, Gap},
    statistics::median,
};
use crate::Outcome;

/// A line.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum Fact {
    Environment {
        backend: String,
        #[serde(default)]
        device: Option<String>,
        #[serde(default)]
        driver_cuda: Option<String>,
        #[serde(default)]
        nvrtc: Option<String>,
    },
    Figure(FigureFact),
    Compile {
        id: String,
        seconds: f64,
    },
    Gap(Gap),
    Failure(Failure),
    Version {
        peer: String,
        version: String,
    },
}

/// The facts of a figure besides its time; programs that measure without criterion give the time, too.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub(super) struct FigureFact {
    pub(super) id: String,
    #[serde(default)]
    pub(super) peer: bool,
    #[serde(default)]
    pub(super) bytes: Option<f64>,
    #[serde(default)]
    pub(super) flops: Option<f64>,
    #[serde(default)]
    pub(super) ceiling: Option<String>,
    #[serde(default)]
    pub(super) error: Option<f64>,
    #[serde(default)]
    pub(super) timed_by: Option<String>,
    #[serde(default)]
    pub(super) seconds: Option<f64>,
}

/// The lines of a file; none where there is no file. A line that cannot be read becomes a failure of `program`.
pub(super) fn read(path: &Path, program: &str) -> Vec<Fact> {
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let line = |line: &str| {
        serde_json::from_str(line).unwrap_or_else(|error| {
            Fact::Failure(Failure { id: program.to_owned(), reason: format!("its fact `{line}`: {error}") })
        })
    };
    text.lines().filter(|text| !text.trim().is_empty()).map(line).collect()
}

/// Seconds of each bench below a `CRITERION_HOME`, by full id: the median of a run's samples, each the mean of its iterations.
pub(super) fn criterion(home: &Path) -> Outcome<BTreeMap<String, f64>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![home.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            }
        }
        let (benchmark, sample) = (folder.join("benchmark.json"), folder.join("sample.json"));
        if folder.ends_with("new") && benchmark.exists() && sample.exists() {
            let id =
                json(&benchmark)?["full_id"].as_str().ok_or("criterion's benchmark.json has no full_id")?.to_owned();
            found.insert(id, sample_seconds(&json(&sample)?)?);
        }
    }
    Ok(found)
}

fn json(path: &Path) -> Outcome<Value> {
    Ok(serde_json::from_str(&fs::read_to_string(path)?).map_err(|error| format!("{}: {error}", path.display()))?)
}

fn sample_seconds(sample: &Value) -> Outcome<f64> {
    let numbers = |name: &str| -> Vec<f64> {
        sample[name].as_array().map(|all| all.iter().filter_map(Value::as_f64).collect()).unwrap_or_default()
    };
    let (iterations, nanoseconds) = (numbers("iters"), numbers("times"));
    if iterations.is_empty() || iterations.len() != nanoseconds.len() {
        return Err("criterion's sample.json holds no samples".into());
    }
    let samples: Vec<f64> = nanoseconds.iter().zip(&iterations).map(|(time, n)| time / n * 1e-9).collect();
    Ok(median(&samples))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_broken_ones_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("facts");
        assert!(read(&path, "sparse").is_empty());
        let text = concat!(
            r#"{"kind":"environment","backend":"cuda","device":"NVIDIA H200","nvrtc":"13.0","multiprocessors":132}"#,
            "\n\n",
            r#"{"kind":"figure","id":"a/b","peer":true,"bytes":8,"flops":null,"ceiling":"copy","error":1e-9,"seconds":0.5}"#,
            "\n",
            r#"{"kind":"gap","peer":"cupy","reason":"No module"}"#,
            "\n{\"kind\":",
        );
        fs::write(&path, text).unwrap();
        let facts = read(&path, "sparse");
        assert!(matches!(&facts[0], Fact::Environment { device: Some(device), .. } if device == "NVIDIA H200"));
        assert!(matches!(&facts[1], Fact::Figure(figure) if figure.peer && figure.seconds == Some(0.5)));
        assert!(matches!(&facts[2], Fact::Gap(gap) if gap.id.is_none()));
        assert!(matches!(&facts[3], Fact::Failure(failure) if failure.id == "sparse"));
    }

    #[test]
    fn samples_are_means_of_their_iterations() {
        let folder = tempfile::tempdir().unwrap();
        let bench = folder.path().join("group/name/new");
        fs::create_dir_all(&bench).unwrap();
        fs::write(bench.join("benchmark.json"), r#"{"full_id":"group/name"}"#).unwrap();
        fs::write(bench.join("sample.json"), r#"{"iters":[1.0,2.0,4.0],"times":[1e9,4e9,12e9]}"#).unwrap();
        assert_eq!(criterion(folder.path()).unwrap(), BTreeMap::from([("group/name".to_owned(), 2.0)]));
        fs::write(bench.join("sample.json"), r#"{"iters":[],"times":[]}"#).unwrap();
        assert!(criterion(folder.path()).is_err());
    }
}
