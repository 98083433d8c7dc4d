//! A kernel fault ends CUDA for its process, so each runs in a child: this test binary, started again.

use std::{
    env,
    process::{Command, ExitCode},
    thread,
    time::{Duration, Instant},
};

use gpu_driver::{Device, DeviceVec, DriverError, Result, Stream};
use testkit::{Outcome, ensure};

use crate::kernels::{Fault, KERNELS};

const CHILD: &str = "GPU_DRIVER_FAULT_CHILD";
/// The exit code of a child that met the fault as an error of ours.
const REPORTED: u8 = 42;

/// In a child: runs its part and tells how it ended. None in the parent.
pub fn run_as_child() -> Option<ExitCode> {
    let task = env::var(CHILD).ok()?;
    let (kind, how) = task.split_once(' ')?;
    match fault(kind.parse().ok()?, how) {
        Err(error @ DriverError::DeviceLost { .. }) => {
            println!("{error}");
            Some(ExitCode::from(REPORTED))
        }
        other => {
            println!("expected DeviceLost, got {other:?}; {}", later());
            Some(ExitCode::FAILURE)
        }
    }
}

/// Whether the fault comes to light after all.
fn later() -> String {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(2) {
        if let Err(error) = Device::for_tests().and_then(|device| device.synchronize()) {
            return format!("{:?} later: {error}", start.elapsed());
        }
        thread::sleep(Duration::from_millis(1));
    }
    "nothing in two seconds either".to_owned()
}

/// Faults, then meets the fault at a wait, after the drop of everything, or on another thread; or at the launch of a graph that
/// holds the kernel.
fn fault(kind: u32, how: &str) -> Result<()> {
    let device = Device::for_tests()?;
    let stream = Stream::new(&device)?;
    let mut out = DeviceVec::<u32>::zeros(&stream, 4)?;
    stream.synchronize()?;
    let mut launch = || {
        // SAFETY: it faults by design; nothing is relied on afterwards.
        unsafe { KERNELS.kernel::<Fault>(&device, &())?.launch(1, (kind, out.output()), &stream) }
    };
    if let "graph" | "graph at once" = how {
        let (graph, ()) = stream.capture(launch)?;
        // SAFETY: as above.
        let launched = unsafe { graph.launch(&stream) };
        if how == "graph at once" {
            return launched;
        }
        launched?;
        return stream.synchronize();
    }
    launch()?;
    match how {
        "sync" => stream.synchronize()?,
        "copy" => drop(out.to_vec()?),
        "drop" => drop((out, stream)),
        _ => {}
    }
    let device_of_thread = device.clone();
    let other = thread::spawn(move || device_of_thread.synchronize());
    other.join().unwrap_or(Ok(()))?;
    // What follows a fault fails at once with the fault.
    device.stream().synchronize()
}

fn check(device: &Device, kind: u32, code: &str, how: &str, sync: bool) -> Outcome {
    let mut command = Command::new(env::current_exe()?);
    command.env(CHILD, format!("{kind} {how}")).env_remove("GPU_SYNC");
    if sync {
        command.env("GPU_SYNC", "1");
    }
    let start = Instant::now();
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.code() == Some(REPORTED.into()), "{how}: {}\n{text}", output.status);
    ensure!(text.contains("the device is lost") && text.contains(code), "{how}: {text}");
    // A graph's fault names no kernel. The emulated device knows its kernel in any case.
    let named = (sync && how == "sync") || device.is_emulated();
    ensure!(text.contains("in kernel `fault`") == named, "{how}: {text}");
    ensure!(start.elapsed() < Duration::from_secs(20), "{how}: took {:?}", start.elapsed());
    Ok(())
}

fn every_way(device: &Device, kind: u32, code: &str) -> Outcome {
    for how in ["sync", "copy", "drop", "thread", "graph"] {
        check(device, kind, code, how, false)?;
    }
    check(device, kind, code, "graph at once", true)?;
    check(device, kind, code, "sync", true)
}

pub fn fault_illegal_address(device: &Device) -> Outcome {
    every_way(device, 0, "CUDA_ERROR_ILLEGAL_ADDRESS")
}

pub fn fault_trap(device: &Device) -> Outcome {
    // The driver reports __trap() as 719 or, on some versions, as an illegal instruction.
    every_way(device, 1, "CUDA_ERROR_")
}

pub fn fault_misaligned(device: &Device) -> Outcome {
    every_way(device, 2, "CUDA_ERROR_MISALIGNED_ADDRESS")
}
