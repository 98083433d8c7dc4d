//! Programs to compile: text, headers and options, and the way to their machine code.

use std::{
    borrow::Cow,
    ffi::CString,
    fmt, fs,
    path::{Path, PathBuf},
};

use gpu_driver_core::{
    cache::{Key, usable},
    environment, includes,
};
use gpu_driver_emulated as emulated;

use super::{Arch, Binary, BinaryKind, Header, Origin, PRELUDE, cache, headers, nvcc, sys};
use crate::{CompileError, CudaVersion, DriverError, Result};

/// From this version on NVRTC has `--no-source-include`.
const KNOWS_NO_SOURCE_INCLUDE: CudaVersion = CudaVersion { major: 12, minor: 0 };

/// NVRTC's option to omit declarations.
const MINIMAL: &str = "--minimal";

/// From this version on NVRTC has it.
const KNOWS_MINIMAL: CudaVersion = CudaVersion { major: 12, minor: 4 };

/// The architecture with instructions of its own for [`Program::architecture_specific`].
pub(crate) const HOPPER: u32 = 90;

/// A CUDA C++ program to compile at run time: text, headers, options, and the kernels to find in it.
///
/// The result is cached on disk under a hash of all of these, the architecture and NVRTC's version; `GPU_CACHE_DIR` moves
/// the cache (`off` for none, [`nvrtc::cache_folder`](crate::nvrtc::cache_folder) says where it is). A program that may read files is never
/// cached: by its options (`-I…`, `-include …`, those of `GPU_NVRTC_OPTIONS` too), or by its text, which
/// includes a path that is absolute or leads upwards, or a macro. Else `#include` finds only the headers given here
/// and those of [`nvrtc::standard_headers`](crate::nvrtc::standard_headers). Compiling a small kernel
/// takes 20 to 80 ms, a cache hit well under one.
///
/// ```
/// use gpu_driver::{Arch, Program};
/// let program = Program::new("axpy.cu", "template <class T> __global__ void axpy(T a, const T *x, T *y) \
///     { y[threadIdx.x] += a * x[threadIdx.x]; }")
///     .name_expression("axpy<float>");
/// match program.compile(Arch::new(9, 0)) {
///     Ok(binary) => println!("{} bytes, {}", binary.image().len(), binary.names()[0].1),
///     Err(error) => println!("{error}"), // on a machine without NVRTC: where it was looked for, and how to install it
/// }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Program {
    name: String,
    text: String,
    headers: Vec<(String, String)>,
    options: Vec<String>,
    names: Vec<String>,
    minimal: bool,
    overlaps: bool,
    architecture_specific: bool,
    nvcc: bool,
    keep: Option<PathBuf>,
}

impl From<&str> for Program {
    /// A program of that text, named `kernel.cu`.
    fn from(text: &str) -> Self {
        Self::new("kernel.cu", text)
    }
}

impl From<String> for Program {
    /// A program of that text, named `kernel.cu`.
    fn from(text: String) -> Self {
        Self::new("kernel.cu", text)
    }
}

impl From<&Program> for Program {
    fn from(program: &Program) -> Self {
        program.clone()
    }
}

impl Program {
    /// A program of that name (it stands in the compiler's messages) and text. The prelude may be included.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let headers = vec![(PRELUDE.name.to_owned(), PRELUDE.text.to_owned())];
        let (name, text) = (name.into(), text.into());
        let (options, names) = (Vec::new(), Vec::new());
        Self {
            name,
            text,
            headers,
            options,
            names,
            minimal: false,
            overlaps: false,
            architecture_specific: false,
            nvcc: false,
            keep: None,
        }
    }

    /// Adds a header that `#include "name"` finds.
    pub fn header(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.headers.push((name.into(), text.into()));
        self
    }

    /// Defines a macro: `#define name value` before the text.
    pub fn define(self, name: &str, value: impl fmt::Display) -> Self {
        self.option(format!("-D{name}={value}"))
    }

    /// Asks for debug information of variables and lines, and for code that is not optimised: for cuda-gdb and compute-sanitizer.
    ///
    /// On the emulated device `GPU_EMULATED_DEBUG=variables` is the way.
    pub fn debug(self) -> Self {
        self.option("--device-debug")
    }

    /// Writes each compilation into `folder`, which is made if it is not there: the text and the headers under their names, the log (`<name>.log`), and
    /// the image (`<name>.cubin`, `.ptx` or `.so`). After an error the text, headers and log are there too.
    pub fn keep(mut self, folder: impl Into<PathBuf>) -> Self {
        self.keep = Some(folder.into());
        self
    }

    /// Compiles by the CUDA toolkit's `nvcc` instead of NVRTC ([`nvrtc::nvcc`](crate::nvrtc::nvcc) says where it is looked for): for texts that include
    /// headers of the toolkit or of the host's compiler, such as `<thrust/sort.h>`, or that have host code too.
    ///
    /// [`Program::option`] then gives options of nvcc. The image is a cubin, or PTX or a fat binary where an option `-ptx` or `-fatbin` asks for
    /// it; with `-gencode` options no architecture is given. nvcc finds no kernels by name expressions, so these are an error, and it has headers of the
    /// host in place of the prelude. Compiling takes a second or so, and a result is kept on disk as those of NVRTC. The emulated device compiles as
    /// always.
    ///
    /// ```no_run
    /// use gpu_driver::{Device, Program};
    /// let text = "#include <cub/cub.cuh>\nextern \"C\" __global__ void f(int *x) { *x = cub::DivideAndRoundUp(7, 2); }";
    /// let f = Device::first()?.compile(Program::from(text).nvcc().option("--expt-relaxed-constexpr"))?.function("f")?;
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    pub fn nvcc(mut self) -> Self {
        self.nvcc = true;
        self
    }

    /// Adds a compiler option, such as `--use_fast_math` or `-DWIDTH=4`. The architecture and `--std=c++17` are given.
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }

    /// Asks for the kernel that this C++ expression names, such as `axpy<float>`; templates are instantiated by it.
    pub fn name_expression(mut self, expression: impl Into<String>) -> Self {
        self.names.push(expression.into());
        self
    }

    /// Says of the texts that they hardly use textures, surfaces, functions and types of the CUDA runtime (`cuda…`), or launch kernels. NVRTC from 12.4
    /// on then omits the declarations of all these (its option `--minimal`), and compiles a small kernel some 8 ms sooner, to the same code. A text that
    /// does not compile without them is compiled with them.
    pub fn minimal(mut self) -> Self {
        self.minimal = true;
        self
    }

    /// Says of the program's kernels that every thread calls `gpu::grid_dependency_wait()` of the prelude before it touches memory: a launch may then
    /// start while earlier work of its stream still runs (programmatic dependent launch; architectures from 9.0 on, drivers from 12.3 on). The
    /// emulated device refuses an access before the call. Only `gpu::claim_before_dependency` may come first, and `gpu::trigger_dependents` comes behind
    /// it.
    ///
    /// Such a kernel does not read through `const __restrict__` pointers: the compiler takes the memory behind them for constant while the kernel
    /// runs, and may move those loads before the wait. The emulated device does not see that.
    ///
    /// Measured on an H200: 1 us less between two kernels, and 0.6 us less of the host's time for a launch.
    pub fn overlapping(mut self) -> Self {
        self.overlaps = true;
        self
    }

    /// Asks for the instructions that one architecture alone has: on 9.0 those of `sm_90a`, such as the products of
    /// [`WARPGROUP`](crate::WARPGROUP). Other architectures compile the text as always.
    pub fn architecture_specific(mut self) -> Self {
        self.architecture_specific = true;
        self
    }

    /// Whether [`Program::architecture_specific`] was said.
    pub(crate) fn is_architecture_specific(&self) -> bool {
        self.architecture_specific
    }

    /// Whether [`Program::overlapping`] was said.
    pub(crate) fn overlaps(&self) -> bool {
        self.overlaps
    }

    /// The name expressions, in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Compiles for `arch`, or takes the result from the cache.
    ///
    /// The image is machine code when NVRTC knows the architecture. For a newer one it is PTX for the newest
    /// architecture that NVRTC knows, which the driver translates.
    ///
    /// # Errors
    /// `NoNvrtc` (`NoNvcc` for [`Program::nvcc`]); `Compile` with the log and the numbered source; `UnsupportedArch` when the device is older than all that
    /// NVRTC compiles for; `Nul` when a text holds a NUL character.
    pub fn compile(&self, arch: Arch) -> Result<Binary> {
        let by_nvcc = self.nvcc && !arch.emulated;
        // nvcc has headers of its own.
        let program = if by_nvcc { Cow::Borrowed(self) } else { self.with_standard_headers(arch) };
        let compiled = match () {
            () if arch.emulated => program.compile_emulated(arch),
            () if by_nvcc => program.compile_by_nvcc(arch),
            () => program.compile_for_gpu(arch),
        };
        let compiled = compiled.map_err(|error| self.with_names_of_headers(error));
        if let Some(folder) = &self.keep {
            program.write_into(folder, &compiled)?;
        }
        compiled.map(|binary| Binary { text: self.text.as_str().into(), ..binary })
    }

    /// The program with those headers of [`standard_headers`] that it includes.
    fn with_standard_headers(&self, arch: Arch) -> Cow<'_, Self> {
        let needed = headers::needed(&self.headers, &self.text, &self.folders(), arch.emulated);
        if needed.is_empty() {
            return Cow::Borrowed(self);
        }
        let add = |program: Self, header: Header| program.header(header.name, header.text);
        Cow::Owned(needed.into_iter().fold(self.clone(), add))
    }

    /// Adds to the log of a program that includes headers which are not there: which these are, and which headers there are.
    fn with_names_of_headers(&self, error: DriverError) -> DriverError {
        let DriverError::Compile(mut error) = error else { return error };
        let missing = headers::missing(&self.headers, &self.text, &self.folders());
        let missing: Vec<_> = missing.into_iter().filter(|name| error.log.contains(name.as_str())).collect();
        if !missing.is_empty() {
            let (missing, names) = (missing.join("`, `"), headers::names().join(", "));
            error.log = format!(
                "{}\nnote: there is no header `{missing}`. A program may include its own headers (Program::header), files in folders of -I options, \
                 and {names}\n",
                error.log.trim_end()
            );
        }
        DriverError::Compile(error)
    }

    /// The folders of `-I` options.
    fn folders(&self) -> Vec<&str> {
        const NAMES: [&str; 2] = ["-I", "--include-path="];
        let mut folders = Vec::new();
        let mut options = self.options.iter().map(|option| option.trim());
        while let Some(option) = options.next() {
            match NAMES.iter().find_map(|name| option.strip_prefix(name)) {
                Some("") => folders.extend(options.next()),
                Some(folder) => folders.push(folder.trim()),
                None => {}
            }
        }
        folders
    }

    fn write_into(&self, folder: &Path, compiled: &Result<Binary>) -> Result<()> {
        let write = |name: &str, contents: &[u8]| {
            let path = nvcc::within(folder, name);
            path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, contents)).map_err(
                |error| DriverError::Compiler {
                    command: format!("writing {}", path.display()),
                    message: error.to_string(),
                },
            )
        };
        write(&self.name, self.text.as_bytes())?;
        self.headers.iter().try_for_each(|(name, text)| write(name, text.as_bytes()))?;
        let (log, image) = match compiled {
            Ok(binary) => (binary.log.as_str(), Some(binary)),
            Err(DriverError::Compile(error)) => (error.log.as_str(), None),
            Err(_) => return Ok(()),
        };
        write(&format!("{}.log", self.name), log.as_bytes())?;
        image.map_or(Ok(()), |binary| {
            let kind = match binary.kind {
                BinaryKind::Cubin => "cubin",
                BinaryKind::Ptx => "ptx",
                BinaryKind::Fatbin => "fatbin",
                BinaryKind::SharedObject => "so",
            };
            write(&format!("{}.{kind}", self.name), &binary.image)
        })
    }

    fn compile_for_gpu(&self, arch: Arch) -> Result<Binary> {
        let nvrtc = sys::nvrtc()?;
        let (kind, options) = self.target(arch, nvrtc)?;
        let key = self.key(&nvrtc.identity(), &options);
        let folder = usable();
        // Programs that may read files have no entry, so one that has an entry need not be looked at.
        if let Some(binary) = folder.as_ref().and_then(|folder| cache::load(folder, key)) {
            return Ok(binary);
        }
        let binary = match self.run(kind, &options) {
            Err(DriverError::Compile(_)) if self.minimal && options.iter().any(|option| option == MINIMAL) => {
                let whole: Vec<String> = options.iter().filter(|&option| option != MINIMAL).cloned().collect();
                self.run(kind, &whole)?
            }
            other => other?,
        };
        if let Some(folder) = folder.filter(|_| !self.reads_files(nvrtc.version, &options)) {
            cache::store(&folder, key, &binary);
        }
        Ok(binary)
    }

    /// Compiles with the CUDA toolkit's compiler.
    fn compile_by_nvcc(&self, arch: Arch) -> Result<Binary> {
        let nvcc = nvcc::nvcc()?;
        if let Some(name) = self.names.first() {
            let message = format!(
                "nvcc finds no kernel by a name expression (`{name}`): make it extern \"C\", or leave Program::nvcc out"
            );
            return Err(DriverError::Compiler { command: nvcc.display().to_string(), message });
        }
        let mut options = vec!["--std=c++17".to_owned()];
        if !self.options.iter().any(|option| ["-gencode", "--generate-code"].iter().any(|all| option.contains(all))) {
            let suffix = if self.architecture_specific && arch.number() == HOPPER { "a" } else { "" };
            options.push(format!("-arch=sm_{}{suffix}", arch.number()));
        }
        options.extend(self.options.iter().cloned());
        let key = self.key(&nvcc::identity(&nvcc)?, &options);
        let folder = usable().filter(|_| !self.reads_files_by_nvcc(&nvcc, &options));
        let version = nvcc::cuda_version(&nvcc)?;
        if let Some(binary) = folder.as_ref().and_then(|folder| cache::load(folder, key)) {
            return Ok(Binary { nvcc: version, ..binary });
        }
        let Self { name, text, headers, .. } = self;
        let (kind, image, log) = nvcc::compile(&nvcc, &nvcc::NvccRun { name, text, headers, options: &options })?;
        let binary =
            Binary { image, kind, names: Vec::new(), log, origin: Origin::Compiled, text: "".into(), nvcc: version };
        if let Some(folder) = folder {
            cache::store(&folder, key, &binary);
        }
        Ok(binary)
    }

    /// Compiles with the machine's C++ compiler.
    fn compile_emulated(&self, arch: Arch) -> Result<Binary> {
        let Self { name, text, headers, names, .. } = self;
        let mut options = vec![format!("-D__CUDA_ARCH__={}0", arch.number())];
        options.extend(self.options.iter().cloned());
        let job = emulated::CompileJob { name, text, headers, options: &options, names };
        let compiled = emulated::compile(&job)?;
        let origin = if compiled.is_cached { Origin::Cache } else { Origin::Compiled };
        let (image, names, log) = (compiled.image, compiled.names, compiled.log);
        Ok(Binary { image, kind: BinaryKind::SharedObject, names, log, origin, text: "".into(), nvcc: None })
    }

    /// Whether NVRTC may read files, whose contents the cache's key does not hold.
    fn reads_files(&self, nvrtc: CudaVersion, options: &[String]) -> bool {
        const READING: [&str; 5] = ["-I", "--include-path", "-include", "--pre-include", "--use-pch"];
        let by_option = |option: &String| READING.iter().any(|reading| option.trim_start().starts_with(reading));
        // An older NVRTC looks for headers in the present folder, too.
        nvrtc < KNOWS_NO_SOURCE_INCLUDE || options.iter().any(by_option) || self.text_reads_files()
    }

    /// Whether nvcc may read files besides those of the compilers. The folder of the text is a fresh one.
    fn reads_files_by_nvcc(&self, nvcc: &Path, options: &[String]) -> bool {
        let is_known =
            |name: &String| self.headers.iter().any(|(held, _)| held == name) || nvcc::is_of_the_compiler(nvcc, name);
        let texts = || self.headers.iter().map(|(_, text)| text).chain([&self.text]);
        nvcc::options_read_files(options)
            || self.text_reads_files()
            || !texts().flat_map(|text| includes::included(text)).all(|name| is_known(&name))
    }

    /// Whether the text or a header may include a file of the machine.
    fn text_reads_files(&self) -> bool {
        let held = |name: &str| self.headers.iter().any(|(held, _)| held == name);
        let headers = self.headers.iter().map(|(_, text)| text);
        headers.chain([&self.text]).any(|text| includes::may_read_files(text, held))
    }

    /// The kind of code to ask for, and all options.
    pub(super) fn target(&self, arch: Arch, nvrtc: &sys::Nvrtc) -> Result<(BinaryKind, Vec<String>)> {
        let number = arch.number();
        let oldest = nvrtc.archs.first().copied().unwrap_or(0);
        let newest_below = nvrtc.archs.iter().copied().filter(|&known| known <= number).max();
        let (kind, target) = if nvrtc.archs.is_empty() || nvrtc.archs.contains(&number) {
            let suffix = if self.architecture_specific && number == HOPPER { "a" } else { "" };
            (BinaryKind::Cubin, format!("sm_{number}{suffix}"))
        } else if let Some(below) = newest_below {
            (BinaryKind::Ptx, format!("compute_{below}"))
        } else {
            return Err(DriverError::UnsupportedArch { arch: arch.to_string(), nvrtc: nvrtc.version, oldest });
        };
        let mut options = vec![format!("--gpu-architecture={target}"), "--std=c++17".to_owned()];
        if nvrtc.version >= KNOWS_NO_SOURCE_INCLUDE {
            // Else `#include` would also find files in the current directory, which the cache's key does not see.
            options.push("--no-source-include".to_owned());
        }
        if self.minimal && nvrtc.version >= KNOWS_MINIMAL {
            options.push(MINIMAL.to_owned());
        }
        options.extend(self.options.iter().cloned());
        let more = environment::text("GPU_NVRTC_OPTIONS", "options of NVRTC")?;
        options.extend(more.iter().flat_map(|more| more.split_whitespace()).map(str::to_owned));
        Ok((kind, options))
    }

    /// The SHA-256, in 64 hexadecimal digits, of the program's parts: its name and text, its headers (the prelude is one),
    /// options and name expressions, each in its order. Architecture and compiler play no part, so it says on any machine whether a
    /// program is the one that ran elsewhere.
    ///
    /// ```
    /// use gpu_driver::Program;
    /// let program = Program::new("f.cu", "#include \"width.cuh\"\n__global__ void f(int *x) { *x = WIDTH; }");
    /// let (four, eight) = (["#define WIDTH 4\n"; 2], "#define WIDTH 8\n");
    /// let [four, again] = four.map(|text| program.clone().header("width.cuh", text).digest());
    /// assert_eq!(four, again);
    /// assert_ne!(four, program.header("width.cuh", eight).digest());
    /// ```
    #[must_use]
    pub fn digest(&self) -> String {
        let before = [(self.architecture_specific, "architecture specific"), (self.nvcc, "nvcc")];
        let before: Vec<&str> = before.iter().filter(|(is_so, _)| *is_so).map(|(_, text)| *text).collect();
        self.hash(&before, &self.options).hex()
    }

    fn key(&self, compiler: &str, options: &[String]) -> Key {
        self.hash(&[env!("CARGO_PKG_VERSION"), compiler], options)
    }

    fn hash(&self, before: &[&str], options: &[String]) -> Key {
        // The counts keep the lists apart.
        let counts = format!("{} {} {}", self.headers.len(), options.len(), self.names.len());
        let mut parts = before.to_vec();
        parts.extend([counts.as_str(), &self.name, &self.text]);
        parts.extend(self.headers.iter().flat_map(|(name, text)| [name.as_str(), text.as_str()]));
        parts.extend(options.iter().chain(&self.names).map(String::as_str));
        Key::of(parts)
    }

    pub(super) fn run(&self, kind: BinaryKind, options: &[String]) -> Result<Binary> {
        let headers = self.headers.iter().map(|(name, text)| Ok((c("a header's name", name)?, c("a header", text)?)));
        let headers = headers.collect::<Result<Vec<_>>>()?;
        let session =
            sys::Session::new(&c("the program", &self.text)?, &c("the program's name", &self.name)?, &headers)?;
        let names = self.names.iter().map(|name| c("a name expression", name)).collect::<Result<Vec<_>>>()?;
        for name in &names {
            session.add_name(name)?;
        }
        let c_options = options.iter().map(|option| c("an option", option)).collect::<Result<Vec<_>>>()?;
        let compiled = session.compile(&c_options)?;
        let log = session.log()?;
        if !compiled {
            let (name, options, source) = (self.name.clone(), options.to_vec(), self.text.clone());
            return Err(DriverError::Compile(Box::new(CompileError { name, options, log, source })));
        }
        let image = match kind {
            BinaryKind::Cubin => session.cubin()?,
            BinaryKind::Ptx | BinaryKind::Fatbin | BinaryKind::SharedObject => session.ptx()?,
        };
        if image.is_empty() {
            let message = format!("no machine code comes from the options {}", options.join(" "));
            return Err(DriverError::Nvrtc { call: "nvrtcGetCUBIN", message });
        }
        let lowered = names.iter().map(|name| session.lowered_name(name)).collect::<Result<Vec<_>>>()?;
        let names = self.names.iter().cloned().zip(lowered).collect();
        Ok(Binary { image, kind, names, log, origin: Origin::Compiled, text: "".into(), nvcc: None })
    }
}

fn c(what: &'static str, text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| DriverError::Nul { what })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else no program of the emulated device would be kept.
    #[test]
    fn the_assembly_of_the_prelude_reads_no_file() {
        assert!(!includes::assembly_may_read_files(PRELUDE.text));
    }

    #[test]
    fn a_digest_tells_everything_apart() {
        let program = || Program::new("f.cu", "text").header("a.cuh", "a").option("-DA").name_expression("f<int>");
        let of = |program: Program| program.digest();
        let mut digests = vec![of(program())];
        assert_eq!(digests[0], of(program()));
        digests.push(of(program().header("b.cuh", "b")));
        digests.push(of(program().option("-DB")));
        digests.push(of(program().option("-DB=1")));
        digests.push(of(program().option("-DB=2")));
        digests.push(of(program().name_expression("f<float>")));
        digests.push(of(Program { name: "g.cu".into(), ..program() }));
        digests.push(of(Program { text: "other".into(), ..program() }));
        digests.push(of(program().architecture_specific()));
        digests.push(of(program().nvcc()));
        let mut other_prelude = program();
        other_prelude.headers[0].1.push('\n');
        digests.push(of(other_prelude));
        let (count, unique) = (digests.len(), digests.iter().collect::<std::collections::HashSet<_>>());
        assert_eq!(unique.len(), count, "{digests:?}");
    }
}
