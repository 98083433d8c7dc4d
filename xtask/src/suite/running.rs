//! Runs a program of tests, shows its output as it prints it, and counts.

use std::{
    io::{self, Read, Write},
    process::{Command, Stdio},
};

use super::counts::Counts;

/// The outcome of a program.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) title: String,
    pub(super) counts: Counts,
    /// Why it failed, if it did.
    pub(super) failure: Option<String>,
}

/// Runs the command; that it cannot be started is a failure like any other.
pub(super) fn run(title: String, command: &mut Command) -> Ran {
    run_and_read(title, command).0
}

/// [`run`] with all that the program printed to its standard output.
pub(super) fn run_and_read(title: String, command: &mut Command) -> (Ran, String) {
    let (text, failure) = match shown(command) {
        Ok((text, status)) if status.success() => (text, None),
        Ok((text, status)) => (text, Some(status.to_string())),
        Err(error) => (String::new(), Some(format!("{}: {error}", command.get_program().display()))),
    };
    let counts = Counts::of(&text);
    let silent = (counts.results == 0).then(|| "no test result was printed".to_owned());
    (Ran { title, failure: failure.or(silent), counts }, text)
}

fn shown(command: &mut Command) -> io::Result<(String, std::process::ExitStatus)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let (mut text, mut part) = (Vec::new(), [0; 4096]);
    if let Some(mut output) = child.stdout.take() {
        loop {
            match output.read(&mut part)? {
                0 => break,
                n => {
                    text.extend(&part[..n]);
                    // Who does not want to see it may close our output.
                    let _ = io::stdout().write_all(&part[..n]).and_then(|()| io::stdout().flush());
                }
            }
        }
    }
    let status = child.wait()?;
    Ok((String::from_utf8_lossy(&text).into_owned(), status))
}
