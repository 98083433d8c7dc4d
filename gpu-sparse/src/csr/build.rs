//! Making canonical arrays: from unsorted rows, and from a function that emits rows.

use rayon::prelude::*;

use super::CsrMatrix;
use crate::coo::check_dimensions;
use crate::partition::row_blocks;
use crate::{Result, Scalar, SparseError, start_threads};

/// Sorts each row by column and adds entries at one place in the order in which they come.
///
/// The arrays are checked but for the order within rows. Blocks of rows run in parallel; rows already in order cost one look.
///
/// # Errors
/// `OutOfMemory` for the copy of a row that has to be sorted.
pub(crate) fn canonicalize<T: Scalar>(
    rows: usize,
    cols: usize,
    mut row_starts: Vec<u64>,
    mut columns: Vec<u32>,
    mut values: Vec<T>,
) -> Result<CsrMatrix<T>> {
    let mut lengths: Vec<u64> = vec![0; rows];
    let parts = split_by_block(&row_starts, &mut lengths, &mut columns, &mut values);
    parts.into_par_iter().try_for_each(|(starts, lengths, columns, values)| {
        let mut scratch = Vec::new();
        lengths.iter_mut().zip(starts.windows(2)).try_for_each(|(length, pair)| {
            let row = (pair[0] - starts[0]) as usize..(pair[1] - starts[0]) as usize;
            *length = sort_row(&mut columns[row.clone()], &mut values[row], &mut scratch)? as u64;
            Ok::<(), SparseError>(())
        })
    })?;
    close_gaps(&mut row_starts, &lengths, &mut columns, &mut values);
    Ok(CsrMatrix::from_canonical(rows, cols, row_starts, columns, values))
}

/// One block of rows: its row starts, and its parts of `per_row`, `columns` and `values`.
type Block<'a, R, T> = (&'a [u64], &'a mut [R], &'a mut [u32], &'a mut [T]);

fn split_by_block<'a, R, T>(
    row_starts: &'a [u64],
    mut per_row: &'a mut [R],
    mut columns: &'a mut [u32],
    mut values: &'a mut [T],
) -> Vec<Block<'a, R, T>> {
    let bounds = row_blocks(row_starts);
    let mut blocks = Vec::with_capacity(bounds.len());
    for pair in bounds.windows(2) {
        let starts = &row_starts[pair[0]..=pair[1]];
        let count = (row_starts[pair[1]] - row_starts[pair[0]]) as usize;
        let block_rows = per_row.split_off_mut(..pair[1] - pair[0]).unwrap_or_default();
        let block_columns = columns.split_off_mut(..count).unwrap_or_default();
        let block_values = values.split_off_mut(..count).unwrap_or_default();
        blocks.push((starts, block_rows, block_columns, block_values));
    }
    blocks
}

/// Makes one row canonical at its front; returns how many entries are left.
fn sort_row<T: Scalar>(columns: &mut [u32], values: &mut [T], scratch: &mut Vec<(u32, usize, T)>) -> Result<usize> {
    if columns.is_sorted_by(|a, b| a < b) {
        return Ok(columns.len());
    }
    scratch.clear();
    scratch.try_reserve(columns.len()).map_err(|_| SparseError::OutOfMemory {
        purpose: "a row to be sorted",
        bytes: (columns.len() * size_of::<(u32, usize, T)>()) as u64,
    })?;
    let entries = columns.iter().zip(values.iter()).enumerate();
    scratch.extend(entries.map(|(place, (&column, &value))| (column, place, value)));
    // Duplicates stay in input order; in place, since a stable sort takes memory that it does not ask for.
    scratch.sort_unstable_by_key(|&(column, place, _)| (column, place));
    let mut kept = 0;
    for &(column, _, value) in &*scratch {
        if kept > 0 && columns[kept - 1] == column {
            values[kept - 1] += value;
        } else {
            (columns[kept], values[kept]) = (column, value);
            kept += 1;
        }
    }
    Ok(kept)
}

/// Moves rows that have become shorter together and makes `row_starts` those of the result.
fn close_gaps<T: Scalar>(row_starts: &mut [u64], lengths: &[u64], columns: &mut Vec<u32>, values: &mut Vec<T>) {
    let mut end = 0_usize;
    for (row, &length) in lengths.iter().enumerate() {
        let old = row_starts[row] as usize..(row_starts[row] + length) as usize;
        if old.start != end {
            columns.copy_within(old.clone(), end);
            values.copy_within(old, end);
        }
        row_starts[row] = end as u64;
        end += length as usize;
    }
    if let Some(last) = row_starts.last_mut() {
        *last = end as u64;
    }
    columns.truncate(end);
    values.truncate(end);
}

/// Takes the (column, value) pairs of one row, columns rising strictly.
pub(crate) type Emit<'a, T> = &'a mut dyn FnMut(usize, T);

/// Builds a matrix from `row(i, emit)`, which must emit the same entries of row `i` each time it is called.
///
/// Called twice per row, in parallel: once to count, once to fill, so that nothing is stored but the result.
pub(crate) fn from_row_function<T: Scalar>(
    rows: usize,
    cols: usize,
    row: impl Fn(usize, Emit<'_, T>) + Sync,
) -> Result<CsrMatrix<T>> {
    check_dimensions(rows, cols)?;
    start_threads()?;
    let mut row_starts: Vec<u64> = vec![0; rows + 1];
    row_starts[1..].par_iter_mut().with_min_len(1024).enumerate().for_each(|(i, length)| {
        row(i, &mut |_, _| *length += 1);
    });
    for i in 0..rows {
        row_starts[i + 1] += row_starts[i];
    }
    let nnz = row_starts[rows] as usize;
    let (mut columns, mut values) = (vec![0_u32; nnz], vec![T::zero(); nnz]);
    let mut index: Vec<u32> = (0..rows as u32).collect();
    let parts = split_by_block(&row_starts, &mut index, &mut columns, &mut values);
    parts.into_par_iter().for_each(|(_, index, columns, values)| {
        let mut slots = columns.iter_mut().zip(values);
        for &mut i in index {
            row(i as usize, &mut |column, value| {
                if let Some((c, v)) = slots.next() {
                    (*c, *v) = (column as u32, value);
                }
            });
        }
    });
    Ok(CsrMatrix::from_canonical(rows, cols, row_starts, columns, values))
}
