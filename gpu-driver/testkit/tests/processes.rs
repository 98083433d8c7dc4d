//! A suite in processes, which this program runs as another program: tests pass, fail, panic and end their process.

use std::{
    collections::HashSet,
    env,
    error::Error,
    process::{Command, ExitCode},
};

use testkit::{Outcome, Suite, ensure, ensure_eq, tests};

/// The variable that asks for the suite that is run.
const INNER: &str = "TESTKIT_TESTS_INNER";

fn main() -> ExitCode {
    let (inner, outer) = (tests![passes, passes_too, fails, panics, ends_its_process], tests![each_test_has_its_end]);
    if env::var_os(INNER).is_some() {
        return Suite::new().group("inner", Ok::<_, String>(()), "", inner).in_processes(true).run();
    }
    Suite::new().group("processes", Ok::<_, String>(()), "", outer).run()
}

fn tell_process(name: &str) {
    println!("{name} in {}", std::process::id());
}

fn passes(_: &()) -> Outcome {
    tell_process("passes");
    Ok(())
}

fn passes_too(_: &()) -> Outcome {
    tell_process("passes_too");
    Ok(())
}

fn fails(_: &()) -> Outcome {
    Err("a reason\nof two lines".into())
}

fn panics(_: &()) -> Outcome {
    panic!("a panic of {}", 7)
}

fn ends_its_process(_: &()) -> Outcome {
    std::process::exit(9)
}

fn run(arguments: &[&str], processes: &str) -> Result<(String, u32), Box<dyn Error>> {
    let mut command = Command::new(env::current_exe()?);
    let child = command.args(arguments).env(INNER, "yes").env("GPU_TESTS_PROCESSES", processes);
    let child = child.stdout(std::process::Stdio::piped()).spawn()?;
    let id = child.id();
    Ok((String::from_utf8(child.wait_with_output()?.stdout)?, id))
}

/// The processes in which tests ran.
fn processes(text: &str) -> HashSet<u32> {
    text.lines().filter_map(|line| line.rsplit_once(" in ")?.1.parse().ok()).collect()
}

fn each_test_has_its_end(_: &()) -> Outcome {
    let (text, parent) = run(&[], "")?;
    ensure!(text.contains("2 passed; 3 failed"), "{text}");
    for reason in
        ["a reason\nof two lines", "test panicked: a panic of 7", "the process that ran it ended: exit status: 9"]
    {
        ensure!(text.contains(reason), "{reason}: {text}");
    }
    ensure!(!processes(&text).contains(&parent), "{text}");
    // One process for all.
    let (text, _) = run(&["--test-threads", "1", "passes"], "")?;
    ensure!(text.contains("2 passed; 0 failed") && processes(&text).len() == 1, "{text}");
    let (text, parent) = run(&["passes"], "no")?;
    ensure_eq!(processes(&text), HashSet::from([parent]));
    Ok(())
}
