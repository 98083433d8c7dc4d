//! Orders of threads and blocks, and the kinds of driver call that can be made to fail.

use std::str::FromStr;

use gpu_driver_core::{CudaCode, DriverError};

/// The order in which the threads of a block, and the blocks of a grid, run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// From the first to the last, each as far as it comes.
    Ascending,
    /// From the last to the first.
    Descending,
    /// At random by the seed, with threads interrupted anywhere.
    Random,
}

/// How blocks share the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// One after another; a block that only waits lets further ones in beside it.
    Sequential,
    /// Several at once, switching at atomic operations and fences.
    Interleaved,
    /// Drawn anew for each launch by the seed: interleaved three times of four. Sequential where the threads' [`Schedule`] is not random.
    Random,
}

/// A kind of driver call that can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// Device and pinned memory, in stream order or not.
    Allocation,
    /// Launches of kernels.
    Launch,
    /// Loads of compiled code.
    ModuleLoad,
    /// Copies between host and device, or on the device.
    Copy,
    /// The release of device and pinned memory, in stream order or not; memory whose release failed stays allocated.
    Release,
    /// The creation of an event, its record on a stream, and a stream's wait for it.
    Event,
}

/// A failure on demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kind of call that fails.
    pub call: Call,
    /// The number of the call among those of its kind, from 1.
    pub at: u64,
    /// Whether the later ones fail too.
    pub and_later: bool,
    /// The code that the call returns; a fatal one loses the device.
    pub code: CudaCode,
}

impl FromStr for Failure {
    type Err = ();
    /// `launch:2` fails the second launch, `launch:2+` every one from the second on.
    fn from_str(text: &str) -> Result<Self, ()> {
        let (call, at) = text.split_once(':').ok_or(())?;
        let call = match call {
            "allocation" => Call::Allocation,
            "launch" => Call::Launch,
            "module" => Call::ModuleLoad,
            "copy" => Call::Copy,
            "release" => Call::Release,
            "event" => Call::Event,
            _ => return Err(()),
        };
        let (at, and_later) = at.strip_suffix('+').map_or((at, false), |at| (at, true));
        let at = at.parse().map_err(|_| ())?;
        Ok(Self { call, at, and_later, code: call.usual_code() })
    }
}

impl Call {
    /// The driver's code when such a call fails without a mistake of the caller.
    pub fn usual_code(self) -> CudaCode {
        const LAUNCH_OUT_OF_RESOURCES: CudaCode = CudaCode(701);
        match self {
            Self::Allocation | Self::ModuleLoad | Self::Event => CudaCode::OUT_OF_MEMORY,
            Self::Launch => LAUNCH_OUT_OF_RESOURCES,
            Self::Copy | Self::Release => CudaCode(999),
        }
    }

    /// Whether the failure of such a call leads to this error.
    pub fn leads_to(self, error: &DriverError) -> bool {
        match (self, error) {
            (Self::Allocation, DriverError::OutOfMemory { .. } | DriverError::OutOfPinnedMemory { .. }) => true,
            (Self::Launch, DriverError::Launch { code, .. }) => *code == self.usual_code(),
            (Self::ModuleLoad, DriverError::Cuda { call, code }) => {
                call.starts_with("cuModule") && *code == CudaCode::OUT_OF_MEMORY
            }
            (Self::Copy, DriverError::Cuda { call, code }) => {
                call.starts_with("cuMemcpy") && *code == self.usual_code()
            }
            (Self::Event, DriverError::Cuda { call, code }) => {
                (call.starts_with("cuEvent") || *call == "cuStreamWaitEvent") && *code == self.usual_code()
            }
            (Self::Release, DriverError::InDrop { source, .. }) => {
                let frees = |call: &str| call.starts_with("cuMemFree") || call == "cuArrayDestroy";
                matches!(&**source, DriverError::Cuda { call, code } if frees(call) && *code == self.usual_code())
            }
            _ => false,
        }
    }
}
