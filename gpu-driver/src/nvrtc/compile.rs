//! Compilation of a program: for a GPU by NVRTC or nvcc, for the emulated device by the machine's C++ compiler, or from the cache.

use std::{borrow::Cow, ffi::CString, fs, path::Path};

use gpu_driver_core::{cache::usable, environment, includes};
use gpu_driver_emulated as emulated;

use super::{Arch, Binary, BinaryKind, Header, Origin, Program, cache, headers, nvcc, program::HOPPER, sys};
use crate::{CompileError, CudaVersion, DriverError, Result};

/// From this version on NVRTC has `--no-source-include`.
const KNOWS_NO_SOURCE_INCLUDE: CudaVersion = CudaVersion { major: 12, minor: 0 };

/// NVRTC's option to omit declarations.
const MINIMAL: &str = "--minimal";

/// From this version on NVRTC has it.
const KNOWS_MINIMAL: CudaVersion = CudaVersion { major: 12, minor: 4 };

impl Program {
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
        let compiled = compiled
            .map_err(|error| self.with_names_of_headers(error))
            .map_err(|error| self.with_note_on_references(error));
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

    /// Adds to the log of a program with references to textures and surfaces, which went with CUDA 12, the objects that stand in their place.
    fn with_note_on_references(&self, error: DriverError) -> DriverError {
        let DriverError::Compile(mut error) = error else { return error };
        let texts = || self.headers.iter().map(|(_, text)| text).chain([&self.text]);
        for (word, object, owner) in
            [("texture", "cudaTextureObject_t", "Texture"), ("surface", "cudaSurfaceObject_t", "Surface")]
        {
            let declares = |text: &String| text.split(word).skip(1).any(|rest| rest.trim_start().starts_with('<'));
            if error.log.contains(word) && texts().any(declares) {
                error.log = format!(
                    "{}\nnote: references to {word}s (`{word}<…>`) went with CUDA 12. A kernel takes a `{object}` as an argument in their place, and the host \
                     passes a {owner} ({owner}::of_array)\n",
                    error.log.trim_end()
                );
            }
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

fn c(kind: &'static str, text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| DriverError::Nul { text: kind })
}
