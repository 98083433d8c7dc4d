//! The data that the figures of one matrix share, each part made when the first figure wants it.

use std::cell::OnceCell;

use gpu_sparse::{CsrMatrix, Description, Format, PacketMatrix, Scalar};

use super::{Case, Operation};
use crate::{
    data,
    harness::{Outcome, Work},
};

/// A matrix and its vectors on the host.
#[derive(Debug)]
pub struct Input<'c, T: Scalar> {
    case: &'c Case,
    matrix: OnceCell<CsrMatrix<T>>,
    packets: OnceCell<PacketMatrix<T>>,
}

impl<'c, T: Scalar> Input<'c, T> {
    /// The input of a case; makes nothing yet.
    pub fn new(case: &'c Case) -> Self {
        Self { case, matrix: OnceCell::new(), packets: OnceCell::new() }
    }

    /// The case.
    pub fn case(&self) -> &'c Case {
        self.case
    }

    /// The matrix.
    ///
    /// # Errors
    /// The errors of [`Case::matrix`].
    pub fn matrix(&self) -> Outcome<&CsrMatrix<T>> {
        made_once(&self.matrix, || self.case.matrix())
    }

    /// The matrix in packets.
    ///
    /// # Errors
    /// The errors of [`matrix`](Self::matrix).
    pub fn packets(&self) -> Outcome<&PacketMatrix<T>> {
        made_once(&self.packets, || Ok(self.matrix()?.to_packets()?))
    }

    /// `x`, random in [-1, 1).
    ///
    /// # Errors
    /// The errors of [`matrix`](Self::matrix).
    pub fn x(&self) -> Outcome<Vec<T>> {
        Ok(data::uniform(self.matrix()?.cols()))
    }

    /// The right-hand side of solves.
    ///
    /// # Errors
    /// The errors of [`matrix`](Self::matrix).
    pub fn b(&self) -> Outcome<Vec<T>> {
        Ok(data::sines(self.matrix()?.rows()))
    }

    /// The work of an operation with the matrix in that format: it moves the matrix, and the vectors as often as the passes touch them.
    ///
    /// # Errors
    /// The errors of [`matrix`](Self::matrix).
    pub fn work(&self, operation: Operation, format: Format) -> Outcome<Work> {
        let bytes = match format {
            Format::Packets => self.packets()?.description().bytes,
            _ => {
                let a = self.matrix()?;
                Description::of_csr(a.rows(), a.cols(), a.nnz(), size_of::<T>()).bytes
            }
        };
        self.work_of(operation, bytes)
    }

    /// The work of an operation with a matrix of so many bytes.
    ///
    /// # Errors
    /// The errors of [`matrix`](Self::matrix).
    pub fn work_of(&self, operation: Operation, matrix_bytes: u64) -> Outcome<Work> {
        let a = self.matrix()?;
        let (rows, cols, nnz) = (a.rows() as u64, a.cols() as u64, a.nnz() as u64);
        let vectors = |elements: u64| matrix_bytes + elements * size_of::<T>() as u64;
        // Per iteration, as `Cg` counts its passes.
        let iterations = |per_row: u64, flops: u64| {
            Work::copies(ITERATIONS as u64 * vectors(per_row * rows))
                .with_flops(ITERATIONS as u64 * (2 * nnz + flops * rows))
        };
        Ok(match operation {
            Operation::Spmv => Work::reads(vectors(rows + cols)).with_flops(2 * nnz),
            Operation::Axpby => Work::copies(vectors(2 * rows + cols)).with_flops(2 * nnz + 3 * rows),
            Operation::Cg => iterations(10, 10),
            Operation::CgJacobi => iterations(12, 13),
            Operation::Convert => Work::default(),
        })
    }
}

/// Iterations of a timed solve; every figure checks that it made them.
pub const ITERATIONS: usize = 200;

fn made_once<V>(cell: &OnceCell<V>, make: impl FnOnce() -> Outcome<V>) -> Outcome<&V> {
    if cell.get().is_none() {
        // No one else has a reference, so the cell is still empty.
        drop(cell.set(make()?));
    }
    cell.get().ok_or_else(|| "nothing was made".into())
}
