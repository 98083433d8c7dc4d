//! Where arrays are and expressions are evaluated.

use ndarray::{Array, Dimension, IntoDimension};
use std::fmt::Debug;

use super::{Expr, device, graph::assemble, host, host::HostSliceMut};
use crate::{DType, Element, GpuArray, Result};

/// A place of arrays: [`Gpu`] or [`Host`]. A function that is generic over it works on either.
///
/// ```
/// use gpu_array::{Result, expression::{Expr, Host, Place}};
/// use ndarray::{Array1, Ix1, array};
/// fn smooth_step<P: Place>(x: &P::Owned<f64, Ix1>) -> Result<P::Owned<f64, Ix1>> {
///     let t = P::expr(x).clamp(0.0, 1.0);
///     (&t * &t * (3.0 - 2.0 * &t)).eval()
/// }
/// let x: Array1<f64> = array![-1.0, 0.5, 2.0];
/// assert_eq!(smooth_step::<Host>(&x)?, array![0.0, 0.5, 1.0]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
pub trait Place: Copy + Debug + Sized + 'static + sealed::Sealed {
    /// An owned array there.
    type Owned<T: Element, D: Dimension>;

    /// An array as an expression.
    fn expr<T: Element, D: Dimension>(array: &Self::Owned<T, D>) -> Expr<'_, T, D, Self>;

    /// [`Expr::eval`].
    ///
    /// # Errors
    /// As there.
    fn eval<T: Element, D: Dimension>(expr: &Expr<'_, T, D, Self>) -> Result<Self::Owned<T, D>>;

    /// Overwrites an array with a value of its shape (or one that is broadcast to it).
    ///
    /// # Errors
    /// As [`Expr::eval`], and `Shape` for a value of another shape; the array is as it was then.
    fn assign<'a, T: Element, D: Dimension>(array: &mut Self::Owned<T, D>, value: &Expr<'a, T, D, Self>) -> Result<()>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Gpu {}
    impl Sealed for super::Host {}
}

/// Arrays are in the memory of a GPU (or of the emulated device): [`GpuArray`].
#[derive(Clone, Copy, Debug)]
pub struct Gpu;

/// Arrays are in the memory of the host: ndarray's [`Array`].
#[derive(Clone, Copy, Debug)]
pub struct Host;

impl Place for Gpu {
    type Owned<T: Element, D: Dimension> = GpuArray<T, D>;

    fn expr<T: Element, D: Dimension>(array: &GpuArray<T, D>) -> Expr<'_, T, D> {
        array.to_expr()
    }

    fn eval<T: Element, D: Dimension>(expr: &Expr<'_, T, D>) -> Result<GpuArray<T, D>> {
        device::eval(expr, None)
    }

    fn assign<'a, T: Element, D: Dimension>(array: &mut GpuArray<T, D>, value: &Expr<'a, T, D>) -> Result<()> {
        array.assign(value)
    }
}

impl Place for Host {
    type Owned<T: Element, D: Dimension> = Array<T, D>;

    fn expr<T: Element, D: Dimension>(array: &Array<T, D>) -> Expr<'_, T, D, Self> {
        super::host(array)
    }

    fn eval<T: Element, D: Dimension>(expr: &Expr<'_, T, D, Self>) -> Result<Array<T, D>> {
        let code = assemble(&[&expr.node])?;
        let dim = dim_of::<D>(&code.shape);
        let mut elements = zeros::<T>(crate::layout::checked_len(&code.shape)?);
        host::evaluate(&code, vec![T::host_slice_mut(&mut elements)])?;
        Ok(from_c_order(dim, elements))
    }

    fn assign<'a, T: Element, D: Dimension>(array: &mut Array<T, D>, value: &Expr<'a, T, D, Self>) -> Result<()> {
        let shape = value.broadcast_to(array.raw_dim());
        let code = assemble(&[&shape.node])?;
        match array.as_slice_mut() {
            Some(elements) => host::evaluate(&code, vec![T::host_slice_mut(elements)]),
            None => {
                array.assign(&Self::eval(&shape)?);
                Ok(())
            }
        }
    }
}
