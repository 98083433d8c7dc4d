//! Two streams: the order that an event gives holds for every seed, and an order that nothing gives fails for some.

use std::sync::Arc;

use gpu_driver::{
    CudaCode, Device, DeviceVec, DriverError, PinnedVec, Pitched, Result, Stream,
    emulated::{Call, Emulated},
};
use testkit::{Outcome, ensure, ensure_eq};

use crate::harness::{Text, launch, order, ramp, text, upload, values};

static PRODUCER_CONSUMER: Text = text!("correct", "producer_consumer");
static STORE: Text = text!("broken", "store");

/// The text of this file that no other has.
pub static TEXTS: &[&Text] = &[&PRODUCER_CONSUMER];

const SEEDS: std::ops::Range<u64> = 0..20;
const LEN: u32 = 100;

/// Produces on one stream and consumes on another, which `follow` puts behind the first; returns whether the consumer saw what
/// was produced.
fn hand_over(device: &Device, follow: impl Fn(&Stream, &Stream) -> Result<()>) -> Result<bool> {
    let module = PRODUCER_CONSUMER.load(device)?;
    let (produce, consume) = (module.function("produce")?, module.function("consume")?);
    let (first, second) = (Stream::new(device)?, Stream::new(device)?);
    let x = DeviceVec::<u32>::zeros(&first, LEN as usize)?;
    let y = DeviceVec::<u32>::zeros(&second, LEN as usize)?;
    device.synchronize()?;
    launch(&produce, 1, 64, 0, values![x.as_raw(), LEN], &first)?;
    follow(&first, &second)?;
    launch(&consume, 1, 64, 0, values![x.as_raw(), y.as_raw(), LEN], &second)?;
    let right = y.to_vec()? == (1..=LEN).map(|i| 3 * i).collect::<Vec<_>>();
    device.synchronize()?;
    Ok(right)
}

/// That `follow` orders two streams, for every seed of an emulated device.
fn orders(device: &Device, follow: impl Fn(&Stream, &Stream) -> Result<()>) -> Outcome {
    ensure!(hand_over(device, &follow)?);
    if device.is_emulated() {
        for seed in SEEDS {
            ensure!(hand_over(&order("random").seed(seed).open()?, &follow)?, "seed {seed}");
        }
    }
    Ok(())
}

/// On any device.
pub fn an_event_orders_two_streams(device: &Device) -> Outcome {
    orders(device, |first, second| second.wait(&first.record()?))
}

/// On any device.
pub fn an_order_in_a_drop_stops_for_nothing(device: &Device) -> Outcome {
    orders(device, |first, second| {
        second.follow_in_drop(first);
        // A queue follows itself without a word.
        second.follow_in_drop(&second.clone());
        Ok(())
    })
}

/// Leaves an error of a Drop for the device's next call.
fn fail_a_drop(device: &Device) -> Result<()> {
    let emulation = device.emulation().ok_or(DriverError::NotEmulated)?;
    let pinned = PinnedVec::<u32>::zeros(device, 3)?;
    emulation.fail(Call::Release, 1, false)?;
    drop(pinned);
    emulation.stop_failing()
}

/// What failed in the Drop that the next call of the stream's device reports; nothing is waited for.
fn pending(stream: &Stream) -> Result<DriverError> {
    match stream.is_capturing() {
        Err(DriverError::InDrop { source, .. }) => Ok(*source),
        Err(other) => Err(other),
        Ok(_) => Err(DriverError::Length { op: "pending errors", expected: "1".into(), got: "0".into() }),
    }
}

fn is_refused_release(error: &DriverError) -> bool {
    matches!(error, DriverError::Cuda { call, .. } if call.starts_with("cuMemFree"))
}

pub fn an_order_in_a_drop_leaves_the_older_error_for_later(_: &()) -> Outcome {
    for seed in SEEDS {
        let device = order("random").seed(seed).open()?;
        let right = hand_over(&device, |first, second| {
            fail_a_drop(&device)?;
            second.follow_in_drop(first);
            let error = pending(second)?;
            if is_refused_release(&error) { Ok(()) } else { Err(error) }
        })?;
        ensure!(right, "seed {seed}");
    }
    Ok(())
}

/// A stream of the device that has work to do.
fn busy(device: &Device) -> Result<(Stream, DeviceVec<u32>)> {
    let stream = Stream::new(device)?;
    let x = DeviceVec::zeros(&stream, LEN as usize)?;
    Ok((stream, x))
}

pub fn an_order_in_a_drop_without_an_event_waits(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let emulation = device.emulation().ok_or("emulated")?;
    let follower = device.stream();
    // It is made, recorded and waited for.
    for at in 1..=3 {
        for older in [false, true] {
            let (other, _x) = busy(&device)?;
            if older {
                fail_a_drop(&device)?;
            }
            emulation.fail(Call::Event, at, false)?;
            follower.follow_in_drop(&other);
            emulation.stop_failing()?;
            if older {
                ensure!(is_refused_release(&pending(&follower)?), "{at}");
            }
            // There is nothing to report: the order holds.
            ensure!(other.is_idle()?, "{at}: not waited for");
            follower.synchronize()?;
        }
    }
    let (other, _x) = busy(&device)?;
    follower.follow_in_drop(&other);
    ensure!(!other.is_idle()?, "waited for though there was an event");
    Ok(device.synchronize()?)
}

pub fn a_vector_is_copied_without_waiting(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let stream = Stream::new(&device)?;
    let x = DeviceVec::from_vec(&stream, ramp(LEN as usize))?;
    ensure!(!stream.is_idle()?, "waited for");
    ensure_eq!(x.to_vec()?, ramp(LEN as usize));
    Ok(())
}

pub fn boxes_without_bytes_are_not_copied(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let emulation = device.emulation().ok_or("emulated")?;
    let stream = device.stream();
    let mut host = ramp(LEN as usize);
    let (mut x, y) = (DeviceVec::from_slice(&stream, &host)?, DeviceVec::from_slice(&stream, &host)?);
    let before = emulation.calls(Call::Copy)?;
    for empty in [Pitched::plane(0, 3), Pitched::plane(3, 0), Pitched::volume(0, 3, 3)] {
        x.as_mut_slice().copy_box_from(empty, y.as_slice(), empty)?;
        x.as_mut_slice().copy_box_from_slice(empty, &host, empty)?;
        x.as_slice().copy_box_to_slice(empty, &mut host, empty)?;
        x.as_mut_slice().fill_box(empty, 7)?;
    }
    ensure_eq!(emulation.calls(Call::Copy)?, before);
    ensure_eq!(x.to_vec()?, ramp(LEN as usize));
    Ok(())
}

/// Memory of another library, whose drop waits for the home stream or leaves its owner to a graph.
fn foreign(stream: &Stream, owner: &Arc<()>) -> Result<DeviceVec<u32>> {
    let memory = DeviceVec::<u32>::zeros(&stream.device().stream(), 3)?;
    memory.home().synchronize()?;
    let (address, owner) = (memory.as_raw(), (memory, owner.clone()));
    // SAFETY: the owner has the memory, and nobody uses it otherwise.
    unsafe { DeviceVec::from_foreign(stream, address, 3, None, owner) }
}

pub fn a_drop_that_waits_leaves_the_older_error_for_later(_: &()) -> Outcome {
    let (device, owner) = (Emulated::new().open()?, Arc::new(()));
    let stream = Stream::new(&device)?;
    let x = foreign(&stream, &owner)?;
    fail_a_drop(&device)?;
    drop(x);
    ensure!(is_refused_release(&pending(&stream)?), "another error");
    ensure!(stream.is_idle()? && Arc::strong_count(&owner) == 1, "not waited for, or leaked");
    // Within a capture it neither ends that nor takes the error.
    let x = foreign(&stream, &owner)?;
    let (graph, ()) = stream.capture(|| {
        fail_a_drop(&device)?;
        drop(x);
        let error = pending(&stream)?;
        if is_refused_release(&error) { Ok(()) } else { Err(error) }
    })?;
    ensure_eq!(Arc::strong_count(&owner), 2);
    // SAFETY: the graph is empty.
    unsafe { graph.launch(&stream)? };
    stream.synchronize()?;
    drop(graph);
    ensure_eq!(Arc::strong_count(&owner), 1);
    Ok(device.synchronize()?)
}

pub fn an_order_in_a_drop_of_two_devices_waits(_: &()) -> Outcome {
    let (here, there) = (Emulated::new().open()?, Emulated::new().open()?);
    let (other, _x) = busy(&there)?;
    here.stream().follow_in_drop(&other);
    ensure!(other.is_idle()?, "not waited for");
    here.synchronize()?;
    Ok(there.synchronize()?)
}

pub fn an_order_in_a_drop_does_nothing_on_a_lost_device(_: &()) -> Outcome {
    const ECC: CudaCode = CudaCode(214);
    let device = Emulated::new().open()?;
    let emulation = device.emulation().ok_or("emulated")?;
    let (follower, (other, _x)) = (device.stream(), busy(&device)?);
    emulation.fail_with(Call::Event, 1, false, ECC)?;
    // The first is the one that loses it.
    for _ in 0..2 {
        follower.follow_in_drop(&other);
        ensure_eq!(emulation.calls(Call::Event)?, 1);
        let error = follower.is_capturing().err().ok_or("the device is not lost")?;
        ensure!(matches!(error, DriverError::DeviceLost { code: ECC, .. }), "{error}");
    }
    // Nor does it wait for another device.
    let there = Emulated::new().open()?;
    let (other, _x) = busy(&there)?;
    follower.follow_in_drop(&other);
    ensure!(!other.is_idle()?, "waited for on a lost device");
    Ok(there.synchronize()?)
}

pub fn a_missing_event_shows_for_some_seed(_: &()) -> Outcome {
    let mut wrong = 0;
    for seed in SEEDS {
        let right = hand_over(&order("random").seed(seed).open()?, |_, _| Ok(()));
        wrong += u32::from(!matches!(right, Ok(true)));
    }
    ensure!(wrong > 0, "20 seeds gave the right answer without an event");
    Ok(())
}

/// Uses a buffer on one stream and releases it on another, where it lives; returns the outcome of both.
fn release_elsewhere(device: &Device, with_event: bool) -> gpu_driver::Result<()> {
    let function = STORE.function(device, "store")?;
    let (home, other) = (device.stream(), Stream::new(device)?);
    let x = upload(device, &ramp(32))?;
    let address = x.as_raw();
    device.synchronize()?;
    launch(&function, 1, 32, 0, values![address], &other)?;
    if with_event {
        home.follow(&other)?;
    }
    drop(x);
    device.synchronize()
}

/// On any device.
pub fn an_event_keeps_a_buffer_until_it_was_used(device: &Device) -> Outcome {
    release_elsewhere(device, true)?;
    if device.is_emulated() {
        for seed in SEEDS {
            release_elsewhere(&order("random").seed(seed).open()?, true).map_err(|e| format!("seed {seed}: {e}"))?;
        }
    }
    Ok(())
}

pub fn an_early_release_shows_for_some_seed(_: &()) -> Outcome {
    let mut reported = 0;
    for seed in SEEDS {
        match release_elsewhere(&order("random").seed(seed).open()?, false) {
            Ok(()) => {}
            Err(DriverError::DeviceLost { code, .. }) if code.0 == 700 => reported += 1,
            Err(other) => return Err(other.into()),
        }
    }
    ensure!(reported > 0, "20 seeds used the buffer before it was released");
    Ok(())
}

/// A copy between buffers of two homes comes after the source was written, and before it is written again or released; on any device.
fn copy_between(device: &Device, release: bool) -> Result<bool> {
    let (first, second) = (Stream::new(device)?, Stream::new(device)?);
    let mut x = DeviceVec::<u32>::zeros(&first, LEN as usize)?;
    let mut y = DeviceVec::<u32>::zeros(&second, LEN as usize)?;
    device.synchronize()?;
    x.as_mut_slice().fill(5)?;
    y.copy_from(x.as_slice())?;
    x.as_mut_slice().fill(9)?;
    if release {
        drop(x);
    }
    let right = y.to_vec()? == [5; LEN as usize];
    device.synchronize()?;
    Ok(right)
}

/// On any device.
pub fn a_copy_is_ordered_with_both_homes(device: &Device) -> Outcome {
    for release in [false, true] {
        ensure!(copy_between(device, release)?);
        if device.is_emulated() {
            for seed in SEEDS {
                ensure!(copy_between(&order("random").seed(seed).open()?, release)?, "seed {seed}");
            }
        }
    }
    Ok(())
}

/// What a pending copy uses stays until it has run, whether it is waited for or dropped; on any device.
pub fn a_pending_copy_keeps_its_pinned_memory(device: &Device) -> Outcome {
    let run = |device: &Device| -> Outcome {
        let stream = Stream::new(device)?;
        // Longer than the buffers that a device keeps for the next.
        let values: Vec<u32> = (0..5000).collect();
        let mut x = DeviceVec::<u32>::zeros(&stream, values.len())?;
        for wait in [true, false] {
            x.set_zero()?;
            let pending = x.upload(PinnedVec::from_slice(device, &values)?)?;
            if wait {
                drop(pending.wait()?);
            } else {
                drop(pending);
            }
            // Would have the same memory.
            let other = PinnedVec::from_slice(device, &[7; 5000])?;
            drop(x.download(PinnedVec::zeros(device, values.len())?)?);
            ensure_eq!(other[4999], 7);
            ensure_eq!(x.to_vec()?, values);
        }
        Ok(())
    };
    run(device)?;
    if device.is_emulated() {
        for seed in SEEDS {
            run(&order("random").seed(seed).open()?).map_err(|error| format!("seed {seed}: {error}"))?;
        }
    }
    Ok(())
}

/// A program goes behind the work that was given to it; on any device.
pub fn a_module_goes_behind_its_work(device: &Device) -> Outcome {
    let run = |device: &Device| -> Outcome {
        let stream = Stream::new(device)?;
        let x = DeviceVec::from_slice(&stream, &ramp(32))?;
        let function = STORE.function(device, "store")?;
        launch(&function, 1, 32, 0, values![x.as_raw()], &stream)?;
        drop(function);
        ensure!(x.to_vec()? != ramp(32));
        Ok(())
    };
    run(device)?;
    if device.is_emulated() {
        for seed in SEEDS {
            run(&order("random").seed(seed).open()?).map_err(|error| format!("seed {seed}: {error}"))?;
        }
    }
    Ok(())
}

/// The mistakes within kernels that tutorials warn of: the emulated device names kernel, line and cause.
pub fn mistakes_in_kernels_are_reported_with_their_line(_: &()) -> Outcome {
    const BEYOND: &str = "extern \"C\" __global__ void twice(float *x) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    x[i] *= 2;\n}\n";
    const UNORDERED: &str = "extern \"C\" __global__ void turned(float *x) {\n    __shared__ float tile[64];\n    tile[threadIdx.x] = x[threadIdx.x];\n    \
        x[threadIdx.x] = tile[63 - threadIdx.x];\n}\n";
    for (mistake, text, blocks, len, parts) in [
        ("no `if (i < n)`", BEYOND, 4, 200, ["twice", "kernel.cu:3", "past the end"]),
        ("no __syncthreads()", UNORDERED, 1, 64, ["turned", "kernel.cu:4", "`tile`"]),
    ] {
        let device = Emulated::new().open()?;
        let stream = device.stream();
        let (module, mut x) = (device.compile(text)?, DeviceVec::<f32>::zeros(&stream, len)?);
        let name = parts[0];
        // SAFETY: the emulated device reports what is wrong, and the device is lost then.
        let launched =
            unsafe { module.function(name)?.launch(gpu_driver::LaunchConfig::new(blocks, 64), (x.in_out(),), &stream) };
        let error = launched.and_then(|()| x.to_vec().map(drop)).err().ok_or(mistake)?.to_string();
        ensure!(parts.iter().all(|part| error.contains(part)), "{mistake}: {error}");
        // Whether another thread has written before is the order's.
        let remedies = ["past the end", "a __syncthreads() may be missing", "with no barrier between"];
        ensure!(remedies.iter().any(|remedy| error.contains(remedy)), "{mistake}: {error}");
    }
    Ok(())
}
