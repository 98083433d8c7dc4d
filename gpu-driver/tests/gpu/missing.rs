//! What the library says where there is no driver or no NVRTC. Both are looked for once per process, so each runs in a
//! child with its own environment.

use std::{
    env,
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, chown},
    },
    path::Path,
    process::{Command, ExitCode},
};

use gpu_driver::{Arch, Device, DriverError, Module, Program, Stream, cust, emulated::Emulated, nvrtc, profiler};
use testkit::{Outcome, ensure, ensure_eq};

const CHILD: &str = "GPU_DRIVER_MISSING_CHILD";

/// In a child: prints the error of its question. None in the parent.
pub fn run_as_child() -> Option<ExitCode> {
    match env::var(CHILD).ok()?.as_str() {
        "device" => print(Device::first()),
        "emulated after cuda" => {
            let _none = Device::first();
            print(Emulated::new().open());
        }
        "chosen device" => print(Device::from_environment().inspect(|device| println!("device {}", device.ordinal()))),
        "nvrtc" => print(nvrtc::version()),
        "nvcc" => {
            print(Program::from("").nvcc().compile(Arch::new(9, 0)));
            print(nvrtc::device_runtime());
        }
        "cache" => print(nvrtc::cache_folder().inspect(|folder| println!("{folder:?}"))),
        "compile" => {
            let program = Program::new("k.cu", "extern \"C\" __global__ void k() {}");
            print(Device::first().and_then(|device| Module::load(&device, &program.compile(device.arch())?)))
        }
        "options" => {
            let text = "#if LEVEL != 4\n#error LEVEL is to be 4\n#endif\n__global__ void k() {}";
            print(Program::new("k.cu", text).compile(Arch::new(9, 0)))
        }
        "origins" => {
            let program = Program::new("k.cu", "__global__ void k() {}").name_expression("k");
            let origin = |_| program.compile(Arch::new(9, 0)).map(|binary| binary.origin());
            let origins: Result<Vec<_>, _> = (0..2).map(origin).collect();
            print(origins.inspect(|origins| println!("{origins:?}")));
        }
        "ranges" => {
            println!("listens: {}", profiler::has_ranges());
            let outer = profiler::range("outer");
            let inner = std::thread::spawn(|| profiler::range("inner\0and more")).join();
            profiler::mark("moment");
            match Emulated::new().open().and_then(|device| Stream::new(&device)) {
                Ok(stream) => stream.set_name("copies\0and more"),
                Err(error) => println!("{error}"),
            }
            drop(outer);
            drop(inner);
        }
        "cust" => print(cust::init(cust::CudaFlags::empty())),
        _ => return None,
    }
    Some(ExitCode::SUCCESS)
}

fn print<T>(outcome: Result<T, impl std::fmt::Display + std::fmt::Debug>) {
    match outcome {
        Ok(_) => println!("no error"),
        Err(error) => println!("{error}\n{error:?}"),
    }
}

pub fn answer(question: &str, variables: &[(&str, &str)]) -> Result<String, Box<dyn std::error::Error>> {
    let variables: Vec<_> = variables.iter().map(|(name, value)| (*name, OsStr::new(value))).collect();
    answer_raw(question, &variables)
}

fn answer_raw(question: &str, variables: &[(&str, &OsStr)]) -> Result<String, Box<dyn std::error::Error>> {
    let mut command = Command::new(env::current_exe()?);
    command
        .env(CHILD, question)
        .env_remove("GPU_DEVICE")
        .env_remove("GPU_EMULATED_CHECKS")
        .env_remove("GPU_EMULATED_DEBUG")
        .env_remove("GPU_LIBCUDA")
        .env_remove("GPU_SYNC")
        .env_remove("GPU_NVRTC");
    let output = command.envs(variables.iter().copied()).output()?;
    ensure!(output.status.success(), "{question}: {} {}", output.status, String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

pub fn no_driver_says_what_was_searched(_: &()) -> Outcome {
    let text = answer("device", &[("GPU_LIBCUDA", "/nonexistent/libcuda.so.1")])?;
    ensure!(text.contains("no CUDA driver") && text.contains("/nonexistent/libcuda.so.1 (no such file)"), "{text}");
    ensure!(text.contains("GPU_LIBCUDA") && text.contains("GPU_DEVICE=emulated"), "{text}");
    Ok(())
}

pub fn no_nvrtc_says_what_was_searched(_: &()) -> Outcome {
    let text = answer("nvrtc", &[("GPU_NVRTC", "/nonexistent/libnvrtc.so.13")])?;
    ensure!(text.contains("no NVRTC") && text.contains("/nonexistent/libnvrtc.so.13 (no such file)"), "{text}");
    ensure!(text.contains("pip install"), "{text}");
    Ok(())
}

pub fn no_nvcc_says_what_was_searched(_: &()) -> Outcome {
    let text = answer("nvcc", &[("GPU_NVCC", "/nonexistent/nvcc"), ("GPU_CUDADEVRT", "/nonexistent/rt.a")])?;
    ensure!(text.contains("no nvcc") && text.contains("/nonexistent/nvcc (no such file)"), "{text}");
    ensure!(text.contains("nvidia-cuda-nvcc") && text.contains("GPU_NVCC"), "{text}");
    ensure!(text.contains("/nonexistent/rt.a (no such file)") && text.contains("GPU_CUDADEVRT"), "{text}");
    Ok(())
}

pub fn empty_paths_of_the_environment_are_as_none(_: &()) -> Outcome {
    for (question, variable) in [("device", "GPU_LIBCUDA"), ("nvrtc", "GPU_NVRTC")] {
        ensure_eq!(answer(question, &[(variable, "")])?, answer(question, &[])?);
    }
    Ok(())
}

pub fn hidden_and_unknown_devices_are_errors(_: &()) -> Outcome {
    let hidden = answer("device", &[("GPU_DEVICE", "none")])?;
    ensure!(hidden.contains("GPU_DEVICE=none"), "{hidden}");
    let unknown = answer("device", &[("GPU_DEVICE", "quantum")])?;
    ensure!(unknown.contains("quantum") && unknown.contains("cuda"), "{unknown}");
    let emulated = answer("device", &[("GPU_DEVICE", "emulated")])?;
    ensure!(emulated.contains("no error"), "{emulated}");
    let other = answer("emulated after cuda", &[("GPU_LIBCUDA", "/nonexistent/libcuda.so.1")])?;
    ensure!(other.contains("another driver"), "{other}");
    let seed = answer("device", &[("GPU_DEVICE", "emulated"), ("GPU_EMULATED_SEED", "seven")])?;
    ensure!(seed.contains("GPU_EMULATED_SEED=seven is not known; expected a number"), "{seed}");
    let checks = answer("device", &[("GPU_DEVICE", "emulated"), ("GPU_EMULATED_CHECKS", "some")])?;
    ensure!(checks.contains("GPU_EMULATED_CHECKS=some"), "{checks}");
    let debug = answer("device", &[("GPU_DEVICE", "emulated"), ("GPU_EMULATED_DEBUG", "some")])?;
    ensure!(debug.contains("GPU_EMULATED_DEBUG=some is not known; expected lines or variables"), "{debug}");
    Ok(())
}

pub fn a_device_is_chosen_by_the_environment(_: &()) -> Outcome {
    let chosen = |wish: &str| {
        let three = [("GPU_DEVICE", "emulated"), ("GPU_EMULATED_DEVICES", "3"), ("CUDA_DEVICE", wish)];
        answer("chosen device", &three)
    };
    for (wish, device) in [("", 0), ("2", 2), (" 1 ", 1), ("ffff:02:00.0", 2), ("Emulated", 0)] {
        let text = chosen(wish)?;
        ensure!(text.contains(&format!("device {device}\n")), "{wish}: {text}");
    }
    ensure!(chosen("7")?.contains("NoSuchDevice"));
    ensure!(chosen("H200")?.contains("no device `H200`; there are: emulated device"));
    ensure!(chosen("0000:01:00.0")?.contains("no device `0000:01:00.0`; there are: ffff:00:00.0, ffff:01:00.0"));
    Ok(())
}

/// As [`answer_raw`], with the NVRTC of these tests.
fn answer_compiling(question: &str, variable: (&str, &OsStr)) -> Result<String, Box<dyn std::error::Error>> {
    let nvrtc = env::var_os("GPU_NVRTC");
    let variables: Vec<_> = nvrtc.iter().map(|nvrtc| ("GPU_NVRTC", nvrtc.as_os_str())).chain([variable]).collect();
    answer_raw(question, &variables)
}

pub fn without_a_cache_each_program_is_compiled(_: &()) -> Outcome {
    let cache = tempfile::tempdir()?;
    for (folder, want) in
        [(OsStr::new("off"), "[Compiled, Compiled]\n"), (cache.path().as_os_str(), "[Compiled, Cache]\n")]
    {
        let said = answer_compiling("origins", ("GPU_CACHE_DIR", folder))?;
        ensure!(said.starts_with(want), "{said}");
    }
    Ok(())
}

/// They tell kernels in the cache apart, too: either outcome comes twice.
pub fn options_of_the_environment_are_given_to_nvrtc(_: &()) -> Outcome {
    let said = |options: &[u8]| answer_compiling("options", ("GPU_NVRTC_OPTIONS", OsStr::from_bytes(options)));
    for _ in 0..2 {
        let with = said(b" -lineinfo  -DLEVEL=4")?;
        ensure!(with.contains("no error"), "{with}");
        let without = said(b"")?;
        ensure!(without.contains("LEVEL is to be 4"), "{without}");
    }
    let no_text = said(b"\xff")?;
    ensure!(no_text.contains("is not known; expected options of NVRTC"), "{no_text}");
    Ok(())
}

/// A folder of kernels can be shipped with a program, for users who may not write to it.
pub fn a_cache_that_cannot_be_written_serves(_: &()) -> Outcome {
    let cache = tempfile::tempdir()?;
    compile_without_mask(cache.path())?;
    let all = |mode| {
        for folder in [cache.path().to_owned(), cache.path().join("emulated"), cache.path().join("emulated/loaded")] {
            set_mode(&folder, mode)?;
        }
        Ok::<_, std::io::Error>(())
    };
    all(0o555)?;
    let said = compile_without_mask(cache.path());
    all(0o755)?;
    let said = said?;
    ensure!(said.trim() == "no error", "{said}");
    Ok(())
}

/// A value that means nothing is an error, whatever it consists of; none is ignored.
pub fn values_that_mean_nothing_are_errors(_: &()) -> Outcome {
    const NO_TEXT: &[u8] = b"\xff\xfe";
    let emulated = ("GPU_DEVICE", OsStr::new("emulated"));
    for (name, value) in [
        ("GPU_DEVICE", NO_TEXT),
        ("GPU_SYNC", NO_TEXT),
        ("GPU_SYNC", b"yes"),
        ("GPU_SYNC", b"2"),
        ("GPU_EMULATED_SEED", NO_TEXT),
        ("GPU_EMULATED_SEED", b"-1"),
        ("GPU_EMULATED_SEED", b"18446744073709551616"),
        ("GPU_EMULATED_DEVICES", b"65"),
        ("GPU_EMULATED_TIMEOUT", b"18446744073709551615"),
        ("GPU_EMULATED_ARCH", b"4294967295.0"),
        ("GPU_EMULATED_ARCH", b"9.10"),
        ("GPU_EMULATED_DRIVER", b"4294967.0"),
        ("GPU_EMULATED_SCHEDULE", NO_TEXT),
        ("GPU_EMULATED_BLOCKS", b"both"),
        ("GPU_EMULATED_CHECKS", NO_TEXT),
        ("GPU_EMULATED_DEBUG", NO_TEXT),
        ("GPU_EMULATED_FAIL", NO_TEXT),
    ] {
        let said = answer_raw("device", &[emulated, (name, OsStr::from_bytes(value))])?;
        let shown = String::from_utf8_lossy(value);
        ensure!(said.contains(&format!("{name}={shown} is not known; expected ")), "{name}={shown}: {said}");
    }
    for (name, value) in
        [("GPU_SYNC", "0"), ("GPU_SYNC", ""), ("GPU_EMULATED_DEVICES", "64"), ("GPU_EMULATED_ARCH", " 12.1 ")]
    {
        let said = answer("device", &[("GPU_DEVICE", "emulated"), (name, value)])?;
        ensure!(said.contains("no error"), "{name}={value}: {said}");
    }
    Ok(())
}

/// A user who has no files here.
const ANOTHER: u32 = 12_345;

fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// What is said of a folder of compiled kernels.
fn answer_cache(folder: &Path) -> Result<String, Box<dyn std::error::Error>> {
    answer_raw("cache", &[("GPU_CACHE_DIR", folder.as_os_str())])
}

/// Compiled code is run as this user's own, so nobody else may have put it there.
pub fn a_cache_that_others_can_write_is_refused(_: &()) -> Outcome {
    let outer = tempfile::tempdir()?;
    let real = outer.path().canonicalize()?;
    let (cache, link, open) = (real.join("cache"), real.join("link"), real.join("open"));
    let named = format!("Some({cache:?})\nno error");
    ensure!(answer_cache(&cache)?.contains(&named));
    fs::create_dir(&cache)?;
    set_mode(&cache, 0o777)?;
    let said = answer_cache(&cache)?;
    ensure!(said.contains(&format!("{} can be written by other users (mode 777)", cache.display())), "{said}");
    ensure!(said.contains("UnsafeCache") && said.contains("chmod go-w"), "{said}");
    set_mode(&cache, 0o700)?;
    // The folder itself is used, whatever a link to it leads to later.
    std::os::unix::fs::symlink(&cache, &link)?;
    for path in [&cache, &link] {
        let said = answer_cache(path)?;
        ensure!(said.contains(&named), "{}: {said}", path.display());
    }
    // A place where no folder can be.
    let file = real.join("file");
    fs::write(&file, "")?;
    let said = answer_cache(&file.join("cache"))?;
    ensure!(
        said.contains(&format!(
            "GPU_CACHE_DIR={} is not known; expected off, or a folder",
            file.join("cache").display()
        )),
        "{said}"
    );
    // One that is not there yet, and that others could make first.
    fs::create_dir(&open)?;
    set_mode(&open, 0o777)?;
    for path in [open.join("cache"), open.join("not/there")] {
        let said = answer_cache(&path)?;
        let why = format!("{} can be written by other users (mode 777)", open.display());
        ensure!(said.contains(&why) && said.contains("UnsafeCache"), "{}: {said}", path.display());
    }
    Ok(())
}

/// Whether kernels can be compiled for the emulated device.
pub fn cxx() -> Result<(), DriverError> {
    gpu_driver_emulated::find_compiler()
}

/// Compiles and loads a kernel in a child that lets everybody write to what it makes. What it says is what failed, and its messages.
fn compile_without_mask(cache: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let mut command = Command::new("sh");
    command.args(["-c", "umask 0; exec \"$0\""]).arg(env::current_exe()?);
    command.env(CHILD, "compile").env("GPU_DEVICE", "emulated").env("GPU_CACHE_DIR", cache);
    let output = command.output()?;
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
    ensure!(said.contains("no error"), "{said}");
    Ok(said)
}

/// Whatever the mask is.
pub fn a_cache_is_made_for_this_user_alone(_: &()) -> Outcome {
    let outer = tempfile::tempdir()?;
    let cache = outer.path().join("cache");
    compile_without_mask(&cache)?;
    for folder in [cache.clone(), cache.join("emulated"), cache.join("emulated/loaded")] {
        ensure_eq!((&folder, fs::metadata(&folder)?.permissions().mode() & 0o777), (&folder, 0o700));
    }
    ensure!(fs::read_dir(cache.join("emulated"))?.count() > 1, "the kernel's folder beside that of loaded images");
    ensure!(answer_cache(&cache)?.contains("no error"));
    Ok(())
}

/// One that an older version made with another mask, below a folder that is right.
pub fn a_part_of_the_cache_that_others_can_write_is_not_used(_: &()) -> Outcome {
    let cache = tempfile::tempdir()?;
    let part = cache.path().canonicalize()?.join("emulated");
    fs::create_dir(&part)?;
    set_mode(&part, 0o777)?;
    let said = compile_without_mask(cache.path())?;
    let why = format!("{} can be written by other users (mode 777)", part.display());
    ensure!(said.matches(&why).count() == 1, "{said}");
    ensure_eq!(fs::read_dir(&part)?.count(), 0);
    Ok(())
}

/// Whether this user can give files away.
pub fn root() -> Result<(), String> {
    let file = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    chown(file.path(), Some(ANOTHER), None).map_err(|error| format!("only root gives files away: {error}"))
}

pub fn a_cache_of_another_user_is_refused(_: &()) -> Outcome {
    let outer = tempfile::tempdir()?;
    let cache = outer.path().canonicalize()?.join("cache");
    fs::create_dir(&cache)?;
    ensure!(answer_cache(&cache)?.contains("no error"));
    chown(&cache, Some(ANOTHER), None)?;
    // Nor one that is not there yet, where he could make it.
    for path in [cache.clone(), cache.join("not/there")] {
        let said = answer_cache(&path)?;
        let why = format!("{} belongs to user {ANOTHER}", cache.display());
        ensure!(said.contains(&why) && said.contains("UnsafeCache"), "{}: {said}", path.display());
    }
    Ok(())
}

pub fn cust_itself_reports_no_device(_: &()) -> Outcome {
    let text = answer("cust", &[("GPU_DEVICE", "none")])?;
    ensure!(text.contains("NoDevice"), "{text}");
    Ok(())
}
