//! The CUDA toolkit's compiler `nvcc`, for programs that ask for it, and the device runtime.

use std::{
    collections::HashMap,
    env, fs, io,
    path::{Path, PathBuf},
    process::Command,
    sync::Mutex,
};

use gpu_driver_core::{fork, lock, private};

use super::{BinaryKind, PRELUDE};
use crate::{CompileError, CudaVersion, DriverError, Result};

/// A program as nvcc takes it.
pub(super) struct NvccRun<'a> {
    pub(super) name: &'a str,
    pub(super) text: &'a str,
    pub(super) headers: &'a [(String, String)],
    /// All options but the kind of the output.
    pub(super) options: &'a [String],
}

/// The compiler that programs of [`Program::nvcc`](crate::Program::nvcc) are compiled by: the file in `GPU_NVCC`, else `nvcc` in a folder of `PATH`, in
/// `bin` of `CUDA_HOME` and `CUDA_PATH`, in `/usr/local/cuda/bin`, or beside the NVRTC that `GPU_NVRTC` names, where Python's packages have it.
///
/// # Errors
/// `NoNvcc` with the places.
pub fn nvcc() -> Result<PathBuf> {
    let asked = env::var_os("GPU_NVCC").filter(|path| !path.is_empty()).map(PathBuf::from);
    let candidates = match &asked {
        Some(path) => vec![path.clone()],
        None => {
            let of_path = env::var_os("PATH");
            let of_path = of_path.iter().flat_map(env::split_paths).map(|folder| folder.join("nvcc"));
            of_path.chain(toolkits().into_iter().map(|toolkit| toolkit.join("bin/nvcc"))).collect()
        }
    };
    first_file(candidates).map_err(|searched| DriverError::NoNvcc { searched })
}

/// The library of kernels that launch kernels, `libcudadevrt.a`: the file in `GPU_CUDADEVRT`, else beside nvcc, or in the folders of a CUDA toolkit.
///
/// # Errors
/// `NoDeviceRuntime` with the places.
pub fn device_runtime() -> Result<PathBuf> {
    const PLACES: [&str; 4] = ["lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"];
    let asked = env::var_os("GPU_CUDADEVRT").filter(|path| !path.is_empty()).map(PathBuf::from);
    let candidates = match asked {
        Some(path) => vec![path],
        None => {
            let of_nvcc = nvcc().ok().and_then(|nvcc| nvcc.canonicalize().ok());
            let of_nvcc = of_nvcc.iter().filter_map(|nvcc| Some(nvcc.parent()?.parent()?.to_owned()));
            let toolkits: Vec<PathBuf> = of_nvcc.chain(toolkits()).collect();
            let places = |toolkit: &PathBuf| PLACES.map(|place| toolkit.join(place).join("libcudadevrt.a"));
            toolkits.iter().flat_map(places).collect()
        }
    };
    first_file(candidates).map_err(|searched| {
        let why = format!(
            "libcudadevrt.a was not found.\n  searched: {}\n  \
             Install the CUDA toolkit (or `pip install nvidia-cuda-runtime`), or name the file in GPU_CUDADEVRT.",
            searched.join("\n            ")
        );
        DriverError::NoDeviceRuntime { why }
    })
}

/// Folders with a CUDA toolkit, there or not.
fn toolkits() -> Vec<PathBuf> {
    let named = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(env::var_os).filter(|folder| !folder.is_empty());
    let mut all: Vec<PathBuf> = named.map(PathBuf::from).collect();
    all.push("/usr/local/cuda".into());
    let nvrtc = env::var_os("GPU_NVRTC").map(PathBuf::from);
    all.extend(nvrtc.iter().filter_map(|nvrtc| Some(nvrtc.parent()?.parent()?.to_owned())));
    all
}

fn first_file(candidates: Vec<PathBuf>) -> Result<PathBuf, Vec<String>> {
    let found = candidates.iter().find(|candidate| candidate.is_file());
    found.cloned().ok_or_else(|| candidates.iter().map(|one| format!("{} (no such file)", one.display())).collect())
}

/// The versions of nvcc and of the host's compiler, whose headers of the standard library nvcc reads.
pub(super) fn identity(nvcc: &Path) -> Result<String> {
    let host = env::var_os("NVCC_CCBIN").filter(|path| !path.is_empty()).map_or("g++".into(), PathBuf::from);
    // A folder is named, or nothing of that name is there: nvcc says so itself.
    let of_host = version(&host).unwrap_or_default();
    Ok(format!("{} {} {} {of_host}", nvcc.display(), version(nvcc)?, host.display()))
}

/// The version of CUDA that nvcc belongs to: `release 13.0` in its words.
pub(super) fn cuda_version(nvcc: &Path) -> Result<Option<CudaVersion>> {
    Ok(release(&version(nvcc)?))
}

fn release(words: &str) -> Option<CudaVersion> {
    let number = words.split("release ").nth(1)?.split(',').next()?;
    let (major, minor) = number.trim().split_once('.')?;
    Some(CudaVersion { major: major.parse().ok()?, minor: minor.parse().ok()? })
}

/// The words of a compiler on its version, asked for once in a process.
fn version(compiler: &Path) -> Result<String> {
    static VERSIONS: Mutex<Option<HashMap<PathBuf, String>>> = Mutex::new(None);
    if fork::is_child() {
        return Err(DriverError::Forked);
    }
    if let Some(version) = lock(&VERSIONS).as_ref().and_then(|versions| versions.get(compiler).cloned()) {
        return Ok(version);
    }
    let output = Command::new(compiler).arg("--version").output().map_err(|error| failed(compiler, &error))?;
    let version = String::from_utf8_lossy(&output.stdout).into_owned();
    lock(&VERSIONS).get_or_insert_default().insert(compiler.to_owned(), version.clone());
    Ok(version)
}

/// Whether options or variables may lead nvcc to files that no key holds: all but options that are known to read none.
pub(super) fn options_read_files(options: &[String]) -> bool {
    const VARIABLES: [&str; 4] = ["NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "CPATH", "CPLUS_INCLUDE_PATH"];
    const READ_NOTHING: [&str; 28] = [
        "-D",
        "-U",
        "-O",
        "-G",
        "-g",
        "-w",
        "-W",
        "-std",
        "-arch",
        "-code",
        "-gencode",
        "-lineinfo",
        "-use_fast_math",
        "-maxrregcount",
        "-ftz",
        "-fmad",
        "-prec",
        "-ptx",
        "-cubin",
        "-fatbin",
        "-rdc",
        "-dc",
        "-extended-lambda",
        "-expt",
        "-res-usage",
        "-diag",
        "-restrict",
        "-m64",
    ];
    let is_known = |option: &String| {
        let option = option.trim();
        let short = option.strip_prefix('-').filter(|rest| rest.starts_with('-')).unwrap_or(option);
        let long =
            ["-define-macro", "-undefine-macro", "-optimize", "-gpu-", "-generate-", "-device-debug", "-relocatable"];
        // A value that stands by itself belongs to the option before it.
        !option.starts_with(['-', '@']) || READ_NOTHING.iter().chain(&long).any(|known| short.starts_with(known))
    };
    let is_set = |name: &&str| env::var_os(name).is_some_and(|value| !value.is_empty());
    !options.iter().all(is_known) || VARIABLES.iter().any(is_set)
}

/// Whether a header that a text includes is the toolkit's or the standard library's, which the versions of [`identity`] stand for.
pub(super) fn is_of_the_compiler(nvcc: &Path, name: &str) -> bool {
    const FOLDERS: [&str; 3] = ["include", "targets/x86_64-linux/include", "targets/sbsa-linux/include"];
    let toolkit = nvcc.canonicalize().ok().and_then(|nvcc| Some(nvcc.parent()?.parent()?.to_owned()));
    let is_there = |toolkit: PathBuf| FOLDERS.iter().any(|folder| toolkit.join(folder).join(name).is_file());
    !name.contains(['.', '/']) || toolkit.is_some_and(is_there)
}

fn failed(nvcc: &Path, cause: &dyn std::fmt::Display) -> DriverError {
    DriverError::Compiler { command: nvcc.display().to_string(), message: cause.to_string() }
}

/// The kind of output that options ask for, and whether they name it.
fn kind_of(options: &[String]) -> (BinaryKind, bool) {
    let asks = |names: [&str; 2]| options.iter().any(|option| names.contains(&option.trim()));
    if asks(["-ptx", "--ptx"]) {
        (BinaryKind::Ptx, true)
    } else if asks(["-fatbin", "--fatbin"]) {
        (BinaryKind::Fatbin, true)
    } else {
        (BinaryKind::Cubin, asks(["-cubin", "--cubin"]))
    }
}

/// The file of a text in a folder; names with folders in them stay inside.
pub(super) fn within(folder: &Path, name: &str) -> PathBuf {
    folder.join(name.trim_start_matches('/').replace("..", "_"))
}

/// Compiles a program: the kind of its image, the image, and the warnings.
pub(super) fn compile(nvcc: &Path, job: &NvccRun<'_>) -> Result<(BinaryKind, Vec<u8>, String)> {
    let failed = |cause: &dyn std::fmt::Display| failed(nvcc, cause);
    let folder = private::temporary_folder("gpu-nvcc-", &env::temp_dir()).map_err(|error| failed(&error))?;
    let write = |name: &str, text: &str| -> io::Result<PathBuf> {
        let path = within(folder.path(), name);
        path.parent().map_or(Ok(()), private::make_folders)?;
        private::write(&path, text.as_bytes())?;
        Ok(path)
    };
    // nvcc includes headers of the host by itself, whose integers differ from the prelude's.
    let mut headers = job.headers.iter().filter(|(name, _)| *name != PRELUDE.name);
    headers.try_for_each(|(name, text)| write(name, text).map(drop)).map_err(|error| failed(&error))?;
    let source = write(job.name, job.text).map_err(|error| failed(&error))?;
    let (kind, is_named) = kind_of(job.options);
    let image = folder.path().join("image of the program");
    let mut command = Command::new(nvcc);
    if !is_named {
        command.arg("-cubin");
    }
    // The compiler's messages are parsed for lines of the program.
    command.args(job.options).arg("-I").arg(folder.path()).args(["-x", "cu", "-o"]).arg(&image).arg(&source);
    let output = command.env("LC_ALL", "C").output().map_err(|error| failed(&error))?;
    let log = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    let log = log.replace(&format!("{}/", folder.path().display()), "");
    if output.status.success() {
        let image = fs::read(&image).map_err(|error| failed(&format!("{error}\n{log}")))?;
        if image.is_empty() {
            return Err(failed(&format!("no code comes from the options {}", job.options.join(" "))));
        }
        return Ok((kind, image, log));
    }
    // A text at fault has its name and a line in the log.
    if log.contains("error") && log.contains(&format!("{}(", job.name)) || log.contains(": error:") {
        let (name, options, source) = (job.name.to_owned(), job.options.to_vec(), job.text.to_owned());
        return Err(DriverError::Compile(Box::new(CompileError { name, options, log, source })));
    }
    Err(failed(&format!("{}, with the options {}\n{}", output.status, job.options.join(" "), log.trim_end())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_output_is_read_from_the_options() {
        let of = |options: &[&str]| kind_of(&options.iter().map(|&option| option.to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["-O3"]), (BinaryKind::Cubin, false));
        assert_eq!(of(&["--cubin"]), (BinaryKind::Cubin, true));
        assert_eq!(of(&["-O3", "-ptx"]), (BinaryKind::Ptx, true));
        assert_eq!(of(&["--fatbin"]), (BinaryKind::Fatbin, true));
    }

    #[test]
    fn options_that_may_read_files_are_told() {
        let reads =
            |options: &[&str]| options_read_files(&options.iter().map(|&one| one.to_owned()).collect::<Vec<_>>());
        let plain = [
            "-O3",
            "--std=c++17",
            "-arch=sm_90",
            "-D",
            "N=1",
            "--define-macro=M",
            "-use_fast_math",
            "--use_fast_math",
            "-lineinfo",
        ];
        assert!(
            !reads(&plain)
                && !reads(&["--maxrregcount", "32", "--generate-line-info", "-rdc=true", "--expt-relaxed-constexpr"])
        );
        for option in [
            "-I/tmp",
            "-isystem",
            "--system-include=/a",
            "-include",
            "-optf",
            "--options-file=x",
            "-Xcompiler",
            "--compiler-options=-I/a",
            "-ccbin",
            "@x",
            "-o",
        ] {
            assert!(reads(&["-O3", option]), "{option}");
        }
    }

    #[test]
    fn headers_of_the_standard_library_are_known() {
        let nvcc = Path::new("/nowhere/bin/nvcc");
        assert!(is_of_the_compiler(nvcc, "cstdint") && !is_of_the_compiler(nvcc, "params.h"));
        assert!(!is_of_the_compiler(nvcc, "eigen3/Core") && !is_of_the_compiler(nvcc, "cuda_runtime.h"));
    }

    #[test]
    fn the_release_is_read_from_nvcc_s_words() {
        let words =
            "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 13.0, V13.0.88\nBuild cuda_13.0";
        assert_eq!(release(words), Some(CudaVersion { major: 13, minor: 0 }));
        assert_eq!(release("g++ 12.2.0"), None);
    }

    #[test]
    fn names_stay_within_the_folder() {
        for name in ["/etc/a.cu", "../../a.cu", "b/../../a.cu", "a.cu"] {
            let path = within(Path::new("/tmp/folder"), name);
            assert!(path.starts_with("/tmp/folder") && !path.to_string_lossy().contains(".."), "{path:?}");
        }
    }
}
