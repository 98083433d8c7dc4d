//! Files that nobody else can have written: compiled code is run as the user's own.
//!
//! The rules are those of ssh for its keys. A folder of the cache, each folder above it and each file in it belong to this user or to root, and no
//! other user may write to them, except that a folder above may be one like `/tmp`, where nobody may rename files of another.

use std::{
    fs::{DirBuilder, File, Metadata, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::Path,
};

const STICKY: u32 = 0o1000;
const OTHERS_WRITE: u32 = 0o002;
const GROUP_WRITES: u32 = 0o020;

/// Why a file or folder is not trusted; None when it is.
fn distrust(of: &Metadata, is_above: bool) -> Option<String> {
    // SAFETY: these calls take nothing and cannot fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    if of.uid() != user && of.uid() != 0 {
        return Some(format!("belongs to user {}", of.uid()));
    }
    let mode = of.mode();
    if is_above && mode & STICKY != 0 {
        return None;
    }
    // A group that has the user's own number is his alone, by the convention of user-private groups.
    let own_group = of.gid() == group && group == user;
    if mode & OTHERS_WRITE != 0 || (mode & GROUP_WRITES != 0 && !own_group) {
        return Some(format!("can be written by other users (mode {:o})", mode & 0o7777));
    }
    None
}

/// Why a folder that is there is not trusted, with the path; None when it is.
///
/// # Errors
/// `NotFound` when it is not there; else the system's error.
pub(crate) fn distrusted(folder: &Path) -> io::Result<Option<String>> {
    let real = folder.canonicalize()?;
    for (depth, path) in real.ancestors().enumerate() {
        let is = path.metadata()?;
        if depth == 0 && !is.is_dir() {
            return Ok(Some(format!("{} is no folder", path.display())));
        }
        if let Some(why) = distrust(&is, depth > 0) {
            return Ok(Some(format!("{} {why}", path.display())));
        }
    }
    Ok(None)
}

/// Makes a folder that only this user can enter, where there is none.
///
/// # Errors
/// The system's error.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// The contents of a file that is trusted. The opened file is the one that is looked at and read, whatever its name leads to meanwhile.
///
/// # Errors
/// `PermissionDenied` for a file that is not; else the system's error.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    let is = file.metadata()?;
    if let Some(why) = distrust(&is, false).or_else(|| (!is.is_file()).then(|| "is no file".to_owned())) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{} {why}", path.display())));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes a file that only this user can read and write.
///
/// # Errors
/// The system's error.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file: File = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn folders_that_others_can_write_are_distrusted() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("a/cache");
        assert_eq!(distrusted(&folder).unwrap_err().kind(), io::ErrorKind::NotFound);
        make_folder(&folder).unwrap();
        assert_eq!(folder.metadata().unwrap().mode() & 0o777, 0o700);
        assert_eq!(distrusted(&folder).unwrap(), None);
        for (mode, trusted) in [(0o755, true), (0o500, true), (0o777, false), (0o702, false), (0o1777, false)] {
            set_mode(&folder, mode);
            assert_eq!(distrusted(&folder).unwrap().is_none(), trusted, "{mode:o}");
        }
        set_mode(&folder, 0o700);
        // One above, and one that is as /tmp.
        set_mode(&outer.path().join("a"), 0o777);
        let why = distrusted(&folder).unwrap().unwrap();
        assert!(why.contains("can be written by other users (mode 777)"), "{why}");
        set_mode(&outer.path().join("a"), 0o1777);
        assert_eq!(distrusted(&folder).unwrap(), None);
        // A link leads to the folder that it names.
        let link = outer.path().join("link");
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        assert_eq!(distrusted(&link).unwrap(), None);
        set_mode(&folder, 0o777);
        assert!(distrusted(&link).unwrap().is_some());
    }

    #[test]
    fn files_that_others_can_write_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write(&path, b"bytes").unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        assert_eq!(read(&path).unwrap(), b"bytes");
        set_mode(&path, 0o646);
        assert_eq!(read(&path).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        set_mode(&path, 0o644);
        assert!(read(&path).is_ok());
        // Neither links nor folders.
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(read(&link).is_err() && read(folder.path()).is_err());
    }

    /// Only root can give a file away; elsewhere a file of root's is the one of another user, and trusted.
    #[test]
    fn other_users_files_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write(&path, b"bytes").unwrap();
        if std::os::unix::fs::chown(&path, Some(12_345), None).is_err() {
            assert!(read(Path::new("/etc/passwd")).is_ok());
            return;
        }
        let why = read(&path).unwrap_err().to_string();
        assert!(why.contains("belongs to user 12345"), "{why}");
        std::os::unix::fs::chown(folder.path(), Some(12_345), None).unwrap();
        assert!(distrusted(folder.path()).unwrap().unwrap().contains("belongs to user 12345"));
    }
}
