//! The two places where arrays are and expressions are evaluated.

use ndarray::{Array, Dimension};
use smallvec::SmallVec;

use super::{
    arrays::{host, host_owned},
    expr::{Backend, Expr, Gpu, Host, INTERNAL, Internal},
};
use crate::{
    Element, GpuArray, Result,
    expression::{
        graph::{Op, Value},
        host::evaluate,
        job::{Job, Target, TargetKind},
    },
};

impl Backend for Gpu {
    type Owned<T: Element, D: Dimension> = GpuArray<T, D>;

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

    fn assign<T: Element, D: Dimension>(array: &mut GpuArray<T, D>, value: &Expr<'_, T, D>) -> Result<()> {
        array.assign(value)
    }

    fn assign_where<T: Element, D: Dimension, M: Dimension, V: Dimension>(
        array: &mut GpuArray<T, D>,
        mask: &Expr<'_, bool, M>,
        value: &Expr<'_, T, V>,
    ) -> Result<()> {
        array.view_mut().select(mask.value.clone(), value.value.clone())
    }
}

impl Backend for Host {
    type Owned<T: Element, D: Dimension> = Array<T, D>;

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
        let slices = targets.into_iter().filter_map(|target| match target.0 {
            TargetKind::Host(slice) => Some(slice),
            TargetKind::Device { .. } => None,
        });
        evaluate(&job.code, slices.collect())
    }

    fn assign<T: Element, D: Dimension>(array: &mut Array<T, D>, value: &Expr<'_, T, D, Self>) -> Result<()> {
        let whole = value.broadcast(array.raw_dim());
        if !array.is_standard_layout() {
            array.assign(&whole.eval()?);
            return Ok(());
        }
        let mut job = Job::new(None);
        job.take(&[&whole.value], D::NDIM)?;
        Self::resolve(&mut job, INTERNAL)?;
        Self::run(&job, SmallVec::from_iter([Self::target(array, INTERNAL)]), INTERNAL)
    }

    fn assign_where<T: Element, D: Dimension, M: Dimension, V: Dimension>(
        array: &mut Array<T, D>,
        mask: &Expr<'_, bool, M, Self>,
        value: &Expr<'_, T, V, Self>,
    ) -> Result<()> {
        let selected = [mask.value.clone(), value.value.clone(), host(&*array).value];
        let selected = Value::ternary(Op::Select, T::DTYPE, selected).broadcast(array.shape());
        let new = Expr::<T, D, Self>::of(selected).eval()?;
        array.assign(&new);
        Ok(())
    }
}
