//! Computations of other crates as expressions.

use std::sync::Arc;

use gpu_driver::Stream;
use ndarray::Dimension;

use super::expr::{Backend, Expr};
use crate::{
    ArrayError, Element, Result,
    expression::graph::{Assembled, Deferred, DeferredValue, Evaluated, Leaf, NodeKind, Value},
    layout::dense_strides,
};

impl Evaluated {
    /// The array, which the expressions that read it own from now on.
    ///
    /// # Errors
    /// `NotInCOrder` for an array that is not in C order and without gaps.
    pub fn new<T: Element, D: Dimension, P: Backend>(array: P::Owned<T, D>) -> Result<Self> {
        let value = P::owned_expr::<T, D>(array).value;
        let leaf = value.as_array("a deferred value")?.clone();
        if !is_dense(&leaf) {
            return Err(ArrayError::NotInCOrder {
                op: "a deferred value",
                shape: leaf.shape.to_vec(),
                strides: leaf.strides.to_vec(),
            });
        }
        Ok(Self(leaf))
    }
}

fn is_dense(leaf: &Leaf<'_>) -> bool {
    let wanted = dense_strides(&leaf.shape, false);
    let mut axes = leaf.shape.iter().zip(&leaf.strides).zip(&wanted);
    leaf.shape.contains(&0) || axes.all(|((&length, stride), wanted)| length < 2 || stride == wanted)
}

/// The result of a computation as an expression, of the type `T` and the shape `shape`. `home` is the stream to compute on where no array of the
/// expression around it, and none of the operands, has one.
///
/// # Errors
/// `eval` reports `TooLarge`; `TooDeep` for more than 16 computations, one in the operands of the next; the errors of the operands; the error of
/// the computation as `Deferred`.
pub fn deferred<'a, T: Element, D: Dimension, P: Backend>(
    operation: Arc<dyn Deferred>,
    operands: impl IntoIterator<Item = Assembled<'a>>,
    shape: D,
    home: Option<Stream>,
) -> Expr<'a, T, D, P> {
    let operands = operands.into_iter().collect();
    Expr::of(match DeferredValue::new(operation, operands, (T::DTYPE, shape.slice()), home) {
        Ok(value) => Value::new(NodeKind::Deferred(Arc::new(value)), T::DTYPE),
        Err(error) => Value::failed(error, T::DTYPE),
    })
}
