//! The error of an operator such as `+=`, which has no result to return it by.

use std::{
    panic::Location,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use gpu_driver::Device;

use crate::{ArrayError, Result};

/// The error of an operator on an array, for as long as the array has the elements that it had before the operator.
///
/// Calls on the array return it ([`Pending::check`]). Where none has, it goes to the array's device with the array.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    is_set: AtomicBool,
    failure: Mutex<Option<Box<Failure>>>,
}

#[derive(Debug)]
struct Failure {
    error: ArrayError,
    device: Device,
    /// A call has returned it.
    is_told: bool,
}

impl Pending {
    /// Keeps the error of the operator `op`, unless there is an earlier one: the first is the cause of later ones.
    pub(crate) fn set(
        &self,
        op: &'static str,
        location: &'static Location<'static>,
        error: ArrayError,
        device: &Device,
    ) {
        let mut slot = self.lock();
        slot.get_or_insert_with(|| {
            let error = ArrayError::Operator { op, location, source: Box::new(error) };
            Box::new(Failure { error, device: device.clone(), is_told: false })
        });
        self.is_set.store(true, Ordering::Release);
    }

    /// Whether there is an error.
    pub(crate) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    /// The error, for a text: it counts as returned by no call.
    pub(crate) fn peek(&self) -> Option<ArrayError> {
        if self.is_set() { self.lock().as_ref().map(|failure| failure.error.clone()) } else { None }
    }

    /// Returns the error, which stays.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_set() { self.tell(true) } else { Ok(()) }
    }

    /// Returns the error, which stays, unless a call has returned it before.
    pub(crate) fn check_untold(&self) -> Result<()> {
        if self.is_set() { self.tell(false) } else { Ok(()) }
    }

    fn tell(&self, again: bool) -> Result<()> {
        match self.lock().as_deref_mut() {
            Some(failure) if again || !failure.is_told => {
                failure.is_told = true;
                Err(failure.error.clone())
            }
            _ => Ok(()),
        }
    }

    /// Returns the error and forgets it.
    pub(crate) fn take(&self) -> Result<()> {
        if !self.is_set() {
            return Ok(());
        }
        // Under the lock, as in `set`: the flag always says whether there is an error.
        let mut slot = self.lock();
        self.is_set.store(false, Ordering::Release);
        slot.take().map_or(Ok(()), |failure| Err(failure.error))
    }

    /// Forgets the error, since all elements have been overwritten.
    pub(crate) fn clear(&self) {
        if self.is_set() {
            let _ = self.take();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Box<Failure>>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pending {
    /// An error that no call has returned is the error of the next call on the device, as others of a Drop are.
    fn drop(&mut self) {
        let slot = self.failure.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(failure) = slot.take().filter(|failure| !failure.is_told) {
            failure.device.report_in_drop("an array", &failure.error);
        }
    }
}
