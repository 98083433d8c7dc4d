//! Files that are either complete or as they were before.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::NamedTempFile;

use crate::{Result, SparseError};

/// Writes a file through a temporary one beside it, compressed when its name ends in `.gz`.
pub(super) fn replace_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    try_replace(path, write).map_err(|source| SparseError::File { path: path.to_owned(), source })
}

fn try_replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    // A link stays a link: the file it leads to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let old = fs::metadata(&target).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file, so it cannot be replaced"));
    }
    let mut file = temporary_beside(&target, old.map(|old| old.permissions()))?;
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz")) {
        let mut encoder = GzEncoder::new(&mut file, Compression::default());
        write(&mut encoder)?;
        encoder.finish()?;
    } else {
        write(&mut file)?;
    }
    // Without this a crash soon after could leave the new name on an empty file.
    file.as_file().sync_all()?;
    file.persist(&target).map(drop).map_err(|error| error.error)
}

fn temporary_beside(target: &Path, permissions: Option<Permissions>) -> io::Result<NamedTempFile> {
    let folder = match target.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".mtx-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As File::create would make it (less the umask), unless an older file says otherwise.
        builder.permissions(permissions.unwrap_or_else(|| Permissions::from_mode(0o666)));
    }
    #[cfg(not(unix))]
    drop(permissions);
    builder.tempfile_in(folder)
}
