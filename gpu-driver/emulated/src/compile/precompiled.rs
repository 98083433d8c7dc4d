//! The emulated headers as GCC has read them: a precompiled header for each set of options, beside the images in the cache.
//!
//! Every program begins with these headers, and with them read a small kernel takes GCC 12 a sixth less time. GCC compares the options of the header
//! with those of the program and reads the text that lies beside it where they differ, so a program means the same with and without.

use std::{
    collections::HashMap,
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Mutex,
};

use gpu_driver_core::{cache::Key, lock, private};

use super::{
    Build, flags, folder,
    lock::CompileLock,
    process,
    program::{INCLUDE, PREAMBLE},
};

/// The folder within the cache.
const FOLDER: &str = "headers";

/// The header that a program is given before its text; GCC takes the file of that name with `.gch` behind it.
const FIRST: &str = "gpu_emulated_first.h";
const PRECOMPILED: &str = "gpu_emulated_first.h.gch";
const SEAL: &str = "hash";

/// Folders that this process has looked at, and whether they serve.
static KNOWN: Mutex<Option<HashMap<PathBuf, bool>>> = Mutex::new(None);

/// A folder with the headers as text and precompiled.
#[derive(Debug)]
pub(super) struct Precompiled(PathBuf);

impl Precompiled {
    /// The headers for a build with these options of the compiler, made if they are not there. None where they cannot be kept, or not be made: the
    /// program then reads their texts.
    pub(super) fn of(build: &Build<'_>, flags: &[String]) -> Option<Self> {
        let cache = build.cache.filter(|_| build.precompiles && !build.toolchain.is_clang)?;
        let identity = build.toolchain.identity();
        let texts = build.headers.iter().flat_map(|(name, text)| [*name, *text]);
        let given = [env!("CARGO_PKG_VERSION"), &identity, PREAMBLE].into_iter().chain(texts);
        let key = Key::of(given.chain(flags.iter().map(String::as_str))).hex();
        let place = cache.join(FOLDER).join(&key);
        // Held while they are made: other threads need the same ones.
        let mut known = lock(&KNOWN);
        let known = known.get_or_insert_default();
        let serves = match known.get(&place) {
            Some(false) => false,
            // The cache may have been emptied meanwhile.
            Some(true) if place.join(FIRST).exists() => true,
            _ => {
                let is_there = || is_whole(build, &place, &key).unwrap_or(false);
                is_there() || {
                    // No program's lock has a file of that name: whoever compiles one holds its lock here.
                    let _lock = CompileLock::take(cache, &format!("h{key}"), build.limit);
                    is_there() || make(build, flags, &place, &key).is_ok()
                }
            }
        };
        known.insert(place.clone(), serves);
        serves.then_some(Self(place))
    }

    /// The options that put the headers before a program's text.
    pub(super) fn options(&self) -> [String; 3] {
        let file = |name: &str| self.0.join(name).display().to_string();
        ["-include".to_owned(), file(FIRST), format!("-I{}", file("cuda"))]
    }
}

/// The text of the first header.
fn first() -> String {
    format!("{PREAMBLE}{INCLUDE}")
}

fn seal_of(key: &str, precompiled: &[u8]) -> String {
    Key::of_bytes([key.as_bytes(), precompiled]).hex()
}

/// Whether a folder of the cache is as it was made. The texts lie there for a compiler that refuses the precompiled header.
fn is_whole(build: &Build<'_>, place: &Path, key: &str) -> io::Result<bool> {
    for (name, text) in build.headers {
        if private::read(&place.join("cuda").join(name))? != text.as_bytes() {
            return Ok(false);
        }
    }
    let precompiled = private::read(&place.join(PRECOMPILED))?;
    let is_first = private::read(&place.join(FIRST))? == first().as_bytes();
    Ok(is_first && private::read(&place.join(SEAL))? == seal_of(key, &precompiled).as_bytes())
}

/// Fills the folder beside its place and renames it, so that it is whole or not there.
fn make(build: &Build<'_>, flags: &[String], place: &Path, key: &str) -> io::Result<()> {
    let within = private::make_folder(place.parent().unwrap_or(place))?;
    let folder = private::temporary_folder(".new-", &within)?;
    let path = folder.path().canonicalize()?;
    private::make_folders(&path.join("cuda"))?;
    for (name, text) in build.headers {
        private::write(&path.join("cuda").join(name), text.as_bytes())?;
    }
    private::write(&path.join(FIRST), first().as_bytes())?;
    let mut command = build.toolchain.command();
    command.current_dir(&path).env("PWD", &path).args(flags).arg(flags::debug_folder(&path, place));
    command.args(["-c", "-x", "c++-header", FIRST, "-o", PRECOMPILED]);
    let run = process::run(command, &path, build.limit).map_err(|error| io::Error::other(error.to_string()))?;
    if !run.succeeded {
        return Err(io::Error::other(run.log));
    }
    let precompiled = path.join(PRECOMPILED);
    // The compiler has written it as the user's mask says.
    fs::set_permissions(&precompiled, fs::Permissions::from_mode(0o600))?;
    private::write(&path.join(SEAL), seal_of(key, &fs::read(&precompiled)?).as_bytes())?;
    folder::put(&path, place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::{Checks, CompileJob, DebugInfo, LIMIT, headers::HEADERS, toolchain::toolchain};

    const KERNEL: &str =
        "extern \"C\" __global__ void k(float *x) { __shared__ float s[2]; s[0] = 1; x[threadIdx.x] += s[0]; }";

    #[test]
    #[cfg_attr(not(has_cxx), ignore = "there was no C++ compiler when this was built")]
    fn programs_compile_with_headers_that_were_read_before() {
        let cache = tempfile::tempdir().unwrap();
        let (names, headers) = (["k".to_owned()], [("cuda_fp16.h".to_owned(), "#error ours is taken\n".to_owned())]);
        let text = format!("#include <cuda_fp16.h>\n{KERNEL}");
        let job = CompileJob { name: "k.cu", text: &text, headers: &headers, options: &[], names: &names };
        let build = |cache, precompiles| {
            let (checks, debug, toolchain) = (Checks::Access, DebugInfo::Lines, toolchain().unwrap());
            Build { job: &job, checks, debug, headers: HEADERS, toolchain, cache, precompiles, limit: LIMIT }
        };
        let compiled = build(Some(cache.path()), true).run().unwrap();
        assert_eq!(compiled.log, "");
        let places: Vec<_> =
            fs::read_dir(cache.path().join(FOLDER)).unwrap().map(|entry| entry.unwrap().path()).collect();
        let is_gcc = !toolchain().unwrap().is_clang;
        let [place] = &places[..] else { return assert!(!is_gcc, "{places:?}") };
        let key = place.file_name().unwrap().to_str().unwrap();
        let one = build(Some(cache.path()), true);
        assert!(is_whole(&one, place, key).unwrap());
        // Damaged, it is made anew; emptied while the process goes on, too.
        fs::write(place.join(PRECOMPILED), "damaged").unwrap();
        assert!(!is_whole(&one, place, key).unwrap());
        fs::remove_dir_all(cache.path().join(FOLDER)).unwrap();
        let other = CompileJob { text: KERNEL, ..job };
        Build { job: &other, ..build(Some(cache.path()), true) }.run().unwrap();
        assert!(is_whole(&one, place, key).unwrap());
        // Where nothing can be kept the texts are read.
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(build(Some(file.path()), true).run().is_ok());
    }
}
