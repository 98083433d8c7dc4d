//! Shapes of products by NumPy's rules, and operands as the kernels walk them.

use gpu_array::{
    DType,
    expression::{checked_len, pack_bytes},
};
use ndarray::{ArrayViewD, Axis};
use smallvec::SmallVec;

use crate::{
    AlgoError, Result,
    common::{
        array_operand::ArrayLayout,
        axes::{self, join},
    },
};

/// Lengths of axes.
pub(crate) type Lengths = SmallVec<[usize; 6]>;

/// Strides of axes, in elements.
pub(crate) type Strides = SmallVec<[isize; 6]>;

/// The shape of a product: matrices of m rows and n columns, sums of k terms, and a stack of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MatmulShape {
    pub(crate) batch: Lengths,
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    /// Whether the result has an axis of rows, which a product with a vector on the left has not.
    has_rows: bool,
    /// Whether the result has an axis of columns, which a product with a vector on the right has not.
    has_columns: bool,
}

impl MatmulShape {
    /// The shape of the product of arrays of these shapes.
    ///
    /// # Errors
    /// `NoAxes`, `InnerLength`, `Stacks`; `TooLarge` of arrays for a result of more elements than an array can have.
    pub(crate) fn of(op: &'static str, a: &[usize], b: &[usize]) -> Result<Self> {
        let ([.., k], [.., rows]) = (a, if b.len() > 1 { &b[..b.len() - 1] } else { b }) else {
            return Err(AlgoError::NoAxes { op });
        };
        let (k, rows) = (*k, *rows);
        if k != rows {
            return Err(AlgoError::InnerLength { op, columns: k, rows });
        }
        let (has_rows, has_columns) = (a.len() > 1, b.len() > 1);
        let (m, n) = (if has_rows { a[a.len() - 2] } else { 1 }, if has_columns { b[b.len() - 1] } else { 1 });
        let batch = broadcast(stack(a), stack(b));
        let batch = batch.ok_or_else(|| AlgoError::Stacks { op, left: a.to_vec(), right: b.to_vec() })?;
        let shape = Self { batch, m, n, k, has_rows, has_columns };
        // Both factors may be broadcast.
        checked_len(&shape.result())?;
        Ok(shape)
    }

    /// The shape of the result.
    pub(crate) fn result(&self) -> Lengths {
        let (rows, columns) = (self.has_rows.then_some(self.m), self.has_columns.then_some(self.n));
        self.batch.iter().copied().chain(rows).chain(columns).collect()
    }

    /// Whether the matrices of the result have one row or one column.
    pub(super) fn is_of_vectors(&self) -> bool {
        self.m == 1 || self.n == 1
    }

    /// The left operand, with strides for the axes of the stack, the rows and the columns.
    pub(super) fn left(&self, operand: &ArrayLayout<'_>) -> Matrix {
        self.matrix(operand, self.has_rows, true)
    }

    /// The right operand.
    pub(super) fn right(&self, operand: &ArrayLayout<'_>) -> Matrix {
        self.matrix(operand, true, self.has_columns)
    }

    /// The result.
    pub(super) fn target(&self, operand: &ArrayLayout<'_>) -> Matrix {
        self.matrix(operand, self.has_rows, self.has_columns)
    }

    /// The shape of the product of two arrays on the host, and both with axes of rows and of columns.
    ///
    /// # Errors
    /// Those of [`MatmulShape::of`].
    pub(crate) fn on_host<'a, 'b, T>(
        a: ArrayViewD<'a, T>,
        b: ArrayViewD<'b, T>,
    ) -> Result<(Self, ArrayViewD<'a, T>, ArrayViewD<'b, T>)> {
        let shape = Self::of("matmul", a.shape(), b.shape())?;
        let last = Axis(b.ndim());
        let a = if shape.has_rows { a } else { a.insert_axis(Axis(0)) };
        let b = if shape.has_columns { b } else { b.insert_axis(last) };
        Ok((shape, a, b))
    }

    fn matrix(&self, operand: &ArrayLayout<'_>, has_rows: bool, has_columns: bool) -> Matrix {
        Matrix::new(operand, (has_rows, has_columns), self.batch.len())
    }
}

/// The axes before those of the matrix or vector.
fn stack(shape: &[usize]) -> &[usize] {
    &shape[..shape.len().saturating_sub(2)]
}

/// NumPy's common shape of two stacks.
fn broadcast(a: &[usize], b: &[usize]) -> Option<Lengths> {
    let rank = a.len().max(b.len());
    let at = |shape: &[usize], axis: usize| (axis + shape.len()).checked_sub(rank).map_or(1, |axis| shape[axis]);
    let both = (0..rank).map(|axis| match (at(a, axis), at(b, axis)) {
        (1, length) | (length, 1) => Some(length),
        (left, right) => (left == right).then_some(left),
    });
    both.collect()
}

/// A stack of matrices in memory, with strides in elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Matrix {
    pub(crate) address: u64,
    /// Along each axis of the stack; 0 where it is broadcast.
    pub(crate) batch: Strides,
    /// From one row to the next.
    pub(crate) row: isize,
    /// From one column to the next.
    pub(crate) column: isize,
}

impl Matrix {
    /// The matrices of an operand, whose last axes are those of rows and columns as far as it has these, for a stack of `rank` axes.
    pub(crate) fn new(operand: &ArrayLayout<'_>, (has_rows, has_columns): (bool, bool), rank: usize) -> Self {
        let ArrayLayout { address, shape, strides } = *operand;
        let mut axes = shape.iter().zip(strides).rev();
        let mut next = |exists: bool| if exists { axes.next().map_or(0, |(_, &stride)| stride) } else { 0 };
        let column = next(has_columns);
        let row = next(has_rows);
        let mut batch: Strides = axes.map(|(&length, &stride)| if length == 1 { 0 } else { stride }).collect();
        batch.resize(rank, 0);
        batch.reverse();
        Self { address, batch, row, column }
    }

    /// An operand that is not there.
    pub(crate) fn none(rank: usize) -> Self {
        Self { address: 0, batch: Strides::from_elem(0, rank), row: 0, column: 0 }
    }

    fn transposed(self) -> Self {
        Self { row: self.column, column: self.row, ..self }
    }
}

/// Leaves of an expression, of the shape of c.
pub(super) type Leaves = SmallVec<[Matrix; 2]>;

/// A product as the kernel computes it: the columns of c are neighbours if anything is.
#[derive(Clone, Debug)]
pub(super) struct MatmulProblem {
    pub(super) dtype: DType,
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) a: Matrix,
    pub(super) b: Matrix,
    pub(super) c: Matrix,
    /// Leaves of the expression around the product.
    pub(super) leaves: Leaves,
    /// Axes of the stack, the innermost first; steps are those of c, a and b, and of leaves.
    pub(super) batch: SmallVec<[axes::Axis; 4]>,
    /// The bits of the factors, of complex numbers a word for each part.
    pub(super) alpha: [u64; 2],
    pub(super) beta: [u64; 2],
}

impl MatmulProblem {
    /// The product of `a` and `b` into `c`, with the bits of alpha and beta.
    pub(super) fn new(dtype: DType, shape: &MatmulShape, matrices: [Matrix; 3], factors: [[u64; 2]; 2]) -> Self {
        Self::with_leaves(dtype, shape, matrices, Leaves::new(), factors)
    }

    /// [`MatmulProblem::new`] with an expression around the product, whose leaves are `leaves`.
    pub(super) fn with_leaves(
        dtype: DType,
        shape: &MatmulShape,
        [a, b, c]: [Matrix; 3],
        leaves: Leaves,
        [alpha, beta]: [[u64; 2]; 2],
    ) -> Self {
        let MatmulShape { m, n, k, .. } = *shape;
        let mut batch: SmallVec<[axes::Axis; 4]> = (0..shape.batch.len())
            .rev()
            .filter(|&axis| shape.batch[axis] != 1)
            .map(|axis| axes::Axis {
                length: shape.batch[axis],
                outer: true,
                steps: [&c, &a, &b].into_iter().chain(&leaves).map(|matrix| matrix.batch[axis]).collect(),
            })
            .collect();
        join(&mut batch);
        let mut problem = Self { dtype, m, n, k, a, b, c, leaves, batch, alpha, beta };
        if problem.c.column.unsigned_abs() > problem.c.row.unsigned_abs() && problem.m > 1 {
            problem.transpose();
        }
        problem.join_rows();
        problem
    }

    /// This product as c' = b' a'.
    pub(super) fn transposed(&self) -> Self {
        let mut problem = self.clone();
        problem.transpose();
        problem
    }

    /// Computes the transposed result: c' = b' a'.
    fn transpose(&mut self) {
        let Self { a, b, c, leaves, .. } = self.clone();
        (self.a, self.b, self.c) = (b.transposed(), a.transposed(), c.transposed());
        self.leaves = leaves.into_iter().map(Matrix::transposed).collect();
        std::mem::swap(&mut self.m, &mut self.n);
        self.batch.iter_mut().for_each(|axis| axis.steps.swap(1, 2));
    }

    /// Makes rows of the innermost axis of the stack, where b is the same for all of it and the rows of a and c continue.
    fn join_rows(&mut self) {
        let rows = self.m as isize;
        if let Some(axes::Axis { length, steps, .. }) = self.batch.first()
            && steps[2] == 0
            && Some(steps[0]) == self.c.row.checked_mul(rows)
            && Some(steps[1]) == self.a.row.checked_mul(rows)
            && self.leaves.iter().zip(&steps[3..]).all(|(leaf, &step)| Some(step) == leaf.row.checked_mul(rows))
        {
            self.m *= length;
            self.batch.remove(0);
        }
    }

    /// Whether kernels of both walk the same factors in the same order, so that sums have the same bits.
    pub(super) fn adds_as(&self, other: &Self) -> bool {
        let walk = |problem: &Self| (problem.dtype, problem.m, problem.n, problem.k);
        let same_axes = |(own, other): (&axes::Axis, &axes::Axis)| {
            (own.length, &own.steps[1..3]) == (other.length, &other.steps[1..3])
        };
        walk(self) == walk(other)
            && (&self.a, &self.b) == (&other.a, &other.b)
            && self.batch.len() == other.batch.len()
            && self.batch.iter().zip(&other.batch).all(same_axes)
    }

    /// Whether packs of `width` elements of `bytes` along the rows of a leaf are whole and aligned.
    pub(super) fn is_leaf_packed(&self, leaf: usize, width: usize, bytes: usize) -> bool {
        let Matrix { address, row, column, .. } = self.leaves[leaf];
        let is_multiple = |step: isize| step.unsigned_abs().is_multiple_of(width);
        column == 1
            && is_multiple(row)
            && address.is_multiple_of(pack_bytes(width, bytes))
            && self.batch.iter().all(|axis| is_multiple(axis.steps[3 + leaf]))
    }

    /// Number of matrices in the stack.
    pub(super) fn matrices(&self) -> usize {
        self.batch.iter().map(|axis| axis.length).product()
    }

    /// Whether packs of `width` elements along an axis of `length` are whole and aligned in one operand: number 0 is c, 1 is a, 2 is b.
    pub(super) fn is_packed(&self, operand: usize, width: usize) -> bool {
        let (address, [along, across], length) = match operand {
            0 => (self.c.address, [self.c.column, self.c.row], self.n),
            1 => (self.a.address, [self.a.row, self.a.column], self.m),
            _ => (self.b.address, [self.b.column, self.b.row], self.n),
        };
        self.are_whole(operand, address, [along, across], length, width)
    }

    /// Whether the factors are integers of 8 bits, of which the results are i32.
    pub(super) fn is_of_bytes(&self) -> bool {
        self.dtype.bytes() == 1
    }

    /// Whether the result has no elements.
    pub(super) fn is_empty(&self) -> bool {
        self.m == 0 || self.n == 0 || self.matrices() == 0
    }

    /// Whether packs of `width` elements along k are whole and aligned in one operand: number 1 is a, 2 is b.
    pub(super) fn is_packed_along_k(&self, operand: usize, width: usize) -> bool {
        let (address, steps) = match operand {
            1 => (self.a.address, [self.a.column, self.a.row]),
            _ => (self.b.address, [self.b.row, self.b.column]),
        };
        self.are_whole(operand, address, steps, self.k, width)
    }

    fn are_whole(
        &self,
        operand: usize,
        address: u64,
        [along, across]: [isize; 2],
        length: usize,
        width: usize,
    ) -> bool {
        let is_multiple = |step: isize| step.unsigned_abs().is_multiple_of(width);
        let bytes = if operand == 0 && self.is_of_bytes() { size_of::<i32>() } else { self.dtype.bytes() };
        along == 1
            && length.is_multiple_of(width)
            && is_multiple(across)
            && address.is_multiple_of((width * bytes) as u64)
            && self.batch.iter().all(|axis| is_multiple(axis.steps[operand]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(a: &[usize], b: &[usize]) -> Result<Vec<usize>> {
        Ok(MatmulShape::of("matmul", a, b)?.result().to_vec())
    }

    #[test]
    fn shapes_follow_numpy() {
        let cases: [(&[usize], &[usize], &[usize]); 9] = [
            (&[3], &[3], &[]),
            (&[2, 3], &[3], &[2]),
            (&[3], &[3, 4], &[4]),
            (&[2, 3], &[3, 4], &[2, 4]),
            (&[5, 2, 3], &[3, 4], &[5, 2, 4]),
            (&[5, 2, 3], &[3], &[5, 2]),
            (&[3], &[5, 3, 4], &[5, 4]),
            (&[7, 1, 2, 3], &[5, 3, 4], &[7, 5, 2, 4]),
            (&[0, 2, 3], &[1, 3, 4], &[0, 2, 4]),
        ];
        for (a, b, want) in cases {
            assert_eq!(shape(a, b).unwrap(), want, "{a:?} {b:?}");
        }
    }

    #[test]
    fn shapes_that_do_not_fit_are_errors() {
        let message = |a: &[usize], b: &[usize]| shape(a, b).unwrap_err().to_string();
        assert_eq!(message(&[2, 3], &[4, 5]), "matmul: a has 3 columns, b has 4 rows");
        assert_eq!(message(&[], &[4, 5]), "matmul of a value without axes; `*` multiplies by a scalar");
        assert_eq!(message(&[4, 5], &[]), "matmul of a value without axes; `*` multiplies by a scalar");
        let stacks = "matmul: stacks of matrices of shapes [2, 3, 4] and [3, 4, 5] do not broadcast";
        assert_eq!(message(&[2, 3, 4], &[3, 4, 5]), stacks);
    }

    /// A problem of arrays in C order, or with the last two axes of the result exchanged in memory.
    fn problem(a: &[usize], b: &[usize], by_columns: bool) -> MatmulProblem {
        let strides = |shape: &[usize]| crate::common::shape::in_order(shape, 1);
        let whole = MatmulShape::of("matmul", a, b).unwrap();
        let result = whole.result();
        let mut c = strides(&result);
        if by_columns {
            let last = c.len() - 1;
            (c[last], c[last - 1]) = (result[last - 1] as isize, 1);
        }
        let (sa, sb) = (strides(a), strides(b));
        let a = whole.left(&ArrayLayout { address: 1 << 20, shape: a, strides: &sa });
        let b = whole.right(&ArrayLayout { address: 1 << 21, shape: b, strides: &sb });
        let c = whole.target(&ArrayLayout { address: 1 << 22, shape: &result, strides: &c });
        MatmulProblem::new(DType::F32, &whole, [a, b, c], [[1, 0], [0; 2]])
    }

    #[test]
    fn a_result_by_columns_is_computed_transposed() {
        let MatmulProblem { m, n, a, b, c, .. } = problem(&[3, 5], &[5, 7], true);
        assert_eq!((m, n, a.address, a.row, a.column), (7, 3, 1 << 21, 1, 7));
        assert_eq!((b.address, b.row, b.column, c.row, c.column), (1 << 20, 1, 5, 3, 1));
    }

    #[test]
    fn a_stack_with_one_right_matrix_is_one_matrix() {
        let joined = problem(&[6, 3, 5], &[5, 7], false);
        assert_eq!((joined.m, joined.batch.len()), (18, 0));
        let stack = problem(&[6, 3, 5], &[6, 5, 7], false);
        assert_eq!((stack.m, stack.batch.len(), stack.matrices()), (3, 1, 6));
        assert_eq!(stack.batch[0].steps[..], [21, 15, 35]);
    }

    #[test]
    fn packs_are_whole_and_aligned() {
        let of = problem(&[8, 4], &[4, 12], false);
        assert_eq!([0, 1, 2].map(|operand| of.is_packed(operand, 4)), [true, false, true]);
        assert_eq!([1, 2].map(|operand| of.is_packed_along_k(operand, 4)), [true, false]);
        let odd = problem(&[8, 6], &[6, 12], false);
        assert_eq!([1, 2].map(|operand| odd.is_packed_along_k(operand, 4)), [false; 2]);
        let odd = problem(&[8, 4], &[4, 13], false);
        assert_eq!([0, 1, 2].map(|operand| odd.is_packed(operand, 4)), [false; 3]);
    }
}
