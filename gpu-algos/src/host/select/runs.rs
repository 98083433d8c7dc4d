//! Runs of equal neighbours.

use ndarray::{Array1, ArrayView1};

use super::gather::{self, elements};
use crate::reference::Runs;

/// The first element of each run of equal neighbours, as CUB's and Thrust's `unique` and not as NumPy's, which sorts. NaN is not equal to NaN, so
/// each is a run of its own.
///
/// ```
/// assert_eq!(gpu_algos::host::unique(&[3, 3, 1, 3, 3, 3]).to_vec(), [3, 1, 3]);
/// ```
pub fn unique<'a, T: Copy + PartialEq + Send + Sync + 'a>(view: impl Into<ArrayView1<'a, T>>) -> Array1<T> {
    let view = view.into();
    let view = view.as_standard_layout();
    let x = elements(&view);
    gather::selected(&heads(x), |i| x[i])
}

/// The runs of equal neighbours: value, offset and length of each. NaN as in [`unique`].
///
/// Cost: as [`unique`], and a pass over the flags and the runs more.
///
/// ```
/// let runs = gpu_algos::host::run_length_encode(&[3, 3, 1, 3, 3, 3]);
/// assert_eq!(runs.values.to_vec(), [3, 1, 3]);
/// assert_eq!(runs.offsets.to_vec(), [0, 2, 3]);
/// assert_eq!(runs.lengths.to_vec(), [2, 1, 3]);
/// ```
pub fn run_length_encode<'a, T: Copy + PartialEq + Send + Sync + 'a>(view: impl Into<ArrayView1<'a, T>>) -> Runs<T> {
    let view = view.into();
    let view = view.as_standard_layout();
    let x = elements(&view);
    let heads = heads(x);
    let offsets = gather::selected(&heads, |i| i as i64);
    let ends = offsets.iter().skip(1).copied().chain([x.len() as i64]);
    let lengths = offsets.iter().zip(ends).map(|(from, to)| to - from).collect();
    Runs { values: gather::selected(&heads, |i| x[i]), offsets, lengths }
}

/// Whether each element begins a run.
fn heads<T: PartialEq + Sync>(x: &[T]) -> Vec<bool> {
    gather::flags(x.len(), |i| i == 0 || x[i] != x[i - 1])
}
