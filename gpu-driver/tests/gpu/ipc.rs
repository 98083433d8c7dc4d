//! Memory and events that processes share, and memory of other devices that kernels reach.

use std::{
    env,
    process::{Command, ExitCode},
};

use gpu_driver::{
    CudaCode, Device, DeviceVec, DriverError, Event, IpcEventHandle, IpcMemoryHandle, LaunchConfig, Stream,
    emulated::Emulated,
};
use testkit::{Outcome, ensure, ensure_eq};

const CHILD: &str = "GPU_DRIVER_IPC_CHILD";
const N: usize = 1000;

fn to_text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_text(text: &str) -> Option<[u8; 64]> {
    let bytes = (0..64).map(|i| u8::from_str_radix(text.get(2 * i..2 * i + 2)?, 16).ok());
    bytes.collect::<Option<Vec<_>>>()?.try_into().ok()
}

/// In a child: opens the parent's memory behind its event, and adds one to each element. None in the parent.
pub fn run_as_child() -> Option<ExitCode> {
    let task = env::var(CHILD).ok()?;
    let (memory, event) = task.split_once(' ')?;
    let part = |memory, event| -> Outcome {
        let device = Device::for_tests()?;
        let stream = Stream::new(&device)?;
        // SAFETY: the parent keeps the event and the memory until this process has ended.
        let (event, mut x) = unsafe {
            let event = Event::open_ipc(&device, IpcEventHandle::from_bytes(event))?;
            (event, DeviceVec::<u32>::open_ipc(&stream, IpcMemoryHandle::from_bytes(memory), N)?)
        };
        stream.wait(&event)?;
        let more: Vec<u32> = x.to_vec()?.iter().map(|x| x + 1).collect();
        x.copy_from_slice(&more)?;
        stream.synchronize()?;
        // SAFETY: as above.
        let larger =
            unsafe { DeviceVec::<u32>::open_ipc(&stream, IpcMemoryHandle::from_bytes(memory), usize::MAX / 8) };
        ensure!(larger.is_err());
        Ok(())
    };
    match part(from_text(memory)?, from_text(event)?) {
        Ok(()) => Some(ExitCode::SUCCESS),
        Err(error) => {
            println!("{error}");
            Some(ExitCode::FAILURE)
        }
    }
}

pub fn memory_and_events_are_shared_between_processes(device: &Device) -> Outcome {
    const NOT_SUPPORTED: CudaCode = CudaCode(801);
    let stream = Stream::new(device)?;
    let pooled = DeviceVec::<u32>::zeros(&stream, 3)?.ipc_handle();
    ensure!(matches!(pooled, Err(DriverError::Length { op: "DeviceVec::ipc_handle", .. })), "{pooled:?}");
    let empty = DeviceVec::<u32>::shareable(&stream, 0);
    ensure!(matches!(empty, Err(DriverError::Length { op: "DeviceVec::shareable", .. })), "{empty:?}");

    let mut x = DeviceVec::<u32>::shareable(&stream, N)?;
    ensure_eq!(x.to_vec()?, [0; N]);
    // A handle is a whole allocation's, so that a buffer within one has none.
    // SAFETY: the memory is alive, and nothing uses it.
    let within = unsafe { DeviceVec::<u32>::from_foreign(&stream, x.as_raw() + 4, 10, None, ())? }.ipc_handle();
    ensure!(matches!(within, Err(DriverError::Length { op: "DeviceVec::ipc_handle", .. })), "{within:?}");
    let host: Vec<u32> = (0..N as u32).collect();
    x.copy_from_slice(&host)?;
    let event = Event::interprocess(device)?;
    event.record(&stream)?;
    if device.is_emulated() {
        let errors = [x.ipc_handle().err(), event.ipc_handle().err()];
        ensure!(errors.iter().all(|error| matches!(error, Some(DriverError::Cuda { code: NOT_SUPPORTED, .. }))));
        ensure_eq!(x.to_vec()?, host);
        return Ok(());
    }
    let task = format!("{} {}", to_text(&x.ipc_handle()?.to_bytes()), to_text(&event.ipc_handle()?.to_bytes()));
    let child = Command::new(env::current_exe()?).env(CHILD, task).output()?;
    ensure!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    ensure!(x.to_vec()?.iter().zip(host).all(|(x, before)| *x == before + 1));
    Ok(())
}

/// A kernel reads and writes the memory of each device that a bus reaches; elsewhere that is an error.
pub fn kernels_reach_memory_of_other_devices(device: &Device) -> Outcome {
    const UNSUPPORTED: CudaCode = CudaCode(217);
    let twice = |device: &Device| {
        let text = "extern \"C\" __global__ void twice(const unsigned *x, unsigned *y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }";
        device.compile(text)?.function("twice")
    };
    let others = if device.is_emulated() {
        vec![Emulated::new().open()?, device.clone()]
    } else {
        (0..Device::count()?).map(Device::new).collect::<Result<_, _>>()?
    };
    for other in others {
        let enabled = device.enable_peer_access(&other);
        if *device != other && !device.can_access_peer(&other)? {
            ensure!(matches!(enabled, Err(DriverError::Cuda { code: UNSUPPORTED, .. })), "{enabled:?}");
            println!("no bus from {device} to {other}");
            continue;
        }
        enabled?;
        device.enable_peer_access(&other)?;
        let (near, far) = (Stream::new(device)?, Stream::new(&other)?);
        let x = DeviceVec::from_slice(&far, &[1u32, 2, 3])?;
        let mut y = DeviceVec::<u32>::zeros(&far, 3)?;
        far.synchronize()?;
        // SAFETY: three threads read and write three elements, which nobody else uses until the kernel has run.
        unsafe {
            let (from, to) = (x.as_slice().with_home(&near), y.as_mut_slice().into_slice().with_home(&near).into_mut());
            twice(device)?.launch(LaunchConfig::new(1, 3), (from.input(), to.output()), &near)?;
        }
        near.synchronize()?;
        ensure_eq!(y.to_vec()?, [2, 4, 6]);
        leave_is_taken_back(device, &other)?;
    }
    if device.is_emulated() {
        // Without leave, it is a fault of the kernel.
        let (one, other) = (Emulated::new().open()?, Emulated::new().open()?);
        other.enable_peer_access(&one)?;
        one.enable_peer_access(&other)?;
        one.disable_peer_access(&other)?;
        let x = DeviceVec::from_slice(&other.stream(), &[1u32])?;
        other.stream().synchronize()?;
        let mut y = [0u32];
        // SAFETY: refused by the emulated device.
        let launched = unsafe { twice(&one)?.launch(LaunchConfig::new(1, 1), (x.as_raw(), &mut y), &one.stream()) };
        ensure!(matches!(launched, Err(DriverError::DeviceLost { .. })), "{launched:?}");
    }
    Ok(())
}

/// Each leave is taken back once; the device itself needs none.
fn leave_is_taken_back(device: &Device, other: &Device) -> Outcome {
    const NOT_ENABLED: CudaCode = CudaCode(705);
    if device == other {
        return Ok(device.disable_peer_access(other)?);
    }
    let captured = Stream::new(device)?.capture(|| Ok::<_, DriverError>(device.disable_peer_access(other)))?.1;
    ensure!(matches!(captured, Err(DriverError::InCapture { op: "Device::disable_peer_access" })), "{captured:?}");
    device.disable_peer_access(other)?;
    let again = device.disable_peer_access(other);
    ensure!(matches!(again, Err(DriverError::Cuda { code: NOT_ENABLED, .. })), "{again:?}");
    Ok(device.enable_peer_access(other)?)
}
