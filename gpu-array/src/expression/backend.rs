//! Where arrays are and expressions are evaluated.

use std::fmt::Debug;

use ndarray::{Array, Dimension};
use smallvec::SmallVec;

use super::{
    Expr, host,
    job::{Job, Target, TargetKind},
};
use crate::{Element, GpuArray, Result};

/// A place of arrays: [`Gpu`] or [`Host`]. A function that is generic over it works on either.
///
/// ```
/// use gpu_array::{Result, expression::{Expr, Host, Backend}};
/// use ndarray::{Array1, Ix1, array};
/// fn smooth_step<P: Backend>(x: &P::Owned<f64, Ix1>) -> Result<P::Owned<f64, Ix1>> {
///     let t = P::expr(x).clamp(0.0, 1.0);
///     (&t * &t * (3.0 - 2.0 * &t)).eval()
/// }
/// let x: Array1<f64> = array![-1.0, 0.5, 2.0];
/// assert_eq!(smooth_step::<Host>(&x)?, array![0.0, 0.5, 1.0]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
pub trait Backend: Copy + Debug + Sized + 'static + sealed::Sealed {
    /// An owned array there.
    type Owned<T: Element, D: Dimension>;

    /// An array as an expression.
    fn expr<T: Element, D: Dimension>(array: &Self::Owned<T, D>) -> Expr<'_, T, D, Self>;

    #[doc(hidden)]
    fn allocate<T: Element, D: Dimension>(job: &Job<'_>, internal: Internal) -> Result<Self::Owned<T, D>>;

    #[doc(hidden)]
    fn target<T: Element, D: Dimension>(array: &mut Self::Owned<T, D>, internal: Internal) -> Target<'_>;

    #[doc(hidden)]
    fn run(job: &Job<'_>, targets: SmallVec<[Target<'_>; 2]>, internal: Internal) -> Result<()>;

    /// Overwrites an array with a value of its shape (or one that is broadcast to it).
    ///
    /// # Errors
    /// The errors of [`Expr::eval`], and `Operands` for a shape that cannot be broadcast to the array's; it is as it was then.
    fn assign<T: Element, D: Dimension>(array: &mut Self::Owned<T, D>, value: &Expr<'_, T, D, Self>) -> Result<()>;
}

pub(super) mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Gpu {}
    impl Sealed for super::Host {}

    /// A value that only this crate can make: methods of public traits that take one cannot be called from elsewhere.
    ///
    /// ```compile_fail,E0603
    /// use gpu_array::expression::backend::Internal;
    /// ```
    #[derive(Clone, Copy, Debug)]
    pub struct Internal(pub(in crate::expression) ());
}
pub(super) use sealed::Internal;

/// The value of [`Internal`].
pub(super) const INTERNAL: Internal = Internal(());

/// Arrays are in the memory of a GPU (or of the emulated device): [`GpuArray`].
#[derive(Clone, Copy, Debug)]
pub struct Gpu;

/// Arrays are in the memory of the host: ndarray's [`Array`].
#[derive(Clone, Copy, Debug)]
pub struct Host;

impl Backend for Gpu {
    type Owned<T: Element, D: Dimension> = GpuArray<T, D>;

    fn expr<T: Element, D: Dimension>(array: &GpuArray<T, D>) -> Expr<'_, T, D> {
        array.to_expr()
    }

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
}

impl Backend for Host {
    type Owned<T: Element, D: Dimension> = Array<T, D>;

    fn expr<T: Element, D: Dimension>(array: &Array<T, D>) -> Expr<'_, T, D, Self> {
        super::host(array)
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
        host::evaluate(&job.code, slices.collect())
    }

    fn assign<T: Element, D: Dimension>(array: &mut Array<T, D>, value: &Expr<'_, T, D, Self>) -> Result<()> {
        let whole = value.broadcast(array.raw_dim());
        if !array.is_standard_layout() {
            array.assign(&whole.eval()?);
            return Ok(());
        }
        let mut job = Job::new(None);
        job.take(&[&whole.value], D::NDIM)?;
        Self::run(&job, SmallVec::from_iter([Self::target(array, INTERNAL)]), INTERNAL)
    }
}
