//! Integers and bool, in i128.

use super::*;

/// The floor of a quotient.
fn floor_divide(a: i128, b: i128) -> i128 {
    match b {
        0 => 0,
        1.. => a.div_euclid(b),
        _ => (-a).div_euclid(-b),
    }
}

fn remainder(a: i128, b: i128) -> i128 {
    if b == 0 { 0 } else { a - floor_divide(a, b) * b }
}

fn fmod(a: i128, b: i128) -> i128 {
    if b == 0 { 0 } else { a.signum() * (a.abs() - a.abs() / b.abs() * b.abs()) }
}

/// Right in the low 64 bits.
fn power(a: i128, b: i128) -> i128 {
    match (a, b) {
        (_, 0) | (1, _) => 1,
        (-1, _) => 1 - 2 * (b & 1),
        (_, ..0) => 0,
        _ => {
            let half = power(a, b / 2) & i128::from(u64::MAX);
            let even = half.wrapping_mul(half) & i128::from(u64::MAX);
            if b & 1 == 1 { even.wrapping_mul(a) } else { even }
        }
    }
}

fn shift_left(a: i128, b: i128, bits: i128) -> i128 {
    if (0..bits).contains(&b) { a << b } else { 0 }
}

fn shift_right(a: i128, b: i128, bits: i128) -> i128 {
    if (0..bits).contains(&b) { a.div_euclid(1 << b) } else { 0 }
}

macro_rules! tests {
    ($($type:ident)*) => {$(
        #[test]
        fn $type() {
            let bits = i128::from($type::BITS);
            let edges = [i128::from($type::MIN), -bits, -3, -2, -1, 0, 1, 2, 3, 7, bits - 1, bits, bits + 1, i128::from($type::MAX)];
            let near = [i128::from($type::MIN) + 1, i128::from($type::MAX) - 1, i128::from($type::MAX) / 2, 100];
            let values: Vec<$type> = edges.into_iter().chain(near).filter_map(|value| value.try_into().ok()).collect();

            let binary = |op, want: &dyn Fn(i128, i128) -> i128| {
                for (a, b, got) in pairs::<$type, $type>(op, &values, |x, y| x == y) {
                    assert_eq!(got, want(a.into(), b.into()) as $type, "{op:?} of {a} and {b}");
                }
            };
            binary(Op::Add, &|a, b| a + b);
            binary(Op::Subtract, &|a, b| a - b);
            binary(Op::Multiply, &|a, b| a.wrapping_mul(b));
            binary(Op::FloorDivide, &floor_divide);
            binary(Op::Remainder, &remainder);
            binary(Op::Fmod, &fmod);
            binary(Op::Power, &power);
            binary(Op::Minimum, &|a, b| a.min(b));
            binary(Op::Maximum, &|a, b| a.max(b));
            binary(Op::Fmin, &|a, b| a.min(b));
            binary(Op::Fmax, &|a, b| a.max(b));
            binary(Op::And, &|a, b| a & b);
            binary(Op::Or, &|a, b| a | b);
            binary(Op::Xor, &|a, b| a ^ b);
            binary(Op::ShiftLeft, &|a, b| shift_left(a, b, bits));
            binary(Op::ShiftRight, &|a, b| shift_right(a, b, bits));

            let compare = |op, want: &dyn Fn(i128, i128) -> bool| {
                for (a, b, got) in pairs::<$type, bool>(op, &values, |x, y| x == y) {
                    assert_eq!(got, want(a.into(), b.into()), "{op:?} of {a} and {b}");
                }
            };
            compare(Op::Equal, &|a, b| a == b);
            compare(Op::NotEqual, &|a, b| a != b);
            compare(Op::Less, &|a, b| a < b);
            compare(Op::LessEqual, &|a, b| a <= b);
            compare(Op::Greater, &|a, b| a > b);
            compare(Op::GreaterEqual, &|a, b| a >= b);

            let unary = |op, want: &dyn Fn(i128) -> i128| {
                for (&a, got) in values.iter().zip(apply::<$type, $type>(op, &[&values]).unwrap()) {
                    assert_eq!(got, want(a.into()) as $type, "{op:?} of {a}");
                }
            };
            unary(Op::Negate, &|a| -a);
            unary(Op::Absolute, &|a| a.abs());
            unary(Op::Sign, &|a| a.signum());
            unary(Op::Not, &|a| -1 - a);

            let cast = |values: &[$type]| {
                casts::<$type>(values, |a| a.into());
                for (&a, got) in values.iter().zip(apply::<$type, f64>(Op::Cast, &[values]).unwrap()) {
                    // The nearest f64 is no further than its neighbours.
                    let distance = |float: f64| (float as i128 - i128::from(a)).abs();
                    assert!(distance(got) <= distance(got.next_up()).min(distance(got.next_down())), "{a} to {got}");
                }
                for (&a, got) in values.iter().zip(apply::<$type, f32>(Op::Cast, &[values]).unwrap()) {
                    let distance = |float: f32| (float as i128 - i128::from(a)).abs();
                    assert!(distance(got) <= distance(got.next_up()).min(distance(got.next_down())), "{a} to {got}");
                }
            };
            cast(&values);
        }
    )*};
}

tests!(i8 i16 i32 i64 u8 u16 u32 u64);

/// To all integer types and bool.
fn casts<T: Element>(values: &[T], wide: impl Fn(T) -> i128) {
    macro_rules! to {
        ($($to:ident)*) => {$(
            let got = apply::<T, $to>(Op::Cast, &[values]).unwrap();
            let want: Vec<$to> = values.iter().map(|&value| wide(value) as $to).collect();
            assert_eq!(got, want, "{} to {}", T::DTYPE, $to::DTYPE);
        )*};
    }
    to!(i8 i16 i32 i64 u8 u16 u32 u64);
    let want: Vec<bool> = values.iter().map(|&value| wide(value) != 0).collect();
    assert_eq!(apply::<T, bool>(Op::Cast, &[values]).unwrap(), want);
}

#[test]
fn halves_of_long_integers_go_to_even_floats() {
    let values = [(1i64 << 53) + 1, (1 << 53) + 3, -(1 << 53) - 1, i64::MAX];
    let want =
        [9_007_199_254_740_992.0, 9_007_199_254_740_996.0, -9_007_199_254_740_992.0, 9_223_372_036_854_775_808.0];
    assert_eq!(apply::<i64, f64>(Op::Cast, &[&values]).unwrap(), want);
    let values = [(1u32 << 24) + 1, (1 << 24) + 3, u32::MAX];
    assert_eq!(apply::<u32, f32>(Op::Cast, &[&values]).unwrap(), [16_777_216.0, 16_777_220.0, 4_294_967_296.0]);
}

#[test]
fn bools() {
    let both = [false, true];
    let check = |op, want: [bool; 4]| {
        let got: Vec<bool> = pairs::<bool, bool>(op, &both, |x, y| x == y).into_iter().map(|(_, _, got)| got).collect();
        assert_eq!(got, want, "{op:?}");
    };
    let (o, i) = (false, true);
    check(Op::And, [o, o, o, i]);
    check(Op::Or, [o, i, i, i]);
    check(Op::Xor, [o, i, i, o]);
    check(Op::Minimum, [o, o, o, i]);
    check(Op::Maximum, [o, i, i, i]);
    check(Op::Fmin, [o, o, o, i]);
    check(Op::Fmax, [o, i, i, i]);
    check(Op::Equal, [i, o, o, i]);
    check(Op::NotEqual, [o, i, i, o]);
    check(Op::Less, [o, i, o, o]);
    check(Op::LessEqual, [i, i, o, i]);
    check(Op::Greater, [o, o, i, o]);
    check(Op::GreaterEqual, [i, o, i, i]);
    assert_eq!(apply::<bool, bool>(Op::Not, &[&both]).unwrap(), [true, false]);
    casts::<bool>(&both, i128::from);
    assert_eq!(apply::<bool, f32>(Op::Cast, &[&both]).unwrap(), [0.0, 1.0]);
    assert_eq!(apply::<bool, f64>(Op::Cast, &[&both]).unwrap(), [0.0, 1.0]);
}

#[test]
fn indices_and_lengths() {
    let values = [i64::MIN, -7, -3, -2, -1, 0, 1, 2, 3, 4, 7, i64::MAX];
    let lens = |op, want: &dyn Fn(i128, i128) -> i128| {
        for (index, len, got) in pairs::<i64, i64>(op, &values, |x, y| x == y) {
            if len >= 0 {
                assert_eq!(i128::from(got), want(index.into(), len.into()), "{op:?} of {index} in {len}");
            }
        }
    };
    lens(Op::Wrap, &|index, len| if len == 0 { 0 } else { index - floor_divide(index, len) * len });
    lens(Op::Clip, &|index, len| index.min(len - 1).max(0));
    for (index, len, got) in pairs::<i64, bool>(Op::Inside, &values, |x, y| x == y) {
        assert_eq!(got, 0 <= index && index < len, "{index} in {len}");
    }
}
