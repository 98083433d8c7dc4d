//! f32 and f64.

use super::*;

/// The same bits, or two NaN.
trait Same: Copy {
    fn same(self, other: Self) -> bool;
}

macro_rules! same {
    ($($type:ident)*) => {$(
        impl Same for $type {
            fn same(self, other: Self) -> bool {
                self.to_bits() == other.to_bits() || (self.is_nan() && other.is_nan())
            }
        }
    )*};
}
same!(f32 f64);

/// The integer next to x on the side that `pick` takes of (below, above), with x's sign.
macro_rules! integer_by {
    ($type:ident, $x:expr, |$below:ident, $above:ident| $pick:expr) => {{
        let x: $type = $x;
        if !x.is_finite() || x.abs() >= 1e18 {
            x
        } else {
            let cut = x as i64;
            let $below = if cut as $type > x { cut - 1 } else { cut };
            let $above = if (cut as $type) < x { cut + 1 } else { cut };
            ($pick as $type).copysign(x)
        }
    }};
}

macro_rules! tests {
    ($($type:ident $half_of_one_ulp:expr);*) => {$(
        mod $type {
            use super::*;

            const VALUES: [$type; 29] = [
                0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 0.1, -0.1, 0.49999997, 3.7, -3.7, 7.0, 1e10, -1e10, $half_of_one_ulp,
                $type::EPSILON, $type::MIN_POSITIVE, $type::MIN_POSITIVE / 4.0, -$type::MIN_POSITIVE / 8.0, $type::MAX, $type::MIN,
                $type::INFINITY, $type::NEG_INFINITY, $type::NAN, -$type::NAN,
            ];

            fn binary(op: Op, want: impl Fn($type, $type) -> $type) {
                for (a, b, got) in pairs::<$type, $type>(op, &VALUES, Same::same) {
                    assert!(got.same(want(a, b)), "{op:?} of {a} and {b}: got {got}, want {}", want(a, b));
                }
            }

            fn unary(op: Op, want: impl Fn($type) -> $type) {
                for (a, got) in VALUES.into_iter().zip(apply::<$type, $type>(op, &[&VALUES]).unwrap()) {
                    assert!(got.same(want(a)), "{op:?} of {a}: got {got}, want {}", want(a));
                }
            }

            fn test(op: Op, want: impl Fn($type, $type) -> bool) {
                for (a, b, got) in pairs::<$type, bool>(op, &VALUES, |x, y| x == y) {
                    assert_eq!(got, want(a, b), "{op:?} of {a} and {b}");
                }
            }

            #[test]
            fn exact_of_two() {
                binary(Op::Add, |a, b| a + b);
                binary(Op::Subtract, |a, b| a - b);
                binary(Op::Multiply, |a, b| a * b);
                binary(Op::Divide, |a, b| a / b);
                binary(Op::Fmod, |a, b| a % b);
                // By cases: a NaN wins (the first of two), of equal ones the first.
                binary(Op::Minimum, |a, b| if a.is_nan() { a } else if b.is_nan() || b < a { b } else { a });
                binary(Op::Maximum, |a, b| if a.is_nan() { a } else if b.is_nan() || b > a { b } else { a });
                // A NaN loses.
                binary(Op::Fmin, |a, b| if b.is_nan() { a } else if a.is_nan() || b < a { b } else { a });
                binary(Op::Fmax, |a, b| if b.is_nan() { a } else if a.is_nan() || b > a { b } else { a });
            }

            #[test]
            fn comparisons() {
                test(Op::Equal, |a, b| a == b);
                test(Op::NotEqual, |a, b| a != b);
                test(Op::Less, |a, b| a < b);
                test(Op::LessEqual, |a, b| a <= b);
                test(Op::Greater, |a, b| a > b);
                test(Op::GreaterEqual, |a, b| a >= b);
                let is_nan: Vec<bool> = VALUES.iter().map(|a| a != a).collect();
                assert_eq!(apply::<$type, bool>(Op::IsNan, &[&VALUES]).unwrap(), is_nan);
                let is_finite: Vec<bool> = VALUES.iter().map(|a| a - a == 0.0).collect();
                assert_eq!(apply::<$type, bool>(Op::IsFinite, &[&VALUES]).unwrap(), is_finite);
            }

            #[test]
            fn exact_of_one() {
                unary(Op::Negate, |a| <$type>::from_bits(a.to_bits() ^ (-0.0 as $type).to_bits()));
                unary(Op::Absolute, |a| <$type>::from_bits(a.to_bits() & !(-0.0 as $type).to_bits()));
                unary(Op::Sign, |a| if a == 0.0 { 0.0 } else if a.is_nan() { a } else { (1.0 as $type).copysign(a) });
                unary(Op::Sqrt, |a| a.sqrt());
                unary(Op::Floor, |a| integer_by!($type, a, |below, _above| below));
                unary(Op::Ceil, |a| integer_by!($type, a, |_below, above| above));
                unary(Op::Truncate, |a| integer_by!($type, a, |below, above| if a < 0.0 { above } else { below }));
                unary(Op::Round, |a| integer_by!($type, a, |below, above| {
                    let (down, up) = (a - below as $type, above as $type - a);
                    if down < up || (down == up && below % 2 == 0) { below } else { above }
                }));
            }

            #[test]
            fn one_rounding_or_two() {
                // (1 + e)(1 - e) - 1 is -e^2, and 0 when the product is rounded.
                let e = $type::EPSILON;
                let (a, b, c) = ([1.0 + e; 5], [1.0 - e; 5], [-1.0 as $type; 5]);
                assert_eq!(apply::<$type, $type>(Op::Fma, &[&a, &b, &c]).unwrap(), [-e * e; 5]);
                for scalar in [false, true] {
                    let mut builder = Builder::new(&[5]);
                    let (x, z) = (builder.slice(&a), builder.slice(&c));
                    let y = if scalar { builder.scalar(b[0]) } else { builder.slice(&b) };
                    let product = builder.step(Op::Multiply, $type::DTYPE, &[x, y]);
                    builder.step(Op::Add, $type::DTYPE, &[product, z]);
                    assert_eq!(builder.last::<$type>().unwrap(), [0.0; 5]);
                }
            }

            #[test]
            fn casts() {
                macro_rules! to {
                    ($to:ident) => {
                        for (a, got) in VALUES.into_iter().zip(apply::<$type, $to>(Op::Cast, &[&VALUES]).unwrap()) {
                            let want = match a {
                                _ if a.is_nan() => 0,
                                _ if f64::from(a) >= $to::MAX as f64 => $to::MAX,
                                _ if f64::from(a) <= $to::MIN as f64 => $to::MIN,
                                _ => a as i128 as $to,
                            };
                            assert_eq!(got, want, "{a} to {}", $to::DTYPE);
                        }
                    };
                }
                to!(i8);
                to!(i16);
                to!(i32);
                to!(i64);
                to!(u8);
                to!(u16);
                to!(u32);
                to!(u64);
                let want: Vec<bool> = VALUES.iter().map(|a| a.is_nan() || a.abs() > 0.0).collect();
                assert_eq!(apply::<$type, bool>(Op::Cast, &[&VALUES]).unwrap(), want);
            }

            /// Sums and differences with products on one side or both, whichever loop computes them.
            #[test]
            fn sums_of_products() {
                let (x, y): (Vec<$type>, Vec<$type>) = VALUES.iter().flat_map(|&a| VALUES.map(|b| (a, b))).unzip();
                for (op, sign) in [(Op::Add, 1.0 as $type), (Op::Subtract, -1.0)] {
                    for factor in [3.1 as $type, 0.0, -1.0, $type::MAX, $type::NAN] {
                        for sides in 0..4 {
                            let mut b = Builder::new(&[x.len()]);
                            let (f, x_step, y_step) = (b.scalar(factor), b.slice(&x), b.slice(&y));
                            let left = if sides & 1 == 1 { b.step(Op::Multiply, $type::DTYPE, &[f, x_step]) } else { x_step };
                            let right = if sides & 2 == 2 { b.step(Op::Multiply, $type::DTYPE, &[y_step, f]) } else { y_step };
                            b.step(op, $type::DTYPE, &[left, right]);
                            for ((&x, &y), got) in x.iter().zip(&y).zip(b.last::<$type>().unwrap()) {
                                let left = if sides & 1 == 1 { x * factor } else { x };
                                let right = if sides & 2 == 2 { y * factor } else { y };
                                assert!(got.same(left + sign * right), "{op:?} {sides} of {x} and {y} by {factor}: {got}");
                            }
                        }
                    }
                }
            }
        }
    )*};
}

tests!(f32 8_388_607.5; f64 4_503_599_627_370_495.5);

#[test]
fn between_floats() {
    let wide = [0.1, -0.0, 1e300, -1e300, f64::MIN_POSITIVE, 1e-45, 16_777_217.0, 16_777_219.0, f64::INFINITY];
    let want = [
        0.1f32,
        -0.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        0.0,
        f32::from_bits(1),
        16_777_216.0,
        16_777_220.0,
        f32::INFINITY,
    ];
    let got = apply::<f64, f32>(Op::Cast, &[&wide]).unwrap();
    assert!(got.iter().zip(want).all(|(got, want)| got.same(want)), "{got:?}");
    assert_eq!(
        apply::<f32, f64>(Op::Cast, &[&[0.1f32, f32::MAX]]).unwrap(),
        [0.10000000149011612, 3.4028234663852886e38]
    );
    assert!(apply::<f64, f32>(Op::Cast, &[&[f64::NAN]]).unwrap()[0].is_nan());
    assert!(apply::<f64, f64>(Op::Cast, &[&wide]).unwrap() == wide);
}

/// `//`, `%` and fmod as NumPy gives them.
#[test]
fn division_is_numpys() {
    fn check<T: Element + Default + Same>(line: &str, fields: [T; 5]) {
        let [a, b, quotient, remainder, fmod] = fields;
        for (op, want) in [(Op::FloorDivide, quotient), (Op::Remainder, remainder), (Op::Fmod, fmod)] {
            let got = apply::<T, T>(op, &[&[a], &[b]]).unwrap()[0];
            assert!(got.same(want), "{op:?} {line}: got {got}");
        }
    }
    let mut lines = 0;
    for line in include_str!("divmod.txt").lines().filter(|line| !line.starts_with('#')) {
        let (kind, numbers) = line.split_once(' ').unwrap();
        let fields: Vec<f64> = numbers.split(' ').map(|field| field.parse().unwrap()).collect();
        let fields: [f64; 5] = fields.try_into().unwrap();
        match kind {
            "f32" => check(line, fields.map(|field| field as f32)),
            _ => check(line, fields),
        }
        lines += 1;
    }
    assert_eq!(lines, 144);
}

/// NumPy's values at 0.25, 0.7 and 1.
#[expect(clippy::approx_constant, reason = "the values of functions")]
const FUNCTIONS: [(Op, [f64; 3]); 17] = [
    (Op::Exp, [1.2840254166877414, 2.0137527074704766, 2.718281828459045]),
    (Op::Exp2, [1.189207115002721, 1.624504792712471, 2.0]),
    (Op::Expm1, [0.2840254166877415, 1.0137527074704764, 1.7182818284590453]),
    (Op::Log, [-1.3862943611198906, -0.35667494393873245, 0.0]),
    (Op::Log2, [-2.0, -0.5145731728297583, 0.0]),
    (Op::Log10, [-0.6020599913279624, -0.1549019599857432, 0.0]),
    (Op::Log1p, [0.22314355131420976, 0.5306282510621704, 0.6931471805599453]),
    (Op::Sin, [0.24740395925452294, 0.644217687237691, 0.8414709848078965]),
    (Op::Cos, [0.9689124217106447, 0.7648421872844885, 0.5403023058681398]),
    (Op::Tan, [0.25534192122103627, 0.8422883804630794, 1.5574077246549023]),
    (Op::Asin, [0.25268025514207865, 0.775397496610753, 1.5707963267948966]),
    (Op::Acos, [1.318116071652818, 0.7953988301841436, 0.0]),
    (Op::Atan, [0.24497866312686414, 0.6107259643892086, 0.7853981633974483]),
    (Op::Sinh, [0.2526123168081683, 0.7585837018395335, 1.1752011936438014]),
    (Op::Cosh, [1.0314130998795732, 1.255169005630943, 1.5430806348152437]),
    (Op::Tanh, [0.24491866240370913, 0.6043677771171634, 0.7615941559557649]),
    (Op::Cbrt, [0.6299605249474366, 0.8879040017426006, 1.0]),
];

/// NumPy's values at (0.25, 0.7), (3, -2), (2, 0.5).
#[expect(clippy::approx_constant, reason = "the values of functions")]
const FUNCTIONS_OF_TWO: [(Op, [f64; 3]); 3] = [
    (Op::Atan2, [0.34302394042070344, 2.1587989303424644, 1.3258176636680326]),
    (Op::Hypot, [0.7433034373659252, 3.605551275463989, 2.0615528128088303]),
    (Op::Power, [0.37892914162759955, 0.1111111111111111, 1.4142135623730951]),
];

#[test]
fn functions() {
    /// Within 4 units in the last place; NumPy's own are off by some.
    fn close(op: Op, got: f64, want: f64, epsilon: f64) {
        assert!((got - want).abs() <= 4.0 * epsilon * want.abs(), "{op:?}: got {got}, want {want}");
    }
    let of_one = [0.25, 0.7, 1.0];
    for (op, want) in FUNCTIONS {
        for (got, want) in apply::<f64, f64>(op, &[&of_one]).unwrap().into_iter().zip(want) {
            close(op, got, want, f64::EPSILON);
        }
        // At 0.25 and 1 only: 0.7 is another number in f32.
        let got = apply::<f32, f32>(op, &[&of_one.map(|x| x as f32)]).unwrap();
        close(op, got[0].into(), want[0], f32::EPSILON.into());
        close(op, got[2].into(), want[2], f32::EPSILON.into());
    }
    let (a, b) = ([0.25, 3.0, 2.0], [0.7, -2.0, 0.5]);
    for (op, want) in FUNCTIONS_OF_TWO {
        for (got, want) in apply::<f64, f64>(op, &[&a, &b]).unwrap().into_iter().zip(want) {
            close(op, got, want, f64::EPSILON);
        }
        let got = apply::<f32, f32>(op, &[&a.map(|x| x as f32), &b.map(|x| x as f32)]).unwrap();
        close(op, got[1].into(), want[1], f32::EPSILON.into());
        close(op, got[2].into(), want[2], f32::EPSILON.into());
    }
    assert_eq!(apply::<f64, f64>(Op::Expm1, &[&[1e-20]]).unwrap(), [1e-20]);
    assert_eq!(apply::<f32, f32>(Op::Log1p, &[&[1e-20]]).unwrap(), [1e-20]);
    assert_eq!(apply::<f64, f64>(Op::Hypot, &[&[3e300], &[4e300]]).unwrap(), [5e300]);
    assert_eq!(apply::<f64, f64>(Op::Log, &[&[0.0, f64::INFINITY]]).unwrap(), [f64::NEG_INFINITY, f64::INFINITY]);
    assert!(apply::<f32, f32>(Op::Log, &[&[-1.0]]).unwrap()[0].is_nan());
}
