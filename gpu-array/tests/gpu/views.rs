//! Views, orders and transfers, compared with ndarray's.
#![expect(clippy::reversed_empty_ranges, reason = "ends below 0 count from the end")]

use gpu_array::{ArrayError, GpuArray, INFER, PinnedArray};
use gpu_driver::{Device, Stream};
use ndarray::{Array, Array1, Array2, Array3, ArrayD, Axis, Ix1, Ix2, Ix3, IxDyn, Order, ShapeBuilder, arr0, array, s};
use testkit::{Outcome, Rng, Test, ensure, ensure_eq, tests};

pub const TESTS: &[Test<Device>] = tests![
    views_read_as_those_of_ndarray,
    masks_have_views,
    writes_to_views_change_their_elements_only,
    random_views_round_trip,
    copies_go_to_any_layout,
    both_orders_are_kept,
    copies_in_c_order_can_take_any_shape,
    owned_arrays_change_their_shape,
    parts_can_be_written_side_by_side,
    pinned_arrays_round_trip,
    single_values_are_read,
    empty_arrays_have_views,
    views_print,
    what_has_no_view_is_an_error,
    views_keep_their_stream,
    any_strides_within_an_array_have_a_view,
];

/// Against sums of strides; those that lead out by one element are errors, on either side.
fn any_strides_within_an_array_have_a_view(device: &Device) -> Outcome {
    let flat = Array1::from_iter(0..60i32);
    let x = GpuArray::from_ndarray(device, &flat)?;
    for seed in testkit::seeds(0..60) {
        let mut rng = Rng(seed);
        let (shape, strides) =
            ([1 + rng.below(5), 1 + rng.below(4)], [rng.below(19) as isize - 9, rng.below(19) as isize - 9]);
        let (from, to) = (rng.below(30), 30 + rng.below(31));
        let part = x.slice(s![from..to])?;
        let reach = |sign: isize| (0..2).map(|k| (strides[k] * (shape[k] as isize - 1) * sign).max(0)).sum::<isize>();
        let fits = reach(-1) == 0 && reach(1) < (to - from) as isize;
        let got = part.as_strided(shape, &strides);
        ensure_eq!(got.is_ok(), fits);
        if let Ok(got) = got {
            let at =
                |(i, j): (usize, usize)| (from as isize + i as isize * strides[0] + j as isize * strides[1]) as i32;
            ensure_eq!(got.to_ndarray()?, Array2::from_shape_fn((shape[0], shape[1]), at));
            ensure_eq!(
                (&got + 1).eval()?.to_ndarray()?,
                Array2::from_shape_fn((shape[0], shape[1]), |place| at(place) + 1)
            );
        }
    }
    // From the last element backwards, nothing of nothing, and an element again and again.
    ensure_eq!(x.slice(s![..;-1])?.as_strided((2, 3), &[-10, -1])?.to_ndarray()?, array![[59, 58, 57], [49, 48, 47]]);
    ensure!(x.slice(s![..;-1])?.as_strided(2, &[1]).is_err());
    ensure_eq!(x.slice(s![..0])?.as_strided((0, 3), &[isize::MAX, 1])?.shape().to_vec(), [0, 3]);
    ensure!(x.slice(s![..0])?.as_strided(1, &[1]).is_err());
    ensure_eq!(x.slice(s![7..8])?.as_strided((2, 1), &[0, 99])?.to_ndarray()?, array![[7], [7]]);
    ensure!(matches!(x.slice(s![..;2])?.as_strided(3, &[1]), Err(ArrayError::Gaps { op: "as_strided", .. })));
    // Four elements in a stretch of four, two of them twice and two not at all: another view may be writing those.
    let mut pairs = GpuArray::from_ndarray(device, &flat)?.into_shape((20, 3))?;
    let (left, _right) = pairs.split_at_mut(Axis(1), 1)?;
    let twice = left.slice(s![..2, ..])?;
    let twice = twice.broadcast((2, 2, 1))?;
    ensure!(matches!(twice.as_strided((2, 2), &[2, 1]), Err(ArrayError::Gaps { .. })));
    ensure!(matches!(x.as_strided(3, &[1, 1]), Err(ArrayError::Ndim { .. })));
    ensure!(matches!(x.as_strided((3, 3), &[isize::MAX, isize::MAX]), Err(ArrayError::Strided { .. })));
    ensure!(matches!(x.as_strided((usize::MAX, 3), &[0, 0]), Err(ArrayError::TooLarge { .. })));
    Ok(())
}

fn host() -> Array3<i32> {
    Array3::from_shape_fn((4, 5, 6), |(i, j, k)| (i * 100 + j * 10 + k) as i32)
}

fn views_read_as_those_of_ndarray(device: &Device) -> Outcome {
    for h in [host(), Array3::from_shape_fn((4, 5, 6).f(), |(i, j, k)| (i * 100 + j * 10 + k) as i32)] {
        let x = GpuArray::from_ndarray(device, &h)?;
        let mut y = x.try_clone()?;
        let y = y.view_mut();
        ensure_eq!(x.slice(s![1..3, -1, ..;-2])?.to_ndarray()?, h.slice(s![1..3, -1, ..;-2]));
        ensure_eq!(y.slice(s![1..3, -1, ..;-2])?.to_ndarray()?, h.slice(s![1..3, -1, ..;-2]));
        ensure_eq!(x.slice(s![.., 2, ndarray::NewAxis, 3])?.shape().to_vec(), [4, 1]);
        ensure_eq!(x.t().to_ndarray()?, h.t());
        ensure_eq!(x.permuted_axes([2, 0, 1])?.to_ndarray()?, h.view().permuted_axes([2, 0, 1]));
        let mut swapped = h.view();
        swapped.swap_axes(0, 2);
        swapped.invert_axis(Axis(1));
        ensure_eq!(x.swap_axes(Axis(0), Axis(2))?.invert_axis(Axis(1))?.to_ndarray()?, swapped);
        ensure_eq!(x.index_axis(Axis(1), 4)?.to_ndarray()?, h.index_axis(Axis(1), 4));
        ensure_eq!(x.insert_axis(Axis(1))?.to_ndarray()?, h.view().insert_axis(Axis(1)));
        ensure_eq!(x.insert_axis(Axis(1))?.squeeze().to_ndarray()?, h.view().into_dyn());
        ensure_eq!(x.diagonal().to_ndarray()?, h.diag());
        // NumPy's h.diagonal(2, 2, 0), and h.diagonal(-3, 1, 2).
        let want = Array2::from_shape_fn((5, 2), |(i, k)| h[[k + 2, i, k]]);
        ensure_eq!(x.diagonal_of(2, Axis(2), Axis(0))?.to_ndarray()?, want);
        let want = Array2::from_shape_fn((4, 2), |(i, k)| h[[i, k + 3, k]]);
        ensure_eq!(y.diagonal_of(-3, Axis(1), Axis(2))?.to_ndarray()?, want);
        ensure_eq!(x.diagonal_of(isize::MIN, Axis(0), Axis(1))?.shape().to_vec(), [6, 0]);
        ensure_eq!(x.diagonal_of(5, Axis(0), Axis(1))?.shape().to_vec(), [6, 0]);
        ensure_eq!(x.broadcast((2, 4, 5, 6))?.to_ndarray()?, h.broadcast((2, 4, 5, 6)).ok_or("shape")?);
        let (before, after) = x.split_at(Axis(2), 4)?;
        ensure_eq!(before.to_ndarray()?, h.slice(s![.., .., ..4]));
        ensure_eq!(after.to_ndarray()?, h.slice(s![.., .., 4..]));
        let chunks: Vec<_> = x.chunks(Axis(1), 2)?.collect();
        ensure_eq!(chunks.iter().map(|chunk| chunk.shape()[1]).collect::<Vec<_>>(), [2, 2, 1]);
        ensure_eq!(chunks[2].to_ndarray()?, h.slice(s![.., 4.., ..]));
        ensure_eq!(x.view().into_dyn().into_dimensionality::<Ix3>()?.to_owned()?.to_ndarray()?, h);
        let order = if h.is_standard_layout() { Order::C } else { Order::F };
        let flat = x.reshape_with_order((INFER, 10), order)?.to_ndarray()?;
        ensure_eq!(flat, h.to_shape(((12, 10), order))?);
        ensure_eq!((x.len_of(Axis(1))?, x.strides()), (5, h.strides()));
    }
    Ok(())
}

fn masks_have_views(device: &Device) -> Outcome {
    let h = host().mapv(|x| x % 3 == 0);
    let mut x = GpuArray::from_ndarray(device, &h)?;
    ensure_eq!(x.slice(s![.., 1, ..;-1])?.to_ndarray()?, h.slice(s![.., 1, ..;-1]));
    let mut back = Array3::from_elem((4, 5, 6), false);
    x.copy_to_ndarray(&mut back)?;
    ensure_eq!(back, h);
    x.slice_mut(s![.., .., 2])?.fill(true)?;
    back.slice_mut(s![.., .., 2]).fill(true);
    ensure_eq!(x.to_ndarray()?, back);
    Ok(())
}

fn writes_to_views_change_their_elements_only(device: &Device) -> Outcome {
    let mut h = host();
    let mut x = GpuArray::from_ndarray(device, &h)?;
    x.slice_mut(s![1, ..;2, 1..-1])?.fill(-1)?;
    h.slice_mut(s![1, ..;2, 1..-1]).fill(-1);
    ensure_eq!(x.to_ndarray()?, h);
    let news = Array3::from_shape_fn((6, 3, 2), |(i, j, k)| -(i as i32 * 100 + j as i32 * 10 + k as i32));
    let mut part = x.t_mut();
    part.slice_mut(s![..;-1, ..;2, 1..3])?.copy_from_ndarray(&news)?;
    h.view_mut().reversed_axes().slice_mut(s![..;-1, ..;2, 1..3]).assign(&news);
    ensure_eq!(x.to_ndarray()?, h);
    x.index_axis_mut(Axis(0), 2)?.diagonal_mut().copy_from_ndarray(&array![7, 8, 9, 10, 11])?;
    h.index_axis_mut(Axis(0), 2).diag_mut().assign(&array![7, 8, 9, 10, 11]);
    ensure_eq!(x.to_ndarray()?, h);
    x.diagonal_of_mut(-1, Axis(1), Axis(2))?.slice_mut(s![1.., ..])?.fill(-7)?;
    for (i, k) in (1..4).flat_map(|i| (0..4).map(move |k| (i, k))) {
        h[[i, k + 1, k]] = -7;
    }
    ensure_eq!(x.to_ndarray()?, h);
    x.reshape_mut((10, 12))?.slice_mut(s![3.., ..])?.fill(5)?;
    h.view_mut().into_shape_with_order((10, 12))?.slice_mut(s![3.., ..]).fill(5);
    ensure_eq!(x.to_ndarray()?, h);
    let mut odd = x.permuted_axes_mut([1, 2, 0])?;
    let mut odd = odd.swap_axes_mut(Axis(0), Axis(1))?;
    let mut odd = odd.invert_axis_mut(Axis(2))?;
    let mut odd = odd.insert_axis_mut(Axis(0))?;
    let news = ArrayD::from_shape_fn(IxDyn(&[6, 5, 4]), |index| (index[0] * 20 + index[1] * 4 + index[2]) as i32);
    odd.squeeze_mut().copy_from_ndarray(&news)?;
    let want = news.into_dimensionality::<Ix3>()?.slice_move(s![.., .., ..;-1]).permuted_axes([2, 1, 0]);
    ensure_eq!(x.to_ndarray()?, want);
    let wrong = x.slice_mut(s![.., 0, ..])?.copy_from_ndarray(&Array2::zeros((4, 5)));
    ensure!(matches!(wrong, Err(ArrayError::Shape { op: "copy_from_ndarray", .. })));
    Ok(())
}

fn random_views_round_trip(device: &Device) -> Outcome {
    for seed in testkit::seeds(0..200) {
        let mut rng = Rng(seed);
        let mut range = |len: usize| {
            let (a, b) = (rng.below(len + 1), rng.below(len + 1));
            let step = [1, 1, 2, -1, -3][rng.below(5)];
            ndarray::SliceInfoElem::Slice { start: a.min(b) as isize, end: Some(a.max(b) as isize), step }
        };
        let slice = [range(4), range(5), range(6)];
        let mut axes = [0, 1, 2];
        rng.shuffle(&mut axes);
        let mut h = host().into_dyn();
        let mut x = GpuArray::from_ndarray(device, &h)?;
        let got = x.slice(&slice[..])?.permuted_axes(&axes[..])?.to_ndarray()?;
        let want = h.slice(&slice[..]).permuted_axes(&axes[..]);
        ensure!(got == want, "seed {seed}: {slice:?}, {axes:?}: got {got}, want {want}");
        let news = want.mapv(|x| -x - 1);
        x.slice_mut(&slice[..])?.permuted_axes_mut(&axes[..])?.copy_from_ndarray(&news)?;
        h.slice_mut(&slice[..]).permuted_axes(&axes[..]).assign(&news);
        ensure!(x.to_ndarray()? == h, "seed {seed}: {slice:?}, {axes:?}");
    }
    Ok(())
}

fn copies_go_to_any_layout(device: &Device) -> Outcome {
    let h = host();
    let mut fortran = Array3::zeros((4, 5, 6).f());
    fortran.assign(&h);
    let arrays = [GpuArray::from_ndarray(device, &h)?, GpuArray::from_ndarray(device, &fortran)?];
    ensure!(!arrays[1].is_standard_layout());
    for x in arrays {
        let mut c = Array3::zeros((4, 5, 6));
        let mut f = Array3::zeros((4, 5, 6).f());
        let mut gaps = Array3::zeros((4, 10, 6));
        x.copy_to_ndarray(&mut c)?;
        x.copy_to_ndarray(&mut f)?;
        x.copy_to_ndarray(&mut gaps.slice_mut(s![..;-1, ..;2, ..]))?;
        ensure_eq!((&c, &f), (&h, &h));
        ensure_eq!(gaps.slice(s![..;-1, ..;2, ..]), h);
        ensure!(gaps.slice(s![.., 1..;2, ..]).iter().all(|&x| x == 0));
        x.slice(s![..;-1, .., ..])?.copy_to_ndarray(&mut f)?;
        ensure_eq!(f, h.slice(s![..;-1, .., ..]));
        let wrong = x.copy_to_ndarray(&mut Array3::zeros((4, 6, 5)));
        ensure!(matches!(wrong, Err(ArrayError::Shape { op: "copy_to_ndarray", .. })));
        for source in [h.view(), f.view(), gaps.slice(s![.., ..;2, ..;-1])] {
            let mut y = x.try_clone()?;
            y.copy_from_ndarray(&source)?;
            ensure_eq!(y.to_ndarray()?, source);
            ensure_eq!(y.strides(), x.strides());
        }
    }
    Ok(())
}

fn both_orders_are_kept(device: &Device) -> Outcome {
    let mut x = GpuArray::<f64, _>::zeros(device, (2, 3).f())?;
    ensure_eq!((x.strides(), x.is_contiguous(), x.is_standard_layout()), (&[1, 2][..], true, false));
    let h = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    x.copy_from_ndarray(&h)?;
    ensure_eq!(x.as_device_vec().to_vec()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    let back = x.to_ndarray()?;
    ensure_eq!((&back, back.strides()), (&h, &[1, 2][..]));
    ensure_eq!(GpuArray::from_ndarray(device, &back)?.strides().to_vec(), [1, 2]);
    ensure_eq!(x.to_owned()?.strides().to_vec(), [1, 2]);
    ensure_eq!(x.t().to_owned()?.strides().to_vec(), [2, 1]);
    ensure_eq!(GpuArray::from_ndarray(device, &h.slice(s![.., ..;-1]))?.strides().to_vec(), [3, 1]);
    ensure_eq!(GpuArray::full(device, (2, 3).f(), 7u8)?.to_ndarray()?, Array2::from_elem((2, 3), 7));
    let x = GpuArray::<f64, _>::from_device_vec(x.into_device_vec(), IxDyn(&[2, 3]).f())?;
    ensure_eq!(x.to_ndarray()?, h.into_dyn());
    Ok(())
}

fn copies_in_c_order_can_take_any_shape(device: &Device) -> Outcome {
    let (h, x) = (host(), GpuArray::from_ndarray(device, &host())?);
    ensure!(matches!(x.t().to_owned()?.into_shape(120), Err(ArrayError::ReshapeNeedsCopy { .. })));
    let needs_copy = x.t().reshape(120).err().ok_or("a transpose has no other shape in place")?;
    ensure!(needs_copy.to_string().contains("to_standard_layout"), "{needs_copy}");
    let views = [
        (x.view(), h.view()),
        (x.t(), h.t()),
        (x.slice(s![..;-1, 1..3, ..;2])?, h.slice(s![..;-1, 1..3, ..;2])),
        (x.slice(s![.., 2..2, ..])?, h.slice(s![.., 2..2, ..])),
        (x.slice(s![..1, .., ..])?.broadcast((4, 5, 6))?, h.slice(s![..1, .., ..])),
    ];
    for (view, want) in views {
        let copy = view.to_standard_layout()?;
        ensure!(copy.is_standard_layout(), "{view:?}");
        let want: Vec<i32> = want.broadcast(copy.raw_dim()).ok_or("shape")?.iter().copied().collect();
        ensure_eq!(copy.into_shape(INFER)?.to_ndarray()?.to_vec(), want);
    }
    let mask = h.mapv(|x| x % 3 == 0);
    let mut of_mask = GpuArray::from_ndarray(device, &mask)?;
    ensure_eq!(
        of_mask.view_mut().permuted_axes([1, 2, 0])?.to_standard_layout()?.to_ndarray()?,
        mask.permuted_axes([1, 2, 0])
    );
    // An error that an operator could not return is reported here, too.
    let mut wrong = x.try_clone()?;
    wrong += &GpuArray::<i32, Ix3>::zeros(device, (7, 7, 7))?;
    ensure!(wrong.t().to_standard_layout().is_err());
    Ok(())
}

fn owned_arrays_change_their_shape(device: &Device) -> Outcome {
    let x = GpuArray::arange(device, 0, 24, 1)?.into_shape((2, 3, INFER))?;
    let h = Array::from_iter(0..24).into_shape_with_order((2, 3, 4))?;
    ensure_eq!(x.to_ndarray()?, h);
    let x = x.into_permuted_axes([1, 0, 2])?;
    let h = h.permuted_axes([1, 0, 2]);
    ensure_eq!((x.to_ndarray()?, x.is_contiguous()), (h.clone(), false));
    ensure_eq!(x.as_device_vec().to_vec()?, (0..24).collect::<Vec<_>>());
    let x = x.into_dyn().reversed_axes();
    ensure_eq!(x.to_ndarray()?, h.clone().reversed_axes().into_dyn());
    let x = x.into_dimensionality::<Ix3>()?;
    ensure_eq!(x.to_owned()?.into_shape(24)?.to_ndarray()?, Array1::from_iter(h.reversed_axes()));
    ensure!(matches!(x.try_clone()?.into_shape(24), Err(ArrayError::ReshapeNeedsCopy { .. })));
    ensure!(matches!(x.try_clone()?.into_shape(23), Err(ArrayError::Reshape { .. })));
    ensure!(matches!(x.try_clone()?.into_permuted_axes([0, 0, 1]), Err(ArrayError::Permutation { .. })));
    ensure!(matches!(x.into_dimensionality::<Ix2>(), Err(ArrayError::Ndim { expected: 2, got: 3, .. })));
    Ok(())
}

fn parts_can_be_written_side_by_side(device: &Device) -> Outcome {
    let mut x = GpuArray::<i32, _>::zeros(device, (4, 7))?;
    let (mut left, mut right) = x.split_at_mut(Axis(1), 3)?;
    let (mut top, mut bottom) = left.split_at_mut(Axis(0), 1)?;
    right.fill(3)?;
    bottom.fill(2)?;
    top.fill(1)?;
    let mut want = Array2::from_elem((4, 7), 3);
    want.slice_mut(s![.., ..3]).fill(2);
    want.slice_mut(s![0, ..3]).fill(1);
    ensure_eq!(x.to_ndarray()?, want);
    ensure_eq!(x.chunks(Axis(0), 9)?.len(), 1);
    let mut chunks: Vec<_> = x.chunks_mut(Axis(1), 3)?.collect();
    for (i, chunk) in chunks.iter_mut().enumerate().rev() {
        chunk.fill(i as i32)?;
    }
    ensure_eq!(chunks.len(), 3);
    let want = Array2::from_shape_fn((4, 7), |(_, j)| j as i32 / 3);
    ensure_eq!(x.to_ndarray()?, want);
    Ok(())
}

fn pinned_arrays_round_trip(device: &Device) -> Outcome {
    let h = host();
    let mut x = GpuArray::zeros(device, (4, 5, 6))?;
    let pinned = PinnedArray::from_ndarray(device, &h.view().permuted_axes([0, 1, 2]))?;
    ensure_eq!((pinned.view(), pinned.to_ndarray()), (h.view(), h.clone()));
    let mut pinned = x.upload(pinned)?.wait()?;
    pinned.view_mut().fill(0);
    let pending = x.download(pinned)?;
    x.stream().synchronize()?;
    ensure!(pending.is_done()?);
    let pinned = pending.wait()?;
    ensure_eq!(pinned.view(), h);
    ensure!(matches!(
        x.reshape((20, 6))?.to_owned()?.download(PinnedArray::zeros(device, (6, 20))?).map(drop),
        Err(ArrayError::Shape { op: "download", .. })
    ));
    let mut turned = x.reversed_axes();
    let wrong = turned.upload(PinnedArray::zeros(device, (6, 5, 4))?).map(drop);
    ensure!(matches!(wrong, Err(ArrayError::NotInCOrder { op: "upload", .. })));
    let mask = h.mapv(|x| x % 2 == 0);
    let pinned = PinnedArray::from_ndarray(device, &mask.t())?;
    let mut x = GpuArray::full(device, (6, 5, 4), false)?;
    ensure_eq!(x.upload(pinned)?.wait()?.to_ndarray(), mask.t());
    ensure_eq!(x.to_ndarray()?, mask.t());
    let none = PinnedArray::<f32, _>::zeros(device, (0, 3))?;
    ensure_eq!(GpuArray::zeros(device, (0, 3))?.download(none)?.wait()?.shape().to_vec(), [0, 3]);
    ensure!(matches!(PinnedArray::<u8, _>::zeros(device, (usize::MAX, 2)), Err(ArrayError::TooLarge { .. })));
    Ok(())
}

fn single_values_are_read(device: &Device) -> Outcome {
    let x = GpuArray::from_ndarray(device, &host())?;
    ensure_eq!(x.slice(s![2, -1, 3])?.get()?, 243);
    ensure_eq!(x.slice(s![3..4, 0..1, ..;-7])?.get()?, 305);
    ensure_eq!(GpuArray::from_ndarray(device, &arr0(true))?.get()?, true);
    ensure!(matches!(x.get(), Err(ArrayError::NotOneElement { .. })));
    ensure!(matches!(x.slice(s![0..0, 0, 0])?.get(), Err(ArrayError::NotOneElement { .. })));
    Ok(())
}

fn empty_arrays_have_views(device: &Device) -> Outcome {
    let mut x = GpuArray::<f32, _>::zeros(device, (3, 0, 2))?;
    ensure_eq!((x.len(), x.is_empty(), x.is_contiguous()), (0, true, true));
    ensure_eq!(x.t().to_ndarray()?, Array3::zeros((2, 0, 3)));
    ensure_eq!(x.slice(s![..;-1, .., 1])?.to_ndarray()?, Array2::zeros((3, 0)));
    ensure_eq!(x.reshape((0, 7))?.to_ndarray()?, Array2::zeros((0, 7)));
    ensure_eq!(x.broadcast((5, 3, 0, 2))?.shape().to_vec(), [5, 3, 0, 2]);
    ensure_eq!(x.chunks(Axis(1), 4)?.len(), 0);
    x.slice_mut(s![1.., .., ..;-1])?.copy_from_ndarray(&Array3::zeros((2, 0, 2)))?;
    x.slice_mut(s![1.., .., ..;-1])?.fill(1.0)?;
    let y = GpuArray::from_ndarray(device, &host())?;
    ensure_eq!(y.slice(s![4.., .., ..;-1])?.to_ndarray()?, Array3::zeros((0, 5, 6)));
    Ok(())
}

fn views_print(device: &Device) -> Outcome {
    let h = array![[1, 2, 3], [4, 5, 6]];
    let mut x = GpuArray::from_ndarray(device, &h)?;
    ensure_eq!(x.t().to_string(), h.t().to_string());
    ensure_eq!(format!("{:8}", x.slice(s![0, ..;-1])?), format!("{:8}", h.slice(s![0, ..;-1])));
    ensure_eq!(format!("{:?}", x.view()), "GpuView<int32>(shape [2, 3], device 0)");
    ensure_eq!(format!("{:?}", x.t()), "GpuView<int32>(shape [3, 2], strides [1, 3], device 0)");
    ensure_eq!(format!("{:?}", x.slice_mut(s![.., 0])?), "GpuViewMut<int32>(shape [2], strides [3], device 0)");
    Ok(())
}

fn what_has_no_view_is_an_error(device: &Device) -> Outcome {
    let mut x = GpuArray::from_ndarray(device, &host())?;
    ensure!(matches!(x.slice(s![4, .., ..]), Err(ArrayError::Index { axis: 0, len: 4, index: 4, .. })));
    ensure!(matches!(x.slice_mut(s![.., ..6, ..]), Err(ArrayError::Slice { axis: 1, len: 5, .. })));
    ensure!(matches!(x.index_axis(Axis(3), 0), Err(ArrayError::Axis { axis: 3, ndim: 3, .. })));
    ensure!(matches!(x.diagonal_of(0, Axis(3), Axis(0)), Err(ArrayError::Axis { axis: 3, ndim: 3, .. })));
    ensure!(matches!(x.diagonal_of(0, Axis(1), Axis(1)), Err(ArrayError::RepeatedAxis { axis: 1, .. })));
    ensure!(matches!(x.diagonal_of_mut(1, Axis(0), Axis(7)), Err(ArrayError::Axis { axis: 7, .. })));
    ensure!(matches!(x.len_of(Axis(3)), Err(ArrayError::Axis { axis: 3, ndim: 3, .. })));
    ensure!(matches!(x.broadcast((4, 5, 7)), Err(ArrayError::Broadcast { .. })));
    ensure!(matches!(x.view().into_dimensionality::<Ix2>(), Err(ArrayError::Ndim { .. })));
    ensure!(matches!(x.view_mut().into_dyn().into_dimensionality::<Ix1>(), Err(ArrayError::Ndim { .. })));
    let one = GpuArray::from_ndarray(device, &arr0(1u8))?;
    let endless = one.broadcast(1 << 60)?;
    ensure!(endless.to_ndarray().is_err(), "no memory is that large");
    ensure_eq!(endless.chunks(Axis(0), 1)?.len(), 1 << 60);
    ensure_eq!(endless.chunks(Axis(0), usize::MAX)?.len(), 1);
    ensure!(matches!(endless.chunks(Axis(0), 0), Err(ArrayError::Chunk { axis: 0, .. })));
    ensure!(matches!(one.broadcast((1 << 40, 1 << 40)), Err(ArrayError::TooLarge { .. })));
    Ok(())
}

fn views_keep_their_stream(device: &Device) -> Outcome {
    let side = Stream::new(device)?;
    let mut x = GpuArray::full(&side, (3, 4), 1u16)?;
    ensure!(x.t().stream() == &side && x.t().to_owned()?.stream() == &side && x.device() == device);
    x.slice_mut(s![.., 1])?.copy_from_ndarray(&array![5, 6, 7])?;
    ensure_eq!(x.slice(s![1, ..])?.to_ndarray()?, array![1, 6, 1, 1]);
    Ok(())
}
