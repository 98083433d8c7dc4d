//! The settings that the environment asks for.

use std::{env, ffi::OsString, path::PathBuf};

use super::Outcome;

/// The backend to measure on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// CUDA's device.
    Cuda,
    /// The CPU's paths.
    Cpu,
    /// The emulated device: a rehearsal, whose times mean nothing.
    Emulated,
}

impl Backend {
    /// The name in `BENCH_BACKEND`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cuda => "cuda",
            Self::Cpu => "cpu",
            Self::Emulated => "emulated",
        }
    }
}

/// How much to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Set {
    /// A few thousand elements: for tests and the emulated device.
    Tiny,
    /// About a minute on two cores.
    Quick,
    /// The cases of a record.
    Full,
}

impl Set {
    /// `tiny`, `quick`, `full`.
    ///
    /// # Errors
    /// For any other name.
    pub fn parse(name: &str) -> Outcome<Self> {
        Ok(match name {
            "tiny" => Self::Tiny,
            "quick" => Self::Quick,
            "full" => Self::Full,
            other => return Err(format!("`{other}` is no set of cases: tiny, quick, full").into()),
        })
    }

    /// The one of three that belongs to this set.
    pub fn pick<T>(self, tiny: T, quick: T, full: T) -> T {
        match self {
            Self::Tiny => tiny,
            Self::Quick => quick,
            Self::Full => full,
        }
    }
}

/// The value of a variable as text.
///
/// # Errors
/// For a value that is not in UTF-8.
pub fn text_of_variable(name: &str, value: OsString) -> Result<String, String> {
    value.into_string().map_err(|value| format!("{name}=`{}`: a text in UTF-8", value.display()))
}

/// The variables `BENCH_…`.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `BENCH_BACKEND`; none: CUDA's device where there is one, else the CPU.
    pub backend: Option<Backend>,
    /// `BENCH_SET`; where it is unset, `quick`, and `tiny` in a test.
    pub set: Set,
    /// `BENCH_PEERS`, unset: no.
    pub peers: bool,
    /// `BENCH_CHECK`, unset: yes. Checks take longer than the calls that are timed; of several rounds one makes them.
    pub check: bool,
    /// `BENCH_ROUND`, unset: 0. In each round arrays lie elsewhere in device memory.
    pub round: u32,
    /// `BENCH_FACTS`: the file that lines of facts are appended to.
    pub facts: Option<PathBuf>,
}

impl Settings {
    /// Reads them; `test` is whether each figure is called only once.
    ///
    /// # Errors
    /// For values that mean nothing.
    pub fn from_environment(test: bool) -> Outcome<Self> {
        Self::from_variables(test, |name| env::var_os(name).filter(|value| !value.is_empty()))
    }

    fn from_variables(test: bool, given: impl Fn(&str) -> Option<OsString>) -> Outcome<Self> {
        let variable = |name: &str| given(name).map(|value| text_of_variable(name, value)).transpose();
        let backend = match variable("BENCH_BACKEND")?.as_deref() {
            None => None,
            Some("cuda") => Some(Backend::Cuda),
            Some("cpu") => Some(Backend::Cpu),
            Some("emulated") => Some(Backend::Emulated),
            Some(other) => return Err(format!("BENCH_BACKEND=`{other}`: cuda, cpu or emulated").into()),
        };
        let set = match variable("BENCH_SET")? {
            Some(name) => Set::parse(&name)?,
            None if test => Set::Tiny,
            None => Set::Quick,
        };
        let switch = |name: &str, unset: bool| match variable(name)?.as_deref() {
            None => Ok(unset),
            Some("0") => Ok(false),
            Some("1") => Ok(true),
            Some(other) => Err(format!("{name}=`{other}`: 0 or 1")),
        };
        let (peers, check) = (switch("BENCH_PEERS", false)?, switch("BENCH_CHECK", true)?);
        let round = match variable("BENCH_ROUND")? {
            None => 0,
            Some(number) => number.parse().map_err(|_| format!("BENCH_ROUND=`{number}`: a number"))?,
        };
        Ok(Self { backend, set, peers, check, round, facts: given("BENCH_FACTS").map(PathBuf::from) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(test: bool, variables: &[(&str, &str)]) -> Outcome<Settings> {
        Settings::from_variables(test, |name| {
            let (_, value) = variables.iter().find(|(given, _)| *given == name)?;
            Some((*value).into())
        })
    }

    #[test]
    fn values_that_are_no_text_are_errors_but_for_paths() -> Outcome {
        use std::os::unix::ffi::OsStringExt;
        let value = OsString::from_vec(b"f\xff".to_vec());
        let read = |given: &str| Settings::from_variables(false, |name| (name == given).then(|| value.clone()));
        for name in ["BENCH_BACKEND", "BENCH_SET", "BENCH_PEERS", "BENCH_CHECK", "BENCH_ROUND"] {
            let error = read(name).unwrap_err().to_string();
            assert_eq!(error, format!("{name}=`f\u{fffd}`: a text in UTF-8"));
        }
        assert_eq!(read("BENCH_FACTS")?.facts, Some(value.clone().into()));
        Ok(())
    }

    #[test]
    fn variables_are_read() -> Outcome {
        let none = read(false, &[])?;
        assert_eq!((none.backend, none.set, none.peers, none.facts), (None, Set::Quick, false, None));
        assert!(none.check && !read(false, &[("BENCH_CHECK", "0")])?.check);
        assert_eq!(read(true, &[])?.set, Set::Tiny);
        let all = read(
            true,
            &[
                ("BENCH_BACKEND", "emulated"),
                ("BENCH_SET", "full"),
                ("BENCH_PEERS", "1"),
                ("BENCH_ROUND", "3"),
                ("BENCH_FACTS", "f"),
            ],
        )?;
        assert_eq!((all.backend, all.set, all.peers, all.round), (Some(Backend::Emulated), Set::Full, true, 3));
        assert_eq!(all.facts, Some(PathBuf::from("f")));
        for wrong in [
            ("BENCH_BACKEND", "gpu"),
            ("BENCH_SET", "huge"),
            ("BENCH_PEERS", "yes"),
            ("BENCH_CHECK", "2"),
            ("BENCH_ROUND", "-1"),
        ] {
            assert!(read(false, &[wrong]).is_err(), "{wrong:?}");
        }
        Ok(())
    }
}
