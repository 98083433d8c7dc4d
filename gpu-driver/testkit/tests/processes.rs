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

/// The variable of one of its groups.
const VARIABLE: &str = "TESTKIT_TESTS_VARIABLE";

fn main() -> ExitCode {
    let inner = tests![passes, passes_too, fails, panics, ends_its_process, aborts_behind_the_last_test];
    let outer = tests![
        each_test_has_its_end,
        a_process_that_ends_badly_fails_the_program,
        a_variable_is_that_of_its_group_alone,
    ];
    if env::var_os(INNER).is_some() {
        let needed = Ok::<_, String>(());
        let suite = Suite::new().group("inner", needed.clone(), "", inner);
        let suite = suite.group("with", needed, "", tests![tells_the_variable]).with_variable(VARIABLE, "a word");
        return suite.spread().in_processes(true).run();
    }
    Suite::new().group("processes", Ok::<_, String>(()), "", outer).run()
}

fn tell_process(name: &str) {
    println!("{name} in {}", std::process::id());
}

fn passes(_: &()) -> Outcome {
    tell_process("passes");
    ensure_eq!(env::var_os(VARIABLE), None);
    Ok(())
}

fn tells_the_variable(_: &()) -> Outcome {
    tell_process(&format!("{:?}", env::var_os(VARIABLE)));
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

/// Ends the process badly when its main thread ends.
struct Last;
impl Drop for Last {
    fn drop(&mut self) {
        std::process::abort()
    }
}
thread_local! {
    static LAST: Last = const { Last };
}

fn aborts_behind_the_last_test(_: &()) -> Outcome {
    LAST.with(|_| ());
    Ok(())
}

/// The output of the suite, its process, and whether it ended well.
fn run(arguments: &[&str], processes: &str) -> Result<(String, u32, bool), Box<dyn Error>> {
    let mut command = Command::new(env::current_exe()?);
    let child = command.args(arguments).env(INNER, "yes").env("GPU_TESTS_PROCESSES", processes);
    let child = child.stdout(std::process::Stdio::piped()).spawn()?;
    let (id, output) = (child.id(), child.wait_with_output()?);
    Ok((String::from_utf8(output.stdout)?, id, output.status.success()))
}

/// The processes in which tests ran.
fn processes(text: &str) -> HashSet<u32> {
    text.lines().filter_map(|line| line.rsplit_once(" in ")?.1.parse().ok()).collect()
}

fn each_test_has_its_end(_: &()) -> Outcome {
    let (text, parent, ended_well) = run(&["--skip", "aborts"], "")?;
    ensure!(!ended_well && text.contains("3 passed; 3 failed"), "{text}");
    for reason in
        ["a reason\nof two lines", "test panicked: a panic of 7", "the process that ran it ended: exit status: 9"]
    {
        ensure!(text.contains(reason), "{reason}: {text}");
    }
    ensure!(!processes(&text).contains(&parent), "{text}");
    // One process for all.
    let (text, _, ended_well) = run(&["--test-threads", "1", "passes"], "")?;
    ensure!(ended_well && text.contains("2 passed; 0 failed") && processes(&text).len() == 1, "{text}");
    let (text, parent, _) = run(&["passes"], "no")?;
    ensure_eq!(processes(&text), HashSet::from([parent]));
    Ok(())
}

fn a_variable_is_that_of_its_group_alone(_: &()) -> Outcome {
    let (text, ..) = run(&["--test-threads", "1", "--skip", "aborts", "--skip", "fails", "--skip", "panics"], "")?;
    ensure!(text.contains("Some(\"a word\") in ") && processes(&text).len() >= 2, "{text}");
    let (text, parent, _) = run(&["tells"], "no")?;
    ensure!(text.contains("None in ") && processes(&text) == HashSet::from([parent]), "{text}");
    Ok(())
}

fn a_process_that_ends_badly_fails_the_program(_: &()) -> Outcome {
    let (text, _, ended_well) = run(&["aborts"], "")?;
    ensure!(text.contains("1 passed; 0 failed") && !ended_well, "{text}");
    Ok(())
}
