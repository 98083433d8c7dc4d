//! The functions, by the names of their methods, and arguments for them.

use gpu_array::{
    DType, Float,
    expression::{Backend, Expr},
};
use ndarray::IxDyn;
use testkit::Rng;

type E<'a, T, P> = Expr<'a, T, IxDyn, P>;

macro_rules! named {
    ($name:expr, [$x:ident $($of_one:ident)*], [$y:ident $($of_two:ident)*], $($pattern:pat => $value:expr,)*) => {
        match $name {
            $(stringify!($of_one) => $x.$of_one().cast(),)*
            $(stringify!($of_two) => $x.$of_two($y).cast(),)*
            $($pattern => $value,)*
        }
    };
}

/// The function that is called `name`, of x, or of x and y, or of x and an order.
pub fn function<'a, T: Float, P: Backend>(
    name: &str,
    n: i32,
    [x, y]: [&E<'a, T, P>; 2],
) -> Result<E<'a, T, P>, String> {
    let value = named! { name,
        [x exp exp2 expm1 log log2 log10 log1p sqrt cbrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
            erf erfc log_gamma gamma j0 j1 y0 y1],
        [y pow atan2 hypot copysign nextafter],
        "jn" => x.jn(n).cast(),
        "yn" => x.yn(n).cast(),
        "ldexp" => x.ldexp(y.cast::<i32>()).cast(),
        "mantissa" => x.frexp().0.cast(),
        "exponent" => x.frexp().1.cast(),
        "fraction" => x.modf().0.cast(),
        "integer" => x.modf().1.cast(),
        _ => return Err(format!("no function is called {name}")),
    };
    Ok(value)
}

/// A distribution of arguments.
#[derive(Clone, Copy, Debug)]
pub enum Piece {
    /// All bits are equally likely.
    Any,
    /// The exponent is uniform in a range, of the type's; of either sign.
    Exponents(i32, i32),
    /// So, but positive.
    Positive(i32, i32),
    /// Uniform.
    Range(f64, f64),
    /// A multiple of the first, from the second to the third, or near one: the exponent of the relative distance is uniform.
    Multiples(f64, i32, i32),
}

/// 2^exponent, for exponents of normal numbers.
fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

impl Piece {
    pub fn draw(self, rng: &mut Rng, dtype: DType) -> f64 {
        let f32 = dtype == DType::F32;
        let bits = rng.next_u64();
        match self {
            Self::Any if f32 => f32::from_bits(bits as u32).into(),
            Self::Any => f64::from_bits(bits),
            Self::Exponents(low, high) if bits & 1 == 1 => -Self::Positive(low, high).draw(rng, dtype),
            Self::Exponents(low, high) => Self::Positive(low, high).draw(rng, dtype),
            Self::Positive(low, high) => {
                let (low, high) = if f32 { (low.max(-149), high.min(127)) } else { (low, high) };
                let exponent = low + rng.below((high - low) as usize) as i32;
                power(exponent) * f64::from_bits(bits >> 12 | 1023 << 52)
            }
            Self::Range(low, high) => low + (high - low) * (bits >> 11) as f64 * power(-53),
            Self::Multiples(step, low, high) => {
                let center = step * f64::from(low + rng.below((high - low + 1) as usize) as i32);
                let distance = f64::from_bits(bits >> 12 | 1023 << 52) * power(-2 - (bits & 63) as i32);
                center + if bits & 64 == 0 { distance } else { -distance } * center.abs()
            }
        }
    }
}
