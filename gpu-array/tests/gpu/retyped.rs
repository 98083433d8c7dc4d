//! Views of an array's bytes as elements of another type.

use gpu_array::{ArrayError, Complex, Element, GpuArray, GpuView, Number};
use gpu_driver::Device;
use ndarray::{Array1, Array3, Dimension, Ix0, IxDyn, array, s};
use testkit::{Layout, Outcome, Test, ensure, ensure_eq, tests};

use crate::random::layout::of_gpu;

pub const TESTS: &[Test<Device>] = tests![
    every_view_has_the_bytes_of_its_elements,
    views_of_other_types_are_written,
    what_is_no_view_of_a_type_is_told,
    a_part_that_a_type_does_not_cover_is_not_overwritten,
];

/// Elements with their bytes, the lowest first.
trait Bytes: Element {
    fn bytes(self) -> Vec<u8>;
}

macro_rules! bytes {
    ($($type:ident)*) => {$(
        impl Bytes for $type {
            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
        }
    )*};
}
bytes! { u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 }

fn all_bytes<T: Bytes, D: Dimension>(view: &GpuView<'_, T, D>) -> Result<Vec<u8>, ArrayError> {
    Ok(view.to_ndarray()?.iter().flat_map(|&x| x.bytes()).collect())
}

/// Whether the layout lets the view be one of `U`, which has the bytes of the elements in C order then.
fn check<T: Bytes, U: Bytes + Number>(view: &GpuView<'_, T, IxDyn>, name: &str) -> Outcome {
    let (from, to) = (size_of::<T>(), size_of::<U>());
    let case = format!("{} as {}, {name}, shape {:?}, strides {:?}", T::DTYPE, U::DTYPE, view.shape(), view.strides());
    let axes: Vec<_> = view.shape().iter().copied().zip(view.strides().iter().copied()).collect();
    let Some((&(len, stride), outer)) = axes.split_last() else { return Err("an axis".into()) };
    let whole = |elements: usize| (elements * from).is_multiple_of(to);
    let fits =
        (len == 1 || stride == 1) && whole(len) && outer.iter().all(|&(n, step)| n == 1 || whole(step.unsigned_abs()));
    match view.view_as::<U>() {
        Ok(other) => {
            ensure!(fits || from == to, "{case}");
            ensure_eq!(other.shape().last().copied(), Some(len * from / to));
            ensure!(all_bytes(&other)? == all_bytes(view)?, "{case}");
            ensure!(all_bytes(&other.view_as::<U>()?)? == all_bytes(view)?, "{case}");
        }
        Err(ArrayError::ViewAs { why, .. }) => {
            // Only the first element's place is not seen from here.
            ensure!(!fits || why == "its first element is not aligned", "{case}: {why}");
        }
        Err(other) => return Err(other.into()),
    }
    Ok(())
}

fn every_view_has_the_bytes_of_its_elements(device: &Device) -> Outcome {
    fn of<T: Bytes + Number>(device: &Device, shape: &[usize]) -> Outcome {
        for (name, layout) in Layout::each(shape) {
            let n: usize = layout.base.iter().product();
            let base = GpuArray::arange(device, T::ZERO, T::range_value(T::ZERO, T::one(), n.min(120)), T::one())?;
            let base = (0..n.div_ceil(base.len().max(1))).map(|_| base.view());
            let base = gpu_array::concatenate(ndarray::Axis(0), base)?;
            let base = base.slice(s![..n])?;
            let view = of_gpu(&layout, base.reshape(IxDyn(&layout.base))?)?;
            check::<T, u8>(&view, name)?;
            check::<T, i16>(&view, name)?;
            check::<T, f32>(&view, name)?;
            check::<T, u32>(&view, name)?;
            check::<T, u64>(&view, name)?;
            check::<T, f64>(&view, name)?;
        }
        Ok(())
    }
    for shape in [&[8][..], &[3, 4], &[4, 8], &[2, 3, 16], &[5, 1], &[3, 5]] {
        of::<u8>(device, shape)?;
        of::<i16>(device, shape)?;
        of::<f32>(device, shape)?;
        of::<i64>(device, shape)?;
        of::<f64>(device, shape)?;
    }
    // A first element at each place.
    let bytes = GpuArray::from_ndarray(device, &Array1::from_iter(0..64u8))?;
    for start in 0..17 {
        let part = bytes.slice(s![start..start + 16])?;
        ensure_eq!(part.view_as::<u32>().is_ok(), start % 4 == 0);
        ensure_eq!(part.view_as::<f64>().is_ok(), start % 8 == 0);
        ensure_eq!(part.view_as::<i8>()?.to_ndarray()?.to_vec(), (start as i8..start as i8 + 16).collect::<Vec<_>>());
    }
    // Pairs of parts begin where a device aligns them, beyond the alignment in Rust.
    let parts = GpuArray::from_ndarray(device, &Array1::from_iter((0..16).map(|k| k as f32)))?;
    for start in 0..4 {
        let pairs = parts.slice(s![start..start + 6])?;
        match pairs.view_as::<Complex<f32>>() {
            Ok(pairs) => {
                ensure_eq!(start % 2, 0);
                let first = start as f32;
                ensure_eq!(
                    pairs.to_ndarray()?.to_vec(),
                    [0.0, 2.0, 4.0].map(|k| Complex::new(first + k, first + k + 1.0))
                );
                ensure_eq!(
                    (pairs * Complex::new(0.0, 1.0)).eval()?.to_ndarray()?[0],
                    Complex::new(-first - 1.0, first)
                );
            }
            Err(error) => ensure!(start % 2 == 1, "from {start}: {error}"),
        }
    }
    Ok(())
}

fn views_of_other_types_are_written(device: &Device) -> Outcome {
    let odd = f32::from_bits(0x7fa1_2345);
    let mut x = GpuArray::from_ndarray(device, &array![[1.0f32, -2.0, odd], [0.0, -0.0, f32::NEG_INFINITY]])?;
    let mut bits = x.view_as_mut::<u32>()?;
    bits &= 0x7fff_ffff;
    ensure_eq!(x.view_as::<u32>()?.slice(s![0, 2])?.get()?, odd.to_bits());
    let got = x.to_ndarray()?.mapv(f32::to_bits);
    ensure_eq!(got, array![[1.0, 2.0, odd], [0.0, 0.0, f32::INFINITY]].mapv(f32::to_bits));
    // Half of the columns, as halves of the elements; the others stay.
    let mut wide = GpuArray::from_ndarray(device, &Array3::from_elem((2, 3, 4), 0x1111_2222u32))?;
    let mut part = wide.slice_mut(s![.., 1, 2..])?;
    let mut halves = part.view_as_mut::<u16>()?;
    ensure_eq!((halves.shape(), halves.strides()), (&[2, 4][..], &[24, 1][..]));
    halves.slice_mut(s![.., ..;2])?.fill(0xabcd)?;
    let mut want = Array3::from_elem((2, 3, 4), 0x1111_2222u32);
    want.slice_mut(s![.., 1, 2..]).fill(0x1111_abcd);
    ensure_eq!(wide.to_ndarray()?, want);
    let mask = GpuArray::from_ndarray(device, &array![true, false, true, true])?;
    ensure_eq!(mask.view_as::<u8>()?.to_ndarray()?, array![1, 0, 1, 1]);
    ensure_eq!(mask.view_as::<u32>()?.get()?, 0x0101_0001);
    let single = GpuArray::from_ndarray(device, &ndarray::arr0(1.0f64))?;
    ensure_eq!(single.view_as::<u64>()?.get()?, 1f64.to_bits());
    let none = GpuArray::<f64, _>::zeros(device, (3, 0))?;
    ensure_eq!(none.view_as::<u8>()?.shape().to_vec(), [3, 0]);
    ensure_eq!(none.t().view_as::<u8>()?.shape().to_vec(), [0, 24]);
    ensure_eq!(none.t().slice(s![.., ..;2])?.view_as::<u8>()?.to_ndarray()?.dim(), (0, 16));
    Ok(())
}

fn what_is_no_view_of_a_type_is_told(device: &Device) -> Outcome {
    fn told<T>(result: Result<T, ArrayError>, want: &str) -> Outcome {
        let got = result.map(drop).map_err(|error| error.to_string());
        ensure_eq!(got, Err(format!("view_as: {want}")));
        Ok(())
    }
    let x = GpuArray::<f32, _>::zeros(device, (4, 6))?;
    let of = "of float32 (4 bytes) is no view of float64 (8 bytes)";
    told(x.t().view_as::<f64>(), &format!("shape [6, 4] with strides [1, 6] {of}: its last axis is not contiguous"))?;
    let odd = x.slice(s![.., 1..4])?;
    let want = "its last axis is no whole number of the new elements";
    told(odd.view_as::<f64>(), &format!("shape [4, 3] with strides [6, 1] {of}: {want}"))?;
    let cut = x.slice(s![.., 1..5])?;
    told(cut.view_as::<f64>(), &format!("shape [4, 4] with strides [6, 1] {of}: its first element is not aligned"))?;
    let five = GpuArray::<f32, _>::zeros(device, (3, 5))?;
    let want = "the distance of its rows is no whole number of the new elements";
    told(five.slice(s![.., ..4])?.view_as::<f64>(), &format!("shape [3, 4] with strides [5, 1] {of}: {want}"))?;
    let single = GpuArray::<f32, Ix0>::zeros(device, ())?;
    told(single.view_as::<f64>(), &format!("shape [] with strides [] {of}: it has no axes"))?;
    let reversed = x.slice(s![0, ..;-1])?;
    ensure!(reversed.view_as::<u8>().is_err() && reversed.view_as::<u32>().is_ok());
    // A row that stands there 2^60 times has more bytes than can be counted.
    let many = x.slice(s![0, ..])?.broadcast((1 << 60, 6)).map(|view| view.view_as::<u8>().is_err());
    ensure!(many.is_ok_and(|refused| refused));
    Ok(())
}

/// The error of an operator stays where bytes of the array have not been written.
fn a_part_that_a_type_does_not_cover_is_not_overwritten(device: &Device) -> Outcome {
    let five = GpuArray::<u8, _>::zeros(device, 5)?;
    for (n, is_past) in [(10, false), (8, true)] {
        let mut x = GpuArray::<u8, _>::ones(device, n)?;
        x += &five;
        ensure!(matches!(x.to_ndarray(), Err(ArrayError::Operator { .. })));
        let mut eight = x.slice_mut(s![..8])?;
        let got = eight.view_as_mut::<u32>()?.fill(7);
        ensure_eq!(got.is_ok(), is_past);
        ensure_eq!(x.take_error().is_ok(), is_past);
    }
    Ok(())
}
