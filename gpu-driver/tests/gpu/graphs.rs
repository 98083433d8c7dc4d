//! Captured work: replays, forks, and what ends a capture.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use gpu_driver::{
    Device, DeviceVec, DriverError, Graph, LaunchConfig, Module, Program, Result, Stream, emulated::Emulated,
};
use testkit::{Outcome, ensure, ensure_eq};

use crate::{
    facts::is_given_back,
    kernels::{Axpy, KERNELS},
};

const N: usize = 1000;

/// Enqueues `y += a x` on `stream`.
fn axpy(a: f32, x: &DeviceVec<f32>, y: &mut DeviceVec<f32>, stream: &Stream) -> Result<()> {
    let kernel = KERNELS.kernel::<Axpy<f32>>(stream.device(), &256)?;
    // SAFETY: reads x[..n], writes y[..n].
    unsafe { kernel.launch(2, (a, x.input(), y.in_out(), x.len() as u64), stream) }
}

/// Enqueues the graph.
fn replay(graph: &Graph, stream: &Stream) -> Result<()> {
    // SAFETY: each test keeps the buffers of its capture until it has waited, and touches them between the waits alone.
    unsafe { graph.launch(stream) }
}

fn ramp(factor: f32) -> Vec<f32> {
    (0..N).map(|i| factor * i as f32).collect()
}

/// The stream runs what it is given, in order.
fn is_usable(stream: &Stream) -> Outcome {
    ensure!(!stream.is_capturing()?);
    let (x, mut y) = (DeviceVec::from_slice(stream, &ramp(1.0))?, DeviceVec::from_slice(stream, &ramp(2.0))?);
    axpy(3.0, &x, &mut y, stream)?;
    ensure_eq!(y.to_vec()?, ramp(5.0));
    Ok(())
}

pub fn a_graph_replays_with_changed_inputs(device: &Device) -> Outcome {
    let (stream, other) = (Stream::new(device)?, Stream::new(device)?);
    let mut x = DeviceVec::from_slice(&stream, &ramp(1.0))?;
    let (mut y, mut z) = (DeviceVec::from_slice(&stream, &ramp(0.0))?, DeviceVec::from_slice(&stream, &ramp(0.0))?);
    // A chain with a copy in it: y += 2 x, z = y, z += x.
    let (graph, answer) = stream.capture(|| {
        ensure_capturing(&stream)?;
        axpy(2.0, &x, &mut y, &stream)?;
        z.copy_from(y.as_slice())?;
        axpy(1.0, &x, &mut z, &stream)?;
        Ok::<_, DriverError>(42)
    })?;
    ensure_eq!(answer, 42);
    ensure!(graph.device() == device && !stream.is_capturing()?);
    // Nothing has run yet.
    ensure_eq!(y.to_vec()?, ramp(0.0));
    let mut sum = 0.0;
    for (round, factor) in [1.0, 10.0, -3.0].into_iter().enumerate() {
        x.copy_from_slice(&ramp(factor))?;
        let on = if round == 1 { &other } else { &stream };
        replay(&graph, on)?;
        on.synchronize()?;
        sum += 2.0 * factor;
        ensure_eq!(y.to_vec()?, ramp(sum));
        ensure_eq!(z.to_vec()?, ramp(sum + factor));
    }
    // Several in a row, and the handle goes while they are enqueued.
    (0..5).try_for_each(|_| replay(&graph, &stream))?;
    drop(graph);
    ensure_eq!(y.to_vec()?, ramp(sum - 30.0));
    is_usable(&stream)
}

fn ensure_capturing(stream: &Stream) -> Result<()> {
    if stream.is_capturing()? && stream.capture_number()?.is_some() { Ok(()) } else { Err(DriverError::NoDevice) }
}

/// y1 = y1 + x beside y2 = y2 + x, then y1 += y2; the second on a stream that joins the capture and leaves it.
pub fn a_capture_forks_and_joins(device: &Device) -> Outcome {
    let (stream, side) = (Stream::new(device)?, Stream::new(device)?);
    let mut x = DeviceVec::from_slice(&stream, &ramp(1.0))?;
    let mut y = DeviceVec::from_slice(&stream, &ramp(0.0))?;
    for of_side in [false, true] {
        // A buffer of the side stream is touched between the events; one of the main stream orders the launch by itself.
        let home = if of_side { &side } else { &stream };
        let mut y2 = DeviceVec::from_slice(home, &ramp(0.0))?;
        y.copy_from_slice(&ramp(0.0))?;
        let (graph, ()) = stream.capture(|| {
            side.wait(&stream.record()?)?;
            axpy(1.0, &x, &mut y2, &side)?;
            axpy(1.0, &x, &mut y, &stream)?;
            stream.wait(&side.record()?)?;
            axpy(1.0, &y2, &mut y, &stream)?;
            // What the last launch gave to the side stream is joined again.
            stream.wait(&side.record()?)
        })?;
        ensure!(!side.is_capturing()?);
        let (mut of_y, mut of_y2) = (0.0, 0.0);
        for factor in [1.0, 4.0, -2.0] {
            x.copy_from_slice(&ramp(factor))?;
            replay(&graph, &stream)?;
            stream.synchronize()?;
            of_y2 += factor;
            of_y += factor + of_y2;
            ensure_eq!(y2.to_vec()?, ramp(of_y2));
            ensure_eq!(y.to_vec()?, ramp(of_y));
        }
    }
    is_usable(&stream)?;
    is_usable(&side)
}

pub fn an_error_within_a_capture_leaves_the_stream_usable(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let (x, mut y) = (DeviceVec::from_slice(&stream, &ramp(1.0))?, DeviceVec::from_slice(&stream, &ramp(2.0))?);
    let outcome: Result<(Graph, ())> = stream.capture(|| {
        axpy(1.0, &x, &mut y, &stream)?;
        Err(DriverError::NoDevice)
    });
    ensure!(matches!(outcome, Err(DriverError::NoDevice)), "{outcome:?}");
    // What was captured before the error does not run.
    ensure_eq!(y.to_vec()?, ramp(2.0));
    is_usable(&stream)?;
    // A capture of nothing is a graph of nothing.
    let (empty, ()) = stream.capture(|| Ok::<_, DriverError>(()))?;
    replay(&empty, &stream)?;
    is_usable(&stream)
}

/// A panic ends the capture, also those around it, and what the stream and the device can do afterwards is as before.
pub fn a_panic_within_a_capture_leaves_the_stream_usable(device: &Device) -> Outcome {
    let (stream, side) = (Stream::new(device)?, Stream::new(device)?);
    let (x, mut y) = (DeviceVec::from_slice(&stream, &ramp(1.0))?, DeviceVec::from_slice(&stream, &ramp(2.0))?);
    for around in [false, true] {
        let mut inner = || {
            stream.capture(|| -> Result<()> {
                axpy(1.0, &x, &mut y, &stream)?;
                // Without a message on the standard error.
                resume_unwind(Box::new("gone wrong"))
            })
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| match around {
            true => side.capture(inner).map(drop),
            false => inner().map(drop),
        }));
        let panic = outcome.err().ok_or("the panic does not come through")?;
        ensure!(panic.downcast_ref() == Some(&"gone wrong"));
        ensure!(!stream.is_capturing()? && !side.is_capturing()?);
        // Nothing announces the capture any more, to this thread or to others.
        device.synchronize()?;
        thread::scope(|scope| scope.spawn(|| device.synchronize()).join())
            .map_err(|_| "the other thread panicked")??;
    }
    // What was captured before the panic does not run.
    ensure_eq!(y.to_vec()?, ramp(2.0));
    is_usable(&stream)?;
    is_usable(&side)
}

/// A caller's own error type, as a crate above this one has.
#[derive(Debug)]
enum Own {
    Driver(DriverError),
    Mine(u32),
}

impl From<DriverError> for Own {
    fn from(error: DriverError) -> Self {
        Self::Driver(error)
    }
}

pub fn error_of_the_caller_s_own_type_comes_first(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    for mine in [true, false] {
        for spoilt in [true, false] {
            let outcome = stream.capture(|| {
                if spoilt {
                    // Ends the capture, whose end fails for it.
                    let _ = stream.synchronize();
                }
                if mine { Err(Own::Mine(7)) } else { Ok(8) }
            });
            let right = match (&outcome, mine, spoilt) {
                (Err(Own::Mine(7)), true, _) | (Ok((_, 8)), false, false) => true,
                (Err(Own::Driver(error)), false, true) => error.to_string().contains("STREAM_CAPTURE"),
                _ => false,
            };
            ensure!(right, "mine {mine}, spoilt {spoilt}: {outcome:?}");
            is_usable(&stream)?;
        }
    }
    Ok(())
}

pub fn error_what_cannot_be_captured(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let (x, mut y) = (DeviceVec::from_slice(&stream, &ramp(1.0))?, DeviceVec::from_slice(&stream, &ramp(2.0))?);
    type Forbidden = fn(&Stream, &mut DeviceVec<f32>) -> Result<()>;
    let forbidden: [(&str, Forbidden); 5] = [
        ("a wait for the stream", |stream, _| stream.synchronize()),
        ("a question about the stream", |stream, _| stream.is_idle().map(drop)),
        ("a copy from pageable memory", |_, y| y.copy_from_slice(&ramp(7.0))),
        ("a copy to pageable memory", |_, y| y.to_vec().map(drop)),
        ("a capture within", |stream, _| stream.capture(|| Ok::<_, DriverError>(())).map(drop)),
    ];
    for (what, work) in forbidden {
        for keep_quiet in [false, true] {
            let mut met = None;
            let outcome = stream.capture(|| {
                axpy(1.0, &x, &mut y, &stream)?;
                let result = work(&stream, &mut y);
                met = result.clone().err();
                if keep_quiet { Ok(()) } else { result }
            });
            let is_copy = what.starts_with("a copy");
            let right = match met {
                Some(DriverError::InCapture { .. }) => is_copy,
                Some(DriverError::Cuda { .. }) => !is_copy,
                _ => false,
            };
            ensure!(right, "{what}: {met:?}");
            // Refused before the driver sees it, or by the driver without harm; all others end the capture, also when `work` says nothing.
            let harmless = is_copy || what == "a capture within";
            ensure!(outcome.is_err() != (keep_quiet && harmless), "{what}");
            drop(outcome);
            is_usable(&stream).map_err(|error| format!("{what}: {error}"))?;
        }
    }
    ensure_eq!(y.to_vec()?, ramp(2.0));
    Ok(())
}

pub fn error_a_capture_with_a_buffer_of_another_home(device: &Device) -> Outcome {
    let (stream, elsewhere) = (Stream::new(device)?, Stream::new(device)?);
    let (x, mut y) = (DeviceVec::from_slice(&elsewhere, &ramp(1.0))?, DeviceVec::from_slice(&stream, &ramp(2.0))?);
    let outcome = stream.capture(|| axpy(1.0, &x, &mut y, &stream));
    let Err(error @ DriverError::Cuda { .. }) = outcome else { return Err(format!("{outcome:?}").into()) };
    ensure!(error.to_string().contains("STREAM_CAPTURE"), "{error}");
    is_usable(&stream)?;
    is_usable(&elsewhere)?;
    ensure_eq!(y.to_vec()?, ramp(2.0));
    // Nor does the end of a stream's part in it, when that is not joined.
    let mut y2 = DeviceVec::from_slice(&elsewhere, &ramp(0.0))?;
    let outcome = stream.capture(|| {
        elsewhere.wait(&stream.record()?)?;
        let kernel = KERNELS.kernel::<Axpy<f32>>(device, &256)?;
        // SAFETY: reads x[..n], writes y2[..n]. The capture fails, so nothing runs.
        unsafe { kernel.launch(1, (0.0, x.input(), y2.in_out(), N as u64), &elsewhere) }
    });
    let Err(error) = outcome else { return Err("a fork that is not joined".into()) };
    ensure!(error.to_string().contains("UNJOINED"), "{error}");
    is_usable(&stream)?;
    is_usable(&elsewhere)
}

/// A wait for the whole device would end the captures of other threads: it begins after them.
pub fn waits_of_other_threads_leave_a_capture_alone(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let (x, mut y) = (DeviceVec::from_slice(&stream, &ramp(1.0))?, DeviceVec::from_slice(&stream, &ramp(0.0))?);
    let binary = Program::new("f.cu", "extern \"C\" __global__ void f() {}").compile(device.arch())?;
    let module = || Module::load(device, &binary);
    let (own, theirs) = (module()?, module()?);
    let captured = thread::scope(|scope| {
        let (started, wait) = mpsc::channel();
        let other = scope.spawn(move || -> Result<()> {
            // Gone with the sender, in case that the capture failed.
            let _ = wait.recv();
            drop(theirs);
            device.synchronize()
        });
        let captured = stream.capture(|| {
            axpy(1.0, &x, &mut y, &stream)?;
            let _ = started.send(());
            thread::sleep(Duration::from_millis(20));
            drop(own);
            axpy(2.0, &x, &mut y, &stream)
        });
        (captured, other.join())
    });
    let (graph, ()) = captured.0?;
    captured.1.map_err(|_| "the other thread panicked")??;
    replay(&graph, &stream)?;
    ensure_eq!(y.to_vec()?, ramp(3.0));
    // What was dropped within the capture has gone by now, or goes with the next; nothing is reported about it.
    drop(module()?);
    device.synchronize()?;
    is_usable(&stream)
}

/// Within a capture of its own, a wait for the whole device is refused before the driver sees it.
pub fn a_capture_refuses_to_wait_for_the_device(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let (x, mut y) = (DeviceVec::from_slice(&stream, &ramp(1.0))?, DeviceVec::from_slice(&stream, &ramp(0.0))?);
    let (graph, waited) = stream.capture(|| {
        axpy(1.0, &x, &mut y, &stream)?;
        Ok::<_, DriverError>(device.synchronize())
    })?;
    let error = waited.unwrap_err().to_string();
    ensure!(error.contains("Device::synchronize cannot be captured"), "{error}");
    replay(&graph, &stream)?;
    ensure_eq!(y.to_vec()?, ramp(1.0));
    device.synchronize()?;
    is_usable(&stream)
}

/// A buffer that is allocated within a capture belongs to the graph and to itself, whichever goes first.
pub fn buffers_of_a_capture_are_shared_with_its_graph(device: &Device) -> Outcome {
    // A device of its own, where what lives is counted: other tests run beside this one.
    let own = if device.is_emulated() { Emulated::new().open()? } else { device.clone() };
    let device = &own;
    let (stream, other) = (Stream::new(device)?, Stream::new(device)?);
    let mut x = DeviceVec::from_slice(&stream, &ramp(1.0))?;
    let live = device.emulation().map(|emulation| emulation.live_allocations()).transpose()?;
    for graph_first in [true, false] {
        x.copy_from_slice(&ramp(1.0))?;
        // y = 0 + 2 x, by way of a buffer that lives within the capture alone.
        let (graph, y) = stream.capture(|| {
            let mut between = DeviceVec::zeros(&stream, N)?;
            axpy(2.0, &x, &mut between, &stream)?;
            between.try_clone()
        })?;
        // Nothing has run.
        ensure_eq!(y.to_vec()?, vec![0.0; N]);
        for (factor, on) in [(1.0, &stream), (-4.0, &other)] {
            x.copy_from_slice(&ramp(factor))?;
            replay(&graph, on)?;
            on.synchronize()?;
            ensure_eq!(y.to_vec()?, ramp(2.0 * factor));
        }
        // What is allocated next has other memory than either of them.
        let taken: Vec<_> = (0..8).map(|_| DeviceVec::<f32>::zeros(&stream, N)).collect::<Result<_>>()?;
        ensure!(taken.iter().all(|other| other.as_raw() != y.as_raw()));
        if graph_first {
            drop(graph);
            let (_second, z) = stream.capture(|| DeviceVec::<f32>::zeros(&stream, N))?;
            ensure!(z.as_raw() != y.as_raw());
            ensure_eq!(y.to_vec()?, ramp(-8.0));
        } else {
            drop(y);
            let (_second, _z) = stream.capture(|| DeviceVec::<f32>::zeros(&stream, N))?;
            replay(&graph, &stream)?;
            stream.synchronize()?;
        }
    }
    drop(x);
    if let (Some(emulation), Some(live)) = (device.emulation(), live) {
        ensure_eq!(emulation.live_allocations()?, live - 1);
    }
    is_usable(&stream)
}

/// Buffers that come and go within a capture take each other's memory.
pub fn buffers_of_a_capture_are_used_again(device: &Device) -> Outcome {
    let (stream, side) = (Stream::new(device)?, Stream::new(device)?);
    let (_graph, addresses) = stream.capture(|| {
        let mut addresses = Vec::new();
        for _ in 0..10 {
            addresses.push(DeviceVec::<f32>::zeros(&stream, N)?.as_raw());
        }
        // Not in the order of another stream, nor where it is too small.
        side.wait(&stream.record()?)?;
        let elsewhere =
            [DeviceVec::<f32>::zeros(&side, N)?.as_raw(), DeviceVec::<f32>::zeros(&stream, 2 * N)?.as_raw()];
        stream.wait(&side.record()?)?;
        Ok::<_, DriverError>((addresses, elsewhere))
    })?;
    let (same, others) = addresses;
    ensure!(same.iter().all(|&address| address == same[0]), "{same:?}");
    ensure!(!others.contains(&same[0]) && others[0] != others[1], "{others:?}");
    Ok(())
}

/// A buffer that is dropped within a capture stays until the graph goes.
pub fn buffers_that_are_dropped_in_a_capture_stay_with_its_graph(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let mut y = DeviceVec::from_slice(&stream, &ramp(0.0))?;
    let x = DeviceVec::from_slice(&stream, &ramp(3.0))?;
    let (graph, ()) = stream.capture(|| {
        axpy(1.0, &x, &mut y, &stream)?;
        drop(x);
        Ok::<_, DriverError>(())
    })?;
    // These would have its memory.
    let others: Vec<_> = (0..8).map(|_| DeviceVec::from_slice(&stream, &ramp(7.0))).collect::<Result<_>>()?;
    for round in 1..4 {
        replay(&graph, &stream)?;
        ensure_eq!(y.to_vec()?, ramp(3.0 * round as f32));
    }
    drop((graph, others));
    is_usable(&stream)
}

/// A buffer of one capture that another one uses and releases stays until both graphs have gone, whichever goes first.
pub fn buffers_of_a_capture_that_another_releases_stay_with_both(device: &Device) -> Outcome {
    // A device of its own, where what lives is counted.
    let own = if device.is_emulated() { Emulated::new().open()? } else { device.clone() };
    let device = &own;
    let stream = Stream::new(device)?;
    let (x, mut y) = (DeviceVec::from_slice(&stream, &ramp(3.0))?, DeviceVec::from_slice(&stream, &ramp(0.0))?);
    let live = device.emulation().map(|emulation| emulation.live_allocations()).transpose()?;
    for goes in ["before the second capture", "within it", "after it", "last"] {
        y.copy_from_slice(&ramp(0.0))?;
        // b = 2 x.
        let (first, b) = stream.capture(|| {
            let mut b = DeviceVec::zeros(&stream, N)?;
            axpy(2.0, &x, &mut b, &stream)?;
            Ok::<_, DriverError>(b)
        })?;
        replay(&first, &stream)?;
        stream.synchronize()?;
        let mut first = Some(first);
        if goes == "before the second capture" {
            first = None;
        }
        // y += b, and the buffer goes.
        let (second, ()) = stream.capture(|| {
            axpy(1.0, &b, &mut y, &stream)?;
            if goes == "within it" {
                first = None;
            }
            drop(b);
            // What is allocated later in the capture has other memory: the first graph writes to that of the buffer.
            let mut other = DeviceVec::zeros(&stream, N)?;
            axpy(100.0, &x, &mut other, &stream)
        })?;
        if goes == "after it" {
            first = None;
        }
        // These would have its memory.
        let others: Vec<_> = (0..8).map(|_| DeviceVec::from_slice(&stream, &ramp(7.0))).collect::<Result<_>>()?;
        for round in 1..4 {
            replay(&second, &stream)?;
            ensure_eq!((goes, y.to_vec()?), (goes, ramp(6.0 * round as f32)));
            if let Some(first) = &first {
                replay(first, &stream)?;
                stream.synchronize()?;
            }
        }
        drop((second, others));
        drop(first);
        if let (Some(emulation), Some(live)) = (device.emulation(), live) {
            ensure_eq!((goes, emulation.live_allocations()?), (goes, live));
        }
    }
    drop(x);
    is_usable(&stream)
}

/// A copy to the host beside captures of its stream by another thread is refused or right: no copy is captured whose end the host has waited for.
pub fn copies_beside_captures_of_another_thread_are_refused_or_right(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let mut x = DeviceVec::from_slice(&stream, &ramp(1.0))?;
    let stop = AtomicBool::new(false);
    let (refused, copied) = thread::scope(|scope| {
        let captures = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                // A copy that came between begin and end would be in the graph.
                let captured = stream.capture(|| {
                    thread::yield_now();
                    Ok::<_, DriverError>(())
                });
                captured.unwrap_or_else(|error| panic!("{error}"));
            }
        });
        let mut copies = || -> std::result::Result<_, Box<dyn std::error::Error>> {
            let (mut refused, mut copied, mut factor) = (0, 0, 1.0);
            let start = Instant::now();
            while refused + copied < 500 || (refused.min(copied) == 0 && start.elapsed() < Duration::from_secs(10)) {
                match x.copy_from_slice(&ramp(factor + 1.0)) {
                    Ok(()) => factor += 1.0,
                    Err(DriverError::InCapture { .. }) => refused += 1,
                    Err(error) => return Err(error.into()),
                }
                match x.to_vec() {
                    Ok(got) => {
                        copied += 1;
                        ensure_eq!(got, ramp(factor));
                    }
                    Err(DriverError::InCapture { .. }) => refused += 1,
                    Err(error) => return Err(error.into()),
                }
            }
            Ok((refused, copied))
        };
        let outcome = copies();
        stop.store(true, Ordering::Relaxed);
        captures.join().unwrap_or_else(|panic| resume_unwind(panic));
        outcome.map_err(|error| error.to_string())
    })?;
    ensure!(refused > 0 && copied > 0, "{refused} refused, {copied} copied");
    is_usable(&stream)
}

/// The module of a captured kernel, and what is given to the graph, go with the graph.
pub fn a_graph_keeps_its_modules_and_what_it_is_given(device: &Device) -> Outcome {
    struct Given(Arc<AtomicBool>, DeviceVec<f32>);
    impl Drop for Given {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let text = "extern \"C\" __global__ void add(const float *x, float *y) { y[threadIdx.x] += x[threadIdx.x]; }";
    let stream = Stream::new(device)?;
    let (mut y, gone) = (DeviceVec::<f32>::zeros(&stream, 8)?, Arc::new(AtomicBool::new(false)));
    let graph = {
        let module = Module::load(device, &Program::new("add.cu", text).compile(device.arch())?)?;
        let add = module.function("add")?;
        let given = Arc::new(Given(gone.clone(), DeviceVec::from_slice(&stream, &ramp(1.0)[..8])?));
        ensure!(!stream.retain_in_graph(&given)?);
        let captured = stream.capture(|| {
            for _ in 0..3 {
                ensure_capturing(&stream)?;
                if !stream.retain_in_graph(&given)? {
                    return Err(DriverError::NoDevice);
                }
                let (mut from, mut to) = (given.1.as_raw(), y.as_raw());
                let config = LaunchConfig { grid: 1.into(), block: 8.into(), shared_bytes: 0 };
                // SAFETY: eight threads read x[..8], which the graph keeps, and write y[..8].
                unsafe { add.launch_raw(config, &mut [(&raw mut from).cast(), (&raw mut to).cast()], &stream)? };
            }
            Ok(())
        })?;
        captured.0
    };
    let others: Vec<_> = (0..8).map(|_| DeviceVec::from_slice(&stream, &ramp(7.0)[..8])).collect::<Result<_>>()?;
    ensure!(!gone.load(Ordering::Relaxed));
    for round in 1..3 {
        replay(&graph, &stream)?;
        ensure_eq!(y.to_vec()?, ramp(3.0 * round as f32)[..8]);
    }
    replay(&graph, &stream)?;
    drop((graph, others));
    // At once, or when the captures of the tests beside this one have ended.
    let is_gone =
        || (0..1000).any(|_| gone.load(Ordering::Relaxed) || (thread::sleep(Duration::from_millis(10)), false).1);
    ensure!(is_gone());
    ensure_eq!(y.to_vec()?, ramp(9.0)[..8]);
    y.copy_from_slice(&ramp(0.0)[..8])?;
    is_usable(&stream)
}

/// The thread that a capture waits for captures too, while a third one waits for the device.
pub fn captures_wait_for_no_thread_that_waits(device: &Device) -> Outcome {
    const PATIENCE: Duration = Duration::from_secs(60);
    let stream = Stream::new(device)?;
    let (done, ended) = mpsc::channel();
    let device = device.clone();
    // In a thread of its own, which is left behind where it hangs.
    thread::spawn(move || {
        let outcome = thread::scope(|scope| {
            stream.capture(|| {
                let waits = scope.spawn(|| device.synchronize());
                thread::sleep(Duration::from_millis(50));
                let captures = scope.spawn(|| {
                    let other = Stream::new(&device)?;
                    other.capture(|| Ok::<_, DriverError>(())).map(drop)
                });
                let [waited, captured] =
                    [waits, captures].map(|thread| thread.join().unwrap_or(Err(DriverError::NoDevice)));
                waited.and(captured)
            })
        });
        let _ = done.send(outcome.map(drop));
    });
    ended.recv_timeout(PATIENCE).map_err(|_| "the threads wait for each other")??;
    Ok(())
}

/// A graph cannot be launched into another one; the capture goes on without it.
pub fn error_a_graph_within_a_capture(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let (x, mut y) = (DeviceVec::from_slice(&stream, &ramp(1.0))?, DeviceVec::from_slice(&stream, &ramp(2.0))?);
    let (inner, ()) = stream.capture(|| axpy(1.0, &x, &mut y, &stream))?;
    let (outer, refused) = stream.capture(|| {
        let refused = replay(&inner, &stream);
        axpy(10.0, &x, &mut y, &stream)?;
        Ok::<_, DriverError>(refused)
    })?;
    ensure!(matches!(refused, Err(DriverError::InCapture { op: "Graph::launch" })), "{refused:?}");
    drop(inner);
    replay(&outer, &stream)?;
    ensure_eq!(y.to_vec()?, ramp(12.0));
    is_usable(&stream)
}

pub fn a_graph_is_updated_in_place(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let x = DeviceVec::from_slice(&stream, &ramp(1.0))?;
    let mut made: Vec<DeviceVec<f32>> = Vec::new();
    for _ in 0..2 {
        made.push(DeviceVec::from_slice(&stream, &ramp(0.0))?);
    }
    let (mut z, mut y) = (made.pop().ok_or("two")?, made.pop().ok_or("two")?);
    let (mut graph, ()) = stream.capture(|| axpy(2.0, &x, &mut y, &stream))?;
    // The enqueued launch runs as it was.
    replay(&graph, &stream)?;
    let kept = Arc::new(());
    let answer = graph.update(&stream, || {
        stream.retain_in_graph(&kept)?;
        axpy(5.0, &x, &mut z, &stream)?;
        Ok::<_, DriverError>(7)
    })?;
    ensure_eq!((answer, Arc::strong_count(&kept)), (7, 2));
    replay(&graph, &stream)?;
    replay(&graph, &stream)?;
    ensure_eq!((y.to_vec()?, z.to_vec()?), (ramp(2.0), ramp(10.0)));
    // Other work: an error, and the graph is as it was.
    let refused = graph.update(&stream, || z.copy_from(y.as_slice()));
    let text = refused.err().map(|error| error.to_string()).unwrap_or_default();
    ensure!(text.contains("cuGraphExecUpdate") && text.contains("GRAPH_EXEC_UPDATE_FAILURE"), "{text}");
    let failed = graph.update(&stream, || Err::<(), _>(DriverError::NoDevice));
    ensure!(matches!(failed, Err(DriverError::NoDevice)));
    replay(&graph, &stream)?;
    ensure_eq!((y.to_vec()?, z.to_vec()?), (ramp(2.0), ramp(15.0)));
    ensure_eq!(Arc::strong_count(&kept), 2);
    drop(graph);
    device.synchronize()?;
    // The driver releases what a graph held in a thread of its own.
    ensure!(is_given_back(&kept), "{} owners", Arc::strong_count(&kept));
    is_usable(&stream)
}
