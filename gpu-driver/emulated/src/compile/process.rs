//! Runs the compiler.

use std::{
    fs,
    io::Read,
    os::unix::process::{CommandExt, ExitStatusExt},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use gpu_driver_core::{DriverError, Result};

/// How a run ended.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) succeeded: bool,
    pub(super) log: String,
}

unsafe extern "C" {
    safe fn kill(process: i32, signal: i32) -> i32;
}

/// Runs a command to its end and returns its output. Its output goes to a file in `folder`, so that no pipe can fill.
///
/// # Errors
/// `Compiler` when the compiler cannot be started, does not end within `limit`, or ended for another reason than the text.
pub(super) fn run(mut command: Command, folder: &Path, limit: Duration) -> Result<Run> {
    let shown = format!("{} …", command.get_program().display());
    let failed = |message: String| DriverError::Compiler { command: shown.clone(), message };
    let path = folder.join("log");
    let file = fs::File::create(&path).and_then(|file| Ok((file.try_clone()?, file)));
    let (output, errors) = file.map_err(|error| failed(format!("{}: {error}", path.display())))?;
    // A group of its own: the compiler's passes are processes too, and end with it.
    command.stdin(Stdio::null()).stdout(output).stderr(errors).process_group(0);
    let child = command.spawn().map_err(|error| failed(format!("it could not be started: {error}")))?;
    let ended = wait(child, limit).map_err(|error| failed(error.to_string()))?;
    let log = read(&path).map_err(|error| failed(format!("{}: {error}", path.display())))?;
    let Some(status) = ended else {
        return Err(failed(format!("it ran for more than {} s and was ended", limit.as_secs())));
    };
    if let Some(signal) = status.signal() {
        return Err(failed(format!("it was ended by signal {signal}\n{log}")));
    }
    if !status.success() && is_broken(&log) {
        return Err(failed(log));
    }
    Ok(Run { succeeded: status.success(), log })
}

/// Waits for the end; `None` when the time is up, after ending the whole group.
fn wait(mut child: Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    const SIGKILL: i32 = 9;
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() >= limit {
            kill(-i32::try_from(child.id()).unwrap_or(i32::MAX), SIGKILL);
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether the log speaks of the compiler's own trouble, not of the program.
fn is_broken(log: &str) -> bool {
    const TROUBLE: [&str; 6] = [
        "No space left on device",
        "internal compiler error",
        "signal terminated program",
        "virtual memory exhausted",
        "cannot execute",
        "clang frontend command failed",
    ];
    TROUBLE.iter().any(|trouble| log.contains(trouble))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Result<Run> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command, tempfile::tempdir().unwrap().path(), limit)
    }

    #[test]
    fn both_streams_and_the_status_come_back() {
        let got = shell("echo out; echo error >&2; exit 3", Duration::from_secs(10)).unwrap();
        assert!(!got.succeeded && got.log == "out\nerror\n", "{got:?}");
        assert!(shell("true", Duration::from_secs(10)).unwrap().succeeded);
    }

    #[test]
    fn trouble_of_the_compiler_is_told_from_errors_of_the_text() {
        let message = |script: &str| shell(script, Duration::from_secs(10)).unwrap_err().to_string();
        assert!(message("kill -11 $$").contains("signal 11"));
        assert!(message("echo 'fatal error: No space left on device'; exit 1").contains("No space left"));
        let error = run(Command::new("/nowhere/c++"), tempfile::tempdir().unwrap().path(), Duration::from_secs(1));
        assert!(error.unwrap_err().to_string().contains("could not be started"));
    }

    #[test]
    fn what_runs_too_long_is_ended_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("mark");
        let script = format!("(sleep 1; touch {}) & wait", mark.display());
        let error = shell(&script, Duration::from_millis(100)).unwrap_err().to_string();
        assert!(error.contains("was ended"), "{error}");
        thread::sleep(Duration::from_millis(1500));
        assert!(!mark.exists(), "the inner process went on");
    }
}
