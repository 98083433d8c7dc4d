//! Arrays joined into one, compared with ndarray's.

use gpu_array::{ArrayError, Element, GpuArray, GpuView, Result, concatenate, hstack, stack, vstack};
use gpu_driver::{Device, Stream};
use ndarray::{Array, Array1, Array2, Array3, ArrayD, ArrayViewD, Axis, IxDyn, ShapeBuilder, arr0, array, s};
use testkit::{AWKWARD_LENGTHS, Layout, Outcome, Rng, Test, ensure, ensure_eq, tests};

use crate::random::layout::of_gpu;

pub const TESTS: &[Test<Device>] = tests![
    arrays_of_every_layout_are_joined_along_each_axis,
    random_views_are_joined,
    any_number_of_arrays_is_joined,
    flat_arrays_meet_at_every_alignment,
    rows_of_any_length_are_joined,
    large_transposed_arrays_are_joined,
    more_axes_than_a_kernel_takes_are_joined,
    joined_arrays_keep_a_common_order,
    bits_are_moved_as_they_are,
    stacks_have_a_new_axis,
    rows_and_columns_follow_numpy,
    arrays_of_other_streams_are_joined,
    a_captured_join_reads_the_arrays_of_its_launch,
    arrays_that_cannot_be_joined_are_told,
];

/// Elements that differ from their neighbours.
trait Numbered: Element {
    fn number(i: usize) -> Self;
}

macro_rules! numbered {
    ($($type:ident)*) => {$(
        impl Numbered for $type {
            fn number(i: usize) -> Self {
                i.wrapping_mul(0x9e37_79b9) as Self
            }
        }
    )*};
}
numbered! { i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 }

impl Numbered for bool {
    fn number(i: usize) -> Self {
        i % 3 == 1
    }
}

/// An array on the host and on the device, of which a layout takes a view.
struct Both<T: Element> {
    host: ArrayD<T>,
    gpu: GpuArray<T, IxDyn>,
    layout: Layout,
    shape: Vec<usize>,
}

impl<T: Numbered> Both<T> {
    fn new(home: &Stream, shape: &[usize], layout: Layout, first: usize) -> Result<Self> {
        let mut number = first;
        let host = ArrayD::from_shape_simple_fn(IxDyn(&layout.base), || {
            number += 1;
            T::number(number)
        });
        let gpu = GpuArray::from_ndarray(home, &host)?;
        Ok(Self { host, gpu, layout, shape: shape.to_vec() })
    }

    fn on_host(&self) -> ArrayViewD<'_, T> {
        let view = self.layout.of_host(self.host.view());
        // Leaked, a few bytes: `broadcast` borrows from the view rather than from its elements.
        Box::leak(Box::new(view)).broadcast(IxDyn(&self.shape)).expect("a shape that fits")
    }

    fn on_gpu(&self) -> Result<GpuView<'_, T, IxDyn>> {
        of_gpu(&self.layout, self.gpu.view())?.broadcast(IxDyn(&self.shape))
    }
}

/// Joins on both sides.
fn check<T: Numbered>(axis: usize, arrays: &[Both<T>], case: &str) -> Outcome {
    let views: Vec<_> = arrays.iter().map(Both::on_host).collect();
    let want = ndarray::concatenate(Axis(axis), &views)?;
    let views = arrays.iter().map(Both::on_gpu).collect::<Result<Vec<_>>>()?;
    let got = concatenate(Axis(axis), &views)?.to_ndarray()?;
    let shapes: Vec<_> = arrays.iter().map(|array| &array.shape).collect();
    ensure!(got == want, "{case}, {} along {axis} of {shapes:?}", T::DTYPE);
    Ok(())
}

fn arrays_of_every_layout_are_joined_along_each_axis(device: &Device) -> Outcome {
    fn of<T: Numbered>(device: &Device, shape: &[usize]) -> Outcome {
        for axis in 0..shape.len() {
            for (name, layout) in Layout::each(shape) {
                let mut longer = shape.to_vec();
                longer[axis] += 3;
                let arrays = [
                    Both::<T>::new(&device.stream(), shape, Layout::whole(shape), 0)?,
                    Both::new(&device.stream(), shape, layout, 1000)?,
                    Both::new(&device.stream(), &longer, Layout::whole(&longer), 2000)?,
                ];
                check(axis, &arrays, name)?;
            }
        }
        Ok(())
    }
    of::<u8>(device, &[5, 32])?;
    of::<bool>(device, &[7])?;
    of::<i16>(device, &[3, 8, 5])?;
    of::<f32>(device, &[4, 12])?;
    of::<i64>(device, &[2, 3, 4, 2])?;
    of::<f64>(device, &[5, 7])
}

fn random_views_are_joined(device: &Device) -> Outcome {
    fn of<T: Numbered>(device: &Device, seed: u64) -> Outcome {
        let mut rng = Rng(seed);
        let ndim = 1 + rng.below(4);
        let most = [70, 40, 12, 8][ndim - 1];
        let mut shape: Vec<usize> = (0..ndim).map(|_| 1 + rng.below(most)).collect();
        let axis = rng.below(ndim);
        if rng.below(15) == 0 {
            shape[rng.below(ndim)] = 0;
        }
        let arrays = (0..1 + rng.below(7)).map(|number| {
            shape[axis] = rng.below(most);
            let plain = rng.below(2) == 0;
            let layout = if plain { Layout::whole(&shape) } else { Layout::random(&shape, &mut rng) };
            Both::<T>::new(&device.stream(), &shape, layout, number * 5000)
        });
        check(axis, &arrays.collect::<Result<Vec<_>>>()?, &format!("seed {seed}"))
    }
    for seed in testkit::seeds(0..240) {
        match seed % 6 {
            0 => of::<u8>(device, seed)?,
            1 => of::<u16>(device, seed)?,
            2 => of::<f32>(device, seed)?,
            3 => of::<u64>(device, seed)?,
            4 => of::<bool>(device, seed)?,
            _ => of::<i32>(device, seed)?,
        }
    }
    Ok(())
}

/// More arrays than one launch takes, with one axis, with gaps between rows, and with axes that do not join.
fn any_number_of_arrays_is_joined(device: &Device) -> Outcome {
    let home = device.stream();
    for count in [1, 2, 4, 5, 40, 42, 84, 85, 101, 102, 300] {
        let flat = |number: usize| {
            let shape = [number * 7 % 23];
            Both::<f32>::new(&home, &shape, Layout::whole(&shape), number * 100)
        };
        check(0, &(0..count).map(flat).collect::<Result<Vec<_>>>()?, "flat")?;
        let rows = |number: usize| {
            let shape = [3, number * 5 % 9];
            Both::<f32>::new(&home, &shape, Layout::whole(&shape), number * 100)
        };
        check(1, &(0..count).map(rows).collect::<Result<Vec<_>>>()?, "rows")?;
        let odd = |number: usize| {
            let shape = [2, 1 + number % 4, 3];
            Both::<f32>::new(
                &home,
                &shape,
                Layout::of(&shape, vec![1, 0, 2], &[(0, 1, 0), (0, -1, 0), (0, 2, 0)]),
                number * 100,
            )
        };
        check(1, &(0..count).map(odd).collect::<Result<Vec<_>>>()?, "axes that do not join")?;
    }
    Ok(())
}

fn flat_arrays_meet_at_every_alignment(device: &Device) -> Outcome {
    fn of<T: Numbered>(device: &Device) -> Outcome {
        let home = device.stream();
        // The third array begins with packs that are not whole, alike on both sides.
        for before in 0..18 {
            for length in [1, 15, 16, 17, 33, 100] {
                let of = |start: usize, length: usize| {
                    Both::<T>::new(&home, &[length], Layout::of(&[length], vec![0], &[(start, 1, 0)]), length)
                };
                check(0, &[of(0, before)?, of(before, length)?, of(before + length, 65)?], "alike")?;
                check(0, &[of(0, before)?, of(3, length)?], "not alike")?;
            }
        }
        for length in AWKWARD_LENGTHS {
            let of = |length: usize| Both::<T>::new(&home, &[length], Layout::whole(&[length]), length);
            check(0, &[of(length)?, of(64)?, of(length)?, of(length + 1)?], "awkward")?;
        }
        Ok(())
    }
    of::<u8>(device)?;
    of::<f32>(device)?;
    of::<u64>(device)
}

fn rows_of_any_length_are_joined(device: &Device) -> Outcome {
    let home = device.stream();
    for (left, right, rows) in
        [(1, 1, 5), (3, 1, 1000), (4, 4, 300), (16, 48, 33), (1021, 3, 7), (4096, 4, 3), (0, 5, 4)]
    {
        let of = |columns: usize| {
            let shape = [rows, columns];
            Both::<f32>::new(&home, &shape, Layout::whole(&shape), columns)
        };
        check(1, &[of(left)?, of(right)?, of(left)?], "whole")?;
        // Rows that begin 3 elements after an aligned address, in both memories.
        let cut = |columns: usize, before: usize, after: usize| {
            let shape = [rows, columns];
            Both::<f32>::new(&home, &shape, Layout::of(&shape, vec![0, 1], &[(0, 1, 0), (before, 1, after)]), columns)
        };
        check(1, &[cut(3, 0, 5)?, cut(left * 4 + 1, 3, 8)?, cut(4, 0, 0)?], "cut")?;
    }
    Ok(())
}

fn large_transposed_arrays_are_joined(device: &Device) -> Outcome {
    let plain = Array2::from_shape_fn((300, 20), |(i, j)| (i * 100 + j) as f32);
    let across = Array2::from_shape_fn((300, 260).f(), |(i, j)| (i * 1000 + j) as f32);
    let (x, y) = (GpuArray::from_ndarray(device, &plain)?, GpuArray::from_ndarray(device, &across)?);
    ensure!(!y.is_standard_layout());
    let want = ndarray::concatenate(Axis(1), &[plain.view(), across.view(), plain.view()])?;
    ensure_eq!(concatenate(Axis(1), [&x, &y, &x])?.to_ndarray()?, want);
    let want = ndarray::concatenate(
        Axis(0),
        &[across.t(), plain.slice(s![..7, ..]).t(), across.t()].map(|view| {
            // All with 300 columns.
            if view.ncols() == 300 { view } else { across.t().slice_move(s![..5, ..]) }
        }),
    )?;
    let part = y.t().slice(s![..5, ..])?;
    ensure_eq!(concatenate(Axis(0), [y.t(), part, y.t()])?.to_ndarray()?, want);
    Ok(())
}

fn more_axes_than_a_kernel_takes_are_joined(device: &Device) -> Outcome {
    // Every second element of each axis, so that none joins with another.
    let shape = [2usize; 10];
    let cuts = [(0, 2, 1); 10];
    let of = |first| Both::<i32>::new(&device.stream(), &shape, Layout::of(&shape, (0..10).collect(), &cuts), first);
    for axis in [0, 4, 9] {
        check(axis, &[of(0)?, of(10_000)?], "ten axes")?;
    }
    Ok(())
}

fn joined_arrays_keep_a_common_order(device: &Device) -> Outcome {
    let fortran = Array3::from_shape_fn((4, 5, 6).f(), |(i, j, k)| (i * 100 + j * 10 + k) as i32);
    let standard = Array3::from_shape_fn((4, 5, 6), |(i, j, k)| (i * 100 + j * 10 + k) as i32);
    let (f, c) = (GpuArray::from_ndarray(device, &fortran)?, GpuArray::from_ndarray(device, &standard)?);
    for axis in 0..3 {
        let want = ndarray::concatenate(Axis(axis), &[fortran.view(), fortran.view()])?;
        let both = concatenate(Axis(axis), [&f, &f])?;
        ensure!(both.strides()[0] == 1 && !both.is_standard_layout(), "axis {axis}: {both:?}");
        ensure_eq!(both.to_ndarray()?, want);
        let mixed = concatenate(Axis(axis), [&f, &c])?;
        ensure!(mixed.is_standard_layout(), "axis {axis}: {mixed:?}");
        ensure_eq!(mixed.to_ndarray()?, want);
    }
    Ok(())
}

fn bits_are_moved_as_they_are(device: &Device) -> Outcome {
    let odd = array![f32::from_bits(0x7fc0_1234), -0.0, f32::from_bits(0xff80_0001), f32::MIN_POSITIVE / 2.0];
    let x = GpuArray::from_ndarray(device, &odd)?;
    let got = concatenate(Axis(0), [x.view(), x.slice(s![1..])?, x.slice(s![..;-1])?])?.to_ndarray()?;
    let want: Vec<u32> = [0, 1, 2, 3, 1, 2, 3, 3, 2, 1, 0].map(|i: usize| odd[i].to_bits()).to_vec();
    ensure_eq!(got.mapv(f32::to_bits).to_vec(), want);
    let many = Array1::from_shape_fn(70_000, |i| i % 7 == 0);
    let x = GpuArray::from_ndarray(device, &many)?;
    ensure_eq!(concatenate(Axis(0), [&x, &x])?.to_ndarray()?, ndarray::concatenate![Axis(0), many, many]);
    Ok(())
}

fn stacks_have_a_new_axis(device: &Device) -> Outcome {
    let one = Array2::from_shape_fn((3, 4), |(i, j)| (i * 10 + j) as u16);
    let two = one.mapv(|x| x + 1000);
    let (x, y) = (GpuArray::from_ndarray(device, &one)?, GpuArray::from_ndarray(device, &two)?);
    for axis in 0..3 {
        let want = ndarray::stack(Axis(axis), &[one.view(), two.view(), one.view()])?;
        ensure_eq!(stack(Axis(axis), [&x, &y, &x])?.to_ndarray()?, want);
        let reversed = x.slice(s![..;-1, ..;-1])?;
        let want = ndarray::stack(Axis(axis), &[one.slice(s![..;-1, ..;-1]), two.view()])?;
        ensure_eq!(stack(Axis(axis), [reversed, y.view()])?.to_ndarray()?, want);
    }
    let single = GpuArray::from_ndarray(device, &arr0(7.5f64))?;
    ensure_eq!(stack(Axis(0), [&single, &single])?.to_ndarray()?, array![7.5, 7.5]);
    let none = GpuArray::<f64, _>::zeros(device, (0, 2))?;
    ensure_eq!(stack(Axis(1), [&none, &none])?.shape().to_vec(), [0, 2, 2]);
    Ok(())
}

fn rows_and_columns_follow_numpy(device: &Device) -> Outcome {
    let (row, matrix) = (array![1, 2, 3], array![[4, 5, 6], [7, 8, 9]]);
    let (r, m) = (GpuArray::from_ndarray(device, &row)?, GpuArray::from_ndarray(device, &matrix)?);
    ensure_eq!(hstack([&r, &r])?.to_ndarray()?, array![1, 2, 3, 1, 2, 3]);
    ensure_eq!(vstack([&r, &r])?.to_ndarray()?, array![[1, 2, 3], [1, 2, 3]]);
    ensure_eq!(hstack([&m, &m])?.to_ndarray()?, array![[4, 5, 6, 4, 5, 6], [7, 8, 9, 7, 8, 9]]);
    ensure_eq!(vstack([&m, &m])?.to_ndarray()?, array![[4, 5, 6], [7, 8, 9], [4, 5, 6], [7, 8, 9]]);
    // With the number of axes at run time a row goes on top of a matrix.
    let (r, m) = (r.into_dyn(), m.into_dyn());
    ensure_eq!(vstack([&r, &m])?.to_ndarray()?, array![[1, 2, 3], [4, 5, 6], [7, 8, 9]].into_dyn());
    ensure_eq!(hstack([&r, &r])?.to_ndarray()?, array![1, 2, 3, 1, 2, 3].into_dyn());
    let one = GpuArray::from_ndarray(device, &arr0(5u8))?;
    ensure_eq!(hstack([&one, &one])?.to_ndarray()?, array![5, 5]);
    ensure_eq!(vstack([&one, &one])?.to_ndarray()?, array![[5], [5]]);
    let cube = GpuArray::from_ndarray(device, &Array3::<f32>::ones((2, 3, 4)))?;
    ensure_eq!(
        (hstack([&cube, &cube])?.shape().to_vec(), vstack([&cube, &cube])?.shape().to_vec()),
        (vec![2, 6, 4], vec![4, 3, 4])
    );
    Ok(())
}

/// Each stream fills its array just before the join reads it, and overwrites it just after.
fn arrays_of_other_streams_are_joined(device: &Device) -> Outcome {
    let streams = (0..5).map(|_| Stream::new(device)).collect::<gpu_driver::Result<Vec<_>>>()?;
    let mut arrays = streams.iter().map(|home| GpuArray::<i64, _>::zeros(home, 10_007)).collect::<Result<Vec<_>>>()?;
    for round in 0..4 {
        for (number, array) in arrays.iter_mut().enumerate() {
            array.fill(round * 10 + number as i64)?;
        }
        let joined = concatenate(Axis(0), &arrays)?;
        for array in &mut arrays {
            *array += -1;
        }
        ensure!(joined.stream() == &streams[0]);
        let want = Array::from_shape_fn(5 * 10_007, |i| round * 10 + (i / 10_007) as i64);
        ensure!(joined.to_ndarray()? == want, "round {round}");
    }
    Ok(())
}

fn a_captured_join_reads_the_arrays_of_its_launch(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let mut arrays = (0..130).map(|i| GpuArray::full(&stream, 3 + i % 5, i as i32)).collect::<Result<Vec<_>>>()?;
    // The kernels are loaded before.
    drop(concatenate(Axis(0), &arrays)?);
    let (graph, joined) = stream.capture(|| {
        let views: Vec<_> = arrays.iter().map(GpuArray::view).collect();
        concatenate(Axis(0), views)
    })?;
    for round in 0..3 {
        for (i, array) in arrays.iter_mut().enumerate() {
            array.fill(i as i32 + 1000 * round)?;
        }
        // Other joins reuse memory that a table may have had.
        drop(concatenate(Axis(0), arrays.iter().rev())?);
        // SAFETY: the arrays and the result are alive, and nothing else uses them.
        unsafe { graph.launch(&stream)? };
        let want = (0..130).flat_map(|i| vec![i + 1000 * round; 3 + i as usize % 5]);
        ensure!(joined.to_ndarray()?.into_iter().eq(want), "round {round}");
    }
    Ok(())
}

fn arrays_that_cannot_be_joined_are_told(device: &Device) -> Outcome {
    fn told<T>(result: Result<T>, want: &str) -> Outcome {
        let got = result.map(drop).map_err(|error| error.to_string());
        ensure_eq!(got, Err(want.to_owned()));
        Ok(())
    }
    let (x, y) = (GpuArray::<f32, _>::zeros(device, (2, 3))?, GpuArray::<f32, _>::zeros(device, (4, 3))?);
    let no_arrays = [&x; 0];
    told(concatenate(Axis(0), no_arrays), "concatenate: no arrays, one is needed at least")?;
    told(stack(Axis(0), no_arrays), "stack: no arrays, one is needed at least")?;
    told(hstack(no_arrays), "hstack: no arrays, one is needed at least")?;
    told(vstack(no_arrays), "vstack: no arrays, one is needed at least")?;
    told(concatenate(Axis(2), [&x, &x]), "concatenate: no axis 2 among 2")?;
    told(stack(Axis(3), [&x, &x]), "stack: no axis 3 among 3")?;
    told(concatenate(Axis(0), [&GpuArray::full(device, (), 1)?]), "concatenate: no axis 0 among 0")?;
    let apart = "array 2 has shape [4, 3], which does not fit the first one's [2, 3] outside axis 1";
    told(concatenate(Axis(1), [&x, &x, &y]), &format!("concatenate: {apart}"))?;
    told(hstack([&x, &x, &y]), &format!("hstack: {apart}"))?;
    let widened = "array 1 has shape [1, 4, 3], which does not fit the first one's [1, 2, 3] outside axis 0";
    told(stack(Axis(0), [&x, &y]), &format!("stack: {widened}"))?;
    let cube = GpuArray::<f32, _>::zeros(device, (2, 3, 1))?.into_dyn();
    let other = "array 1 has shape [2, 3, 1], which does not fit the first one's [2, 3] outside axis 0";
    told(concatenate(Axis(0), [x.view().into_dyn(), cube.view()]), &format!("concatenate: {other}"))?;
    let huge = x.slice(s![..1, ..1])?.broadcast((usize::MAX / 2, 1))?;
    let text = format!("an array of shape [{}, 1] has more elements than can be addressed", usize::MAX - 1);
    told(concatenate(Axis(0), [huge, huge]), &text)?;
    let text = format!("an array of shape [{}, 1] has more elements than can be addressed", usize::MAX);
    told(concatenate(Axis(0), [huge; 5]), &text)?;
    // An operator's error comes first, until it is taken.
    let mut z = x.try_clone()?;
    z += &GpuArray::<f32, _>::zeros(device, 5)?;
    ensure!(matches!(concatenate(Axis(0), [&x, &z]), Err(ArrayError::Operator { op: "+=", .. })));
    ensure!(concatenate(Axis(0), [&x, &z]).is_err() && z.take_error().is_err());
    ensure_eq!(concatenate(Axis(0), [&x, &z])?.shape().to_vec(), [4, 3]);
    // A buffer that was exchanged for a shorter one.
    let mut short = x.try_clone()?;
    *short.as_mut_device_vec() = GpuArray::<f32, _>::zeros(device, 4)?.into_device_vec();
    told(concatenate(Axis(0), [&x, &short]), "shape [2, 3] asks for 6 elements, the buffer has 4")
}
