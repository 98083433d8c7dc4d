//! Products of lists of matrices in arrays of their own, against the reference.

use gpu_algos::{
    AlgoError,
    gpu_array::{
        ArrayError, Complex, DType, GpuArray, GpuView, f16, gpu_driver::Device, gpu_driver::Stream,
        gpu_driver::emulated::Emulated,
    },
    matmul::{MatmulElement, matmul_each, matmul_each_into},
    reference,
};
use ndarray::{Array2, Axis, Ix2, s};
use testkit::{Outcome, Rng, Test, ensure, ensure_eq, rng, tests};

use crate::launches::launches;

pub const TESTS: &[Test<Device>] = tests![
    lists_of_every_type_and_size,
    lists_of_views_in_any_layout,
    lists_go_into_arrays_of_any_layout,
    lists_of_several_streams,
    captured_lists_are_replayed,
    wrong_lists_are_errors,
];

pub const COUNTS: &[Test<()>] = tests![lists_are_one_launch];

/// A part of a larger array.
type Part<'a> = GpuView<'a, f32, Ix2>;

/// Small integers, whose sums are exact in each type.
fn integers<T>(rng: &mut Rng, rows: usize, columns: usize, of: fn(u8) -> T) -> Array2<T> {
    Array2::from_shape_simple_fn((rows, columns), || of(rng.below(6) as u8))
}

fn lists<T>(rng: &mut Rng, count: usize, [m, k, n]: [usize; 3], of: fn(u8) -> T) -> [Vec<Array2<T>>; 2] {
    [(m, k), (k, n)].map(|(rows, columns)| (0..count).map(|_| integers(rng, rows, columns, of)).collect())
}

fn on<T: MatmulElement>(home: &Device, matrices: &[Array2<T>]) -> gpu_algos::Result<Vec<GpuArray<T, Ix2>>> {
    matrices.iter().map(|matrix| Ok(GpuArray::from_ndarray(home, matrix)?)).collect()
}

fn of_type<T: MatmulElement + PartialEq>(device: &Device, counts: &[usize], of: fn(u8) -> T) -> Outcome {
    let mut rng = rng(40);
    // Each type has kernels of its own: f32 alone has all forms.
    let few = [[8, 8, 8], [3, 5, 7], [65, 40, 130]];
    let further = [[16, 16, 16], [32, 20, 32], [64, 64, 64], [1, 9, 1], [4, 0, 4], [0, 3, 4]];
    let further = further.into_iter().filter(|_| T::DTYPE == DType::F32);
    for sizes in few.into_iter().chain(further) {
        // The emulated device takes seconds for long lists of large matrices, which differ from short ones by their number of blocks.
        let is_taken = |count: usize| !device.is_emulated() || count < 10 || sizes.iter().product::<usize>() < 1000;
        for &count in counts.iter().filter(|&&count| is_taken(count)) {
            let [x, y] = lists(&mut rng, count, sizes, of);
            let (a, b) = (on(device, &x)?, on(device, &y)?);
            let got = matmul_each(&a, &b)?.to_ndarray()?;
            ensure_eq!(got.shape(), [count, sizes[0], sizes[2]]);
            for (number, got) in got.axis_iter(Axis(0)).enumerate() {
                let want = reference::matmul(&x[number], &y[number])?;
                ensure!(got == want, "{} {sizes:?}, {number} of {count}", T::DTYPE);
            }
        }
    }
    Ok(())
}

/// Lists of one pair, of a few, and of as many as the kernel of small matrices takes.
pub fn lists_of_every_type_and_size(device: &Device) -> Outcome {
    of_type(device, &[1, 2, 300], f32::from)?;
    of_type(device, &[3], f64::from)?;
    of_type(device, &[3, 70], i32::from)?;
    of_type(device, &[2], u64::from)?;
    of_type(device, &[3], |x| Complex::new(f32::from(x), f32::from(x % 3)))?;
    of_type(device, &[3], f16::from)
}

/// Parts of larger arrays: transposed, reversed, in steps, and not aligned to packs.
pub fn lists_of_views_in_any_layout(device: &Device) -> Outcome {
    let mut rng = rng(41);
    let wholes: Vec<Array2<f32>> = (0..40).map(|_| integers(&mut rng, 20, 21, f32::from)).collect();
    let arrays = on(device, &wholes)?;
    for layout in 0..5 {
        let mut pairs: Vec<[Array2<f32>; 2]> = Vec::new();
        let (mut a, mut b): (Vec<Part<'_>>, Vec<Part<'_>>) = (Vec::new(), Vec::new());
        for (number, (x, array)) in wholes.iter().zip(&arrays).enumerate() {
            // The last layout differs from pair to pair, which takes a launch for each.
            let (left, right) = match if layout == 4 { number % 4 } else { layout } {
                0 => (s![2..10, 4..12], s![4..12, 8..16]),
                1 => (s![2..10, 1..9], s![4..12, 3..11]),
                2 => (s![..8;-1, ..16;2], s![..16;2, ..8;-1]),
                _ => (s![8..16, 2..10], s![8..16, 5..13]),
            };
            let (mut of_a, mut of_b) = (array.slice(left)?, array.slice(right)?);
            let (mut on_left, mut on_right) = (x.slice(left), x.slice(right));
            if layout == 3 {
                (of_a, of_b) = (of_a.t(), of_b.t());
                (on_left, on_right) = (on_left.reversed_axes(), on_right.reversed_axes());
            }
            pairs.push([on_left.to_owned(), on_right.to_owned()]);
            a.push(of_a);
            b.push(of_b);
        }
        let got = matmul_each(a, b)?.to_ndarray()?;
        for (number, [x, y]) in pairs.iter().enumerate() {
            ensure!(got.index_axis(Axis(0), number) == reference::matmul(x, y)?, "layout {layout}, {number}");
        }
    }
    Ok(())
}

/// Results by rows, by columns, with gaps, and of layouts that differ; elements beside them stay.
pub fn lists_go_into_arrays_of_any_layout(device: &Device) -> Outcome {
    let mut rng = rng(42);
    let (count, sizes) = (33, [6, 5, 9]);
    let [x, y] = lists(&mut rng, count, sizes, f32::from);
    let (a, b) = (on(device, &x)?, on(device, &y)?);
    for layout in 0..4 {
        let mut targets =
            (0..count).map(|_| GpuArray::full(device, (20, 20), -1.0f32)).collect::<Result<Vec<_>, _>>()?;
        let part = |number: usize| match if layout == 3 { number % 3 } else { layout } {
            0 => (s![1..7, 2..11], false),
            1 => (s![1..10, 2..8], true),
            _ => (s![..18;3, 1..19;2], false),
        };
        let slices = targets.iter_mut().enumerate().map(|(number, target)| target.slice_mut(part(number).0));
        let mut slices = slices.collect::<Result<Vec<_>, _>>()?;
        let views = slices.iter_mut().enumerate();
        let views = views.map(|(number, slice)| if part(number).1 { slice.t_mut() } else { slice.view_mut() });
        matmul_each_into(&a, &b, views)?;
        for (number, target) in targets.iter().enumerate() {
            let mut want = Array2::from_elem((20, 20), -1.0f32);
            let (slice, is_transposed) = part(number);
            let product = reference::matmul(&x[number], &y[number])?;
            want.slice_mut(slice).assign(&if is_transposed { product.reversed_axes() } else { product });
            ensure!(target.to_ndarray()? == want, "layout {layout}, {number}");
        }
    }
    Ok(())
}

/// Each array is written on a stream of its own just before, and each result is read on its own.
pub fn lists_of_several_streams(device: &Device) -> Outcome {
    let streams = [Stream::new(device)?, Stream::new(device)?, Stream::new(device)?];
    let make = |stream: &Stream, value: f32| GpuArray::full(stream, (24, 24), value);
    let a = [1.0, 2.0, 3.0].map(|value| make(&streams[0], value));
    let b = [0.5, 1.5, 2.5].map(|value| make(&streams[1], value));
    let (a, b): (Vec<_>, Vec<_>) = (a.into_iter().collect::<Result<_, _>>()?, b.into_iter().collect::<Result<_, _>>()?);
    let mut c = streams.each_ref().map(|stream| make(stream, 0.0)).into_iter().collect::<Result<Vec<_>, _>>()?;
    matmul_each_into(&a, &b, &mut c)?;
    for ((a, b), c) in [1.0f32, 2.0, 3.0].into_iter().zip([0.5, 1.5, 2.5]).zip(&c) {
        ensure_eq!(c.to_ndarray()?, Array2::from_elem((24, 24), 24.0 * a * b));
    }
    Ok(())
}

fn lists_are_one_launch(_: &()) -> Outcome {
    let device = &Emulated::new().open()?;
    let arrays = (0..50).map(|_| GpuArray::full(device, (12, 12), 1.0f32)).collect::<Result<Vec<_>, _>>()?;
    let one = launches(device, &|| matmul_each(&arrays, &arrays).map(drop))?;
    ensure_eq!(one, 1);
    // Another layout in one place: one for each.
    let mut views: Vec<Part<'_>> = arrays.iter().map(GpuArray::view).collect();
    views[7] = arrays[7].t();
    ensure_eq!(launches(device, &|| matmul_each(views.iter().copied(), &arrays).map(drop))?, 50);
    // Few results of many terms, which the blocks of a product alone share: one for each.
    let long = [GpuArray::full(device, (8, 5000), 1.0f32)?, GpuArray::full(device, (8, 5000), 2.0f32)?];
    let products = || matmul_each(&long, [long[0].t(), long[1].t()]);
    ensure_eq!(launches(device, &|| products().map(drop))?, 2);
    let got = products()?.to_ndarray()?;
    ensure_eq!(got.index_axis(Axis(0), 1), Array2::from_elem((8, 8), 20_000.0));
    Ok(())
}

pub fn captured_lists_are_replayed(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let x = Array2::from_shape_fn((9, 9), |(i, j)| ((i + 2 * j) % 5) as f32);
    let transposed = x.t().as_standard_layout().to_owned();
    // One layout: the table, which no graph can hold, is not needed.
    let mut a = [GpuArray::from_ndarray(&stream, &x)?, GpuArray::from_ndarray(&stream, &transposed)?];
    let mut c = [GpuArray::full(&stream, (9, 9), 0.0f32)?, GpuArray::full(&stream, (9, 9), 0.0f32)?];
    let (graph, ()) = stream.capture(|| matmul_each_into(&a, &a, &mut c))?;
    for factor in [1.0f32, 3.0] {
        a[0].copy_from_ndarray(&(&x * factor))?;
        stream.synchronize()?;
        // SAFETY: the arrays are alive, and nothing else uses them.
        unsafe { graph.launch(&stream)? };
        stream.synchronize()?;
        ensure_eq!(c[0].to_ndarray()?, reference::matmul(&x, &x)? * (factor * factor));
        ensure_eq!(c[1].to_ndarray()?, reference::matmul(x.t(), x.t())?);
    }
    Ok(())
}

pub fn wrong_lists_are_errors(device: &Device) -> Outcome {
    let zeros = |rows: usize, columns: usize| GpuArray::<f32, Ix2>::zeros(device, (rows, columns));
    let message = |a: &[GpuArray<f32, Ix2>], b: &[GpuArray<f32, Ix2>]| {
        matmul_each(a, b).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let (two, three) = ([zeros(2, 3)?, zeros(2, 3)?], [zeros(3, 4)?, zeros(3, 4)?, zeros(3, 4)?]);
    ensure_eq!(message(&two, &three), "matmul_each: lists of 2 and of 3 arrays");
    ensure_eq!(message(&two, &two), "matmul_each: a has 3 columns, b has 2 rows");
    let other = "matmul_each: array 1 of its list has shape [3, 5], the first has [3, 4]";
    ensure_eq!(message(&two, &[zeros(3, 4)?, zeros(3, 5)?]), other);
    ensure_eq!(message(&[], &[]), "matmul_each: no arrays, one is needed at least");
    // Each result could be an array, all of them not.
    let (one, half) = (zeros(1, 1)?, 1 << 31);
    let (tall, wide) = (one.broadcast((half, 1))?, one.broadcast((1, half))?);
    let refused = matmul_each([tall; 5], [wide; 5]);
    ensure!(matches!(refused, Err(AlgoError::Array(ArrayError::TooLarge { .. }))), "{:?}", refused.err());
    let mut targets = [zeros(2, 4)?, zeros(2, 5)?];
    let refused = matmul_each_into(&two, &three[..2], &mut targets);
    ensure!(matches!(refused, Err(AlgoError::OutShape { .. })), "{refused:?}");
    let refused = matmul_each_into(&two, &three[..2], &mut targets[..1]);
    ensure!(matches!(refused, Err(AlgoError::Lists { left: 2, right: 1, .. })), "{refused:?}");
    Ok(())
}
