//! Scans that overwrite their values.

use std::fmt;

use gpu_array::{
    ArrayError, Element, GpuArray, GpuViewMut, Numeric,
    expression::{Backend, Gpu, Host, LoweredLeaf, LoweredTarget, host},
    gpu_driver::{Header, Stream},
};
use ndarray::{ArrayBase, ArrayViewMut, Axis, DataMut, Dimension};
use smallvec::SmallVec;

use super::{
    launch::ScanJob,
    lazy::ScanOptions,
    methods::extreme,
    place::{HostScan, families},
};
use crate::{
    Result,
    common::{
        operator::{DeviceOperator, OperatorKind},
        source::{ValueSource, identity},
        summable::{Ordered, Summable, product_of, sum},
    },
    reduce::{ReduceBackend, Reduces},
    tiles::layout::TileTarget,
};

/// A scan of an array in its own memory that has not run; `P` is the place.
///
/// The methods of [`ScansInPlace`] make it; [`InPlace::run`] runs it.
#[must_use = "it is computed by `run`"]
pub struct InPlace<'t, T: Element + 't, D: Dimension + 't, P: Backend = Gpu> {
    target: P::ViewMut<'t, T, D>,
    operator: DeviceOperator,
    options: ScanOptions,
    /// The function that computes it on the host.
    host: Option<HostScan<T>>,
}

/// Scans of arrays and views in their own memory, for element types that their sums have too: `&mut x` and `x.view_mut()` of arrays on a GPU and of
/// ndarray's on the host.
///
/// In all else they are as [`Scans`](super::Scans).
///
/// ```
/// use gpu_algos::prelude::*;
/// use ndarray::{Axis, array};
///
/// let mut x = array![[1.0, 2.0], [3.0, 4.0]]; // or a GpuArray
/// x.cumsum_in_place().run()?;
/// assert_eq!(x, array![[1.0, 3.0], [6.0, 10.0]]);
/// x.view_mut().cummax_in_place().axis(Axis(0)).reverse().run()?;
/// assert_eq!(x, array![[6.0, 10.0], [6.0, 10.0]]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub trait ScansInPlace<'t, T: Element + 't, D: Dimension + 't>: Sized {
    /// The place of the array.
    type Backend: ReduceBackend;

    /// All of it, to write.
    #[doc(hidden)]
    fn into_view_mut(self) -> <Self::Backend as Backend>::ViewMut<'t, T, D>;

    /// Sums from the first value on.
    fn cumsum_in_place(self) -> InPlace<'t, T, D, Self::Backend>
    where
        T: Summable<Sum = T> + Numeric,
        Self::Backend: Reduces<T>,
    {
        InPlace::new(self.into_view_mut(), sum::<T>(), Self::Backend::scan_on_host::<families::Sum, T>())
    }

    /// Products from the first value on.
    fn cumprod_in_place(self) -> InPlace<'t, T, D, Self::Backend>
    where
        T: Summable<Sum = T> + Numeric,
        Self::Backend: Reduces<T>,
    {
        InPlace::new(self.into_view_mut(), product_of::<T>(), Self::Backend::scan_on_host::<families::Product, T>())
    }

    /// The greatest value so far.
    fn cummax_in_place(self) -> InPlace<'t, T, D, Self::Backend>
    where
        T: Ordered,
        Self::Backend: Reduces<T>,
    {
        InPlace::new(self.into_view_mut(), extreme(true), Self::Backend::scan_on_host::<families::Max, T>())
    }

    /// The least value so far.
    fn cummin_in_place(self) -> InPlace<'t, T, D, Self::Backend>
    where
        T: Ordered,
        Self::Backend: Reduces<T>,
    {
        InPlace::new(self.into_view_mut(), extreme(false), Self::Backend::scan_on_host::<families::Min, T>())
    }
}

impl<'t, T: Element, D: Dimension> ScansInPlace<'t, T, D> for &'t mut GpuArray<T, D> {
    type Backend = Gpu;
    fn into_view_mut(self) -> GpuViewMut<'t, T, D> {
        self.view_mut()
    }
}

impl<'t, T: Element, D: Dimension + 't> ScansInPlace<'t, T, D> for GpuViewMut<'t, T, D> {
    type Backend = Gpu;
    fn into_view_mut(self) -> Self {
        self
    }
}

impl<'t, T: Element, D: Dimension, S: DataMut<Elem = T>> ScansInPlace<'t, T, D> for &'t mut ArrayBase<S, D> {
    type Backend = Host;
    fn into_view_mut(self) -> ArrayViewMut<'t, T, D> {
        self.view_mut()
    }
}

impl<'t, T: Element, D: Dimension + 't> ScansInPlace<'t, T, D> for ArrayViewMut<'t, T, D> {
    type Backend = Host;
    fn into_view_mut(self) -> Self {
        self
    }
}

impl<'t, T: Element, D: Dimension, P: Backend> InPlace<'t, T, D, P> {
    fn new(target: P::ViewMut<'t, T, D>, kind: OperatorKind, host: Option<HostScan<T>>) -> Self {
        let operator = DeviceOperator::new(kind, T::DTYPE, false);
        Self { target, operator, options: ScanOptions::default(), host }
    }

    /// Scans along one axis, each line by itself. Without an axis all values are scanned in C order.
    pub fn axis(mut self, axis: Axis) -> Self {
        self.options.axis = Some(axis.index());
        self
    }

    /// Makes the scan exclusive, as [`Scan::exclusive`](super::Scan::exclusive) does.
    pub fn exclusive(mut self) -> Self {
        self.options.exclusive = true;
        self
    }

    /// Scans from the last value to the first, as [`Scan::reverse`](super::Scan::reverse) does.
    pub fn reverse(mut self) -> Self {
        self.options.reverse = true;
        self
    }

    /// Runs the scan. On a GPU it does so in the order of the array's stream, does not wait, and allocates nothing; on the host it takes a copy.
    ///
    /// # Errors
    /// As [`Scan::write_into`](super::Scan::write_into). After an error the array is unchanged.
    pub fn run(self) -> Result<()>
    where
        P: ReduceBackend,
    {
        P::scan_in_place(self)
    }
}

impl<T: Element, D: Dimension> InPlace<'_, T, D> {
    pub(crate) fn run_on_device(mut self) -> Result<()> {
        let ScanOptions { axis, reverse, .. } = self.options;
        let target = self.target.lower_mut()?;
        self.options.check(target.shape)?;
        let source = OfTarget(target);
        let (mode, operator) = (self.options.mode(), &self.operator);
        let job = ScanJob { source: &source, heads: None, epilogue: None, operator, mode, axis, reverse };
        let place = TileTarget { address: target.address, dtype: T::DTYPE, strides: target.strides };
        job.run(&place, Some(target.home), target.home)
    }
}

impl<T: Element, D: Dimension> InPlace<'_, T, D, Host> {
    pub(crate) fn run_on_host(mut self) -> Result<()> {
        self.options.check(self.target.shape())?;
        let results = {
            let values = host(self.target.view()).lower_deferred()?;
            self.options.on_host(self.host, &*values.ready(None)?, None)?
        };
        let (shape, len) = (self.target.shape().to_vec(), results.len());
        let other = |_| ArrayError::Length { expected: shape.iter().product(), shape: shape.clone(), got: len };
        let results = results.into_shape_with_order(self.target.raw_dim()).map_err(other)?;
        self.target.assign(&results);
        Ok(())
    }
}

/// The values of an array, as a source.
struct OfTarget<'t>(LoweredTarget<'t>);

impl ValueSource for OfTarget<'_> {
    fn shape(&self) -> &[usize] {
        self.0.shape
    }
    fn leaves(&self) -> SmallVec<[LoweredLeaf<'_>; 4]> {
        let LoweredTarget { address, dtype, strides, .. } = self.0;
        SmallVec::from_iter([LoweredLeaf { address, dtype, is_place: false, strides }])
    }
    fn scalars(&self) -> &[u64] {
        &[]
    }
    fn extra(&self) -> SmallVec<[u64; 4]> {
        SmallVec::new()
    }
    fn homes(&self) -> SmallVec<[&Stream; 4]> {
        SmallVec::from_iter([self.0.home])
    }
    fn add_key(&self, key: &mut SmallVec<[u64; 64]>) {
        key.push(u64::from_be_bytes(*b"in place"));
        key.push(self.0.dtype as u64);
    }
    fn text(&self, name: &str) -> (String, Vec<Header>) {
        identity(name, self.0.dtype)
    }
}

impl<T: Element, D: Dimension, P: Backend> fmt::Debug for InPlace<'_, T, D, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InPlace({}, {:?})", self.operator.text(), self.options)
    }
}
