//! Many expressions in one program, compiled ahead.

use gpu_driver::Stream;
use ndarray::Dimension;

use super::{Key, SPACE, axes::Axes, check, check_words, plan, policy::Policy, text::Text, write_key};
use crate::{
    Element, Result,
    expression::{
        Expr, Job,
        backend::{INTERNAL, Internal},
    },
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
/// Nothing is computed. Kernels that are there already stay.
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
    let device = home.device();
    let (mut text, mut keys) = (Text::new(), Vec::<Key>::new());
    for value in values {
        let job = value.job(&home, INTERNAL)?;
        let Some(mut axes) = Axes::of(&job.code, &job.strides(), 0) else { continue };
        check(&job.code, &home)?;
        let which = plan::choose(&job.code, &mut axes);
        check_words(&job.code, which)?;
        let mut key = Key::new();
        write_key(&mut key, &job.code, which);
        if keys.contains(&key) || device.has_generated_kernel(&SPACE, &key) {
            continue;
        }
        text.add(&job.code, which, &Policy::of(device.arch(), which, &job.code));
        keys.push(key);
    }
    let keys: Vec<&[u64]> = keys.iter().map(|key| key.as_slice()).collect();
    Ok(device.generate_kernels(&SPACE, &keys, &text.program())?)
}
