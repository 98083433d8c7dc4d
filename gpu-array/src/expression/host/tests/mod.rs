//! Each operation against plain definitions, and what the evaluator does around them.

mod floats;
mod integers;
mod layouts;
mod speed;
mod structure;

use ndarray::ArrayViewD;
use smallvec::smallvec;

use super::{HostSliceMut, evaluate};
use crate::{
    DType, Element, Result,
    expression::{Code, Leaf, Memory, Op, Step, Table},
};

/// Makes a [`Code`] step by step.
pub(super) struct Builder<'a> {
    code: Code<'a>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(shape: &[usize]) -> Self {
        let shape = shape.into();
        Self {
            code: Code {
                steps: vec![],
                outputs: smallvec![],
                leaves: smallvec![],
                scalars: smallvec![],
                tables: smallvec![],
                sources: smallvec![],
                shape,
            },
        }
    }

    pub(super) fn step(&mut self, op: Op, dtype: DType, args: &[u32]) -> u32 {
        let mut all = [0; 3];
        all[..args.len()].copy_from_slice(args);
        self.code.steps.push(Step { op, dtype, args: all });
        self.code.steps.len() as u32 - 1
    }

    /// An array of the expression's shape.
    pub(super) fn leaf<T: Element>(&mut self, view: ArrayViewD<'a, T>) -> u32 {
        let strides = view.strides().to_vec();
        self.leaf_at(view, 0, &strides)
    }

    pub(super) fn leaf_at<T: Element>(&mut self, view: ArrayViewD<'a, T>, offset: isize, strides: &[isize]) -> u32 {
        let (shape, strides) = (self.code.shape.clone(), strides.into());
        let memory = Memory::Host(T::host_view(view));
        self.code.leaves.push(Leaf { memory, dtype: T::DTYPE, offset, shape, strides });
        self.step(Op::Leaf, T::DTYPE, &[self.code.leaves.len() as u32 - 1])
    }

    pub(super) fn slice<T: Element>(&mut self, values: &'a [T]) -> u32 {
        self.leaf(ArrayViewD::from_shape(&[values.len()][..], values).unwrap())
    }

    pub(super) fn index(&mut self, offset: isize, strides: &[isize]) -> u32 {
        let (shape, strides) = (self.code.shape.clone(), strides.into());
        self.code.leaves.push(Leaf { memory: Memory::Nowhere, dtype: DType::I64, offset, shape, strides });
        self.step(Op::Index, DType::I64, &[self.code.leaves.len() as u32 - 1])
    }

    pub(super) fn scalar<T: Element>(&mut self, value: T) -> u32 {
        self.code.scalars.push(value.to_word());
        self.step(Op::Scalar, T::DTYPE, &[self.code.scalars.len() as u32 - 1])
    }

    pub(super) fn table<T: Element>(&mut self, view: ArrayViewD<'a, T>, offset: isize) -> u32 {
        self.code.tables.push(Table { memory: Memory::Host(T::host_view(view)), dtype: T::DTYPE, offset });
        self.code.tables.len() as u32 - 1
    }

    pub(super) fn places(&self) -> usize {
        self.code.shape.iter().product()
    }

    /// The values of the last step.
    pub(super) fn last<T: Element + Default>(&mut self) -> Result<Vec<T>> {
        self.code.outputs = smallvec![self.code.steps.len() as u32 - 1];
        let mut out = vec![T::default(); self.places()];
        evaluate(&self.code, vec![T::host_slice_mut(&mut out)])?;
        Ok(out)
    }

    pub(super) fn run(&mut self, outputs: &[u32], slices: Vec<HostSliceMut<'_>>) -> Result<()> {
        self.code.outputs = outputs.into();
        evaluate(&self.code, slices)
    }
}

/// The values of one operation on slices.
pub(super) fn apply<T: Element, U: Element + Default>(op: Op, operands: &[&[T]]) -> Result<Vec<U>> {
    let mut b = Builder::new(&[operands[0].len()]);
    let args: Vec<u32> = operands.iter().map(|values| b.slice(values)).collect();
    b.step(op, U::DTYPE, &args);
    b.last()
}
