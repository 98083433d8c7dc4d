//! Writes at computed places, compared with their definition on the host.

use gpu_array::{
    ArrayError, Complex, Element, GpuArray, GpuViewMut, Integer,
    expression::{Gpu, PutOperation, constant, index, put_combine},
    reference,
};
use gpu_driver::{Device, DriverError, Stream};
use ndarray::{Array1, Array2, ArrayD, Axis, Ix1, IxDyn, array, s};
use testkit::{AWKWARD_LENGTHS, Layout, Outcome, Rng, Test, ensure, ensure_eq, tests};

use crate::random::layout::with_gpu_mut;

pub const TESTS: &[Test<Device>] = tests![
    views_of_every_layout_are_put_to,
    indices_of_every_type_are_taken,
    any_number_of_indices_leaves_the_last_value,
    one_place_takes_any_number_of_values,
    values_are_arrays_expressions_or_scalars,
    bits_are_put_as_they_are,
    a_wrong_index_writes_nothing,
    puts_that_cannot_be_done_are_told,
    more_axes_than_a_kernel_takes_are_put_to,
    arrays_of_other_streams_are_put,
    a_capture_goes_on_without_a_put,
    bytes_are_combined_in_pairs_within_their_buffer,
    integers_are_combined_at_places,
];

/// `n` indices of an array of `len` elements, from the start or from the end, of `distinct` places at most.
fn indices(n: usize, len: usize, distinct: usize, rng: &mut Rng) -> Vec<i64> {
    let stride = len / distinct.clamp(1, len);
    let one = |_| {
        let place = rng.below(distinct.clamp(1, len)) * stride;
        if rng.below(3) == 0 { place as i64 - len as i64 } else { place as i64 }
    };
    (0..n).map(one).collect()
}

fn numbered<T: From<u8>>(n: usize) -> Vec<T> {
    (0..n).map(|k| T::from((k * 37 % 251) as u8)).collect()
}

fn views_of_every_layout_are_put_to(device: &Device) -> Outcome {
    fn check<T: Element + From<u8>>(device: &Device, shape: &[usize]) -> Outcome {
        let mut rng = testkit::rng(5);
        for (name, layout) in Layout::each(shape) {
            let n: usize = layout.base.iter().product();
            let mut want = ArrayD::from_shape_vec(IxDyn(&layout.base), numbered::<T>(n))?;
            let mut x = GpuArray::from_ndarray(device, &want)?;
            let len: usize = shape.iter().product();
            let at = indices(len, len, len, &mut rng);
            let values: Vec<T> = (0..len).map(|k| T::from(255 - (k % 200) as u8)).collect();
            reference::put(layout.of_host_mut(want.view_mut()), &at, &values)?;
            let (at, values) = (GpuArray::from_vec(device, at)?, GpuArray::from_vec(device, values)?);
            with_gpu_mut(&layout, &mut x.view_mut(), |view| view.put(&at, &values))?;
            ensure!(x.to_ndarray()? == want, "{name}, {} of {shape:?}", T::DTYPE);
        }
        Ok(())
    }
    check::<u8>(device, &[7])?;
    check::<i16>(device, &[5, 9])?;
    check::<f32>(device, &[3, 4, 5])?;
    check::<f64>(device, &[2, 3, 1, 4])
}

fn indices_of_every_type_are_taken(device: &Device) -> Outcome {
    fn check<I: Integer + num_traits::ToPrimitive>(device: &Device, at: Vec<I>) -> Outcome {
        let mut want = Array1::from_elem(100, -1);
        let values: Vec<i32> = (0..at.len() as i32).collect();
        reference::put(want.view_mut(), &at, &values)?;
        let mut x = GpuArray::full(device, 100, -1)?;
        x.put(&GpuArray::from_vec(device, at)?, &GpuArray::from_vec(device, values)?)?;
        ensure!(x.to_ndarray()? == want, "{}", I::DTYPE);
        Ok(())
    }
    check::<i8>(device, vec![5, 0, 99, 5, -1])?;
    check::<i16>(device, vec![5, 0, 99, 5, -100])?;
    check::<i32>(device, vec![5, 0, 99, 5, -1])?;
    check::<i64>(device, vec![5, 0, 99, 5, -1])?;
    check::<u8>(device, vec![5, 0, 99, 5])?;
    check::<u16>(device, vec![5, 0, 99, 5])?;
    check::<u32>(device, vec![5, 0, 99, 5])?;
    check::<u64>(device, vec![5, 0, 99, 5])
}

/// Few and many places, each with a slot of its own or shared slots.
fn any_number_of_indices_leaves_the_last_value(device: &Device) -> Outcome {
    let mut rng = testkit::rng(6);
    for n in AWKWARD_LENGTHS.into_iter().chain([5000]) {
        for len in [1, 3, 100, 4096, 100_000] {
            for distinct in [2, 50, 100_000] {
                let at = indices(n, len, distinct, &mut rng);
                let values: Vec<u32> = (1..=n as u32).collect();
                let mut want = Array1::zeros(len);
                reference::put(want.view_mut(), &at, &values)?;
                let mut x = GpuArray::zeros(device, len)?;
                x.put(&GpuArray::from_vec(device, at)?, &GpuArray::from_vec(device, values)?)?;
                ensure!(x.to_ndarray()? == want, "{n} indices of {distinct} places of {len}");
            }
        }
    }
    Ok(())
}

fn one_place_takes_any_number_of_values(device: &Device) -> Outcome {
    for len in [10, 10_000_000] {
        let mut x = GpuArray::zeros(device, len)?;
        let n = 20_011;
        x.put(constant::<i32, Gpu>(-3).broadcast(n), index::<Ix1, Gpu>(Axis(0)))?;
        ensure_eq!(x.slice(s![-4..])?.to_ndarray()?, array![0, n as i64 - 1, 0, 0]);
    }
    Ok(())
}

fn values_are_arrays_expressions_or_scalars(device: &Device) -> Outcome {
    let mut x = GpuArray::<f32, _>::zeros(device, (3, 4))?;
    let at = GpuArray::from_ndarray(device, &array![[0, 5, 10], [-1, 3, 5]])?;
    x.put(&at, 2.5)?;
    ensure_eq!(x.to_ndarray()?, array![[2.5, 0., 0., 2.5], [0., 2.5, 0., 0.], [0., 0., 2.5, 2.5]]);
    // Values of a row are those of each row; a transpose is read in C order.
    let row = GpuArray::from_vec(device, vec![1f32, 2., 3.])?;
    x.put(&at, &row * 2.0)?;
    ensure_eq!(x.to_ndarray()?, array![[2., 0., 0., 4.], [0., 6., 0., 0.], [0., 0., 6., 2.]]);
    let values = GpuArray::from_ndarray(device, &array![[1f32, 2.], [3., 4.], [5., 6.]])?;
    x.put(at.slice(s![.., ..;-1])?, values.t())?;
    ensure_eq!(x.to_ndarray()?, array![[5., 0., 0., 4.], [0., 2., 0., 0.], [0., 0., 1., 6.]]);
    // Owned operands, and a value of another rank.
    x.put(index::<Ix1, Gpu>(Axis(0)).broadcast(12), constant::<f32, Gpu>(1.0))?;
    ensure_eq!(x.to_ndarray()?, Array2::ones((3, 4)));
    x.put(GpuArray::from_vec(device, vec![7u8])? + 1, values.slice(s![0, ..1])?)?;
    x.slice_mut(s![1.., ..;2])?.put(&GpuArray::from_vec(device, vec![3, 0])?, 9.0)?;
    ensure_eq!(x.to_ndarray()?, array![[1., 1., 1., 1.], [9., 1., 1., 1.], [1., 1., 9., 1.]]);
    let mut single = GpuArray::<i32, _>::zeros(device, ())?;
    single.put(constant::<i64, Gpu>(-1), 4)?;
    ensure_eq!(single.get()?, 4);
    Ok(())
}

fn bits_are_put_as_they_are(device: &Device) -> Outcome {
    let odd = [f32::from_bits(0x7fa0_0001), -0.0, f32::NEG_INFINITY, f32::from_bits(1), f32::NAN];
    let mut x = GpuArray::<f32, _>::zeros(device, 10)?;
    x.put(&GpuArray::from_vec(device, vec![9, 7, 5, 3, 1])?, &GpuArray::from_vec(device, odd)?)?;
    let got = x.slice(s![1..;2])?.to_ndarray()?;
    ensure!(got.iter().rev().map(|x| x.to_bits()).eq(odd.iter().map(|x| x.to_bits())), "{got:?}");
    let mut mask = GpuArray::<bool, _>::zeros(device, 5)?;
    mask.put(&GpuArray::from_vec(device, vec![1, 4, 1])?, &GpuArray::from_vec(device, vec![false, true, true])?)?;
    ensure_eq!(mask.to_ndarray()?, array![false, true, false, false, true]);
    let z = [Complex::new(1.5, -2.0), Complex::new(f64::NEG_INFINITY, -0.0), Complex::new(3.0, 4.0)];
    let mut pairs = GpuArray::<Complex<f64>, _>::zeros(device, (2, 2))?;
    pairs.t_mut().put(&GpuArray::from_vec(device, vec![1, -1, 1])?, &GpuArray::from_vec(device, z)?)?;
    ensure_eq!(pairs.to_ndarray()?, array![[Complex::default(), z[2]], [Complex::default(), z[1]]].reversed_axes());
    let mut halves = GpuArray::<Complex<f32>, _>::zeros(device, 2)?;
    halves.put(&GpuArray::from_vec(device, vec![1])?, Complex::new(1.0, 2.0))?;
    ensure_eq!(halves.to_ndarray()?, array![Complex::default(), Complex::new(1.0, 2.0)]);
    Ok(())
}

fn a_wrong_index_writes_nothing(device: &Device) -> Outcome {
    let cases: [(&[i64], i64, usize); 6] = [
        (&[0, 1, 6], 6, 2),
        (&[0, -7, 9, 2], -7, 1),
        (&[i64::MIN], i64::MIN, 0),
        (&[2, i64::MAX, i64::MIN], i64::MAX, 1),
        (&[0; 0], 0, 0),
        (&[5, -6], 0, 0),
    ];
    for (at, bad, position) in cases {
        let host = array![[1, 2, 3], [4, 5, 6]];
        let mut x = GpuArray::from_ndarray(device, &host)?;
        let got = x.t_mut().put(&GpuArray::from_vec(device, at)?, 9);
        if at.is_empty() || at == [5, -6] {
            got?;
            continue;
        }
        let told = matches!(&got, Err(ArrayError::OutOfBounds { op: "put", index, number, len: 6 })
            if (*index, *number) == (bad, position));
        ensure!(told, "{at:?}: {got:?}");
        ensure_eq!(x.to_ndarray()?, host);
        // The next one works.
        x.put(&GpuArray::from_vec(device, vec![-6])?, 7)?;
        ensure_eq!(x.slice(s![0, 0])?.get()?, 7);
    }
    // The first of many, in an array of many places.
    let mut x = GpuArray::<u8, _>::zeros(device, 1_000_000)?;
    let at = Array1::from_shape_fn(3000, |k| if k % 700 == 699 { 1_000_000 + k as u32 } else { k as u32 * 300 });
    let got = x.put(&GpuArray::from_ndarray(device, &at)?, 1);
    ensure!(matches!(got, Err(ArrayError::OutOfBounds { index: 1_000_699, number: 699, .. })), "{got:?}");
    let text = got.map_err(|error| error.to_string());
    let want = "put: index 1000699, number 699 of the indices, is outside of an array of 1000000 elements";
    ensure_eq!(text, Err(want.to_owned()));
    ensure!(x.to_ndarray()?.iter().all(|&x| x == 0));
    let huge = x.put(&GpuArray::from_vec(device, vec![1, u64::MAX])?, 1);
    ensure!(matches!(huge, Err(ArrayError::OutOfBounds { index: i64::MAX, number: 1, .. })), "{huge:?}");
    let mut none = GpuArray::<f32, _>::zeros(device, (0, 3))?;
    let got = none.put(&GpuArray::from_vec(device, vec![0])?, 1.0);
    ensure!(matches!(got, Err(ArrayError::OutOfBounds { index: 0, number: 0, len: 0, .. })), "{got:?}");
    Ok(none.put(&GpuArray::<i32, Ix1>::zeros(device, 0)?, 1.0)?)
}

fn puts_that_cannot_be_done_are_told(device: &Device) -> Outcome {
    let mut x = GpuArray::<f32, _>::zeros(device, 6)?;
    let (at, wrong) = (GpuArray::from_vec(device, vec![0, 1])?, GpuArray::from_vec(device, vec![1f32, 2., 3.])?);
    ensure!(matches!(x.put(&at, &wrong), Err(ArrayError::Operands { .. })));
    // Not even for no indices.
    ensure!(matches!(x.put(at.slice(s![..0])?, &wrong), Err(ArrayError::Operands { .. })));
    let mut failed = at.try_clone()?;
    failed += &GpuArray::from_vec(device, vec![1, 2, 3])?;
    ensure!(matches!(x.put(&failed, 1.0), Err(ArrayError::Operator { op: "+=", .. })));
    let mut values = GpuArray::<f32, _>::zeros(device, 2)?;
    values -= &wrong;
    ensure!(matches!(x.put(&at, &values), Err(ArrayError::Operator { op: "-=", .. })));
    ensure_eq!(x.to_ndarray()?, Array1::zeros(6));
    x *= &wrong;
    ensure!(matches!(x.put(&at, 1.0), Err(ArrayError::Operator { op: "*=", .. })));
    let mut zeros = GpuArray::<f32, _>::zeros(device, 6)?;
    let floats = put_combine("add_at", PutOperation::Sum, &mut zeros.view_mut(), &at, 1.0);
    ensure!(matches!(floats, Err(ArrayError::Operation { name: "add_at", .. })), "{floats:?}");
    Ok(())
}

fn more_axes_than_a_kernel_takes_are_put_to(device: &Device) -> Outcome {
    let shape = [2; 11];
    let mut want = ArrayD::from_shape_fn(IxDyn(&[3; 11]), |_| 0i16);
    let mut x = GpuArray::from_ndarray(device, &want)?;
    let at = [0, 2047, -2, 77, 1029, 77];
    let values = [1, 2, 3, 4, 5, 6];
    let part: Vec<_> = shape.map(|_| ndarray::SliceInfoElem::Slice { start: 0, end: None, step: 2 }).to_vec();
    reference::put(want.slice_mut(&part[..]), &at, &values)?;
    let (at, values) = (GpuArray::from_vec(device, at)?, GpuArray::from_vec(device, values)?);
    x.slice_mut(&part[..])?.put(&at, &values)?;
    ensure!(x.to_ndarray()? == want);
    let wrong = x.slice_mut(&part[..])?.put(&GpuArray::from_vec(device, vec![0, 2048])?, 9);
    ensure!(matches!(wrong, Err(ArrayError::OutOfBounds { index: 2048, number: 1, len: 2048, .. })), "{wrong:?}");
    ensure!(x.to_ndarray()? == want);
    Ok(())
}

fn arrays_of_other_streams_are_put(device: &Device) -> Outcome {
    let (first, second) = (Stream::new(device)?, Stream::new(device)?);
    let mut x = GpuArray::zeros(device, 1000)?;
    for round in 1..20 {
        let at = GpuArray::arange(&first, 0, 1000, 1)? * 7 % 1000;
        let values = GpuArray::full(&second, 1000, round)?;
        x.put(at, &values)?;
        drop(values);
        ensure!(x.to_ndarray()?.iter().all(|&x| x == round), "round {round}");
    }
    Ok(())
}

fn a_capture_goes_on_without_a_put(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let mut x = GpuArray::<i32, _>::zeros(&stream, 3)?;
    let at = GpuArray::from_vec(&stream, vec![0, 1])?;
    let (graph, ()) = stream.capture(|| {
        let got = x.put(&at, 1);
        let refused = matches!(got, Err(ArrayError::Driver(DriverError::InCapture { op: "put" })));
        if refused { Ok(()) } else { Err(ArrayError::NoShape) }
    })?;
    drop(graph);
    x.put(&at, 1)?;
    ensure_eq!(x.to_ndarray()?, array![1, 1, 0]);
    Ok(())
}

/// Integers that kernels combine.
trait Combined: Element + Ord {
    fn big(k: u64) -> Self;
    fn combined(self, operation: PutOperation, other: Self) -> Self;
}

macro_rules! combined {
    ($($type:ident)*) => {$(
        impl Combined for $type {
            fn big(k: u64) -> Self {
                k.wrapping_mul(0x9e37_79b9_7f4a_7c15) as Self
            }
            fn combined(self, operation: PutOperation, other: Self) -> Self {
                match operation {
                    PutOperation::Sum => self.wrapping_add(other),
                    PutOperation::Minimum => self.min(other),
                    PutOperation::Maximum => self.max(other),
                }
            }
        }
    )*};
}
combined! { i8 u8 i16 u16 i32 u32 i64 u64 }

fn bytes_are_combined_in_pairs_within_their_buffer(device: &Device) -> Outcome {
    let at = GpuArray::from_vec(device, vec![0, 1, -1, 1, 1])?;
    let add = |mut view: GpuViewMut<'_, u8, Ix1>| {
        let takes = PutOperation::Sum.takes(&view);
        let done = put_combine("add_at", PutOperation::Sum, &mut view, &at, 100);
        ensure!(takes == done.is_ok() && (takes || matches!(done, Err(ArrayError::Operation { .. }))), "{done:?}");
        Ok::<_, Box<dyn std::error::Error>>(takes)
    };
    let mut odd = GpuArray::full(device, 5, 1u8)?;
    ensure!(!add(odd.view_mut())? && !add(odd.slice_mut(s![..;-1])?)? && !add(odd.slice_mut(s![2..])?)?);
    ensure_eq!(odd.to_ndarray()?, array![1, 1, 1, 1, 1]);
    // All but the last byte of it, from an odd address on.
    ensure!(add(odd.slice_mut(s![1..4])?)?);
    ensure_eq!(odd.to_ndarray()?, array![1, 101, 45, 101, 1]);
    let mut even = GpuArray::full(device, 4, 1u8)?;
    ensure!(add(even.slice_mut(s![1..])?)?);
    ensure_eq!(even.to_ndarray()?, array![1, 101, 45, 101]);
    // Many threads at the two bytes of a pair, one of which wraps.
    let at = GpuArray::arange(device, 0, 3000, 1)? % 2;
    put_combine("add_at", PutOperation::Sum, &mut even.view_mut(), &at, 1)?;
    ensure_eq!(even.to_ndarray()?, array![(1501 % 256) as u8, (1601 % 256) as u8, 45, 101]);
    Ok(())
}

fn integers_are_combined_at_places(device: &Device) -> Outcome {
    fn check<T: Combined>(device: &Device, operation: PutOperation) -> Outcome {
        let mut rng = testkit::rng(7);
        for (n, len) in [(1, 1), (33, 5), (1000, 7), (777, 100_000)] {
            let at = indices(n, len, len, &mut rng);
            let values: Vec<T> = (0..n).map(|k| T::big(k as u64)).collect();
            let mut want = vec![T::big(3); len];
            for (&index, &value) in at.iter().zip(&values) {
                let place = index.rem_euclid(len as i64) as usize;
                want[place] = want[place].combined(operation, value);
            }
            let mut x = GpuArray::full(device, (len, 2), T::big(3))?;
            let (at, values) = (GpuArray::from_vec(device, at)?, GpuArray::from_vec(device, values)?);
            put_combine("add_at", operation, &mut x.slice_mut(s![..;-1, 1])?, &at, &values)?;
            ensure!(x.slice(s![..;-1, 1])?.to_ndarray()?.to_vec() == want, "{} {n} of {len}", T::DTYPE);
            ensure!(x.slice(s![.., 0])?.to_ndarray()?.iter().all(|&x| x == T::big(3)));
            let outside = GpuArray::from_vec(device, vec![0, -9_999_999])?;
            let wrong = put_combine("add_at", operation, &mut x.view_mut(), &outside, T::big(1));
            ensure!(matches!(wrong, Err(ArrayError::OutOfBounds { op: "add_at", number: 1, .. })), "{wrong:?}");
            ensure!(x.slice(s![..;-1, 1])?.to_ndarray()?.to_vec() == want, "written after a wrong index");
        }
        Ok(())
    }
    for operation in [PutOperation::Sum, PutOperation::Minimum, PutOperation::Maximum] {
        check::<i8>(device, operation)?;
        check::<u8>(device, operation)?;
        check::<i16>(device, operation)?;
        check::<u16>(device, operation)?;
        check::<i32>(device, operation)?;
        check::<u32>(device, operation)?;
        check::<i64>(device, operation)?;
        check::<u64>(device, operation)?;
    }
    Ok(())
}
