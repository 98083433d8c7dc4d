//! What the library says where there is no driver or no NVRTC. Both are looked for once per process, so each runs in a
//! child with its own environment.

use std::{
    env,
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    process::{Command, ExitCode},
};

use gpu_driver::{Device, Module, Program, cust, emulated::Emulated, nvrtc};
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
        "nvrtc" => print(nvrtc::version()),
        "cache" => print(nvrtc::cache_folder()),
        "compile" => {
            let program = Program::new("k.cu", "extern \"C\" __global__ void k() {}");
            print(Device::first().and_then(|device| Module::load(&device, &program.compile(device.arch())?)))
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
    ensure!(text.contains("GPU_LIBCUDA"), "{text}");
    Ok(())
}

pub fn no_nvrtc_says_what_was_searched(_: &()) -> Outcome {
    let text = answer("nvrtc", &[("GPU_NVRTC", "/nonexistent/libnvrtc.so.13")])?;
    ensure!(text.contains("no NVRTC") && text.contains("/nonexistent/libnvrtc.so.13 (no such file)"), "{text}");
    ensure!(text.contains("pip install"), "{text}");
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

/// Compiled code is run as this user's own, so nobody else may have put it there.
pub fn a_cache_that_others_can_write_is_refused(_: &()) -> Outcome {
    let folder = tempfile::tempdir()?;
    let cache = folder.path().join("cache");
    let path = cache.to_str().ok_or("a path")?;
    let ask = || answer("cache", &[("GPU_CACHE_DIR", path)]);
    ensure!(ask()?.contains("no error"));
    fs::create_dir(&cache)?;
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o777))?;
    let said = ask()?;
    ensure!(said.contains(path) && said.contains("can be written by other users (mode 777)"), "{said}");
    ensure!(said.contains("UnsafeCache") && said.contains("chmod go-w"), "{said}");
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o700))?;
    ensure!(ask()?.contains("no error"));
    // It is made for this user alone, whatever the mask is.
    fs::remove_dir(&cache)?;
    let made = Command::new("sh")
        .args(["-c", "umask 0; exec \"$0\""])
        .arg(env::current_exe()?)
        .env(CHILD, "compile")
        .env("GPU_DEVICE", "emulated")
        .env("GPU_CACHE_DIR", path)
        .output()?;
    let said = String::from_utf8_lossy(&made.stdout).into_owned();
    ensure!(said.contains("no error") || said.contains("no C++ compiler"), "{said}");
    if said.contains("no error") {
        ensure_eq!(fs::metadata(&cache)?.permissions().mode() & 0o777, 0o700);
        ensure!(ask()?.contains("no error"));
    }
    Ok(())
}

pub fn cust_itself_reports_no_device(_: &()) -> Outcome {
    let text = answer("cust", &[("GPU_DEVICE", "none")])?;
    ensure!(text.contains("NoDevice"), "{text}");
    Ok(())
}
