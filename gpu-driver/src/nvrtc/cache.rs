//! Compiled programs on disk.
//!
//! One file per program, named by a hash of all that goes into it. A file is written beside its place and renamed, so a
//! reader sees a whole file or none; it carries the hash of its contents, so a damaged one is compiled anew, never loaded.
//! A cache that cannot be read or written (no home folder, no space, no permission) costs time and is no error. One that other users could have
//! written is not used ([`super::private`]).

use std::{
    env,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Once,
};

use sha2::{Digest, Sha256};

use super::{Binary, BinaryKind, Origin, private};
use crate::{DriverError, Result};

/// First bytes of each file; the number changes with the layout.
const MAGIC: &[u8; 8] = b"GPUBIN\x002";

/// Hash of all that goes into a compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key([u8; 32]);

impl Key {
    /// Hashes the parts with their lengths, so that no two lists of parts give one input.
    pub(crate) fn of<'a>(parts: impl IntoIterator<Item = &'a str>) -> Self {
        Self::of_bytes(parts.into_iter().map(str::as_bytes))
    }

    /// Hashes parts that are no text, with their lengths.
    pub(crate) fn of_bytes<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    /// The hash in 64 digits.
    pub(crate) fn hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn file_name(self) -> String {
        self.hex() + ".gpubin"
    }
}

/// The folder: `GPU_CACHE_DIR` (`off` for none), else `gpu-driver` in the user's cache folder.
fn named() -> Option<PathBuf> {
    match env::var_os("GPU_CACHE_DIR") {
        Some(off) if off == "off" || off.is_empty() => None,
        Some(folder) => Some(folder.into()),
        None => Some(dirs::cache_dir()?.join("gpu-driver")),
    }
}

/// The folder of compiled kernels: `GPU_CACHE_DIR`, else `gpu-driver` in the user's cache folder; by its path without links.
///
/// None for `off`, or where no such folder can be. It need not be there yet: it is made, for this user alone, when something is to
/// be kept.
///
/// # Errors
/// `UnsafeCache` when another user could have put code into it, or could make it first, with a remedy. Compilation goes on without
/// a cache then, and says so once on the standard error.
pub fn folder() -> Result<Option<PathBuf>> {
    named().map_or(Ok(None), checked)
}

fn checked(folder: PathBuf) -> Result<Option<PathBuf>> {
    match private::checked(&folder) {
        Ok(Ok(real)) => Ok(Some(real)),
        Ok(Err(why)) => Err(DriverError::UnsafeCache { folder, why }),
        // It is not to be read: then nothing is.
        Err(_) => Ok(None),
    }
}

/// [`folder`] for a compilation, which goes on without one that is not safe.
pub(crate) fn usable() -> Option<PathBuf> {
    or_said(folder())
}

/// The folder of that name within [`folder`], on the same terms: it has an owner and a mode of its own.
pub(crate) fn usable_part(name: &str) -> Option<PathBuf> {
    or_said(checked(usable()?.join(name)))
}

/// The folder. Why it is not safe is said once.
fn or_said(folder: Result<Option<PathBuf>>) -> Option<PathBuf> {
    static SAID: Once = Once::new();
    folder.unwrap_or_else(|error| {
        SAID.call_once(|| eprintln!("gpu-driver: {error}"));
        None
    })
}

/// The entry of that key, if there is one and it is whole.
pub(super) fn load(folder: &Path, key: Key) -> Option<Binary> {
    decode(&private::read(&folder.join(key.file_name())).ok()?, key)
}

/// Stores an entry. Failure is not reported: the program is compiled again next time.
pub(super) fn store(folder: &Path, key: Key, binary: &Binary) {
    let _ = try_store(folder, key, binary);
}

fn try_store(folder: &Path, key: Key, binary: &Binary) -> io::Result<()> {
    write_whole(folder, &key.file_name(), &encode(key, binary))
}

/// Writes a file of a folder, which is made where it is missing; a reader sees the whole file or none.
pub(crate) fn write_whole(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let folder = private::make_folder(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(&folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(folder.join(name))?;
    Ok(())
}

/// Magic, key, hash of the rest, then: kind, names, image, each with its length.
fn encode(key: Key, binary: &Binary) -> Vec<u8> {
    let mut body = vec![match binary.kind {
        BinaryKind::Cubin => 0,
        BinaryKind::Ptx => 1,
        BinaryKind::SharedObject => 2,
    }];
    put(&mut body, &(binary.names.len() as u64).to_le_bytes());
    for (expression, lowered) in &binary.names {
        put(&mut body, expression.as_bytes());
        put(&mut body, lowered.as_bytes());
    }
    put(&mut body, binary.log.as_bytes());
    put(&mut body, &binary.image);
    [&MAGIC[..], &key.0, &Sha256::digest(&body), &body].concat()
}

fn put(body: &mut Vec<u8>, bytes: &[u8]) {
    body.extend((bytes.len() as u64).to_le_bytes());
    body.extend(bytes);
}

fn decode(file: &[u8], key: Key) -> Option<Binary> {
    let rest = file.strip_prefix(MAGIC)?.strip_prefix(&key.0)?;
    let (hash, body) = rest.split_at_checked(32)?;
    if hash != &Sha256::digest(body)[..] {
        return None;
    }
    let (kind, mut body) = body.split_first()?;
    let kind = match kind {
        0 => BinaryKind::Cubin,
        1 => BinaryKind::Ptx,
        2 => BinaryKind::SharedObject,
        _ => return None,
    };
    let count = u64::from_le_bytes(take(&mut body)?.try_into().ok()?);
    let mut names = Vec::new();
    for _ in 0..count {
        names.push((text(&mut body)?, text(&mut body)?));
    }
    let log = text(&mut body)?;
    let image = take(&mut body)?.to_vec();
    (body.is_empty() && !image.is_empty()).then_some(Binary { image, kind, names, log, origin: Origin::Cache })
}

fn take<'a>(body: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = body.split_at_checked(8)?;
    let length = usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()?;
    let (bytes, rest) = rest.split_at_checked(length)?;
    *body = rest;
    Some(bytes)
}

fn text(body: &mut &[u8]) -> Option<String> {
    String::from_utf8(take(body)?.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn sample() -> (Key, Binary) {
        let names = vec![("f<float>".to_owned(), "_Z1fIfEvv".to_owned())];
        let image = (0..500u32).map(|n| n as u8).collect();
        let binary = Binary { image, kind: BinaryKind::Cubin, names, log: "a warning".into(), origin: Origin::Cache };
        (Key::of(["source", "sm_90"]), binary)
    }

    #[test]
    fn keys_depend_on_where_parts_end() {
        assert_ne!(Key::of(["ab", "c"]), Key::of(["a", "bc"]));
        assert_ne!(Key::of(["a"]), Key::of(["a", ""]));
        assert_eq!(Key::of(["a", "b"]), Key::of(["a", "b"]));
    }

    #[test]
    fn what_is_stored_comes_back_and_other_keys_miss() {
        let folder = tempfile::tempdir().unwrap();
        let (key, binary) = sample();
        assert_eq!(load(folder.path(), key), None);
        store(folder.path(), key, &binary);
        assert_eq!(load(folder.path(), key), Some(binary));
        // The right file under a wrong name is refused too.
        let other = Key::of(["other"]);
        fs::copy(folder.path().join(key.file_name()), folder.path().join(other.file_name())).unwrap();
        assert_eq!(load(folder.path(), other), None);
    }

    #[test]
    fn every_damaged_byte_and_every_cut_is_a_miss() {
        let (key, binary) = sample();
        let whole = encode(key, &binary);
        assert_eq!(decode(&whole, key).as_ref(), Some(&binary));
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << (at % 8);
            assert_eq!(decode(&damaged, key), None, "byte {at}");
            assert_eq!(decode(&whole[..at], key), None, "cut at {at}");
        }
        assert_eq!(decode(&[&whole[..], b"x"].concat(), key), None);
    }

    #[test]
    fn an_entry_that_others_can_write_is_a_miss() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (key, binary) = sample();
        store(folder.path(), key, &binary);
        let file = folder.path().join(key.file_name());
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(load(folder.path(), key), None);
        store(folder.path(), key, &binary);
        assert_eq!(load(folder.path(), key), Some(binary), "written anew");
    }

    #[test]
    fn nothing_is_kept_in_a_folder_that_others_can_write() {
        use std::os::unix::fs::PermissionsExt;
        let outer = tempfile::tempdir().unwrap();
        let (key, binary) = sample();
        // One that another user has made since it was looked at, or one below it.
        fs::set_permissions(outer.path(), fs::Permissions::from_mode(0o777)).unwrap();
        for folder in [outer.path().to_owned(), outer.path().join("below")] {
            assert!(matches!(checked(folder.clone()), Err(DriverError::UnsafeCache { .. })), "{folder:?}");
            let error = try_store(&folder, key, &binary).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{folder:?}");
            assert!(!folder.join(key.file_name()).exists());
        }
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_no_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (key, binary) = sample();
        store(file.path(), key, &binary); // a file where the folder should be
        assert_eq!(load(file.path(), key), None);
    }

    #[test]
    fn concurrent_writers_never_show_half_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let (key, binary) = sample();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..50).for_each(|_| store(folder.path(), key, &binary)));
            }
            scope.spawn(|| {
                for _ in 0..500 {
                    if folder.path().join(key.file_name()).exists() {
                        assert_eq!(load(folder.path(), key).as_ref(), Some(&binary));
                    }
                }
            });
        });
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "temporary files stay behind");
    }
}
