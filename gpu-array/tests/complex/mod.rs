//! Operations on complex numbers with definitions of their own, for the tests of either place.
#![allow(dead_code, reason = "two test targets use parts of it")]

use gpu_array::{
    Complex, Result,
    expression::{Backend, Expr, Gpu, Host, complex, where_},
};
use ndarray::{Array2, Ix2};

/// The parts of a value, by which results are compared: bits, where any NaN equals any other.
pub trait Parts: Copy {
    fn parts(self) -> [f64; 2];
}

macro_rules! real_parts {
    ($($type:ident)*) => {$(
        impl Parts for $type {
            fn parts(self) -> [f64; 2] {
                [self as f64, 0.0]
            }
        }
        impl Parts for Complex<$type> {
            fn parts(self) -> [f64; 2] {
                [self.re as f64, self.im as f64]
            }
        }
    )*};
}
real_parts! { f32 f64 i8 i32 i64 u8 u64 }

impl Parts for bool {
    fn parts(self) -> [f64; 2] {
        [self.into(), 0.0]
    }
}

/// The values of a result.
pub type Values = Vec<[f64; 2]>;

fn values<T: Parts>(array: &Array2<T>) -> Values {
    array.iter().map(|value| value.parts()).collect()
}

pub fn same(a: [f64; 2], b: [f64; 2]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()))
}

/// The first place at which two results differ.
pub fn difference(name: &str, got: &Values, want: &Values) -> Option<String> {
    if got.len() != want.len() {
        return Some(format!("{name}: {} values, want {}", got.len(), want.len()));
    }
    let place = (0..got.len()).find(|&place| !same(got[place], want[place]))?;
    Some(format!("{name}: place {place}: got {:?}, want {:?}", got[place], want[place]))
}

/// Parts at which a formula may go wrong.
const PARTS: [f64; 14] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    3.5,
    -0.3,
    1e30,
    -2e-30,
    5e-324, // 0 as an f32
    1e-40,  // subnormal as an f32
    -f64::MAX,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

macro_rules! of_parts {
    ($module:ident $real:ident $other:ident $wide:ident) => {
        pub mod $module {
            use super::*;

            pub type R = $real;
            pub type Z = Complex<R>;

            /// All pairs of awkward parts, and random ones.
            pub fn awkward() -> Vec<Z> {
                let mut rng = testkit::Rng(7);
                let pairs = PARTS.iter().flat_map(|&re| PARTS.iter().map(move |&im| Z::new(re as R, im as R)));
                let mut all: Vec<Z> = pairs.collect();
                let mut part = || (rng.uniform() * 20.0 - 10.0) as R;
                all.extend((0..40).map(|_| Z::new(part(), part())));
                all.push(Z::new(R::MAX, R::MAX));
                all.push(Z::new(R::MIN_POSITIVE, -R::MIN_POSITIVE));
                all
            }

            #[derive(Clone)]
            pub enum Value<'a, P: Backend> {
                Complex(Expr<'a, Z, Ix2, P>),
                Other(Expr<'a, Complex<$other>, Ix2, P>),
                Wide(Expr<'a, Complex<f64>, Ix2, P>),
                Real(Expr<'a, R, Ix2, P>),
                Bool(Expr<'a, bool, Ix2, P>),
                I64(Expr<'a, i64, Ix2, P>),
                U8(Expr<'a, u8, Ix2, P>),
            }
            use Value::{Bool, I64, Other, Real, U8, Wide};

            impl Value<'_, Host> {
                pub fn eval(&self) -> Result<Values> {
                    Ok(match self {
                        Value::Complex(x) => values(&x.eval()?),
                        Other(x) => values(&x.eval()?),
                        Wide(x) => values(&x.eval()?),
                        Real(x) => values(&x.eval()?),
                        Bool(x) => values(&x.eval()?),
                        I64(x) => values(&x.eval()?),
                        U8(x) => values(&x.eval()?),
                    })
                }
            }

            impl Value<'_, Gpu> {
                pub fn eval(&self) -> Result<Values> {
                    Ok(match self {
                        Value::Complex(x) => values(&x.eval()?.to_ndarray()?),
                        Other(x) => values(&x.eval()?.to_ndarray()?),
                        Wide(x) => values(&x.eval()?.to_ndarray()?),
                        Real(x) => values(&x.eval()?.to_ndarray()?),
                        Bool(x) => values(&x.eval()?.to_ndarray()?),
                        I64(x) => values(&x.eval()?.to_ndarray()?),
                        U8(x) => values(&x.eval()?.to_ndarray()?),
                    })
                }

                pub fn as_precompile(&self) -> &dyn gpu_array::expression::Precompile {
                    match self {
                        Value::Complex(x) => x,
                        Other(x) => x,
                        Wide(x) => x,
                        Real(x) => x,
                        Bool(x) => x,
                        I64(x) => x,
                        U8(x) => x,
                    }
                }
            }

            /// The quotient by NumPy's loop, written another way: on the parts in the order of size.
            fn quotient(a: Z, b: Z) -> Z {
                if b.re == 0.0 && b.im == 0.0 {
                    return Z::new(a.re / 0.0, a.im / 0.0);
                }
                let along_re = b.re.abs() >= b.im.abs();
                let (large, small) = if along_re { (b.re, b.im) } else { (b.im, b.re) };
                let ratio = small / large;
                let scale = 1.0 / (large + small * ratio);
                if along_re {
                    Z::new((a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale)
                } else {
                    Z::new((a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale)
                }
            }

            fn product(a: Z, b: Z) -> Z {
                Z::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)
            }

            fn of(re: R) -> Z {
                Z::new(re, 0.0)
            }

            /// A scalar with two odd parts.
            pub const C: Z = Z::new(0.75, -1.3);

            /// The name of an operation, its value, and its definition.
            pub type Operation<'a, P> = (&'static str, Value<'a, P>, fn(Z, Z, R) -> [f64; 2]);

            /// Operations of two complex values and a real one, and their definitions.
            pub fn operations<'a, P: Backend>(
                [a, b]: [&Expr<'a, Z, Ix2, P>; 2],
                x: &Expr<'a, R, Ix2, P>,
                n: &Expr<'a, i8, Ix2, P>,
                i: &Expr<'a, i32, Ix2, P>,
            ) -> Vec<Operation<'a, P>> {
                let mut all = of_complex(a, b, x);
                all.extend(of_several_types([a, b], x, n, i));
                all
            }

            fn of_complex<'a, P: Backend>(
                a: &Expr<'a, Z, Ix2, P>,
                b: &Expr<'a, Z, Ix2, P>,
                x: &Expr<'a, R, Ix2, P>,
            ) -> Vec<Operation<'a, P>> {
                vec![
                    ("a + b", Value::Complex(a + b), |a, b, _| [a.re + b.re, a.im + b.im].map(f64::from)),
                    ("a - b", Value::Complex(a - b), |a, b, _| [a.re - b.re, a.im - b.im].map(f64::from)),
                    ("a * b", Value::Complex(a * b), |a, b, _| product(a, b).parts()),
                    ("a / b", Value::Complex(a / b), |a, b, _| quotient(a, b).parts()),
                    ("a * b + a", Value::Complex(a * b + a), |a, b, _| {
                        let p = product(a, b);
                        [p.re + a.re, p.im + a.im].map(f64::from)
                    }),
                    ("-a", Value::Complex(-a), |a, _, _| [-a.re, -a.im].map(f64::from)),
                    ("conj", Value::Complex(a.conj()), |a, _, _| [a.re, -a.im].map(f64::from)),
                    ("real", Real(a.real()), |a, _, _| [a.re.into(), 0.0]),
                    ("imag", Real(a.imag()), |a, _, _| [a.im.into(), 0.0]),
                    ("abs", Real(a.abs()), |a, _, _| [a.re.hypot(a.im).into(), 0.0]),
                    ("arg", Real(a.arg()), |a, _, _| [a.im.atan2(a.re).into(), 0.0]),
                    ("a == b", Bool(a.eq(b)), |a, b, _| (a.re == b.re && a.im == b.im).parts()),
                    ("a != b", Bool(a.ne(b)), |a, b, _| (!(a.re == b.re && a.im == b.im)).parts()),
                    ("is_nan", Bool(a.is_nan()), |a, _, _| (a.re.is_nan() || a.im.is_nan()).parts()),
                    ("is_finite", Bool(a.is_finite()), |a, _, _| (a.re.is_finite() && a.im.is_finite()).parts()),
                    ("where", Value::Complex(where_(a.eq(b), a, C)), |a, b, _| if a == b { a } else { C }.parts()),
                    ("complex", Value::Complex(complex(x, b.imag())), |_, b, x| Z::new(x, b.im).parts()),
                    ("square", Value::Complex(a.square()), |a, _, _| product(a, a).parts()),
                    ("recip", Value::Complex(a.recip()), |a, _, _| quotient(of(1.0), a).parts()),
                    ("powi", Value::Complex(a.powi(-3)), |a, _, _| {
                        quotient(of(1.0), product(product(a, a), a)).parts()
                    }),
                ]
            }

            fn of_several_types<'a, P: Backend>(
                [a, b]: [&Expr<'a, Z, Ix2, P>; 2],
                x: &Expr<'a, R, Ix2, P>,
                n: &Expr<'a, i8, Ix2, P>,
                i: &Expr<'a, i32, Ix2, P>,
            ) -> Vec<Operation<'a, P>> {
                let mixed: (Value<'a, P>, fn(Z, Z, R) -> [f64; 2]) =
                    (Wide(a * i), |a, _, _| (Complex::new(a.re as f64, a.im as f64) * Complex::new(3.0, 0.0)).parts());
                let widened: fn(Z, Z, R) -> [f64; 2] = |a, _, _| Complex::new(a.re as $other, a.im as $other).parts();
                vec![
                    // Types of both sides.
                    ("a * x", Value::Complex(a * x), |a, _, x| product(a, of(x)).parts()),
                    ("x / a", Value::Complex(x / a), |a, _, x| quotient(of(x), a).parts()),
                    ("a - n", Value::Complex(a - n), |a, _, _| [a.re - -2.0, a.im - 0.0].map(f64::from)),
                    ("a * i", mixed.0, mixed.1),
                    // Scalars on both sides.
                    ("a / C", Value::Complex(a / C), |a, _, _| quotient(a, C).parts()),
                    ("C / a", Value::Complex(C / a), |a, _, _| quotient(C, a).parts()),
                    ("2.5 * a", Value::Complex(of(2.5) * a), |a, _, _| product(of(2.5), a).parts()),
                    // Casts.
                    ("to complex", Value::Complex(x.cast()), |_, _, x| of(x).parts()),
                    ("to the other complex", Other(a.cast()), widened),
                    ("to bool", Bool(a.cast()), |a, _, _| (a.re != 0.0 || a.im != 0.0).parts()),
                    ("to real", Real(a.cast()), |a, _, _| [a.re.into(), 0.0]),
                    ("to i64", I64(a.cast()), |a, _, _| (a.re as i64).parts()),
                    ("to u8", U8(a.cast()), |a, _, _| (a.re as u8).parts()),
                    ("from bool", Value::Complex(a.eq(b).cast()), |a, b, _| of((a == b) as u8 as R).parts()),
                    ("from an integer", Value::Complex(i.cast()), |_, _, _| [3.0, 0.0]),
                ]
            }

            /// The operands at all pairs of awkward values, and their definitions' results.
            pub fn operands() -> (Array2<Z>, Array2<Z>, Array2<R>) {
                let all = awkward();
                let x: Vec<R> = all.iter().map(|z| z.im).collect();
                let n = all.len();
                let column = Array2::from_shape_vec((n, 1), all.clone()).expect("n values");
                let row = Array2::from_shape_vec((1, n), all).expect("n values");
                (column, row, Array2::from_shape_vec((1, n), x).expect("n values"))
            }

            /// The values of a definition where the result has `len` values: those of one operand, or of both.
            pub fn wanted(definition: fn(Z, Z, R) -> [f64; 2], len: usize) -> Values {
                let (column, row, x) = operands();
                let (a, b) = (column.as_slice().expect("a column"), row.as_slice().expect("a row"));
                let x = x.as_slice().expect("a row");
                let (rows, columns) = (a.len(), b.len());
                assert_eq!(len, rows * columns);
                let at = |i: usize, j: usize| definition(a[i], b[j], x[j]);
                (0..rows).flat_map(|i| (0..columns).map(move |j| at(i, j)).collect::<Vec<_>>()).collect()
            }
        }
    };
}

of_parts! { c64 f32 f64 f64 }
of_parts! { c128 f64 f32 f64 }
