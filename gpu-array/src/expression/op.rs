//! The operations of expressions.

/// An operation. Its operands have one common element type unless it says otherwise; so has its result.
///
/// Both evaluators follow the definitions here, to the bit where an operation is exact: each rounds once, as IEEE 754 says, and none is
/// contracted with its neighbours. Which NaN a float operation gives is not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Op {
    // Operations without operands; the first argument is a number in a list.
    /// An element of an array.
    Leaf,
    /// A value that is the same at each place.
    Scalar,
    /// i64: a linear function of the place.
    Index,

    /// The operand.
    Copy,

    // Operations with operands of other types than the result.
    /// To the result's type. Integers wrap; float to integer cuts and saturates, NaN gives 0; integer to float rounds to nearest even;
    /// to bool: whether it is not 0.
    Cast,
    /// `[condition: bool, a, b]`: a where the condition holds, else b.
    Select,
    /// `[table, offset: i64, inside: bool]`: the element of an array at that offset (in elements, from its first), 0 where not inside.
    Gather,
    /// `[source, place: i64]`: the value of a source there.
    Source,

    // i64 and i64 to i64 or bool: an index and the (positive) length of its axis.
    /// The index brought into `0..length` by adding a multiple of the length; 0 for a length of 0.
    Wrap,
    /// The index limited to `0..length`; 0 for a length of 0.
    Clip,
    /// bool: whether the index is in `0..length`.
    Inside,

    // Of one operand, exact.
    /// Integers wrap.
    Negate,
    /// Integers wrap: the least one stays.
    Absolute,
    /// -1, 0, 1; 0 for a zero of either sign, NaN for NaN.
    Sign,
    /// Logical not of bool, bitwise not of integers.
    Not,
    Floor,
    Ceil,
    /// To the nearest integer, halves to the even one.
    Round,
    Truncate,
    Sqrt,
    /// bool.
    IsNan,
    /// bool.
    IsFinite,

    // Of one float operand, within an error bound.
    Exp,
    Exp2,
    Expm1,
    Log,
    Log2,
    Log10,
    Log1p,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Cbrt,

    // Of two operands, exact.
    /// Integers wrap, as in the next two.
    Add,
    Subtract,
    Multiply,
    /// Floats only.
    Divide,
    /// NumPy's `//`: the floor of the quotient. Integers: 0 for a divisor of 0, wraps for the least one by -1. Floats: see [`super::host`](mod@super::host).
    FloorDivide,
    /// NumPy's `%`: has the divisor's sign. Integers: 0 for a divisor of 0.
    Remainder,
    /// C's `fmod`: has the dividend's sign; Rust's `%`. Integers: 0 for a divisor of 0.
    Fmod,
    /// a where `a <= b` or a is NaN, else b.
    Minimum,
    /// a where `a >= b` or a is NaN, else b.
    Maximum,
    /// a where `a <= b` or b is NaN, else b.
    Fmin,
    /// a where `a >= b` or b is NaN, else b.
    Fmax,
    And,
    Or,
    Xor,
    /// 0 where the second is not in `0..bits`, as in the next.
    ShiftLeft,
    /// Keeps the sign.
    ShiftRight,
    /// Integers to an integer power, wrapping; for a negative power 1 for a base of 1, 1 or -1 for -1, else 0. Floats: within a bound.
    Power,
    // bool.
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,

    // Of two floats, within a bound.
    Atan2,
    Hypot,

    // Of three floats, exact.
    /// a * b + c, rounded once.
    Fma,
}

impl Op {
    /// How it is called in C++ (in the namespace `gpu`) and in messages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Leaf => "leaf",
            Self::Scalar => "scalar",
            Self::Index => "index",
            Self::Copy => "copy",
            Self::Cast => "cast",
            Self::Select => "where",
            Self::Gather => "take",
            Self::Source => "source",
            Self::Wrap => "wrap",
            Self::Clip => "clip",
            Self::Inside => "inside",
            Self::Negate => "negate",
            Self::Absolute => "absolute",
            Self::Sign => "sign",
            Self::Not => "invert",
            Self::Floor => "floor",
            Self::Ceil => "ceil",
            Self::Round => "round",
            Self::Truncate => "truncate",
            Self::Sqrt => "sqrt",
            Self::IsNan => "is_nan",
            Self::IsFinite => "is_finite",
            Self::Exp => "exp",
            Self::Exp2 => "exp2",
            Self::Expm1 => "expm1",
            Self::Log => "log",
            Self::Log2 => "log2",
            Self::Log10 => "log10",
            Self::Log1p => "log1p",
            Self::Sin => "sin",
            Self::Cos => "cos",
            Self::Tan => "tan",
            Self::Asin => "asin",
            Self::Acos => "acos",
            Self::Atan => "atan",
            Self::Sinh => "sinh",
            Self::Cosh => "cosh",
            Self::Tanh => "tanh",
            Self::Cbrt => "cbrt",
            Self::Add => "add",
            Self::Subtract => "subtract",
            Self::Multiply => "multiply",
            Self::Divide => "divide",
            Self::FloorDivide => "floor_divide",
            Self::Remainder => "remainder",
            Self::Fmod => "fmod",
            Self::Minimum => "minimum",
            Self::Maximum => "maximum",
            Self::Fmin => "fmin",
            Self::Fmax => "fmax",
            Self::And => "bit_and",
            Self::Or => "bit_or",
            Self::Xor => "bit_xor",
            Self::ShiftLeft => "shift_left",
            Self::ShiftRight => "shift_right",
            Self::Power => "power",
            Self::Equal => "equal",
            Self::NotEqual => "not_equal",
            Self::Less => "less",
            Self::LessEqual => "less_equal",
            Self::Greater => "greater",
            Self::GreaterEqual => "greater_equal",
            Self::Atan2 => "atan2",
            Self::Hypot => "hypot",
            Self::Fma => "fma",
        }
    }

    /// Number of arguments that are values of other steps, and the position of the first of them.
    pub(crate) const fn operands(self) -> std::ops::Range<usize> {
        match self {
            Self::Leaf | Self::Scalar | Self::Index => 0..0,
            Self::Gather => 1..3,
            Self::Source => 1..2,
            Self::Select | Self::Fma => 0..3,
            Self::Copy
            | Self::Cast
            | Self::Negate
            | Self::Absolute
            | Self::Sign
            | Self::Not
            | Self::Floor
            | Self::Ceil => 0..1,
            Self::Round | Self::Truncate | Self::Sqrt | Self::IsNan | Self::IsFinite => 0..1,
            Self::Exp | Self::Exp2 | Self::Expm1 | Self::Log | Self::Log2 | Self::Log10 | Self::Log1p => 0..1,
            Self::Sin | Self::Cos | Self::Tan | Self::Asin | Self::Acos | Self::Atan => 0..1,
            Self::Sinh | Self::Cosh | Self::Tanh | Self::Cbrt => 0..1,
            _ => 0..2,
        }
    }
}
