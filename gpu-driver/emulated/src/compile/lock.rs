//! Threads and processes that share a cache compile a program once: the first compiles it, the others wait and find it.

use std::{
    fs::{File, OpenOptions, TryLockError},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use gpu_driver_core::private;

/// The folder within the cache. It holds one file for each value of a key's first byte.
pub(super) const FOLDER: &str = "locks";

/// The right to compile the program of a key; it ends when this is dropped, or with the process.
#[derive(Debug)]
pub(super) struct CompileLock(Option<File>);

impl Drop for CompileLock {
    /// A child that was forked meanwhile has the file open too, so closing it alone does not end the lock.
    fn drop(&mut self) {
        if let Some(file) = &self.0 {
            let _ = file.unlock();
        }
    }
}

impl CompileLock {
    /// Waits while others compile the program of `key`, or one that has the same file, at most for `limit`: a child that was
    /// forked while the lock was held keeps it after its parent has ended. It does not wait where the cache cannot be written.
    pub(super) fn take(cache: &Path, key: &str, limit: Duration) -> Self {
        Self(open(cache, key).filter(|file| wait(file, limit)))
    }
}

fn open(cache: &Path, key: &str) -> Option<File> {
    let folder = private::make_folder(&cache.join(FOLDER)).ok()?;
    let flags = libc::O_NOFOLLOW | libc::O_CLOEXEC;
    OpenOptions::new().write(true).create(true).mode(0o600).custom_flags(flags).open(folder.join(key.get(..2)?)).ok()
}

/// Whether the lock was had in time.
fn wait(file: &File, limit: Duration) -> bool {
    const PAUSE: Duration = Duration::from_millis(2);
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return true,
            Err(TryLockError::WouldBlock) if start.elapsed() < limit => thread::sleep(PAUSE),
            // A file system without locks.
            Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holds_the_lock_and_others_wait_for_it() {
        let cache = tempfile::tempdir().unwrap();
        let (short, long) = (Duration::from_millis(20), Duration::from_secs(60));
        let had = |key: &str, limit| CompileLock::take(cache.path(), key, limit).0.is_some();
        let held = CompileLock::take(cache.path(), "ab01", long);
        assert!(held.0.is_some() && !had("ab01", short) && !had("ab02", short) && had("ac01", short));
        let start = Instant::now();
        thread::scope(|scope| {
            let waits = scope.spawn(|| had("ab01", long));
            thread::sleep(short);
            drop(held);
            assert!(waits.join().unwrap());
        });
        assert!(start.elapsed() >= short);
    }

    #[test]
    fn a_cache_that_cannot_be_written_is_not_waited_for() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(CompileLock::take(file.path(), "ab01", Duration::MAX).0.is_none());
    }
}
