//! Compiled programs on disk.
//!
//! One file per program, named by a hash of all that goes into it. A file is written beside its place and renamed, so a
//! reader sees a whole file or none; it carries the hash of its contents, so a damaged one is compiled anew, never loaded.
//! A cache that cannot be read or written (no home folder, no space, no permission) costs time and is no error. One that other users could have
//! written is not used ([`gpu_driver_core::private`]).

use std::{io, path::Path};

use gpu_driver_core::{
    cache::{Key, write_whole},
    private,
};
use sha2::{Digest, Sha256};

use super::{Binary, BinaryKind, Origin};

/// First bytes of each file; the number changes with the layout.
const MAGIC: &[u8; 8] = b"GPUBIN\x002";

fn file_name(key: Key) -> String {
    key.hex() + ".gpubin"
}

/// The entry of that key, if there is one and it is whole.
pub(super) fn load(folder: &Path, key: Key) -> Option<Binary> {
    decode(&private::read(&folder.join(file_name(key))).ok()?, key)
}

/// Stores an entry. Failure is not reported: the program is compiled again next time.
pub(super) fn store(folder: &Path, key: Key, binary: &Binary) {
    let _ = try_store(folder, key, binary);
}

fn try_store(folder: &Path, key: Key, binary: &Binary) -> io::Result<()> {
    write_whole(folder, &file_name(key), &encode(key, binary))
}

/// Magic, key, hash of the rest, then: kind, names, image, each with its length.
fn encode(key: Key, binary: &Binary) -> Vec<u8> {
    let mut body = vec![match binary.kind {
        BinaryKind::Cubin => 0,
        BinaryKind::Ptx => 1,
        BinaryKind::SharedObject => 2,
        BinaryKind::Fatbin => 3,
    }];
    put(&mut body, &(binary.names.len() as u64).to_le_bytes());
    for (expression, lowered) in &binary.names {
        put(&mut body, expression.as_bytes());
        put(&mut body, lowered.as_bytes());
    }
    put(&mut body, binary.log.as_bytes());
    put(&mut body, &binary.image);
    [&MAGIC[..], key.bytes(), &Sha256::digest(&body), &body].concat()
}

pub(crate) fn put(body: &mut Vec<u8>, bytes: &[u8]) {
    body.extend((bytes.len() as u64).to_le_bytes());
    body.extend(bytes);
}

fn decode(file: &[u8], key: Key) -> Option<Binary> {
    let rest = file.strip_prefix(MAGIC)?.strip_prefix(key.bytes())?;
    let (hash, body) = rest.split_at_checked(32)?;
    if hash != &Sha256::digest(body)[..] {
        return None;
    }
    let (kind, mut body) = body.split_first()?;
    let kind = match kind {
        0 => BinaryKind::Cubin,
        1 => BinaryKind::Ptx,
        2 => BinaryKind::SharedObject,
        3 => BinaryKind::Fatbin,
        _ => return None,
    };
    let count = u64::from_le_bytes(take(&mut body)?.try_into().ok()?);
    let mut names = Vec::new();
    for _ in 0..count {
        names.push((text(&mut body)?, text(&mut body)?));
    }
    let log = text(&mut body)?;
    let image = take(&mut body)?.to_vec();
    (body.is_empty() && !image.is_empty()).then_some(Binary {
        image,
        kind,
        names,
        log,
        origin: Origin::Cache,
        text: "".into(),
        nvcc: None,
    })
}

pub(crate) fn take<'a>(body: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = body.split_at_checked(8)?;
    let length = usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()?;
    let (bytes, rest) = rest.split_at_checked(length)?;
    *body = rest;
    Some(bytes)
}

pub(crate) fn text(body: &mut &[u8]) -> Option<String> {
    String::from_utf8(take(body)?.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn sample() -> (Key, Binary) {
        let names = vec![("f<float>".to_owned(), "_Z1fIfEvv".to_owned())];
        let image = (0..500u32).map(|n| n as u8).collect();
        let binary = Binary {
            image,
            kind: BinaryKind::Cubin,
            names,
            log: "a warning".into(),
            origin: Origin::Cache,
            text: "".into(),
            nvcc: None,
        };
        (Key::of(["source", "sm_90"]), binary)
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
        fs::copy(folder.path().join(file_name(key)), folder.path().join(file_name(other))).unwrap();
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
        let file = folder.path().join(file_name(key));
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
            let error = try_store(&folder, key, &binary).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{folder:?}");
            assert!(!folder.join(file_name(key)).exists());
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
                    if folder.path().join(file_name(key)).exists() {
                        assert_eq!(load(folder.path(), key).as_ref(), Some(&binary));
                    }
                }
            });
        });
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "temporary files stay behind");
    }
}
