//! Captures under way, and the resources that captured graphs own.
//!
//! A captured launch runs whenever its graph does, so all that it reads and no caller can see has to live as long as the graph:
//!
//! * Memory that is allocated within a capture belongs to its buffer and to the graph, and goes when both have gone.
//! * A buffer that is released within a capture becomes the graph's.
//! * Scratch memory, the modules of captured kernels and the values of [`Stream::retain_in_graph`] are the graph's.

use std::{
    fmt,
    marker::PhantomData,
    sync::{Arc, RwLockReadGuard},
};

use gpu_driver_core::lock;

use crate::{
    DriverError, Result, Stream,
    context::{Context, Current, Resource, Resources},
};

/// A capture of this thread, from its announcement to its end.
pub(crate) struct Capturing<'a> {
    context: &'a Context,
    others: Option<RwLockReadGuard<'a, ()>>,
    /// The list of a thread's captures belongs to the thread.
    _not_send: PhantomData<*const ()>,
}

impl<'a> Capturing<'a> {
    /// Announces a capture of this thread until the guard goes.
    pub(crate) fn announce(context: &'a Context) -> Self {
        Self { context, others: context.captures.begin(context.raw()), _not_send: PhantomData }
    }
}

impl Drop for Capturing<'_> {
    fn drop(&mut self) {
        self.context.captures.end();
        drop(self.others.take());
        self.context.release_left();
    }
}

/// The resources of a graph; released when the device has done its work.
pub(crate) struct GraphResources {
    context: Arc<Context>,
    resources: Resources,
}

impl GraphResources {
    /// Takes over the resources of a capture that has ended.
    pub(crate) fn of_capture(context: &Arc<Context>, number: u64) -> Self {
        Self { context: context.clone(), resources: context.close_capture(number) }
    }
}

impl Drop for GraphResources {
    fn drop(&mut self) {
        self.context.release_of_graph(std::mem::take(&mut self.resources));
    }
}

impl fmt::Debug for GraphResources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Resources { list, buffers, .. } = &self.resources;
        write!(f, "{} resources and {} buffers of a graph", list.len(), buffers.len())
    }
}

impl Stream {
    /// Keeps a value until the graph goes that this stream is being captured for; true then.
    ///
    /// Outside of a [`Stream::capture`] nothing is kept, and the result is false.
    ///
    /// For launches that read memory which is no argument the caller could see, such as tables: `Arc<DeviceVec<_>>`. CUDA calls such values user
    /// objects of a graph.
    ///
    /// # Errors
    /// `Cuda` with `STREAM_CAPTURE_INVALIDATED` where an error has ended the capture; `DeviceLost`.
    ///
    /// ```no_run
    /// use std::sync::Arc;
    /// use gpu_driver::{Device, DeviceVec, DriverError};
    /// let stream = Device::first()?.stream();
    /// let table = Arc::new(DeviceVec::from_slice(&stream, &[1.0f32, 2.0])?);
    /// let (graph, ()) = stream.capture(|| {
    ///     stream.retain_in_graph(&table)?;
    ///     // … launch a kernel that reads the table …
    ///     Ok::<_, DriverError>(())
    /// })?;
    /// drop(table); // the graph has it
    /// # Ok::<(), DriverError>(())
    /// ```
    pub fn retain_in_graph<T: Send + Sync + 'static>(&self, value: &Arc<T>) -> Result<bool> {
        let context = &self.device().0;
        if !context.captures.any() {
            return Ok(false);
        }
        self.keep_in_graph(value, &self.device().enter()?)
    }

    /// [`Stream::retain_in_graph`] within a call that has entered the device.
    fn keep_in_graph<T: Send + Sync + 'static>(&self, value: &Arc<T>, current: &Current) -> Result<bool> {
        let context = &self.device().0;
        let Some(number) = context.own_capture_of(self.as_raw(), current)? else { return Ok(false) };
        let mut owned = lock(&context.captures.owned);
        // Another thread may have ended the capture since.
        let Some(Resources { list, .. }) = owned.captures.get_mut(&number) else { return Ok(false) };
        let this = Arc::as_ptr(value).cast::<()>();
        // A value that is launched with again and again is found near the end.
        let same =
            |resource: &Resource| matches!(resource, Resource::Value(other) if Arc::as_ptr(other).cast::<()>() == this);
        if !list.iter().rev().any(same) {
            list.push(Resource::Value(value.clone()));
        }
        Ok(true)
    }

    /// Lets go of an object in its Drop, once no work of the stream uses it: the graph has it from then on, within a capture, else the stream is waited for.
    /// An error is reported later; earlier ones of other drops stay where they are.
    pub(crate) fn release_in_order<T: Send + Sync + 'static>(&self, name: &'static str, object: Arc<T>) {
        let context = &self.device().0;
        let released = context.enter_quietly().and_then(|current| {
            let is_kept = context.captures.any() && self.keep_in_graph(&object, &current).unwrap_or(false);
            if is_kept { Ok(()) } else { self.synchronize_entered(&current) }
        });
        if let Err(error) = released {
            let is_lost = matches!(error, DriverError::DeviceLost { .. });
            context.report_later(name, error);
            // Nothing runs on a lost device. On another one work may still use the object, which is leaked then.
            if !is_lost {
                std::mem::forget(object);
            }
        }
    }

    /// The number of the capture that the stream is part of, which no other one of the process's time has. None outside.
    ///
    /// # Errors
    /// `Cuda` with `STREAM_CAPTURE_INVALIDATED` where an error has ended the capture; else the driver's error.
    pub fn capture_number(&self) -> Result<Option<u64>> {
        let current = self.device().enter()?;
        self.device().0.capture_of(self.as_raw(), &current)
    }

    /// Whether the stream is being captured.
    ///
    /// # Errors
    /// The driver's error.
    pub fn is_capturing(&self) -> Result<bool> {
        let current = self.device().enter()?;
        self.device().0.is_capturing(self.as_raw(), &current)
    }

    /// [`Stream::not_captured`]; and until the guard goes the stream joins no capture, which another thread may begin. Work that a graph cannot hold is
    /// enqueued, and waited for, under the guard. Its thread begins and joins no capture meanwhile, allocates and drops no value of the user.
    #[must_use = "the stream may join a capture when it goes"]
    pub(crate) fn uncaptured(&self, op: &'static str, current: &Current) -> Result<RwLockReadGuard<'_, ()>> {
        let steady = self.device().0.captures.steady();
        self.not_captured(op, current)?;
        Ok(steady)
    }

    /// Refuses an operation that a graph cannot hold where the stream is captured, before the driver sees it, so the capture goes on.
    pub(crate) fn not_captured(&self, op: &'static str, current: &Current) -> Result<()> {
        match self.device().0.own_capture_of(self.as_raw(), current)? {
            None => Ok(()),
            Some(_) => Err(DriverError::InCapture { op }),
        }
    }
}
