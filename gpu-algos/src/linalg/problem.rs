//! Functions of stacks of matrices, their shapes by NumPy's rules, and operands as the kernels walk them.

use gpu_array::{DType, expression::checked_len};
use smallvec::SmallVec;

use super::{
    Triangle,
    constants::{DETERMINANT, FACTORS, INVERSE, LOG_DETERMINANT, LOWER, SOLUTION, UNIT},
};
use crate::{
    AlgoError, Result,
    common::axes::{self, join},
    matmul::{Lengths, MatmulShape, Matrix},
};

/// The most rows and columns of a matrix.
pub(crate) const MOST_ROWS: usize = 64;

/// A function of a stack of matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinalgFunction {
    SolveTriangular(Triangle),
    Cholesky,
    LuFactor,
    Solve,
    Inverse,
    Determinant,
    LogDeterminant,
    Qr,
}

impl LinalgFunction {
    /// NumPy's or SciPy's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::SolveTriangular(_) => "solve_triangular",
            Self::Cholesky => "cholesky",
            Self::LuFactor => "lu_factor",
            Self::Solve => "solve",
            Self::Inverse => "inv",
            Self::Determinant => "det",
            Self::LogDeterminant => "slogdet",
            Self::Qr => "qr",
        }
    }

    /// Whether some matrices have no result.
    pub(super) fn may_fail(self) -> bool {
        matches!(self, Self::SolveTriangular(_) | Self::Cholesky | Self::Solve | Self::Inverse)
    }

    /// The word `mode` of the kernel's parameters.
    pub(super) fn mode(self) -> u32 {
        match self {
            Self::SolveTriangular(triangle) => {
                u32::from(triangle.is_lower()) * LOWER + u32::from(triangle.is_unit()) * UNIT
            }
            Self::LuFactor | Self::Cholesky | Self::Qr => FACTORS,
            Self::Solve => SOLUTION,
            Self::Inverse => INVERSE,
            Self::Determinant => DETERMINANT,
            Self::LogDeterminant => LOG_DETERMINANT,
        }
    }

    /// The error of a matrix without a result, at an index of the stack and with the first failing pivot, counted from 0.
    pub(crate) fn failure(self, matrix: Vec<usize>, pivot: usize) -> AlgoError {
        let op = self.name();
        match self {
            Self::Cholesky => AlgoError::NotPositiveDefinite { op, matrix, pivot },
            _ => AlgoError::Singular { op, matrix, pivot },
        }
    }
}

/// The shapes of a function's operands and result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinalgShape {
    /// The stack, of both operands.
    pub(crate) batch: Lengths,
    /// Rows of a matrix.
    pub(crate) rows: usize,
    /// Columns of right-hand sides; without these columns of a matrix.
    pub(crate) columns: usize,
    /// The shape of the first result.
    pub(crate) result: Lengths,
    /// Whether the result has an axis of rows, and one of columns.
    pub(crate) has_axes: (bool, bool),
}

impl LinalgShape {
    /// The shapes of a function of arrays of these shapes.
    ///
    /// # Errors
    /// `NoMatrices`, `NotSquare`, `MatrixTooLarge`; `InnerLength` and `Stacks`; `TooLarge` of arrays.
    pub(crate) fn of(function: LinalgFunction, a: &[usize], b: Option<&[usize]>) -> Result<Self> {
        let op = function.name();
        let [batch @ .., rows, columns] = a else {
            return Err(AlgoError::NoMatrices { op, shape: a.to_vec() });
        };
        let (rows, columns) = (*rows, *columns);
        if rows != columns && function != LinalgFunction::Qr {
            return Err(AlgoError::NotSquare { op, rows, columns });
        }
        if rows.max(columns) > MOST_ROWS {
            return Err(AlgoError::MatrixTooLarge { op, limit: MOST_ROWS, rows, columns });
        }
        let Some(b) = b else {
            return Ok(Self::of_one(function, batch, [rows, columns]));
        };
        let shape = MatmulShape::of(op, a, b)?;
        let has_columns = b.len() > 1;
        let result = shape.result();
        checked_len(&result)?;
        Ok(Self { batch: shape.batch, rows, columns: shape.n, result, has_axes: (true, has_columns) })
    }

    /// The shapes of a function of one array.
    fn of_one(function: LinalgFunction, batch: &[usize], [rows, columns]: [usize; 2]) -> Self {
        let axes: &[usize] = match function {
            LinalgFunction::Determinant | LinalgFunction::LogDeterminant => &[],
            LinalgFunction::Qr => &[rows, rows.min(columns)],
            _ => &[rows, columns],
        };
        let result = batch.iter().chain(axes).copied().collect();
        Self { batch: batch.into(), rows, columns, result, has_axes: (!axes.is_empty(), !axes.is_empty()) }
    }

    /// The shape of the second result, of `lu_factor`, `slogdet` and `qr`.
    pub(crate) fn second(&self, function: LinalgFunction) -> Lengths {
        let axes: &[usize] = match function {
            LinalgFunction::Qr => &[self.rows.min(self.columns), self.columns],
            LinalgFunction::LogDeterminant => &[],
            _ => &[self.rows],
        };
        self.batch.iter().chain(axes).copied().collect()
    }

    /// The index in the stack of a matrix, from its number in C order.
    pub(crate) fn index(&self, matrix: usize) -> Vec<usize> {
        let mut rest = matrix;
        let mut index: Vec<usize> = self
            .batch
            .iter()
            .rev()
            .map(|&length| {
                let at = rest % length;
                rest /= length;
                at
            })
            .collect();
        index.reverse();
        index
    }
}

/// A function of a stack of matrices in memory.
#[derive(Clone, Debug)]
pub(super) struct LinalgProblem {
    pub(super) function: LinalgFunction,
    pub(super) dtype: DType,
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// The result, a and b.
    pub(super) operands: [Matrix; 3],
    /// Axes of the stack, the innermost first; steps are those of the operands.
    pub(super) batch: SmallVec<[axes::Axis; 4]>,
    /// The address of the second result.
    pub(super) second: u64,
    /// The address of the status of each matrix.
    pub(super) info: u64,
    /// The address of the word of the first failure.
    pub(super) first_failure: u64,
}

impl LinalgProblem {
    pub(super) fn new(function: LinalgFunction, dtype: DType, shape: &LinalgShape, operands: [Matrix; 3]) -> Self {
        let mut batch: SmallVec<[axes::Axis; 4]> = (0..shape.batch.len())
            .rev()
            .filter(|&axis| shape.batch[axis] != 1)
            .map(|axis| axes::Axis {
                length: shape.batch[axis],
                outer: true,
                steps: operands.iter().map(|matrix| matrix.batch[axis]).collect(),
            })
            .collect();
        join(&mut batch);
        let LinalgShape { rows, columns, .. } = *shape;
        Self { function, dtype, rows, columns, operands, batch, second: 0, info: 0, first_failure: 0 }
    }

    /// Number of matrices in the stack.
    pub(super) fn matrices(&self) -> usize {
        self.batch.iter().map(|axis| axis.length).product()
    }
}
