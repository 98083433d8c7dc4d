//! What scratch memory leaves behind, and when it goes.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::mpsc,
    thread,
};

use gpu_driver::{
    CudaCode, Device, DriverError, Graph, Result, Stream, cust,
    emulated::{Call, Emulated},
};
use testkit::{Outcome, ensure, ensure_eq};

use crate::failures::counters;

/// A device of its own, and a way to count what is allocated there.
struct Counted {
    device: Device,
    stream: Stream,
    before: usize,
    used_before: u64,
}

impl Counted {
    fn new() -> Result<Self> {
        let device = Emulated::new().open()?;
        let stream = Stream::new(&device)?;
        let used_before = device.pool_use()?.used_bytes;
        let mut counted = Self { device, stream, before: 0, used_before };
        counted.before = counted.live()?;
        Ok(counted)
    }

    fn live(&self) -> Result<usize> {
        self.device.emulation().ok_or(DriverError::NotEmulated)?.live_allocations()
    }

    /// How many releases were asked for. Unlike the counts below it waits for nothing.
    fn released(&self) -> Result<u64> {
        self.device.emulation().ok_or(DriverError::NotEmulated)?.calls(Call::Release)
    }

    /// Allocations beyond those of the start, without what streams keep, and what the pool has given out since.
    fn more(&self) -> Result<(usize, u64)> {
        Ok((self.live()? - self.before, self.device.pool_use()?.used_bytes - self.used_before))
    }
}

/// The address of a stream's scratch.
fn scratch(stream: &Stream, bytes: usize) -> Result<u64> {
    stream.with_scratch(bytes, Ok)
}

fn well(code: cust::sys::CUresult) -> Outcome {
    ensure_eq!(code as i32, 0);
    Ok(())
}

/// As CUDA allows within a relaxed capture: memory that is in no stream's order, set and freed at once.
pub fn plain_memory_can_be_had_beside_a_capture(_: &()) -> Outcome {
    let Counted { device, stream, .. } = &Counted::new()?;
    let (graph, ()) = stream.capture(|| {
        let beside = || -> Outcome {
            let _current = device.make_current()?;
            let (mut address, mut host) = (0, [0u8; 4]);
            // SAFETY: the pointers are valid for the calls, the ranges lie within the memory, which is freed once.
            unsafe {
                well(cust::sys::cuMemAlloc_v2(&mut address, 100))?;
                well(cust::sys::cuMemsetD8_v2(address, 7, 100))?;
                well(cust::sys::cuMemcpyDtoH_v2(host.as_mut_ptr().cast(), address + 96, 4))?;
                well(cust::sys::cuMemFree_v2(address))?;
            }
            ensure_eq!(host, [7; 4]);
            Ok(())
        };
        beside().map_err(|error| DriverError::Nvrtc { call: "beside", message: error.to_string() })
    })?;
    // SAFETY: a graph of nothing.
    unsafe { graph.launch(stream)? };
    Ok(stream.synchronize()?)
}

pub fn scratch_goes_with_its_stream(_: &()) -> Outcome {
    let counted = Counted::new()?;
    let side = Stream::new(&counted.device)?;
    for bytes in [100, 200 << 10, 300 << 10] {
        scratch(&side, bytes)?;
    }
    let (live, used) = counted.more()?;
    // One memory, twice as large as that for 200 KiB.
    ensure!(live == 0 && (400 << 10..600 << 10).contains(&used), "{live}, {used}");
    let clone = side.clone();
    drop(side);
    ensure_eq!(counted.more()?.1, used);
    drop(clone);
    ensure_eq!(counted.more()?, (0, 0));
    Ok(())
}

pub fn scratch_of_a_graph_goes_with_it(_: &()) -> Outcome {
    let counted = Counted::new()?;
    let stream = &counted.stream;
    let capture = || -> Result<Graph> {
        let (graph, ()) = stream.capture(|| {
            // The second is that of the first.
            let of_one = scratch(stream, 100)? == scratch(stream, 200)?;
            let of_other = scratch(stream, 1 << 20)? == scratch(stream, 300)?;
            if of_one && of_other { Ok(()) } else { Err(DriverError::NoDevice) }
        })?;
        Ok(graph)
    };
    let (one, other) = (capture()?, capture()?);
    ensure_eq!(counted.more()?.0, 4);
    drop(one);
    ensure_eq!(counted.more()?.0, 2);
    // A graph that goes within a capture, or while another thread captures, is freed when that has ended.
    let released = counted.released()?;
    let (_third, within) = counted.device.stream().capture(|| {
        drop(other);
        counted.released()
    })?;
    ensure_eq!((within, counted.released()?), (released, released + 2));
    ensure_eq!(counted.more()?, (0, 0));
    let graph = capture()?;
    let released = counted.released()?;
    thread::scope(|scope| -> Outcome {
        let (began, wait) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let main = counted.device.stream();
        let other = scope.spawn(move || {
            main.capture(|| {
                let _ = began.send(());
                let _ = ended.recv();
                Ok::<_, DriverError>(())
            })
        });
        wait.recv()?;
        drop(graph);
        ensure_eq!(counted.released()?, released);
        drop(end);
        other.join().map_err(|_| "the other thread panicked")??;
        ensure_eq!(counted.released()?, released + 2);
        Ok(())
    })?;
    ensure_eq!(counted.more()?, (0, 0));
    Ok(())
}

pub fn scratch_of_a_capture_that_fails_goes(_: &()) -> Outcome {
    let counted = Counted::new()?;
    let (stream, side) = (&counted.stream, Stream::new(&counted.device)?);
    let fork = || -> Result<()> {
        side.wait(&stream.record()?)?;
        side.with_scratch(100, |address| {
            let _current = counted.device.make_current()?;
            // SAFETY: within the memory, whose counters stay zero. It makes a step of the fork, which is not joined.
            let code = unsafe { cust::sys::cuMemsetD8Async(address, 0, 4, side.as_raw()) };
            if code as i32 == 0 { Ok(()) } else { Err(DriverError::NoDevice) }
        })?;
        scratch(stream, 100).map(drop)
    };
    // `work` fails; what is captured cannot be; a fork is not joined; a panic.
    let failed = stream.capture(|| fork().and(Err::<(), _>(DriverError::NoDevice)));
    ensure!(failed.is_err());
    ensure_eq!(counted.more()?, (0, 0));
    let spoilt = stream.capture(|| {
        fork()?;
        ensure_is_err(stream.synchronize())?;
        // A capture that cannot end well takes no more.
        ensure_is_err(scratch(stream, 100))
    });
    ensure!(spoilt.is_err());
    ensure_eq!(counted.more()?, (0, 0));
    let released = counted.released()?;
    ensure!(stream.capture(fork).is_err(), "a fork that is not joined");
    ensure_eq!(counted.released()?, released + 2);
    ensure_eq!(counted.more()?, (0, 0));
    let panic = || stream.capture(|| fork().map(|()| resume_unwind(Box::new("gone wrong"))));
    ensure!(catch_unwind(AssertUnwindSafe(panic)).is_err());
    ensure_eq!(counted.released()?, released + 4);
    ensure_eq!(counted.more()?, (0, 0));
    // The stream's own memory is as usable as before.
    ensure!(counters(stream, scratch(stream, 100)?)?.iter().all(|&counter| counter == 0));
    Ok(())
}

fn ensure_is_err<T>(outcome: Result<T>) -> Result<()> {
    outcome.err().map(|_| ()).ok_or(DriverError::NoDevice)
}

pub fn scratch_of_a_stream_dropped_within_a_capture_goes_at_its_end(_: &()) -> Outcome {
    let counted = Counted::new()?;
    let (stream, side) = (&counted.stream, Stream::new(&counted.device)?);
    scratch(&side, 100)?;
    let outcome = stream.capture(|| {
        side.wait(&stream.record()?)?;
        scratch(&side, 100)?;
        drop(side);
        Ok::<_, DriverError>(())
    });
    ensure!(outcome.is_err(), "{outcome:?}");
    ensure_eq!(counted.more()?, (0, 0));
    // A stream of no part in the capture goes at once.
    let side = Stream::new(&counted.device)?;
    scratch(&side, 100)?;
    let (_graph, used) = stream.capture(|| {
        drop(side);
        counted.device.pool_use()
    })?;
    ensure_eq!(used.used_bytes, counted.used_before);
    ensure_eq!(counted.more()?, (0, 0));
    Ok(())
}

/// A graph's counters are zero before its first launch, whatever its memory held and though nothing has run since.
pub fn scratch_is_cleared_when_a_graph_s_is_made(_: &()) -> Outcome {
    let counted = Counted::new()?;
    let (_graph, address) = counted.stream.capture(|| scratch(&counted.stream, 100))?;
    ensure!(counters(&counted.stream, address)?.iter().all(|&counter| counter == 0));
    Ok(())
}

pub fn scratch_is_left_alone_on_a_lost_device(_: &()) -> Outcome {
    let counted = Counted::new()?;
    let stream = &counted.stream;
    scratch(stream, 100)?;
    let (graph, _) = stream.capture(|| scratch(stream, 100))?;
    let emulation = counted.device.emulation().ok_or("emulated")?;
    emulation.fail_with(Call::Allocation, 1, false, CudaCode(214))?;
    for bytes in [1 << 20, 100] {
        let error = scratch(stream, bytes).err().ok_or("the device is lost")?;
        ensure!(matches!(error, DriverError::DeviceLost { .. }), "{error}");
    }
    drop(graph);
    drop(counted);
    scratch(&Emulated::new().open()?.stream(), 100)?;
    Ok(())
}

/// Memory of a capture is not used behind its end: the emulated device would find a launch of it.
pub fn scratch_of_a_graph_is_no_memory_behind_it(_: &()) -> Outcome {
    let counted = Counted::new()?;
    let (graph, address) = counted.stream.capture(|| scratch(&counted.stream, 100))?;
    ensure!(counters(&counted.stream, address).is_ok());
    drop(graph);
    ensure!(counters(&counted.stream, address).is_err());
    Ok(())
}
