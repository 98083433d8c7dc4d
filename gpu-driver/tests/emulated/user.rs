//! Kernels as users write them, each against a reference on the host that is exact: integers, floats that hold integers, or
//! arithmetic whose every rounding is spelled out. So a GPU and the emulated device must give the same bits.

use gpu_driver::{Device, DeviceVec};
use testkit::{Outcome, Rng, ensure_eq};

use crate::harness::{Text, launch, text, upload, values, zeros};

static MATRIX_PRODUCT: Text = text!("user", "matrix_product");
static TREE_REDUCTION: Text = text!("user", "tree_reduction");
static SHUFFLE_REDUCTION: Text =
    text!("user", "shuffle_reduction", "shuffle_reduction<int>", "shuffle_reduction<double>");
static HILLIS_STEELE: Text = text!("user", "hillis_steele");
static LOOK_BACK_SCAN: Text = text!("user", "look_back_scan");
static LOOK_BACK_PACKED: Text = text!("user", "look_back_packed");
static HISTOGRAM: Text = text!("user", "histogram");
static BLUR: Text = text!("user", "blur");
static TRANSPOSE: Text = text!("user", "transpose", "transpose<unsigned char>", "transpose<double>");
static LIFE: Text = text!("user", "life");
static MANDELBROT: Text = text!("user", "mandelbrot");
static CONVOLUTION: Text = text!("user", "convolution");
static CSR_PRODUCT: Text = text!("user", "csr_product");
static BITONIC_SORT: Text = text!("user", "bitonic_sort");
static DYNAMIC_SHARED: Text = text!("user", "dynamic_shared");
static BLOCK_VOTES: Text = text!("user", "block_votes");
static STRUCT_ARGUMENT: Text = text!("user", "struct_argument");
static TEMPLATES: Text = text!(
    "user",
    "templates",
    "user::combine<float, user::Plus, 3>",
    "user::combine<int, user::Largest, 4, true>",
    "user::fill",
);
static MODULE_VARIABLES: Text = text!("user", "module_variables");
static ATOMICS: Text = text!("user", "atomics");
static VECTOR_TYPES: Text = text!("user", "vector_types");
static THREE_DIMENSIONS: Text = text!("user", "three_dimensions");
static DEVICE_FUNCTIONS: Text = text!("user", "device_functions");

/// The texts of this file.
pub static TEXTS: &[&Text] = &[
    &MATRIX_PRODUCT,
    &TREE_REDUCTION,
    &SHUFFLE_REDUCTION,
    &HILLIS_STEELE,
    &LOOK_BACK_SCAN,
    &LOOK_BACK_PACKED,
    &HISTOGRAM,
    &BLUR,
    &TRANSPOSE,
    &LIFE,
    &MANDELBROT,
    &CONVOLUTION,
    &CSR_PRODUCT,
    &BITONIC_SORT,
    &DYNAMIC_SHARED,
    &BLOCK_VOTES,
    &STRUCT_ARGUMENT,
    &TEMPLATES,
    &MODULE_VARIABLES,
    &ATOMICS,
    &VECTOR_TYPES,
    &THREE_DIMENSIONS,
    &DEVICE_FUNCTIONS,
];

/// Numbers below 2^16, so that sums of thousands stay exact everywhere.
fn numbers(n: usize, seed: u64) -> Vec<u32> {
    let mut rng = Rng(seed);
    (0..n).map(|_| rng.below(1 << 16) as u32).collect()
}

/// Floats that hold small integers of both signs.
fn integers(n: usize, seed: u64) -> Vec<f32> {
    let mut rng = Rng(seed);
    (0..n).map(|_| rng.below(17) as f32 - 8.0).collect()
}

fn bytes(n: usize, seed: u64) -> Vec<u8> {
    let mut rng = Rng(seed);
    (0..n).map(|_| rng.below(256) as u8).collect()
}

fn inclusive_sums(x: &[u32]) -> Vec<u32> {
    let mut sum = 0u32;
    x.iter().map(|&value| (sum = sum.wrapping_add(value), sum).1).collect()
}

pub fn matrix_product(device: &Device) -> Outcome {
    let function = MATRIX_PRODUCT.function(device, "matrix_product")?;
    for (rows, inner, columns) in [(1, 1, 1), (16, 16, 16), (37, 53, 29), (50, 7, 18)] {
        let (a, b) = (integers(rows * inner, 1), integers(inner * columns, 2));
        let mut want = Vec::new();
        for row in 0..rows {
            for column in 0..columns {
                want.push((0..inner).map(|k| a[row * inner + k] * b[k * columns + column]).sum::<f32>());
            }
        }
        let (a, b, c) = (upload(device, &a)?, upload(device, &b)?, zeros::<f32>(device, rows * columns)?);
        let grid = (columns.div_ceil(16) as u32, rows.div_ceil(16) as u32);
        let sizes = (rows as i32, inner as i32, columns as i32);
        let values = values![a.as_raw(), b.as_raw(), c.as_raw(), sizes.0, sizes.1, sizes.2];
        launch(&function, grid, (16, 16), 0, values, &device.stream())?;
        ensure_eq!(c.to_vec()?, want);
    }
    Ok(())
}

pub fn tree_reduction(device: &Device) -> Outcome {
    let function = TREE_REDUCTION.function(device, "tree_reduction")?;
    for n in [0, 1, 255, 257, 5003] {
        let host = numbers(n, 3);
        let (x, sums) = (upload(device, &host)?, zeros::<u32>(device, 3)?);
        launch(&function, 3, 256, 0, values![x.as_raw(), sums.as_raw(), n as u32], &device.stream())?;
        ensure_eq!(sums.to_vec()?.iter().sum::<u32>(), host.iter().sum::<u32>());
    }
    Ok(())
}

pub fn shuffle_reduction(device: &Device) -> Outcome {
    let module = SHUFFLE_REDUCTION.load(device)?;
    for (n, block) in [(1, 32), (1000, 96), (5003, 1024)] {
        let host: Vec<i32> = integers(n, 4).iter().map(|&value| value as i32 * 1001).collect();
        let want: i32 = host.iter().sum();
        let (x, sums) = (upload(device, &host)?, zeros::<i32>(device, 2)?);
        let function = module.function("shuffle_reduction<int>")?;
        launch(&function, 2, block, 0, values![x.as_raw(), sums.as_raw(), n as u32], &device.stream())?;
        ensure_eq!(sums.to_vec()?.iter().sum::<i32>(), want);

        // Beyond 2^32, so that a shuffle that moves half of a double shows.
        let host: Vec<f64> = host.iter().map(|&value| f64::from(value) * 1e9 + 1.0).collect();
        let (x, sums) = (upload(device, &host)?, zeros::<f64>(device, 2)?);
        let function = module.function("shuffle_reduction<double>")?;
        launch(&function, 2, block, 0, values![x.as_raw(), sums.as_raw(), n as u32], &device.stream())?;
        ensure_eq!(sums.to_vec()?.iter().sum::<f64>(), f64::from(want) * 1e9 + n as f64);
    }
    Ok(())
}

pub fn hillis_steele_scan(device: &Device) -> Outcome {
    let function = HILLIS_STEELE.function(device, "hillis_steele")?;
    for (n, block) in [(1, 1), (100, 32), (1000, 192), (1024, 1024)] {
        let host = numbers(n, 5);
        let (x, y) = (upload(device, &host)?, zeros::<u32>(device, n)?);
        let grid = n.div_ceil(block) as u32;
        let values = values![x.as_raw(), y.as_raw(), n as u32];
        launch(&function, grid, block as u32, 8 * block as u32, values, &device.stream())?;
        ensure_eq!(y.to_vec()?, host.chunks(block).flat_map(inclusive_sums).collect::<Vec<_>>());
    }
    Ok(())
}

pub fn look_back_scan(device: &Device) -> Outcome {
    let function = LOOK_BACK_SCAN.function(device, "look_back_scan")?;
    for n in [1, 128, 1000, 5000] {
        let host = numbers(n, 6);
        let tiles = n.div_ceil(128);
        let (x, y, ticket) = (upload(device, &host)?, zeros::<u32>(device, n)?, zeros::<u32>(device, 1)?);
        let states = [(); 3].map(|()| zeros::<u32>(device, tiles));
        let [flags, sums, prefixes] = states;
        let (flags, sums, prefixes) = (flags?, sums?, prefixes?);
        let (out, states) =
            ((y.as_raw(), n as u32, ticket.as_raw()), (flags.as_raw(), sums.as_raw(), prefixes.as_raw()));
        let values = values![x.as_raw(), out.0, out.1, out.2, states.0, states.1, states.2];
        launch(&function, tiles as u32, 128, 0, values, &device.stream())?;
        ensure_eq!(y.to_vec()?, inclusive_sums(&host));
        ensure_eq!(flags.to_vec()?, vec![2; tiles]);
    }
    Ok(())
}

pub fn look_back_packed(device: &Device) -> Outcome {
    let function = LOOK_BACK_PACKED.function(device, "look_back_packed")?;
    // 40 tiles need more than one warp's look back.
    for n in [1, 129, 5000] {
        let host = numbers(n, 7);
        let tiles = n.div_ceil(128);
        let (x, y, ticket) = (upload(device, &host)?, zeros::<u32>(device, n)?, zeros::<u32>(device, 1)?);
        let states = zeros::<u64>(device, tiles)?;
        let values = values![x.as_raw(), y.as_raw(), n as u32, ticket.as_raw(), states.as_raw()];
        launch(&function, tiles as u32, 128, 0, values, &device.stream())?;
        ensure_eq!(y.to_vec()?, inclusive_sums(&host));
    }
    Ok(())
}

pub fn histogram(device: &Device) -> Outcome {
    let function = HISTOGRAM.function(device, "histogram")?;
    // Few distinct values as well: then all threads meet at the same words.
    for (n, distinct) in [(1, 256), (5000, 256), (3000, 2)] {
        let host: Vec<u8> = bytes(n, 8).iter().map(|byte| (usize::from(*byte) % distinct) as u8).collect();
        let mut want = vec![7u32; 256];
        host.iter().for_each(|&byte| want[usize::from(byte)] += 1);
        let (x, bins) = (upload(device, &host)?, upload(device, &[7u32; 256])?);
        launch(&function, 4, 96, 0, values![x.as_raw(), n as u32, bins.as_raw()], &device.stream())?;
        ensure_eq!(bins.to_vec()?, want);
    }
    Ok(())
}

pub fn blur(device: &Device) -> Outcome {
    let function = BLUR.function(device, "blur")?;
    for (width, height) in [(1usize, 1usize), (50, 21), (3, 40)] {
        let host = bytes(width * height, 9);
        let near = |at: usize, step: usize, size: usize| (at + step).saturating_sub(1).min(size - 1);
        let mean = |x: usize, y: usize| {
            let around = (0..9).map(|k| u32::from(host[near(y, k / 3, height) * width + near(x, k % 3, width)]));
            (around.sum::<u32>() / 9) as u8
        };
        let want: Vec<u8> = (0..width * height).map(|at| mean(at % width, at / width)).collect();
        let (from, to) = (upload(device, &host)?, zeros::<u8>(device, width * height)?);
        let grid = (width.div_ceil(16) as u32, height.div_ceil(8) as u32);
        let values = values![from.as_raw(), to.as_raw(), width as i32, height as i32];
        launch(&function, grid, (16, 8), 0, values, &device.stream())?;
        ensure_eq!(to.to_vec()?, want);
    }
    Ok(())
}

pub fn transpose(device: &Device) -> Outcome {
    let module = TRANSPOSE.load(device)?;
    for (rows, columns) in [(1usize, 1usize), (32, 64), (45, 67), (3, 100)] {
        let grid = (columns.div_ceil(32) as u32, rows.div_ceil(32) as u32);
        let host = bytes(rows * columns, 10);
        let turned: Vec<u8> = (0..rows * columns).map(|at| host[at % rows * columns + at / rows]).collect();
        let (from, to) = (upload(device, &host)?, zeros::<u8>(device, rows * columns)?);
        let function = module.function("transpose<unsigned char>")?;
        let values = values![from.as_raw(), to.as_raw(), rows as i32, columns as i32];
        launch(&function, grid, (32, 8), 0, values, &device.stream())?;
        ensure_eq!(to.to_vec()?, turned);

        let wide: Vec<f64> = host.iter().map(|&byte| f64::from(byte) / 3.0).collect();
        let (from, to) = (upload(device, &wide)?, zeros::<f64>(device, rows * columns)?);
        let function = module.function("transpose<double>")?;
        let values = values![from.as_raw(), to.as_raw(), rows as i32, columns as i32];
        launch(&function, grid, (32, 8), 0, values, &device.stream())?;
        ensure_eq!(to.to_vec()?, turned.iter().map(|&byte| f64::from(byte) / 3.0).collect::<Vec<_>>());
    }
    Ok(())
}

pub fn game_of_life(device: &Device) -> Outcome {
    let function = LIFE.function(device, "life")?;
    let (width, height) = (37, 18);
    let mut host: Vec<u8> = bytes(width * height, 11).iter().map(|byte| u8::from(byte % 3 == 0)).collect();
    let (mut now, mut next) = (upload(device, &host)?, zeros::<u8>(device, width * height)?);
    for _ in 0..6 {
        let alive = |x: usize, y: usize| usize::from(host[y % height * width + x % width]);
        let around = |x: usize, y: usize| -> usize {
            (0..9).filter(|&k| k != 4).map(|k| alive(x + width + k % 3 - 1, y + height + k / 3 - 1)).sum()
        };
        let lives = |x: usize, y: usize| matches!((around(x, y), alive(x, y)), (3, _) | (2, 1));
        host = (0..width * height).map(|at| u8::from(lives(at % width, at / width))).collect();
        let values = values![now.as_raw(), next.as_raw(), width as i32, height as i32];
        launch(&function, (3, 3), (16, 8), 0, values, &device.stream())?;
        std::mem::swap(&mut now, &mut next);
    }
    ensure_eq!(now.to_vec()?, host);
    Ok(())
}

pub fn mandelbrot(device: &Device) -> Outcome {
    const LIMIT: u32 = 60;
    let function = MANDELBROT.function(device, "mandelbrot")?;
    let (width, height) = (45, 31);
    let (left, top, spacing) = (-2.1f32, 1.15f32, 0.07f32);
    let count = |at: usize| {
        // Rust never fuses a multiplication with an addition.
        let (real, imaginary) = (left + (at % width) as f32 * spacing, top - (at / width) as f32 * spacing);
        let (mut x, mut y) = (0f32, 0f32);
        for count in 0..LIMIT {
            let (xx, yy) = (x * x, y * y);
            if xx + yy > 4.0 {
                return count;
            }
            y = 2.0 * x * y + imaginary;
            x = xx - yy + real;
        }
        LIMIT
    };
    let steps = zeros::<u32>(device, width * height)?;
    let values = values![steps.as_raw(), width as i32, height as i32, left, top, spacing, LIMIT];
    launch(&function, (3, 4), (16, 8), 0, values, &device.stream())?;
    ensure_eq!(steps.to_vec()?, (0..width * height).map(count).collect::<Vec<_>>());
    Ok(())
}

pub fn convolution(device: &Device) -> Outcome {
    #[rustfmt::skip]
    const COEFFICIENTS: [f32; 25] = [
        1., 4., 6., 4., 1.,  4., 16., 24., 16., 4.,  6., 24., -476., 24., 6.,  4., 16., 24., 16., 4.,  1., 4., 6., 4., 2.,
    ];
    let function = CONVOLUTION.function(device, "convolution")?;
    for (width, height) in [(1usize, 1usize), (16, 16), (45, 19)] {
        let host = integers(width * height, 12);
        let pixel = |x: usize, y: usize| {
            let tap = |k: usize| {
                let (x, y) = ((x + k % 5).wrapping_sub(2), (y + k / 5).wrapping_sub(2));
                if x < width && y < height { COEFFICIENTS[24 - k] * host[y * width + x] } else { 0.0 }
            };
            (0..25).map(tap).sum::<f32>()
        };
        let want: Vec<f32> = (0..width * height).map(|at| pixel(at % width, at / width)).collect();
        let (from, to) = (upload(device, &host)?, zeros::<f32>(device, width * height)?);
        let grid = (width.div_ceil(16) as u32, height.div_ceil(16) as u32);
        let values = values![from.as_raw(), to.as_raw(), width as i32, height as i32];
        launch(&function, grid, (16, 16), 0, values, &device.stream())?;
        ensure_eq!(to.to_vec()?, want);
    }
    Ok(())
}

pub fn csr_product(device: &Device) -> Outcome {
    let function = CSR_PRODUCT.function(device, "csr_product")?;
    let (rows, columns) = (67usize, 90usize);
    let mut rng = Rng(13);
    // Empty rows, short ones, and some longer than a warp.
    let lengths: Vec<usize> = (0..rows).map(|_| [0, 3, 31, 32, 33, 80][rng.below(6)]).collect();
    let mut starts = vec![0u32];
    lengths.iter().for_each(|&length| starts.push(starts[starts.len() - 1] + length as u32));
    let entries: usize = lengths.iter().sum();
    let at: Vec<u32> = (0..entries).map(|_| rng.below(columns) as u32).collect();
    let (matrix, x) = (integers(entries, 14), integers(columns, 15));
    let product = |row: usize| -> f32 {
        (starts[row] as usize..starts[row + 1] as usize).map(|k| matrix[k] * x[at[k] as usize]).sum()
    };
    let want: Vec<f32> = (0..rows).map(product).collect();
    let (starts, at, matrix) = (upload(device, &starts)?, upload(device, &at)?, upload(device, &matrix)?);
    let (x, y) = (upload(device, &x)?, zeros::<f32>(device, rows)?);
    let values = values![starts.as_raw(), at.as_raw(), matrix.as_raw(), x.as_raw(), y.as_raw(), rows as u32];
    launch(&function, rows.div_ceil(4) as u32, 128, 0, values, &device.stream())?;
    ensure_eq!(y.to_vec()?, want);
    Ok(())
}

pub fn bitonic_sort(device: &Device) -> Outcome {
    let function = BITONIC_SORT.function(device, "bitonic_sort")?;
    for (n, block) in [(2, 32), (256, 128), (512, 64)] {
        let mut host: Vec<i32> = numbers(n, 16).iter().map(|&value| value as i32 % 1000 - 500).collect();
        let x = upload(device, &host)?;
        launch(&function, 1, block, 4 * n as u32, values![x.as_raw(), n as u32], &device.stream())?;
        host.sort_unstable();
        ensure_eq!(x.to_vec()?, host);
    }
    Ok(())
}

pub fn dynamic_shared(device: &Device) -> Outcome {
    let function = DYNAMIC_SHARED.function(device, "dynamic_shared")?;
    let block = 70;
    let host: Vec<f64> = numbers(3 * block, 17).iter().map(|&value| f64::from(value) / 7.0).collect();
    let (mut reversed, mut ranks) = (Vec::new(), Vec::new());
    for part in host.chunks(block) {
        reversed.extend(part.iter().rev());
        ranks.extend(part.iter().rev().map(|value| part.iter().filter(|other| *other < value).count() as i16));
    }
    let x = upload(device, &host)?;
    let (turned, smaller) = (zeros::<f64>(device, host.len())?, zeros::<i16>(device, host.len())?);
    let values = values![x.as_raw(), turned.as_raw(), smaller.as_raw()];
    launch(&function, 3, block as u32, 10 * block as u32, values, &device.stream())?;
    ensure_eq!(turned.to_vec()?, reversed);
    ensure_eq!(smaller.to_vec()?, ranks);
    Ok(())
}

pub fn block_votes(device: &Device) -> Outcome {
    let function = BLOCK_VOTES.function(device, "block_votes")?;
    let block = 80;
    // All, none, some and one of a block.
    let positive = |at: usize| [true, false, at % 3 == 1, at % 80 == 71][at / block];
    let host: Vec<i32> = (0..4 * block).map(|at| if positive(at) { at as i32 + 1 } else { -1 }).collect();
    let want: Vec<i32> = host
        .chunks(block)
        .flat_map(|part| {
            let count = part.iter().filter(|value| **value > 0).count();
            [count as i32, i32::from(count == block), i32::from(count > 0)]
        })
        .collect();
    let (x, out) = (upload(device, &host)?, zeros::<i32>(device, 12)?);
    launch(&function, 4, block as u32, 0, values![x.as_raw(), out.as_raw()], &device.stream())?;
    ensure_eq!(out.to_vec()?, want);
    Ok(())
}

pub fn struct_argument(device: &Device) -> Outcome {
    /// As `Line` in the text.
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Line {
        kind: u8,
        slope: f64,
        offsets: [i16; 3],
        out: u64,
    }
    let function = STRUCT_ARGUMENT.function(device, "struct_argument")?;
    let out = zeros::<f32>(device, 40)?;
    let line = Line { kind: b'a', slope: 1.5, offsets: [10, -20, 30], out: out.as_raw() };
    launch(&function, 1, 64, 0, values![40u32, line, 3u8], &device.stream())?;
    let want = |i: usize| (line.slope * i as f64 + f64::from(line.offsets[i % 3])) as f32 + 3.0;
    ensure_eq!(out.to_vec()?, (0..40).map(want).collect::<Vec<_>>());
    let line = Line { kind: b'b', ..line };
    launch(&function, 1, 64, 0, values![1u32, line, 0u8], &device.stream())?;
    ensure_eq!(out.to_vec()?[..2], [1010.0, want(1)]);
    Ok(())
}

pub fn templates(device: &Device) -> Outcome {
    let module = TEMPLATES.load(device)?;
    let stream = device.stream();
    let host = integers(3 * 100, 18);
    let (x, out) = (upload(device, &host)?, zeros::<f32>(device, 100)?);
    let function = module.function("user::combine<float, user::Plus, 3>")?;
    launch(&function, 2, 32, 0, values![x.as_raw(), out.as_raw(), 100u64], &stream)?;
    ensure_eq!(out.to_vec()?, host.chunks(3).map(|part| part.iter().sum()).collect::<Vec<f32>>());

    let host: Vec<i32> = host.iter().map(|&value| value as i32).collect();
    let (x, out) = (upload(device, &host)?, zeros::<i32>(device, 75)?);
    let function = module.function("user::combine<int, user::Largest, 4, true>")?;
    launch(&function, 3, 32, 0, values![x.as_raw(), out.as_raw(), 75u64], &stream)?;
    let largest = host.chunks(4).map(|part| -part.iter().copied().fold(-1000, i32::max));
    ensure_eq!(out.to_vec()?, largest.collect::<Vec<_>>());

    let out = zeros::<u8>(device, 9)?;
    launch(&module.function("user::fill")?, 1, 9, 0, values![out.as_raw(), 0xa5u8], &stream)?;
    ensure_eq!(out.to_vec()?, [0xa5; 9]);
    Ok(())
}

pub fn module_variables(device: &Device) -> Outcome {
    let power = |t: usize| [1u32, 10, 100, 1000][t % 4];
    let word = |t: usize| u32::from([b'e', b'o'][t % 2]);
    let run = |function: &gpu_driver::Function, launches: u32| -> Outcome {
        let out = zeros::<u32>(device, 65)?;
        launch(function, 1, 64, 0, values![out.as_raw()], &device.stream())?;
        let mut want: Vec<u32> = (0..64).map(|t| launches * 100_000 + power(t) + word(t)).collect();
        want.push(1000 + launches * 16 * 1111);
        ensure_eq!(out.to_vec()?, want);
        Ok(())
    };
    let first = MODULE_VARIABLES.function(device, "module_variables")?;
    run(&first, 1)?;
    run(&first, 2)?;
    // A module that is loaded again has variables of its own.
    let second = MODULE_VARIABLES.function(device, "module_variables")?;
    run(&second, 1)?;
    run(&first, 3)
}

pub fn atomics(device: &Device) -> Outcome {
    let function = ATOMICS.function(device, "atomics")?;
    let (grid, block) = (4u32, 48u32);
    let n = grid * block;
    let out = upload(device, &[0u32, 1000, 5000, 5, 0, 0, u32::MAX, 0, 0xf0, 0, 0, 1, 0, 10])?;
    let wide = upload(device, &[1u64, 7, 5])?;
    let (single, twice, old) =
        (upload(device, &[0.25f32])?, upload(device, &[0.5f64])?, zeros::<u32>(device, n as usize)?);
    let values = values![out.as_raw(), wide.as_raw(), single.as_raw(), twice.as_raw(), old.as_raw()];
    launch(&function, grid, block, 0, values, &device.stream())?;
    let all = 0..n;
    let sum: u32 = all.clone().sum();
    let want = [
        n,
        1000u32.wrapping_sub(2 * n),
        1000 - (n - 1),
        n - 1,
        (-(n as i32 - 1)) as u32,
        0,
        !0xff,
        u32::MAX,
        all.clone().fold(0xf0, |x, i| x ^ i),
        n % 7,
        // From 0 the first decrement wraps to 6.
        (7 - n % 7) % 7,
        77,
        3 * (n - 1),
        10 + sum,
    ];
    ensure_eq!(out.to_vec()?, want);
    ensure_eq!(wide.to_vec()?, [1 + (u64::from(n) << 32) + u64::from(sum), u64::from(n - 1) << 33, 6]);
    ensure_eq!(single.to_vec()?, [0.25 + 0.5 * n as f32]);
    ensure_eq!(twice.to_vec()?, [0.5 + 0.25 * f64::from(n)]);
    let mut got = old.to_vec()?;
    got.sort_unstable();
    ensure_eq!(got, all.collect::<Vec<_>>());
    Ok(())
}

pub fn vector_types(device: &Device) -> Outcome {
    let function = VECTOR_TYPES.function(device, "vector_types")?;
    let n = 37;
    let host: Vec<f32> = numbers(4 * n, 19).iter().map(|&value| (value % 200) as f32 + 0.5).collect();
    let x = upload(device, &host)?;
    let (halves, sums, packed) =
        (zeros::<f32>(device, 4 * n)?, zeros::<f64>(device, 2 * n)?, zeros::<u8>(device, 4 * n)?);
    let values = values![x.as_raw(), halves.as_raw(), sums.as_raw(), packed.as_raw(), n as u32];
    launch(&function, 2, 32, 0, values, &device.stream())?;
    let fours = || host.chunks(4).map(|four| [four[0], four[1], four[2], four[3]]);
    ensure_eq!(halves.to_vec()?, fours().flat_map(|[x, y, z, w]| [w, z, y, x]).collect::<Vec<_>>());
    let sum = |[x, y, z, w]: [f32; 4]| [f64::from(x + y), f64::from(z) * f64::from(w)];
    ensure_eq!(sums.to_vec()?, fours().flat_map(sum).collect::<Vec<_>>());
    let bytes = |[x, y, z, _]: [f32; 4]| [x as u8, y as u8, z as u8, 32];
    ensure_eq!(packed.to_vec()?, fours().flat_map(bytes).collect::<Vec<_>>());
    Ok(())
}

pub fn three_dimensions(device: &Device) -> Outcome {
    let function = THREE_DIMENSIONS.function(device, "three_dimensions")?;
    // 8 x 4 x 3 = three warps per block, each of one z.
    let (grid, block) = ((3u32, 2u32, 4u32), (8u32, 4u32, 3u32));
    let size = [grid.0 * block.0, grid.1 * block.1, grid.2 * block.2];
    let out = zeros::<u32>(device, (size[0] * size[1] * size[2]) as usize)?;
    launch(&function, grid, block, 0, values![out.as_raw()], &device.stream())?;
    let want = |at: u32| {
        let (x, y, z) = (at % size[0], at / size[0] % size[1], at / size[0] / size[1]);
        let lane = x % 8 + 8 * (y % 4);
        x + 100 * y + 10_000 * z + 1_000_000 * lane
    };
    ensure_eq!(out.to_vec()?, (0..size[0] * size[1] * size[2]).map(want).collect::<Vec<_>>());
    Ok(())
}

pub fn device_functions(device: &Device) -> Outcome {
    let function = DEVICE_FUNCTIONS.function(device, "device_functions")?;
    let n = 100;
    let host: Vec<i32> = numbers(9 * n, 20).iter().map(|&value| value as i32 % 2000 - 1000).collect();
    let x = upload(device, &host)?;
    let (medians, fibonacci, mapped) = (zeros::<i32>(device, n)?, zeros::<u32>(device, n)?, zeros::<i32>(device, n)?);
    let values = values![x.as_raw(), medians.as_raw(), fibonacci.as_raw(), mapped.as_raw()];
    launch(&function, 2, 50, 0, values, &device.stream())?;
    let sorted: Vec<Vec<i32>> = host
        .chunks(9)
        .map(|part| {
            let mut part = part.to_vec();
            part.sort_unstable();
            part
        })
        .collect();
    ensure_eq!(medians.to_vec()?, sorted.iter().map(|part| part[4]).collect::<Vec<_>>());
    let numbers = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89];
    ensure_eq!(fibonacci.to_vec()?, (0..n).map(|i| numbers[i % 12]).collect::<Vec<_>>());
    let map = |(i, part): (usize, &Vec<i32>)| if i % 2 == 1 { 2 * part[8] } else { part[8] * part[8] };
    ensure_eq!(mapped.to_vec()?, sorted.iter().enumerate().map(map).collect::<Vec<_>>());
    Ok(())
}

/// A launch reads what the same stream's copies wrote, and the host reads what a chain of launches wrote.
pub fn launches_in_a_row(device: &Device) -> Outcome {
    let function = LIFE.function(device, "life")?;
    // A blinker in a field of 5 x 5 is itself after two generations.
    let host: Vec<u8> = (0..25).map(|at| u8::from(matches!(at, 11..=13))).collect();
    let stream = gpu_driver::Stream::new(device)?;
    let now = DeviceVec::from_slice(&stream, &host)?;
    let next = DeviceVec::<u8>::zeros(&stream, 25)?;
    for _ in 0..10 {
        launch(&function, (1, 1), (8, 8), 0, values![now.as_raw(), next.as_raw(), 5i32, 5i32], &stream)?;
        launch(&function, (1, 1), (8, 8), 0, values![next.as_raw(), now.as_raw(), 5i32, 5i32], &stream)?;
    }
    ensure_eq!(now.to_vec()?, host);
    ensure_eq!(next.to_vec()?, (0..25).map(|at| u8::from(matches!(at, 7 | 12 | 17))).collect::<Vec<_>>());
    Ok(())
}
