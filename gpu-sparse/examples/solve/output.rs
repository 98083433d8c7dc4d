//! Files and streams that the program writes to.

use std::{
    fs::{self, OpenOptions, Permissions},
    io::{self, BufWriter, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use gpu_sparse::io::{write_vector, write_vector_to};

use crate::Outcome;

/// The most links that Linux follows.
const MOST_LINKS: usize = 40;

/// The kind of thing that a path names.
enum Destination {
    /// A file, or nothing yet: replaced as a whole, so that it is complete or as it was.
    File,
    /// The program's own output.
    Stdout,
    /// The program's own standard error.
    Stderr,
    /// A pipe, a device, or a file that some process has open: written to.
    Stream,
}

impl Destination {
    /// Follows the links of a path one by one: a descriptor is told by its folder, and may have a regular file open.
    fn of(path: &Path) -> Self {
        let mut path = path.to_owned();
        for _ in 0..=MOST_LINKS {
            let folder = folder_of(&path);
            let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
            if holds_descriptors(&folder) {
                return Self::of_descriptor(&folder, &path);
            }
            let Ok(target) = fs::read_link(&path) else {
                let is_special = fs::metadata(&path).is_ok_and(|is| !is.is_file() && !is.is_dir());
                return if is_special { Self::Stream } else { Self::File };
            };
            path = folder.join(target);
        }
        // The error of opening it says that there are too many links.
        Self::Stream
    }

    /// The destination of a path to an open descriptor. The program's own output and error go through its own handles, in order with the rest.
    fn of_descriptor(folder: &Path, path: &Path) -> Self {
        let own = fs::canonicalize("/proc/self").unwrap_or_else(|_| PathBuf::from("/proc/self"));
        let is_own = folder == Path::new("/dev/fd") || folder.starts_with(own);
        match path.file_name().and_then(|name| name.to_str()).filter(|_| is_own) {
            Some("1") => Self::Stdout,
            Some("2") => Self::Stderr,
            _ => Self::Stream,
        }
    }
}

/// Whether the files of a folder are those that a process has open: `/dev/fd`, `/proc/<process>/fd`, or a thread's.
fn holds_descriptors(folder: &Path) -> bool {
    folder == Path::new("/dev/fd") || (folder.starts_with("/proc") && folder.ends_with("fd"))
}

/// The folder that a file is in, or would be.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."))
}

/// Writes a vector as Matrix Market text.
pub(crate) fn vector(path: &Path, x: &[f64]) -> Outcome<()> {
    match Destination::of(path) {
        Destination::File => Ok(write_vector(path, x)?),
        Destination::Stdout => Ok(write_vector_to(io::stdout().lock(), x)?),
        Destination::Stderr => Ok(write_vector_to(io::stderr().lock(), x)?),
        Destination::Stream => stream(path, |out| write_vector_to(out, x)),
    }
}

/// Writes a text.
pub(crate) fn text(path: &Path, text: &str) -> Outcome<()> {
    match Destination::of(path) {
        Destination::File => replace(path, text).map_err(|error| named(path, &error)),
        Destination::Stdout => Ok(io::stdout().lock().write_all(text.as_bytes())?),
        Destination::Stderr => Ok(io::stderr().lock().write_all(text.as_bytes())?),
        Destination::Stream => stream(path, |out| out.write_all(text.as_bytes())),
    }
}

/// Prints a line on standard output.
pub(crate) fn line(text: &str) -> Outcome<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(|error| format!("standard output: {error}").into())
}

fn stream(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Outcome<()> {
    let written = OpenOptions::new().append(true).open(path).and_then(|file| {
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()
    });
    written.map_err(|error| named(path, &error))
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    // A link stays a link: the file it leads to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let old = fs::metadata(&target).ok().map(|old| old.permissions());
    let mut builder = tempfile::Builder::new();
    if old.is_none() {
        // As any new file is made: less the umask.
        builder.permissions(Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder_of(&target))?;
    file.write_all(text.as_bytes())?;
    if let Some(old) = old {
        file.as_file().set_permissions(old)?;
    }
    file.as_file().sync_all()?;
    file.persist(&target).map(drop).map_err(|error| error.error)
}

fn named(path: &Path, error: &io::Error) -> Box<dyn std::error::Error> {
    format!("{}: {error}", path.display()).into()
}
