//! The folder of a compilation: its sources where a debugger looks for them, what the compiler reads, the image.
//!
//! A folder is filled beside its place and renamed, so it is whole or not there. The image carries a hash: a damaged one is
//! compiled anew.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use tempfile::TempDir;

use super::Compiled;
use crate::nvrtc::{cache::Key, private};

/// What the compiler reads and writes stands in this folder, apart from the sources.
pub(super) const INNER: &str = ".gpu";

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
    /// A new folder for `key` in the cache, or among the temporary files where there is no cache that can be written.
    pub(super) fn new(cache: Option<&Path>, key: &str) -> io::Result<Self> {
        let cached = |cache: &Path| {
            private::make_folder(cache).ok()?;
            TempDir::with_prefix_in(".new-", cache).ok()
        };
        let (temporary, place) = match cache.and_then(|cache| Some((cached(cache)?, cache.canonicalize().ok()?))) {
            Some((temporary, cache)) => (temporary, Some(cache.join(key))),
            None => (TempDir::with_prefix("gpu-emulated-")?, None),
        };
        let path = temporary.path().canonicalize()?;
        fs::create_dir(path.join(INNER))?;
        Ok(Self { temporary, path, place, key: key.to_owned() })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn inner(&self) -> PathBuf {
        self.path.join(INNER)
    }

    /// Where it will be found; without a cache a name that is the same each time.
    pub(super) fn place(&self) -> PathBuf {
        self.place.clone().unwrap_or_else(|| Path::new("/gpu-emulated").join(&self.key))
    }

    /// Writes a file below `part` of the inner folder.
    pub(super) fn write(&self, part: &str, name: &str, text: &str) -> io::Result<()> {
        let path = self.inner().join(part).join(name);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, text)
    }

    /// Writes a source as the user wrote it, for debuggers. Where its name is no path inside the folder there is none.
    pub(super) fn write_original(&self, name: &str, text: &str) {
        if is_inside(name) && !Path::new(name).starts_with(INNER) {
            let path = self.path.join(name);
            let _ = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, text));
        }
    }

    /// Leaves the folder in the cache. Failure costs a compilation next time.
    pub(super) fn keep(self, compiled: &Compiled) {
        let Some(place) = self.place.clone() else { return };
        if self.seal(compiled).is_err() {
            return;
        }
        let done = || fs::rename(&self.path, &place);
        // A folder that is in the way was refused as damaged, or another process was faster; either may go.
        let _ = done().or_else(|_| {
            let old = TempDir::with_prefix_in(".old-", self.path.parent().unwrap_or(&place))?;
            fs::rename(&place, old.path().join("folder"))?;
            done()
        });
        // Renamed or not, what is left under the temporary name goes now.
        drop(self.temporary);
    }

    fn seal(&self, compiled: &Compiled) -> io::Result<()> {
        let inner = self.inner();
        for name in ["program.o", "log"] {
            fs::remove_file(inner.join(name))?;
        }
        // Our headers are the same for every program, and larger than most.
        fs::remove_dir_all(inner.join("cuda"))?;
        // The compiler has written the image as the user's mask says.
        fs::remove_file(inner.join("image.so"))?;
        private::write(&inner.join("image.so"), &compiled.image)?;
        private::write(&inner.join("messages"), compiled.log.as_bytes())?;
        private::write(&inner.join("hash"), seal_of(&self.key, &compiled.image, &compiled.log).as_bytes())
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside() {
        assert!(["a.h", "a/b.h", "./a.h", "a b", "..a"].iter().all(|name| is_inside(name)));
        assert!(["", "/a.h", "../a.h", "a/../../b.h", "a/", ".."].iter().all(|name| !is_inside(name)));
    }
}
