//! The cut of a matrix into blocks of rows that run in parallel.

use std::ops::Range;

/// Rows plus entries per block: about 400 KB of an f64 matrix, some tens of microseconds of work.
const BLOCK_WORK: u64 = 32_768;

/// Boundaries of blocks of whole rows, each of about [`BLOCK_WORK`] rows and entries: block `k` is `bounds[k]..bounds[k + 1]`.
///
/// A function of the matrix alone, never of the number of threads: sums over blocks have the same bits everywhere.
/// `row_starts` has one element per row and one more, as in a CSR matrix.
pub(crate) fn row_blocks(row_starts: &[u64]) -> Vec<usize> {
    row_blocks_of(row_starts, BLOCK_WORK)
}

/// [`row_blocks`] with at most `work` rows and entries to a block; a row alone may have more.
pub(crate) fn row_blocks_of(row_starts: &[u64], work: u64) -> Vec<usize> {
    let rows = row_starts.len().saturating_sub(1);
    let mut bounds = vec![0];
    let mut first = 0;
    while first < rows {
        let end = row_starts[first] + work;
        let rest = &row_starts[first + 1..];
        let mut fitting = 0..rest.len();
        while !fitting.is_empty() {
            let middle = fitting.start + fitting.len() / 2;
            if rest[middle] + (middle as u64) < end { fitting.start = middle + 1 } else { fitting.end = middle }
        }
        first += fitting.start.max(1);
        bounds.push(first);
    }
    bounds
}

/// Runs `body(rows, part of y)` for every block, in parallel, and adds its results from the first block to the last.
///
/// `y` has one element per row.
pub(crate) fn sum_over_blocks<T: Send>(
    bounds: &[usize],
    y: &mut [T],
    body: impl Fn(Range<usize>, &mut [T]) -> f64 + Sync,
) -> f64 {
    let mut partials = vec![0.0; bounds.len().saturating_sub(1)];
    run_blocks(bounds, y, &mut partials, &body);
    partials.iter().sum()
}

fn run_blocks<T: Send>(
    bounds: &[usize],
    y: &mut [T],
    partials: &mut [f64],
    body: &(impl Fn(Range<usize>, &mut [T]) -> f64 + Sync),
) {
    match partials {
        [] => {}
        [partial] => *partial = body(bounds[0]..bounds[1], y),
        _ => {
            let middle = partials.len() / 2;
            let (left, right) = partials.split_at_mut(middle);
            let (y_left, y_right) = y.split_at_mut(bounds[middle] - bounds[0]);
            rayon::join(
                || run_blocks(&bounds[..=middle], y_left, left, body),
                || run_blocks(&bounds[middle..], y_right, right, body),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(lengths: &[u64]) -> Vec<u64> {
        let mut starts = vec![0];
        starts.extend(lengths.iter().scan(0, |sum, length| {
            *sum += length;
            Some(*sum)
        }));
        starts
    }

    #[test]
    fn blocks_cover_all_rows_and_none_is_far_too_big() {
        let mixed: Vec<u64> = (0..50_000).map(|i| if i % 1000 == 7 { 40_000 } else { i % 30 }).collect();
        for lengths in [vec![], vec![0], vec![1_000_000], vec![0; 100_000], vec![7; 100_000], mixed] {
            let starts = starts(&lengths);
            let bounds = row_blocks(&starts);
            assert_eq!((bounds[0], *bounds.last().unwrap()), (0, lengths.len()));
            for pair in bounds.windows(2) {
                assert!(pair[0] < pair[1]);
                let work = starts[pair[1]] - starts[pair[0]] + (pair[1] - pair[0]) as u64;
                assert!(work <= BLOCK_WORK || pair[1] == pair[0] + 1, "{pair:?}: {work}");
                assert!(work > BLOCK_WORK / 2 || pair[1] == lengths.len() || lengths[pair[1]] > BLOCK_WORK / 2);
            }
        }
    }

    #[test]
    fn each_row_is_visited_once_and_partials_are_all_added() {
        let starts = starts(&vec![9; 40_000]);
        let bounds = row_blocks(&starts);
        assert!(bounds.len() > 5);
        let mut y = vec![0_usize; 40_000];
        let total = sum_over_blocks(&bounds, &mut y, |rows, part| {
            part.iter_mut().zip(rows.clone()).for_each(|(y, row)| *y += row + 1);
            rows.len() as f64
        });
        assert_eq!(total, 40_000.0);
        assert!(y.iter().enumerate().all(|(row, &y)| y == row + 1));
    }
}
