//! Control of a context besides the driver's functions: its settings, failures on demand, counts, and why it was lost.

use std::{ffi::c_void, ops::Range};

use gpu_driver_core::{CudaCode, texels::ArrayDescriptor};

use crate::{
    code::{ALREADY_MAPPED, INVALID_VALUE, Outcome},
    graphics::{Object, ObjectName},
    kinds::{Call, Failure},
    settings::Overrides,
    state::{self, DriverState},
    texels::Texels,
};

/// A context of the emulated device. It may be gone; then every call says so.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    context: usize,
}

/// Why a context was lost.
#[derive(Clone, Debug)]
pub struct Loss {
    /// The kernel, when one ran.
    pub kernel: Option<String>,
    /// Block, thread, line and mistake.
    pub report: String,
}

impl Control {
    /// Makes a context of its own, with these settings, on a device.
    ///
    /// # Errors
    /// The driver's code: `CUDA_ERROR_INVALID_DEVICE` for a number beyond the devices.
    pub fn open(ordinal: usize, chosen: &Overrides) -> Result<Self, CudaCode> {
        answer(|state| {
            let device = state.device(i32::try_from(ordinal).unwrap_or(i32::MAX))?;
            let settings = state.machine.defaults.clone().with(chosen);
            Ok(Self { context: state.create_context(device, settings, 0) })
        })
    }

    /// The control of the context that this `CUcontext` stands for.
    pub fn of(context: *mut c_void) -> Self {
        Self { context: context as usize }
    }

    /// The context as a `CUcontext`.
    pub fn as_raw(self) -> *mut c_void {
        self.context as *mut c_void
    }

    /// Ends the context. One that is gone already needs nothing more.
    ///
    /// # Safety
    /// Nothing that was made in the context is used afterwards: its memory goes, page-locked host memory too.
    pub unsafe fn close(self) {
        let _ = answer(|state| {
            state.destroy_context(self.context);
            Ok(())
        });
    }

    /// Makes calls fail from now on: the `at`-th of its kind after this call, counted from 1, and the later ones if asked.
    ///
    /// # Errors
    /// When the context is gone. `CUDA_ERROR_INVALID_VALUE` for the code of a success: a call that did nothing would look as if it had worked.
    pub fn fail(self, failure: Failure) -> Result<(), CudaCode> {
        const INVALID_VALUE: CudaCode = CudaCode(1);
        if failure.code == CudaCode(0) {
            return Err(INVALID_VALUE);
        }
        self.with(|state| {
            let so_far = state.calls.get(&failure.call).copied().unwrap_or(0);
            state.settings.failures.push(Failure { at: so_far + failure.at, ..failure });
        })
    }

    /// Ends all failures on demand.
    ///
    /// # Errors
    /// When the context is gone.
    pub fn stop_failing(self) -> Result<(), CudaCode> {
        self.with(|state| state.settings.failures.clear())
    }

    /// Number of calls of a kind that were made, failed ones included.
    ///
    /// # Errors
    /// When the context is gone.
    pub fn calls(self, call: Call) -> Result<u64, CudaCode> {
        self.with(|state| state.calls.get(&call).copied().unwrap_or(0))
    }

    /// Allocations that are not released, pinned ones included.
    ///
    /// # Errors
    /// In a child of fork, and within a host function of a stream.
    pub fn live_allocations(self) -> Result<usize, CudaCode> {
        answer(|state| Ok(state.live_allocations(self.context)))
    }

    /// Lets launches run only these blocks, by their linear number (x fastest); nothing for all.
    ///
    /// # Errors
    /// When the context is gone.
    pub fn run_only_blocks(self, blocks: &[Range<u64>]) -> Result<(), CudaCode> {
        self.with(|state| state.chosen_blocks = blocks.to_vec())
    }

    /// The cause of the context's loss, if it is lost.
    pub fn loss(self) -> Option<Loss> {
        let found = self.with(|state| {
            let lost = state.lost.as_ref();
            lost.map(|lost| Loss { kernel: lost.kernel.clone(), report: lost.report.clone() })
        });
        found.ok().flatten()
    }

    /// Declares a buffer of OpenGL, or an image with an array of that description, whose elements follow each other in C order.
    ///
    /// # Errors
    /// When the context is gone. `CUDA_ERROR_INVALID_VALUE` for contents of another size than the array has.
    pub fn declare_graphics(self, name: u32, image: Option<ArrayDescriptor>, contents: &[u8]) -> Result<(), CudaCode> {
        let is_whole =
            |array: ArrayDescriptor| Texels::of_descriptor(&array).is_some_and(|(_, bytes)| bytes == contents.len());
        if !image.is_none_or(is_whole) {
            return Err(CudaCode(INVALID_VALUE));
        }
        let name = ObjectName { context: self.as_raw() as usize, is_image: image.is_some(), name };
        answer(|state| {
            state.context(name.context)?;
            state.graphics.objects.insert(name, Object { contents: contents.to_vec(), image });
            Ok(())
        })
    }

    /// The contents of an object that was declared.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for one that was not, `CUDA_ERROR_ALREADY_MAPPED` while it is mapped, when OpenGL must not use it.
    pub fn graphics_contents(self, name: u32, is_image: bool) -> Result<Vec<u8>, CudaCode> {
        let name = ObjectName { context: self.as_raw() as usize, is_image, name };
        answer(|state| {
            let mut resources = state.graphics.resources.values();
            if resources.any(|resource| resource.object == name && resource.mapping.is_some()) {
                return Err(ALREADY_MAPPED);
            }
            state.graphics.objects.get(&name).map(|object| object.contents.clone()).ok_or(INVALID_VALUE)
        })
    }

    fn with<T>(self, work: impl FnOnce(&mut state::Context) -> T) -> Result<T, CudaCode> {
        answer(|state| Ok(work(state.context(self.context)?)))
    }
}

/// The seed that repeats this process's orders, where the settings make sense.
pub fn seed() -> Option<u64> {
    answer(|state| Ok(state.machine.defaults.seed)).ok()
}

fn answer<T>(work: impl FnOnce(&mut DriverState) -> Outcome<T>) -> Result<T, CudaCode> {
    state::answer(work).map_err(CudaCode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_success_is_no_failure() {
        let control = Control::open(0, &Overrides::default()).unwrap();
        let failure = |code| Failure { call: Call::Event, at: 1, and_later: false, code: CudaCode(code) };
        assert_eq!(control.fail(failure(0)), Err(CudaCode(1)));
        assert_eq!(control.fail(failure(2)), Ok(()));
        // SAFETY: nothing was made in it.
        unsafe { control.close() };
    }
}
