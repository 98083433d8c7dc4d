//! Compiles a program of the run-time compiler's language with the machine's C++ compiler.
//!
//! The text is rewritten where macros cannot give it its meaning ([`rewrite`]), the emulated headers are put before it and a
//! list of its kernels behind it, and the whole becomes a shared object without run-time libraries: every hook that the
//! compiler's checks call is defined in the headers and leads to the emulated driver.

use std::{
    env, fmt,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use gpu_driver_core::{CompileError, DriverError, PRELUDE_NAME, Result, cache, environment, includes};

use folder::{Folder, INNER, SOURCE};
use lock::CompileLock;
use options::{CompilerOptions, Files};
use precompiled::Precompiled;
use program::Program;

mod assembly;
mod constructors;
mod flags;
mod folder;
mod headers;
mod kernels;
mod lock;
mod options;
mod precompiled;
mod process;
mod program;
mod rewrite;
mod shared;
mod source;
mod toolchain;

pub use headers::{MATH_CONSTANTS, has_header};

use toolchain::{Toolchain, toolchain};

/// The mistakes that the emulated device looks for while a kernel runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Checks {
    /// Misaligned accesses alone, which a GPU refuses too.
    Off,
    /// Each access to memory besides.
    #[default]
    Access,
    /// Undefined behaviour of C++ besides: overflow, shifts, bounds, division by zero.
    Undefined,
}

impl Checks {
    /// The checks that `GPU_EMULATED_CHECKS` asks for.
    ///
    /// # Errors
    /// `Setting` when it says something else than off, access or undefined.
    pub(crate) fn from_environment() -> Result<Self> {
        const NAME: &str = "GPU_EMULATED_CHECKS";
        Self::named(&environment::text(NAME, Self::EXPECTED)?.unwrap_or_default())
    }

    const EXPECTED: &str = "access, undefined or off";

    fn named(value: &str) -> Result<Self> {
        match value {
            "off" => Ok(Self::Off),
            "access" | "" => Ok(Self::Access),
            "undefined" => Ok(Self::Undefined),
            other => Err(DriverError::Setting {
                name: "GPU_EMULATED_CHECKS",
                value: other.to_owned(),
                expected: Self::EXPECTED,
            }),
        }
    }
}

/// The debug information of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DebugInfo {
    /// Files and lines, which reports name.
    Lines,
    /// Variables and types besides, for a debugger. A kernel takes a fifth longer to compile.
    Variables,
}

impl DebugInfo {
    /// The information that `GPU_EMULATED_DEBUG` asks for.
    ///
    /// # Errors
    /// `Setting` when it says something else than lines or variables.
    pub(crate) fn from_environment() -> Result<Self> {
        environment::parse("GPU_EMULATED_DEBUG", "lines or variables", "lines", |value| match value {
            "lines" => Some(Self::Lines),
            "variables" => Some(Self::Variables),
            _ => None,
        })
    }
}

/// A program to compile.
#[derive(Clone, Copy, Debug)]
pub struct CompileJob<'a> {
    /// Its name in messages.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
    /// Names and texts of the headers that it may include.
    pub headers: &'a [(String, String)],
    /// Options of the run-time compiler.
    pub options: &'a [String],
    /// Name expressions of kernels.
    pub names: &'a [String],
}

/// A compiled program.
#[derive(Clone, PartialEq, Eq)]
pub struct Compiled {
    /// A shared object with the one symbol `gpu_emulated_module`.
    pub image: Vec<u8>,
    /// Each name expression and the name under which the module has its kernel.
    pub names: Vec<(String, String)>,
    /// Warnings, or nothing.
    pub log: String,
    /// Whether the compiler was spared.
    pub is_cached: bool,
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { image, names, log, .. } = self;
        write!(f, "Compiled {{ {} bytes, names: {names:?}, log: {log:?} }}", image.len())
    }
}

/// A compiler that takes longer is ended.
const LIMIT: Duration = Duration::from_secs(120);

/// Compiles a program, or takes the result from the cache.
///
/// # Errors
/// `Setting` for checks or debug information that do not exist; `NoCompiler`; `Compile` with the log when the text or an option is wrong; `Compiler`
/// when the compiler itself fails; `Nul` when a text holds a NUL character.
pub fn compile(job: &CompileJob) -> Result<Compiled> {
    let cache = cache::usable_part("emulated");
    let (headers, cache) = (headers::HEADERS, cache.as_deref());
    let (checks, debug) = (Checks::from_environment()?, DebugInfo::from_environment()?);
    Build { job, checks, debug, headers, toolchain: toolchain()?, cache, precompiles: true, limit: LIMIT }.run()
}

/// Whether there is a C++ compiler.
///
/// # Errors
/// `NoCompiler` with each command that was tried.
pub fn find_compiler() -> Result<()> {
    toolchain().map(drop)
}

/// A compilation and all that it depends on.
struct Build<'a> {
    job: &'a CompileJob<'a>,
    checks: Checks,
    debug: DebugInfo,
    /// The emulated headers.
    headers: &'a [(&'a str, &'a str)],
    toolchain: &'a Toolchain,
    cache: Option<&'a Path>,
    /// Whether the emulated headers may be kept precompiled in the cache.
    precompiles: bool,
    limit: Duration,
}

impl Build<'_> {
    fn run(&self) -> Result<Compiled> {
        self.refuse_nul_characters()?;
        self.refuse_headers_outside()?;
        let base = env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        let is_held = |name: &str| self.job.headers.iter().any(|(held, _)| held == name) || self.is_ours(name);
        let files = Files { base: &base, is_held: &is_held };
        let options = options::translate(self.job.options, &files).map_err(|message| self.rejected(message))?;
        let program = program::program(self.job, &options);
        let key = self.key(&program, &options).hex();
        let cache = self.cache.filter(|_| !options.reads_files && !self.text_reads_files(&options));
        let cached = || cache.and_then(|cache| folder::load(cache, &key));
        let mut lock = None;
        let found = cached().or_else(|| {
            lock = Some(CompileLock::take(cache?, &key, self.limit));
            cached()
        });
        if let Some((image, log)) = found {
            return Ok(Compiled { image, names: program.names, log, is_cached: true });
        }
        let folder = Folder::new(cache, &key).map_err(|error| self.failed(&error.to_string()))?;
        let compiled = self.compile(&folder, program, &options, &key)?;
        if self.toolchain.is_clang || assembly::reads_no_files(&folder.inner()) {
            folder.keep(&compiled);
        }
        drop(lock);
        Ok(compiled)
    }

    /// Whether the text or a header may include a file whose contents the key does not hold. The assembler of GCC tells
    /// afterwards which files it has read.
    fn text_reads_files(&self, options: &CompilerOptions) -> bool {
        let CompileJob { text, headers, names, .. } = *self.job;
        let held = |name: &str| headers.iter().any(|(held, _)| held == name);
        let lines = options.lines.join("\n");
        let given = headers.iter().map(|(_, text)| text).chain(names).map(String::as_str);
        given.chain([text, lines.as_str()]).any(|text| {
            includes::may_read_files(text, held) || (self.toolchain.is_clang && includes::assembly_may_read_files(text))
        })
    }

    fn is_ours(&self, name: &str) -> bool {
        self.headers.iter().any(|(ours, _)| *ours == name)
    }

    fn refuse_nul_characters(&self) -> Result<()> {
        let CompileJob { name, text, headers, options, names, .. } = self.job;
        let headers = headers.iter().flat_map(|(name, text)| [("a header's name", name), ("a header", text)]);
        let options = options.iter().map(|option| ("an option", option));
        let names = names.iter().map(|name| ("a name expression", name));
        let mut texts = headers.chain(options).chain(names).map(|(kind, text)| (kind, text.as_str()));
        let first = [("the program's name", *name), ("the program", *text)];
        match first.into_iter().find(has_nul).or_else(|| texts.find(has_nul)) {
            Some((text, _)) => Err(DriverError::Nul { text }),
            None => Ok(()),
        }
    }

    fn refuse_headers_outside(&self) -> Result<()> {
        match self.job.headers.iter().find(|(name, _)| !folder::is_inside(name)) {
            Some((name, _)) => Err(self.rejected(format!(
                "the header's name `{name}` is no path that the emulated device can use; it must be relative, without `..`"
            ))),
            None => Ok(()),
        }
    }

    /// A hash of all that the image depends on.
    fn key(&self, program: &Program, options: &CompilerOptions) -> cache::Key {
        let flags = flags::flags(options, (self.checks, self.debug), self.toolchain, "");
        let counts = format!("{} {} {}", self.headers.len(), program.headers.len(), flags.len());
        let identity = self.toolchain.identity();
        let mut parts =
            vec![env!("CARGO_PKG_VERSION"), &identity, &counts, self.job.name, self.job.text, &program.text];
        parts.extend(self.headers.iter().flat_map(|(name, text)| [*name, *text]));
        parts.extend(program.headers.iter().flat_map(|(name, text)| [name.as_str(), text.as_str()]));
        parts.extend(flags.iter().chain(&options.folders).map(String::as_str));
        parts.extend(flags::LINK);
        cache::Key::of(parts)
    }

    fn compile(&self, folder: &Folder, program: Program, options: &CompilerOptions, key: &str) -> Result<Compiled> {
        // The seed of random names need not agree.
        let same = flags::flags(options, (self.checks, self.debug), self.toolchain, "headers");
        let precompiled = Precompiled::of(self, &same);
        self.write(folder, &program, precompiled.is_none())
            .map_err(|error| self.failed(&format!("{}: {error}", folder.path().display())))?;
        let mut compiling = self.command(folder);
        compiling.args(flags::flags(options, (self.checks, self.debug), self.toolchain, key));
        compiling.arg(flags::debug_folder(folder.path(), &folder.place()));
        compiling.arg(format!("-I{INNER}/include"));
        match &precompiled {
            Some(headers) => compiling.args(headers.options()),
            None => compiling.arg(format!("-I{INNER}/cuda")),
        };
        compiling.args(options.folders.iter().map(|path| format!("-I{path}")));
        compiling.args(["-c", &format!("{INNER}/{SOURCE}"), "-o", &format!("{INNER}/program.o")]);
        if !self.toolchain.is_clang {
            compiling.arg(assembly::list_files());
        }
        let log = self.step(compiling, folder)?;

        let (log, image) = self.link(folder, log)?;
        Ok(Compiled { image, names: program.names, log, is_cached: false })
    }

    /// Makes the shared object, of which nothing runs before a kernel does. Returns the log as it goes on, and the image.
    fn link(&self, folder: &Folder, log: String) -> Result<(String, Vec<u8>)> {
        let read =
            |name: &str| std::fs::read(folder.inner().join(name)).map_err(|error| self.failed(&error.to_string()));
        if let Some(section) = constructors::section(&read("program.o")?) {
            return Err(self.rejected(runs_early(&format!("the section `{section}`"))));
        }
        let mut linking = self.command(folder);
        linking.args(flags::LINK).args([&format!("{INNER}/program.o"), "-o", &format!("{INNER}/image.so"), "-lm"]);
        let log = log + &self.step(linking, folder)?;
        let mut image = read("image.so")?;
        if let Some(function) = constructors::first(&image, self.checks, self.toolchain) {
            return Err(self.rejected(runs_early(&format!("`{function}`"))));
        }
        constructors::disarm(&mut image);
        Ok((log, image))
    }

    /// Writes the texts: with the emulated headers, or without them where they are precompiled. A header of CUDA's that the program brings along gives way
    /// to ours.
    fn write(&self, folder: &Folder, program: &Program, with_headers: bool) -> std::io::Result<()> {
        if with_headers {
            self.headers.iter().try_for_each(|(name, text)| folder.write("cuda", name, text))?;
        }
        for (name, text) in program.headers.iter().filter(|(name, _)| !(headers::is_cudas(name) && self.is_ours(name)))
        {
            folder.write("include", name, text)?;
        }
        let text = if with_headers { &program.text } else { program.without_headers() };
        folder.write("", SOURCE, text)?;
        let originals = self.job.headers.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        originals.chain([(self.job.name, self.job.text)]).for_each(|(name, text)| folder.write_original(name, text));
        Ok(())
    }

    /// The compiler in the folder. Compilers take `PWD` for the folder's name.
    fn command(&self, folder: &Folder) -> Command {
        let mut command = self.toolchain.command();
        command.current_dir(folder.path()).env("PWD", folder.path());
        command
    }

    fn step(&self, command: Command, folder: &Folder) -> Result<String> {
        let run = process::run(command, &folder.inner(), self.limit)?;
        if run.succeeded { Ok(run.log) } else { Err(self.rejected(explained(run.log))) }
    }

    fn rejected(&self, log: String) -> DriverError {
        let CompileJob { name, text, options, .. } = self.job;
        let (name, options, source) = ((*name).to_owned(), options.to_vec(), (*text).to_owned());
        DriverError::Compile(Box::new(CompileError { name, options, log, source }))
    }

    fn failed(&self, message: &str) -> DriverError {
        DriverError::Compiler { command: self.toolchain.path.display().to_string(), message: message.to_owned() }
    }
}

fn runs_early(code: &str) -> String {
    format!(
        "{code} would run on the host when the program is loaded: a variable of a device has no dynamic initialisation"
    )
}

/// The log, and the facts that the linker cannot know of a name that the start files would define: destructors ask for it.
fn explained(log: String) -> String {
    let has_destructor = log.contains("__dso_handle");
    let more = if has_destructor { "a variable of a device that outlives its kernel has no destructor\n" } else { "" };
    log + more
}

/// Whether a file of this name is one of the library's own, where no mistake of a kernel is.
pub(super) fn is_own_header(name: &str) -> bool {
    name == PRELUDE_NAME || headers::HEADERS.iter().any(|(own, _)| *own == name)
}

fn has_nul((_, text): &(&'static str, &str)) -> bool {
    text.contains('\0')
}

#[cfg(test)]
mod tests;
