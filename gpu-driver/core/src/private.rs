//! Files that nobody else can have written: compiled code is run as the user's own.
//!
//! The rules are those of ssh for its keys. A folder of the cache, each folder above it and each file in it belong to this user or to root, and no
//! other user may write to them, except that a folder above may be one like `/tmp`, where nobody may rename files of another. Nobody else can turn a
//! path without links whose folders are all of that kind, so the file that was looked at is the file that is used; a path with links is never used.

use std::{
    fs::{DirBuilder, File, Metadata, OpenOptions, Permissions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use tempfile::TempDir;

/// The mode of a folder that only its owner can enter.
const OWNERS: u32 = 0o700;

const STICKY: u32 = 0o1000;
const OTHERS_WRITE: u32 = 0o002;
const GROUP_WRITES: u32 = 0o020;

/// The user who asks, by number, his group, and the one whom all trust.
#[derive(Clone, Copy)]
struct User {
    user: u32,
    group: u32,
    root: u32,
}

impl User {
    /// The one who runs this process.
    fn own() -> Self {
        // SAFETY: these calls take nothing and cannot fail.
        let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
        Self { user, group, root: 0 }
    }

    /// Why he does not trust a file or folder; None when he does.
    fn distrust(self, of: &Metadata, is_above: bool) -> Option<String> {
        if of.uid() != self.user && of.uid() != self.root {
            return Some(format!("belongs to user {}", of.uid()));
        }
        let mode = of.mode();
        if is_above && mode & STICKY != 0 {
            return None;
        }
        // A group that has the user's own number is his alone, by the convention of user-private groups.
        let own_group = of.gid() == self.group && self.group == self.user;
        if mode & OTHERS_WRITE != 0 || (mode & GROUP_WRITES != 0 && !own_group) {
            return Some(format!("can be written by other users (mode {:o})", mode & 0o7777));
        }
        None
    }
}

/// A folder's path without links; or why it is not trusted, with the path at fault.
pub type Checked = Result<PathBuf, String>;

/// Looks at a folder and at all above it. A folder that is not there yet is as good as the nearest one above it: that is where
/// another user would make it first.
///
/// # Errors
/// The system's error where the folder cannot be looked at.
pub fn checked(folder: &Path) -> io::Result<Checked> {
    checked_by(User::own(), folder)
}

fn checked_by(user: User, folder: &Path) -> io::Result<Checked> {
    let real = without_links(folder)?;
    for (depth, path) in real.ancestors().enumerate() {
        let is = match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            is => is?,
        };
        let why = if is.is_dir() { user.distrust(&is, depth > 0) } else { Some("is no folder".to_owned()) };
        if let Some(why) = why {
            return Ok(Err(format!("{} {why}", path.display())));
        }
    }
    Ok(Ok(real))
}

/// The path without links. A part that is not there yet keeps its name, below the nearest folder that is there.
fn without_links(path: &Path) -> io::Result<PathBuf> {
    let named = std::path::absolute(path)?;
    for above in named.ancestors() {
        match above.canonicalize() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            real => {
                let missing = named.strip_prefix(above).unwrap_or(Path::new(""));
                return Ok(real?.components().chain(missing.components()).collect());
            }
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

/// Makes a folder that only this user can enter, where there is none, and looks at it. Returns its path without links.
///
/// # Errors
/// `PermissionDenied` for a folder that is not trusted, whoever made it meanwhile; else the system's error.
pub fn make_folder(folder: &Path) -> io::Result<PathBuf> {
    make_folders(folder)?;
    checked(folder)?.map_err(|why| io::Error::new(io::ErrorKind::PermissionDenied, why))
}

/// Makes a folder of this user's alone, and those above it, where there is none; for places in a folder that is trusted.
///
/// # Errors
/// The system's error.
pub fn make_folders(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(OWNERS).create(folder)
}

/// A new folder that only this user can enter, whatever the mask is.
///
/// # Errors
/// The system's error.
pub fn temporary_folder(prefix: &str, within: &Path) -> io::Result<TempDir> {
    tempfile::Builder::new().prefix(prefix).permissions(Permissions::from_mode(OWNERS)).tempdir_in(within)
}

/// The contents of a file that is trusted. The opened file is the one that is looked at and read, whatever its name leads to meanwhile.
///
/// # Errors
/// `PermissionDenied` for a file that is not; else the system's error.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_by(User::own(), path)
}

fn read_by(user: User, path: &Path) -> io::Result<Vec<u8>> {
    let mut file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    let is = file.metadata()?;
    if let Some(why) = user.distrust(&is, false).or_else(|| (!is.is_file()).then(|| "is no file".to_owned())) {
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
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file: File = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// The path of a folder that is trusted.
    fn trusted(folder: &Path) -> PathBuf {
        checked(folder).unwrap().unwrap()
    }

    /// Why a folder is not trusted.
    fn reason(folder: &Path) -> String {
        checked(folder).unwrap().unwrap_err()
    }

    #[test]
    fn folders_that_others_can_write_are_distrusted() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().canonicalize().unwrap().join("a/cache");
        assert_eq!(make_folder(&folder).unwrap(), folder);
        assert_eq!(folder.metadata().unwrap().mode() & 0o777, 0o700);
        assert_eq!(trusted(&folder), folder);
        for (mode, is_trusted) in [(0o755, true), (0o500, true), (0o777, false), (0o702, false), (0o1777, false)] {
            set_mode(&folder, mode);
            assert_eq!(checked(&folder).unwrap().is_ok(), is_trusted, "{mode:o}");
            assert_eq!(make_folder(&folder).is_ok(), is_trusted, "{mode:o}");
        }
        set_mode(&folder, 0o700);
        // One above, and one that is as /tmp.
        set_mode(&outer.path().join("a"), 0o777);
        let why = reason(&folder);
        assert!(why.contains("can be written by other users (mode 777)"), "{why}");
        set_mode(&outer.path().join("a"), 0o1777);
        assert_eq!(trusted(&folder), folder);
    }

    #[test]
    fn a_folder_that_is_not_there_is_as_good_as_the_one_above_it() {
        let outer = tempfile::tempdir().unwrap();
        let real = outer.path().canonicalize().unwrap();
        let folder = real.join("open/a/cache");
        assert_eq!(trusted(&folder), folder);
        fs::create_dir(real.join("open")).unwrap();
        set_mode(&real.join("open"), 0o777);
        let why = reason(&folder);
        assert!(why.contains(&format!("{} can be written", real.join("open").display())), "{why}");
        // It is looked at once more when it has been made.
        assert_eq!(make_folder(&folder).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        set_mode(&real.join("open"), 0o755);
        assert_eq!(make_folder(&folder).unwrap(), folder);
        // A file is no folder.
        fs::write(real.join("file"), "").unwrap();
        assert!(reason(&real.join("file")).contains("is no folder"));
        assert!(checked(&real.join("file/cache")).is_err() && checked(Path::new("")).is_err());
    }

    #[test]
    fn links_are_followed_once() {
        let outer = tempfile::tempdir().unwrap();
        let real = outer.path().canonicalize().unwrap();
        let (folder, link) = (real.join("folder"), real.join("link"));
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        // It leads nowhere yet.
        assert!(reason(&link).contains("is no folder") && make_folder(&link).is_err());
        fs::create_dir(&folder).unwrap();
        assert_eq!(trusted(&link), folder);
        assert_eq!(trusted(&link.join("not/there")), folder.join("not/there"));
        assert_eq!(make_folder(&link.join("made")).unwrap(), folder.join("made"));
        set_mode(&folder, 0o777);
        assert!(reason(&link).contains("can be written by other users"));
    }

    #[test]
    fn temporary_folders_are_this_user_s_alone() {
        let outer = tempfile::tempdir().unwrap();
        let folder = temporary_folder(".new-", outer.path()).unwrap();
        assert_eq!(folder.path().metadata().unwrap().mode() & 0o777, 0o700);
        make_folders(&folder.path().join("a/b")).unwrap();
        assert_eq!(folder.path().join("a").metadata().unwrap().mode() & 0o777, 0o700);
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

    /// Numbers of users are arguments: only root could give a file away.
    #[test]
    fn other_users_files_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let (path, real) = (folder.path().join("file"), folder.path().canonicalize().unwrap());
        write(&path, b"bytes").unwrap();
        let owner = path.metadata().unwrap().uid();
        let other = User { user: owner + 1, group: owner + 1, root: owner + 2 };
        let belongs = format!("belongs to user {owner}");
        let error = read_by(other, &path).unwrap_err();
        assert!(error.kind() == io::ErrorKind::PermissionDenied && error.to_string().contains(&belongs), "{error}");
        // Nor is a folder trusted that is not there yet, where the other user could make it.
        for place in [real.clone(), real.join("not/there")] {
            let why = checked_by(other, &place).unwrap().unwrap_err();
            assert_eq!(why, format!("{} {belongs}", real.display()));
        }
        assert_eq!(read(&path).unwrap(), b"bytes");
        assert_eq!(trusted(&real), real);
    }

    #[test]
    fn every_user_trusts_his_own_files_and_root_s() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write(&path, b"bytes").unwrap();
        let (own, of_root) = (path.metadata().unwrap(), Path::new("/etc/passwd").metadata().unwrap());
        assert_eq!(of_root.uid(), 0);
        assert!(read(Path::new("/etc/passwd")).is_ok());
        let (user, other) = (own.uid(), own.uid() + 1);
        let distrust = |user, of: &Metadata| User { user, group: user, root: 0 }.distrust(of, false);
        assert_eq!((distrust(user, &own), distrust(user, &of_root), distrust(other, &of_root)), (None, None, None));
        assert_eq!(distrust(other, &own).is_some(), user != 0);
    }
}
