//! Operands of loops that take neighbours in C order only.

use gpu_driver::Stream;
use ndarray::IxDyn;

use super::{graph::Value, job};
use crate::{Element, GpuArray, Result, allocate::allocate, layout::Layout, layout::in_sequence};

/// The elements of a value in device memory, in C order and without gaps.
pub(crate) struct DenseOperand<'v, T: Element> {
    address: u64,
    /// The stream of the memory, unless `computed` has it.
    home: Option<&'v Stream>,
    computed: Option<GpuArray<T, IxDyn>>,
    /// Distance of neighbours: 0 where one element stands for all.
    step: u64,
}

impl<'v, T: Element> DenseOperand<'v, T> {
    /// The elements of a value of type `T` that is broadcast to `shape`: where they lie, if they lie so on the stream's device; else in a new array.
    ///
    /// # Errors
    /// The errors of evaluating the value; `Operands` where it does not fit the shape.
    pub(crate) fn of(value: &'v Value<'_>, shape: &[usize], stream: &Stream) -> Result<Self> {
        if let Value::Leaf(leaf) = value
            && let Some(home) = leaf.memory.home().filter(|home| home.device() == stream.device())
            && leaf.shape[..] == *shape
            && in_sequence(leaf.shape.iter().copied().zip(leaf.strides.iter().copied()).rev())
        {
            leaf.memory.check()?;
            return Ok(Self { address: leaf.address(leaf.offset), home: Some(home), computed: None, step: 1 });
        }
        let (shape, step) = if matches!(value, Value::Scalar(..)) { (&[][..], 0) } else { (shape, 1) };
        let layout = Layout::c(IxDyn(shape))?;
        let mut computed = GpuArray::from_parts(allocate(stream, layout.len())?, layout);
        job::assign(&computed.view_mut(), value)?;
        let address = computed.data().as_raw();
        Ok(Self { address, home: None, computed: Some(computed), step })
    }

    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    pub(crate) fn step(&self) -> u64 {
        self.step
    }

    /// The stream of the memory; None for memory of the stream that it was made for.
    pub(crate) fn home(&self) -> Option<&Stream> {
        self.home.or_else(|| self.computed.as_ref().map(GpuArray::stream))
    }
}
