//! The place of an expression's computation, into a new array or an existing one.
//!
//! # From an expression to its launch
//! The example is `(5.0 * &x + y.sin()).eval()`.
//!
//! 1. Operators (`syntax/operators.rs`) and functions (`syntax/functions.rs`) check types by traits and build a graph of values
//!    (`graph/value.rs`): scalars, arrays, and nodes with an operation and operands. Nothing is computed, and no shape is compared.
//! 2. `eval` (`syntax/evaluate.rs`) assembles the graph (`graph/assemble.rs`) without recursion. Each shared node becomes one step and each
//!    array one leaf, with strides for the common shape. The result is the list of steps in `graph/code.rs`, which both evaluators run.
//! 3. On the host `host/plan.rs` assigns registers, and `host/table.rs` chooses the loop that runs each step over chunks.
//! 4. On a device `device/axes.rs` brings the axes into the order of the result's memory and joins them. `device/plan.rs` chooses the loop
//!    and writes the kernel's one parameter: addresses, strides, scalars. `device/mod.rs` makes the key of steps, types and loop.
//! 5. `Device::generated_kernel` of gpu-driver returns the kernel with that key. If there is none, `device/text.rs` writes the steps as a
//!    C++ structure, and the program instantiates the loop in `linear.cuh`, `strided.cuh`, `tiled.cuh` or `rows.cuh` for it.
//! 6. `GeneratedKernel::launch` orders the launch with the home streams of all arrays.
//!
//! Reductions, scans and selections share steps 1 and 2. Then `graph/code/lowered.rs` gives them the leaves, the scalars and the key for a loop of
//! their own, and `device/lower.rs` the structure's text. `resolve.rs` evaluates deferred operands between steps 2 and 3.

use std::fmt;

use gpu_driver::Stream;
use ndarray::{Array, ArrayD, ArrayViewMut, Dimension, IxDyn, ShapeBuilder};
use smallvec::SmallVec;

use super::{
    device,
    graph::{Code, LeafMemory, Lowered, LoweredTarget, Value, assemble, assemble_into},
    host,
    resolve::Remaining,
};
use crate::{
    ArrayError, DType, Element, GpuArray, GpuViewMut, Result,
    allocate::allocate,
    element::HostSliceMut,
    layout::{Layout, checked_len, dense_strides, in_sequence},
    shape::Strides,
};

/// An expression that is about to be computed.
#[doc(hidden)]
pub struct Job<'a> {
    pub(crate) code: Code<'a>,
    /// Given, or else found among the arrays.
    home: Option<Stream>,
    /// New arrays are in Fortran order.
    fortran: bool,
    /// The deferred values that are evaluated together with the code.
    remaining: Option<Remaining<'a>>,
}

impl fmt::Debug for Job<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Job of {} steps over {:?}", self.code.steps.len(), self.code.shape.as_slice())
    }
}

/// The destination of a value: a new array's elements.
#[derive(Debug)]
#[doc(hidden)]
pub struct Target<'t>(pub(crate) TargetKind<'t>);

#[derive(Debug)]
pub(crate) enum TargetKind<'t> {
    /// In device memory.
    Device { address: u64, len: usize, dtype: DType },
    /// All elements, in C order.
    Host(HostSliceMut<'t>),
}

impl<'a> Job<'a> {
    pub(crate) fn new(home: Option<&Stream>) -> Self {
        Self { code: Code::default(), home: home.cloned(), fortran: false, remaining: None }
    }

    /// Takes the values, once. Apart from `new`, since the code that it fills is large and is not moved then.
    pub(crate) fn take(&mut self, roots: &[&Value<'a>], rank: Option<usize>) -> Result<()> {
        assemble(&mut self.code, roots, rank.unwrap_or(0))?;
        self.code.check_operands()?;
        checked_len(&self.code.shape)?;
        self.fortran = is_fortran(&self.code);
        Ok(())
    }

    /// Evaluates the deferred values, on the stream of the expression, but for those that [`Job::run_on_device`] evaluates together with it.
    pub(crate) fn resolve_on_device(&mut self) -> Result<()> {
        if self.code.has_deferred() {
            let home = self.stream()?.clone();
            self.remaining = self.code.resolve_apart(&home)?;
        }
        Ok(())
    }

    fn dim<D: Dimension>(&self) -> Result<D> {
        let shape = &self.code.shape;
        let mut dim = D::zeros(D::NDIM.unwrap_or(shape.len()));
        if dim.ndim() != shape.len() {
            return Err(ArrayError::Ndim { op: "eval", expected: dim.ndim(), got: shape.len() });
        }
        dim.slice_mut().copy_from_slice(shape);
        Ok(dim)
    }

    /// The stream to compute on.
    fn stream(&self) -> Result<&Stream> {
        let mut homes = self.code.homes();
        self.home.as_ref().or_else(|| homes.next()).ok_or(ArrayError::NoHome)
    }

    #[track_caller]
    pub(crate) fn new_device_array<T: Element, D: Dimension>(&self) -> Result<GpuArray<T, D>> {
        let layout = Layout::of(self.dim::<D>()?.set_f(self.fortran))?;
        Ok(GpuArray::from_parts(allocate(self.stream()?, layout.len())?, layout))
    }

    pub(crate) fn new_host_array<T: Element, D: Dimension>(&self) -> Result<Array<T, D>> {
        new_host_array(&self.code.shape, self.dim::<D>()?)
    }

    /// The strides of new arrays.
    pub(crate) fn strides(&self) -> Strides {
        dense_strides(&self.code.shape, self.fortran)
    }

    /// Computes on the device into new arrays of [`Job::new_device_array`].
    pub(crate) fn run_on_device(&self, targets: &[Target<'_>]) -> Result<()> {
        let strides = self.strides();
        let places = self.code.shape.iter().product();
        let outputs = self.code.outputs.iter().map(|&step| self.code.steps[step as usize].dtype);
        let addresses: SmallVec<[u64; 2]> = targets
            .iter()
            .zip(outputs)
            .filter_map(|(target, wanted)| match target.0 {
                TargetKind::Device { address, len, dtype } if dtype == wanted && len == places => Some(address),
                _ => None,
            })
            .collect();
        if addresses.len() != self.code.outputs.len() || addresses.len() != targets.len() {
            return Err(ArrayError::Length { shape: self.code.shape.to_vec(), expected: places, got: 0 });
        }
        let home = self.stream()?;
        if let (Some(remaining), &[address]) = (&self.remaining, &addresses[..]) {
            return remaining.run(&self.code, self.target(address, &strides, home), home);
        }
        device::run(&self.code, home, &addresses, &strides, 0)
    }

    /// Computes on the host into new arrays of [`Job::new_host_array`].
    pub(crate) fn run_on_host(&self, targets: &mut [Target<'_>]) -> Result<()> {
        let mut slices = Vec::with_capacity(targets.len());
        for target in targets {
            let taken = TargetKind::Device { address: 0, len: 0, dtype: DType::Bool };
            if let TargetKind::Host(slice) = std::mem::replace(&mut target.0, taken) {
                slices.push(slice);
            }
        }
        host::evaluate(&self.code, slices)
    }

    /// The new array of the one output.
    fn target<'t>(&'t self, address: u64, strides: &'t Strides, home: &'t Stream) -> LoweredTarget<'t> {
        let dtype = self.code.steps[self.code.outputs[0] as usize].dtype;
        LoweredTarget { address, dtype, shape: &self.code.shape, strides, home }
    }
}

pub(crate) fn new_host_array<T: Element, D: Dimension>(shape: &[usize], dim: D) -> Result<Array<T, D>> {
    let too_large = || ArrayError::TooLarge { shape: shape.to_vec() };
    let elements = zeros(shape.iter().product()).ok_or_else(too_large)?;
    Array::from_shape_vec(dim, elements).map_err(|_| too_large())
}

/// Computes the one output of `code`, which has no deferred values, as a new array on the host.
pub(crate) fn evaluate_on_host<T: Element>(code: &Code<'_>) -> Result<ArrayD<T>> {
    let dtype = code.outputs.first().map(|&step| code.steps[step as usize].dtype);
    if dtype != Some(T::DTYPE) || code.outputs.len() != 1 {
        return Err(ArrayError::Operation { name: "evaluation on the host", dtype: T::DTYPE });
    }
    let mut array = new_host_array(&code.shape, IxDyn(&code.shape))?;
    host::evaluate(code, vec![T::host_slice_mut(array.as_slice_mut().unwrap_or_default())])?;
    Ok(array)
}

/// Computes a value that is broadcast to a shape as a new array on the host.
pub(crate) fn evaluate_in_shape<T: Element>(value: &Value<'_>, shape: &[usize]) -> Result<ArrayD<T>> {
    let mut code = Code::default();
    assemble_into(&mut code, value, shape)?;
    checked_len(shape)?;
    code.check_operands()?;
    code.resolve(None)?;
    evaluate_on_host(&code)
}

/// Overwrites an array on the host with a value that has its shape, or is broadcast to it.
pub(crate) fn assign_on_host<T: Element, D: Dimension>(
    mut target: ArrayViewMut<'_, T, D>,
    value: &Value<'_>,
) -> Result<()> {
    let mut code = Code::default();
    assemble_into(&mut code, value, target.shape())?;
    code.check_operands()?;
    code.resolve(None)?;
    if let Some(elements) = target.as_slice_mut() {
        return host::evaluate(&code, vec![T::host_slice_mut(elements)]);
    }
    target.into_dyn().assign(&evaluate_on_host::<T>(&code)?);
    Ok(())
}

/// Computes the two outputs of `code`, which has no deferred values, as new arrays on the host.
pub(crate) fn evaluate_both_on_host<T: Element, U: Element>(code: &Code<'_>) -> Result<(ArrayD<T>, ArrayD<U>)> {
    let dtypes: SmallVec<[DType; 2]> = code.outputs.iter().map(|&step| code.steps[step as usize].dtype).collect();
    if dtypes[..] != [T::DTYPE, U::DTYPE] {
        return Err(ArrayError::Operation { name: "evaluation of two values on the host", dtype: T::DTYPE });
    }
    let mut first: ArrayD<T> = new_host_array(&code.shape, IxDyn(&code.shape))?;
    let mut second: ArrayD<U> = new_host_array(&code.shape, IxDyn(&code.shape))?;
    let targets = vec![
        T::host_slice_mut(first.as_slice_mut().unwrap_or_default()),
        U::host_slice_mut(second.as_slice_mut().unwrap_or_default()),
    ];
    host::evaluate(code, targets)?;
    Ok((first, second))
}

impl Lowered<'_> {
    /// The values as a new array on the host, where the arrays of the expression are.
    ///
    /// # Errors
    /// `Operation` for another element type than the expression's, and for arrays on a device; `TooLarge`.
    pub fn eval_on_host<T: Element>(&self) -> Result<ArrayD<T>> {
        evaluate_on_host(&self.0)
    }

    /// The values of both outputs as new arrays on the host, in one pass.
    ///
    /// # Errors
    /// As [`Lowered::eval_on_host`]; `Operation` for an expression without a second output.
    pub fn eval_both_on_host<T: Element, U: Element>(&self) -> Result<(ArrayD<T>, ArrayD<U>)> {
        evaluate_both_on_host(&self.0)
    }

    /// The values as a new array in C order, whose home is `home`. Does not wait.
    ///
    /// # Errors
    /// `Operation` for another element type than the expression's; `TooLarge`, `TooManyArguments`, `TooManyOperations`; the driver's.
    pub fn eval_on_device<T: Element>(&self, home: &Stream) -> Result<GpuArray<T, IxDyn>> {
        if self.dtype() != T::DTYPE {
            return Err(ArrayError::Operation { name: "eval_on_device", dtype: self.dtype() });
        }
        let shape = self.shape();
        let memory = allocate::<T::Storage>(home, checked_len(shape)?)?;
        device::run(&self.0, home, &[memory.as_raw()], &dense_strides(shape, false), 0)?;
        GpuArray::from_storage(memory, IxDyn(shape))
    }
}

/// Bytes from which on a system may refuse.
const REFUSED_SOMETIMES: usize = 1 << 28;

/// Zeros, on pages that the system has not handed out yet. None where there is not that much memory.
fn zeros<T: Element>(len: usize) -> Option<Vec<T>> {
    // A request that the system refuses would end the process in `vec!`.
    if len > REFUSED_SOMETIMES / size_of::<T>() {
        let mut probe: Vec<T> = Vec::new();
        probe.try_reserve_exact(len).ok()?;
    }
    Some(vec![T::ZERO; len])
}

/// Whether every array of the full shape is in Fortran order, and one of them in that order alone.
fn is_fortran(code: &Code<'_>) -> bool {
    let shape = &code.shape;
    if shape.iter().filter(|&&length| length > 1).count() < 2 {
        return false;
    }
    let mut found = false;
    for leaf in code.leaves.iter().filter(|leaf| !matches!(leaf.memory, LeafMemory::Nowhere)) {
        // Those that are broadcast have no say.
        if leaf.strides.iter().zip(shape).any(|(&stride, &length)| stride == 0 && length > 1) {
            continue;
        }
        if !in_sequence(shape.iter().copied().zip(leaf.strides.iter().copied())) {
            return false;
        }
        found = true;
    }
    found
}

/// Writes a value to each place: by the driver where it can, else by a kernel.
pub(crate) fn fill<T: Element, D: Dimension>(mut target: GpuViewMut<'_, T, D>, value: T) -> Result<()> {
    let layout = target.layout();
    let has_no_gaps = layout.is_c_contiguous() || layout.is_f_contiguous();
    if has_no_gaps && target.covering_mut()?.fill_by_memset(value.to_storage())? {
        target.note_overwritten();
        return Ok(());
    }
    assign(&target, &Value::scalar(value))
}

/// Overwrites a view with a value that has its shape, or is broadcast to it. First it returns the pending error of an operator on the array.
pub(crate) fn assign<T: Element, D: Dimension>(target: &GpuViewMut<'_, T, D>, value: &Value<'_>) -> Result<()> {
    target.check_overwrite()?;
    let layout = target.layout();
    layout.lies_within(target.data().len())?;
    let mut code = Code::default();
    assemble_into(&mut code, value, layout.shape())?;
    code.check_operands()?;
    let home = target.stream();
    let strides = Strides::from_slice(layout.strides());
    let (address, offset) = (target.data().as_raw(), layout.offset() as isize);
    let remaining = if code.has_deferred() { code.resolve_apart(home)? } else { None };
    match remaining {
        Some(remaining) => {
            let address = address.wrapping_add_signed((offset * T::DTYPE.bytes() as isize) as i64);
            let target =
                LoweredTarget { address, dtype: T::DTYPE, shape: layout.shape(), strides: layout.strides(), home };
            remaining.run(&code, target, home)?;
        }
        None => device::run(&code, home, &[address], &strides, offset)?,
    }
    target.note_overwritten();
    Ok(())
}
