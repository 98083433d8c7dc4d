//! The driver's own compiler of PTX: its options and its logs.

use std::ffi::{c_int, c_void};

use crate::{Arch, Device, DriverError, JitError, Result};

/// Options of the driver's compiler for PTX, which [`Module::load_image_with`](crate::Module::load_image_with) and [`Linker`](crate::Linker) take. Machine
/// code stays as it is, and the emulated device says in the log of information that they have no effect there.
///
/// ```
/// use gpu_driver::JitOptions;
/// let options = JitOptions::new().max_registers(32).optimization_level(3).line_info();
/// # let _ = options;
/// ```
#[doc(alias("jit_option", "CUjit_option"))]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JitOptions {
    max_registers: Option<u32>,
    optimization_level: Option<u32>,
    target: Option<u32>,
    line_info: bool,
    debug_info: bool,
    verbose: bool,
}

impl JitOptions {
    /// The driver's own choices.
    pub const fn new() -> Self {
        Self {
            max_registers: None,
            optimization_level: None,
            target: None,
            line_info: false,
            debug_info: false,
            verbose: false,
        }
    }

    /// Sets the most registers of a thread.
    #[must_use]
    pub const fn max_registers(self, registers: u32) -> Self {
        Self { max_registers: Some(registers), ..self }
    }

    /// Sets the level of optimization, from 0 to 4, which is the driver's choice.
    #[must_use]
    pub const fn optimization_level(self, level: u32) -> Self {
        Self { optimization_level: Some(level), ..self }
    }

    /// Compiles for an architecture other than the device's own.
    #[must_use]
    pub fn target(self, arch: Arch) -> Self {
        Self { target: Some(arch.number()), ..self }
    }

    /// Keeps the lines of the source, for profilers and compute-sanitizer.
    #[must_use]
    pub const fn line_info(self) -> Self {
        Self { line_info: true, ..self }
    }

    /// Keeps all that a debugger needs.
    #[must_use]
    pub const fn debug_info(self) -> Self {
        Self { debug_info: true, ..self }
    }

    /// Asks for more in the log of information: registers and memory of each kernel.
    #[must_use]
    pub const fn verbose(self) -> Self {
        Self { verbose: true, ..self }
    }

    /// The driver's numbers of the options, with their values.
    fn list(&self) -> Vec<(c_int, usize)> {
        let given = [
            (MAX_REGISTERS, self.max_registers),
            (OPTIMIZATION_LEVEL, self.optimization_level),
            (TARGET, self.target),
            (DEBUG_INFO, self.debug_info.then_some(1)),
            (VERBOSE, self.verbose.then_some(1)),
            (LINE_INFO, self.line_info.then_some(1)),
        ];
        given.into_iter().filter_map(|(option, value)| Some((option, value? as usize))).collect()
    }
}

// Numbers of `CUjit_option`.
const MAX_REGISTERS: c_int = 0;
const INFORMATION: c_int = 3;
const INFORMATION_BYTES: c_int = 4;
const ERRORS: c_int = 5;
const ERRORS_BYTES: c_int = 6;
const OPTIMIZATION_LEVEL: c_int = 7;
const TARGET: c_int = 9;
const DEBUG_INFO: c_int = 11;
const VERBOSE: c_int = 12;
const LINE_INFO: c_int = 13;

/// Bytes of a log; the driver cuts off the rest.
const LOG_BYTES: usize = 32 * 1024;

/// Options as the driver takes them, and the logs that it writes, at addresses that stay.
pub(super) struct Logged {
    options: Vec<c_int>,
    values: Vec<*mut c_void>,
    information: Vec<u8>,
    errors: Vec<u8>,
}

impl Logged {
    pub(super) fn new(options: &JitOptions) -> Self {
        let (mut information, mut errors) = (vec![0u8; LOG_BYTES], vec![0u8; LOG_BYTES]);
        let logs = [
            (INFORMATION, information.as_mut_ptr() as usize),
            (INFORMATION_BYTES, LOG_BYTES),
            (ERRORS, errors.as_mut_ptr() as usize),
            (ERRORS_BYTES, LOG_BYTES),
        ];
        // Numbers stand in the place of pointers.
        let all = logs.into_iter().chain(options.list());
        let (options, values) = all.map(|(option, value)| (option, value as *mut c_void)).unzip();
        Self { options, values, information, errors }
    }

    /// Number, options and values, valid as long as this is.
    pub(super) fn parts(&mut self) -> (u32, *mut c_int, *mut *mut c_void) {
        (self.options.len() as u32, self.options.as_mut_ptr(), self.values.as_mut_ptr())
    }

    pub(super) fn information(&self) -> String {
        text(&self.information)
    }

    /// The code as a result, with the logs where the driver has written one of errors.
    pub(super) fn check(&self, device: &Device, call: &'static str, code: c_int) -> Result<()> {
        device.check(call, code).map_err(|error| match (error, text(&self.errors)) {
            (DriverError::Cuda { call, code }, log) if !log.is_empty() => {
                DriverError::Jit(Box::new(JitError { call, code, log, information: self.information() }))
            }
            (error, _) => error,
        })
    }
}

/// A text up to its NUL.
fn text(log: &[u8]) -> String {
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    String::from_utf8_lossy(&log[..end]).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_the_driver_s_numbers() {
        let all = JitOptions::new().max_registers(40).optimization_level(2).target(Arch::new(8, 6));
        assert_eq!(all.list(), [(0, 40), (7, 2), (9, 86)]);
        assert_eq!(all.line_info().debug_info().verbose().list()[3..], [(11, 1), (12, 1), (13, 1)]);
        let mut logged = Logged::new(&JitOptions::new().max_registers(40));
        assert_eq!((logged.parts().0, logged.options.as_slice()), (5, [3, 4, 5, 6, 0].as_slice()));
        assert_eq!([1, 3, 4].map(|at: usize| logged.values[at] as usize), [LOG_BYTES, LOG_BYTES, 40]);
        logged.errors[..4].copy_from_slice(b"no\n\0");
        assert_eq!((text(&logged.errors), logged.information()), ("no".to_owned(), String::new()));
    }
}
