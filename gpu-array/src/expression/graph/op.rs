//! The operations of expressions.

/// Defines [`Op`] of its operations, each with the name that it has in C++ (in the namespace `gpu`) and in messages.
macro_rules! operations {
    ($($(#[$doc:meta])* $op:ident $name:literal,)*) => {
        /// An operation. Its operands have one common element type unless it says otherwise; so has its result.
        ///
        /// Both evaluators follow the definitions here, to the bit where an operation is exact: each rounds once, as IEEE 754 says, and none is
        /// contracted with its neighbours. Which NaN a float operation gives is not told.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub(crate) enum Op {
            $($(#[$doc])* $op,)*
        }

        impl Op {
            /// Its name in C++ (in the namespace `gpu`) and in messages.
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(Self::$op => $name,)*
                }
            }
        }
    };
}

operations! {
    // Operations without operands; the first argument is a number in a list.
    /// An element of an array.
    Leaf "leaf",
    /// A value that is the same at each place.
    Scalar "scalar",
    /// i64: a linear function of the place.
    Index "index",

    /// The operand.
    Copy "copy",

    // Operations with operands of other types than the result.
    /// To the result's type. Integers wrap; float to integer cuts and saturates, NaN gives 0; integer to float rounds to nearest even;
    /// to bool: whether it is not 0. To a complex type: with the imaginary part 0; from one to a real type: the cast of the real part.
    /// From f16 and bf16 to f32 alone; to these from f32, f64 and integers of 32 and 64 bits, to the nearest number, ties to even.
    Cast "cast",
    /// `[condition: bool, a, b]`: a where the condition holds, else b.
    Select "where",
    /// `[table, offset: i64, inside: bool]`: the element of an array at that offset (in elements, from its first), 0 where not inside.
    Gather "take",
    /// `[source, place: i64]`: the value of a source there.
    Source "source",

    // i64 and i64 to i64 or bool: an index and the (positive) length of its axis.
    /// The index brought into `0..length` by adding a multiple of the length; 0 for a length of 0.
    Wrap "wrap",
    /// The index limited to `0..length`; 0 for a length of 0.
    Clip "clip",
    /// bool: whether the index is in `0..length`.
    Inside "inside",

    // Between complex numbers and their parts, exact but for the angle.
    /// `[re, im]`: the complex number of two floats.
    Complex "complex",
    Real "real",
    Imag "imag",
    /// The complex number with the other sign of the imaginary part.
    Conj "conj",
    /// `atan2` of the imaginary and the real part.
    Arg "arg",

    // Of one operand, exact.
    /// Integers wrap.
    Negate "negate",
    /// Integers wrap: the least one stays. Of a complex number `hypot` of its parts.
    Absolute "absolute",
    /// -1, 0, 1; 0 for a zero of either sign, NaN for NaN.
    Sign "sign",
    /// Logical not of bool, bitwise not of integers.
    Not "invert",
    Floor "floor",
    Ceil "ceil",
    /// To the nearest integer, halves to the even one.
    Round "round",
    Truncate "truncate",
    Sqrt "sqrt",
    /// bool.
    IsNan "is_nan",
    /// bool.
    IsFinite "is_finite",
    /// The number scaled by a power of two to at least 1/2 and less than 1; 0, infinities and NaN stay.
    Mantissa "mantissa",
    /// i32: the exponent of that power; 0 for 0, infinities and NaN.
    Exponent "exponent",
    /// The number less its integer part, with the sign of the operand; a zero for infinities.
    Fraction "fraction",

    // Of one float operand, within an error bound; some also of a complex one, see `is_complex_function`.
    Exp "exp",
    Exp2 "exp2",
    Expm1 "expm1",
    Log "log",
    Log2 "log2",
    Log10 "log10",
    Log1p "log1p",
    Sin "sin",
    Cos "cos",
    Tan "tan",
    Asin "asin",
    Acos "acos",
    Atan "atan",
    Sinh "sinh",
    Cosh "cosh",
    Tanh "tanh",
    Cbrt "cbrt",
    Asinh "asinh",
    Acosh "acosh",
    Atanh "atanh",
    Erf "erf",
    Erfc "erfc",
    /// The logarithm of the absolute value of the gamma function.
    LogGamma "log_gamma",
    Gamma "gamma",
    /// The Bessel functions of the first kind (J) and of the second (Y), of orders 0 and 1.
    J0 "bessel_j0",
    J1 "bessel_j1",
    Y0 "bessel_y0",
    Y1 "bessel_y1",

    // Of two operands, exact.
    /// Integers wrap, as in the next two. Complex numbers: see [`Numeric`](crate::Numeric), also in the next three.
    Add "add",
    Subtract "subtract",
    Multiply "multiply",
    /// Floats and complex numbers only.
    Divide "divide",
    /// NumPy's `//`: the floor of the quotient. Integers: 0 for a divisor of 0, wraps for the least one by -1. Floats: see
    /// [`host`](mod@crate::expression::host).
    FloorDivide "floor_divide",
    /// NumPy's `%`: has the divisor's sign. Integers: 0 for a divisor of 0.
    Remainder "remainder",
    /// C's `fmod`: has the dividend's sign; Rust's `%`. Integers: 0 for a divisor of 0.
    Fmod "fmod",
    /// a where `a <= b` or a is NaN, else b.
    Minimum "minimum",
    /// a where `a >= b` or a is NaN, else b.
    Maximum "maximum",
    /// a where `a <= b` or b is NaN, else b.
    Fmin "fmin",
    /// a where `a >= b` or b is NaN, else b.
    Fmax "fmax",
    And "bit_and",
    Or "bit_or",
    Xor "bit_xor",
    /// 0 where the second is not in `0..bits`, as in the next.
    ShiftLeft "shift_left",
    /// Keeps the sign.
    ShiftRight "shift_right",
    /// Integers to an integer power, wrapping; for a negative power 1 for a base of 1, 1 or -1 for -1, else 0. Floats: within a bound.
    Power "power",
    // bool.
    Equal "equal",
    NotEqual "not_equal",
    Less "less",
    LessEqual "less_equal",
    Greater "greater",
    GreaterEqual "greater_equal",

    // Of two floats, exact.
    /// The first with the sign of the second, also of zeros and NaN.
    CopySign "copy_sign",
    /// The next float from the first towards the second; the second where they are equal.
    NextAfter "next_after",
    /// The first times 2 to the power of the second, an integer; rounded once.
    Ldexp "load_exponent",

    // Of two floats, within a bound.
    Atan2 "atan2",
    Hypot "hypot",
    /// The Bessel functions of the first, of the order that is the second, an integer.
    Jn "bessel_jn",
    Yn "bessel_yn",

    // Of three floats, exact.
    /// a * b + c, rounded once.
    Fma "fma",
}

impl Op {
    /// Whether evaluators have it for f16 and bf16 themselves. All other operations on these are computed in f32.
    pub(crate) const fn is_for_halves(self) -> bool {
        matches!(self, Self::Copy | Self::Select | Self::NextAfter)
    }

    /// Whether its C++ function stands in `special_operations.cuh`, which few programs include.
    pub(crate) const fn is_special(self) -> bool {
        use Op::*;
        let functions = matches!(self, Asinh | Acosh | Atanh | Erf | Erfc | LogGamma | Gamma);
        let bessel = matches!(self, J0 | J1 | Y0 | Y1 | Jn | Yn);
        functions || bessel || matches!(self, Mantissa | Exponent | Fraction | Ldexp | CopySign | NextAfter)
    }

    /// Whether its C++ function stands in `table_operations.cuh`.
    pub(crate) const fn is_of_tables(self) -> bool {
        matches!(self, Self::Gather | Self::Wrap | Self::Clip | Self::Inside)
    }

    /// Whether its C++ function for complex numbers stands in `complex_functions.cuh`.
    pub(crate) const fn is_complex_function(self) -> bool {
        use Op::*;
        matches!(self, Sqrt | Exp | Log | Log10 | Power | Sin | Cos | Tan | Asin | Acos | Atan)
            || matches!(self, Sinh | Cosh | Tanh | Asinh | Acosh | Atanh)
    }

    /// Number of arguments that are values of other steps, and the position of the first of them.
    pub(crate) const fn operands(self) -> std::ops::Range<usize> {
        match self {
            Self::Leaf | Self::Scalar | Self::Index => 0..0,
            Self::Gather => 1..3,
            Self::Source => 1..2,
            Self::Select | Self::Fma => 0..3,
            Self::Real | Self::Imag | Self::Conj | Self::Arg => 0..1,
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
            Self::Asinh | Self::Acosh | Self::Atanh | Self::Erf | Self::Erfc | Self::LogGamma | Self::Gamma => 0..1,
            Self::J0 | Self::J1 | Self::Y0 | Self::Y1 | Self::Mantissa | Self::Exponent | Self::Fraction => 0..1,
            _ => 0..2,
        }
    }
}
