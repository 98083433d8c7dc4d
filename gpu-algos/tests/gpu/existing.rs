//! Results that are written into existing arrays, by code for either place.

use gpu_algos::{
    AlgoError, Result,
    gpu_array::{
        Element, GpuArray,
        expression::{Expr, Gpu, Host, host},
        gpu_driver::Device,
    },
    operators::{Max, Min, ScanKind, Sum},
    prelude::*,
    reduce::Reduces,
    reference,
};
use ndarray::{Array, Array1, Array2, ArrayView1, Axis, Dimension, Ix0, Ix1, Ix2, arr0, array, s};
use testkit::{Outcome, Test, ensure, ensure_eq, tests};

pub const TESTS: &[Test<Device>] = tests![
    reductions_and_scans_are_written_at_either_place,
    selections_are_written_at_either_place,
    scans_in_place_are_those_of_a_device,
    arrays_of_another_shape_are_told,
];

/// A place whose arrays a test makes and reads.
trait Place: Reduces<i32> + Reduces<i64> + Reduces<f64> {
    fn make<T: Element, D: Dimension>(device: &Device, x: &Array<T, D>) -> Result<Self::Owned<T, D>>;
    fn read<T: Element, D: Dimension>(x: &Self::Owned<T, D>) -> Result<Array<T, D>>;
}

impl Place for Gpu {
    fn make<T: Element, D: Dimension>(device: &Device, x: &Array<T, D>) -> Result<GpuArray<T, D>> {
        Ok(GpuArray::from_ndarray(device, x)?)
    }
    fn read<T: Element, D: Dimension>(x: &GpuArray<T, D>) -> Result<Array<T, D>> {
        Ok(x.to_ndarray()?)
    }
}

impl Place for Host {
    fn make<T: Element, D: Dimension>(_: &Device, x: &Array<T, D>) -> Result<Array<T, D>> {
        Ok(x.clone())
    }
    fn read<T: Element, D: Dimension>(x: &Array<T, D>) -> Result<Array<T, D>> {
        Ok(x.clone())
    }
}

fn matrix() -> Array2<i32> {
    Array2::from_shape_fn((3, 4), |(i, j)| (i * 7 + j * 5) as i32 % 9 - 4)
}

/// Sums of columns, the extremes and their places in each row, running sums: all in arrays that hold other values before.
type Written = (Array1<i64>, [Array1<i32>; 2], Array2<i64>, Array1<f64>);

fn reduced<P: Place>(device: &Device) -> Result<Written> {
    let x = P::make(device, &matrix())?;
    let x = P::expr(&x);
    let mut sums = P::make(device, &Array1::from_elem(4, -99i64))?;
    x.sum().axis(Axis(0)).write_into(sums.as_view_mut())?;
    let [mut least, mut greatest] = [P::make(device, &Array1::zeros(3))?, P::make(device, &Array1::zeros(3))?];
    x.min_max().axis(Axis(1)).write_into(least.as_view_mut(), greatest.as_view_mut())?;
    let mut running = P::make(device, &Array2::from_elem((3, 4), -99i64))?;
    x.cumsum().axis(Axis(1)).reverse().write_into(running.as_view_mut())?;
    let mut flat = P::make(device, &Array1::from_elem(12, f64::NAN))?;
    x.cast::<f64>().cumsum().exclusive().write_into(flat.as_view_mut())?;
    Ok((P::read(&sums)?, [P::read(&least)?, P::read(&greatest)?], P::read(&running)?, P::read(&flat)?))
}

fn reductions_and_scans_are_written_at_either_place(device: &Device) -> Outcome {
    let x = matrix();
    let on_host = reduced::<Host>(device)?;
    ensure_eq!(reduced::<Gpu>(device)?, on_host);
    ensure_eq!(on_host.0, x.map_axis(Axis(0), reference::sum));
    let rows = |of: fn(ArrayView1<'_, i32>) -> gpu_algos::Result<i32>| x.map_axis(Axis(1), |row| of(row).unwrap_or(0));
    ensure_eq!(on_host.1, [rows(|row| reference::min(row)), rows(|row| reference::max(row))]);
    let (sums, flat) = (Sum::new(), x.mapv(f64::from).flatten().to_owned());
    ensure_eq!(on_host.2, reference::scan(&sums, &x, Axis(1), ScanKind::INCLUSIVE.reversed())?);
    ensure_eq!(on_host.3, reference::scan(&Sum::new(), &flat, Axis(0), ScanKind::EXCLUSIVE)?);
    // Part of an array of the host: what is beside it stays.
    let mut wide = Array2::from_elem((4, 2), -1i64);
    host(&x).sum().axis(Axis(0)).write_into(wide.slice_mut(s![..;-1, 0]))?;
    ensure_eq!(wide.slice(s![..;-1, 0]), on_host.0);
    ensure!(wide.slice(s![.., 1]).iter().all(|&x| x == -1));
    let mut sum = arr0(0i64);
    host(&x).sum().write_into(&mut sum)?;
    ensure_eq!(sum, arr0(reference::sum(&x)));
    Ok(())
}

type Selected = (Array1<i32>, Array<i64, Ix0>, Array1<i32>, Array<i64, Ix0>, [Array1<i64>; 3], Array<i64, Ix0>);

fn selected<P: Place>(device: &Device) -> Result<Selected> {
    let x = P::make(device, &array![4, 4, -1, 0, 7, 7, 7, -2])?;
    let x: Expr<'_, i32, Ix1, P> = P::expr(&x);
    let [mut values, mut parted] = [(); 2].map(|()| P::make(device, &Array1::from_elem(9, 99)));
    let [mut first, mut second, mut third] = [(); 3].map(|()| P::make(device, &arr0(-1i64)));
    let (values, parted) =
        (values.as_mut().map_err(|error| error.clone())?, parted.as_mut().map_err(|error| error.clone())?);
    let [first, second, third] =
        [&mut first, &mut second, &mut third].map(|count| count.as_mut().map_err(|error| error.clone()));
    let (first, second, third) = (first?, second?, third?);
    x.select(x.gt(0)).write_into(values.as_view_mut(), first.as_view_mut())?;
    x.partition(x.lt(0)).write_into(parted.as_view_mut(), second.as_view_mut())?;
    let mut of_runs = P::make(device, &Array1::from_elem(8, 99i64))?;
    let (mut offsets, mut lengths) =
        (P::make(device, &Array1::from_elem(8, 99i64))?, P::make(device, &Array1::from_elem(8, 99i64))?);
    x.cast::<i64>().run_length_encode().write_into(
        of_runs.as_view_mut(),
        offsets.as_view_mut(),
        lengths.as_view_mut(),
        third.as_view_mut(),
    )?;
    let runs = [P::read(&of_runs)?, P::read(&offsets)?, P::read(&lengths)?];
    Ok((P::read(values)?, P::read(first)?, P::read(parted)?, P::read(second)?, runs, P::read(third)?))
}

fn selections_are_written_at_either_place(device: &Device) -> Outcome {
    let want: Selected = (
        array![4, 4, 7, 7, 7, 99, 99, 99, 99],
        arr0(5),
        array![-1, -2, 4, 4, 0, 7, 7, 7, 99],
        arr0(2),
        [array![4, -1, 0, 7, -2, 99, 99, 99], array![0, 2, 3, 4, 7, 99, 99, 99], array![2, 1, 1, 3, 1, 99, 99, 99]],
        arr0(5),
    );
    ensure_eq!(selected::<Host>(device)?, want);
    ensure_eq!(selected::<Gpu>(device)?, want);
    let (x, mut small, mut count) = (array![1, 2, 3], array![0, 0], arr0(0));
    let told = host(&x).nonzero().write_into(&mut array![0i64, 0], &mut count);
    ensure!(matches!(told, Err(AlgoError::OutputTooSmall { needed: 3, got: 2 })), "{told:?}");
    let told = host(&x).select(host(&x).gt(1)).write_into(&mut small, &mut count);
    ensure!(matches!(told, Err(AlgoError::OutputTooSmall { needed: 3, got: 2 })), "{told:?}");
    ensure_eq!((small, count), (array![0, 0], arr0(0)));
    Ok(())
}

fn scans_in_place_are_those_of_a_device(device: &Device) -> Outcome {
    fn all<'t, T, A>(each: [A; 4]) -> Result<()>
    where
        A: ScansInPlace<'t, T, Ix2, Backend: Reduces<T>>,
        T: gpu_algos::Summable<Sum = T> + gpu_algos::gpu_array::Numeric + gpu_algos::Ordered,
    {
        let [sums, products, greatest, least] = each;
        sums.cumsum_in_place().run()?;
        products.cumprod_in_place().axis(Axis(0)).run()?;
        greatest.cummax_in_place().axis(Axis(1)).reverse().run()?;
        least.cummin_in_place().exclusive().run()
    }
    let before = matrix().mapv(f64::from);
    let mut on_host = [(); 4].map(|()| before.clone());
    all(on_host.each_mut().map(|x| x.view_mut()))?;
    let mut on_device = Vec::new();
    for _ in 0..4 {
        on_device.push(GpuArray::from_ndarray(device, &before)?);
    }
    let [a, b, c, d] = &mut on_device[..] else { return Err("four arrays".into()) };
    all([a, b, c, d])?;
    for (got, want) in on_device.iter().zip(&on_host) {
        ensure_eq!(got.to_ndarray()?, want);
    }
    let flat = before.flatten().to_owned();
    ensure_eq!(on_host[0].flatten(), reference::cumsum(&flat, Axis(0))?);
    ensure_eq!(on_host[1], reference::cumprod(&before, Axis(0))?);
    ensure_eq!(on_host[2], reference::scan(&Max::new(), &before, Axis(1), ScanKind::INCLUSIVE.reversed())?);
    ensure_eq!(on_host[3].flatten(), reference::scan(&Min::new(), &flat, Axis(0), ScanKind::EXCLUSIVE)?);
    // Of any layout, and by reference.
    let mut wide = Array2::from_shape_fn((4, 6), |(i, j)| (i * 6 + j) as f64);
    let mut part = wide.slice_mut(s![..;-1, ..;2]);
    let want = reference::cumsum(&part.flatten().to_owned(), Axis(0))?;
    (&mut part).cumsum_in_place().run()?;
    ensure_eq!(part.flatten(), want);
    let wrong = wide.view_mut().cumsum_in_place().axis(Axis(2)).run();
    ensure!(matches!(wrong, Err(AlgoError::Array(gpu_algos::gpu_array::ArrayError::Axis { axis: 2, ndim: 2, .. }))));
    Ok(())
}

fn arrays_of_another_shape_are_told(_: &Device) -> Outcome {
    let x = matrix();
    let x = host(&x);
    let mut wrong = array![1i64, 2, 3];
    let told = |got: Result<()>| matches!(got, Err(AlgoError::OutShape { .. }));
    ensure!(told(x.sum().axis(Axis(0)).write_into(&mut wrong)));
    ensure!(told(x.cumsum().write_into(&mut wrong)));
    let (mut first, mut second) = (array![9, 9, 9], array![9, 9]);
    ensure!(told(x.min_max().axis(Axis(1)).write_into(&mut first, &mut second)));
    ensure!(told(x.min_max().axis(Axis(1)).write_into(second.view_mut(), first.view_mut())));
    ensure_eq!((wrong, first, second), (array![1, 2, 3], array![9, 9, 9], array![9, 9]));
    Ok(())
}
