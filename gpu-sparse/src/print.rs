//! Matrices as text: their type and size, then an entry a line, as SciPy prints them.

use std::{any::type_name, fmt};

use crate::{CooMatrix, CsrMatrix, Scalar};

/// A matrix of more entries is printed without those between its first and last ones.
const MOST: usize = 24;

/// Writes the entries that `entry` gives by their number.
fn write<T: Scalar>(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    (rows, cols): (usize, usize),
    nnz: usize,
    entry: impl Fn(usize) -> Option<(usize, u32, T)>,
) -> fmt::Result {
    write!(f, "{name}<{}>, {rows} x {cols}, {nnz} {}", type_name::<T>(), if nnz == 1 { "entry" } else { "entries" })?;
    let hidden = if nnz > MOST { MOST / 2..nnz - MOST / 2 } else { nnz..nnz };
    for (row, col, value) in (0..hidden.start).filter_map(&entry) {
        write!(f, "\n({row}, {col})  {value:?}")?;
    }
    if !hidden.is_empty() {
        write!(f, "\n...")?;
    }
    for (row, col, value) in (hidden.end..nnz).filter_map(&entry) {
        write!(f, "\n({row}, {col})  {value:?}")?;
    }
    Ok(())
}

impl<T: Scalar> fmt::Display for CsrMatrix<T> {
    /// Writes the size, and row, column and value of each entry; of many entries the first and last 12.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, "CsrMatrix", self.shape(), self.nnz(), |at| {
            let row = self.row_starts().partition_point(|&start| start <= at as u64).checked_sub(1)?;
            Some((row, *self.columns().get(at)?, *self.values().get(at)?))
        })
    }
}

impl<T: Scalar> fmt::Display for CooMatrix<T> {
    /// Writes the size, and row, column and value of each entry; of many entries the first and last 12.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, "CooMatrix", self.shape(), self.nnz(), |at| {
            let row = *self.row_indices().get(at)? as usize;
            Some((row, *self.col_indices().get(at)?, *self.values().get(at)?))
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{CooMatrix, Result, gallery::Poisson};

    #[test]
    fn entries_are_printed_with_their_places() -> Result<()> {
        // A duplicate, and a row without an entry before the last.
        let coo = CooMatrix::from_triplets(4, 3, vec![0, 3, 1, 1], vec![2, 0, 1, 1], vec![1.0, -0.5, 2.0, 1.0])?;
        assert_eq!(
            coo.to_string(),
            "CooMatrix<f64>, 4 x 3, 4 entries\n(0, 2)  1.0\n(3, 0)  -0.5\n(1, 1)  2.0\n(1, 1)  1.0"
        );
        assert_eq!(
            coo.to_csr().to_string(),
            "CsrMatrix<f64>, 4 x 3, 3 entries\n(0, 2)  1.0\n(1, 1)  3.0\n(3, 0)  -0.5"
        );
        assert_eq!(
            CooMatrix::from_entries(1, 1, [(0, 0, 1.0)])?.to_string(),
            "CooMatrix<f64>, 1 x 1, 1 entry\n(0, 0)  1.0"
        );
        assert_eq!(CooMatrix::<f32>::from_entries(0, 2, [])?.to_csr().to_string(), "CsrMatrix<f32>, 0 x 2, 0 entries");
        Ok(())
    }

    #[test]
    fn of_many_entries_the_first_and_last_are_printed() -> Result<()> {
        let text = Poisson::two_d(10, 10).build::<f32>()?.to_string();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!((lines.len(), lines[0]), (26, "CsrMatrix<f32>, 100 x 100, 460 entries"));
        assert_eq!((lines[1], lines[13], lines[25]), ("(0, 0)  4.0", "...", "(99, 99)  4.0"));
        // As many as are printed at most.
        let diagonal = |n: usize| CooMatrix::from_entries(n, n, (0..n).map(|i| (i, i, 1.0)));
        assert_eq!(diagonal(24)?.to_string().lines().count(), 25);
        assert_eq!(diagonal(25)?.to_string().lines().count(), 26);
        Ok(())
    }
}
