//! The start and the end of the programs that measure without criterion.

use std::process::ExitCode;

use gpu_driver::{Device, emulated::Emulated};

use super::Outcome;

/// The device that the option `--device` names: the emulated one for `emulated`, else the first GPU.
///
/// # Errors
/// Those of [`Device::first`] and [`Emulated::open`].
pub fn device(name: &str) -> Outcome<Device> {
    Ok(if name == "emulated" { Emulated::new().open()? } else { Device::first()? })
}

/// The exit code of an outcome, whose error goes to standard error.
pub fn exit_code(outcome: Outcome) -> ExitCode {
    outcome.map_or_else(
        |error| {
            eprintln!("{error}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}
