//! Behaviour of the emulated device: from the environment, and from the caller for one context.

use std::time::Duration;

use gpu_driver_core::{CudaVersion, Result, environment::parse};

use crate::{
    compile::{Checks, DebugInfo},
    kinds::{Blocks, Failure, Schedule},
    random::Random,
};

/// Settings of one emulated device.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) schedule: Schedule,
    pub(super) blocks: Blocks,
    pub(super) seed: u64,
    /// None for no limit.
    pub(super) timeout: Option<Duration>,
    pub(super) failures: Vec<Failure>,
    /// Whether kernels announce their accesses, so that the state of shared memory is known.
    pub(super) sees_accesses: bool,
}

/// Settings of one context that go before those of the environment. None leaves the environment's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overrides {
    /// The order of threads and blocks.
    pub schedule: Option<Schedule>,
    /// How blocks share the device.
    pub blocks: Option<Blocks>,
    /// The seed of every random order.
    pub seed: Option<u64>,
    /// How long a launch may run without the end of any thread; zero for no limit.
    pub timeout: Option<Duration>,
}

impl Settings {
    /// The settings with those that a caller chose.
    pub(super) fn with(mut self, chosen: &Overrides) -> Self {
        self.schedule = chosen.schedule.unwrap_or(self.schedule);
        self.blocks = chosen.blocks.unwrap_or(self.blocks);
        self.seed = chosen.seed.unwrap_or(self.seed);
        if let Some(timeout) = chosen.timeout {
            self.timeout = (!timeout.is_zero()).then_some(timeout);
        }
        self
    }

    /// Whether the blocks of the next launch are interleaved.
    pub(super) fn interleaves(&self, random: &mut Random) -> bool {
        match self.blocks {
            Blocks::Sequential => false,
            Blocks::Interleaved => true,
            Blocks::Random => self.schedule == Schedule::Random && random.below(4) > 0,
        }
    }
}

/// Settings of the whole emulated driver.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    pub(super) devices: usize,
    /// Major and minor.
    pub(super) compute_capability: (u32, u32),
    pub(super) driver: CudaVersion,
    pub(super) defaults: Settings,
}

impl Machine {
    /// 90 for compute capability 9.0.
    pub(super) fn arch(&self) -> u32 {
        let (major, minor) = self.compute_capability;
        major * 10 + minor
    }

    /// The settings that the variables `GPU_EMULATED_…` ask for.
    pub(super) fn from_environment() -> Result<Self> {
        const DEFAULT_TIMEOUT: u64 = 60;
        const LONGEST: u64 = 1_000_000_000;
        const MOST_DEVICES: u64 = 64;
        let timeout =
            number("GPU_EMULATED_TIMEOUT", "seconds up to 1000000000, 0 for no limit", LONGEST, DEFAULT_TIMEOUT)?;
        let random_seed = std::process::id().into();
        Ok(Self {
            devices: number("GPU_EMULATED_DEVICES", "a number of devices up to 64", MOST_DEVICES, 1)? as usize,
            compute_capability: parse("GPU_EMULATED_ARCH", "a compute capability such as 9.0", "9.0", two_numbers)?,
            driver: parse("GPU_EMULATED_DRIVER", "a CUDA version such as 13.0", "13.0", two_numbers)
                .map(|(major, minor)| CudaVersion { major, minor })?,
            defaults: Settings {
                schedule: parse("GPU_EMULATED_SCHEDULE", "ascending, descending or random", "random", schedule)?,
                blocks: parse("GPU_EMULATED_BLOCKS", "random, sequential or interleaved", "random", blocks)?,
                seed: number("GPU_EMULATED_SEED", "a number below 2^64", u64::MAX, random_seed)?,
                timeout: (timeout > 0).then(|| Duration::from_secs(timeout)),
                sees_accesses: Checks::from_environment()? != Checks::Off,
                failures: parse("GPU_EMULATED_FAIL", "a list such as allocation:3,launch:2+", "", failures)?,
            },
        })
    }
}

fn number(name: &'static str, expected: &'static str, most: u64, default: u64) -> Result<u64> {
    parse(name, expected, &default.to_string(), |text| text.parse().ok().filter(|&number| number <= most))
}

/// Two numbers of a version. The driver counts the first in thousands and the second in tens.
fn two_numbers(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    let number = |text: &str, most: u32| text.parse().ok().filter(|&number: &u32| number <= most);
    Some((number(major, 99)?, number(minor, 9)?))
}

fn schedule(text: &str) -> Option<Schedule> {
    match text {
        "ascending" => Some(Schedule::Ascending),
        "descending" => Some(Schedule::Descending),
        "random" => Some(Schedule::Random),
        _ => None,
    }
}

fn blocks(text: &str) -> Option<Blocks> {
    match text {
        "sequential" => Some(Blocks::Sequential),
        "interleaved" => Some(Blocks::Interleaved),
        "random" => Some(Blocks::Random),
        _ => None,
    }
}

fn failures(text: &str) -> Option<Vec<Failure>> {
    text.split(',').filter(|part| !part.trim().is_empty()).map(|part| part.trim().parse().ok()).collect()
}

/// Whether the settings in the environment make sense.
///
/// # Errors
/// `Setting` for the first that does not.
pub fn check_environment() -> Result<()> {
    Machine::from_environment()?;
    Checks::from_environment()?;
    DebugInfo::from_environment().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Call;

    #[test]
    fn failures_are_read() {
        let read = failures("allocation:3, launch:2+").unwrap();
        let kinds = failures("module:1,copy:1,release:1,event:1").unwrap();
        assert_eq!(
            kinds.iter().map(|failure| failure.call).collect::<Vec<_>>(),
            [Call::ModuleLoad, Call::Copy, Call::Release, Call::Event]
        );
        assert_eq!((read[0].call, read[0].at, read[0].and_later), (Call::Allocation, 3, false));
        assert_eq!((read[1].call, read[1].at, read[1].and_later), (Call::Launch, 2, true));
        assert!(failures("").unwrap().is_empty());
        for wrong in ["launch", "launch:x", "flight:1", "launch:1++"] {
            assert!(failures(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn blocks_are_drawn_where_threads_are() {
        let defaults = Machine::from_environment().unwrap().defaults;
        let drawn = Settings { blocks: Blocks::Random, schedule: Schedule::Random, ..defaults };
        let mut random = Random::new(1);
        let interleaved = (0..100).filter(|_| drawn.interleaves(&mut random)).count();
        assert!((60..90).contains(&interleaved), "{interleaved} of 100");
        for schedule in [Schedule::Ascending, Schedule::Descending] {
            let in_order = Settings { schedule, ..drawn.clone() };
            assert!(!(0..100).any(|_| in_order.interleaves(&mut random)));
        }
    }
}
