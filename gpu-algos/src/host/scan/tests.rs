//! Scans on all threads against the definition: lengths, layouts, kinds, segments, operators that do not commute, numbers of threads.

use gpu_array::ArrayError;
use ndarray::{Array, Array1, Array2, ArrayD, ArrayViewD, Axis, IxDyn, Slice, s};
use testkit::{AWKWARD_LENGTHS, Rng};

use super::{
    super::{parallel::REDUCED_AT_ONCE as BLOCK, *},
    tile::TILE,
};
use crate::{AlgoError, reference};

const KINDS: [ScanKind; 4] =
    [ScanKind::INCLUSIVE, ScanKind::EXCLUSIVE, ScanKind::INCLUSIVE.reversed(), ScanKind::EXCLUSIVE.reversed()];

type Matrix = [i64; 4];

/// Products of 2 x 2 matrices that wrap.
fn product(a: Matrix, b: Matrix) -> Matrix {
    let entry = |row: usize, column: usize| {
        a[2 * row].wrapping_mul(b[column]).wrapping_add(a[2 * row + 1].wrapping_mul(b[2 + column]))
    };
    [entry(0, 0), entry(0, 1), entry(1, 0), entry(1, 1)]
}

/// With the place in each matrix, so that a wrong one shows.
struct Placed;
impl Operator for Placed {
    type Value = i32;
    type State = Matrix;
    type Output = Matrix;
    const NAME: &'static str = "placed";
    fn identity(&self) -> Matrix {
        [1, 0, 0, 1]
    }
    fn take(&self, state: Matrix, value: i32, place: i64) -> Matrix {
        product(state, [i64::from(value), place.wrapping_mul(place), place + 2, 1])
    }
    fn combine(&self, a: Matrix, b: Matrix) -> Matrix {
        product(a, b)
    }
    fn finalize(&self, state: Matrix, _: u64) -> Option<Matrix> {
        Some(state)
    }
}
impl Cumulative for Placed {
    fn output(&self, state: Matrix) -> Matrix {
        state
    }
}

fn keep_last() -> impl Cumulative<Value = i32, Output = i32> {
    Associative::new(0, |a, b| if b == 0 { a } else { b })
}

/// Associative on values that are not negative.
fn saturating() -> impl Cumulative<Value = u8, Output = u8> {
    Associative::new(0, u8::saturating_add)
}

/// Whole, by flags and by keys, along an axis, against the definition.
fn check<O: Cumulative<Output: Default + PartialEq + std::fmt::Debug>>(
    op: &O,
    view: &ArrayViewD<'_, O::Value>,
    flags: &ArrayViewD<'_, bool>,
    axis: Axis,
) {
    for kind in KINDS {
        let about = || format!("{} {kind:?} of {:?}, strides {:?}, {axis:?}", O::NAME, view.shape(), view.strides());
        let same = |got: crate::Result<ArrayD<O::Output>>, want: crate::Result<ArrayD<O::Output>>| {
            let (got, want) = (got.unwrap(), want.unwrap());
            assert!(got.is_standard_layout(), "{}", about());
            // Which one is wrong takes far longer to find out than whether one is.
            if got == want {
                return;
            }
            let wrong = got.indexed_iter().zip(&want).find(|((_, got), want)| got != want);
            assert!(wrong.is_none(), "{wrong:?}: {}", about());
        };
        same(scan(op, view, axis, kind), reference::scan(op, view, axis, kind));
        same(segmented_scan(op, view, flags, axis, kind), reference::segmented_scan(op, view, flags, axis, kind));
        same(scan_by_key(op, view, flags, axis, kind), reference::scan_by_key(op, view, flags, axis, kind));
    }
}

fn line<T>(n: usize, element: impl FnMut() -> T) -> ArrayD<T> {
    Array::from_shape_simple_fn(IxDyn(&[n]), element)
}

/// Some that begin a segment, one in so many.
fn heads(n: usize, one_in: usize, rng: &mut Rng) -> ArrayD<bool> {
    line(n, || rng.below(one_in) == 0)
}

#[test]
fn awkward_lengths() {
    let edges = [TILE - 1, TILE, TILE + 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + TILE + 17];
    for n in AWKWARD_LENGTHS.into_iter().chain(edges) {
        let mut rng = Rng(n as u64);
        let x = line(n, || rng.below(1000) as i32 - 500);
        let small = line(n, || rng.below(3) as u8);
        let shares = [300, usize::MAX, 1, 2];
        for &one_in in &shares[..if n < BLOCK { 4 } else { 2 }] {
            let flags = heads(n, one_in, &mut rng);
            let (x, flags) = (x.view(), flags.view());
            check(&Sum::new(), &x, &flags, Axis(0));
            check(&Max::new(), &x, &flags, Axis(0));
            check(&Placed, &x, &flags, Axis(0));
            check(&keep_last(), &x, &flags, Axis(0));
            check(&saturating(), &small.view(), &flags, Axis(0));
            check(&Sum::new(), &x.mapv(f64::from).view(), &flags, Axis(0)); // exact
        }
    }
}

#[test]
fn flags_at_each_place_of_a_border() {
    let n = BLOCK + TILE + 5;
    let mut rng = Rng(3);
    let x = line(n, || rng.below(1000) as i32 - 500);
    let borders =
        [0, 1, 255, 256, 257, TILE - 1, TILE, TILE + 1, BLOCK - 1, BLOCK, BLOCK + 1, BLOCK + TILE, n - 2, n - 1];
    for border in borders {
        let mut flags = line(n, || false);
        flags[[border]] = true;
        check(&Sum::new(), &x.view(), &flags.view(), Axis(0));
        check(&Placed, &x.view(), &flags.view(), Axis(0));
    }
}

#[test]
fn layouts() {
    for seed in 0..80 {
        let mut rng = Rng(seed);
        let rank = 1 + rng.below(4);
        let most = [5000, 70, 24, 9][rank - 1];
        let shape: Vec<usize> = (0..rank).map(|_| if rng.below(40) == 0 { 0 } else { 1 + rng.below(most) }).collect();
        let base = Array::from_shape_simple_fn(IxDyn(&shape), || rng.below(100) as i32 - 50);
        let flags = Array::from_shape_simple_fn(IxDyn(&shape), || rng.below(5) == 0);
        let mut order: Vec<usize> = (0..rank).collect();
        rng.shuffle(&mut order);
        let (mut view, mut flags) = (base.view().permuted_axes(order.clone()), flags.view().permuted_axes(order));
        for axis in 0..rank {
            let slice = Slice::new(0, None, [1, 1, -1, 2, -3][rng.below(5)]);
            view.slice_axis_inplace(Axis(axis), slice);
            flags.slice_axis_inplace(Axis(axis), slice);
        }
        let axis = Axis(rng.below(rank));
        check(&Sum::new(), &view, &flags, axis);
        check(&Placed, &view, &flags, axis);
        // Repeated along a new axis, and scanned along that.
        let shape: Vec<usize> = [1 + rng.below(6)].into_iter().chain(view.shape().iter().copied()).collect();
        let (view, flags) = (view.broadcast(IxDyn(&shape)).unwrap(), flags.broadcast(IxDyn(&shape)).unwrap());
        check(&Sum::new(), &view, &flags, Axis(0));
        check(&Placed, &view, &flags, axis);
    }
}

#[test]
fn matrices_of_several_pieces() {
    for (rows, columns) in [(20, 3000), (1200, 20), (2, 20_000), (20_000, 2), (3000, 7), (1, 35_000)] {
        let mut rng = Rng(rows as u64);
        let matrix = Array2::from_shape_simple_fn((rows, columns), || rng.below(100) as i32).into_dyn();
        let flags = Array2::from_shape_simple_fn((rows, columns), || rng.below(50) == 0).into_dyn();
        for axis in [Axis(0), Axis(1)] {
            check(&Sum::new(), &matrix.view(), &flags.view(), axis);
            check(&Sum::new(), &matrix.t(), &flags.t(), axis);
            check(&Placed, &matrix.view(), &flags.view(), axis);
        }
    }
}

#[test]
fn into_arrays_of_any_layout() {
    let mut rng = Rng(9);
    let x = Array2::from_shape_simple_fn((50, 70), || rng.below(100) as i32);
    for kind in KINDS {
        for axis in [Axis(0), Axis(1)] {
            let want = reference::scan(&Sum::new(), &x, axis, kind).unwrap();
            let mut wide = Array2::from_elem((70, 150), -1_i64);
            scan_into(&Sum::new(), &x, axis, kind, wide.slice_mut(s![.., ..100;-2]).reversed_axes()).unwrap();
            assert_eq!(wide.slice(s![.., ..100;-2]).t(), want);
            assert!(wide.slice(s![.., 100..]).iter().chain(wide.slice(s![.., ..100;2])).all(|&x| x == -1));
        }
    }
    let mut short = Array1::zeros(3);
    let got = scan_into(&Sum::new(), &[1_i32, 2], Axis(0), ScanKind::INCLUSIVE, short.view_mut());
    assert!(matches!(got, Err(AlgoError::OutShape { .. })));
}

#[test]
fn floats_round_once_and_never_fall() {
    let mut rng = Rng(1);
    let x = Array1::from_shape_simple_fn(300_007, || rng.uniform() as f32);
    let (got, want) =
        (cumsum(&x, Axis(0)).unwrap(), reference::scan(&Sum::new(), &x, Axis(0), ScanKind::INCLUSIVE).unwrap());
    assert!(got.iter().zip(&want).all(|(got, want)| (got - want).abs() <= want * f32::EPSILON));
    assert_eq!(got[300_006], sum(&x));
    let wide = cumsum(&x.mapv(|x| f64::from(x).exp() / 3.0), Axis(0)).unwrap();
    assert!(wide.windows(2).into_iter().all(|pair| pair[0] <= pair[1]));
    // Sums in f32 would stop at 2^24.
    let ones = vec![1.0_f32; (1 << 24) + 4];
    assert_eq!(cumsum(&ones, Axis(0)).unwrap()[(1 << 24) + 3], 16_777_220.0);
}

#[test]
fn nan_stays_and_nothing_is_the_least() {
    let x = [1.0, f32::NAN, f32::INFINITY, -1.0];
    let got = cummax(&x, Axis(0)).unwrap();
    assert!(got[0] == 1.0 && got.iter().skip(1).all(|x| x.is_nan()));
    assert!(cummin(&x, Axis(0)).unwrap().iter().skip(1).all(|x| x.is_nan()));
    let back = scan(&Max::new(), &x, Axis(0), ScanKind::EXCLUSIVE.reversed()).unwrap();
    assert!(back[0].is_nan() && back[1] == f32::INFINITY && back[2] == -1.0 && back[3] == f32::NEG_INFINITY);
    assert_eq!(scan(&Min::new(), &[3_u8, 1], Axis(0), ScanKind::EXCLUSIVE).unwrap().to_vec(), [255, 3]);
    // Each NaN is a run of its own.
    let keys = [f64::NAN, f64::NAN, 1.0, 1.0];
    assert_eq!(
        scan_by_key(&Sum::new(), &[1_i64; 4], &keys, Axis(0), ScanKind::INCLUSIVE).unwrap().to_vec(),
        [1, 1, 1, 2]
    );
}

#[test]
fn types_are_those_of_numpy_and_integers_wrap() {
    let got: Array1<i64> = cumprod(&[i8::MIN, 2, -1], Axis(0)).unwrap();
    assert_eq!(got.to_vec(), [-128, -256, 256]);
    assert_eq!(cumsum(&[i64::MAX, 1], Axis(0)).unwrap().to_vec(), [i64::MAX, i64::MIN]);
    assert_eq!(cumsum(&[u8::MAX, 1], Axis(0)).unwrap().to_vec(), [255_u64, 256]);
    assert_eq!(cummax(&[false, true, false], Axis(0)).unwrap().to_vec(), [false, true, true]);
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let mut rng = Rng(5);
    let x = ArrayD::from_shape_simple_fn(IxDyn(&[37, 91, 113]), || rng.uniform() - 0.5);
    let flat = x.to_shape(37 * 91 * 113).unwrap();
    let flags = flat.mapv(|x| x > 0.4999);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut bits = cumsum(&flat, Axis(0)).unwrap().to_vec();
            bits.extend(segmented_scan(&Sum::new(), &flat, &flags, Axis(0), ScanKind::EXCLUSIVE.reversed()).unwrap());
            for axis in 0..3 {
                bits.extend(cumsum(&x, Axis(axis)).unwrap());
                bits.extend(cumprod(x.t(), Axis(axis)).unwrap());
            }
            bits.into_iter().map(f64::to_bits).collect::<Vec<_>>()
        })
    };
    let want = run(1);
    for threads in [2, 7] {
        assert!(run(threads) == want, "{threads} threads");
    }
}

#[test]
fn the_definition_is_the_definition() {
    // From the start, or to the end, for each result.
    let mut rng = Rng(8);
    let x: Vec<i32> = (0..40).map(|_| rng.below(9) as i32).collect();
    let matrix = |i: usize| [i64::from(x[i]), (i * i) as i64, i as i64 + 2, 1];
    let all = |range: std::ops::Range<usize>| range.fold([1, 0, 0, 1], |state, i| product(state, matrix(i)));
    let wanted = |range: &dyn Fn(usize) -> std::ops::Range<usize>| (0..40).map(|i| all(range(i))).collect::<Vec<_>>();
    let got = |kind| reference::scan(&Placed, &x, Axis(0), kind).unwrap().to_vec();
    assert_eq!(got(KINDS[0]), wanted(&|i| 0..i + 1));
    assert_eq!(got(KINDS[1]), wanted(&|i| 0..i));
    assert_eq!(got(KINDS[2]), wanted(&|i| i..40));
    assert_eq!(got(KINDS[3]), wanted(&|i| i + 1..40));
}

#[test]
fn wrong_axes_and_shapes_are_errors() {
    let x = Array2::<f32>::zeros((2, 3));
    assert!(matches!(cumsum(&x, Axis(2)), Err(AlgoError::Array(ArrayError::Axis { op: "sum", axis: 2, ndim: 2 }))));
    assert!(
        cumsum(&ndarray::arr0(1.0), Axis(0)).is_err() && reference::scan(&Max::new(), &x, Axis(3), KINDS[0]).is_err()
    );
    let flags = Array2::from_elem((3, 2), true);
    let got = segmented_scan(&Sum::new(), &x, &flags, Axis(0), KINDS[0]);
    assert!(matches!(got, Err(AlgoError::Shape { op: "sum", .. })));
    assert!(scan_by_key(&Sum::new(), &x, &flags, Axis(0), KINDS[0]).is_err());
    assert!(reference::scan_by_key(&Sum::new(), &x, &flags, Axis(0), KINDS[0]).is_err());
    assert!(segmented_scan(&Sum::new(), &x, &x.mapv(|x| x > 0.0), Axis(2), KINDS[0]).is_err());
}
