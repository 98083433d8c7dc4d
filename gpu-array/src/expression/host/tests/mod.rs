//! Each operation against plain definitions, and the evaluator's work around them.

mod floats;
mod integers;
mod layouts;
mod structure;

use ndarray::ArrayViewD;
use smallvec::smallvec;

use super::evaluate;
use crate::{
    DType, Element, Result,
    element::HostSliceMut,
    expression::graph::{Code, Leaf, LeafMemory, Op, Step, TakeTable},
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
                steps: smallvec![],
                outputs: smallvec![],
                leaves: smallvec![],
                scalars: smallvec![],
                tables: smallvec![],
                sources: smallvec![],
                shape,
                scope: None,
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
        let memory = LeafMemory::Host(T::host_view(view));
        self.code.leaves.push(Leaf { memory, dtype: T::DTYPE, offset, shape, strides });
        self.step(Op::Leaf, T::DTYPE, &[self.code.leaves.len() as u32 - 1])
    }

    pub(super) fn slice<T: Element>(&mut self, values: &'a [T]) -> u32 {
        self.leaf(ArrayViewD::from_shape(&[values.len()][..], values).unwrap())
    }

    pub(super) fn index(&mut self, offset: isize, strides: &[isize]) -> u32 {
        let (shape, strides) = (self.code.shape.clone(), strides.into());
        self.code.leaves.push(Leaf { memory: LeafMemory::Nowhere, dtype: DType::I64, offset, shape, strides });
        self.step(Op::Index, DType::I64, &[self.code.leaves.len() as u32 - 1])
    }

    pub(super) fn scalar<T: Element>(&mut self, value: T) -> u32 {
        self.code.scalars.push(value.to_words()[0]);
        self.step(Op::Scalar, T::DTYPE, &[self.code.scalars.len() as u32 - 1])
    }

    pub(super) fn table<T: Element>(&mut self, view: ArrayViewD<'a, T>, offset: isize) -> u32 {
        self.code.tables.push(TakeTable { memory: LeafMemory::Host(T::host_view(view)), dtype: T::DTYPE, offset });
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

/// The values of an operation of two operands at all pairs, which are the same for slices and scalars on either side; that such a scalar
/// is a leaf with strides of 0 in one case changes nothing either.
pub(super) fn pairs<T: Element, U: Element + Default>(
    op: Op,
    values: &[T],
    same: impl Fn(U, U) -> bool,
) -> Vec<(T, T, U)> {
    let all: Vec<(T, T)> = values.iter().flat_map(|&a| values.iter().map(move |&b| (a, b))).collect();
    let (left, right): (Vec<T>, Vec<T>) = all.iter().copied().unzip();
    let got = apply::<T, U>(op, &[&left, &right]).unwrap();
    for (i, &value) in values.iter().enumerate() {
        let mut b = Builder::new(&[values.len()]);
        let (x, y) = (b.scalar(value), b.slice(values));
        b.step(op, U::DTYPE, &[x, y]);
        let scalar_left = b.last::<U>().unwrap();
        let mut b = Builder::new(&[values.len()]);
        let (x, y) = (b.slice(values), b.leaf_at(ArrayViewD::from_shape(&[1][..], &values[i..]).unwrap(), 0, &[0]));
        b.step(op, U::DTYPE, &[x, y]);
        let scalar_right = b.last::<U>().unwrap();
        for j in 0..values.len() {
            let (across, down) = (got[i * values.len() + j], got[j * values.len() + i]);
            assert!(same(scalar_left[j], across), "{op:?}: {value} with {}: {} {across}", values[j], scalar_left[j]);
            assert!(same(scalar_right[j], down), "{op:?}: {} with {value}: {} {down}", values[j], scalar_right[j]);
            let mut b = Builder::new(&[3]);
            let (x, y) = (b.scalar(value), b.scalar(values[j]));
            b.step(op, U::DTYPE, &[x, y]);
            assert!(
                b.last::<U>().unwrap().into_iter().all(|both| same(both, across)),
                "{op:?}: {value} with {}",
                values[j]
            );
        }
    }
    all.into_iter().zip(got).map(|((a, b), got)| (a, b, got)).collect()
}

/// All operations of operands of one type, by the types that they are defined for.
pub(super) const NUMBERS: &[Op] = &[
    Op::Negate,
    Op::Absolute,
    Op::Sign,
    Op::Add,
    Op::Subtract,
    Op::Multiply,
    Op::FloorDivide,
    Op::Remainder,
    Op::Fmod,
    Op::Power,
];
pub(super) const BITS: &[Op] = &[Op::And, Op::Or, Op::Xor, Op::Not];
pub(super) const SHIFTS: &[Op] = &[Op::ShiftLeft, Op::ShiftRight];
pub(super) const REALS: &[Op] = &[
    Op::Divide,
    Op::Fma,
    Op::Floor,
    Op::Ceil,
    Op::Round,
    Op::Truncate,
    Op::Sqrt,
    Op::Exp,
    Op::Exp2,
    Op::Expm1,
    Op::Log,
    Op::Log2,
    Op::Log10,
    Op::Log1p,
    Op::Sin,
    Op::Cos,
    Op::Tan,
    Op::Asin,
    Op::Acos,
    Op::Atan,
    Op::Sinh,
    Op::Cosh,
    Op::Tanh,
    Op::Cbrt,
    Op::Asinh,
    Op::Acosh,
    Op::Atanh,
    Op::Erf,
    Op::Erfc,
    Op::LogGamma,
    Op::Gamma,
    Op::J0,
    Op::J1,
    Op::Y0,
    Op::Y1,
    Op::Jn,
    Op::Yn,
    Op::Mantissa,
    Op::Fraction,
    Op::Ldexp,
    Op::CopySign,
    Op::NextAfter,
    Op::Atan2,
    Op::Hypot,
];

#[test]
fn operations_exist_for_their_types_only() {
    fn exists<T: Element + Default>(op: Op) -> bool {
        apply::<T, T>(op, &[&[T::default(); 3], &[T::default(); 3], &[T::default(); 3]]).is_ok()
    }
    fn check<T: Element + Default>(kinds: &[(&[Op], bool)]) {
        for (ops, want) in kinds {
            for &op in *ops {
                assert_eq!(exists::<T>(op), *want, "{op:?} of {}", T::DTYPE);
            }
        }
    }
    let integer: &[(&[Op], bool)] = &[(NUMBERS, true), (BITS, true), (SHIFTS, true), (REALS, false)];
    check::<i8>(integer);
    check::<i16>(integer);
    check::<i32>(integer);
    check::<i64>(integer);
    check::<u8>(integer);
    check::<u16>(integer);
    check::<u32>(integer);
    check::<u64>(integer);
    let float: &[(&[Op], bool)] = &[(NUMBERS, true), (BITS, false), (SHIFTS, false), (REALS, true)];
    check::<f32>(float);
    check::<f64>(float);
    check::<bool>(&[(NUMBERS, false), (BITS, true), (SHIFTS, false), (REALS, false)]);
}
