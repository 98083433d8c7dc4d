//! Memory of a stream: sums whose blocks meet in one launch, on streams, threads and in graphs.

use std::{
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    thread,
};

use gpu_driver::{Device, DeviceVec, DriverError, LaunchConfig, Program, Result, SCRATCH_COUNTERS, Stream};
use testkit::{Outcome, ensure, ensure_eq};

use crate::kernels::{KERNELS, SPACE, Total};

/// Enqueues `out[0]` = sum of `x` by that many blocks; the address of the scratch memory.
fn total(x: &DeviceVec<u32>, out: &mut DeviceVec<u64>, blocks: u32, stream: &Stream) -> Result<u64> {
    let kernel = KERNELS.kernel::<Total>(stream.device(), &())?;
    stream.with_scratch(8 * (blocks * Total::THREADS) as usize, |counters| {
        let partial = counters + SCRATCH_COUNTERS as u64;
        // SAFETY: reads x[..n], writes a sum of each thread behind the counters and out[0]; the counter is zero again at the end.
        unsafe { kernel.launch(blocks, (x.input(), x.len() as u64, counters, partial, out.output()), stream)? };
        Ok(counters)
    })
}

/// Numbers, their sum, and a place for what a kernel makes of it.
struct Numbers {
    x: DeviceVec<u32>,
    want: u64,
    out: DeviceVec<u64>,
}

impl Numbers {
    fn new(n: u32, factor: u32, home: &Stream) -> Result<Self> {
        let x: Vec<u32> = (0..n).map(|i| factor * (i % 1000) + 1).collect();
        let want = x.iter().map(|&x| u64::from(x)).sum();
        Ok(Self { x: DeviceVec::from_slice(home, &x)?, want, out: DeviceVec::from_slice(home, &[u64::MAX])? })
    }

    fn total(&mut self, blocks: u32, stream: &Stream) -> Result<u64> {
        total(&self.x, &mut self.out, blocks, stream)
    }

    fn check(&mut self) -> Outcome {
        ensure_eq!(self.out.to_vec()?, [self.want]);
        self.out.copy_from_slice(&[u64::MAX])?;
        Ok(())
    }
}

/// One memory serves launches of many sizes, one behind the other, though each finds there what the one before it left.
pub fn scratch_gives_right_sums_whatever_it_held(device: &Device) -> Outcome {
    for stream in [Stream::new(device)?, device.stream()] {
        let mut all = [0u32, 1, 31, 1000, 5000].map(|n| Numbers::new(n, 1 + n % 7, &stream));
        let mut addresses = HashSet::new();
        for round in 0..10 {
            for numbers in &mut all {
                let numbers = numbers.as_mut().map_err(|error| error.clone())?;
                // Fewer blocks than before find their counter zero and the sums of the many.
                for blocks in [24, 1, 3 + round] {
                    addresses.insert(numbers.total(blocks, &stream)?);
                }
                numbers.check()?;
            }
        }
        ensure!(addresses.iter().all(|address| address.is_multiple_of(256)), "{addresses:?}");
        ensure_eq!(addresses.len(), 1);
        // A clone is the same queue.
        let clone = stream.clone();
        ensure!(clone.with_scratch(0, |address| Ok::<_, DriverError>(addresses.contains(&address)))?);
    }
    Ok(())
}

/// More is asked for while earlier launches, which use the old memory, are still enqueued.
pub fn scratch_grows_and_stays(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let address = |bytes| stream.with_scratch(bytes, Ok::<_, DriverError>);
    let mut numbers: Vec<Numbers> = (0..6).map(|i| Numbers::new(3000, i + 1, &stream)).collect::<Result<_>>()?;
    let mut seen = Vec::new();
    for (i, numbers) in numbers.iter_mut().enumerate() {
        numbers.total(10, &stream)?;
        // Each time more than twice as much as before.
        seen.push(address((100 << 10) << (2 * i))?);
    }
    numbers.iter_mut().try_for_each(Numbers::check)?;
    // A real pool may give out the old address for the new memory.
    ensure!(!device.is_emulated() || seen.windows(2).all(|pair| pair[0] != pair[1]), "{seen:?}");
    // Less needs no other memory, nor does what the doubling has left.
    let last = address((100 << 10) << 10)?;
    ensure_eq!(last, seen[5]);
    let more = address((101 << 10) << 10)?;
    ensure!(more != last || !device.is_emulated());
    ensure_eq!(address(190 << 20)?, more);
    ensure_eq!(address(0)?, more);
    let error = address(usize::MAX).err().ok_or("more than can be addressed")?;
    ensure!(matches!(error, DriverError::TooLarge { .. }), "{error}");
    let error = address(isize::MAX as usize / 2).err().ok_or("more than any device has")?;
    ensure!(matches!(error, DriverError::OutOfMemory { .. }), "{error}");
    ensure_eq!(address(0)?, more);
    Ok(())
}

/// Many sums on a stream, some of which need more memory than those before.
fn many(stream: &Stream, seed: u32) -> Result<(), String> {
    let run = || -> Outcome {
        let mut numbers = Numbers::new(2000, seed + 1, stream)?;
        for round in 0..20 {
            // With 32 threads, 8 bytes each: 24 KiB more a time, for either of two that share a stream.
            let blocks = 1 + (seed + round) % 3 + 96 * round;
            stream.with_scratch(8 * (blocks * Total::THREADS) as usize, |_| Ok::<_, DriverError>(()))?;
            numbers.total(1 + blocks % 40, stream)?;
            numbers.check()?;
        }
        Ok(())
    };
    run().map_err(|error| format!("thread {seed}: {error}"))
}

fn in_threads(streams: &[&Stream]) -> Outcome {
    thread::scope(|scope| {
        let threads: Vec<_> =
            (0..).zip(streams).map(|(seed, stream)| scope.spawn(move || many(stream, seed))).collect();
        threads.into_iter().try_for_each(|thread| Ok(thread.join().map_err(|_| "a thread panicked")??))
    })
}

pub fn scratch_of_two_streams_in_two_threads(device: &Device) -> Outcome {
    let (one, other) = (Stream::new(device)?, Stream::new(device)?);
    in_threads(&[&one, &other])?;
    let address = |stream: &Stream| stream.with_scratch(0, Ok::<_, DriverError>);
    ensure!(address(&one)? != address(&other)?);
    Ok(())
}

/// Blocks draw numbers while the launch before theirs is still at work, and each launch has all of its own.
pub fn numbers_are_drawn_before_the_stream(device: &Device) -> Outcome {
    let text = "#include \"prelude.cuh\"\nstruct Words { unsigned long long word[4]; };\n\
        extern \"C\" __global__ void draw(const __grid_constant__ Words words) {\n\
            unsigned number = 0;\n\
            if (threadIdx.x == 0) number = gpu::claim_before_dependency(words.word[0], gridDim.x - 1);\n\
            gpu::grid_dependency_wait();\n\
            unsigned *desk = (unsigned *)words.word[0];\n\
            if (threadIdx.x > 0) return;\n\
            unsigned *drawn = (unsigned *)words.word[1] + words.word[2] + number;\n\
            atomicAdd(drawn, 1u);\n\
            gpu::trigger_dependents();\n\
            atomicAdd(desk, 1u);\n\
            if (atomicAdd(desk + 1, 1u) == gridDim.x - 1) desk[0] = desk[1] = 0;\n}\n";
    let kernel = device.generated_kernel(&SPACE, &[SPACE.word(), 200], || {
        Ok(Program::new("draw.cu", text).name_expression("draw").overlapping())
    })?;
    let stream = Stream::new(device)?;
    let rounds = if device.is_emulated() { 6 } else { 500 };
    // Fewer and more than there is room for at once.
    let grids: Vec<u32> = (0..rounds).map(|round| [7, 1, 300, 64, 2000][round % 5]).collect();
    let all: usize = grids.iter().map(|&grid| grid as usize).sum();
    let drawn = DeviceVec::<u32>::zeros(&stream, all)?;
    let run = || {
        let mut first = 0;
        for &grid in &grids {
            let config = LaunchConfig { grid: grid.into(), block: 32.into(), shared_bytes: 0 };
            stream.with_cleared_scratch(8, |address| {
                let words = [address, drawn.as_raw(), first, 0];
                // SAFETY: four words; as many numbers as blocks from `first` on are in `drawn`, and the scratch memory is zero again at the end.
                unsafe { kernel.launch(config, &words, &[drawn.home()], &stream) }
            })?;
            first += u64::from(grid);
        }
        Ok::<_, DriverError>(())
    };
    run()?;
    let (graph, ()) = stream.capture(run)?;
    // SAFETY: `drawn` lives until it is read below.
    unsafe { graph.launch(&stream)? };
    run()?;
    ensure!(drawn.to_vec()?.iter().all(|&times| times == 3));
    Ok(())
}

/// In each launch one block is the last to arrive. It sees what all others stored, and the counter is 0 again.
pub fn the_last_block_to_arrive_sees_the_others(device: &Device) -> Outcome {
    let text = "#include \"prelude.cuh\"\nstruct Words { unsigned long long word[4]; };\n\
        extern \"C\" __global__ void total(const __grid_constant__ Words words) {\n\
            SHARED(bool, is_last, [1]);\n\
            unsigned long long *stored = (unsigned long long *)words.word[1], sum = 0;\n\
            if (threadIdx.x == 0) {\n\
                stored[blockIdx.x] = blockIdx.x + words.word[3];\n\
                gpu::arrive((unsigned *)words.word[0], gridDim.x, is_last[0]);\n\
            }\n\
            __syncthreads();\n\
            if (!is_last[0] || threadIdx.x > 0) return;\n\
            for (unsigned k = 0; k < gridDim.x; k++) sum += __ldcg(stored + k);\n\
            atomicAdd((unsigned long long *)words.word[2] + words.word[3], sum);\n}\n";
    let kernel = device.generated_kernel(&SPACE, &[SPACE.word(), 201], || {
        Ok(Program::new("total.cu", text).name_expression("total"))
    })?;
    let stream = Stream::new(device)?;
    let grids = [7u32, 1, 300, 64, 2];
    let counter = DeviceVec::<u32>::zeros(&stream, 1)?;
    let stored = DeviceVec::<u64>::zeros(&stream, 300)?;
    let totals = DeviceVec::<u64>::zeros(&stream, grids.len())?;
    for (launch, &grid) in (0u64..).zip(&grids) {
        let config = LaunchConfig { grid: grid.into(), block: 32.into(), shared_bytes: 0 };
        let words = [counter.as_raw(), stored.as_raw(), totals.as_raw(), launch];
        // SAFETY: four words; `stored` has a value for each block, `totals` one for each launch, and all is of `stream`.
        unsafe { kernel.launch(config, &words, &[counter.home()], &stream)? };
    }
    let want: Vec<u64> =
        (0u64..).zip(&grids).map(|(launch, &grid)| (0..u64::from(grid)).map(|block| block + launch).sum()).collect();
    ensure_eq!(totals.to_vec()?, want);
    ensure_eq!(counter.to_vec()?, [0]);
    Ok(())
}

/// Memory that is zero is so up to its end, when it has grown and in a graph too, and is not that which may hold anything.
pub fn cleared_scratch_is_zero(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let blocks = 5;
    let partial = DeviceVec::<u64>::zeros(&stream, (blocks * Total::THREADS) as usize)?;
    let kernel = KERNELS.kernel::<Total>(device, &())?;
    let mut numbers = Numbers::new(3000, 3, &stream)?;
    // The counter is the last word that was asked for: the sum fails where it does not begin at zero.
    let total = |numbers: &mut Numbers, bytes: usize| {
        stream.with_cleared_scratch(bytes, |address| {
            let counter = address + bytes as u64 - 4;
            let (x, out) = (numbers.x.input(), numbers.out.output());
            // SAFETY: reads x[..n], writes a sum of each thread and out[0]; the counter is zero again at the end.
            unsafe { kernel.launch(blocks, (x, numbers.x.len() as u64, counter, partial.as_raw(), out), &stream)? };
            Ok::<_, DriverError>(address)
        })
    };
    for bytes in [4, 1000, 200_000, 8, 3 << 20, 100_000] {
        total(&mut numbers, bytes)?;
        numbers.check()?;
    }
    let (graph, captured) = stream.capture(|| {
        total(&mut numbers, 400_000)?;
        total(&mut numbers, 5 << 20)
    })?;
    for _ in 0..3 {
        // SAFETY: the buffers of the capture, which nothing else uses.
        unsafe { graph.launch(&stream)? };
        numbers.check()?;
    }
    ensure!(captured != total(&mut numbers, 8)?);
    let of_both = stream.with_scratch(8, |any| {
        let nested = stream.with_cleared_scratch(8, Ok::<_, DriverError>);
        Ok::<_, DriverError>((any, matches!(nested, Err(DriverError::NestedScratch))))
    })?;
    ensure!(of_both != (total(&mut numbers, 8)?, true) && of_both.1, "{of_both:?}");
    Ok(())
}

/// No launch gets an address that another thread has released, and no two calls run at once.
pub fn scratch_of_one_stream_in_four_threads(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    in_threads(&[&stream, &stream.clone(), &stream, &stream.clone()])?;
    let inside = std::sync::atomic::AtomicU32::new(0);
    let enter = || {
        stream.with_scratch(8, |_| {
            use std::sync::atomic::Ordering::SeqCst;
            let others = inside.fetch_add(1, SeqCst);
            thread::sleep(std::time::Duration::from_millis(5));
            inside.fetch_sub(1, SeqCst);
            Ok::<_, DriverError>(others)
        })
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(enter)).collect();
        threads.into_iter().try_for_each(|thread| {
            ensure_eq!(thread.join().map_err(|_| "a thread panicked")??, 0);
            Ok(())
        })
    })
}

/// Replays on other streams beside calls of the stream that was captured.
pub fn scratch_of_a_graph_is_its_own(device: &Device) -> Outcome {
    let (stream, other) = (Stream::new(device)?, Stream::new(device)?);
    let (mut captured, mut more) = (Numbers::new(4000, 3, &stream)?, Numbers::new(700, 5, &stream)?);
    let mut own = Numbers::new(3000, 2, &stream)?;
    let before = own.total(8, &stream)?;
    let record = |captured: &mut Numbers, more: &mut Numbers| {
        stream.capture(|| {
            // The second call shares the memory of the first; the third needs more and gets another, and the fourth that one.
            let first = [captured.total(8, &stream)?, more.total(3, &stream)?];
            let larger = [captured.total(1000, &stream)?, more.total(2, &stream)?];
            Ok::<_, DriverError>([first, larger])
        })
    };
    let (graph, [first, larger]) = record(&mut captured, &mut more)?;
    ensure!(first[0] == first[1] && larger[0] == larger[1] && first[0] != larger[0], "{first:?} {larger:?}");
    ensure!(!first.contains(&before) && !larger.contains(&before), "{before} of the stream");
    stream.synchronize()?;
    for round in 0..20 {
        // SAFETY: the buffers of the graph are touched between the waits alone.
        unsafe { graph.launch(&other)? };
        ensure_eq!(own.total(8 + round % 3, &stream)?, before);
        if round % 5 == 4 {
            other.synchronize()?;
            captured.check()?;
            more.check()?;
            own.check()?;
            stream.synchronize()?;
        }
    }
    // Another graph has other memory, also while the first is there.
    let (second, [third, _]) = record(&mut captured, &mut more)?;
    ensure!(![before, first[0], larger[0]].contains(&third[0]));
    drop(graph);
    // SAFETY: as above.
    unsafe { second.launch(&stream)? };
    drop(second);
    captured.check()?;
    more.check()?;
    ensure_eq!(own.total(8, &stream)?, before);
    own.check()
}

/// Branches of one capture run side by side.
pub fn scratch_of_forked_streams_is_not_shared(device: &Device) -> Outcome {
    let (stream, side) = (Stream::new(device)?, Stream::new(device)?);
    let (mut here, mut there) = (Numbers::new(4000, 3, &stream)?, Numbers::new(3000, 5, &side)?);
    let (graph, (one, two)) = stream.capture(|| {
        side.wait(&stream.record()?)?;
        let addresses = (here.total(8, &stream)?, there.total(8, &side)?);
        stream.wait(&side.record()?)?;
        Ok::<_, DriverError>(addresses)
    })?;
    ensure!(one != two);
    for _ in 0..3 {
        // SAFETY: the buffers of the graph are touched between the waits alone.
        unsafe { graph.launch(&stream)? };
        stream.synchronize()?;
        here.check()?;
        there.check()?;
        device.synchronize()?;
    }
    Ok(())
}

/// A call within a call is refused, of any stream, since two threads could nest two streams either way round; whatever ends a call ends its lock.
pub fn error_scratch_within_scratch(device: &Device) -> Outcome {
    let (stream, other) = (Stream::new(device)?, Stream::new(device)?);
    let free = || stream.with_scratch(8, |_| Ok::<_, DriverError>(()));
    let nested = stream.with_scratch(8, |_| stream.clone().with_scratch(8, |_| Ok::<_, DriverError>(())));
    ensure!(matches!(nested, Err(DriverError::NestedScratch)), "{nested:?}");
    free()?;
    let elsewhere = stream.with_scratch(8, |_| other.with_scratch(8, |_| Ok::<_, DriverError>(())));
    ensure!(matches!(elsewhere, Err(DriverError::NestedScratch)), "{elsewhere:?}");
    free()?;
    let failed = stream.with_scratch(8, |_| Err::<(), _>(DriverError::NoDevice));
    ensure!(matches!(failed, Err(DriverError::NoDevice)), "{failed:?}");
    free()?;
    // Without a message on the standard error.
    let panic = || stream.with_scratch(8, |_| -> Result<()> { resume_unwind(Box::new("gone wrong")) });
    ensure!(catch_unwind(AssertUnwindSafe(panic)).is_err());
    free()?;
    let (_graph, nested) = stream.capture(|| {
        Ok::<_, DriverError>(stream.with_scratch(8, |_| stream.with_scratch(8, |_| Ok::<_, DriverError>(()))))
    })?;
    ensure!(matches!(nested, Err(DriverError::NestedScratch)), "{nested:?}");
    Numbers::new(10, 1, &stream)?.total(2, &stream)?;
    free()?;
    Ok(())
}
