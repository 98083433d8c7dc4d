//! Functions that are generic over the place: parts, joins and writes give the same on a device and on the host, and what ndarray gives.

use gpu_array::{
    ArrayError, ArrayMut, Complex, GpuArray, Numeric, Result, concatenate,
    expression::{Backend, Expr, Gpu, Host, host, promoted, roll},
    hstack, meshgrid, stack, vstack,
};
use gpu_driver::Device;
use ndarray::{
    Array, Array1, Array2, ArrayD, ArrayViewD, Axis, Ix1, Ix2, Ix3, IxDyn, MeshIndex, SliceInfoElem, arr0, array, s,
};
use testkit::{Layout, Outcome, Test, ensure, ensure_eq, tests};

pub const TESTS: &[Test<Device>] = tests![
    parts_of_every_layout_are_those_of_ndarray,
    joins_of_every_layout_are_those_of_ndarray,
    rows_and_columns_are_joined,
    grids_and_copies_are_those_of_ndarray,
    writes_to_every_layout_are_those_of_the_definition,
    parts_of_values_are_told,
    writes_that_cannot_be_done_leave_the_array_as_it_is,
    parts_of_every_layout_are_written_at_either_place,
    parts_of_empty_arrays_are_written_at_either_place,
    parts_that_are_none_have_one_error_at_either_place,
    bytes_are_read_and_written_at_either_place,
];

fn into_dyn<'a, P: Backend>(x: Expr<'a, i32, Ix3, P>) -> Expr<'a, i32, IxDyn, P> {
    x.into_dyn()
}

fn text(array: &ArrayD<i32>) -> String {
    format!("{:?} {array}", array.shape())
}

/// The text of each part of an array of three axes, or the error.
fn parts<P: Backend>(x: &Expr<'_, i32, IxDyn, P>, to_host: fn(P::Owned<i32, IxDyn>) -> ArrayD<i32>) -> Vec<String> {
    let told = |part: Result<Expr<'_, i32, IxDyn, P>>| match part.and_then(|part| part.eval()) {
        Ok(array) => text(&to_host(array)),
        Err(error) => error.to_string(),
    };
    let mut all = vec![
        told(x.slice(s![1.., ..;-1, ..;2]).map(into_dyn)),
        told(x.slice(s![9.., .., ..]).map(into_dyn)),
        told(Ok(x.t())),
        told(x.permuted_axes(IxDyn(&[2, 0, 1]))),
        told(x.permuted_axes(IxDyn(&[2, 0, 0]))),
        told(x.swap_axes(Axis(0), Axis(2))),
        told(x.swap_axes(Axis(0), Axis(3))),
        told(x.invert_axis(Axis(1))),
        told(x.insert_axis(Axis(3))),
        told(x.insert_axis(Axis(4))),
        told(x.index_axis(Axis(1), 1)),
        told(x.index_axis(Axis(1), 7)),
        told(x.diagonal_of(1, Axis(0), Axis(2))),
        told(x.insert_axis(Axis(1)).map(|wide| wide.squeeze())),
    ];
    for parts in
        [x.split(Axis(2), 2), x.array_split(Axis(1), 2), x.split_at_indices(Axis(0), &[1, 2]), x.split(Axis(1), 2)]
    {
        match parts {
            Ok(parts) => all.extend(parts.into_iter().map(|part| told(Ok(part)))),
            Err(error) => all.push(error.to_string()),
        }
    }
    match x.split_at(Axis(2), 3) {
        Ok((before, after)) => all.extend([told(Ok(before)), told(Ok(after))]),
        Err(error) => all.push(error.to_string()),
    }
    all
}

/// The same parts by ndarray, for some of them.
fn parts_by_ndarray(x: &ArrayViewD<'_, i32>) -> Vec<(usize, String)> {
    let text = |view: ArrayViewD<'_, i32>| text(&view.to_owned());
    let (before, after) = x.view().split_at(Axis(2), 3);
    let mut inverted = x.view();
    inverted.invert_axis(Axis(1));
    vec![
        (0, text(x.slice(s![1.., ..;-1, ..;2]).into_dyn())),
        (2, text(x.t())),
        (3, text(x.view().permuted_axes(IxDyn(&[2, 0, 1])))),
        (7, text(inverted)),
        (10, text(x.index_axis(Axis(1), 1))),
        (14, text(x.slice(s![.., .., ..2]).into_dyn())),
        (22, text(before)),
        (23, text(after)),
    ]
}

/// The elements of an array that a layout selects, as the methods of expressions select them; None for one that repeats elements.
fn laid<'a, P: Backend>(
    x: &Expr<'a, i32, IxDyn, P>,
    layout: &Layout,
    shape: &[usize],
) -> Option<Expr<'a, i32, IxDyn, P>> {
    let part = x.permuted_axes(IxDyn(&layout.axes())).and_then(|x| x.slice(&layout.slices()[..])).ok()?;
    part.shape().is_ok_and(|own| own == shape).then_some(part)
}

fn numbered(shape: &[usize]) -> ArrayD<i32> {
    let mut number = 0..;
    Array::from_shape_simple_fn(IxDyn(shape), || number.next().unwrap_or(0))
}

fn parts_of_every_layout_are_those_of_ndarray(device: &Device) -> Outcome {
    let shape = [3, 3, 4];
    let mut seen = 0;
    for (name, layout) in Layout::each(&shape) {
        let base = numbered(&layout.base);
        let x = GpuArray::from_ndarray(device, &base)?;
        let (Some(on_host), Some(on_device)) =
            (laid(&host(&base), &layout, &shape), laid(&Gpu::expr(&x), &layout, &shape))
        else {
            continue;
        };
        seen += 1;
        let of_host = parts::<Host>(&on_host, |array| array);
        let of_device = parts::<Gpu>(&on_device, |x| x.to_ndarray().unwrap_or_default());
        ensure!(of_device == of_host, "{name}: {of_device:#?}, {of_host:#?}");
        // A view that has the layout already is the same.
        let view = layout.of_host(base.view());
        ensure!(parts::<Host>(&host(view.view()), |array| array) == of_host, "{name}");
        for (number, want) in parts_by_ndarray(&view) {
            ensure!(of_host[number] == want, "{name}: part {number}");
        }
    }
    ensure!(seen > 5, "{seen} layouts");
    Ok(())
}

/// The first `end` indices, or all for more than there can be, in steps.
fn back(end: usize, step: isize) -> SliceInfoElem {
    SliceInfoElem::Slice { start: 0, end: isize::try_from(end).ok(), step }
}

/// Parts of arrays without elements, whose strides lead nowhere.
fn parts_of_empty_arrays_are_written_at_either_place(device: &Device) -> Outcome {
    fn write<P: gpu_array::PartsMut<i32, IxDyn>>(x: &mut P) -> Result<Vec<usize>> {
        use gpu_array::PartsMut;
        let last = Axis(x.as_expr().shape()?.len() - 1);
        x.slice_mut(&[back(usize::MAX, 1), back(usize::MAX, -1)][..])?.fill(1)?;
        x.invert_axis_mut(Axis(0))?.fill(2)?;
        x.insert_axis_mut(Axis(1))?.fill(3)?;
        x.t_mut()?.fill(4)?;
        x.view_as_mut::<i16>()?.fill(5)?;
        x.fill(6)?;
        Ok(x.split_at_mut(last, 0)?.1.as_expr().shape()?.to_vec())
    }
    for shape in [[3, 0], [0, 3], [0, 0]] {
        let mut on_host = ArrayD::<i32>::zeros(&shape[..]);
        let mut x = GpuArray::from_ndarray(device, &on_host)?;
        ensure_eq!(write(&mut on_host)?, shape);
        ensure_eq!(write(&mut x)?, shape);
        let mut cut = ArrayD::<i32>::zeros(&[3, 4][..]);
        let mut part = cut.slice_mut(&[back(shape[0], 1), back(shape[1], -1)][..]);
        ensure_eq!(write(&mut part)?, shape);
        drop(part);
        ensure!(cut.iter().all(|&x| x == 0), "{cut}");
    }
    Ok(())
}

/// Arrays of the place as arrays of the host.
trait ToHost: Backend {
    fn to_host<D: ndarray::Dimension>(array: Result<Self::Owned<i32, D>>) -> Result<Array<i32, D>>;
}

impl ToHost for Host {
    fn to_host<D: ndarray::Dimension>(array: Result<Array<i32, D>>) -> Result<Array<i32, D>> {
        array
    }
}

impl ToHost for Gpu {
    fn to_host<D: ndarray::Dimension>(array: Result<GpuArray<i32, D>>) -> Result<Array<i32, D>> {
        array?.to_ndarray()
    }
}

fn joins_of_every_layout_are_those_of_ndarray(device: &Device) -> Outcome {
    fn of<P: ToHost>(x: &Expr<'_, i32, IxDyn, P>, y: &Expr<'_, i32, IxDyn, P>, axis: Axis) -> Result<[ArrayD<i32>; 3]> {
        Ok([
            P::to_host(concatenate(axis, [x, y, x]))?,
            P::to_host(stack(axis, [x, y]))?,
            // A value is computed first.
            P::to_host(concatenate(axis, [x + 1, -y]))?,
        ])
    }
    for shape in [&[7][..], &[3, 4], &[2, 3, 4], &[2, 0, 3]] {
        for (name, layout) in Layout::each(shape) {
            let base = numbered(&layout.base);
            let (view, y) = (layout.of_host(base.view()), ArrayD::from_elem(IxDyn(shape), -5));
            let (dx, dy) = (GpuArray::from_ndarray(device, &view)?, GpuArray::from_ndarray(device, &y)?);
            for axis in (0..shape.len()).map(Axis) {
                let joined = [
                    ndarray::concatenate(axis, &[view.view(), y.view(), view.view()])?,
                    ndarray::stack(axis, &[view.view(), y.view()])?,
                    ndarray::concatenate(axis, &[(&view + 1).view(), (-&y).view()])?,
                ];
                let on_host = of(&host(view.view()), &host(&y), axis)?;
                ensure!(on_host == joined, "{name} of {shape:?} along {axis:?}");
                ensure!(on_host.iter().all(ArrayD::is_standard_layout));
                ensure!(of(&Gpu::expr(&dx), &Gpu::expr(&dy), axis)? == joined, "{name} of {shape:?} along {axis:?}");
            }
        }
    }
    Ok(())
}

fn rows_and_columns_are_joined(device: &Device) -> Outcome {
    fn of<P: ToHost>(x: &Expr<'_, i32, Ix2, P>, v: &Expr<'_, i32, Ix1, P>) -> Result<[ArrayD<i32>; 4]> {
        Ok([
            P::to_host(hstack([x, &(x * 2)]))?.into_dyn(),
            P::to_host(vstack([x, x]))?.into_dyn(),
            P::to_host(hstack([v, v]))?.into_dyn(),
            P::to_host(vstack([v, &-v]))?.into_dyn(),
        ])
    }
    fn errors<P: ToHost>(x: &Expr<'_, i32, Ix2, P>, v: &Expr<'_, i32, Ix1, P>) -> [Option<ArrayError>; 5] {
        let none: [&Expr<'_, i32, Ix2, P>; 0] = [];
        [
            concatenate(Axis(2), [x]).err(),
            concatenate(Axis(1), [x, &x.t()]).err(),
            concatenate(Axis(0), none).err(),
            stack(Axis(2), [v]).err(),
            vstack(none).err(),
        ]
    }
    let (x, v) = (array![[1, 2, 3], [4, 5, 6]], array![7, 8, 9]);
    let (dx, dv) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &v)?);
    let want = [
        array![[1, 2, 3, 2, 4, 6], [4, 5, 6, 8, 10, 12]].into_dyn(),
        array![[1, 2, 3], [4, 5, 6], [1, 2, 3], [4, 5, 6]].into_dyn(),
        array![7, 8, 9, 7, 8, 9].into_dyn(),
        array![[7, 8, 9], [-7, -8, -9]].into_dyn(),
    ];
    ensure_eq!(of(&host(&x), &host(&v))?, want);
    ensure_eq!(of(&Gpu::expr(&dx), &Gpu::expr(&dv))?, want);
    let told = [
        Some(ArrayError::Axis { op: "concatenate", axis: 2, ndim: 2 }),
        Some(ArrayError::Join { op: "concatenate", axis: 1, number: 1, expected: vec![2, 3], got: vec![3, 2] }),
        Some(ArrayError::NoArrays { op: "concatenate" }),
        Some(ArrayError::Axis { op: "stack", axis: 2, ndim: 2 }),
        Some(ArrayError::NoArrays { op: "vstack" }),
    ];
    let text = |errors: &[Option<ArrayError>; 5]| errors.each_ref().map(|error| format!("{error:?}"));
    ensure_eq!(text(&errors(&host(&x), &host(&v))), text(&told));
    ensure_eq!(text(&errors(&Gpu::expr(&dx), &Gpu::expr(&dv))), text(&told));
    Ok(())
}

fn grids_and_copies_are_those_of_ndarray(device: &Device) -> Outcome {
    fn of<P: ToHost>(x: &Expr<'_, i32, Ix1, P>, y: &Expr<'_, i32, Ix1, P>) -> Result<[Array2<i32>; 5]> {
        let [columns, rows] = meshgrid([x, y], MeshIndex::XY)?;
        let sum = P::to_host((&columns * 100 + &rows).eval())?;
        Ok([
            P::to_host(columns.eval())?,
            P::to_host(rows.eval())?,
            sum,
            P::to_host(columns.zeros_like())?,
            P::to_host(rows.full_like(7))?,
        ])
    }
    let (x, y) = (array![1, 2, 3], array![5, 6]);
    let (dx, dy) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
    let want = [
        array![[1, 2, 3], [1, 2, 3]],
        array![[5, 5, 5], [6, 6, 6]],
        array![[105, 205, 305], [106, 206, 306]],
        Array2::zeros((2, 3)),
        Array2::from_elem((2, 3), 7),
    ];
    ensure_eq!(of(&host(&x), &host(&y))?, want);
    ensure_eq!(of(&Gpu::expr(&dx), &Gpu::expr(&dy))?, want);
    ensure_eq!(host(&x).ones_like()?, Array1::<i32>::ones(3));
    // Reversed arrays are read from their last element on.
    let (back, on) = (x.slice(s![..;-1]), dx.slice(s![..;-1])?);
    let want = array![[3, 2, 1], [3, 2, 1]];
    ensure_eq!(meshgrid([host(back), host(y.view())], MeshIndex::XY)?[0].eval()?, want);
    ensure_eq!(meshgrid([on, dy.view()], MeshIndex::XY)?[0].eval()?.to_ndarray()?, want);
    Ok(())
}

/// Writes of all kinds, one after the other.
fn write<P: Backend>(
    x: &mut impl ArrayMut<i32, IxDyn, Backend = P>,
    row: &Expr<'_, i32, IxDyn, P>,
    mask: &Expr<'_, bool, IxDyn, P>,
    [at, values]: [&Expr<'_, i32, Ix1, P>; 2],
) -> Result<()> {
    x.update(|x| x * 3 + row)?;
    x.assign_where(mask, -1)?;
    x.put(at, values)?;
    x.put(at.cast::<u8>() % 2, 100)?;
    x.assign_where(!mask, row)
}

fn writes_to_every_layout_are_those_of_the_definition(device: &Device) -> Outcome {
    let shape = [3, 4];
    let row = array![10, 20, 30, 40].into_dyn();
    let mask = ArrayD::from_shape_fn(IxDyn(&shape), |at| (at[0] + 2 * at[1]) % 3 == 0);
    let (at, values) = (array![0, -1, 5, 5, 2], array![1, 2, 3, 4, 5]);
    let [drow, dmask] =
        [GpuArray::from_ndarray(device, &row)?.into_dyn(), GpuArray::from_ndarray(device, &row)?.into_dyn()];
    drop(dmask);
    let (dmask, dat, dvalues) = (
        GpuArray::from_ndarray(device, &mask)?,
        GpuArray::from_ndarray(device, &at)?,
        GpuArray::from_ndarray(device, &values)?,
    );
    for (name, layout) in Layout::each(&shape) {
        let base = numbered(&layout.base);
        if layout.of_host(base.view()).shape() != shape || layout.broadcast().is_some() {
            continue;
        }
        let mut want = base.clone();
        let mut view = layout.of_host_mut(want.view_mut());
        view.zip_mut_with(&row.broadcast(IxDyn(&shape)).ok_or("a row")?, |x, row| *x = *x * 3 + row);
        view.zip_mut_with(&mask, |x, mask| *x = if *mask { -1 } else { *x });
        for (at, value) in [(0, 1), (11, 2), (5, 4), (2, 5), (0, 100), (1, 100)] {
            view[[at / 4, at % 4]] = value;
        }
        for ((place, x), mask) in view.indexed_iter_mut().zip(&mask) {
            *x = if *mask { *x } else { row[place[1]] };
        }
        let mut got = base.clone();
        let indices = [&host(&at), &host(&values)];
        write(&mut layout.of_host_mut(got.view_mut()), &host(&row), &host(&mask), indices)?;
        ensure!(got == want, "{name}");
        let mut x = GpuArray::from_ndarray(device, &base)?;
        let indices = [&Gpu::expr(&dat), &Gpu::expr(&dvalues)];
        let mut permuted = x.permuted_axes_mut(IxDyn(&layout.axes()))?;
        write(&mut permuted.slice_mut(&layout.slices()[..])?, &Gpu::expr(&drow), &Gpu::expr(&dmask), indices)?;
        ensure!(x.to_ndarray()? == want, "{name}");
    }
    Ok(())
}

fn parts_of_values_are_told(_: &Device) -> Outcome {
    let x = array![[1, 2], [3, 4]];
    let twice = host(&x) * 2;
    let told = twice.slice(s![0, ..]).err().map(|error| error.to_string());
    ensure_eq!(told.as_deref(), Some("slice reads arrays and views: evaluate (int32[2, 2] * 2) first"));
    for error in [twice.t().eval().err(), twice.split(Axis(0), 2).err(), twice.split_at(Axis(0), 1).err()] {
        ensure!(matches!(error, Some(ArrayError::NotAnArray { .. })), "{error:?}");
    }
    let rolled = x.clone().update(|x| roll(x, 1, Axis(0))).err();
    ensure!(matches!(rolled, Some(ArrayError::NotAnArray { .. })), "{rolled:?}");
    // An operand has the axes that its type says.
    let row = array![5, 6, 7];
    let wide = promoted::<i32, Ix2, Host, _>(host(&row));
    ensure_eq!(wide.t().eval()?, array![[5], [6], [7]]);
    let nine = arr0(9);
    let one = promoted::<i32, Ix1, Host, _>(host(&nine));
    ensure_eq!(meshgrid([one], MeshIndex::IJ)?[0].eval()?, array![9]);
    Ok(())
}

fn writes_that_cannot_be_done_leave_the_array_as_it_is(_: &Device) -> Outcome {
    let before = array![[1, 2], [3, 4]];
    let mut x = before.clone();
    let (row, mask) = (array![1, 2, 3], array![true, false, true]);
    let (row, mask) = (host(&row), host(&mask));
    let errors = [
        x.assign_value(&row).err(),
        x.assign_where(&mask, 1).err(),
        x.update(|x| x + &row).err(),
        x.put(&row + 1, 1).err(),
        x.put(&row, host(&array![1, 2])).err(),
        x.view_mut().reversed_axes().assign_value(&row).err(),
    ];
    for (number, error) in errors.iter().enumerate() {
        ensure!(
            matches!(error, Some(ArrayError::Operands { .. } | ArrayError::OutOfBounds { .. })),
            "{number}: {error:?}"
        );
    }
    ensure!(
        matches!(errors[3], Some(ArrayError::OutOfBounds { op: "put", index: 4, number: 2, len: 4 })),
        "{:?}",
        errors[3]
    );
    ensure_eq!(x, before);
    Ok(())
}

/// Code for either place writes to parts of arrays: the trait is in scope here alone, where ndarray's own methods are not called.
mod parts_mut {
    use gpu_array::{ArrayError, ArrayMut, Numeric, PartsMut, Result, expression::Backend};
    use ndarray::{Axis, IxDyn, s};

    /// A write to each kind of part, one after the other; each sees those before it. The array has three axes.
    pub(super) fn write<P: Backend>(x: &mut impl ArrayMut<i32, IxDyn, Backend = P>) -> Result<()> {
        x.slice_mut(s![1.., ..;-1, ..;2])?.update(|part| part * 2 + 1)?;
        x.t_mut()?.index_axis_mut(Axis(0), 1)?.fill(-3)?;
        x.permuted_axes_mut(IxDyn(&[2, 0, 1]))?.slice_mut(s![-1, .., 0])?.update(|part| part + 100)?;
        x.swap_axes_mut(Axis(0), Axis(2))?.diagonal_of_mut(1, Axis(1), Axis(2))?.fill(7)?;
        x.invert_axis_mut(Axis(1))?.slice_mut(s![.., 0, 0])?.fill(8)?;
        x.insert_axis_mut(Axis(1))?.squeeze_mut()?.diagonal_mut()?.update(|part| part * 1000)?;
        {
            let (mut before, mut after) = x.split_at_mut(Axis(2), 3)?;
            before
                .slice_mut(s![0, 0, ..])?
                .assign_value(after.as_expr().index_axis(Axis(2), 0)?.index_axis(Axis(1), 0)?)?;
            after.update(|part| -part)?;
        }
        x.slice_mut(s![..0, .., ..])?.fill(55)?;
        // Some layouts cannot have another shape without a copy; the array stays as it is then.
        match x.reshape_mut((9, 4)) {
            Ok(mut flat) => flat.index_axis_mut(Axis(0), 4)?.fill(9),
            Err(ArrayError::ReshapeNeedsCopy { .. }) => Ok(()),
            Err(other) => Err(other),
        }
    }

    /// The errors of parts that an array of three axes of lengths 3, 3, 4 does not have.
    pub(super) fn errors<P: Backend>(x: &mut impl ArrayMut<i32, IxDyn, Backend = P>) -> Vec<Option<ArrayError>> {
        vec![
            x.slice_mut(s![3, .., ..]).err(),
            x.slice_mut(s![.., .., 2..9]).err(),
            x.permuted_axes_mut(IxDyn(&[0, 0, 1])).err(),
            x.swap_axes_mut(Axis(0), Axis(3)).err(),
            x.invert_axis_mut(Axis(4)).err(),
            x.reshape_mut((5, 7)).err(),
            x.insert_axis_mut(Axis(5)).err(),
            x.index_axis_mut(Axis(1), 3).err(),
            x.diagonal_of_mut(0, Axis(1), Axis(1)).err(),
            x.split_at_mut(Axis(2), 5).err(),
            x.view_as_mut::<f64>().and_then(|mut x| x.index_axis_mut(Axis(2), 2).map(drop)).err(),
        ]
    }

    /// Writes a value to the first element of `U` in each row.
    pub(super) fn write_bytes<T: Numeric, U: Numeric, P: Backend>(
        x: &mut impl ArrayMut<T, IxDyn, Backend = P>,
        value: U,
    ) -> Result<()> {
        let mut bytes = x.view_as_mut::<U>()?;
        let last = Axis(bytes.as_expr().shape()?.len() - 1);
        bytes.index_axis_mut(last, 0)?.fill(value)
    }
}

fn parts_of_every_layout_are_written_at_either_place(device: &Device) -> Outcome {
    let shape = [3, 3, 4];
    let mut seen = 0;
    for (name, layout) in Layout::each(&shape) {
        let base = numbered(&layout.base);
        if layout.of_host(base.view()).shape() != shape || layout.broadcast().is_some() {
            continue;
        }
        seen += 1;
        let (mut on_host, mut want) = (base.clone(), base.clone());
        parts_mut::write(&mut layout.of_host_mut(on_host.view_mut()))?;
        let mut x = GpuArray::from_ndarray(device, &base)?;
        let mut permuted = x.permuted_axes_mut(IxDyn(&layout.axes()))?;
        parts_mut::write(&mut permuted.slice_mut(&layout.slices()[..])?)?;
        ensure!(x.to_ndarray()? == on_host, "{name}: {} and {on_host}", x.to_ndarray()?);
        // The same by ndarray.
        let mut view = layout.of_host_mut(want.view_mut());
        view.slice_mut(s![1.., ..;-1, ..;2]).mapv_inplace(|x| x * 2 + 1);
        view.index_axis_mut(Axis(2), 1).fill(-3);
        view.slice_mut(s![.., 0, -1]).mapv_inplace(|x| x + 100);
        (0..4).flat_map(|a| (0..2).map(move |b| [b + 1, b, a])).for_each(|at| view[&at[..]] = 7);
        view.slice_mut(s![.., -1, 0]).fill(8);
        (0..3).for_each(|i| view[[i, i, i]] *= 1000);
        (0..3).for_each(|i| view[[0, 0, i]] = view[[i, 0, 3]]);
        view.slice_mut(s![.., .., 3..]).mapv_inplace(|x| -x);
        let had_rows = view.view().into_shape_with_order((9, 4)).is_ok() || view.is_standard_layout();
        let place = |i: usize| [i / 12, i / 4 % 3, i % 4];
        let ninth = (16..20).map(place).all(|at| layout.of_host(on_host.view())[&at[..]] == 9);
        ensure!(ninth || !had_rows, "{name}");
        if ninth {
            (16..20).map(place).for_each(|at| view[&at[..]] = 9);
        }
        ensure!(on_host == want, "{name}: {on_host} and {want}");
    }
    ensure!(seen > 5, "{seen} layouts");
    Ok(())
}

fn parts_that_are_none_have_one_error_at_either_place(device: &Device) -> Outcome {
    let before = numbered(&[3, 3, 4]);
    let (mut on_host, mut on_device) = (before.clone(), GpuArray::from_ndarray(device, &before)?);
    let (of_host, of_device) = (parts_mut::errors(&mut on_host), parts_mut::errors(&mut on_device));
    ensure!(of_host.iter().all(Option::is_some), "{of_host:?}");
    ensure_eq!(format!("{of_host:?}"), format!("{of_device:?}"));
    ensure_eq!((&on_host, &on_device.to_ndarray()?), (&before, &before));
    // The last axis of a transpose has gaps between its elements.
    let refused = [host(&on_host).t().view_as::<i64>().err(), on_device.t().view_as::<i64>().err()];
    ensure!(refused.iter().all(|error| matches!(error, Some(ArrayError::ViewAs { .. }))), "{refused:?}");
    let value = [(host(&on_host) * 2).view_as::<i64>().err(), (&on_device * 2).view_as::<i64>().err()];
    ensure!(value.iter().all(|error| matches!(error, Some(ArrayError::NotAnArray { .. }))), "{value:?}");
    Ok(())
}

fn bytes_are_read_and_written_at_either_place(device: &Device) -> Outcome {
    fn of<T: Numeric, U: Numeric>(device: &Device, base: &ArrayD<T>, value: U) -> Outcome {
        fn read<T: Numeric, U: Numeric, P: Backend>(x: &Expr<'_, T, IxDyn, P>) -> Result<P::Owned<U, IxDyn>> {
            x.view_as::<U>()?.eval()
        }
        let case = format!("{} as {}", T::DTYPE, U::DTYPE);
        let x = GpuArray::from_ndarray(device, base)?;
        // Whole, and rows backwards without the first, as borrowed and as owned arrays.
        let rows = |x: &ArrayD<T>| x.slice(s![1..;-1, ..]).into_dyn().to_owned();
        let want = [x.view_as::<U>()?.to_ndarray()?, x.slice(s![1..;-1, ..])?.view_as::<U>()?.to_ndarray()?.into_dyn()];
        let part = base.slice(s![1..;-1, ..]).into_dyn();
        ensure!(read::<T, U, Host>(&host(base))? == want[0], "{case}");
        ensure!(read::<T, U, Host>(&host(part))? == want[1], "{case}");
        ensure!(read::<T, U, Host>(&Host::owned_expr(rows(base)))? == want[1], "{case}");
        let part = Gpu::expr(&x).slice(s![1..;-1, ..])?.into_dyn();
        ensure!(read::<T, U, Gpu>(&part)?.to_ndarray()? == want[1], "{case}");
        ensure!(read::<T, U, Gpu>(&Gpu::owned_expr(x.try_clone()?))?.to_ndarray()? == want[0], "{case}");
        let (mut on_host, mut on_device) = (base.clone(), x);
        parts_mut::write_bytes::<T, U, _>(&mut on_host, value)?;
        parts_mut::write_bytes::<T, U, _>(&mut on_device, value)?;
        ensure!(on_host != *base && on_device.to_ndarray()? == on_host, "{case}: {on_host}");
        let mut part = on_host.slice_mut(s![1..;-1, ..]).into_dyn();
        parts_mut::write_bytes::<T, U, _>(&mut part, value)?;
        let none = base.slice(s![..0, ..]).into_dyn();
        ensure_eq!(host(none).view_as::<U>()?.eval()?.len(), 0);
        Ok(())
    }
    let wide = ArrayD::from_shape_fn(IxDyn(&[3, 4]), |at| (at[0] * 4 + at[1] + 1) as f64 * 1.1);
    of(device, &wide, 3u8)?;
    of(device, &wide, 5i64)?;
    of(device, &wide, Complex::new(1.0f32, 2.0))?;
    of(device, &wide.mapv(|x| x as u16), 1.5f32)?;
    of(device, &wide.mapv(|x| Complex::new(x as f32, 0.0)), 9u16)?;
    // Bytes behind an odd address are no numbers of two, and are told as such.
    let bytes = Array1::from_iter(0..9u8);
    let odd = usize::from(bytes.as_ptr().addr() % 2 == 0);
    let error = host(bytes.slice(s![odd..odd + 8])).view_as::<u16>().err();
    ensure!(matches!(error, Some(ArrayError::ViewAs { why: "its first element is not aligned", .. })), "{error:?}");
    Ok(())
}
