//! Contexts, streams, events, modules and kernels of this crate as those of `cust`, and the reverse.
//!
//! | ours | lent to cust: ours stays the owner | taken over from cust: ours is the owner | given away: cust is the owner |
//! |---|---|---|---|
//! | [`Device`] | [`Device::as_cust`] | [`Device::from_cust`], beside the context that cust retains | no need: cust's `Context::new` retains the same context |
//! | [`Stream`] | [`Stream::as_cust`] | [`Stream::from_cust`] | [`Stream::into_cust`], of the only handle |
//! | [`Event`] | [`Event::as_cust`] | [`Event::from_cust`] | [`Event::into_cust`] |
//! | [`Module`] | [`Module::as_cust`] | [`Module::from_cust`] | [`Module::into_cust`], of the only handle |
//! | [`Function`] | [`Function::with_cust`] | [`Function::from_cust`], while cust's module stays the owner | none: a kernel goes with its module, which others may share |
//! | [`DeviceVec`](crate::DeviceVec) | `as_cust`, `as_cust_pointer` | `from_cust` | `into_cust` |
//! | [`PinnedVec`](crate::PinnedVec) | `as_cust` | `from_cust` | `into_cust` |
//!
//! After `into_cust` the device stays open until the process ends, since cust's objects do not keep it, and handles of a context that has gone are not
//! checked by the driver. The main stream, graphs, textures and arrays are never given away: the context or other objects share them, or cust has no such
//! type.

use std::{
    fmt,
    marker::PhantomData,
    mem::{self, ManuallyDrop},
    ops::Deref,
    ptr::null_mut,
};

use cust::{context::Context, error::CudaResult};

use crate::{
    CudaCode, Device, DriverError, Event, Function, Module, Result, Stream,
    raw::CUdevice,
    sys::{self, handover},
};

/// An object of cust's that this library lends: it is used as cust's, and not destroyed, since the lender owns its handle.
pub struct CustView<'a, T> {
    object: ManuallyDrop<T>,
    _lender: PhantomData<&'a ()>,
}

impl<T> CustView<'_, T> {
    pub(crate) fn new(object: T) -> Self {
        Self { object: ManuallyDrop::new(object), _lender: PhantomData }
    }
}

impl<T> Deref for CustView<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.object
    }
}

impl<T: fmt::Debug> fmt::Debug for CustView<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.object.fmt(f)
    }
}

/// cust's error as ours.
fn ours<T>(call: &'static str, result: CudaResult<T>) -> Result<T> {
    result.map_err(|error| DriverError::Cuda { call, code: CudaCode(error as i32) })
}

impl Device {
    /// The device's context as cust's, for its functions that take one, such as `CurrentContext::set_current`. It does not become current by this.
    ///
    /// # Errors
    /// The driver's error, of the call that finds the device.
    ///
    /// ```no_run
    /// use gpu_driver::{Device, cust::context::CurrentContext};
    /// let device = Device::first()?;
    /// let context = device.as_cust()?;
    /// CurrentContext::set_current(&*context).unwrap();
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    pub fn as_cust(&self) -> Result<CustView<'_, Context>> {
        let theirs = cust::device::Device::get_device(self.ordinal() as u32);
        let theirs = ours("cuDeviceGet", theirs)?;
        // SAFETY: a context's handle; the view does not release it.
        let context = unsafe { handover::give(self.as_raw_context().cast(), || Context::new(theirs)) };
        Ok(CustView::new(ours("cuDevicePrimaryCtxRetain", context)?))
    }

    /// The device of a context of cust's. Each of the two keeps the primary context that they share, and either may be dropped first.
    ///
    /// # Errors
    /// `Cuda` with `INVALID_CONTEXT` for a context that is not the primary one of its device; those of [`Device::new`].
    ///
    /// ```no_run
    /// use gpu_driver::{Device, cust};
    /// let context = cust::quick_init().unwrap();
    /// let device = Device::from_cust(&context)?;
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    pub fn from_cust(context: &Context) -> Result<Self> {
        const CALL: &str = "cuCtxGetDevice";
        let plain = |call, code| if code == 0 { Ok(()) } else { Err(DriverError::Cuda { call, code: CudaCode(code) }) };
        let (mut number, mut popped): (CUdevice, _) = (0, null_mut());
        // SAFETY: the context is alive, and the pointers are valid for the calls.
        unsafe {
            plain("cuCtxPushCurrent", sys::cuCtxPushCurrent_v2(context.as_raw()))?;
            let code = sys::cuCtxGetDevice(&mut number);
            plain("cuCtxPopCurrent", sys::cuCtxPopCurrent_v2(&mut popped))?;
            plain(CALL, code)?;
        }
        let is_of = |ordinal: &usize| {
            let mut other = 0;
            // SAFETY: the pointer is valid for the call.
            unsafe { sys::cuDeviceGet(&mut other, *ordinal as i32) == 0 && other == number }
        };
        let device = match (0..Self::count()?).find(is_of) {
            Some(ordinal) => Self::new(ordinal)?,
            None => return Err(DriverError::NoDevice),
        };
        if device.as_raw_context() != context.as_raw() {
            const INVALID_CONTEXT: CudaCode = CudaCode(201);
            return Err(DriverError::Cuda { call: CALL, code: INVALID_CONTEXT });
        }
        Ok(device)
    }
}

impl Stream {
    /// The stream as one of cust's, for its `launch!`, copies and events.
    ///
    /// # Errors
    /// None so far.
    ///
    /// # Safety
    /// Work that is enqueued through it uses memory that lives until it has run, and that no other stream writes meanwhile: buffers whose home is another
    /// stream are not ordered with it. `add_callback` is not called while the stream is captured.
    ///
    /// ```no_run
    /// use gpu_driver::{Device, DeviceVec, cust::launch};
    /// let device = Device::first()?;
    /// let module = device.compile("extern \"C\" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }")?;
    /// let (stream, module) = (device.stream(), module.as_cust()?);
    /// let x = DeviceVec::from_slice(&stream, &[1.0f32, 2.0])?;
    /// let _current = device.make_current()?;
    /// let twice = module.get_function("twice").unwrap();
    /// // SAFETY: two threads double two elements, on the home of their buffer.
    /// unsafe {
    ///     let theirs = stream.as_cust()?;
    ///     launch!(twice<<<1, 2, 0, theirs>>>(x.as_cust_pointer())).unwrap();
    /// }
    /// assert_eq!(x.to_vec()?, [2.0, 4.0]);
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    pub unsafe fn as_cust(&self) -> Result<CustView<'_, cust::stream::Stream>> {
        let make = || cust::stream::Stream::new(cust::stream::StreamFlags::NON_BLOCKING, None);
        // SAFETY: a stream's handle; the view does not destroy it.
        Ok(CustView::new(ours("cuStreamCreate", unsafe { handover::give(self.as_raw().cast(), make) })?))
    }

    /// A stream of cust's, which this library owns from now on: the last handle destroys it, after the memory that has it for its home.
    ///
    /// # Errors
    /// Those of [`Stream::from_foreign`]: among them `Cuda` with `INVALID_CONTEXT` for a stream of another device. The stream is destroyed then.
    pub fn from_cust(device: &Device, stream: cust::stream::Stream) -> Result<Self> {
        let raw = stream.as_inner();
        // SAFETY: the owner is the stream itself, which nobody else has.
        unsafe { Self::from_foreign(device, raw, stream) }
    }

    /// The stream as one of cust's, which owns it from now on. The device stays open until the process ends, since cust's stream does not keep it.
    ///
    /// # Errors
    /// `Length` for the device's main stream, for another library's, and where clones or buffers with this home are left, which the stream must outlive;
    /// `InCapture`; `DeviceLost`. The handle is dropped then.
    ///
    /// ```no_run
    /// use gpu_driver::{Device, Stream};
    /// let theirs = Stream::new(&Device::first()?)?.into_cust()?;
    /// theirs.synchronize().unwrap();
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    pub fn into_cust(self) -> Result<cust::stream::Stream> {
        let make = || cust::stream::Stream::new(cust::stream::StreamFlags::NON_BLOCKING, None);
        let device = self.device().clone();
        let raw = self.into_raw("Stream::into_cust")?;
        device.keep_open();
        // SAFETY: a stream's handle, which the new object alone has.
        ours("cuStreamCreate", unsafe { handover::give(raw.cast(), make) })
    }
}

impl Event {
    /// The event as one of cust's, to record, query and time it.
    ///
    /// # Errors
    /// None so far.
    pub fn as_cust(&self) -> Result<CustView<'_, cust::event::Event>> {
        let make = || cust::event::Event::new(cust::event::EventFlags::DEFAULT);
        // SAFETY: an event's handle; the view does not destroy it.
        Ok(CustView::new(ours("cuEventCreate", unsafe { handover::give(self.as_raw().cast(), make) })?))
    }

    /// An event of cust's, which this library owns from now on.
    ///
    /// # Errors
    /// `Cuda` with `INVALID_HANDLE` where the handle cannot be had, which no event of cust's gives. An event of another device is an error of its first use.
    pub fn from_cust(device: &Device, event: cust::event::Event) -> Result<Self> {
        let raw = handover::told(|| _ = event.query());
        if raw.is_null() {
            return Err(DriverError::Cuda { call: "cuEventQuery", code: CudaCode(400) });
        }
        mem::forget(event);
        Ok(Self::of_raw(device, raw.cast()))
    }

    /// The event as one of cust's, which owns it from now on. The device stays open until the process ends, since cust's event does not keep it.
    ///
    /// # Errors
    /// None so far.
    pub fn into_cust(self) -> Result<cust::event::Event> {
        self.device().keep_open();
        let make = || cust::event::Event::new(cust::event::EventFlags::DEFAULT);
        // SAFETY: an event's handle, which the new object alone has.
        ours("cuEventCreate", unsafe { handover::give(self.into_raw().cast(), make) })
    }
}

impl Module {
    /// The module as one of cust's, for its `get_function` and `get_global`, and for `launch!`.
    ///
    /// # Errors
    /// None so far.
    pub fn as_cust(&self) -> Result<CustView<'_, cust::module::Module>> {
        let make = || cust::module::Module::from_cubin([], &[]);
        // SAFETY: a module's handle; the view does not unload it.
        Ok(CustView::new(ours("cuModuleLoadDataEx", unsafe { handover::give(self.raw().cast(), make) })?))
    }

    /// A module of cust's, which this library owns from now on: it is unloaded once the device has no work left that may use it.
    ///
    /// Its kernels are found by the names in the image; the types of their arguments are not known, only the sizes.
    ///
    /// # Errors
    /// `Cuda` with `INVALID_HANDLE` where the handle cannot be had, which no module of cust's gives.
    ///
    /// # Safety
    /// The module was loaded with the context of `device` current ([`Device::make_current`]).
    pub unsafe fn from_cust(device: &Device, module: cust::module::Module) -> Result<Self> {
        let raw = handover::told(|| _ = module.get_function(""));
        if raw.is_null() {
            return Err(DriverError::Cuda { call: "cuModuleGetFunction", code: CudaCode(400) });
        }
        mem::forget(module);
        Ok(Self::of_raw(device, raw.cast(), true))
    }

    /// The module as one of cust's, which owns it from now on. Waits for the device, since cust unloads at once. The device stays open until the process
    /// ends, since cust's module does not keep it.
    ///
    /// # Errors
    /// `Length` where a kernel of the module, a clone or a graph is left, which the module must outlive, and for the module of [`Function::from_cust`];
    /// `InCapture`; `DeviceLost`. The handle is dropped then.
    pub fn into_cust(self) -> Result<cust::module::Module> {
        let make = || cust::module::Module::from_cubin([], &[]);
        let device = self.device().clone();
        let raw = self.into_raw("Module::into_cust")?;
        device.keep_open();
        // SAFETY: a module's handle, which the new object alone has.
        ours("cuModuleLoadDataEx", unsafe { handover::give(raw.cast(), make) })
    }
}

impl Function {
    /// Calls `use_it` with the kernel as one of cust's, for `launch!` and the questions that cust's kernels answer.
    ///
    /// # Errors
    /// Those of [`Module::as_cust`].
    ///
    /// ```no_run
    /// use gpu_driver::{Device, cust::function::FunctionAttribute};
    /// let kernel = Device::first()?.compile("extern \"C\" __global__ void f() {}")?.function("f")?;
    /// let registers = kernel.with_cust(|theirs| theirs.get_attribute(FunctionAttribute::NumRegisters))?;
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    pub fn with_cust<R>(&self, use_it: impl FnOnce(&cust::function::Function<'_>) -> R) -> Result<R> {
        let module = self.module().as_cust()?;
        // SAFETY: a kernel's handle, which its object does not destroy.
        let function = unsafe { handover::give(self.raw().cast(), || module.get_function("")) };
        Ok(use_it(&ours("cuModuleGetFunction", function)?))
    }

    /// A kernel of cust's, for launches of this library. Its module stays cust's. `name` is its name in errors.
    ///
    /// The sizes of its arguments are compared with the kernel, their types are not known.
    ///
    /// # Safety
    /// The module was loaded with the context of `device` current ([`Device::make_current`]). It is not unloaded while a clone of this kernel, work that
    /// one has enqueued, or a graph with such work is left.
    pub unsafe fn from_cust(device: &Device, function: &cust::function::Function<'_>, name: &str) -> Self {
        Self::new(Module::of_raw(device, null_mut(), false), function.to_raw(), name.to_owned())
    }
}
