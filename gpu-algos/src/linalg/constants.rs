//! Constants that the host and the kernels of linear algebra share.

use gpu_array::gpu_driver::kernel_constants;

kernel_constants! {
    pub(super) const CONSTANTS: &str;
    /// A flag of `solve_triangular`: the triangle is below the diagonal.
    pub(super) const LOWER: u32 = 1;
    /// A flag of `solve_triangular`: the diagonal is 1.
    pub(super) const UNIT: u32 = 2;
    /// A mode of `lu`: the factors and the exchanges of rows.
    pub(super) const FACTORS: u32 = 0;
    /// A mode of `lu`: the solutions for right-hand sides.
    pub(super) const SOLUTION: u32 = 1;
    /// A mode of `lu`: the solutions for the columns of the unit matrix.
    pub(super) const INVERSE: u32 = 2;
    /// A mode of `lu`: the determinant.
    pub(super) const DETERMINANT: u32 = 3;
    /// A mode of `lu`: the sign of the determinant, and the logarithm of its size.
    pub(super) const LOG_DETERMINANT: u32 = 4;
    /// A use of an elimination in registers, the part behind it that is compiled: the factors, or the determinant.
    pub(super) const FACTORS_ALONE: u32 = 0;
    /// A use of an elimination in registers: one right-hand side, an element in each lane.
    pub(super) const ONE_COLUMN: u32 = 1;
    /// A use of an elimination in registers: right-hand sides, or the columns of the unit matrix, each in a thread.
    pub(super) const COLUMNS: u32 = 2;
    /// Bits of a pivot's number in the word of the first failure.
    pub(super) const PIVOT_BITS: u32 = 6;
    /// The most threads of a block.
    pub(super) const MOST_THREADS: u32 = 128;
}
