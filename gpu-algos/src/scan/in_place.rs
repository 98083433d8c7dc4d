//! Scans that overwrite their values.

use std::fmt;

use gpu_array::{
    Element, GpuArray, GpuViewMut, Numeric,
    expression::{LoweredLeaf, LoweredTarget},
    gpu_driver::{Header, Stream},
};
use ndarray::{Axis, Dimension};
use smallvec::SmallVec;

use super::{launch::ScanJob, lazy::ScanOptions, methods::extreme};
use crate::{
    Result,
    common::{
        operator::{DeviceOperator, OperatorKind},
        source::{ValueSource, identity},
        summable::{Ordered, Summable, product_of, sum},
    },
    tiles::layout::TileTarget,
};

/// A scan of an array in its own memory that has not run.
///
/// The methods of [`ScansInPlace`] make it; [`InPlace::run`] runs it.
#[must_use = "it is computed by `run`"]
pub struct InPlace<'t, T: Element, D: Dimension> {
    target: GpuViewMut<'t, T, D>,
    operator: DeviceOperator,
    options: ScanOptions,
}

/// Scans of arrays and views in their own memory, for element types that their sums have too.
///
/// In all else they are as [`Scans`](super::Scans).
///
/// ```no_run
/// use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, prelude::*};
///
/// let mut x = GpuArray::<f32, _>::full(&Device::first()?, 1000, 2.0)?;
/// x.cumsum_in_place().run()?;
/// x.view_mut().cummax_in_place().reverse().run()?;
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub trait ScansInPlace<'t, T: Element, D: Dimension>: Into<GpuViewMut<'t, T, D>> {
    /// Sums from the first value on.
    fn cumsum_in_place(self) -> InPlace<'t, T, D>
    where
        T: Summable<Sum = T> + Numeric,
    {
        InPlace::new(self, sum::<T>())
    }

    /// Products from the first value on.
    fn cumprod_in_place(self) -> InPlace<'t, T, D>
    where
        T: Summable<Sum = T> + Numeric,
    {
        InPlace::new(self, product_of::<T>())
    }

    /// The greatest value so far.
    fn cummax_in_place(self) -> InPlace<'t, T, D>
    where
        T: Ordered,
    {
        InPlace::new(self, extreme(true))
    }

    /// The least value so far.
    fn cummin_in_place(self) -> InPlace<'t, T, D>
    where
        T: Ordered,
    {
        InPlace::new(self, extreme(false))
    }
}

impl<'t, T: Element, D: Dimension> ScansInPlace<'t, T, D> for &'t mut GpuArray<T, D> {}
impl<'t, T: Element, D: Dimension> ScansInPlace<'t, T, D> for GpuViewMut<'t, T, D> {}

impl<'t, T: Element, D: Dimension> InPlace<'t, T, D> {
    fn new(target: impl Into<GpuViewMut<'t, T, D>>, kind: OperatorKind) -> Self {
        Self {
            target: target.into(),
            operator: DeviceOperator::new(kind, T::DTYPE, false),
            options: ScanOptions::default(),
        }
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

    /// Runs the scan in the order of the array's stream. Does not wait, and allocates nothing.
    ///
    /// # Errors
    /// As [`Scan::write_into`](super::Scan::write_into). After an error the array is unchanged.
    pub fn run(mut self) -> Result<()> {
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

impl<T: Element, D: Dimension> fmt::Debug for InPlace<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InPlace({}, {:?})", self.operator.text(), self.options)
    }
}
