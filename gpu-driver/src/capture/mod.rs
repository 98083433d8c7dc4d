//! Captures under way, and the resources that captured graphs own.
//!
//! A captured launch runs whenever its graph does, so all that it reads and no caller can see has to live as long as the graph:
//!
//! * Memory that is allocated within a capture belongs to its buffer and to the graph, and goes when both have gone.
//! * A buffer that is released within a capture becomes the graph's.
//! * Scratch memory, the modules of captured kernels and the values of [`Stream::retain_in_graph`] are the graph's.
//!
//! # Locks
//! `cuCtxSynchronize` would end every capture of the context. So each capture holds `gate` shared, and such a wait holds it alone, but no thread ever
//! waits to hold it alone: a capture may begin beside others at any time, also in a thread that another capture waits for.
//!
//! Whether a stream is captured decides where memory comes from. `joining` is held shared from that question to the call that depends on the answer,
//! and alone while a stream becomes part of a capture.

use std::{
    cell::RefCell,
    marker::PhantomData,
    mem::ManuallyDrop,
    sync::{Arc, MutexGuard, PoisonError, RwLockReadGuard, RwLockWriteGuard, TryLockError, atomic::Ordering},
};

use cust::sys::CUstream;
use gpu_driver_core::lock;

use crate::{
    CudaCode, DriverError, Result, Stream,
    device::{Context, Current},
    sys,
};

mod resources;
mod state;

pub(crate) use resources::GraphResources;
pub(crate) use state::{Captures, Resource};

thread_local! {
    /// The contexts of the captures that this thread is in. Never destroyed: a module in another thread-local variable may
    /// be dropped later than this would be.
    static CAPTURES: RefCell<ManuallyDrop<Vec<usize>>> = const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

/// A capture of this thread; see [`Context::capturing`].
pub(crate) struct Capturing<'a> {
    context: &'a Context,
    others: Option<RwLockReadGuard<'a, ()>>,
    /// The list belongs to a thread.
    _not_send: PhantomData<*const ()>,
}

impl Drop for Capturing<'_> {
    fn drop(&mut self) {
        // Captures of one thread are nested, so the last one ends first.
        CAPTURES.with_borrow_mut(|captures| captures.pop());
        self.context.captures.under_way.fetch_sub(1, Ordering::Release);
        drop(self.others.take());
        self.context.release_left();
    }
}

/// No capture is under way, and none begins.
pub(crate) struct Alone<'a> {
    _gate: RwLockWriteGuard<'a, ()>,
    _turn: MutexGuard<'a, ()>,
}

impl Context {
    /// Announces a capture of this thread until the guard goes.
    pub(crate) fn capturing(&self) -> Capturing<'_> {
        // A second shared lock of one thread is not needed, and could wait for a thread that waits for the first.
        let first = !self.captures_here();
        let others = first.then(|| self.captures.gate.read().unwrap_or_else(PoisonError::into_inner));
        CAPTURES.with_borrow_mut(|captures| captures.push(self.raw() as usize));
        self.captures.under_way.fetch_add(1, Ordering::AcqRel);
        Capturing { context: self, others, _not_send: PhantomData }
    }

    /// Whether this thread is in a capture of the context.
    pub(crate) fn captures_here(&self) -> bool {
        CAPTURES.with_borrow(|captures| captures.contains(&(self.raw() as usize)))
    }

    /// Keeps captures from beginning; None where one is under way. Waits for another thread that is alone, and so for the device at most.
    pub(crate) fn alone(&self) -> Option<Alone<'_>> {
        self.alone_with(lock(&self.captures.turn))
    }

    /// [`Context::alone`], or None where another thread is.
    fn alone_at_once(&self) -> Option<Alone<'_>> {
        match self.captures.turn.try_lock() {
            Ok(turn) => self.alone_with(turn),
            Err(TryLockError::Poisoned(turn)) => self.alone_with(turn.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn alone_with<'a>(&'a self, turn: MutexGuard<'a, ()>) -> Option<Alone<'a>> {
        match self.captures.gate.try_write() {
            Ok(gate) => Some(Alone { _gate: gate, _turn: turn }),
            Err(TryLockError::Poisoned(gate)) => Some(Alone { _gate: gate.into_inner(), _turn: turn }),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The number of the capture that a stream is part of, for the process's time. None outside.
    pub(crate) fn capture_of(&self, stream: CUstream, _current: &Current) -> Result<Option<u64>> {
        const ACTIVE: i32 = 1;
        const STREAM_CAPTURE_INVALIDATED: CudaCode = CudaCode(901);
        const CALL: &str = "cuStreamGetCaptureInfo";
        let (mut status, mut number) = (0, 0);
        // SAFETY: the pointers are valid for the call, the stream is alive.
        self.check(CALL, unsafe { sys::cuStreamGetCaptureInfo(stream, &mut status, &mut number) })?;
        match status {
            0 => Ok(None),
            ACTIVE => Ok(Some(number)),
            _ => Err(DriverError::Cuda { call: CALL, code: STREAM_CAPTURE_INVALIDATED }),
        }
    }

    /// [`Context::capture_of`] for captures of [`Stream::capture`] alone; costs next to nothing where there is none.
    pub(crate) fn own_capture_of(&self, stream: CUstream, current: &Current) -> Result<Option<u64>> {
        if !self.captures.any() {
            return Ok(None);
        }
        let number = self.capture_of(stream, current)?;
        Ok(number.filter(|number| lock(&self.captures.owned).is_ours(*number)))
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
        let current = self.device().enter()?;
        let Some(number) = context.own_capture_of(self.as_raw(), &current)? else { return Ok(false) };
        let mut owned = lock(&context.captures.owned);
        let list = &mut owned.captures.entry(number).or_default().list;
        let this = Arc::as_ptr(value).cast::<()>();
        // A value that is launched with again and again is found near the end.
        let same =
            |resource: &Resource| matches!(resource, Resource::Value(other) if Arc::as_ptr(other).cast::<()>() == this);
        if !list.iter().rev().any(same) {
            list.push(Resource::Value(value.clone()));
        }
        Ok(true)
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
        self.is_capturing_entered(&current)
    }

    pub(crate) fn is_capturing_entered(&self, _current: &Current) -> Result<bool> {
        let mut status = 0;
        // SAFETY: the pointer is valid for the call, the stream is alive.
        let code = unsafe { sys::cuStreamIsCapturing(self.as_raw(), &mut status) };
        self.device().check("cuStreamIsCapturing", code)?;
        Ok(status != 0)
    }

    /// Refuses an operation that a graph cannot hold where the stream is captured, before the driver sees it, so the capture goes on.
    pub(crate) fn not_captured(&self, op: &'static str, current: &Current) -> Result<()> {
        match self.device().0.own_capture_of(self.as_raw(), current)? {
            None => Ok(()),
            Some(_) => Err(DriverError::InCapture { op }),
        }
    }
}
