//! The pieces of `gpu_algos::block`, in kernels as users would write them.

use std::ffi::c_void;

use gpu_algos::{
    block,
    gpu_array::gpu_driver::{
        Device, DevicePod, DeviceVec, Dim3, Function, LaunchConfig, Module, Program, Result, Stream,
    },
};
use testkit::{Outcome, Test, ensure, ensure_eq, tests};

pub const TESTS: &[Test<Device>] = tests![
    block_reductions_keep_the_order,
    block_reductions_of_groups,
    block_scans_keep_the_order,
    block_scans_go_from_tile_to_tile,
    warp_scans_restart_at_heads,
    tile_prefixes_scan_over_blocks,
    polled_prefixes_go_on_over_any_distance,
    vector_tiles_of_any_alignment,
    staged_tiles_arrive_whole,
    staged_tiles_arrive_backward,
];

/// The map x -> factor x + offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, DevicePod)]
#[repr(C)]
struct Affine {
    factor: u32,
    offset: u32,
}

const IDENTITY: Affine = Affine { factor: 1, offset: 0 };

/// First `self`, then the other.
fn then(first: Affine, then: Affine) -> Affine {
    Affine {
        factor: first.factor.wrapping_mul(then.factor),
        offset: first.offset.wrapping_mul(then.factor).wrapping_add(then.offset),
    }
}

/// Maps of odd factors, so that none is lost.
fn maps(n: usize) -> Vec<Affine> {
    let number = |i: usize| (i as u32).wrapping_mul(2_654_435_761) >> 7;
    (0..n).map(|i| Affine { factor: number(i) | 1, offset: number(i + n) }).collect()
}

fn combined(maps: &[Affine]) -> Affine {
    maps.iter().copied().fold(IDENTITY, then)
}

fn running(maps: &[Affine]) -> Vec<Affine> {
    let scan = |before: &mut Affine, &map: &Affine| {
        *before = then(*before, map);
        Some(*before)
    };
    maps.iter().scan(IDENTITY, scan).collect()
}

/// The kernel of that name among the examples of the block layer.
fn kernel(device: &Device, name: &str) -> Result<Function> {
    let program = Program::new("examples.cu", include_str!("../../src/device/block/examples.cu"));
    let program = block::add_headers(program).option("-default-device");
    let program = if name.contains('<') { program.name_expression(name) } else { program };
    Module::load(device, &program.compile(device.arch())?)?.function(name)
}

/// Enqueues a kernel of the examples with these words as arguments.
fn launch(kernel: &Function, grid: u32, block: u32, shared_bytes: u32, words: &[u64], stream: &Stream) -> Result<()> {
    let mut words = words.to_vec();
    let mut arguments: Vec<*mut c_void> = words.iter_mut().map(|word| (word as *mut u64).cast()).collect();
    let config = LaunchConfig { grid: Dim3::from(grid), block: Dim3::from(block), shared_bytes };
    // SAFETY: the callers pass what the kernels' heads ask for; each parameter is a word or the low bytes of one. Arrays outlive the caller's copy back.
    unsafe { kernel.launch_raw(config, &mut arguments, stream) }
}

/// An array of these values and one for as many results, all zero.
fn arrays<T: DevicePod>(stream: &Stream, x: &[T], results: usize, zero: T) -> Result<(DeviceVec<T>, DeviceVec<T>)> {
    Ok((DeviceVec::from_slice(stream, x)?, DeviceVec::from_slice(stream, &vec![zero; results])?))
}

/// Reductions of blocks of 1, 3, 8 and 32 warps keep the order; the storage serves two in a row.
fn block_reductions_keep_the_order(device: &Device) -> Outcome {
    let stream = device.stream();
    for threads in [32_usize, 96, 256, 1024] {
        let kernel = kernel(device, &format!("reduce_blocks<{threads}>"))?;
        let x = maps(3 * threads);
        let (input, output) = arrays(&stream, &x, 6, IDENTITY)?;
        launch(&kernel, 3, threads as u32, 0, &[input.as_raw(), output.as_raw()], &stream)?;
        let turned = |block: &[Affine]| combined(&block.iter().rev().copied().collect::<Vec<_>>());
        let want: Vec<_> = x.chunks(threads).flat_map(|block| [combined(block), turned(block)]).collect();
        ensure!(output.to_vec()? == want, "{threads} threads");
    }
    Ok(())
}

/// Groups of one thread up to the whole block.
fn block_reductions_of_groups(device: &Device) -> Outcome {
    let (stream, kernel) = (device.stream(), kernel(device, "reduce_groups_of_threads")?);
    let x = maps(512);
    for log in 0..=8 {
        let (input, output) = arrays(&stream, &x, 512 >> log, IDENTITY)?;
        launch(&kernel, 2, 256, 0, &[input.as_raw(), output.as_raw(), log], &stream)?;
        let want: Vec<_> = x.chunks(1 << log).map(combined).collect();
        ensure!(output.to_vec()? == want, "groups of {}", 1 << log);
    }
    Ok(())
}

/// Inclusive and exclusive scans of blocks, one and several values to a thread, with the aggregate of each block.
fn block_scans_keep_the_order(device: &Device) -> Outcome {
    let stream = device.stream();
    for (threads, values) in [(32_usize, 1_usize), (96, 5), (256, 4), (1024, 1)] {
        let tile = threads * values;
        let x = maps(2 * tile);
        let want: Vec<_> = x.chunks(tile).flat_map(running).collect();
        for exclusive in [false, true] {
            let kernel = kernel(device, &format!("scan_blocks<{threads}, {values}, {exclusive}>"))?;
            let (input, output) = arrays(&stream, &x, x.len(), IDENTITY)?;
            let totals = DeviceVec::from_slice(&stream, &[IDENTITY; 2])?;
            let words = [input.as_raw(), output.as_raw(), totals.as_raw()];
            launch(&kernel, 2, threads as u32, 0, &words, &stream)?;
            let before = |i: usize| if i.is_multiple_of(tile) { IDENTITY } else { want[i - 1] };
            let want: Vec<_> = (0..x.len()).map(|i| if exclusive { before(i) } else { want[i] }).collect();
            ensure!(output.to_vec()? == want, "{threads} threads of {values}, exclusive: {exclusive}");
            ensure_eq!(totals.to_vec()?, x.chunks(tile).map(combined).collect::<Vec<_>>());
        }
    }
    Ok(())
}

/// A block that carries its state from tile to tile: one tile, a cut one, many.
fn block_scans_go_from_tile_to_tile(device: &Device) -> Outcome {
    let (stream, kernel) = (device.stream(), kernel(device, "scan_tiles")?);
    for count in [1_usize, 512, 513, 5_000] {
        let x = maps(count);
        let (input, output) = arrays(&stream, &x, count, IDENTITY)?;
        launch(&kernel, 1, 128, 0, &[input.as_raw(), output.as_raw(), count as u64], &stream)?;
        ensure!(output.to_vec()? == running(&x), "{count} maps");
    }
    Ok(())
}

/// Segments that begin nowhere, everywhere, once in a thread, at its first and last value.
fn warp_scans_restart_at_heads(device: &Device) -> Outcome {
    let (stream, kernel) = (device.stream(), kernel(device, "scan_segments")?);
    let x = maps(160);
    let some = |lane: u32| if lane.is_multiple_of(3) { (1 << (lane % 5)) | (lane % 2) } else { 0 };
    for heads in [|_| 0, |_| 31, some, |lane| if lane % 7 == 1 { 0b10001 } else { 0 }] {
        let heads: Vec<u32> = (0..32).map(heads).collect();
        let (input, output) = arrays(&stream, &x, x.len(), IDENTITY)?;
        let words = DeviceVec::from_slice(&stream, &heads)?;
        launch(&kernel, 1, 32, 0, &[input.as_raw(), words.as_raw(), output.as_raw()], &stream)?;
        let mut state = IDENTITY;
        let want: Vec<_> = (0..x.len())
            .map(|i| {
                state = if heads[i / 5] >> (i % 5) & 1 == 1 { x[i] } else { then(state, x[i]) };
                state
            })
            .collect();
        ensure!(output.to_vec()? == want, "{heads:?}");
    }
    Ok(())
}

/// A scan over all blocks by tickets and prefixes: fewer blocks than tiles, as many, more; cut tiles; again on the memory that a launch leaves.
fn tile_prefixes_scan_over_blocks(device: &Device) -> Outcome {
    let (stream, kernel) = (Stream::new(device)?, kernel(device, "scan_all<128>")?);
    for (count, blocks) in [(1_usize, 1), (512, 1), (513, 2), (5_000, 3), (40_000, 79), (40_000, 200)] {
        let x = maps(count);
        let tiles = count.div_ceil(512);
        let bytes = block::tile_prefix_bytes(tiles, size_of::<Affine>());
        for round in 0..2 {
            let (input, output) = arrays(&stream, &x, count, IDENTITY)?;
            stream.with_cleared_scratch(bytes, |scratch| {
                let words = [input.as_raw(), output.as_raw(), count as u64, tiles as u64, scratch];
                launch(&kernel, blocks, 128, 0, &words, &stream)
            })?;
            ensure!(output.to_vec()? == running(&x), "{count} maps by {blocks} blocks, round {round}");
        }
    }
    Ok(())
}

/// Kernel of two warps: one publishes the aggregates of all tiles, the last ones first, and the other asks for the prefixes of some tiles.
const POLLED: &str = r#"
    #include "block/polled_prefix.cuh"
    struct Affine { uint32_t factor, offset; };
    struct Compose {
        typedef Affine State;
        static __device__ Affine combine(const Affine &a, const Affine &b) {
            return {a.factor * b.factor, a.offset * b.factor + b.offset};
        }
    };
    extern "C" __global__ void __launch_bounds__(64)
        polled(const Affine *aggregates, const uint32_t *tiles, Affine *prefixes, uint64_t count,
               uint64_t asked, uint64_t scratch) {
        gpu::block::TilePrefix<Compose> sums(scratch);
        if (threadIdx.x >= 32) {
            for (int k = int(count) - 1 - int(threadIdx.x % 32); k >= 0; k -= 32)
                sums.publish(uint32_t(k), aggregates[k]);
            return;
        }
        gpu::block::PolledPrefix<Compose, Affine> polled = {sums};
        for (uint64_t k = 0; k < asked; k++) {
            polled.start(tiles[k]);
            polled.resolve(tiles[k], prefixes + k);
        }
    }
"#;

/// A poll reads the slots of six groups of 32 tiles. Tiles that are farther apart take further polls, of which a launch has few.
fn polled_prefixes_go_on_over_any_distance(device: &Device) -> Outcome {
    let program = block::add_headers(Program::new("polled.cu", POLLED));
    let kernel = Module::load(device, &program.compile(device.arch())?)?.function("polled")?;
    let stream = device.stream();
    // Tiles within six groups of the last one, at their end and behind it, and many polls on; the last group is whole, or not.
    for tiles in [vec![1, 2, 191, 383, 384, 385, 3000], vec![192, 384, 577, 769], vec![2560], vec![32, 224, 417]] {
        let aggregates = maps(3000);
        let (input, output) = arrays(&stream, &aggregates, tiles.len(), IDENTITY)?;
        let asked = DeviceVec::from_slice(&stream, &tiles)?;
        let slots =
            DeviceVec::<u64>::zeros(&stream, block::tile_prefix_bytes(aggregates.len(), size_of::<Affine>()) / 8)?;
        let lengths = [aggregates.len() as u64, tiles.len() as u64];
        let words = [input.as_raw(), asked.as_raw(), output.as_raw(), lengths[0], lengths[1], slots.as_raw()];
        launch(&kernel, 1, 64, 0, &words, &stream)?;
        let want: Vec<_> = tiles.iter().map(|&tile| combined(&aggregates[..tile as usize])).collect();
        ensure!(output.to_vec()? == want, "before {tiles:?}");
    }
    Ok(())
}

/// Tiles of vectors, from arrays that begin at any element and end anywhere; nothing beyond them is written.
fn vector_tiles_of_any_alignment(device: &Device) -> Outcome {
    fn of<T>(device: &Device, name: &str, number: impl Fn(usize) -> T) -> Outcome
    where
        T: DevicePod + PartialEq + std::fmt::Debug + std::ops::Add<Output = T>,
    {
        const THREADS: usize = 64;
        let (stream, width) = (device.stream(), 16 / size_of::<T>());
        let kernel = kernel(device, &format!("increment<{name}, {THREADS}, {width}>"))?;
        let x: Vec<T> = (0..5000).map(&number).collect();
        for (from, to, count) in [(0, 0, 5000), (1, 1, 4000), (3, 3, 1), (3, 0, 4100), (7, 2, 0), (2, 5, 2048_usize)] {
            let (input, output) = arrays(&stream, &x, x.len(), number(0))?;
            let bytes = size_of::<T>() as u64;
            let words = [input.as_raw() + from * bytes, output.as_raw() + to * bytes, count as u64];
            let tiles = (count + 16).div_ceil(THREADS * width * 2) as u32;
            launch(&kernel, tiles, THREADS as u32, 0, &words, &stream)?;
            let mut want = vec![number(0); x.len()];
            for i in 0..count {
                want[to as usize + i] = x[from as usize + i] + number(1);
            }
            ensure!(output.to_vec()? == want, "{count} of {name} from {from} to {to}");
        }
        Ok(())
    }
    of(device, "uint8_t", |i| (i % 100) as u8)?;
    of(device, "float", |i| i as f32)?;
    of(device, "double", |i| i as f64)
}

/// Tiles through shared memory, three stages: none, one, and several to a block; an array that begins at an odd element is not aligned.
fn staged_tiles_arrive_whole(device: &Device) -> Outcome {
    const TILE: usize = 128 * 8;
    let (stream, kernel) = (device.stream(), kernel(device, "scan_staged")?);
    for (from, count, blocks) in [(0, 1, 1), (0, TILE, 2), (0, 7 * TILE + 5, 2), (1, 5 * TILE - 3, 1), (0, 0, 1)] {
        let x = maps(from + count);
        let (input, output) = arrays(&stream, &x, count.max(1), IDENTITY)?;
        let words = [input.as_raw() + 8 * from as u64, output.as_raw(), count as u64];
        launch(&kernel, blocks, 128, 3 * 8 * TILE as u32, &words, &stream)?;
        let want: Vec<_> = x[from..].chunks(TILE).flat_map(running).collect();
        ensure!(output.to_vec()?[..count] == want[..], "{count} maps from {from} by {blocks} blocks");
    }
    Ok(())
}

/// A tile that is read from its last value on: whole and cut, where vectors of memory are aligned or not.
fn staged_tiles_arrive_backward(device: &Device) -> Outcome {
    let (stream, kernel) = (device.stream(), kernel(device, "reverse_staged")?);
    for (from, count) in [(0, 512), (0, 511), (1, 511), (1, 300), (0, 1), (0, 0_usize)] {
        let x = maps(from + count);
        let (input, output) = arrays(&stream, &[&x[..], &[IDENTITY]].concat(), count.max(1), IDENTITY)?;
        let words = [input.as_raw() + 8 * from as u64, output.as_raw(), count as u64];
        launch(&kernel, 1, 64, 0, &words, &stream)?;
        let want: Vec<_> = x[from..].iter().rev().copied().collect();
        ensure!(output.to_vec()?[..count] == want[..], "{count} maps from {from}");
    }
    Ok(())
}
