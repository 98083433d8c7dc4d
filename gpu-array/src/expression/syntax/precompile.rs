//! Expressions whose kernels are compiled ahead.

use gpu_driver::Stream;
use ndarray::Dimension;

use super::expr::{Expr, INTERNAL, Internal};
use crate::{
    Element, Result,
    expression::{device::Batch, job::Job},
};

/// A value of any type and rank that a GPU can compute.
pub trait Precompile {
    #[doc(hidden)]
    fn job(&self, home: &Stream, internal: Internal) -> Result<Job<'_>>;
}

impl<T: Element, D: Dimension> Precompile for Expr<'_, T, D> {
    fn job(&self, home: &Stream, _: Internal) -> Result<Job<'_>> {
        let mut job = Job::new(Some(home));
        job.take(&[&self.value], D::NDIM)?;
        Ok(job)
    }
}

/// Compiles the kernels by which `eval` computes these values, all in one program, or loads them from the cache on disk.
///
/// Evaluating them, or others of their form, then compiles nothing. One program is much faster to compile than one for each.
///
/// Nothing is computed. Kernels that are there already stay. Those of [deferred](crate::expression::Deferred) operands, such as reductions, are not
/// compiled.
///
/// # Errors
/// The errors of [`Expr::eval`] for the first value that has one.
///
/// ```no_run
/// # let device = gpu_array::gpu_driver::Device::first()?;
/// # let x = gpu_array::GpuArray::<f32, _>::zeros(&device, 100)?;
/// gpu_array::expression::precompile(&device, &[&(&x * 2.0), &x.exp(), &x.gt(0.0)])?;
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
pub fn precompile(home: impl Into<Stream>, values: &[&dyn Precompile]) -> Result<()> {
    let home = home.into();
    let mut batch = Batch::new(&home);
    for value in values {
        let job = value.job(&home, INTERNAL)?;
        batch.add(&job.code, &job.strides())?;
    }
    batch.generate()
}
