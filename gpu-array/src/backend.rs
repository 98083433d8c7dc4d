//! The two places where arrays are, expressions are evaluated and arrays are joined.

use ndarray::{Array, ArrayViewMut, Axis, Dimension};
use smallvec::SmallVec;

use crate::{
    Element, GpuArray, GpuViewMut, Result, concatenate,
    expression::{
        Backend, Expr, Gpu, Host, Internal, host, host_owned,
        job::{Job, Target, TargetKind},
    },
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

    fn run(job: &Job<'_>, targets: SmallVec<[Target<'_>; 2]>, _: Internal) -> Result<()> {
        job.run_on_device(&targets)
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

    fn run(job: &Job<'_>, targets: SmallVec<[Target<'_>; 2]>, _: Internal) -> Result<()> {
        job.run_on_host(targets)
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
