//! Selections on all threads against their definitions.

use gpu_array::ArrayError;
use ndarray::{Array1, ArrayD, Axis, IxDyn, Slice, array, s};
use testkit::{AWKWARD_LENGTHS, Rng};

use super::{super::parallel::REDUCED_AT_ONCE as BLOCK, *};
use crate::{AlgoError, reference};

fn told<T>(result: Result<T>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

#[test]
fn awkward_lengths_and_shares() {
    let edges = [BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 3 * BLOCK + 257];
    for n in AWKWARD_LENGTHS.into_iter().chain(edges) {
        // None, one in ten, half, nearly all and all are selected.
        for share in [0, 10, 50, 99, 100] {
            let mut rng = Rng((n + share) as u64);
            let x = Array1::from_shape_simple_fn(n, || rng.below(100) as i32);
            let keep = |x: &i32| (*x as usize) < share;
            let mask = x.mapv(|x| keep(&x));
            let want = reference::copy_if(&x, keep);
            assert_eq!(copy_if(&x, keep), want, "n = {n}, {share} %");
            assert_eq!(told(select(&x, &mask)), Ok(want.clone()), "n = {n}, {share} %");
            assert_eq!(told(compress(&x, &mask, Axis(0))), Ok(want), "n = {n}, {share} %");
            let want = reference::partition(&x, keep);
            assert_eq!(partition(&x, keep), want, "n = {n}, {share} %");
            assert_eq!(told(partition_by_mask(&x, &mask)), Ok(want.clone()), "n = {n}, {share} %");
            assert_eq!(told(reference::partition_by_mask(&x, &mask)), Ok(want), "n = {n}, {share} %");
            assert_eq!(told(nonzero(&mask)), told(reference::nonzero(&mask)), "n = {n}, {share} %");
            assert_eq!(run_length_encode(&mask), reference::run_length_encode(&mask), "n = {n}, {share} %");
            assert_eq!(unique(&mask), reference::unique(&mask), "n = {n}, {share} %");
        }
    }
}

#[test]
fn runs_that_end_at_borders_of_blocks() {
    for border in [1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK - 1, 2 * BLOCK] {
        let x = Array1::from_shape_fn(2 * BLOCK + 3, |i| u8::from(i >= border));
        let runs = run_length_encode(&x);
        assert_eq!((runs.offsets.to_vec(), runs.values.to_vec()), (vec![0, border as i64], vec![0, 1]));
        assert_eq!(runs.lengths.to_vec(), [border as i64, (2 * BLOCK + 3 - border) as i64]);
    }
    let all = run_length_encode(&(0..100_000).collect::<Vec<i32>>());
    assert!(all.lengths.iter().all(|&length| length == 1) && all.values.len() == 100_000);
    // Against the flags of a scan: a key per run.
    let mut rng = Rng(4);
    let keys = Array1::from_shape_simple_fn(100_000, || rng.below(3));
    let runs = run_length_encode(&keys);
    assert_eq!(runs.lengths.sum(), 100_000);
    let again: Vec<usize> = runs.values.iter().zip(&runs.lengths).flat_map(|(&x, &n)| vec![x; n as usize]).collect();
    assert_eq!(keys.to_vec(), again);
}

#[test]
fn layouts() {
    for seed in 0..300 {
        let mut rng = Rng(seed);
        let rank = 1 + rng.below(4);
        let most = [5000, 70, 24, 9][rank - 1];
        let shape: Vec<usize> = (0..rank).map(|_| if rng.below(40) == 0 { 0 } else { 1 + rng.below(most) }).collect();
        let base = ArrayD::from_shape_simple_fn(IxDyn(&shape), || rng.below(3) as i32);
        let mut order: Vec<usize> = (0..rank).collect();
        rng.shuffle(&mut order);
        let mut view = base.view().permuted_axes(order);
        for axis in 0..rank {
            view.slice_axis_inplace(Axis(axis), Slice::new(0, None, [1, 1, -1, 2, -3][rng.below(5)]));
        }
        let repeated: Vec<usize> = [1 + rng.below(3)].into_iter().chain(view.shape().iter().copied()).collect();
        let repeated = view.broadcast(IxDyn(&repeated)).unwrap();
        for view in [view.view(), repeated] {
            let mask = view.mapv(|x| x == 1);
            assert_eq!(told(select(&view, &mask)), told(reference::select(&view, &mask)), "seed {seed}");
            assert_eq!(partition(&view, |x| *x == 0), reference::partition(&view, |x| *x == 0), "seed {seed}");
            assert_eq!(told(nonzero(&view)), told(reference::nonzero(&view)), "seed {seed}");
            assert_eq!(flat_nonzero(&view), reference::flat_nonzero(&view), "seed {seed}");
            for axis in (0..view.ndim()).map(Axis) {
                let mask: Vec<bool> = (0..view.len_of(axis)).map(|_| rng.below(2) == 0).collect();
                let want = told(reference::compress(&view, &mask, axis));
                assert_eq!(told(compress(&view, &mask, axis)), want, "seed {seed}");
            }
        }
    }
}

#[test]
fn nan_is_true_and_a_run_of_its_own() {
    let x = [f32::NAN, f32::NAN, 0.0, -0.0, 1.0];
    let runs = run_length_encode(&x);
    assert_eq!((runs.offsets.to_vec(), runs.lengths.to_vec()), (vec![0, 1, 2, 4], vec![1, 1, 2, 1]));
    assert_eq!(reference::run_length_encode(&x).offsets, runs.offsets);
    assert!(unique(&x).len() == 4 && reference::unique(&x).len() == 4);
    assert_eq!(flat_nonzero(&x).to_vec(), [0, 1, 4]);
}

#[test]
fn the_predicate_sees_each_element_once() {
    let seen = std::sync::atomic::AtomicUsize::new(0);
    let count = |_: &u8| seen.fetch_add(1, std::sync::atomic::Ordering::Relaxed).is_multiple_of(2);
    assert_eq!(copy_if(&vec![0_u8; 100_001], count).len(), 50_001);
    assert_eq!(partition(&vec![0_u8; 100_001], count).1, 50_000);
    assert_eq!(seen.into_inner(), 200_002);
}

#[test]
fn wrong_masks_and_axes_are_errors() {
    let x = array![[1, 2, 3], [4, 5, 6]];
    assert!(matches!(select(&x, &x.t().mapv(|_| true)), Err(AlgoError::Shape { op: "select", .. })));
    assert!(
        reference::select(&x, &x.t().mapv(|_| true)).is_err() && partition_by_mask(&x, &x.t().mapv(|_| true)).is_err()
    );
    assert!(matches!(compress(&x, &[true], Axis(1)), Err(AlgoError::Length { op: "compress", left: 3, right: 1 })));
    assert!(matches!(
        compress(&x, &[true], Axis(2)),
        Err(AlgoError::Array(ArrayError::Axis { op: "compress", axis: 2, ndim: 2 }))
    ));
    assert!(reference::compress(&x, &[true], Axis(1)).is_err() && reference::compress(&x, &[true], Axis(2)).is_err());
    assert!(matches!(
        nonzero(&ndarray::arr0(1)),
        Err(AlgoError::Array(ArrayError::Axis { op: "nonzero", axis: 0, ndim: 0 }))
    ));
    assert!(reference::nonzero(&ndarray::arr0(1)).is_err());
    let none = x.slice(s![.., ..0]);
    assert_eq!(told(compress(none, &[true, false], Axis(0))).map(|x| x.dim()), Ok((1, 0)));
    assert_eq!(told(compress(&x, &[false; 3], Axis(1))).map(|x| x.dim()), Ok((2, 0)));
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let mut rng = Rng(2);
    let x = Array1::from_shape_simple_fn(300_000, || rng.below(4) as u8);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| (copy_if(&x, |x| *x > 0), partition(&x, |x| *x > 0), run_length_encode(&x), flat_nonzero(&x)))
    };
    let want = run(1);
    assert!([2, 7].into_iter().all(|threads| run(threads) == want));
}
