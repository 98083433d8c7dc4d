//! The folder of compiled programs, and the keys of its entries.
//!
//! A file is written beside its place and renamed, so a reader sees a whole file or none. A cache that cannot be read or written (no home folder,
//! no space, no permission) costs time and is no error. One that other users could have written is not used ([`crate::private`]).

use std::{
    env,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Once,
};

use sha2::{Digest, Sha256};

use crate::{DriverError, Result, private};

/// Hash of all that goes into a compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// Hashes the parts with their lengths, so that no two lists of parts give one input.
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a str>) -> Self {
        Self::of_bytes(parts.into_iter().map(str::as_bytes))
    }

    /// Hashes parts that are no text, with their lengths.
    pub fn of_bytes<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    /// The hash in 64 digits.
    pub fn hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The hash.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
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
/// `UnsafeCache` when another user could have put code into it, or could make it first, with a remedy; `Setting` for a folder that `GPU_CACHE_DIR`
/// names where it cannot be looked at, below a file or in a folder of others. Compilation goes on without a cache then, and says so once on the
/// standard error.
pub fn folder() -> Result<Option<PathBuf>> {
    let Some(folder) = named() else { return Ok(None) };
    let found = checked(folder.clone())?;
    match env::var_os("GPU_CACHE_DIR") {
        // Nobody asked for the one in the user's cache folder.
        Some(asked) if found.is_none() => Err(DriverError::Setting {
            name: "GPU_CACHE_DIR",
            value: asked.to_string_lossy().into_owned(),
            expected: "off, or a folder that is there or can be made",
        }),
        _ => Ok(found),
    }
}

/// [`folder`] for a folder of that name.
///
/// # Errors
/// Those of [`folder`].
pub fn checked(folder: PathBuf) -> Result<Option<PathBuf>> {
    match private::checked(&folder) {
        Ok(Ok(real)) => Ok(Some(real)),
        Ok(Err(why)) => Err(DriverError::UnsafeCache { folder, why }),
        // It is not to be read: then nothing is.
        Err(_) => Ok(None),
    }
}

/// [`folder`] for a compilation, which goes on without one that is not safe.
pub fn usable() -> Option<PathBuf> {
    or_said(folder())
}

/// The folder of that name within [`folder`], on the same terms: it has an owner and a mode of its own.
pub fn usable_part(name: &str) -> Option<PathBuf> {
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

/// Writes a file of a folder, which is made where it is missing; a reader sees the whole file or none.
///
/// # Errors
/// `PermissionDenied` for a folder that is not trusted; `InvalidInput` for a name that leads elsewhere; else the system's error.
pub fn write_whole(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    if Path::new(name).file_name() != Some(name.as_ref()) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("`{name}` is no name of a file in the folder"),
        ));
    }
    let folder = private::make_folder(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(&folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(folder.join(name))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn keys_depend_on_where_parts_end() {
        assert_ne!(Key::of(["ab", "c"]), Key::of(["a", "bc"]));
        assert_ne!(Key::of(["a"]), Key::of(["a", ""]));
        assert_eq!(Key::of(["a", "b"]), Key::of(["a", "b"]));
    }

    #[test]
    fn folders_that_others_can_write_are_refused() {
        let outer = tempfile::tempdir().unwrap();
        fs::set_permissions(outer.path(), fs::Permissions::from_mode(0o777)).unwrap();
        for folder in [outer.path().to_owned(), outer.path().join("below")] {
            assert!(matches!(checked(folder.clone()), Err(DriverError::UnsafeCache { .. })), "{folder:?}");
        }
    }
}
