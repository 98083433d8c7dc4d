//! Files and streams that the program writes to.

use std::{
    fs::{self, OpenOptions},
    io::{self, BufWriter, Write},
    path::Path,
};

use gpu_sparse::io::{write_vector, write_vector_to};
use tempfile::NamedTempFile;

use crate::Outcome;

/// The kind of thing that a path names.
enum Destination {
    /// A file, or nothing yet: replaced as a whole, so that it is complete or as it was.
    File,
    /// The program's own output.
    Stdout,
    /// A pipe or a device: written to.
    Stream,
}

impl Destination {
    fn of(path: &Path) -> Self {
        if [Path::new("/dev/stdout"), Path::new("/dev/fd/1"), Path::new("/proc/self/fd/1")].contains(&path) {
            return Self::Stdout;
        }
        let is_stream = fs::metadata(path).is_ok_and(|is| !is.is_file() && !is.is_dir());
        if is_stream || path.starts_with("/dev/fd") || path.starts_with("/proc/self/fd") {
            return Self::Stream;
        }
        Self::File
    }
}

/// Writes a vector as Matrix Market text.
pub(crate) fn vector(path: &Path, x: &[f64]) -> Outcome<()> {
    match Destination::of(path) {
        Destination::File => Ok(write_vector(path, x)?),
        Destination::Stdout => Ok(write_vector_to(io::stdout().lock(), x)?),
        Destination::Stream => stream(path, |out| write_vector_to(out, x)),
    }
}

/// Writes a text.
pub(crate) fn text(path: &Path, text: &str) -> Outcome<()> {
    match Destination::of(path) {
        Destination::File => replace(path, text).map_err(|error| named(path, &error)),
        Destination::Stdout => Ok(io::stdout().lock().write_all(text.as_bytes())?),
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
    let folder = target.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    // As any new file would be, unless an older one says otherwise.
    let permissions = match fs::metadata(&target) {
        Ok(old) => old.permissions(),
        Err(_) => std::os::unix::fs::PermissionsExt::from_mode(0o644),
    };
    file.as_file().set_permissions(permissions)?;
    file.persist(&target).map(drop).map_err(|error| error.error)
}

fn named(path: &Path, error: &io::Error) -> Box<dyn std::error::Error> {
    format!("{}: {error}", path.display()).into()
}
