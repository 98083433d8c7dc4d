//! The error of an operator such as `+=`, until a call can return it.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use crate::{ArrayError, Result};

/// The error of an operator, which could not return it: `x += …` has no result.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    is_set: AtomicBool,
    error: Mutex<Option<Box<ArrayError>>>,
}

impl Pending {
    /// Keeps an error, unless there is an earlier one.
    pub(crate) fn set(&self, error: ArrayError) {
        let mut slot = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        // The first error is the cause of later ones.
        slot.get_or_insert(Box::new(error));
        self.is_set.store(true, Ordering::Release);
    }

    /// The error of an operator, which stays to be returned.
    pub(crate) fn peek(&self) -> Option<ArrayError> {
        if !self.is_set.load(Ordering::Acquire) {
            return None;
        }
        self.error.lock().unwrap_or_else(PoisonError::into_inner).as_deref().cloned()
    }

    /// The error of an operator, once.
    pub(crate) fn check(&self) -> Result<()> {
        if !self.is_set.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut slot = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_set.store(false, Ordering::Release);
        slot.take().map_or(Ok(()), |error| Err(*error))
    }
}
