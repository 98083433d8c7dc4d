//! Elements at computed places of an axis: on a device and on the host, with the same lines.

use gpu_array::{
    ArrayError, GpuArray,
    expression::{Outside, host, take_along_axis, take_axis},
};
use gpu_driver::Device;
use ndarray::{Array1, Array2, Array3, Axis, array, s};
use testkit::{Outcome, Test, ensure, ensure_eq, tests};

pub const TESTS: &[Test<Device>] =
    tests![rows_and_columns_are_taken, lines_have_places_of_their_own, wrong_places_are_errors];

fn rows_and_columns_are_taken(device: &Device) -> Outcome {
    let h = Array3::from_shape_fn((4, 5, 6), |(i, j, k)| (100 * i + 10 * j + k) as f32);
    let x = GpuArray::from_ndarray(device, &h)?;
    let places = array![3i64, 0, -1, 2, 2];
    for axis in 0..3 {
        let length = h.len_of(Axis(axis)) as i64;
        let chosen: Vec<usize> = places.iter().map(|&i| i.rem_euclid(length) as usize).collect();
        let want = h.select(Axis(axis), &chosen);
        let i = GpuArray::from_ndarray(device, &places)?;
        ensure_eq!(take_axis(&x, &i, Axis(axis), Outside::Wrap).eval()?.to_ndarray()?, want);
        ensure_eq!(take_axis(host(&h), host(&places), Axis(axis), Outside::Wrap).eval()?, want);
        // Of a reversed view, by indices of other types with gaps, within an expression.
        let narrow = places.mapv(|i| i as i8);
        let wide = Array1::from_iter(narrow.iter().flat_map(|&i| [i, 99]));
        let (i, back) = (GpuArray::from_ndarray(device, &wide)?, x.slice(s![..;-1, .., ..;-1])?);
        let taken = take_axis(back, i.slice(s![..;2])?, Axis(axis), Outside::Wrap);
        let want = h.slice(s![..;-1, .., ..;-1]).select(Axis(axis), &chosen) * 2.0;
        ensure_eq!((taken * 2.0).eval()?.to_ndarray()?, want);
    }
    // Unsigned indices; values outside; no index, and no element to take.
    let (v, i) = (GpuArray::from_ndarray(device, &array![[5, 6], [7, 8]])?, array![1u64, u64::MAX, 0]);
    let i = GpuArray::from_ndarray(device, &i)?;
    let taken = take_axis(&v, &i, Axis(0), Outside::Value(-1)).eval()?;
    ensure_eq!(taken.to_ndarray()?, array![[7, 8], [-1, -1], [5, 6]]);
    let clipped = take_axis(&v, &i, Axis(1), Outside::Clip).eval()?;
    ensure_eq!(clipped.to_ndarray()?, array![[6, 6, 5], [8, 8, 7]]);
    let none = GpuArray::<i32, _>::zeros(device, 0)?;
    let got = take_axis(&v, &none, Axis(0), Outside::Wrap).eval()?;
    ensure_eq!(got.shape(), [0, 2]);
    let empty = GpuArray::<i32, _>::zeros(device, (0, 2))?;
    ensure_eq!(take_axis(&empty, &i, Axis(0), Outside::Wrap).eval()?.to_ndarray()?, Array2::zeros((3, 2)));
    Ok(())
}

fn lines_have_places_of_their_own(device: &Device) -> Outcome {
    let h = array![[30, 10, 20], [4, 6, 5]];
    let x = GpuArray::from_ndarray(device, &h)?;
    let order = array![[1i32, 2, 0, -1], [0, 2, -2, 1]];
    let want = array![[10, 20, 30, 20], [4, 5, 6, 6]];
    let i = GpuArray::from_ndarray(device, &order)?;
    ensure_eq!(take_along_axis(&x, &i, Axis(1), Outside::Wrap).eval()?.to_ndarray()?, want);
    ensure_eq!(take_along_axis(host(&h), host(&order), Axis(1), Outside::Wrap).eval()?, want);
    ensure_eq!(take_along_axis(x.t(), i.t(), Axis(0), Outside::Wrap).eval()?.to_ndarray()?, want.t());
    Ok(())
}

fn wrong_places_are_errors(device: &Device) -> Outcome {
    let x = GpuArray::<f32, _>::zeros(device, (2, 3))?;
    let i = GpuArray::<i64, _>::zeros(device, 4)?;
    let pairs = GpuArray::<i64, _>::zeros(device, (2, 4))?;
    let take = |axis| take_axis(&x, &i, Axis(axis), Outside::Wrap).eval().map(drop);
    ensure!(matches!(take(2), Err(ArrayError::Axis { op: "take_axis", axis: 2, ndim: 2 })));
    let computed = take_axis(&x + 1.0, &i, Axis(0), Outside::Clip).eval();
    ensure!(matches!(computed, Err(ArrayError::NotAnArray { .. })));
    let computed = take_axis(&x, &i + 1, Axis(0), Outside::Clip).eval();
    ensure!(matches!(computed, Err(ArrayError::NotAnArray { .. })));
    let along = |axis| take_along_axis(&x, &pairs, Axis(axis), Outside::Wrap).eval().map(drop);
    ensure!(along(1).is_ok() && matches!(along(0), Err(ArrayError::Shape { .. })));
    Ok(())
}
