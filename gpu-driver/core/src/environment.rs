//! Environment variables whose values are words or numbers. A value without a meaning is an error and never ignored.

use std::env;

use crate::{DriverError, Result};

/// The value of a variable; None where it is not set, or empty.
///
/// # Errors
/// `Setting` for a value that is no text.
pub fn text(name: &'static str, expected: &'static str) -> Result<Option<String>> {
    match env::var_os(name).filter(|value| !value.is_empty()).map(|value| value.into_string()) {
        None => Ok(None),
        Some(Ok(value)) => Ok(Some(value)),
        Some(Err(value)) => Err(DriverError::Setting { name, value: value.to_string_lossy().into_owned(), expected }),
    }
}

/// Reads a variable, or `default` where it is not set.
///
/// # Errors
/// `Setting` for a value that `read` does not know.
pub fn parse<T>(
    name: &'static str,
    expected: &'static str,
    default: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<T> {
    let value = text(name, expected)?.unwrap_or_else(|| default.to_owned());
    read(value.trim()).ok_or(DriverError::Setting { name, value, expected })
}
