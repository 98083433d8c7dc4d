//! Scans of one array.
#![expect(
    unsafe_code,
    reason = "calls of kernels whose text nobody has checked, and memory that one fills before anyone reads it"
)]

use gpu_array::gpu_driver::{Device, DevicePod, DeviceVec};

use super::{
    super::{
        Input, KernelArg, Output,
        arguments::Given,
        bind,
        declaration::{Declared, Role},
        types::Types,
    },
    ScanKernel,
};
use crate::{AlgoError, Result};

/// A scan of one array by a user's operator: made by [`ScanKernel::inclusive`] and [`ScanKernel::exclusive`].
///
/// ```no_run
/// use gpu_algos::kernels::ScanKernel;
/// use gpu_array::{GpuArray, gpu_driver::Device};
///
/// let so_far = ScanKernel::<i32>::inclusive("a > b ? a : b", "-2147483647 - 1")?;
/// let device = Device::first()?;
/// let mut x = GpuArray::from_ndarray(&device, &ndarray::array![3, 1, 4, 1, 5])?;
/// // SAFETY: the texts are an associative operator and its identity element.
/// let greatest = unsafe { so_far.call(&x)? };
/// assert_eq!(greatest.to_vec()?, [3, 3, 4, 4, 5]);
/// // SAFETY: as above.
/// unsafe { so_far.in_place(&mut x)? };
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
/// Determinism and cost are those of [`ScanKernel`]; each value is read once and each result written once.
#[derive(Debug)]
pub struct ArrayScanKernel<T> {
    /// The kernel that writes to another array, and the one that works in place.
    kernels: [ScanKernel<T>; 2],
}

impl<T: DevicePod> ScanKernel<T> {
    /// An inclusive scan of one array: result i is x(0) ∘ … ∘ x(i), where ∘ is `scan`, an expression of `a` and `b`.
    ///
    /// # Errors
    /// As [`ScanKernel::new`].
    pub fn inclusive(scan: &str, identity: &str) -> Result<ArrayScanKernel<T>> {
        ArrayScanKernel::of(scan, identity, "item").and_then(|kernel| kernel.name("inclusive_scan"))
    }

    /// An exclusive scan of one array: result i is x(0) ∘ … ∘ x(i - 1), and the first result is `identity`.
    ///
    /// # Errors
    /// As [`ScanKernel::new`].
    pub fn exclusive(scan: &str, identity: &str) -> Result<ArrayScanKernel<T>> {
        ArrayScanKernel::of(scan, identity, "prev_item").and_then(|kernel| kernel.name("exclusive_scan"))
    }
}

impl<T: DevicePod> ArrayScanKernel<T> {
    fn of(scan: &str, identity: &str, result: &str) -> Result<Self> {
        let kernel = |arguments: Vec<Declared>, target: &str| {
            let texts = [identity.to_owned(), scan.to_owned(), "x[i]".to_owned(), format!("{target}[i] = {result}")];
            ScanKernel::of(arguments, Types::default(), texts)
        };
        let argument = |name, role| Declared::of::<T>(name, role, false);
        let to_another = kernel(vec![argument("x", Role::Input), argument("out", Role::Output)], "out")?;
        let in_place = kernel(vec![argument("x", Role::Output)], "x")?;
        Ok(Self { kernels: [to_another, in_place] })
    }

    fn map(self, change: impl Fn(ScanKernel<T>) -> ScanKernel<T>) -> Self {
        Self { kernels: self.kernels.map(change) }
    }

    /// The kernel under a name of its own, which stands in errors.
    ///
    /// # Errors
    /// `KernelName` unless C++ can have the name.
    pub fn name(self, name: &str) -> Result<Self> {
        let [to_another, in_place] = self.kernels;
        Ok(Self { kernels: [to_another.name(name)?, in_place.name(name)?] })
    }

    /// Text before the kernel: functions and types that it uses. Functions need no `__device__`.
    pub fn preamble(self, text: &str) -> Self {
        self.map(|kernel| kernel.preamble(text))
    }

    /// An option of the compiler.
    pub fn option(self, option: &str) -> Self {
        self.map(|kernel| kernel.option(option))
    }

    /// Makes a structure known to the texts. `T` is known.
    ///
    /// # Errors
    /// `TypeName` where another structure has the name.
    pub fn with_type<U: DevicePod>(self) -> Result<Self> {
        let [to_another, in_place] = self.kernels;
        Ok(Self { kernels: [to_another.with_type::<U>()?, in_place.with_type::<U>()?] })
    }

    /// The results as a new buffer with the home of `x`.
    ///
    /// # Cost
    /// As [`ScanKernel::call`], and the result is allocated.
    ///
    /// # Errors
    /// As [`ScanKernel::call`].
    ///
    /// # Safety
    /// The texts fulfil the [requirements](crate::kernels#requirements-on-the-text).
    pub unsafe fn call<'a>(&self, x: impl Into<Input<'a, T>>) -> Result<DeviceVec<T>>
    where
        T: 'a,
    {
        let x = KernelArg::from(x.into());
        let mut out = match &x.0 {
            // SAFETY: the scan writes every element; where the launch fails the memory is dropped unread.
            Given::Array { len, home, .. } => unsafe { DeviceVec::uninitialized(home, *len)? },
            Given::Wrong(error) => {
                let kernel = &self.kernels[0];
                return Err(bind::wrong(&kernel.name, &kernel.arguments[0], error));
            }
            // An `Input` is never a value.
            Given::Value { .. } => return Err(AlgoError::NoArray { kernel: self.kernels[0].name.clone() }),
        };
        // SAFETY: as the caller promises.
        unsafe { self.kernels[0].call(&[x, (&mut out).into()])? };
        Ok(out)
    }

    /// Writes the results into an array of the same length.
    ///
    /// # Errors
    /// As [`ScanKernel::call`].
    ///
    /// # Safety
    /// As of [`ArrayScanKernel::call`].
    pub unsafe fn call_into<'a>(&self, x: impl Into<Input<'a, T>>, out: impl Into<Output<'a, T>>) -> Result<()>
    where
        T: 'a,
    {
        // SAFETY: as the caller promises.
        unsafe { self.kernels[0].call(&[x.into().into(), out.into().into()]) }
    }

    /// Writes the results over the values.
    ///
    /// # Errors
    /// As [`ScanKernel::call`].
    ///
    /// # Safety
    /// As of [`ArrayScanKernel::call`].
    pub unsafe fn in_place<'a>(&self, x: impl Into<Output<'a, T>>) -> Result<()>
    where
        T: 'a,
    {
        // SAFETY: as the caller promises.
        unsafe { self.kernels[1].call(&[x.into().into()]) }
    }

    /// Compiles both kernels for a device ahead of the first call, or loads them from the cache on disk.
    ///
    /// # Errors
    /// As [`ScanKernel::compile`].
    pub fn compile(&self, device: &Device) -> Result<()> {
        self.kernels.iter().try_for_each(|kernel| kernel.compile(device))
    }
}
