//! The two places where arrays are, expressions are evaluated and arrays are joined.

use ndarray::{Array, ArrayViewMut, Axis, Dimension};

use crate::{
    Element, GpuArray, GpuViewMut, Numeric, Result, concatenate,
    element::{is_aligned, places_mut, view_mut_of},
    expression::{
        Backend, Expr, Gpu, Host, Internal, host, host_owned,
        job::{self, Job, Target, TargetKind},
    },
    layout::Layout,
    view::{NOT_ALIGNED, layout_of_bytes, refused_bytes},
};

impl Backend for Gpu {
    type Owned<T: Element, D: Dimension> = GpuArray<T, D>;
    type ViewMut<'t, T: Element + 't, D: Dimension + 't> = GpuViewMut<'t, T, D>;

    fn expr<T: Element, D: Dimension>(array: &GpuArray<T, D>) -> Expr<'_, T, D> {
        array.to_expr()
    }

    fn owned_expr<T: Element, D: Dimension>(array: GpuArray<T, D>) -> Expr<'static, T, D> {
        array.into_owned_expr()
    }

    fn resolve(job: &mut Job<'_>, _: Internal) -> Result<()> {
        job.resolve_on_device()
    }

    #[track_caller]
    fn allocate<T: Element, D: Dimension>(job: &Job<'_>, _: Internal) -> Result<GpuArray<T, D>> {
        job.new_device_array()
    }

    fn target<T: Element, D: Dimension>(array: &mut GpuArray<T, D>, _: Internal) -> Target<'_> {
        let data = array.as_device_vec();
        Target(TargetKind::Device { address: data.as_raw(), len: data.len(), dtype: T::DTYPE })
    }

    fn run(job: &Job<'_>, targets: &mut [Target<'_>], _: Internal) -> Result<()> {
        job.run_on_device(targets)
    }

    fn laid_mut<'v, T: Element, D: Dimension + 'v, E: Dimension + 'v>(
        view: GpuViewMut<'v, T, D>,
        of: impl FnOnce(&Layout<D>) -> Result<Layout<E>>,
        _: Internal,
    ) -> Result<GpuViewMut<'v, T, E>> {
        let layout = of(view.layout())?;
        Ok(view.with(layout))
    }

    fn laid_both_mut<'v, T: Element, D: Dimension + 'v>(
        view: GpuViewMut<'v, T, D>,
        of: impl FnOnce(&Layout<D>) -> Result<(Layout<D>, Layout<D>)>,
        _: Internal,
    ) -> Result<(GpuViewMut<'v, T, D>, GpuViewMut<'v, T, D>)> {
        let (before, after) = of(view.layout())?;
        Ok(view.with_both(before, after))
    }

    fn of_bytes_mut<'v, T: Numeric, U: Numeric, D: Dimension + 'v>(
        view: GpuViewMut<'v, T, D>,
        _: Internal,
    ) -> Result<GpuViewMut<'v, U, D>> {
        view.cast_bytes()
    }

    fn fill<T: Element, D: Dimension>(view: GpuViewMut<'_, T, D>, value: T, _: Internal) -> Result<()> {
        job::fill(view, value)
    }

    #[track_caller]
    fn join<T: Element, D: Dimension>(
        op: &'static str,
        axis: Axis,
        arrays: &[Expr<'_, T, D>],
        _: Internal,
    ) -> Result<GpuArray<T, D>> {
        concatenate::join(op, axis, arrays)
    }
}

impl Backend for Host {
    type Owned<T: Element, D: Dimension> = Array<T, D>;
    type ViewMut<'t, T: Element + 't, D: Dimension + 't> = ArrayViewMut<'t, T, D>;

    fn expr<T: Element, D: Dimension>(array: &Array<T, D>) -> Expr<'_, T, D, Self> {
        host(array)
    }

    fn owned_expr<T: Element, D: Dimension>(array: Array<T, D>) -> Expr<'static, T, D, Self> {
        host_owned(array)
    }

    fn resolve(job: &mut Job<'_>, _: Internal) -> Result<()> {
        job.code.resolve(None)
    }

    fn allocate<T: Element, D: Dimension>(job: &Job<'_>, _: Internal) -> Result<Array<T, D>> {
        job.new_host_array()
    }

    fn target<T: Element, D: Dimension>(array: &mut Array<T, D>, _: Internal) -> Target<'_> {
        // New arrays are in C order.
        Target(TargetKind::Host(T::host_slice_mut(array.as_slice_mut().unwrap_or_default())))
    }

    fn run(job: &Job<'_>, targets: &mut [Target<'_>], _: Internal) -> Result<()> {
        job.run_on_host(targets)
    }

    #[expect(unsafe_code, reason = "the elements that a layout leads to are known to the layouts")]
    fn laid_mut<'v, T: Element, D: Dimension + 'v, E: Dimension + 'v>(
        mut view: ArrayViewMut<'v, T, D>,
        of: impl FnOnce(&Layout<D>) -> Result<Layout<E>>,
        _: Internal,
    ) -> Result<ArrayViewMut<'v, T, E>> {
        let (layout, least) = places_mut(&mut view);
        let layout = of(&layout)?;
        // SAFETY: the layout leads to elements of the view, to each once, and the view is given up. They are of its type, so each is aligned.
        Ok(unsafe { view_mut_of(least, &layout) })
    }

    #[expect(unsafe_code, reason = "the elements that a layout leads to are known to the layouts")]
    fn laid_both_mut<'v, T: Element, D: Dimension + 'v>(
        mut view: ArrayViewMut<'v, T, D>,
        of: impl FnOnce(&Layout<D>) -> Result<(Layout<D>, Layout<D>)>,
        _: Internal,
    ) -> Result<(ArrayViewMut<'v, T, D>, ArrayViewMut<'v, T, D>)> {
        let (layout, least) = places_mut(&mut view);
        let (before, after) = of(&layout)?;
        // SAFETY: as in `laid_mut`, and the two have no element in common.
        Ok(unsafe { (view_mut_of(least, &before), view_mut_of(least, &after)) })
    }

    #[expect(unsafe_code, reason = "numbers have a value for any bytes")]
    fn of_bytes_mut<'v, T: Numeric, U: Numeric, D: Dimension + 'v>(
        mut view: ArrayViewMut<'v, T, D>,
        _: Internal,
    ) -> Result<ArrayViewMut<'v, U, D>> {
        let (layout, least) = places_mut(&mut view);
        let other = layout_of_bytes::<T, U, D>(&layout)?;
        let least = least.cast::<U>();
        if !is_aligned(least, &other) {
            return Err(refused_bytes::<T, U, D>(&layout, NOT_ALIGNED));
        }
        // SAFETY: the elements have the bytes of the view's, each once, and the view is given up. All bytes are values of both types.
        Ok(unsafe { view_mut_of(least, &other) })
    }

    fn fill<T: Element, D: Dimension>(mut view: ArrayViewMut<'_, T, D>, value: T, _: Internal) -> Result<()> {
        view.fill(value);
        Ok(())
    }

    fn join<T: Element, D: Dimension>(
        op: &'static str,
        axis: Axis,
        arrays: &[Expr<'_, T, D, Self>],
        _: Internal,
    ) -> Result<Array<T, D>> {
        concatenate::join_on_host(op, axis, arrays)
    }
}
