//! What the library says where there is no driver or no NVRTC. Both are looked for once per process, so each runs in a
//! child with its own environment.

use std::{
    env,
    process::{Command, ExitCode},
};

use gpu_driver::{Device, cust, emulated::Emulated, nvrtc};
use testkit::{Outcome, ensure};

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
    let mut command = Command::new(env::current_exe()?);
    command
        .env(CHILD, question)
        .env_remove("GPU_DEVICE")
        .env_remove("GPU_EMULATED_CHECKS")
        .env_remove("GPU_LIBCUDA")
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

pub fn cust_itself_reports_no_device(_: &()) -> Outcome {
    let text = answer("cust", &[("GPU_DEVICE", "none")])?;
    ensure!(text.contains("NoDevice"), "{text}");
    Ok(())
}
