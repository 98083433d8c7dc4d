//! Scans from text against the definitions on the host: operators that do not commute, structures, segments, places, errors.

use std::fmt::Debug;

use gpu_algos::{
    AlgoError,
    gpu_array::{
        GpuArray,
        gpu_driver::{self, Device, DevicePod, DeviceVec, Stream},
    },
    kernels::{IndexRange, ScanKernel},
    reference::{Associative, ScanKind, scan, segmented_scan},
    scan_kernel,
};
use ndarray::{Array1, Array3, Axis, s};
use testkit::{Outcome, Rng, Test, ensure, ensure_eq, lengths_around, rng, same, tests};

pub const TESTS: &[Test<Device>] = tests![
    pycuda_scan,
    scanned_matrices_keep_their_order,
    segments_of_recurrences,
    any_operator_along_any_axis,
    states_of_any_size,
    pyopencl_index_preservation,
    pyopencl_copy_if_and_unique,
    pyopencl_vectors_with_offsets,
    scanned_places_in_their_order,
    any_places_of_any_length,
    arrays_of_several_streams,
    a_captured_scan_is_replayed,
    scanned_floats_have_the_same_bits_in_every_order_of_blocks,
    names_of_users_are_theirs,
    wrong_scan_kernels_are_errors,
];

pub const LARGE: &[Test<Device>] = tests![pycuda_big_array_scan];

/// Places of a tile where a state, with its mark in segments, has up to 8 bytes, 16, 32, or more.
const TILES: [usize; 4] = [3840, 1792, 768, 256];

fn lengths(device: &Device, tile: usize) -> Vec<usize> {
    let mut all = lengths_around(tile);
    all.push(35 * tile - 7);
    if !device.is_emulated() {
        all.extend([1_000_003, 10_000_019]);
    }
    all
}

pub fn pycuda_scan(device: &Device) -> Outcome {
    let kernels =
        [ScanKernel::<i32>::inclusive("a + b", "0")?, ScanKernel::exclusive("a+b", "0")?.name("before")?.preamble("")];
    kernels[0].compile(device)?;
    let mut rng = rng(21);
    let mut sizes = vec![0, 10, (1 << 10) - 5, 1 << 10, (1 << 10) + 5, 100_003];
    if !device.is_emulated() {
        sizes.extend([(1 << 20) - (1 << 18), (1 << 20) - (1 << 18) + 5, (1 << 20) + 5, 1 << 20, 1 << 24]);
    }
    for n in sizes {
        let x = Array1::from_shape_fn(n, |_| rng.below(10) as i32);
        for (kernel, how) in kernels.iter().zip([ScanKind::INCLUSIVE, ScanKind::EXCLUSIVE]) {
            let want = scan(&Associative::new(0, |a: i32, b| a + b), &x, Axis(0), how)?.to_vec();
            let mut on_device = GpuArray::from_ndarray(device, &x)?;
            let mut out = GpuArray::<i32, _>::full(device, n, -1)?;
            // SAFETY: the texts are an associative operator and its identity element.
            unsafe {
                same(&kernel.call(&on_device)?.to_vec()?, &want, n)?;
                kernel.call_into(&on_device, &mut out)?;
                ensure_eq!(on_device.to_ndarray()?, x);
                kernel.in_place(&mut on_device)?;
            }
            same(&out.to_ndarray()?.to_vec(), &want, n)?;
            same(&on_device.to_ndarray()?.to_vec(), &want, n)?;
        }
    }
    Ok(())
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, DevicePod)]
#[device_pod(crate = gpu_driver)]
struct Matrix {
    a: u32,
    b: u32,
    c: u32,
    d: u32,
}

const ONE: Matrix = Matrix { a: 1, b: 0, c: 0, d: 1 };

fn times(x: Matrix, y: Matrix) -> Matrix {
    let dot = |x: u32, y: u32, z: u32, w: u32| x.wrapping_mul(y).wrapping_add(z.wrapping_mul(w));
    Matrix {
        a: dot(x.a, y.a, x.b, y.c),
        b: dot(x.a, y.b, x.b, y.d),
        c: dot(x.c, y.a, x.d, y.c),
        d: dot(x.c, y.b, x.d, y.d),
    }
}

/// The product of 2x2 matrices, modulo 2^32.
const TIMES: &str =
    "Matrix{a.a * b.a + a.b * b.c, a.a * b.b + a.b * b.d, a.c * b.a + a.d * b.c, a.c * b.b + a.d * b.d}";

scan_kernel! {
    /// Products of matrices up to each place, and before it.
    fn products(x: &[Matrix], with: &mut [Matrix], without: &mut [Matrix]) {
        unsafe {
            state: Matrix;
            identity: "Matrix{1, 0, 0, 1}";
            scan: TIMES;
            input: "x[i]";
            output: "with[i] = item; without[i] = prev_item";
        }
    }
}

pub fn scanned_matrices_keep_their_order(device: &Device) -> Outcome {
    let mut rng = rng(22);
    let stream = device.stream();
    let exclusive = ScanKernel::<Matrix>::exclusive(TIMES, "Matrix{1, 0, 0, 1}")?;
    let operator = Associative::new(ONE, times);
    for n in lengths(device, TILES[1]) {
        let mut next = || rng.next_u64() as u32 | 1;
        let x: Vec<Matrix> = (0..n).map(|_| Matrix { a: next(), b: next(), c: next(), d: next() }).collect();
        let on_device = DeviceVec::from_slice(&stream, &x)?;
        let (mut with, mut without) = (DeviceVec::zeros(&stream, n)?, DeviceVec::zeros(&stream, n)?);
        products(&on_device, &mut with, &mut without)?;
        let want = scan(&operator, &x[..], Axis(0), ScanKind::INCLUSIVE)?.to_vec();
        same(&with.to_vec()?, &want, n)?;
        let want = scan(&operator, &x[..], Axis(0), ScanKind::EXCLUSIVE)?.to_vec();
        same(&without.to_vec()?, &want, n)?;
        // SAFETY: the texts are an associative operator and its identity element.
        same(&unsafe { exclusive.call(&on_device)? }.to_vec()?, &want, n)?;
    }
    Ok(())
}

/// `y` becomes `c y + d`, modulo 2^32.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, DevicePod)]
#[device_pod(crate = gpu_driver)]
struct Affine {
    c: u32,
    d: u32,
}

fn compose(a: Affine, b: Affine) -> Affine {
    Affine { c: a.c.wrapping_mul(b.c), d: b.c.wrapping_mul(a.d).wrapping_add(b.d) }
}

fn affine() -> Associative<Affine, fn(Affine, Affine) -> Affine> {
    Associative::new(Affine { c: 1, d: 0 }, compose)
}

scan_kernel! {
    /// `y[i] = c[i] y[i - 1] + d[i]`, from `first` on where `starts` is true; and what y was before.
    fn recurrences(first: u32, c: &[u32], d: &[u32], starts: &[bool], before: &mut [u32], y: &mut [u32]) {
        unsafe {
            state: Affine;
            preamble: "unsigned of(Affine map, unsigned y) { return map.c * y + map.d; }";
            identity: "Affine{1, 0}";
            scan: "Affine{a.c * b.c, of(b, a.d)}";
            segments: "starts[i]";
            input: "Affine{c[i], d[i]}";
            output: "before[i] = of(prev_item, first); y[i] = of(item, first)"
        }
    }
}

pub fn segments_of_recurrences(device: &Device) -> Outcome {
    let mut rng = rng(23);
    let operator = affine();
    for n in lengths(device, TILES[1]) {
        let maps: Vec<Affine> = (0..n).map(|_| Affine { c: rng.next_u64() as u32, d: rng.next_u64() as u32 }).collect();
        let c = GpuArray::from_ndarray(device, &maps.iter().map(|map| map.c).collect::<Array1<_>>())?;
        let d = GpuArray::from_ndarray(device, &maps.iter().map(|map| map.d).collect::<Array1<_>>())?;
        // No segment begins, all do, some, few, and those at the ends of rows, warps and tiles.
        for rarity in [0, 1, 3, 500, 224] {
            let starts = Array1::from_shape_fn(n, |i| match rarity {
                0 => false,
                224 => i % 224 == 0 || i % 224 == 223,
                _ => rng.below(rarity) == 0,
            });
            let flags = GpuArray::from_ndarray(device, &starts)?;
            let (mut before, mut y) = (GpuArray::<u32, _>::zeros(device, n)?, GpuArray::<u32, _>::zeros(device, n)?);
            recurrences(7, &c, &d, &flags, &mut before, &mut y)?;
            for (got, how) in [(&y, ScanKind::INCLUSIVE), (&before, ScanKind::EXCLUSIVE)] {
                let maps = segmented_scan(&operator, &maps[..], &starts, Axis(0), how)?;
                let want: Vec<u32> = maps.iter().map(|map| map.c.wrapping_mul(7).wrapping_add(map.d)).collect();
                same(&got.to_ndarray()?.to_vec(), &want, format_args!("{n} {rarity} {how:?}"))?;
            }
        }
    }
    Ok(())
}

scan_kernel! {
    /// Recurrences along an axis of so many elements, each of which is followed by `inner` places of the axes behind it, from either end.
    fn along(length: i64, inner: i64, reverse: bool, c: &[u32], d: &[u32], y: &mut [u32]) {
        unsafe {
            state: Affine;
            preamble: "int64_t at(int64_t i, int64_t length, int64_t inner, bool reverse) {
                           const int64_t line = i / length, step = reverse ? length - 1 - i % length : i % length;
                           return (line / inner * length + step) * inner + line % inner;
                       }";
            identity: "Affine{1, 0}";
            scan: "Affine{a.c * b.c, b.c * a.d + b.d}";
            segments: "i % length == 0";
            input: "Affine{c[at(i, length, inner, reverse)], d[at(i, length, inner, reverse)]}";
            output: "y[at(i, length, inner, reverse)] = item.d"
        }
    }
}

pub fn any_operator_along_any_axis(device: &Device) -> Outcome {
    let mut rng = rng(24);
    for shape in [[3, 5, 7], [1, 40, 33], [65, 2, 90], [4, 4000, 1]] {
        let maps = Array3::from_shape_fn(shape, |_| Affine { c: rng.next_u64() as u32, d: rng.next_u64() as u32 });
        let c = GpuArray::from_ndarray(device, &maps.map(|map| map.c))?;
        let d = GpuArray::from_ndarray(device, &maps.map(|map| map.d))?;
        let mut y = GpuArray::<u32, _>::zeros(device, shape)?;
        for (axis, reverse) in (0..3).flat_map(|axis| [(axis, false), (axis, true)]) {
            let inner: usize = shape[axis + 1..].iter().product();
            along(shape[axis] as i64, inner as i64, reverse, &c, &d, &mut y)?;
            let mut lines = maps.view();
            if reverse {
                lines.invert_axis(Axis(axis));
            }
            let mut want = scan(&affine(), &lines, Axis(axis), ScanKind::INCLUSIVE)?;
            if reverse {
                want.invert_axis(Axis(axis));
            }
            let (got, want) = (y.to_ndarray()?, want.map(|map| map.d));
            same(&got.iter().collect::<Vec<_>>(), &want.iter().collect::<Vec<_>>(), format_args!("{shape:?} {axis}"))?;
        }
    }
    Ok(())
}

/// 40 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, DevicePod)]
#[device_pod(crate = gpu_driver)]
struct Wide {
    last: f64,
    count: i64,
    least: i64,
    greatest: i64,
    sum: u64,
}

/// 28 bytes, aligned to 4.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, DevicePod)]
#[device_pod(crate = gpu_driver)]
struct Odd {
    sum: u32,
    matrix: Matrix,
    map: Affine,
}

pub fn states_of_any_size(device: &Device) -> Outcome {
    let mut rng = rng(24);
    let stream = device.stream();
    // One byte: a sum that stays at 255, alone and in segments; two of them.
    let add = "a + b > 255 ? 255 : a + b";
    let saturating = ScanKernel::<u8>::inclusive(add, "0")?;
    let arguments = "const unsigned char *x, const bool *starts, unsigned char *out";
    let segmented = ScanKernel::<u8>::new(arguments, "0", add, "x[i]", "out[i] = prev_item")?.segments("starts[i]");
    for n in lengths(device, TILES[0]) {
        let x: Vec<u8> = (0..n).map(|_| u8::from(rng.below(10) == 0)).collect();
        let starts: Array1<bool> = (0..n).map(|_| rng.below(900) == 0).collect();
        let (on_device, flags) = (DeviceVec::from_slice(&stream, &x)?, GpuArray::from_ndarray(device, &starts)?);
        let mut out = DeviceVec::zeros(&stream, n)?;
        let operator = Associative::new(0u8, u8::saturating_add);
        // SAFETY: the texts read and write place i.
        let got = unsafe {
            segmented.call(&[(&on_device).into(), (&flags).into(), (&mut out).into()])?;
            saturating.call(&on_device)?.to_vec()?
        };
        same(&got, &scan(&operator, &x[..], Axis(0), ScanKind::INCLUSIVE)?.to_vec(), n)?;
        let want = segmented_scan(&operator, &x[..], &starts, Axis(0), ScanKind::EXCLUSIVE)?;
        same(&out.to_vec()?, &want.to_vec(), n)?;
    }
    let wide = ScanKernel::<Wide>::inclusive(
        "Wide{b.count > 0 ? b.last : a.last, a.count + b.count, a.least < b.least ? a.least : b.least, a.greatest > b.greatest ? a.greatest : b.greatest, a.sum + b.sum}",
        "Wide{0, 0, 9223372036854775807LL, -9223372036854775807LL - 1, 0}",
    )?;
    let join = |a: Wide, b: Wide| Wide {
        last: if b.count > 0 { b.last } else { a.last },
        count: a.count + b.count,
        least: a.least.min(b.least),
        greatest: a.greatest.max(b.greatest),
        sum: a.sum.wrapping_add(b.sum),
    };
    let none = Wide { last: 0.0, count: 0, least: i64::MAX, greatest: i64::MIN, sum: 0 };
    for n in lengths(device, TILES[3]) {
        let x: Vec<Wide> = (0..n)
            .map(|_| {
                let x = rng.next_u64();
                let (last, count) = if x.is_multiple_of(3) { (rng.uniform(), 1) } else { (0.0, 0) };
                Wide { last, count, least: x as i64, greatest: x as i64, sum: x }
            })
            .collect();
        let on_device = DeviceVec::from_slice(&stream, &x)?;
        // SAFETY: the texts are an associative operator and its identity element.
        let got = unsafe { wide.call(&on_device)? };
        let want = scan(&Associative::new(none, join), &x[..], Axis(0), ScanKind::INCLUSIVE)?;
        same(&got.to_vec()?, &want.to_vec(), n)?;
    }
    let odd = "Odd{a.sum + b.sum, times(a.matrix, b.matrix), Affine{a.map.c * b.map.c, b.map.c * a.map.d + b.map.d}}";
    let preamble = format!("Matrix times(Matrix a, Matrix b) {{ return {TIMES}; }}");
    let odd = ScanKernel::<Odd>::exclusive(odd, "Odd{0, Matrix{1, 0, 0, 1}, Affine{1, 0}}")?.preamble(&preamble);
    let join = |a: Odd, b: Odd| Odd {
        sum: a.sum.wrapping_add(b.sum),
        matrix: times(a.matrix, b.matrix),
        map: compose(a.map, b.map),
    };
    let operator = Associative::new(Odd { sum: 0, matrix: ONE, map: Affine { c: 1, d: 0 } }, join);
    for n in lengths(device, TILES[2]) {
        let mut next = || rng.next_u64() as u32 | 1;
        let mut one = || Odd {
            sum: next(),
            matrix: Matrix { a: next(), b: next(), c: next(), d: next() },
            map: Affine { c: next(), d: next() },
        };
        let x: Vec<Odd> = (0..n).map(|_| one()).collect();
        let mut on_device = DeviceVec::from_slice(&stream, &x)?;
        // SAFETY: as above.
        unsafe { odd.in_place(&mut on_device)? };
        let want = scan(&operator, &x[..], Axis(0), ScanKind::EXCLUSIVE)?;
        same(&on_device.to_vec()?, &want.to_vec(), n)?;
    }
    Ok(())
}

pub fn pyopencl_index_preservation(device: &Device) -> Outcome {
    let kernel = ScanKernel::<i64>::new("long *out", "0", "b", "i", "out[i] = item + 10 * prev_item")?;
    for n in lengths(device, TILES[0]) {
        let mut out = GpuArray::<i64, _>::zeros(device, n)?;
        // SAFETY: the text writes place i.
        unsafe { kernel.call(&[(&mut out).into()])? };
        let want: Vec<i64> = (0..n as i64).map(|i| i + 10 * (i - 1).max(0)).collect();
        same(&out.to_ndarray()?.to_vec(), &want, n)?;
    }
    Ok(())
}

scan_kernel! {
    /// The values above `limit` in their order, and how many there are.
    ///
    /// # Safety
    /// `outer` has room for them, and `count` for a number.
    unsafe fn copy_if(limit: i32, x: &[i32], outer: &mut [i32; _], count: &mut [i64; _]) {
        state: i64;
        identity: "0"; scan: "a + b"; input: "x[i] > limit";
        output: "if (item != prev_item) outer[prev_item] = x[i]; if (i + 1 == n) count[0] = item"
    }
}

scan_kernel! {
    /// Where runs of equal values begin, and which run each value is in.
    ///
    /// # Safety
    /// `starts` has room for all runs.
    unsafe fn runs(x: &[i32], run: &mut [i32], starts: &mut [i64; _]) {
        state: i32;
        identity: "0"; scan: "a + b"; input: "i == 0 || x[i] != x[i - 1]";
        output: "run[i] = item - 1; if (item == prev_item) return; starts[prev_item] = i"
    }
}

pub fn pyopencl_copy_if_and_unique(device: &Device) -> Outcome {
    let mut rng = rng(25);
    let stream = device.stream();
    for n in lengths(device, TILES[0]) {
        let x: Vec<i32> = (0..n).map(|_| rng.below(4) as i32).collect();
        let on_device = DeviceVec::from_slice(&stream, &x)?;
        let mut outer = GpuArray::<i32, _>::full(device, n, -1)?;
        let mut count = GpuArray::<i64, _>::zeros(device, 1)?;
        let (mut run, mut starts) = (GpuArray::<i32, _>::zeros(device, n)?, GpuArray::<i64, _>::full(device, n, -1)?);
        // SAFETY: there is room for all values and all runs.
        unsafe {
            copy_if(1, &on_device, &mut outer, &mut count)?;
            runs(&on_device, &mut run, &mut starts)?;
        }
        let want: Vec<i32> = x.iter().copied().filter(|&x| x > 1).collect();
        ensure_eq!((n, count.to_ndarray()?[0]), (n, want.len() as i64));
        let outer = outer.to_ndarray()?.to_vec();
        same(&outer[..want.len()], &want, n)?;
        ensure!(outer[want.len()..].iter().all(|&x| x == -1));
        let mut want = Vec::new();
        let mut run_of = Vec::new();
        for i in 0..n {
            if i == 0 || x[i] != x[i - 1] {
                want.push(i as i64);
            }
            run_of.push(want.len() as i32 - 1);
        }
        same(&run.to_ndarray()?.to_vec(), &run_of, n)?;
        same(&starts.to_ndarray()?.to_vec()[..want.len()], &want, n)?;
    }
    Ok(())
}

pub fn pyopencl_vectors_with_offsets(device: &Device) -> Outcome {
    let kernel = ScanKernel::<f32>::new(
        "float scale, const float *x, const float table[], float *out",
        "0",
        "a + b",
        "scale * x[i] * table[i % 3]",
        "out[i] = item",
    )?;
    let x = Array1::from_shape_fn(10_000, |i| (i % 5) as f32);
    let (on_device, table) =
        (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &Array1::from(vec![1f32, 2.0, 4.0]))?);
    for from in [0, 1, 3, 1000] {
        let mut out = GpuArray::<f32, _>::full(device, 10_002, -1.0)?;
        let part = on_device.slice(s![from..9000])?;
        let count = 9000 - from;
        // SAFETY: the text reads and writes place i, and places of the table that are there.
        unsafe {
            let target = out.slice_mut(s![2..2 + count])?;
            kernel.call(&[2f32.into(), part.into(), (&table).into(), target.into()])?;
        }
        let mut sum = 0.0;
        let mut want = vec![-1.0; 10_002];
        for i in 0..count {
            sum += 2.0 * x[from + i] * [1.0, 2.0, 4.0][i % 3];
            want[2 + i] = sum;
        }
        same(&out.to_ndarray()?.to_vec(), &want, from)?;
    }
    Ok(())
}

pub fn scanned_places_in_their_order(device: &Device) -> Outcome {
    // The last that is not 0; what comes first is joined first.
    let last = ScanKernel::<i32>::new("const int *x, int *out", "0", "b != 0 ? b : a", "x[i]", "out[i] = item")?;
    let x: Vec<i32> = (0..10_000).map(|i| if i % 7 == 0 { i } else { 0 }).collect();
    let on_device = DeviceVec::from_slice(&device.stream(), &x)?;
    let cases: [(IndexRange, Vec<usize>); 5] = [
        (IndexRange::range(5, 9000, 3), (5..9000).step_by(3).collect()),
        (IndexRange::slice(None, None, -1), (0..10_000).rev().collect()),
        (IndexRange::slice(-3, None, 1), vec![9997, 9998, 9999]),
        (IndexRange::range(9000, 100, -13), (101..=9000).rev().step_by(13).collect()),
        (IndexRange::range(4, 4, 1), Vec::new()),
    ];
    for (places, visited) in cases {
        let mut out = DeviceVec::from_slice(&device.stream(), &vec![-1; 10_000])?;
        // SAFETY: the text reads and writes place i.
        unsafe { last.call_over(places, &[(&on_device).into(), (&mut out).into()])? };
        let mut want = vec![-1; 10_000];
        let mut so_far = 0;
        for at in visited {
            so_far = if x[at] != 0 { x[at] } else { so_far };
            want[at] = so_far;
        }
        same(&out.to_vec()?, &want, places)?;
    }
    // The same by the macro's function.
    let mut y = DeviceVec::from_slice(&device.stream(), &[0; 5])?;
    let c = DeviceVec::from_slice(&device.stream(), &[1; 5])?;
    let (d, mut before) = (c.try_clone()?, DeviceVec::zeros(&device.stream(), 5)?);
    let flags = GpuArray::from_ndarray(device, &Array1::from(vec![false; 5]))?;
    recurrences::over(IndexRange::slice(None, None, -1), 0, &c, &d, &flags, &mut before, &mut y)?;
    ensure_eq!((y.to_vec()?, before.to_vec()?), (vec![5, 4, 3, 2, 1], vec![4, 3, 2, 1, 0]));
    ensure!(format!("{:?}", recurrences::kernel()?).contains("uint32_t first"));
    Ok(())
}

pub fn any_places_of_any_length(device: &Device) -> Outcome {
    let mut rng = rng(27);
    let (rounds, most) = if device.is_emulated() { (40, 9000) } else { (300, 900_000) };
    for round in 0..rounds {
        let n = 1 + rng.below(most);
        let (start, distance) = (rng.below(n), [1isize, 1, 2, 5][rng.below(4)]);
        let (step, room) = if rng.below(2) == 0 { (distance, n - 1 - start) } else { (-distance, start) };
        let count = rng.below(room / distance.unsigned_abs() + 2);
        let at = |k: usize| start as i64 + (k as isize * step) as i64;
        let visited: Vec<usize> = (0..count).map(|k| at(k) as usize).collect();
        let places = IndexRange::range(start as i64, at(count), step as i64);

        let numbers = |rng: &mut Rng| Array1::from_shape_fn(n, |_| rng.next_u64() as u32);
        let (c, d) = (numbers(&mut rng), numbers(&mut rng));
        let rarity = [1, 2, 100, 5000][rng.below(4)];
        let starts = Array1::from_shape_fn(n, |_| rng.below(rarity) == 0);
        let mut results = [GpuArray::<u32, _>::full(device, n, 9)?, GpuArray::full(device, n, 9)?];
        let [before, y] = &mut results;
        let on_device = |x: &Array1<u32>| GpuArray::from_ndarray(device, x);
        let flags = GpuArray::from_ndarray(device, &starts)?;
        recurrences::over(places, 7, &on_device(&c)?, &on_device(&d)?, &flags, before, y)?;

        let maps: Vec<Affine> = visited.iter().map(|&at| Affine { c: c[at], d: d[at] }).collect();
        let heads: Vec<bool> = visited.iter().map(|&at| starts[at]).collect();
        for (got, how) in results.iter().zip([ScanKind::EXCLUSIVE, ScanKind::INCLUSIVE]) {
            let mut want = vec![9; n];
            let scanned = segmented_scan(&affine(), &maps[..], &heads[..], Axis(0), how)?;
            visited.iter().zip(scanned).for_each(|(&at, map)| want[at] = map.c.wrapping_mul(7).wrapping_add(map.d));
            same(&got.to_ndarray()?.to_vec(), &want, format_args!("round {round}: {n}, {places}, {rarity}, {how:?}"))?;
        }
    }
    Ok(())
}

pub fn arrays_of_several_streams(device: &Device) -> Outcome {
    let (one, two) = (Stream::new(device)?, Stream::new(device)?);
    let sums = ScanKernel::<i64>::inclusive("a + b", "0")?;
    let n = 20_000;
    for round in 0..4 {
        let x = GpuArray::from_ndarray(&one, &Array1::from_elem(n, round + 1))?;
        let mut out = GpuArray::<i64, _>::zeros(&two, n)?;
        // SAFETY: the texts are an associative operator and its identity element.
        unsafe {
            sums.call_into(&x, &mut out)?;
            sums.in_place(&mut out)?;
        }
        let got = out.to_ndarray()?;
        let n = n as i64;
        ensure_eq!(got[n as usize - 1], (round + 1) * n * (n + 1) / 2);
    }
    Ok(())
}

pub fn a_captured_scan_is_replayed(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let n = 10_000;
    let sums = ScanKernel::<i32>::exclusive("a + b", "0")?;
    let mut x = GpuArray::from_ndarray(&stream, &Array1::from_elem(n, 1))?;
    let mut out = GpuArray::<i32, _>::zeros(&stream, n)?;
    // SAFETY: the texts are an associative operator and its identity element.
    unsafe { sums.call_into(&x, &mut out)? };
    // SAFETY: as above.
    let (graph, ()) = stream.capture(|| unsafe { sums.call_into(&x, &mut out) })?;
    for round in 1..4 {
        x.fill(round)?;
        out.fill(-1)?;
        // SAFETY: the arrays live, and nothing else uses them meanwhile.
        unsafe { graph.launch(&stream)? };
        let want: Vec<i32> = (0..n as i32).map(|i| i * round).collect();
        same(&out.to_ndarray()?.to_vec(), &want, round)?;
    }
    Ok(())
}

pub fn scanned_floats_have_the_same_bits_in_every_order_of_blocks(device: &Device) -> Outcome {
    let mut rng = rng(26);
    let n = if device.is_emulated() { 200_000 } else { 20_000_000 };
    let values: Vec<f32> = (0..n).map(|_| (rng.below(1 << 24) as f32 / 3.0).sin()).collect();
    let x = DeviceVec::from_slice(&device.stream(), &values)?;
    let arguments = "const float *x, float *with, float *without";
    let sums = ScanKernel::<f32>::new(arguments, "0", "a + b", "x[i]", "with[i] = item; without[i] = prev_item")?;
    let exact =
        scan(&Associative::new(0f64, |a, b| a + b), &values_f64(&values), Axis(0), ScanKind::INCLUSIVE)?.to_vec();
    let is_near =
        |got: &[f32], want: &[f64]| got.iter().zip(want).all(|(&got, want)| (f64::from(got) - want).abs() < 0.05);
    let mut first = None;
    for round in 0..4 {
        let (mut with, mut without) = (DeviceVec::zeros(&device.stream(), n)?, DeviceVec::zeros(&device.stream(), n)?);
        // SAFETY: the text reads and writes place i.
        unsafe { sums.call(&[(&x).into(), (&mut with).into(), (&mut without).into()])? };
        let (with, without) = (with.to_vec()?, without.to_vec()?);
        ensure!(is_near(&with, &exact) && is_near(&without[1..], &exact) && without[0] == 0.0);
        let bits = [with, without].concat().into_iter().map(f32::to_bits).collect::<Vec<_>>();
        same(&bits, first.get_or_insert_with(|| bits.clone()), round)?;
    }
    Ok(())
}

fn values_f64(values: &[f32]) -> Array1<f64> {
    values.iter().map(|&x| f64::from(x)).collect()
}

/// A name that the kernels around the texts have too.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, DevicePod)]
#[device_pod(crate = gpu_driver)]
struct State {
    value: i32,
}

pub fn names_of_users_are_theirs(device: &Device) -> Outcome {
    let preamble = "State join(State a, State b) { return State{a.value + b.value}; } State input(int x) { return State{x}; } \
                    State identity() { return State{0}; } int output(State item) { return item.value; } bool begins(int x) { return x < 0; }";
    let kernel = ScanKernel::<State>::new(
        "const int *words, const State *word, int *before, int *shared",
        "identity()",
        "join(a, b)",
        "input(words[i] + word[i].value)",
        "before[i] = output(prev_item); shared[i] = output(item)",
    )?;
    let kernel = kernel.preamble(preamble).segments("begins(words[i])").name("named")?.option("-DUSED");
    let words = DeviceVec::from_slice(&device.stream(), &[1, 2, -3, 4, 5])?;
    let word = DeviceVec::from_slice(&device.stream(), &[State { value: 1 }; 5])?;
    let (mut before, mut shared) = (words.try_clone()?, words.try_clone()?);
    // SAFETY: the text reads and writes place i.
    unsafe { kernel.call(&[(&words).into(), (&word).into(), (&mut before).into(), (&mut shared).into()])? };
    ensure_eq!((before.to_vec()?, shared.to_vec()?), (vec![0, 2, 0, -2, 3], vec![2, 5, -2, 3, 9]));
    Ok(())
}

/// Structures of ten times the size, again and again.
macro_rules! ten_times {
    ($($name:ident of $part:ident),*) => {$(
        #[repr(C)]
        #[derive(Clone, Copy, Debug, DevicePod)]
        #[device_pod(crate = gpu_driver)]
        struct $name {
            a: $part,
            b: $part,
            c: $part,
            d: $part,
            e: $part,
            f: $part,
            g: $part,
            h: $part,
            i: $part,
            j: $part,
        }
    )*};
}
ten_times!(Large of u64, TooLarge of Large, Much of TooLarge);

pub fn wrong_scan_kernels_are_errors(device: &Device) -> Outcome {
    let new = |arguments: &str| ScanKernel::<f32>::new(arguments, "0", "a + b", "x[i]", "x[i] = item");
    for text in ["float *i", "float *n", "float *item", "const float prev_item", "float **x", "float gpu_x"] {
        ensure!(matches!(new(text), Err(AlgoError::Argument { .. })), "{text}");
    }
    let much = ScanKernel::<Much>::inclusive("a", "b");
    ensure!(matches!(much, Err(AlgoError::StateTooLarge { limit: 1024, got: 8000, .. })));
    let unknown = new("float *x, Matrix m")?;
    let sums = new("float *x")?.name("sums")?;
    let doubles = GpuArray::<f64, _>::zeros(device, 5)?;
    let mut x = GpuArray::<f32, _>::zeros(device, 5)?;
    let mut rows = GpuArray::<f32, _>::zeros(device, (4, 4))?;
    let matrix = gpu_algos::kernels::KernelArg::value(ONE);
    let sum = ScanKernel::<f32>::inclusive("a + b", "0")?;
    let constant = ScanKernel::<f32>::new("float c, const float t[]", "0", "a + b", "c", "")?;
    // SAFETY: none of these runs.
    unsafe {
        ensure!(matches!(sums.call(&[(&doubles).into()]), Err(AlgoError::ArgumentType { .. })));
        ensure!(matches!(sums.call(&[(&x).into()]), Err(AlgoError::ArgumentType { .. })));
        ensure!(matches!(sums.call(&[]), Err(AlgoError::ArgumentCount { .. })));
        ensure!(matches!(unknown.call(&[(&mut x).into(), matrix]), Err(AlgoError::UnknownType { .. })));
        let none = constant.call(&[1f32.into(), (&x).into()]);
        ensure!(matches!(none, Err(AlgoError::NoArray { .. })));
        let outside = sums.call_over(IndexRange::range(0, 6, 1), &[(&mut x).into()]);
        ensure!(matches!(outside, Err(AlgoError::IndexRange { .. })));
        let mut four = GpuArray::<f32, _>::zeros(device, 4)?;
        ensure!(matches!(sum.call_into(&x, &mut four), Err(AlgoError::ArgumentLength { .. })));
        let gaps = sum.in_place(rows.slice_mut(s![.., ..2])?);
        let is_told = |error: Result<(), AlgoError>, place: &str| {
            error.is_err_and(|error| {
                error
                    .to_string()
                    .starts_with(&format!("{place} was given an array of shape [4, 2] with strides [4, 1]"))
            })
        };
        ensure!(is_told(gaps.map(drop), "kernel `inclusive_scan`: `float *x`"));
        let gaps = sum.call(rows.slice(s![.., ..2])?).map(drop);
        ensure!(is_told(gaps, "kernel `inclusive_scan`: `const float *x`"));
        let gaps = sums.call(&[(&rows.slice(s![.., ..2])?).into()]);
        ensure!(is_told(gaps, "kernel `sums`: `float *x`"));
        let broken = [
            ScanKernel::<f32>::new("float *x", "0", "a +", "x[i]", "x[i] = item")?,
            ScanKernel::<f32>::new("float *x", "", "a + b", "x[i]", "x[i] = item")?,
            ScanKernel::<f32>::new("float *x", "0", "a + b", "x[i]", "x[i] = items")?,
            ScanKernel::<f32>::new("const float *x", "0", "a + b", "x[i]", "x[i] = item")?,
            ScanKernel::<f32>::new("float *x", "0", "a + b", "x[i]", "x[i] = item")?.segments("start[i]"),
        ];
        for kernel in broken {
            let refused = kernel.call(&[(&mut x).into()]);
            ensure!(refused.as_ref().is_err_and(|error| error.to_string().contains("scan.cu")), "{refused:?}");
        }
        // Where there is no place nothing is compiled, let alone run.
        sums.call(&[(&mut GpuArray::<f32, _>::zeros(device, 0)?).into()])?;
    }
    Ok(())
}

/// 2^32 bytes and a few, as PyCUDA has it.
pub fn pycuda_big_array_scan(device: &Device) -> Outcome {
    let n = (1usize << 32) + 12;
    let mut x = GpuArray::full(device, n, 1u8)?;
    let kernel = ScanKernel::<u8>::inclusive("a + b", "0")?;
    // SAFETY: the texts are an associative operator and its identity element.
    unsafe { kernel.in_place(&mut x)? };
    for at in [0, 255, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, n - 1] {
        ensure_eq!((at, x.slice(s![at..=at])?.to_ndarray()?[0]), (at, (at + 1) as u8));
    }
    Ok(())
}
