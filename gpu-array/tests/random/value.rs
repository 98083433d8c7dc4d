//! Scalars and their operations, apart from the library: integers as i128, wrapped afterwards.

use gpu_array::DType;

use super::program::{Binary, Math, Unary};

#[derive(Clone, Copy, Debug)]
pub enum Value {
    Bool(bool),
    Int(i128),
    F32(f32),
    F64(f64),
}

use Value::{Bool, F32, F64, Int};

/// Values of a shape, in C order.
#[derive(Clone, Debug)]
pub struct Grid {
    pub dtype: DType,
    pub shape: Vec<usize>,
    pub values: Vec<Value>,
}

impl Value {
    /// The same bits, or both NaN.
    pub fn same(self, other: Self) -> bool {
        match (self, other) {
            (Bool(a), Bool(b)) => a == b,
            (Int(a), Int(b)) => a == b,
            (F32(a), F32(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
            (F64(a), F64(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
            _ => false,
        }
    }

    fn bool(self) -> bool {
        matches!(self, Bool(true))
    }
}

impl Grid {
    /// Where both differ first.
    pub fn difference(&self, want: &Self) -> Option<String> {
        if (self.dtype, &self.shape) != (want.dtype, &want.shape) {
            let of = |grid: &Self| format!("{} {:?}", grid.dtype, grid.shape);
            return Some(format!("got {}, want {}", of(self), of(want)));
        }
        let place = self.values.iter().zip(&want.values).position(|(a, b)| !a.same(*b))?;
        let count = self.values.iter().zip(&want.values).filter(|(a, b)| !a.same(**b)).count();
        let (got, want, of) = (self.values[place], want.values[place], self.values.len());
        Some(format!("place {place} of {:?}: got {got:?}, want {want:?} ({count} of {of} differ)", self.shape))
    }
}

pub fn bits(dtype: DType) -> u32 {
    8 * dtype.bytes() as u32
}

pub fn is_signed(dtype: DType) -> bool {
    matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64)
}

pub fn least(dtype: DType) -> i128 {
    if is_signed(dtype) { -(1 << (bits(dtype) - 1)) } else { 0 }
}

pub fn most(dtype: DType) -> i128 {
    least(dtype) + (1 << bits(dtype)) - 1
}

/// Two's complement.
pub fn wrap(dtype: DType, x: i128) -> i128 {
    (x - least(dtype)).rem_euclid(1 << bits(dtype)) + least(dtype)
}

pub fn cast(x: Value, to: DType) -> Value {
    let from_float = |x: f64| {
        if x.is_nan() { 0 } else { (x.trunc() as i128).clamp(least(to), most(to)) }
    };
    match (x, to) {
        (Bool(x), DType::Bool) => Bool(x),
        (Bool(x), _) => cast(Int(x.into()), to),
        (Int(x), DType::Bool) => Bool(x != 0),
        (F32(x), DType::Bool) => Bool(x != 0.0),
        (F64(x), DType::Bool) => Bool(x != 0.0),
        (Int(x), DType::F32) => F32(x as f32),
        (Int(x), DType::F64) => F64(x as f64),
        (Int(x), _) => Int(wrap(to, x)),
        (F32(x), DType::F32) => F32(x),
        (F32(x), DType::F64) => F64(x.into()),
        (F64(x), DType::F32) => F32(x as f32),
        (F64(x), DType::F64) => F64(x),
        (F32(x), _) => Int(from_float(x.into())),
        (F64(x), _) => Int(from_float(x)),
    }
}

macro_rules! float_functions {
    ($type:ident, $divmod:ident, $unary:ident, $binary:ident, $math:ident) => {
        /// NumPy's `divmod` for floats.
        fn $divmod(a: $type, b: $type) -> ($type, $type) {
            let mut m = a % b;
            if b == 0.0 {
                return (a / b, m);
            }
            let mut q = (a - m) / b;
            if m != 0.0 && (b < 0.0) != (m < 0.0) {
                q -= 1.0;
                m += b;
            }
            if m == 0.0 {
                m = (0.0 as $type).copysign(b);
            }
            if q == 0.0 {
                return ((0.0 as $type).copysign(a / b), m);
            }
            let floor = q.floor();
            (if q - floor > 0.5 { floor + 1.0 } else { floor }, m)
        }

        fn $unary(op: Unary, x: $type) -> $type {
            match op {
                Unary::Negate => -x,
                Unary::Absolute => x.abs(),
                Unary::Sign if x.is_nan() => x,
                Unary::Sign => (x > 0.0) as i8 as $type - (x < 0.0) as i8 as $type,
                Unary::Square => x * x,
                Unary::Recip => 1.0 / x,
                Unary::Floor => x.floor(),
                Unary::Ceil => x.ceil(),
                Unary::Round => x.round_ties_even(),
                Unary::Truncate => x.trunc(),
                Unary::Math(op) => $math(op, x),
                Unary::Powi(n) => {
                    // From the highest bit of n down.
                    let power = (0..n.unsigned_abs().ilog2_or_0()).rev().fold(x, |power, bit| {
                        let square = power * power;
                        if n.unsigned_abs() >> bit & 1 == 1 { square * x } else { square }
                    });
                    match n {
                        0 => 1.0,
                        1.. => power,
                        _ => 1.0 / power,
                    }
                }
                Unary::Not | Unary::IsNan | Unary::IsFinite => unreachable!("{op:?} of a float"),
            }
        }

        fn $binary(op: Binary, a: $type, b: $type) -> $type {
            match op {
                Binary::Add => a + b,
                Binary::Subtract => a - b,
                Binary::Multiply => a * b,
                Binary::Divide => a / b,
                Binary::FloorDivide => $divmod(a, b).0,
                Binary::Remainder => $divmod(a, b).1,
                Binary::Fmod => a % b,
                Binary::Minimum => {
                    if a <= b || a.is_nan() {
                        a
                    } else {
                        b
                    }
                }
                Binary::Maximum => {
                    if a >= b || a.is_nan() {
                        a
                    } else {
                        b
                    }
                }
                Binary::Fmin => {
                    if a <= b || b.is_nan() {
                        a
                    } else {
                        b
                    }
                }
                Binary::Fmax => {
                    if a >= b || b.is_nan() {
                        a
                    } else {
                        b
                    }
                }
                Binary::Power => a.powf(b),
                Binary::Atan2 => a.atan2(b),
                Binary::Hypot => a.hypot(b),
                _ => unreachable!("{op:?} of floats"),
            }
        }

        pub fn $math(op: Math, x: $type) -> $type {
            match op {
                Math::Sqrt => x.sqrt(),
                Math::Exp => x.exp(),
                Math::Exp2 => x.exp2(),
                Math::Expm1 => x.exp_m1(),
                Math::Log => x.ln(),
                Math::Log2 => x.log2(),
                Math::Log10 => x.log10(),
                Math::Log1p => x.ln_1p(),
                Math::Sin => x.sin(),
                Math::Cos => x.cos(),
                Math::Tan => x.tan(),
                Math::Asin => x.asin(),
                Math::Acos => x.acos(),
                Math::Atan => x.atan(),
                Math::Sinh => x.sinh(),
                Math::Cosh => x.cosh(),
                Math::Tanh => x.tanh(),
                Math::Cbrt => x.cbrt(),
            }
        }
    };
}

float_functions!(f32, divmod_f32, unary_f32, binary_f32, math_f32);
float_functions!(f64, divmod_f64, unary_f64, binary_f64, math_f64);

trait Log2Or0 {
    fn ilog2_or_0(self) -> u32;
}

impl Log2Or0 for u32 {
    fn ilog2_or_0(self) -> u32 {
        self.checked_ilog2().unwrap_or(0)
    }
}

/// `op` of a value of type `dtype`.
pub fn unary(op: Unary, x: Value, dtype: DType) -> Value {
    match (op, x) {
        (Unary::Not, Bool(x)) => Bool(!x),
        (Unary::Not, Int(x)) => Int(wrap(dtype, -1 - x)),
        (Unary::IsNan, F32(x)) => Bool(x.is_nan()),
        (Unary::IsNan, F64(x)) => Bool(x.is_nan()),
        (Unary::IsFinite, F32(x)) => Bool(x.is_finite()),
        (Unary::IsFinite, F64(x)) => Bool(x.is_finite()),
        (_, F32(x)) => F32(unary_f32(op, x)),
        (_, F64(x)) => F64(unary_f64(op, x)),
        (Unary::Math(_) | Unary::Recip, x) => unary(op, cast(x, DType::F64), DType::F64),
        (_, Int(x)) => Int(wrap(
            dtype,
            match op {
                Unary::Negate => -x,
                Unary::Absolute => x.abs(),
                Unary::Sign => x.signum(),
                Unary::Square => x.wrapping_mul(x),
                Unary::Powi(n) => power(x, n.into()),
                _ => x,
            },
        )),
        _ => unreachable!("{op:?} of {x:?}"),
    }
}

/// Modulo 2^128, which becomes any shorter modulus.
fn power(x: i128, n: i128) -> i128 {
    if n < 0 {
        return match x {
            1 => 1,
            -1 => {
                if n % 2 == 0 {
                    1
                } else {
                    -1
                }
            }
            _ => 0,
        };
    }
    let (mut power, mut square, mut n) = (1i128, x, n);
    while n > 0 {
        if n % 2 == 1 {
            power = power.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        n /= 2;
    }
    power
}

/// `op` of two values that have been brought to the type `dtype`.
pub fn binary(op: Binary, a: Value, b: Value, dtype: DType) -> Value {
    if op.compares() {
        return Bool(match (a, b) {
            (Bool(a), Bool(b)) => compare(op, a, b),
            (Int(a), Int(b)) => compare(op, a, b),
            (F32(a), F32(b)) => compare(op, a, b),
            (F64(a), F64(b)) => compare(op, a, b),
            _ => unreachable!("{a:?} {b:?}"),
        });
    }
    match (a, b) {
        (Bool(a), Bool(b)) => Bool(match op {
            Binary::And => a & b,
            Binary::Or => a | b,
            Binary::Xor => a ^ b,
            _ => unreachable!("{op:?} of bool"),
        }),
        (F32(a), F32(b)) => F32(binary_f32(op, a, b)),
        (F64(a), F64(b)) => F64(binary_f64(op, a, b)),
        (Int(a), Int(b)) => Int(wrap(dtype, integers(op, a, b, dtype))),
        _ => unreachable!("{a:?} {b:?}"),
    }
}

fn integers(op: Binary, a: i128, b: i128, dtype: DType) -> i128 {
    let floor = |a: i128, b: i128| if b == 0 { 0 } else { a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0) };
    let shifted = (0..i128::from(bits(dtype))).contains(&b);
    match op {
        Binary::Add => a + b,
        Binary::Subtract => a - b,
        Binary::Multiply => a.wrapping_mul(b),
        Binary::FloorDivide => floor(a, b),
        Binary::Remainder => {
            if b == 0 {
                0
            } else {
                a - floor(a, b) * b
            }
        }
        Binary::Fmod => {
            if b == 0 {
                0
            } else {
                a % b
            }
        }
        Binary::Minimum | Binary::Fmin => a.min(b),
        Binary::Maximum | Binary::Fmax => a.max(b),
        Binary::Power => power(a, b),
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::ShiftLeft => {
            if shifted {
                a << b
            } else {
                0
            }
        }
        Binary::ShiftRight => {
            if shifted {
                a >> b
            } else {
                0
            }
        }
        _ => unreachable!("{op:?} of integers"),
    }
}

fn compare<T: PartialOrd>(op: Binary, a: T, b: T) -> bool {
    match op {
        Binary::Equal => a == b,
        Binary::NotEqual => a != b,
        Binary::Less => a < b,
        Binary::LessEqual => a <= b,
        Binary::Greater => a > b,
        _ => a >= b,
    }
}

pub fn fma(a: Value, b: Value, c: Value) -> Value {
    match (a, b, c) {
        (F32(a), F32(b), F32(c)) => F32(a.mul_add(b, c)),
        (F64(a), F64(b), F64(c)) => F64(a.mul_add(b, c)),
        _ => unreachable!("fma of {a:?}"),
    }
}

pub fn select(condition: Value, a: Value, b: Value) -> Value {
    if condition.bool() { a } else { b }
}
