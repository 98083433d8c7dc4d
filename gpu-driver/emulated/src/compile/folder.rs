//! The folder of a compilation: its sources where a debugger looks for them, the compiler's input, the image.
//!
//! A folder is filled beside its place and renamed, so it is whole or not there. The image carries a hash: a damaged one is
//! compiled anew.

use std::{
    env,
    ffi::CString,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Component, Path, PathBuf},
};

use gpu_driver_core::{cache::Key, private};
use tempfile::TempDir;

use super::Compiled;

/// The folder of the compiler's input and output, apart from the sources.
pub(super) const INNER: &str = ".gpu";

/// The compiler's input in that folder.
pub(super) const SOURCE: &str = "program.cpp";

/// The assembler's list of the files it has read, in that folder.
pub(super) const ASSEMBLED: &str = "assembled";

/// A folder in work. It is removed when it is dropped before it is kept.
#[derive(Debug)]
pub(super) struct Folder {
    temporary: TempDir,
    /// Its path without links, as the compiler sees it.
    path: PathBuf,
    place: Option<PathBuf>,
    key: String,
}

impl Folder {
    /// A new folder for `key` in the cache, or among the temporary files where there is no cache that can be written, or none that
    /// is safe. Nobody else can enter it: between two steps of the compiler its files could be exchanged.
    pub(super) fn new(cache: Option<&Path>, key: &str) -> io::Result<Self> {
        let cached = |cache: &Path| {
            let cache = private::make_folder(cache).ok()?;
            Some((private::temporary_folder(".new-", &cache).ok()?, cache.join(key)))
        };
        let (temporary, place) = match cache.and_then(cached) {
            Some((temporary, place)) => (temporary, Some(place)),
            None => (private::temporary_folder("gpu-emulated-", &env::temp_dir())?, None),
        };
        let path = temporary.path().canonicalize()?;
        private::make_folders(&path.join(INNER))?;
        Ok(Self { temporary, path, place, key: key.to_owned() })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn inner(&self) -> PathBuf {
        self.path.join(INNER)
    }

    /// The path at which it will be found; without a cache a name that is the same each time.
    pub(super) fn place(&self) -> PathBuf {
        self.place.clone().unwrap_or_else(|| Path::new("/gpu-emulated").join(&self.key))
    }

    /// Writes a file below `part` of the inner folder.
    pub(super) fn write(&self, part: &str, name: &str, text: &str) -> io::Result<()> {
        let path = self.inner().join(part).join(name);
        path.parent().map_or(Ok(()), private::make_folders)?;
        fs::write(path, text)
    }

    /// Writes a source as the user wrote it, for debuggers. Where its name is no path inside the folder there is none.
    pub(super) fn write_original(&self, name: &str, text: &str) {
        if is_inside(name) && !is_inner(name) {
            let path = self.path.join(name);
            let _ = path.parent().map_or(Ok(()), private::make_folders).and_then(|()| fs::write(path, text));
        }
    }

    /// Leaves the folder in the cache. Failure costs a compilation next time.
    pub(super) fn keep(self, compiled: &Compiled) {
        let Some(place) = self.place.clone() else { return };
        if self.seal(compiled).is_err() {
            return;
        }
        let _ = put(&self.path, &place);
        // Renamed or not, the rest under the temporary name goes now.
        drop(self.temporary);
    }

    fn seal(&self, compiled: &Compiled) -> io::Result<()> {
        let inner = self.inner();
        for name in ["program.o", "log"] {
            fs::remove_file(inner.join(name))?;
        }
        // Clang's assembler does not write it.
        let _ = fs::remove_file(inner.join(ASSEMBLED));
        // Our headers are the same for every program, and larger than most. Precompiled ones lie elsewhere.
        let _ = fs::remove_dir_all(inner.join("cuda"));
        // The compiler has written the image as the user's mask says.
        fs::remove_file(inner.join("image.so"))?;
        private::write(&inner.join("image.so"), &compiled.image)?;
        private::write(&inner.join("messages"), compiled.log.as_bytes())?;
        private::write(&inner.join("hash"), seal_of(&self.key, &compiled.image, &compiled.log).as_bytes())
    }
}

/// Renames a whole folder to its place beside it. Another process that reads there finds a whole folder at any time.
pub(super) fn put(folder: &Path, place: &Path) -> io::Result<()> {
    let done = || fs::rename(folder, place);
    // A folder that is in the way was refused as damaged, or another process was faster; either may go.
    done().or_else(|_| exchange(folder, place)).or_else(|_| {
        let old = private::temporary_folder(".old-", folder.parent().unwrap_or(place))?;
        fs::rename(place, old.path().join("folder"))?;
        done()
    })
}

/// Exchanges two folders in one step; an error where the file system cannot.
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    let name = |path: &Path| CString::new(path.as_os_str().as_bytes()).map_err(io::Error::from);
    let (one, other) = (name(one)?, name(other)?);
    // SAFETY: both names end in NUL and live until the call returns.
    let done =
        unsafe { libc::renameat2(libc::AT_FDCWD, one.as_ptr(), libc::AT_FDCWD, other.as_ptr(), libc::RENAME_EXCHANGE) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Image and messages of the folder for `key` in the cache, if it is there and whole.
pub(super) fn load(cache: &Path, key: &str) -> Option<(Vec<u8>, String)> {
    let inner = cache.join(key).join(INNER);
    let image = private::read(&inner.join("image.so")).ok()?;
    let log = String::from_utf8(private::read(&inner.join("messages")).ok()?).ok()?;
    let seal = String::from_utf8(private::read(&inner.join("hash")).ok()?).ok()?;
    (seal == seal_of(key, &image, &log)).then_some((image, log))
}

fn seal_of(key: &str, image: &[u8], log: &str) -> String {
    Key::of_bytes([key.as_bytes(), image, log.as_bytes()]).hex()
}

/// Whether a name is a path that stays inside the folder it is joined to.
pub(super) fn is_inside(name: &str) -> bool {
    let mut components = Path::new(name).components();
    !name.is_empty()
        && !name.ends_with('/')
        && components.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// Whether a relative path leads into the folder of our own files, however it is written.
fn is_inner(name: &str) -> bool {
    let first = Path::new(name).components().find(|part| *part != Component::CurDir);
    first == Some(Component::Normal(INNER.as_ref()))
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicBool, Ordering},
        thread,
    };

    use super::*;

    /// The usual mask leaves 0755 of a folder that is made without a word; with the mask 0 everybody could write to it.
    #[test]
    fn nobody_else_enters_a_folder_in_work() {
        use std::os::unix::fs::PermissionsExt;
        let cache = tempfile::tempdir().unwrap();
        let made = cache.path().join("made");
        for cache in [None, Some(cache.path()), Some(made.as_path())] {
            let folder = Folder::new(cache, "key").unwrap();
            folder.write("cuda", "a.h", "").unwrap();
            folder.write_original("sub/a.cu", "");
            let path = folder.path();
            assert_eq!(folder.place().starts_with("/gpu-emulated"), cache.is_none());
            for made in [path.to_owned(), folder.inner(), folder.inner().join("cuda"), path.join("sub")] {
                let mode = fs::metadata(&made).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o700, "{}", made.display());
            }
        }
    }

    #[test]
    fn a_cache_that_others_can_write_is_left_alone() {
        use std::os::unix::fs::PermissionsExt;
        let cache = tempfile::tempdir().unwrap();
        fs::set_permissions(cache.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let below = cache.path().join("emulated");
        for cache in [cache.path(), below.as_path()] {
            let folder = Folder::new(Some(cache), "key").unwrap();
            assert!(!folder.path().starts_with(cache) && folder.place().starts_with("/gpu-emulated"));
        }
    }

    /// Another process that reads in the folder while it is put there anew, as compilers do with headers, never finds it gone.
    #[test]
    fn a_folder_that_is_replaced_is_there_at_any_time() {
        let cache = tempfile::tempdir().unwrap();
        let place = cache.path().join("place");
        let put_anew = || {
            let folder = private::temporary_folder(".new-", cache.path()).unwrap();
            fs::write(folder.path().join("text"), "whole").unwrap();
            put(folder.path(), &place).unwrap();
        };
        put_anew();
        let text = place.join("text");
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut reads = 0;
                while !done.load(Ordering::Relaxed) || reads < 1000 {
                    assert!(text.exists(), "gone after {reads} reads");
                    reads += 1;
                }
            });
            (0..300).for_each(|_| put_anew());
            done.store(true, Ordering::Relaxed);
            reader.join().unwrap();
        });
        assert_eq!(fs::read_to_string(&text).unwrap(), "whole");
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn names_stay_inside() {
        assert!(["a.h", "a/b.h", "./a.h", "a b", "..a"].iter().all(|name| is_inside(name)));
        assert!(["", "/a.h", "../a.h", "a/../../b.h", "a/", ".."].iter().all(|name| !is_inside(name)));
        for inner in [format!("{INNER}/program.cpp"), format!("./{INNER}/a.h"), format!("././{INNER}")] {
            assert!(is_inner(&inner), "{inner}");
        }
        assert!(["a.h", "a/.gpu/b.h", "./a"].iter().all(|name| !is_inner(name)));
    }
}
