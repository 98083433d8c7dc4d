//! Large graphs, sharing, and values that cannot be computed.

use gpu_array::{
    ArrayError, DType, Result,
    expression::{
        Expr, Host, Outside, arange, constant, diff, eval_all, flip, gather, host, index, pad, roll, take, tril,
    },
};
use ndarray::{Array1, Array2, Axis, Ix0, Ix1, Ix2, array, s};

/// On a stack that a recursion over the graph would overflow.
fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(256 << 10).spawn(work).unwrap().join().unwrap();
}

#[test]
fn chains_of_any_length() {
    on_a_small_stack(|| {
        let x = array![1.0, 2.0];
        let mut sum = host(&x);
        for _ in 0..200_000 {
            sum = sum + 1.0;
        }
        assert_eq!(sum.eval().unwrap(), array![200_001.0, 200_002.0]);
        assert!(format!("{sum:?}").len() < 10_000);
        let clone = sum.clone();
        drop(sum);
        assert_eq!(clone.shape().unwrap(), [2]);
        drop(clone);
        // Each operand twice, and dropped without being evaluated.
        let mut power = host(&x) * 1.0;
        for _ in 0..200_000 {
            power = &power * &power;
        }
        drop(power);
        // To the right as well.
        let mut sum = host(&x);
        for _ in 0..200_000 {
            sum = 1.0 - sum;
        }
        assert_eq!(sum.eval().unwrap(), x);
    });
}

#[test]
fn what_is_shared_is_computed_once() {
    on_a_small_stack(|| {
        // 2^200 additions if not.
        let x = array![1.0, -3.0];
        let mut y = host(&x);
        for _ in 0..200 {
            y = &y + &y;
        }
        assert_eq!(y.eval().unwrap(), &x * 2f64.powi(200));
        let (a, b) = eval_all((&y - &y, &y * 0.0)).unwrap();
        assert_eq!((a, b), (array![0.0, 0.0], array![0.0, -0.0]));
        drop(y);
    });
}

#[test]
fn shapes_that_do_not_fit_are_told() {
    let (x, y) = (Array2::<f32>::zeros((3, 4)), Array1::<i16>::zeros(5));
    let error = (2.0 * host(&x) + host(&y)).eval().unwrap_err();
    let ArrayError::Operands { left, left_dtype, right, right_dtype, expression } = &error else { panic!("{error}") };
    assert_eq!((left.as_slice(), right.as_slice()), (&[3, 4][..], &[5][..]));
    assert_eq!((*left_dtype, *right_dtype), (DType::F32, DType::F32));
    assert_eq!(expression, "((2 * float32[3, 4]) + float32(int16[5]))");
    let text = error.to_string();
    assert!(text.contains("[3, 4]") && text.contains("[5]") && text.contains("float32"), "{text}");
    let error = (host(&x) * host(&x)).broadcast((2, 4)).eval().unwrap_err();
    assert!(matches!(&error, ArrayError::Operands { .. }), "{error}");
    let longer = host(&x).broadcast(4).eval();
    assert!(longer.is_err(), "{longer:?}");
    let ranks = eval_all((host(&x), host(&x).broadcast((2, 3, 4))));
    assert!(matches!(ranks, Err(ArrayError::Outputs { .. })), "{ranks:?}");
}

#[test]
fn values_without_an_array() -> Result<()> {
    let nothing = index::<Ix2, Host>(Axis(0)) + index::<Ix2, Host>(Axis(1));
    assert!(matches!(nothing.eval(), Err(ArrayError::NoShape)));
    assert!(matches!(index::<Ix1, Host>(Axis(1)).broadcast(3).eval(), Err(ArrayError::Axis { axis: 1, ndim: 1, .. })));
    let seven: Expr<'_, i32, Ix0, Host> = constant(7);
    assert_eq!((&seven + &seven).eval()?, ndarray::arr0(14));
    Ok(())
}

#[test]
fn only_arrays_are_read_at_computed_places() {
    let (x, i) = (array![1.0, 2.0], array![1i64, 0]);
    let sum = take(host(&x) + 1.0, host(&i), Outside::Wrap).eval();
    let Err(ArrayError::NotAnArray { expression, .. }) = &sum else { panic!("{sum:?}") };
    assert_eq!(expression, "(float64[2] + 1)");
    assert!(matches!(roll(-host(&x), 1, Axis(0)).eval(), Err(ArrayError::NotAnArray { op: "roll", .. })));
    assert!(matches!(roll(host(&x), 1, Axis(1)).eval(), Err(ArrayError::Axis { op: "roll", axis: 1, ndim: 1 })));
    let one_index = gather(host(&Array2::<u8>::zeros((2, 2))), &[host(&i)], Outside::Clip).eval();
    assert!(matches!(one_index, Err(ArrayError::Ndim { expected: 2, got: 1, .. })), "{one_index:?}");
    assert!(matches!(tril(host(&x), 0).eval(), Err(ArrayError::Ndim { expected: 2, got: 1, .. })));
    // The error stays in values that are made of it.
    let more = (roll(-host(&x), 1, Axis(0)) * 2.0).sqrt();
    assert!(matches!(more.eval(), Err(ArrayError::NotAnArray { .. })));
}

#[test]
fn values_of_different_shapes_are_not_computed_together() {
    let (x, y) = (array![1.0, 2.0], array![1.0, 2.0, 3.0]);
    let both = eval_all((host(&x), host(&y)));
    let Err(ArrayError::Outputs { first, other }) = both else { panic!("{both:?}") };
    assert_eq!((first, other), (vec![2], vec![3]));
}

#[test]
fn places_count_in_their_own_shape() {
    // A value with one place along an axis is repeated along it, whatever its value was computed from.
    let ones = array![1i64, 1, 1, 1];
    let y = || host(&ones);
    let (x, two) = (array![5i64], array![3i64, 10]);
    let first: Expr<'_, i64, Ix1, Host> = arange(7i64, 8, 1).unwrap();
    assert_eq!((first + y()).eval().unwrap(), array![8, 8, 8, 8]);
    assert_eq!((diff(host(&two), Axis(0)) + y()).eval().unwrap(), array![8, 8, 8, 8]);
    assert_eq!((roll(host(&x), 3, Axis(0)) + y()).eval().unwrap(), array![6, 6, 6, 6]);
    assert_eq!((flip(host(&x), Axis(0)) + y()).eval().unwrap(), array![6, 6, 6, 6]);
    let one_row = index::<Ix2, Host>(Axis(0)).broadcast((1, 3));
    assert_eq!((one_row + host(&Array2::<i64>::zeros((2, 3)))).eval().unwrap(), Array2::<i64>::zeros((2, 3)));

    // One free place, in two shapes and in that of the whole.
    let place = index::<Ix1, Host>(Axis(0));
    let (three, one) = (place.broadcast(3), place.broadcast(1));
    assert_eq!((&three * 100 + &one * 10 + &place).eval().unwrap(), array![0, 101, 202]);
    // The same one within another shape of its own.
    let inner = (place.broadcast((2, 1)) + place.broadcast((1, 3)) * 10).broadcast((2, 3));
    assert_eq!(inner.eval().unwrap(), array![[0, 10, 20], [0, 10, 20]]);
}

#[test]
fn elements_at_places_of_views() {
    let x = Array2::from_shape_fn((4, 5), |(i, j)| (10 * i + j) as i32);
    let view = x.slice(s![..;-1, 1..;2]);
    for shift in [-7i64, -1, 0, 1, 3, 4, i64::MAX, i64::MIN] {
        let got = roll(host(view), shift, Axis(0)).eval().unwrap();
        let want =
            Array2::from_shape_fn((4, 2), |(i, j)| view[((i as i128 - i128::from(shift)).rem_euclid(4) as usize, j)]);
        assert_eq!(got, want, "{shift}");
    }
    assert_eq!(flip(host(view), Axis(1)).eval().unwrap(), view.slice(s![.., ..;-1]));
    assert_eq!(diff(host(view), Axis(0)).eval().unwrap(), &view.slice(s![1.., ..]) - &view.slice(s![..-1, ..]));
    let padded = pad(host(view), 1, 2, Axis(1), Outside::Value(-1)).eval().unwrap();
    assert_eq!((padded.slice(s![.., 1..3]), padded[(0, 0)], padded[(3, 4)]), (view, -1, -1));
    let empty = Array2::<i32>::zeros((0, 2));
    assert_eq!(roll(host(&empty), 1, Axis(0)).eval().unwrap(), empty);
    assert_eq!(pad(host(&empty), 1, 0, Axis(0), Outside::Clip).eval().unwrap(), Array2::<i32>::zeros((1, 2)));
}
