//! Programs as expressions on either place.

use gpu_array::{
    Bits, DType, Element, Float, Integer, Number, Promote,
    expression::{Backend, Expr, Rhs, where_},
};
use ndarray::IxDyn;

use super::{
    Any, Kind, Program,
    any::Known,
    program::{Arg, Binary, Math, Step, Unary},
};

type E<'a, T, P> = Expr<'a, T, IxDyn, P>;

/// The values of all steps.
pub fn build_all<'a, P: Backend>(program: &Program, leaves: &[Any<'a, P>]) -> Vec<Any<'a, P>> {
    let mut steps: Vec<Any<'a, P>> = Vec::new();
    for step in &program.steps {
        let value = build_step(step, &steps, leaves);
        assert_eq!(value.dtype(), step.dtype, "{:?}", step.kind);
        steps.push(value);
    }
    steps
}

/// The value of the last step.
pub fn build<'a, P: Backend>(program: &Program, leaves: &[Any<'a, P>]) -> Any<'a, P> {
    build_all(program, leaves).pop().expect("a step")
}

fn build_step<'a, P: Backend>(step: &Step, steps: &[Any<'a, P>], leaves: &[Any<'a, P>]) -> Any<'a, P> {
    match step.kind {
        Kind::Leaf(leaf) => leaves[leaf].clone(),
        Kind::Unary(op, x) => unary(op, &steps[x]),
        Kind::Cast(x) => cast(&steps[x], step.dtype),
        Kind::Binary(op, Arg::Step(a), Arg::Step(b)) if steps[a].dtype() != steps[b].dtype() => {
            mixed(op, &steps[a], &steps[b])
        }
        Kind::Binary(op, a, b) => binary(op, a, b, steps),
        Kind::Where(c, a, b) => {
            let Any::Bool(condition) = &steps[c] else { unreachable!("a condition of {}", steps[c].dtype()) };
            select(condition, a, b, step.dtype, steps)
        }
        Kind::Clamp(x, low, high) => clamp(&steps[x], low, high, steps),
        Kind::Fma(x, b, c) => match &steps[x] {
            Any::F32(x) => fma(x, b, c, steps),
            Any::F64(x) => fma(x, b, c, steps),
            _ => unreachable!("fma of {}", step.dtype),
        },
    }
}

/// The methods that every element type here has.
pub trait Typed: Known {
    fn get<'x, 'a, P: Backend>(any: &'x Any<'a, P>) -> &'x E<'a, Self, P>;
}

fn step_of<'x, 'a, T: Typed, P: Backend>(arg: Arg, steps: &'x [Any<'a, P>]) -> Result<&'x E<'a, T, P>, T> {
    match arg {
        Arg::Step(step) => Ok(T::get(&steps[step])),
        Arg::Scalar(value) => Err(T::of(value)),
    }
}

/// `$of` each number type, or of each integer type.
macro_rules! each {
    (numbers $any:expr, $x:ident => $then:expr, bool => $bool:expr) => {
        match $any {
            Any::Bool($x) => $bool,
            Any::F32($x) => $then,
            Any::F64($x) => $then,
            Any::I8($x) => $then,
            Any::I16($x) => $then,
            Any::I32($x) => $then,
            Any::I64($x) => $then,
            Any::U8($x) => $then,
            Any::U16($x) => $then,
            Any::U32($x) => $then,
            Any::U64($x) => $then,
        }
    };
}

macro_rules! typed {
    ($($name:ident $type:ident)*) => {
        $(impl Typed for $type {
            fn get<'x, 'a, P: Backend>(any: &'x Any<'a, P>) -> &'x E<'a, Self, P> {
                match any {
                    Any::$name(x) => x,
                    _ => unreachable!("{} as {}", any.dtype(), Self::DTYPE),
                }
            }
        })*

        fn cast<'a, P: Backend>(x: &Any<'a, P>, to: DType) -> Any<'a, P> {
            fn of<'a, T: Element, P: Backend>(x: &E<'a, T, P>, to: DType) -> Any<'a, P> {
                match to {
                    $(DType::$name => x.cast::<$type>().into(),)*
                    _ => unreachable!("{to}"),
                }
            }
            each!(numbers x, x => of(x, to), bool => of(x, to))
        }

        fn select<'a, P: Backend>(c: &E<'a, bool, P>, a: Arg, b: Arg, dtype: DType, steps: &[Any<'a, P>]) -> Any<'a, P> {
            match dtype {
                $(DType::$name => match (step_of::<$type, P>(a, steps), step_of::<$type, P>(b, steps)) {
                    (Ok(a), Ok(b)) => where_(c, a, b).into(),
                    (Ok(a), Err(b)) => where_(c, a, b).into(),
                    (Err(a), Ok(b)) => where_(c, a, b).into(),
                    (Err(a), Err(b)) => where_(c, a, b).into(),
                })*
                _ => unreachable!("{dtype}"),
            }
        }
    };
}

typed! { Bool bool I8 i8 I16 i16 I32 i32 I64 i64 U8 u8 U16 u16 U32 u32 U64 u64 F32 f32 F64 f64 }

fn unary<'a, P: Backend>(op: Unary, x: &Any<'a, P>) -> Any<'a, P> {
    match (op, x) {
        (Unary::Not, Any::Bool(x)) => (!x).into(),
        (Unary::Not, Any::I8(x)) => (!x).into(),
        (Unary::Not, Any::I16(x)) => (!x).into(),
        (Unary::Not, Any::I32(x)) => (!x).into(),
        (Unary::Not, Any::I64(x)) => (!x).into(),
        (Unary::Not, Any::U8(x)) => (!x).into(),
        (Unary::Not, Any::U16(x)) => (!x).into(),
        (Unary::Not, Any::U32(x)) => (!x).into(),
        (Unary::Not, Any::U64(x)) => (!x).into(),
        (Unary::IsNan, Any::F32(x)) => x.is_nan().into(),
        (Unary::IsNan, Any::F64(x)) => x.is_nan().into(),
        (Unary::IsFinite, Any::F32(x)) => x.is_finite().into(),
        (Unary::IsFinite, Any::F64(x)) => x.is_finite().into(),
        _ => each!(numbers x, x => number(op, x), bool => unreachable!("{op:?} of {x:?}")),
    }
}

fn number<'a, T: Number, P: Backend>(op: Unary, x: &E<'a, T, P>) -> Any<'a, P>
where
    Any<'a, P>: From<E<'a, T, P>> + From<E<'a, T::Float, P>>,
{
    match op {
        Unary::Negate => (-x).into(),
        Unary::Absolute => x.abs().into(),
        Unary::Sign => x.sign().into(),
        Unary::Square => x.square().into(),
        Unary::Recip => x.recip().into(),
        Unary::Floor => x.floor().into(),
        Unary::Ceil => x.ceil().into(),
        Unary::Round => x.round().into(),
        Unary::Truncate => x.trunc().into(),
        Unary::Powi(n) => x.powi(n).into(),
        Unary::Math(op) => math(op, x).into(),
        Unary::Not | Unary::IsNan | Unary::IsFinite => unreachable!("{op:?}"),
    }
}

pub fn math<'a, T: Number, P: Backend>(op: Math, x: &E<'a, T, P>) -> E<'a, T::Float, P> {
    match op {
        Math::Sqrt => x.sqrt(),
        Math::Exp => x.exp(),
        Math::Exp2 => x.exp2(),
        Math::Expm1 => x.expm1(),
        Math::Log => x.log(),
        Math::Log2 => x.log2(),
        Math::Log10 => x.log10(),
        Math::Log1p => x.log1p(),
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

/// Of one type on both sides.
fn binary<'a, P: Backend>(op: Binary, a: Arg, b: Arg, steps: &[Any<'a, P>]) -> Any<'a, P> {
    let some = match (a, b) {
        (Arg::Step(step), _) | (_, Arg::Step(step)) => &steps[step],
        _ => unreachable!("two scalars"),
    };
    macro_rules! right {
        ($type:ident, $of:ident) => {
            match (step_of::<$type, P>(a, steps), step_of::<$type, P>(b, steps)) {
                (Ok(a), Ok(b)) => $of(op, a, b),
                (Ok(a), Err(b)) => $of(op, a, b),
                (Err(a), Ok(b)) => left!($of, a, b),
                _ => unreachable!("two scalars"),
            }
        };
    }
    macro_rules! left {
        (bits, $a:ident, $b:ident) => {
            match op {
                Binary::And => ($a & $b).into(),
                Binary::Or => ($a | $b).into(),
                Binary::Xor => ($a ^ $b).into(),
                _ => unreachable!("a scalar {op:?}"),
            }
        };
        (integers, $a:ident, $b:ident) => {
            match op {
                Binary::ShiftLeft => ($a << $b).into(),
                Binary::ShiftRight => ($a >> $b).into(),
                Binary::And | Binary::Or | Binary::Xor => left!(bits, $a, $b),
                _ => left!(numbers, $a, $b),
            }
        };
        (floats, $a:ident, $b:ident) => {
            left!(numbers, $a, $b)
        };
        (numbers, $a:ident, $b:ident) => {
            match op {
                Binary::Add => ($a + $b).into(),
                Binary::Subtract => ($a - $b).into(),
                Binary::Multiply => ($a * $b).into(),
                Binary::Divide => ($a / $b).into(),
                Binary::Remainder => ($a % $b).into(),
                _ => unreachable!("a scalar {op:?}"),
            }
        };
    }
    match some {
        Any::Bool(_) => right!(bool, bits),
        Any::I8(_) => right!(i8, integers),
        Any::I16(_) => right!(i16, integers),
        Any::I32(_) => right!(i32, integers),
        Any::I64(_) => right!(i64, integers),
        Any::U8(_) => right!(u8, integers),
        Any::U16(_) => right!(u16, integers),
        Any::U32(_) => right!(u32, integers),
        Any::U64(_) => right!(u64, integers),
        Any::F32(_) => right!(f32, floats),
        Any::F64(_) => right!(f64, floats),
    }
}

fn bits<'a, T: Bits, P: Backend, R>(op: Binary, a: &E<'a, T, P>, b: R) -> Any<'a, P>
where
    R: Rhs<'a, T, IxDyn, P, Promoted = T, Dim = IxDyn>,
    Any<'a, P>: From<E<'a, T, P>>,
{
    match op {
        Binary::And => (a & b).into(),
        Binary::Or => (a | b).into(),
        Binary::Xor => (a ^ b).into(),
        Binary::Equal => a.eq(b).into(),
        Binary::NotEqual => a.ne(b).into(),
        _ => unreachable!("{op:?} of {}", T::DTYPE),
    }
}

fn integers<'a, T: Integer, P: Backend, R>(op: Binary, a: &E<'a, T, P>, b: R) -> Any<'a, P>
where
    R: Rhs<'a, T, IxDyn, P, Promoted = T, Dim = IxDyn>,
    Any<'a, P>: From<E<'a, T, P>> + From<E<'a, T::Float, P>>,
{
    match op {
        Binary::ShiftLeft => (a << b).into(),
        Binary::ShiftRight => (a >> b).into(),
        Binary::And | Binary::Or | Binary::Xor => bits(op, a, b),
        _ => numbers(op, a, b),
    }
}

fn floats<'a, T: Float, P: Backend, R>(op: Binary, a: &E<'a, T, P>, b: R) -> Any<'a, P>
where
    R: Rhs<'a, T, IxDyn, P, Promoted = T, Dim = IxDyn>,
    Any<'a, P>: From<E<'a, T, P>>,
{
    match op {
        Binary::Atan2 => a.atan2(b).into(),
        Binary::Hypot => a.hypot(b).into(),
        _ => numbers::<T, P, R>(op, a, b),
    }
}

fn numbers<'a, T: Number, P: Backend, R>(op: Binary, a: &E<'a, T, P>, b: R) -> Any<'a, P>
where
    R: Rhs<'a, T, IxDyn, P, Promoted = T, Dim = IxDyn>,
    Any<'a, P>: From<E<'a, T, P>> + From<E<'a, T::Float, P>>,
{
    match op {
        Binary::Remainder => (a % b).into(),
        Binary::Fmod => a.fmod(b).into(),
        Binary::Minimum => a.minimum(b).into(),
        Binary::Fmin => a.fmin(b).into(),
        Binary::Fmax => a.fmax(b).into(),
        Binary::Power => a.pow(b).into(),
        Binary::Equal => a.eq(b).into(),
        Binary::NotEqual => a.ne(b).into(),
        Binary::LessEqual => a.le(b).into(),
        Binary::Greater => a.gt(b).into(),
        Binary::GreaterEqual => a.ge(b).into(),
        _ => of_two_types(op, a, b),
    }
}

/// The operations that are also tried between different types.
fn of_two_types<'a, T, U: Element, C: Number, P: Backend, R>(op: Binary, a: &E<'a, T, P>, b: R) -> Any<'a, P>
where
    T: Promote<U, Output = C>,
    R: Rhs<'a, T, IxDyn, P, Promoted = U, Dim = IxDyn>,
    Any<'a, P>: From<E<'a, C, P>> + From<E<'a, C::Float, P>>,
{
    match op {
        Binary::Add => (a + b).into(),
        Binary::Subtract => (a - b).into(),
        Binary::Multiply => (a * b).into(),
        Binary::Divide => (a / b).into(),
        Binary::FloorDivide => a.floor_divide(b).into(),
        Binary::Maximum => a.maximum(b).into(),
        Binary::Less => a.lt(b).into(),
        _ => unreachable!("{op:?} of {} and {}", T::DTYPE, U::DTYPE),
    }
}

/// One row per left type, with all right types but itself.
macro_rules! pairs {
    ($($left:ident => $($right:ident)*;)*) => {
        fn mixed<'a, P: Backend>(op: Binary, a: &Any<'a, P>, b: &Any<'a, P>) -> Any<'a, P> {
            match a {
                $(Any::$left(a) => match b {
                    $(Any::$right(b) => of_two_types(op, a, b),)*
                    Any::$left(_) => unreachable!("of one type"),
                },)*
            }
        }
    };
}

pairs! {
    Bool => I8 I16 I32 I64 U8 U16 U32 U64 F32 F64;
    I8 => Bool I16 I32 I64 U8 U16 U32 U64 F32 F64;
    I16 => Bool I8 I32 I64 U8 U16 U32 U64 F32 F64;
    I32 => Bool I8 I16 I64 U8 U16 U32 U64 F32 F64;
    I64 => Bool I8 I16 I32 U8 U16 U32 U64 F32 F64;
    U8 => Bool I8 I16 I32 I64 U16 U32 U64 F32 F64;
    U16 => Bool I8 I16 I32 I64 U8 U32 U64 F32 F64;
    U32 => Bool I8 I16 I32 I64 U8 U16 U64 F32 F64;
    U64 => Bool I8 I16 I32 I64 U8 U16 U32 F32 F64;
    F32 => Bool I8 I16 I32 I64 U8 U16 U32 U64 F64;
    F64 => Bool I8 I16 I32 I64 U8 U16 U32 U64 F32;
}

fn clamp<'a, P: Backend>(x: &Any<'a, P>, low: Arg, high: Arg, steps: &[Any<'a, P>]) -> Any<'a, P> {
    fn of<'a, T: Number + Typed, P: Backend>(x: &E<'a, T, P>, low: Arg, high: Arg, steps: &[Any<'a, P>]) -> Any<'a, P>
    where
        Any<'a, P>: From<E<'a, T, P>>,
    {
        match (step_of::<T, P>(low, steps), step_of::<T, P>(high, steps)) {
            (Ok(low), Ok(high)) => x.clamp(low, high),
            (Ok(low), Err(high)) => x.clamp(low, high),
            (Err(low), Ok(high)) => x.clamp(low, high),
            (Err(low), Err(high)) => x.clamp(low, high),
        }
        .into()
    }
    each!(numbers x, x => of(x, low, high, steps), bool => unreachable!("clamp of {x:?}"))
}

fn fma<'a, T: Float + Typed, P: Backend>(x: &E<'a, T, P>, b: Arg, c: Arg, steps: &[Any<'a, P>]) -> Any<'a, P>
where
    Any<'a, P>: From<E<'a, T, P>>,
{
    match (step_of::<T, P>(b, steps), step_of::<T, P>(c, steps)) {
        (Ok(b), Ok(c)) => x.fma(b, c),
        (Ok(b), Err(c)) => x.fma(b, c),
        (Err(b), Ok(c)) => x.fma(b, c),
        (Err(b), Err(c)) => x.fma(b, c),
    }
    .into()
}
