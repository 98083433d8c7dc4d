//! The child of a fork, in which no driver works.
//!
//! A driver's state belongs to the process that initialised it: its threads, mappings and handles are not the child's. CUDA answers a child's calls
//! by an error at best. So the child is marked when it begins, and asks no driver for anything.

use std::sync::{
    Once,
    atomic::{AtomicBool, Ordering},
};

static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Marks each child of a fork from now on.
pub fn watch() {
    unsafe extern "C" fn mark() {
        IS_CHILD.store(true, Ordering::Relaxed);
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the function may run in any child: it stores one word.
        let _no_memory = unsafe { libc::pthread_atfork(None, None, Some(mark)) };
    });
}

/// Whether this process is the child of a fork that came after [`watch`].
pub fn is_child() -> bool {
    IS_CHILD.load(Ordering::Relaxed)
}
