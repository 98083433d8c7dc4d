//! New arrays, parts of arrays and grids, compared with ndarray's and with NumPy's rules.

use gpu_array::{
    ArrayError, Element, GpuArray, GpuView, Number, Result,
    expression::{Outside, diff, diff_n, host, pad, take},
    meshgrid,
};
use gpu_driver::{Device, Stream};
use ndarray::{Array, Array1, Array2, Array3, Axis, Dimension, Ix2, MeshIndex, ShapeBuilder, array, s};
use testkit::{AWKWARD_LENGTHS, Outcome, Rng, Test, ensure, ensure_eq, tests};

pub const TESTS: &[Test<Device>] = tests![
    ones_and_units_of_several_types,
    elements_of_the_host_become_arrays,
    even_steps_end_where_they_should,
    new_arrays_are_like_others,
    axes_are_split_as_by_numpy,
    random_splits_put_together_are_the_array,
    axes_that_cannot_be_split_are_told,
    grids_repeat_their_axes,
    a_wrong_buffer_is_told_by_functions_of_arrays,
    differences_are_taken_again_and_again,
    reflections_go_to_and_fro,
];

fn told<T>(result: Result<T>, want: &str) -> Outcome {
    let got = result.map(drop).map_err(|error| error.to_string());
    ensure_eq!(got, Err(want.to_owned()));
    Ok(())
}

fn ones_and_units_of_several_types(device: &Device) -> Outcome {
    fn check<T: Number>(device: &Device, zero: T) -> Outcome {
        for n in AWKWARD_LENGTHS {
            ensure_eq!(GpuArray::<T, _>::ones(device, n)?.to_ndarray()?, Array1::from_elem(n, T::one()));
        }
        ensure!(GpuArray::<T, _>::ones(device, (3, 4).f())?.strides() == [1, 3]);
        for n in [0, 1, 2, 33] {
            let want = Array2::from_shape_fn((n, n), |(i, j)| T::range_value(zero, T::one(), usize::from(i == j)));
            ensure_eq!(GpuArray::<T, _>::eye(device, n)?.to_ndarray()?, want);
        }
        Ok(())
    }
    check(device, 0u8)?;
    check(device, 0i16)?;
    check(device, 0i64)?;
    check(device, 0.0f32)?;
    check(device, 0.0f64)
}

fn elements_of_the_host_become_arrays(device: &Device) -> Outcome {
    let side = Stream::new(device)?;
    let x = GpuArray::from_vec(&side, vec![3i16, 1, 2])?;
    ensure!(x.stream() == &side);
    ensure_eq!(x.to_ndarray()?, array![3, 1, 2]);
    ensure_eq!(GpuArray::from_vec(device, [true, false])?.to_ndarray()?, array![true, false]);
    ensure_eq!(GpuArray::from_vec(device, &[0.5f64; 0][..])?.len(), 0);
    let x = GpuArray::from_shape_vec(device, (2, 3), vec![1, 2, 3, 4, 5, 6])?;
    ensure_eq!(x.to_ndarray()?, array![[1, 2, 3], [4, 5, 6]]);
    let x = GpuArray::from_shape_vec(device, (2, 3).f(), vec![1, 2, 3, 4, 5, 6])?;
    ensure_eq!(x.to_ndarray()?, array![[1, 3, 5], [2, 4, 6]]);
    let short = GpuArray::from_shape_vec(device, (2, 3), vec![1; 5]);
    told(short, "shape [2, 3] asks for 6 elements, the buffer has 5")?;
    let huge = GpuArray::from_shape_vec(device, (usize::MAX, 2), vec![1; 5]);
    ensure!(matches!(huge, Err(ArrayError::TooLarge { .. })));
    Ok(())
}

fn even_steps_end_where_they_should(device: &Device) -> Outcome {
    for n in [1, 2, 3, 10, 1000, 65_537] {
        for (start, stop) in [(0.0f32, 1.0), (-0.1, 0.7), (1e-3, 3e5), (5.0, -5.0)] {
            let x = GpuArray::linspace(device, start, stop, n)?.to_ndarray()?;
            ensure_eq!((x.len(), x[0]), (n, start));
            ensure!(n == 1 || x[n - 1] == stop, "{} of {n} from {start} to {stop}", x[n - 1]);
            let y = GpuArray::linspace_without_end(device, start, stop, n)?.to_ndarray()?;
            // numpy.linspace(start, stop, n, endpoint=False) in f64, rounded.
            let step = (f64::from(stop) - f64::from(start)) / n as f64;
            ensure_eq!(y, Array::from_shape_fn(n, |i| (f64::from(start) + i as f64 * step) as f32));
        }
    }
    ensure_eq!(GpuArray::linspace(device, 0.0f64, 1.0, 0)?.len(), 0);
    ensure_eq!(GpuArray::linspace_without_end(device, 0.0f64, 1.0, 0)?.len(), 0);
    ensure_eq!(GpuArray::linspace_without_end(device, 0.0f64, 1.0, 4)?.to_ndarray()?.to_vec(), [0.0, 0.25, 0.5, 0.75]);
    let huge = GpuArray::linspace(device, 0.0f64, 1.0, usize::MAX);
    told(huge, &format!("an array of shape [{}] has more elements than can be addressed", usize::MAX))
}

#[expect(unsafe_code, reason = "memory that is written next")]
fn new_arrays_are_like_others(device: &Device) -> Outcome {
    let side = Stream::new(device)?;
    let h = Array3::from_shape_fn((2, 3, 4), |(i, j, k)| (i * 100 + j * 10 + k) as i32);
    let x = GpuArray::from_ndarray(&side, &h)?;
    let ones = x.slice(s![.., ..;-1, 1..])?.ones_like()?;
    ensure!(ones.stream() == &side && ones.is_standard_layout());
    ensure_eq!(ones.to_ndarray()?, Array3::ones((2, 3, 3)));
    let zeros = x.t().zeros_like()?;
    ensure_eq!((zeros.shape(), zeros.strides()), (&[4, 3, 2][..], &[1, 4, 12][..]));
    ensure_eq!(zeros.to_ndarray()?, Array3::zeros((4, 3, 2)));
    let mut y = x.try_clone()?;
    ensure_eq!(y.slice_mut(s![0, .., ..])?.full_like(-3)?.to_ndarray()?, Array2::from_elem((3, 4), -3));
    ensure_eq!(x.gt(50).eval()?.full_like(true)?.to_ndarray()?, Array3::from_elem((2, 3, 4), true));
    // SAFETY: `assign` writes all of it.
    let mut empty = unsafe { x.t().empty_like()? };
    ensure_eq!((empty.shape(), empty.strides(), empty.stream()), (&[4, 3, 2][..], &[1, 4, 12][..], &side));
    empty.assign(x.t())?;
    ensure!(empty.to_ndarray()? == h.t());
    let huge = x.slice(s![0, 0, ..1])?.broadcast((1 << 40, 1 << 20))?;
    ensure!(huge.zeros_like().is_err() && huge.full_like(1).is_err());
    // SAFETY: there is no such array.
    ensure!(unsafe { huge.empty_like() }.is_err());
    Ok(())
}

/// The elements of each part.
fn parts<T: Element, D: Dimension>(views: &[GpuView<'_, T, D>]) -> Result<Vec<Vec<T>>> {
    views.iter().map(|view| Ok(view.to_ndarray()?.into_iter().collect())).collect()
}

fn axes_are_split_as_by_numpy(device: &Device) -> Outcome {
    let x = GpuArray::arange(device, 0, 7, 1)?;
    // numpy.array_split(x, 3), numpy.array_split(x, 9)
    ensure_eq!(parts(&x.array_split(Axis(0), 3)?)?, [vec![0, 1, 2], vec![3, 4], vec![5, 6]]);
    let nine = [vec![0], vec![1], vec![2], vec![3], vec![4], vec![5], vec![6], vec![], vec![]];
    ensure_eq!(parts(&x.array_split(Axis(0), 9)?)?, nine);
    // numpy.split(x, [2, 5]), [5, 2], [3, 9], [], [0, 0]
    ensure_eq!(parts(&x.split_at_indices(Axis(0), &[2, 5])?)?, [vec![0, 1], vec![2, 3, 4], vec![5, 6]]);
    ensure_eq!(parts(&x.split_at_indices(Axis(0), &[5, 2])?)?, [vec![0, 1, 2, 3, 4], vec![], vec![2, 3, 4, 5, 6]]);
    ensure_eq!(parts(&x.split_at_indices(Axis(0), &[3, 9])?)?, [vec![0, 1, 2], vec![3, 4, 5, 6], vec![]]);
    ensure_eq!(parts(&x.split_at_indices(Axis(0), &[])?)?, [vec![0, 1, 2, 3, 4, 5, 6]]);
    ensure_eq!(parts(&x.split_at_indices(Axis(0), &[0, 0])?)?, [vec![], vec![], vec![0, 1, 2, 3, 4, 5, 6]]);
    let h = Array2::from_shape_fn((4, 6), |(i, j)| (i * 10 + j) as i32);
    let x = GpuArray::from_ndarray(device, &h)?;
    let halves = x.t().split(Axis(0), 2)?;
    ensure_eq!(halves[1].to_ndarray()?, h.slice(s![.., 3..]).reversed_axes());
    ensure_eq!(x.slice(s![..;-1, ..])?.split(Axis(0), 4)?[3].to_ndarray()?, h.slice(s![..1, ..]));
    let mut y = x.try_clone()?;
    ensure_eq!(y.view_mut().split(Axis(1), 1)?[0].to_ndarray()?, h);
    let none = GpuArray::<u8, _>::zeros(device, (0, 2))?;
    ensure_eq!(none.split(Axis(0), 3)?.len(), 3);
    Ok(())
}

fn random_splits_put_together_are_the_array(device: &Device) -> Outcome {
    for seed in testkit::seeds(0..40) {
        let mut rng = Rng(seed);
        let shape = (1 + rng.below(9), 1 + rng.below(30));
        let h = Array2::from_shape_fn(shape, |(i, j)| (i * 100 + j) as u16);
        let x = GpuArray::from_ndarray(device, &h)?;
        let axis = Axis(rng.below(2));
        let some = x.array_split(axis, 1 + rng.below(12))?;
        ensure_eq!(gpu_array::concatenate(axis, &some)?.to_ndarray()?, h);
        let len = h.len_of(axis);
        let mut indices: Vec<usize> = (0..rng.below(5)).map(|_| rng.below(len + 1)).collect();
        indices.sort_unstable();
        let some = x.split_at_indices(axis, &indices)?;
        ensure_eq!(some.len(), indices.len() + 1);
        ensure_eq!(gpu_array::concatenate(axis, some)?.to_ndarray()?, h);
    }
    Ok(())
}

fn axes_that_cannot_be_split_are_told(device: &Device) -> Outcome {
    let x = GpuArray::arange(device, 0, 7, 1)?;
    told(x.split(Axis(0), 3), "split: 3 parts of axis 0, which has length 7")?;
    told(x.split(Axis(0), 0), "split: 0 parts of axis 0, which has length 7")?;
    let none = GpuArray::<u8, Ix2>::zeros(device, (0, 2))?;
    let limit = |op, parts: usize| {
        format!("{op}: {parts} parts, at most 1048576 are made at once; `chunks` gives any number one by one")
    };
    told(none.split(Axis(0), usize::MAX), &limit("split", usize::MAX))?;
    told(x.array_split(Axis(0), 0), "array_split: 0 parts of axis 0, which has length 7")?;
    for many in [(1 << 20) + 1, 1_000_000_000, usize::MAX] {
        told(x.array_split(Axis(0), many), &limit("array_split", many))?;
    }
    ensure_eq!(x.array_split(Axis(0), 1 << 20)?.len(), 1 << 20);
    told(x.split(Axis(1), 1), "split: no axis 1 among 1")?;
    told(x.array_split(Axis(1), 1), "array_split: no axis 1 among 1")?;
    told(x.split_at_indices(Axis(1), &[1]), "split_at_indices: no axis 1 among 1")
}

fn grids_repeat_their_axes(device: &Device) -> Outcome {
    let (a, b, c) = (array![1, 2, 3], array![10, 20], array![100, 200, 300, 400]);
    let [x, y, z] = [&a, &b, &c].map(|h| GpuArray::from_ndarray(device, h));
    let (x, y, z) = (x?, y?, z?);
    for indexing in [MeshIndex::XY, MeshIndex::IJ] {
        let (want_x, want_y) = ndarray::meshgrid((&a, &b), indexing);
        let [got_x, got_y] = meshgrid([&x, &y], indexing)?;
        ensure_eq!((got_x.eval()?.to_ndarray()?, got_y.eval()?.to_ndarray()?), (want_x.to_owned(), want_y.to_owned()));
        let want = ndarray::meshgrid((&a, &b, &c), indexing);
        let [got_x, got_y, got_z] = meshgrid([&x, &y, &z], indexing)?;
        ensure_eq!(got_x.eval()?.to_ndarray()?, want.0);
        ensure_eq!(got_y.eval()?.to_ndarray()?, want.1);
        ensure_eq!(got_z.eval()?.to_ndarray()?, want.2);
    }
    let [one] = meshgrid([x.slice(s![..;-1])?], MeshIndex::XY)?;
    ensure_eq!(one.eval()?.to_ndarray()?, array![3, 2, 1]);
    let wide = x.slice(s![..1])?.broadcast(1 << 40)?;
    let huge = meshgrid([wide, wide], MeshIndex::IJ);
    told(huge, &format!("an array of shape {:?} has more elements than can be addressed", [1usize << 40; 2]))
}

fn a_wrong_buffer_is_told_by_functions_of_arrays(device: &Device) -> Outcome {
    let mut x = GpuArray::arange(device, 0, 7, 1)?;
    *x.as_mut_device_vec() = GpuArray::<i32, _>::zeros(device, 4)?.into_device_vec();
    let places = GpuArray::from_vec(device, [0i64, 1])?;
    for result in [
        diff_n(&x, 1, Axis(0)).eval(),
        pad(&x, 1, 1, Axis(0), Outside::Clip).eval(),
        take(&x, &places, Outside::Clip).eval(),
    ] {
        ensure!(matches!(result, Err(ArrayError::Length { .. })), "{result:?}");
    }
    let x = GpuArray::arange(device, 0, 7, 1)?;
    let sum = diff_n(&x + 1, 1, Axis(0)).eval();
    ensure!(matches!(sum, Err(ArrayError::NotAnArray { op: "diff", .. })), "{sum:?}");
    Ok(())
}

fn differences_are_taken_again_and_again(device: &Device) -> Outcome {
    fn check<T: Number>(device: &Device, h: &Array2<T>) -> Outcome {
        let x = GpuArray::from_ndarray(device, h)?;
        for view in [x.view(), x.t(), x.slice(s![..;-1, ..;2])?] {
            let copy = view.to_ndarray()?;
            for axis in [Axis(0), Axis(1)] {
                ensure_eq!(diff_n(&view, 0, axis).eval()?.to_ndarray()?, copy);
                // One after the other, on the host.
                let mut want = copy.clone();
                for n in 1..4 {
                    let next = diff(host(&want), axis).eval()?;
                    want = next;
                    ensure_eq!(diff_n(&view, n, axis).eval()?.to_ndarray()?, want);
                }
            }
        }
        Ok(())
    }
    check(device, &Array2::from_shape_fn((4, 9), |(i, j)| ((i * 37 + j * j * 91) % 256) as u8))?;
    check(device, &Array2::from_shape_fn((5, 33), |(i, j)| ((i * 33 + j) as f32).sin() * 1e3))?;
    let x = GpuArray::arange(device, 0.0f64, 200.0, 1.0)?;
    ensure!(diff_n(&x, 40, Axis(0)).eval()?.to_ndarray()?.iter().all(|&x| x == 0.0));
    ensure_eq!(diff_n(&x, 200, Axis(0)).eval()?.len(), 0);
    ensure_eq!(diff_n(&x, usize::MAX, Axis(0)).eval()?.len(), 0);
    told(
        diff_n(&x, 91, Axis(0)).eval(),
        "4186 operations in one expression, at most 4096 make a kernel: evaluate parts of it",
    )?;
    told(diff_n(&x, 2, Axis(1)).eval(), "diff: no axis 1 among 1")?;
    ensure!(matches!(diff_n(&x + 1.0, 2, Axis(0)).eval(), Err(ArrayError::NotAnArray { op: "diff", .. })));
    Ok(())
}

fn reflections_go_to_and_fro(device: &Device) -> Outcome {
    fn reflected(x: &Array1<i32>, before: usize, after: usize) -> Vec<i32> {
        let place = |i: isize| {
            let (mut i, last) = (i, x.len() as isize - 1);
            while last > 0 && !(0..=last).contains(&i) {
                i = if i < 0 { -i } else { 2 * last - i };
            }
            x[if last > 0 { i as usize } else { 0 }]
        };
        (-(before as isize)..(x.len() + after) as isize).map(place).collect()
    }
    for n in [1, 2, 3, 7] {
        let h = Array1::from_shape_fn(n, |i| i as i32 * 10);
        let x = GpuArray::from_ndarray(device, &h)?;
        for (before, after) in [(0, 0), (1, 0), (3, 2), (20, 17)] {
            let got = pad(&x, before, after, Axis(0), Outside::Reflect).eval()?.to_ndarray()?;
            ensure_eq!(got.to_vec(), reflected(&h, before, after));
        }
    }
    // numpy.pad([1, 2, 3], 4, mode="reflect")
    let x = GpuArray::from_vec(device, [1, 2, 3])?;
    let got = pad(&x, 4, 4, Axis(0), Outside::Reflect).eval()?.to_ndarray()?;
    ensure_eq!(got.to_vec(), [1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3]);
    let same = x.slice(s![1..2])?.broadcast(usize::MAX / 2)?;
    let places = GpuArray::from_vec(device, [0i64, -5, i64::MAX])?;
    ensure_eq!(take(&same, &places, Outside::Reflect).eval()?.to_ndarray()?.to_vec(), [2, 2, 2]);
    let none = GpuArray::<i32, Ix2>::zeros(device, (0, 2))?;
    ensure_eq!(pad(&none, 1, 1, Axis(0), Outside::Reflect).eval()?.to_ndarray()?, Array2::zeros((2, 2)));
    Ok(())
}
