//! Elements at computed places of an axis: on a device and on the host, with the same lines.

use gpu_array::{
    ArrayError, Complex, Element, GpuArray,
    expression::{Outside, flip, gather, host, ravel_multi_index, roll, take_along_axis, take_axis, unravel_index},
    f16,
};
use gpu_driver::Device;
use ndarray::{Array1, Array2, Array3, Axis, Ix3, array, s};
use testkit::{Outcome, Test, ensure, ensure_eq, tests};

pub const TESTS: &[Test<Device>] = tests![
    rows_and_columns_are_taken,
    whole_rows_are_taken,
    rows_of_tables_in_expressions,
    lines_have_places_of_their_own,
    places_have_coordinates,
    wrong_places_are_errors
];

/// Each place of a shape, forth and back; those outside have a first coordinate outside of its axis.
fn places_have_coordinates(device: &Device) -> Outcome {
    let h = Array3::from_shape_fn((4, 5, 6), |(i, j, k)| (100 * i + 10 * j + k) as i32);
    let places = Array1::from_iter((0..120u8).rev());
    let (x, p) = (GpuArray::from_ndarray(device, &h)?, GpuArray::from_ndarray(device, &places)?);
    let want = places.mapv(|p| 100 * i32::from(p / 30) + 10 * i32::from(p / 6 % 5) + i32::from(p % 6));
    ensure_eq!(gather(&x, &unravel_index(&p, h.dim()), Outside::Clip).eval()?.to_ndarray()?, want);
    ensure_eq!(gather(host(&h), &unravel_index(host(&places), h.dim()), Outside::Clip).eval()?, want);
    let coordinates = unravel_index(&p, h.dim());
    let back = ravel_multi_index(&coordinates, h.dim()).eval()?.to_ndarray()?;
    ensure_eq!(back, places.mapv(i64::from));
    let outside = array![-1i64, -121, 119, 120, 240, i64::MAX];
    let first = &unravel_index(host(&outside), h.dim())[0].eval()?;
    ensure!(first.iter().map(|i| (0..4).contains(i)).eq([false, false, true, false, false, false]), "{first}");
    let taken = gather(host(&h), &unravel_index(host(&outside), h.dim()), Outside::Value(-7)).eval()?;
    ensure_eq!(taken, array![-7, -7, 345, -7, -7, -7]);
    // The only coordinate of one axis is the place; no axis has none; a coordinate too few is told.
    ensure_eq!(unravel_index(host(&outside), 7)[0].eval()?, outside);
    ensure!(unravel_index(host(&outside), ()).is_empty());
    // Of a shape that no array has, nothing panics.
    ensure_eq!(unravel_index(host(&outside), [usize::MAX, 1 << 40, 1 << 40, 2]).len(), 4);
    let few = ravel_multi_index(&coordinates[1..], h.dim()).eval().err();
    ensure!(matches!(few, Some(ArrayError::Ndim { expected: 3, got: 2, .. })), "{few:?}");
    Ok(())
}

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
    // No such axis; -1 of NumPy's is none either.
    for axis in [2, usize::MAX - 1, usize::MAX] {
        let taken = take_axis(&v, &i, Axis(axis), Outside::Wrap).eval();
        ensure!(matches!(taken, Err(ArrayError::Axis { axis: got, ndim: 2, .. }) if got == axis), "{axis}");
        let taken = take_along_axis(&v, &v, Axis(axis), Outside::Wrap).eval();
        ensure!(matches!(taken, Err(ArrayError::Axis { axis: got, ndim: 2, .. }) if got == axis), "{axis}");
    }
    Ok(())
}

/// Rows of whole packs: tables of any steps, several of them, beside leaves that differ along a row, and into one of these.
fn rows_of_tables_in_expressions(device: &Device) -> Outcome {
    let h = Array3::from_shape_fn((5, 6, 16), |(i, j, k)| (1000 * i + 100 * j + k) as f32);
    let order = array![4i64, 0, -1, 2, 7, -8];
    let bias = Array1::from_shape_fn(16, |k| k as f32 / 4.0);
    let along = Array3::from_shape_fn((5, 6, 16), |(i, j, k)| (i * j + 3 * k) as i64 % 19 - 2);
    let (x, i) = (GpuArray::from_ndarray(device, &h)?, GpuArray::from_ndarray(device, &order)?);
    let (b, a) = (GpuArray::from_ndarray(device, &bias)?, GpuArray::from_ndarray(device, &along)?);
    for outside in [Outside::Wrap, Outside::Clip, Outside::Reflect, Outside::Value(-1.0)] {
        for axis in 0..2 {
            let case = format!("{outside:?} along axis {axis}");
            let (axis, x) = (Axis(axis), x.view());
            let want = take_axis(host(&h), host(&order), axis, outside);
            same(&case, take_axis(x, &i, axis, outside).eval(), want.clone().eval())?;
            // A leaf that has a value for each column.
            let got = take_axis(x, &i, axis, outside) * 2.0 + &b;
            same(&case, got.eval(), (want * 2.0 + host(&bias)).eval())?;
            // Backwards and across.
            let (back, host_back) = (x.slice(s![.., .., ..;-1])?, h.slice(s![.., .., ..;-1]));
            let want = take_axis(host(&host_back), host(&order), axis, outside);
            same(&case, take_axis(back, &i, axis, outside).eval(), want.eval())?;
            let across = x.slice(s![.., ..;2, 3..7])?.permuted_axes((2, 1, 0))?;
            let host_across = h.slice(s![.., ..;2, 3..7]).permuted_axes((2, 1, 0));
            let want = take_axis(host(&host_across), host(&order), axis, outside);
            same(&case, take_axis(across, &i, axis, outside).eval(), want.eval())?;
            same(&case, roll(x, 3, axis).eval(), roll(host(&h), 3, axis).eval())?;
            same(&case, flip(x, axis).eval(), flip(host(&h), axis).eval())?;
        }
        let got = take_along_axis(&x, &a, Axis(2), outside) - flip(&x, Axis(0));
        let want = take_along_axis(host(&h), host(&along), Axis(2), outside) - flip(host(&h), Axis(0));
        same(&format!("two tables, {outside:?}"), got.eval(), want.eval())?;
    }
    // In place. Threads behind the last pack of a row have nothing to read.
    for columns in [20, 1028] {
        let table = Array2::from_shape_fn((6, columns), |(i, k)| (10_000 * i + k) as f32);
        let x = GpuArray::from_ndarray(device, &table)?;
        let mut sums = GpuArray::from_ndarray(device, &table)?;
        sums += take_axis(&x, &i, Axis(0), Outside::Wrap);
        let want = &table + &table.select(Axis(0), &[4, 0, 5, 2, 1, 4]);
        ensure!(sums.to_ndarray()? == want, "{columns} columns in place");
    }
    Ok(())
}

fn same(case: &str, got: Result<GpuArray<f32, Ix3>, ArrayError>, want: Result<Array3<f32>, ArrayError>) -> Outcome {
    let (got, want) = (got?.to_ndarray()?, want?);
    ensure!(got == want, "{case}: {got} in place of {want}");
    Ok(())
}

/// Neighbours of a table in whole packs, in packs that are not aligned, and around the ends of rows and of the table.
fn whole_rows_are_taken(device: &Device) -> Outcome {
    fn of<T: Element + PartialEq>(device: &Device, element: fn(usize) -> T) -> Outcome {
        let shapes = [(9, 64, 0), (7, 33, 0), (5, 70, 1), (6, 48, 16), (3, 2, 0), (4, 2800, 0), (6, 20, 0)];
        for (rows, columns, from) in shapes {
            let h = Array2::from_shape_fn((rows, columns), |(i, j)| element(i * columns + j));
            let x = GpuArray::from_ndarray(device, &h)?;
            let (x, h) = (x.slice(s![.., from..])?, h.slice(s![.., from..]));
            let order =
                Array1::from_shape_fn(2 * rows + 1, |i| (i * 5 + 2) as i64 % rows as i64 - (i % 2 * rows) as i64);
            let chosen: Vec<usize> = order.iter().map(|&i| i.rem_euclid(rows as i64) as usize).collect();
            let i = GpuArray::from_ndarray(device, &order)?;
            let got = take_axis(&x, &i, Axis(0), Outside::Wrap).eval()?.to_ndarray()?;
            ensure!(got == h.select(Axis(0), &chosen), "{rows} rows of {columns} from {from} on");
            // Runs of neighbours along the rows, of which some begin or end outside.
            let length = columns - from;
            let runs = Array1::from_shape_fn(40, |i| (i / 20 * 4) as i64 + (i % 20) as i64 - 3 + from as i64 % 3);
            let i = GpuArray::from_ndarray(device, &runs)?;
            let got = take_axis(&x, &i, Axis(1), Outside::Value(element(7))).eval()?.to_ndarray()?;
            for ((row, place), &got) in got.indexed_iter() {
                let at = usize::try_from(runs[place]).ok().filter(|&at| at < length);
                let want = at.map_or(element(7), |at| h[(row, at)]);
                ensure!(got == want, "row {row}, place {place} of {columns} from {from} on");
            }
        }
        Ok(())
    }
    of(device, |i| i % 3 == 0)?;
    of(device, |i| i as u8)?;
    of(device, |i| f16::from_f32(i as f32))?;
    of(device, |i| i as f32)?;
    of(device, |i| i as f64)?;
    of(device, |i| Complex::new(i as f64, -1.0))
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
