//! The error of an argument that does not fit.

/// An argument of a kernel, and the parameter that it does not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "argument {position} of kernel `{kernel}`{}: expected {expected}, got {got}; {hint}",
    if parameter.is_empty() { String::new() } else { format!(", `{parameter}`") }
)]
pub struct ArgumentMismatch {
    /// Name of the kernel.
    pub kernel: String,
    /// The argument's place, from 1.
    pub position: usize,
    /// The parameter's name in the text; empty where it is not known.
    pub parameter: String,
    /// The parameter's type and size.
    pub expected: String,
    /// The argument's type and size.
    pub got: String,
    /// The remedy.
    pub hint: String,
}
