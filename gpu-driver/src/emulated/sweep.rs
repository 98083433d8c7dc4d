//! Whether an operation bears the failure of each driver call that it makes.

use std::{error::Error, fmt};

use super::{Call, Emulated, Emulation};
use crate::{Device, DriverError};

/// How an operation bore the failures of [`Emulated::fail_each`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Borne {
    /// How many calls of the kind it makes when none fails.
    pub calls: u64,
    /// How many of them may fail, once, without an error: it tried again.
    pub retried: u64,
}

/// An operation that does not bear the failure of a call: see [`Emulated::fail_each`].
#[derive(Debug)]
pub struct NotBorne {
    /// The kind of call.
    pub call: Call,
    /// The number of the call that failed, from 1; one more than there are when none was to fail any more.
    pub at: u64,
    /// Whether the later ones failed too.
    pub and_later: bool,
    /// The mistake, in words.
    pub mistake: String,
}

impl fmt::Display for NotBorne {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let later = if self.and_later { " and all later ones" } else { "" };
        write!(f, "with the {:?} number {}{later} failing: {}", self.call, self.at, self.mistake)
    }
}

impl Error for NotBorne {}

impl Emulated {
    /// Fails each call of a kind that an operation makes, one run after the other, and checks that the operation bears it.
    ///
    /// For k = 1, 2, … the operation runs with its k-th call and all later ones failing, until it makes fewer calls; then
    /// again with the k-th alone. That is on a device of its own; where modules fail to load on a fresh one each time, as
    /// loaded modules stay. Whenever a call failed the operation must return an error that `expected`
    /// knows (a single failure it may also make good by trying again), must have leaked no allocation and left its inputs as
    /// they were, and must succeed when it runs once more.
    ///
    /// `prepare` makes the inputs. `check` sees them with the result, or with None after an error.
    ///
    /// ```
    /// use gpu_driver::{DeviceVec, DriverError, emulated::{Call, Emulated}};
    /// # if Emulated::new().open().is_err() { return Ok(()) } // this process uses another driver
    /// let borne = Emulated::new().fail_each(
    ///     Call::Allocation,
    ///     |device| Ok(device.stream()),
    ///     |stream| DeviceVec::<u32>::zeros(stream, 100),
    ///     |_, zeros| Ok(zeros.map_or(Ok(()), |zeros| zeros.to_vec().map(drop))?),
    ///     |error| matches!(error, DriverError::OutOfMemory { .. }),
    /// )?;
    /// assert_eq!((borne.calls, borne.retried), (1, 1)); // the pool is trimmed, and asked again
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The first thing that the operation does not bear; an error of `prepare` or `check`.
    pub fn fail_each<S, T, E: fmt::Display>(
        &self,
        call: Call,
        prepare: impl Fn(&Device) -> Result<S, Box<dyn Error>>,
        operation: impl Fn(&mut S) -> Result<T, E>,
        check: impl Fn(&S, Option<&T>) -> Result<(), Box<dyn Error>>,
        expected: impl Fn(&E) -> bool,
    ) -> Result<Borne, NotBorne> {
        let mut borne = Borne { calls: 0, retried: 0 };
        let failed =
            |mistake: Box<dyn Error>, at, and_later| NotBorne { call, at, and_later, mistake: mistake.to_string() };
        let mut device = self.clone().open().map_err(|error| failed(error.into(), 0, false))?;
        for and_later in [true, false] {
            for at in 1.. {
                if call == Call::ModuleLoad {
                    device = self.clone().open().map_err(|error| failed(error.into(), at, and_later))?;
                }
                let run = Run { call, at, and_later };
                let met = run.on(&device, &prepare, &operation, &check, &expected);
                match met.map_err(|mistake| failed(mistake, at, and_later))? {
                    Met::Nothing => {
                        borne.calls = at - 1;
                        break;
                    }
                    Met::Error => {}
                    Met::Retried => borne.retried += 1,
                }
            }
        }
        Ok(borne)
    }
}

/// One failure for one run.
struct Run {
    call: Call,
    at: u64,
    and_later: bool,
}

/// The failure that an operation met.
enum Met {
    /// It made fewer calls than the one that was to fail.
    Nothing,
    Error,
    /// A failure, which it made good.
    Retried,
}

impl Run {
    fn on<S, T, E: fmt::Display>(
        &self,
        device: &Device,
        prepare: impl Fn(&Device) -> Result<S, Box<dyn Error>>,
        operation: impl Fn(&mut S) -> Result<T, E>,
        check: impl Fn(&S, Option<&T>) -> Result<(), Box<dyn Error>>,
        expected: impl Fn(&E) -> bool,
    ) -> Result<Met, Box<dyn Error>> {
        let emulation = device.emulation().ok_or(DriverError::NotEmulated)?;
        let mut inputs = prepare(device)?;
        let live = emulation.live_allocations()?;
        let calls = emulation.calls(self.call)?;
        emulation.fail(self.call, self.at, self.and_later)?;
        let outcome = operation(&mut inputs);
        emulation.stop_failing()?;
        let failed = emulation.calls(self.call)? - calls >= self.at;
        let met = match outcome {
            Ok(_) if failed && self.and_later => return Err("no error".into()),
            Err(error) if !failed => return Err(format!("an error though no call failed: {error}").into()),
            Err(error) if !expected(&error) => return Err(format!("another error than expected: {error}").into()),
            Ok(result) => {
                check(&inputs, Some(&result))?;
                if failed { Met::Retried } else { Met::Nothing }
            }
            Err(_) => {
                no_leak(&emulation, live, "after the error")?;
                check(&inputs, None).map_err(|error| format!("the inputs after the error: {error}"))?;
                let again = operation(&mut inputs).map_err(|error| format!("the next call: {error}"))?;
                check(&inputs, Some(&again)).map_err(|error| format!("the next call's result: {error}"))?;
                Met::Error
            }
        };
        no_leak(&emulation, live, "at the end")?;
        Ok(met)
    }
}

fn no_leak(emulation: &Emulation, before: usize, when: &str) -> Result<(), Box<dyn Error>> {
    let now = emulation.live_allocations()?;
    if now == before { Ok(()) } else { Err(format!("{now} live allocations {when}, {before} before").into()) }
}
