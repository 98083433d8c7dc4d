//! The driver itself: launches of an empty kernel through `cuLaunchKernel` of libcuda, as a loop in C makes them.
#![expect(unsafe_code, reason = "the driver is called")]

use std::ffi::{c_int, c_uint, c_void};

use crate::{
    harness::{Check, Gpu, Harness, Outcome},
    memory::{ByName, OPERATION, THREADS},
};

type CuLaunchKernel = unsafe extern "C" fn(
    *mut c_void,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    *mut c_void,
    *mut *mut c_void,
    *mut *mut c_void,
) -> c_int;

/// The driver's own function, and the kernel's and stream's handles.
struct Raw {
    launch: CuLaunchKernel,
    function: *mut c_void,
    stream: *mut c_void,
    address: u64,
    kernel: ByName,
    _library: libloading::Library,
}

impl Raw {
    fn new(gpu: &Gpu) -> Outcome<Self> {
        if gpu.device().is_emulated() {
            return Err("the emulated device has no libcuda".into());
        }
        let kernel = ByName::new(gpu)?;
        let function = kernel.function.with_cust(|function| function.to_raw())?.cast();
        let (stream, address) = (kernel.stream.as_raw().cast(), kernel.memory.as_raw());
        // SAFETY: libcuda may be opened by anyone; it is open already. The types are those of cuda.h.
        unsafe {
            let library = libloading::Library::new("libcuda.so.1")?;
            let make_current: unsafe extern "C" fn(*mut c_void) -> c_int = *library.get(b"cuCtxSetCurrent")?;
            succeeded(make_current(gpu.device().as_raw_context().cast()))?;
            let launch = *library.get(b"cuLaunchKernel")?;
            Ok(Self { launch, function, stream, address, kernel, _library: library })
        }
    }

    fn call(&mut self) -> Outcome {
        let mut one = 1u64;
        let mut values: [*mut c_void; 2] = [(&raw mut self.address).cast(), (&raw mut one).cast()];
        let none = std::ptr::null_mut();
        // SAFETY: function and stream are alive and of the current context; the values have the types of the kernel's parameters; the kernel touches no
        // memory.
        let code =
            unsafe { (self.launch)(self.function, 1, 1, 1, THREADS, 1, 1, 0, self.stream, values.as_mut_ptr(), none) };
        succeeded(code)
    }
}

fn succeeded(code: c_int) -> Outcome {
    if code == 0 { Ok(()) } else { Err(format!("the driver returned {code}").into()) }
}

/// One loop for both ways of this workspace.
pub(super) fn launches(harness: &mut Harness) {
    for case in ["typed", "tuple"] {
        harness.figure(OPERATION, "f32", case, "culaunchkernel").enqueue_only().on_gpu(
            Raw::new,
            Raw::call,
            |raw, ()| Ok(Check::equal(&raw.kernel.memory.to_vec()?, &[0.0])),
        );
    }
}
