//! The error of code that the driver's compiler or linker rejects.

use crate::codes::CudaCode;

/// PTX that the driver does not compile, or modules that it does not link: its code and its log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call} failed: {code}\n{}", .log.trim_end())]
pub struct JitError {
    /// The driver function.
    pub call: &'static str,
    /// Its result.
    pub code: CudaCode,
    /// The log of errors.
    pub log: String,
    /// The log of information, such as registers of kernels; often empty.
    pub information: String,
}
