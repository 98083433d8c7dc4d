//! Reductions on all threads against the definition, over layouts, axes, lengths and numbers of threads.

use approx::{abs_diff_eq, assert_abs_diff_eq, assert_relative_eq, relative_eq};
use ndarray::{Array1, ArrayD, ArrayViewD, Axis, IxDyn, Slice};
use testkit::{AWKWARD_LENGTHS, Rng};

use super::{parallel::REDUCED_AT_ONCE, *};
use crate::{AlgoError, Result, reference};

/// Products of 2 x 2 matrices: associative, and every exchange of two values shows. Each is made of a value and its place.
struct Ordered;
type Matrix = [i64; 4];
impl Operator for Ordered {
    type Value = i32;
    type State = Matrix;
    type Output = Matrix;
    const NAME: &'static str = "ordered";
    fn identity(&self) -> Matrix {
        [1, 0, 0, 1]
    }
    fn take(&self, state: Matrix, value: i32, place: i64) -> Matrix {
        self.combine(state, [i64::from(value), place.wrapping_mul(place), place + 2, 1])
    }
    fn combine(&self, a: Matrix, b: Matrix) -> Matrix {
        let entry = |row: usize, column: usize| {
            a[2 * row].wrapping_mul(b[column]).wrapping_add(a[2 * row + 1].wrapping_mul(b[2 + column]))
        };
        [entry(0, 0), entry(0, 1), entry(1, 0), entry(1, 1)]
    }
    fn finalize(&self, state: Matrix, _: u64) -> Option<Matrix> {
        Some(state)
    }
}

/// The sum of squares of places, times values: commutative, but wrong if a place is.
struct Placed;
impl Operator for Placed {
    type Value = i32;
    type State = i64;
    type Output = i64;
    const NAME: &'static str = "placed";
    const COMMUTATIVE: bool = true;
    fn identity(&self) -> i64 {
        0
    }
    fn take(&self, state: i64, value: i32, place: i64) -> i64 {
        state.wrapping_add(i64::from(value).wrapping_mul(place.wrapping_mul(place)))
    }
    fn combine(&self, a: i64, b: i64) -> i64 {
        a.wrapping_add(b)
    }
    fn finalize(&self, state: i64, _: u64) -> Option<i64> {
        Some(state)
    }
}

/// A view of up to four axes of any strides, with the array that it is a view of.
struct RandomView {
    base: Vec<usize>,
    order: Vec<usize>,
    slices: Vec<Slice>,
    /// An axis in front along which everything repeats.
    repeats: Option<usize>,
}

impl RandomView {
    fn random(rng: &mut Rng) -> Self {
        let rank = rng.below(5);
        let most = [1, 100_000, 400, 60, 20][rank];
        // Many elements seldom, so that there are many cases.
        let most = if rng.below(20) == 0 { most } else { most.min(40) };
        let base: Vec<usize> = (0..rank).map(|_| if rng.below(30) == 0 { 0 } else { 1 + rng.below(most) }).collect();
        let mut order: Vec<usize> = (0..rank).collect();
        rng.shuffle(&mut order);
        let slices = base.iter().map(|&length| {
            let step = [1, 1, -1, 2, -3][rng.below(5)];
            Slice::new(if length > 2 { rng.below(2) as isize } else { 0 }, None, step)
        });
        let slices = slices.collect();
        Self { slices, base, order, repeats: (rng.below(6) == 0).then(|| rng.below(4)) }
    }

    fn with<T>(&self, array: &ArrayD<T>, call: impl FnOnce(ArrayViewD<'_, T>)) {
        let mut view = array.view();
        for (axis, &slice) in self.slices.iter().enumerate() {
            view.slice_axis_inplace(Axis(axis), slice);
        }
        let view = view.permuted_axes(self.order.clone());
        let Some(repeats) = self.repeats else { return call(view) };
        let shape: Vec<usize> = [repeats].into_iter().chain(view.shape().iter().copied()).collect();
        call(view.broadcast(IxDyn(&shape)).expect("one axis more"));
    }
}

/// Random axes of an array of that rank, in any order.
fn random_axes(rank: usize, rng: &mut Rng) -> Vec<Axis> {
    let mut axes: Vec<Axis> = (0..rank).map(Axis).collect();
    rng.shuffle(&mut axes);
    axes.truncate(rng.below(rank + 1));
    axes
}

/// Whole and over random axes, against the definition, by `same`.
fn check<O: Operator<Output: std::fmt::Debug>>(
    op: &O,
    view: &ArrayViewD<'_, O::Value>,
    axes: &[Axis],
    same: impl Fn(&O::Output, &O::Output) -> bool,
) {
    let about = || format!("{} of {:?}, strides {:?}, axes {axes:?}", O::NAME, view.shape(), view.strides());
    match (reduce(op, view), reference::reduce(op, view)) {
        (Ok(got), Ok(want)) => assert!(same(&got, &want), "{got:?} for {want:?}: {}", about()),
        (got, want) => {
            let told = |error: AlgoError| error.to_string();
            assert_eq!(got.err().map(told), want.err().map(told), "{}", about());
        }
    }
    match (reduce_axes(op, view, axes), reference::reduce_axes(op, view, axes)) {
        (Ok(got), Ok(want)) => {
            assert_eq!(got.shape(), want.shape(), "{}", about());
            assert!(got.is_standard_layout(), "{}", about());
            for (got, want) in got.iter().zip(&want) {
                assert!(same(got, want), "{got:?} for {want:?}: {}", about());
            }
        }
        (got, want) => {
            let told = |error: AlgoError| error.to_string();
            assert_eq!(got.err().map(told), want.err().map(told), "{}", about());
        }
    }
}

fn equal<T: PartialEq>(got: &T, want: &T) -> bool {
    got == want
}

/// Whether both have the same bits, or both are NaN.
fn same_bits(got: &f64, want: &f64) -> bool {
    got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan())
}

fn near(got: &f64, want: &f64) -> bool {
    same_bits(got, want) || got == want || (got - want).abs() <= 1e-9 * want.abs().max(1e-3)
}

/// Few values, so that there are equal ones, with zeros of both signs, and in some arrays NaN and infinities.
fn floats(shape: &[usize], rng: &mut Rng) -> ArrayD<f64> {
    let special = rng.below(4);
    ArrayD::from_shape_simple_fn(IxDyn(shape), || match (rng.below(40), special) {
        (0, 1 | 2) => f64::NAN,
        (1, 2 | 3) => f64::INFINITY,
        (2, 3) => f64::NEG_INFINITY,
        (3..7, 1) => f64::NAN,
        (7..10, _) => -0.0,
        (10..13, _) => 0.0,
        _ => rng.below(50) as f64 / 8.0 - 3.0,
    })
}

#[test]
fn integers_of_any_layout_are_exact() {
    for seed in 0..250 {
        let mut rng = Rng(seed);
        let layout = RandomView::random(&mut rng);
        let array = ArrayD::from_shape_simple_fn(IxDyn(&layout.base), || rng.below(100) as i32 - 50);
        layout.with(&array, |view| {
            let axes = random_axes(view.ndim(), &mut rng);
            check(&Sum::new(), &view, &axes, equal);
            check(&Ordered, &view, &axes, equal);
            check(&Placed, &view, &axes, equal);
            check(&Min::new(), &view, &axes, equal);
            check(&ArgMax::new(), &view, &axes, equal);
            check(&NanArgMin::new(), &view, &axes, equal);
            check(&Count::new(), &view, &axes, equal);
        });
    }
}

#[test]
fn floats_of_any_layout_agree_with_the_definition() {
    for seed in 10_000..10_150 {
        let mut rng = Rng(seed);
        let layout = RandomView::random(&mut rng);
        let array = floats(&layout.base, &mut rng);
        layout.with(&array, |view| {
            let axes = random_axes(view.ndim(), &mut rng);
            check(&Min::new(), &view, &axes, same_bits);
            check(&Max::new(), &view, &axes, same_bits);
            check(&NanMin::new(), &view, &axes, same_bits);
            check(&NanMax::new(), &view, &axes, same_bits);
            check(&ArgMin::new(), &view, &axes, equal);
            check(&ArgMax::new(), &view, &axes, equal);
            check(&NanArgMin::new(), &view, &axes, equal);
            check(&NanArgMax::new(), &view, &axes, equal);
            check(&NormMax::new(), &view, &axes, same_bits);
            check(&Any::new(), &view, &axes, equal);
            check(&All::new(), &view, &axes, equal);
            check(&Sum::new(), &view, &axes, |got, want| near(got, want) || abs_diff_eq!(got, want, epsilon = 1e-9));
            check(&Mean::new(), &view, &axes, |got, want| near(got, want) || abs_diff_eq!(got, want, epsilon = 1e-9));
            check(&Variance::new(1), &view, &axes, near);
            check(&MeanVariance::new(1), &view, &axes, |got, want| near(&got.0, &want.0) && near(&got.1, &want.1));
            check(&NanVariance::new(0), &view, &axes, near);
            check(&NanStandardDeviation::new(2), &view, &axes, near);
            check(&NormL1::new(), &view, &axes, near);
            check(&NormL2::new(), &view, &axes, near);
        });
    }
}

#[test]
fn awkward_lengths() {
    let edges = [REDUCED_AT_ONCE - 1, REDUCED_AT_ONCE, REDUCED_AT_ONCE + 1, 3 * REDUCED_AT_ONCE + 17, 1_000_003];
    for n in AWKWARD_LENGTHS.into_iter().chain(edges) {
        let mut rng = Rng(n as u64);
        let integers = Array1::from_shape_simple_fn(n, || rng.below(1000) as i32 - 500).into_dyn();
        check(&Sum::new(), &integers.view(), &[Axis(0)], equal);
        check(&Ordered, &integers.view(), &[Axis(0)], equal);
        check(&ArgMin::new(), &integers.view(), &[], equal);
        let floats = integers.mapv(f64::from);
        check(&Sum::new(), &floats.view(), &[Axis(0)], equal); // exact in f64
        check(&Variance::new(1), &floats.view(), &[Axis(0)], near);
        check(&ArgMax::new(), &floats.view(), &[Axis(0)], equal);
        let bytes = integers.mapv(|x| x as u8);
        check(&Sum::new(), &bytes.view(), &[Axis(0)], equal);
        check(&Max::new(), &bytes.view(), &[Axis(0)], equal);
        let logic = integers.mapv(|x| x > -500);
        check(&All::new(), &logic.view(), &[Axis(0)], equal);
        check(&Sum::new(), &logic.view(), &[Axis(0)], equal);
        check(&Min::new(), &logic.view(), &[Axis(0)], equal);
    }
}

#[test]
fn matrices_of_several_tiles_and_blocks() {
    for (rows, columns) in [(70, 2500), (2500, 70), (3, 40_000), (40_000, 3), (10_000, 17), (1, 50_000)] {
        let mut rng = Rng(rows as u64);
        let matrix = ndarray::Array2::from_shape_simple_fn((rows, columns), || rng.below(100) as i32).into_dyn();
        for view in [
            matrix.view(),
            matrix.t(),
            matrix.slice_each_axis(|axis| Slice::new(0, None, 1 - 2 * (axis.axis.index() as isize))),
        ] {
            for axis in [Axis(0), Axis(1)] {
                check(&Sum::new(), &view, &[axis], equal);
                check(&Ordered, &view, &[axis], equal);
                check(&Placed, &view, &[axis], equal);
                check(&ArgMax::new(), &view, &[axis], equal);
            }
        }
    }
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let mut rng = Rng(5);
    let x = ArrayD::from_shape_simple_fn(IxDyn(&[37, 91, 113]), || rng.uniform() as f32);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut bits = vec![sum(&x), var(&x, 0), norm_l2(x.t()), nanmean(&x)];
            for axes in [&[Axis(0)][..], &[Axis(2)], &[Axis(0), Axis(1)], &[Axis(2), Axis(0)]] {
                bits.extend(reduce_axes(&Mean::new(), &x, axes).unwrap());
                bits.extend(reduce_axes(&StandardDeviation::new(1), x.t(), axes).unwrap());
            }
            bits.into_iter().map(f32::to_bits).collect::<Vec<_>>()
        })
    };
    let want = run(1);
    for threads in [2, 7] {
        assert!(run(threads) == want, "{threads} threads");
    }
}

#[test]
fn types_are_those_of_numpy_and_integers_wrap() {
    let (i, u): (i64, u64) = (sum(&[i8::MIN; 300]), sum(&[u8::MAX; 300]));
    assert_eq!((i, u, sum(&[true; 300])), (-38_400, 76_500, 300));
    assert_eq!(sum(&[i64::MAX, 2]), i64::MIN + 1);
    assert_eq!(prod(&[1_u64 << 63, 2]), 0);
    assert_eq!((sum(&[0.1_f32; 10]), mean(&[1_u8, 2])), (1.0, 1.5));
    assert_eq!(norm_inf(&[i64::MIN]), 9_223_372_036_854_775_808.0);
    // Rounded once: f32 sums alone would stop at 2^24, and overflow on the way.
    assert_eq!(sum(&vec![1.0_f32; (1 << 24) + 2]), 16_777_218.0);
    assert_eq!(sum(&[f32::MAX, f32::MAX, -f32::MAX]), f32::MAX);
}

#[test]
fn nothing_has_results_or_errors() {
    let none = Array1::<f32>::zeros(0);
    assert_eq!((sum(&none), prod(&none), any(&none), all(&none), count_nonzero(&none)), (0.0, 1.0, false, true, 0));
    assert_eq!((norm_l1(&none), norm_l2(&none), norm_inf(&none)), (0.0, 0.0, 0.0));
    assert!(mean(&none).is_nan() && var(&none, 0).is_nan() && std(&none, 0).is_nan() && nanmean(&none).is_nan());
    assert!(matches!(min(&none), Err(AlgoError::Empty { op: "min" })));
    assert!(matches!(argmax(&none), Err(AlgoError::Empty { op: "argmax" })));
    assert!(matches!(nanmax(&none), Err(AlgoError::Empty { op: "max" })));
    assert!(reference::reduce(&Max::new(), &none).is_err());
    // A result of no values is an error, no result is none.
    let flat = ndarray::Array2::<f32>::zeros((0, 3));
    assert_eq!(reduce_axes(&Sum::new(), &flat, &[Axis(0)]).unwrap(), ndarray::array![0.0, 0.0, 0.0].into_dyn());
    assert!(reduce_axes(&Max::new(), &flat, &[Axis(0)]).is_err());
    assert_eq!(reduce_axes(&Max::new(), &flat, &[Axis(1)]).unwrap().shape(), [0]);
}

#[test]
fn nan_alone_and_too_few() {
    let nan = [f32::NAN; 40];
    assert_eq!(
        (nansum(&nan), nanprod(&nan), nanargmin(&nan).ok(), nanargmax(&nan).ok()),
        (0.0, 1.0, Some(-1), Some(-1))
    );
    assert!(nanmin(&nan).unwrap().is_nan() && nanmax(&nan).unwrap().is_nan());
    assert!(nanmean(&nan).is_nan() && nanvar(&nan, 0).is_nan() && nanstd(&nan, 0).is_nan());
    assert!(
        var(&[1.0_f64, 2.0], 2).is_nan() && var(&[1.0_f64], 5).is_nan() && nanvar(&[1.0_f64, f64::NAN], 1).is_nan()
    );
    assert_eq!(argmax(&[1.0, f64::NAN, f64::INFINITY, f64::NAN]).ok(), Some(1));
    assert_eq!(nanargmax(&[f64::NAN, 1.0, f64::INFINITY, f64::INFINITY]).ok(), Some(2));
    assert_eq!((any(&[f32::NAN]), any(&[-0.0_f32]), count_nonzero(&[f64::NAN, 0.0, 1.0])), (true, false, 2));
    assert_eq!(
        (argmin(&[0.0, -0.0]).ok(), min(&[0.0, -0.0]).ok().map(f64::to_bits)),
        (Some(0), Some((-0.0_f64).to_bits()))
    );
    assert_eq!((argmax(&[-0.0, 0.0]).ok(), max(&[0.0, -0.0]).ok().map(f64::to_bits)), (Some(0), Some(0)));
}

#[test]
fn variances_do_not_cancel() {
    let x: Vec<f64> = (0..100_000).map(|i| 1e9 + f64::from(i % 2)).collect();
    assert_abs_diff_eq!(var(&x, 0), 0.25, epsilon = 1e-9);
    assert_abs_diff_eq!(std(&x, 0), 0.5, epsilon = 1e-9);
    assert_eq!(mean_var(&x, 0), (1e9 + 0.5, var(&x, 0)));
    let (mean, variance) = mean_var(&[0.0_f64; 0], 0);
    assert!(mean.is_nan() && variance.is_nan());
    let columns = ndarray::Array2::from_shape_fn((5000, 40), |(i, j)| 1e9 + j as f64 + (i % 2) as f64);
    assert!(reduce_axes(&Variance::new(0), &columns, &[Axis(0)]).unwrap().iter().all(|&v| abs_diff_eq!(
        v,
        0.25,
        epsilon = 1e-9
    )));
}

#[test]
fn norms_survive_scales() {
    for n in [1, 3, 1000, 40_000] {
        let unit: Vec<f64> = (0..n).map(|i| 1.0 + f64::from(i as u32).sin()).collect();
        for scale in [1e300, 1e-300, 1e-310, 1e200, 1e-150, 1.0] {
            let x: Vec<f64> = unit.iter().map(|x| x * scale).collect();
            for got in [norm_l2(&x), reference::reduce(&NormL2::new(), &x).unwrap()] {
                assert!(
                    relative_eq!(got / scale, norm2(&unit), epsilon = 0.0, max_relative = 1e-12),
                    "n = {n}, scale = {scale:e}: {got:e}"
                );
            }
        }
    }
    let mixed = [3e200_f64, 1e-300, 4e200, 1.0];
    assert_relative_eq!(norm_l2(&mixed), 5e200, epsilon = 0.0, max_relative = 1e-15);
    assert_eq!(norm_l2(&[1.0_f64, f64::NEG_INFINITY]), f64::INFINITY);
    assert!(norm_l2(&[f64::INFINITY, f64::NAN]).is_nan() && norm_inf(&[1.0, f64::NAN, 2.0]).is_nan());
    assert_eq!((norm_l2(&[3.0_f32, 4.0]), norm_l1(&[3_i32, -4]), norm_inf(&[3_u8, 4])), (5.0, 7.0, 4.0));
}

#[test]
fn wrong_axes_and_shapes_are_errors() {
    let x = ndarray::Array2::<f32>::zeros((2, 3));
    let got = reduce_axes(&Sum::new(), &x, &[Axis(2)]);
    assert!(matches!(got, Err(AlgoError::Array(gpu_array::ArrayError::Axis { op: "sum", axis: 2, ndim: 2 }))));
    let got = reduce_axes(&Sum::new(), &x, &[Axis(1), Axis(0), Axis(1)]);
    assert!(matches!(got, Err(AlgoError::RepeatedAxis { op: "sum", axis: 1 })));
    let want = AlgoError::Shape { op: "vdot", left: vec![2, 3], right: vec![3, 2] };
    assert_eq!(vdot(&x, x.t()).map_err(|error| error.to_string()), Err(want.to_string()));
}

#[test]
fn vdot_of_any_layout() {
    let x = ndarray::Array2::from_shape_fn((70, 90), |(i, j)| (i * 90 + j) as f64);
    let want: f64 = x.iter().zip(x.slice(ndarray::s![..;-1, ..]).iter()).map(|(a, b)| a * b).sum();
    let told = |got: Result<f64>| got.map_err(|error| error.to_string());
    assert_eq!(told(vdot(&x, x.slice(ndarray::s![..;-1, ..]))), Ok(want)); // integers: exact
    assert_eq!(told(reference::vdot(&x, x.slice(ndarray::s![..;-1, ..]))), Ok(want));
    assert!(reference::vdot(&x, x.t()).is_err());
    assert_eq!(told(vdot(&x.slice(ndarray::s![.., ..0]), x.slice(ndarray::s![.., ..0]))), Ok(0.0));
}

/// rayon's pool is one of the process, so the threads that cannot be had are those of another one.
#[test]
fn functions_without_errors_go_on_with_one_thread() {
    const CHILD: &str = "GPU_ALGOS_TEST_OF_THREADS";
    if std::env::var_os(CHILD).is_some() {
        let x = vec![1.0; 1 << 20];
        assert_eq!((sum(&x), dot(&x, &x).unwrap(), cumsum(&x, Axis(0)).unwrap()[9]), (1048576.0, 1048576.0, 10.0));
        assert_eq!((copy_if(&x, |&x| x > 0.0).len(), rayon::current_num_threads()), (1 << 20, 1));
        return;
    }
    let this = std::env::current_exe().unwrap();
    let test = "host::tests::functions_without_errors_go_on_with_one_thread";
    let mut child = std::process::Command::new(this);
    let output = child.args(["--exact", test]).env(CHILD, "1").env("RAYON_NUM_THREADS", "20000").output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
}
