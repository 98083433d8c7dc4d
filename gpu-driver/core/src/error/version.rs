//! Versions of CUDA.

use std::fmt;

/// Version of the driver or of NVRTC as CUDA counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CudaVersion {
    /// 13 in CUDA 13.0.
    pub major: u32,
    /// 0 in CUDA 13.0.
    pub minor: u32,
}

impl fmt::Display for CudaVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
