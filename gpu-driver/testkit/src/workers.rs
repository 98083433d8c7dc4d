//! Tests in several processes of one program.
//!
//! The program starts itself anew with the argument [`WORKER`]; standard input of such a worker is a socket. It reads the name of a test, a line, runs the
//! test, and answers with the length of the reason why it failed, four bytes in the machine's order, and the reason; the length 0 says that it passed.

use std::{
    any::Any,
    env,
    ffi::OsString,
    io,
    io::{BufRead, BufReader, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
    panic::{AssertUnwindSafe, catch_unwind},
    process::{self, Child, Command, ExitCode, ExitStatus},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use libtest_mimic::{Failed, Trial};

/// The argument that makes a program a worker. A variable would be handed on to the programs that a test starts.
const WORKER: &str = "--run-tests-of-parent";

/// The variable with the seed of the emulated device; its default is the number of the process.
const SEED: &str = "GPU_EMULATED_SEED";

type Run = Box<dyn FnOnce() -> Result<(), Failed> + Send>;

/// A test.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) ignored: bool,
    /// Whether it runs in the processes that have a variable.
    pub(crate) with_variable: bool,
    pub(crate) run: Run,
}

impl Case {
    /// The test as it is reported, run by `by`.
    pub(crate) fn trial(self, by: impl FnOnce(Run) -> Result<(), Failed> + Send + 'static) -> Trial {
        let Self { name, ignored, run, .. } = self;
        Trial::test(name, move || by(run)).with_ignored_flag(ignored)
    }
}

/// Whether this process is there to run tests of another one.
pub(crate) fn is_worker() -> bool {
    env::args_os().nth(1).is_some_and(|argument| argument == WORKER)
}

/// Runs the tests that are asked for, until the process that asks has gone.
pub(crate) fn serve(mut cases: Vec<Case>) -> ExitCode {
    let mut serve = || -> io::Result<()> {
        let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        let mut answers = socket.try_clone()?;
        for name in BufReader::new(socket).lines() {
            let name = name?;
            let failure = match cases.iter().position(|case| case.name == name) {
                Some(at) => failure(cases.swap_remove(at).run),
                None => format!("there is no test {name}, or it has run"),
            };
            let bytes = u32::try_from(failure.len()).unwrap_or(u32::MAX);
            answers.write_all(&bytes.to_ne_bytes())?;
            answers.write_all(&failure.as_bytes()[..bytes as usize])?;
        }
        Ok(())
    };
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("a process for tests ends: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The reason why a test fails; empty where it passes.
fn failure(run: Run) -> String {
    let reason = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => return String::new(),
        Ok(Err(failed)) => failed.message().unwrap_or_default().to_owned(),
        Err(panic) => format!("test panicked: {}", text(&*panic)),
    };
    if reason.is_empty() { "it failed without a reason".to_owned() } else { reason }
}

fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("with something that is no text")
}

/// A variable of a process, and its value.
pub(crate) type Variable = (&'static str, OsString);

/// Processes that run tests; each starts when a test finds none idle.
#[derive(Clone, Default)]
pub(crate) struct Workers {
    idle: Arc<Mutex<Vec<Worker>>>,
    /// A variable that each of them has.
    variable: Option<Variable>,
}

impl Workers {
    /// Processes that have this variable.
    pub(crate) fn with(variable: Variable) -> Self {
        Self { variable: Some(variable), ..Self::default() }
    }

    fn all(&self) -> MutexGuard<'_, Vec<Worker>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a test in a process that runs no other one meanwhile.
    pub(crate) fn run(&self, name: &str) -> Result<(), Failed> {
        let idle = self.all().pop();
        let mut worker = match idle {
            Some(worker) => worker,
            None => Worker::start(self.variable.as_ref())
                .map_err(|error| format!("no process for tests could be started: {error}"))?,
        };
        let ran = std::mem::replace(&mut worker.last, name.to_owned());
        match worker.run(name) {
            Ok(failure) => {
                self.all().push(worker);
                if failure.is_empty() { Ok(()) } else { Err(failure.into()) }
            }
            Err(error) => {
                let before = if ran.is_empty() { ran } else { format!(" (before it ran {ran})") };
                let ended = worker.end().map_or(error.to_string(), |status| status.to_string());
                Err(format!("the process that ran it ended: {ended}{before}").into())
            }
        }
    }

    /// Ends the processes; whether all ended well, which one does not that crashes behind its last test.
    pub(crate) fn end(&self) -> bool {
        let workers = std::mem::take(&mut *self.all());
        let ended = workers.into_iter().map(|worker| {
            let last = worker.last.clone();
            let status = worker.end();
            let is_well = status.as_ref().is_ok_and(ExitStatus::success);
            if !is_well {
                eprintln!("a process for tests ended badly behind {last}: {status:?}");
            }
            is_well
        });
        ended.fold(true, |all, one| all & one)
    }
}

struct Worker {
    process: Child,
    socket: UnixStream,
    /// The test that it ran last.
    last: String,
}

impl Worker {
    fn start(variable: Option<&Variable>) -> io::Result<Self> {
        let (socket, theirs) = UnixStream::pair()?;
        let mut command = Command::new(env::current_exe()?);
        if let Some((name, value)) = variable {
            command.env(name, value);
        }
        if env::var_os(SEED).is_none() {
            // The seed that this process announces, where none is given.
            command.env(SEED, process::id().to_string());
        }
        let process = command.arg(WORKER).stdin(OwnedFd::from(theirs)).spawn()?;
        Ok(Self { process, socket, last: String::new() })
    }

    /// The reason why the test failed, or nothing.
    fn run(&mut self, name: &str) -> io::Result<String> {
        self.socket.write_all(format!("{name}\n").as_bytes())?;
        let mut bytes = [0; 4];
        self.socket.read_exact(&mut bytes)?;
        let mut failure = vec![0; u32::from_ne_bytes(bytes) as usize];
        self.socket.read_exact(&mut failure)?;
        Ok(String::from_utf8_lossy(&failure).into_owned())
    }

    /// Tells the process that there are no more tests, and waits for its end.
    fn end(self) -> io::Result<ExitStatus> {
        let Self { mut process, socket, .. } = self;
        drop(socket);
        process.wait()
    }
}
