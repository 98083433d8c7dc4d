//! Operands of kernels that read arrays and views where they are: matrix products and linear algebra.

use gpu_array::{
    ArrayError, Element, GpuArray,
    expression::{Assembled, Expr, IntoExpr, Lowered, LoweredLeaf},
    gpu_driver::Stream,
};
use ndarray::{Dimension, IxDyn};

use super::{
    launch::{Homes, unique},
    source::checked,
};
use crate::Result;

/// An operand: an array or a view, or an expression that becomes an array first.
pub(crate) struct ArrayOperand<'a, T: Element> {
    pub(crate) assembled: Result<Assembled<'a>, ArrayError>,
    /// The operand as an expression; None if it cannot be assembled.
    pub(crate) expression: Option<Expr<'a, T, IxDyn>>,
}

/// An array in memory: the address of the element at index 0 of every axis, lengths and strides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrayLayout<'o> {
    pub(crate) address: u64,
    pub(crate) shape: &'o [usize],
    pub(crate) strides: &'o [isize],
}

/// An operand that is ready for a launch: the array that an expression has become, if the operand is one.
pub(crate) struct Computed<T: Element>(Option<GpuArray<T, IxDyn>>);

impl<'a, T: Element> ArrayOperand<'a, T> {
    pub(crate) fn new<D: Dimension>(value: Expr<'a, T, D>) -> Self {
        let assembled = value.lower_deferred();
        let expression = assembled.as_ref().ok().map(|assembled| value.broadcast(IxDyn(assembled.shape())));
        Self { assembled, expression }
    }

    pub(crate) fn assembled(&self) -> Result<&Assembled<'a>> {
        Ok(checked(&self.assembled)?)
    }

    /// Computes the array that the operand has to become, if it is none.
    pub(crate) fn compute(&self, stream: &Stream) -> Result<Computed<T>> {
        if self.assembled()?.as_array().is_some() {
            return Ok(Computed(None));
        }
        let computed = self.expression.as_ref().map(|expression| expression.eval_on(stream));
        Ok(Computed(computed.transpose()?))
    }

    /// The array in memory and its streams: the computed one, or the operand itself.
    pub(crate) fn array<'s>(&'s self, computed: Option<&'s Lowered<'_>>) -> Result<(ArrayLayout<'s>, Homes<'s>)> {
        if let Some(computed) = computed {
            return in_memory(computed);
        }
        match self.assembled()?.as_array() {
            Some(lowered) => in_memory(lowered),
            None => unreachable!("an operand is an array or has become one"),
        }
    }
}

impl<T: Element> Computed<T> {
    /// The array, lowered; None if the operand is an array itself.
    pub(crate) fn lower(&self) -> Result<Option<Lowered<'_>>> {
        Ok(self.0.as_ref().map(|array| array.into_expr().lower()).transpose()?)
    }
}

/// The array in memory that an expression is, and its streams.
pub(crate) fn in_memory<'l>(lowered: &'l Lowered<'_>) -> Result<(ArrayLayout<'l>, Homes<'l>)> {
    Ok((layout_of(lowered), unique(lowered.homes().map(|home| -> &Stream { home }))))
}

/// The array in memory that an expression is.
pub(crate) fn layout_of<'l>(lowered: &'l Lowered<'_>) -> ArrayLayout<'l> {
    let Some(LoweredLeaf { address, strides, .. }) = lowered.array() else {
        unreachable!("an operand is an array or has become one");
    };
    ArrayLayout { address, shape: lowered.shape(), strides }
}
