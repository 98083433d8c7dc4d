//! The functions of complex numbers: the formulas of `complex_functions.cuh`, which names their sources.

use num_complex::Complex;
use num_traits::Float;

/// Numbers of a type of parts at which the formulas change.
struct Limits<T> {
    /// Twice a sum of two such parts does not overflow.
    huge: T,
    /// Parts below are scaled before they are squared, by two to the power of `scale`.
    tiny: T,
    scale: i32,
    /// The square of 1 is lost beside that of such a part.
    far: T,
    /// The exponential overflows soon after.
    large_exponent: T,
    /// The hyperbolic tangent is 1 beyond.
    flat: T,
    /// The square of such a part is no normal number.
    square_vanishes: T,
}

/// A number of both types of parts.
pub(super) fn number<T: Float>(x: f64) -> T {
    // Both types have a conversion.
    T::from(x).unwrap_or_else(T::nan)
}

fn power_of_two<T: Float>(exponent: i32) -> T {
    number(2f64.powi(exponent))
}

fn limits<T: Float>() -> Limits<T> {
    if size_of::<T>() == 4 {
        Limits {
            huge: power_of_two(125),
            tiny: power_of_two(-100),
            scale: 60,
            far: power_of_two(26),
            large_exponent: number(88.0),
            flat: number(12.0),
            square_vanishes: power_of_two(-62),
        }
    } else {
        Limits {
            huge: power_of_two(1021),
            tiny: power_of_two(-900),
            scale: 500,
            far: power_of_two(54),
            large_exponent: number(709.0),
            flat: number(22.0),
            square_vanishes: power_of_two(-510),
        }
    }
}

fn half<T: Float>() -> T {
    number(0.5)
}

fn log_2<T: Float>() -> T {
    number(std::f64::consts::LN_2)
}

fn times_i<T: Float>(z: Complex<T>) -> Complex<T> {
    Complex { re: -z.im, im: z.re }
}

fn over_i<T: Float>(z: Complex<T>) -> Complex<T> {
    Complex { re: z.im, im: -z.re }
}

/// 0 with the sign of x; that of a NaN does not count, here and below, as a GPU may change it.
pub(super) fn zero_of_sign<T: Float>(x: T) -> T {
    if x.is_nan() { T::zero() } else { T::zero().copysign(x) }
}

fn is_nan<T: Float>(z: Complex<T>) -> bool {
    z.re.is_nan() || z.im.is_nan()
}

/// `factor * exp(x)` times cosine and sine of y, where exp(x) alone may overflow.
fn exp_scaled<T: Float>(x: T, y: T, factor: T) -> Complex<T> {
    // In two factors, of which the product with cosine or sine comes between.
    let root = (x * half()).exp();
    Complex { re: factor * root * y.cos() * root, im: factor * root * y.sin() * root }
}

/// log |z|.
fn log_abs<T: Float>(z: Complex<T>) -> T {
    let limits = limits::<T>();
    let (a, b) = (z.re.abs(), z.im.abs());
    let (x, y) = if a < b { (b, a) } else { (a, b) };
    if a.is_infinite() || b.is_infinite() {
        return T::infinity();
    }
    if x > limits.huge {
        return (x * half()).hypot(y * half()).ln() + log_2();
    }
    if x < limits.tiny {
        let scale = power_of_two(limits.scale);
        return (x * scale).hypot(y * scale).ln() - number::<T>(f64::from(limits.scale)) * log_2();
    }
    let h = x.hypot(y);
    if h > number(0.7) && h < number(1.8) { ((x - T::one()) * (x + T::one()) + y * y).ln_1p() * half() } else { h.ln() }
}

/// The arc sine of x + iy for x, y >= 0 that are finite and not far, and pi/2 less its real part.
struct ArcSine<T> {
    re: T,
    complement: T,
    im: T,
}

impl<T: Float> ArcSine<T> {
    fn new(x: T, y: T) -> Self {
        let one = T::one();
        let (r, s) = ((x + one).hypot(y), (x - one).hypot(y));
        let a = (r + s) * half();
        let b = x / a;
        let y_over_r = y / (r + (x + one));
        // 1 less x, or x less 1, and the part of s beyond, without cancellation.
        let to_one = if x < one { y * (y / (s + (one - x))) } else { s + (x - one) };
        let near = b <= number(0.6417);
        // Beyond 1 the square of y, a factor of both terms, stands before the root, where it cannot vanish.
        let root = if x <= one {
            (half::<T>() * (a + x) * (y * y_over_r + s + (one - x))).sqrt()
        } else {
            y * (half::<T>() * (a + x) * (one / (r + (x + one)) + one / (s + (x - one)))).sqrt()
        };
        let im = if x < one && y < limits::<T>().square_vanishes {
            y / ((one - x) * (one + x)).sqrt()
        } else if a <= number(1.5) {
            // a - 1.
            let above = half::<T>() * (y * y_over_r + to_one);
            (above + (above * (a + one)).sqrt()).ln_1p()
        } else {
            (a + (a * a - one).sqrt()).ln()
        };
        Self {
            re: if near { b.asin() } else { (x / root).atan() },
            complement: if near { b.acos() } else { (root / x).atan() },
            im,
        }
    }
}

fn is_far<T: Float>(z: Complex<T>) -> bool {
    let far = limits::<T>().far;
    !(z.re.abs() < far && z.im.abs() < far)
}

pub(in crate::expression::host) fn exp<T: Float>(z: Complex<T>) -> Complex<T> {
    if z.im.is_zero() {
        return Complex { re: z.re.exp(), im: z.im };
    }
    if !z.im.is_finite() {
        let nan = T::nan();
        return match z.re {
            // Of a conjugate number the conjugate value.
            re if re == T::neg_infinity() => Complex { re: T::zero(), im: zero_of_sign(z.im) },
            re if re == T::infinity() => Complex { re, im: nan },
            _ => Complex { re: nan, im: nan },
        };
    }
    if z.re > limits::<T>().large_exponent {
        return exp_scaled(z.re, z.im, T::one());
    }
    let size = z.re.exp();
    Complex { re: size * z.im.cos(), im: size * z.im.sin() }
}

pub(in crate::expression::host) fn sinh<T: Float>(z: Complex<T>) -> Complex<T> {
    if !z.im.is_finite() {
        let nan = T::nan();
        let stays = z.re.is_zero() || z.re.is_infinite();
        return Complex { re: if stays { z.re } else { nan }, im: nan };
    }
    if z.im.is_zero() {
        return Complex { re: z.re.sinh(), im: z.im };
    }
    if z.re.abs() > limits::<T>().large_exponent {
        let scaled = exp_scaled(z.re.abs(), z.im, half());
        return Complex { re: if z.re < T::zero() { -scaled.re } else { scaled.re }, im: scaled.im };
    }
    Complex { re: z.re.sinh() * z.im.cos(), im: z.re.cosh() * z.im.sin() }
}

pub(in crate::expression::host) fn cosh<T: Float>(z: Complex<T>) -> Complex<T> {
    if !z.im.is_finite() {
        let nan = T::nan();
        if z.re.is_zero() {
            return Complex { re: nan, im: T::zero() };
        }
        return Complex { re: if z.re.is_infinite() { z.re.abs() } else { nan }, im: nan };
    }
    if z.im.is_zero() {
        return Complex { re: z.re.cosh(), im: zero_of_sign(z.re) * z.im };
    }
    if z.re.abs() > limits::<T>().large_exponent {
        let scaled = exp_scaled(z.re.abs(), z.im, half());
        return Complex { re: scaled.re, im: if z.re < T::zero() { -scaled.im } else { scaled.im } };
    }
    Complex { re: z.re.cosh() * z.im.cos(), im: z.re.sinh() * z.im.sin() }
}

pub(in crate::expression::host) fn tanh<T: Float>(z: Complex<T>) -> Complex<T> {
    let one = T::one();
    if z.re.is_infinite() {
        let sign = if z.im.is_finite() { z.im.sin() * z.im.cos() } else { z.im };
        return Complex { re: one.copysign(z.re), im: zero_of_sign(sign) };
    }
    if !z.im.is_finite() {
        let nan = T::nan();
        return Complex { re: if z.re.is_zero() { z.re } else { nan }, im: nan };
    }
    if z.re.is_nan() {
        return Complex { re: z.re, im: if z.im.is_zero() { z.im } else { z.re } };
    }
    if z.re.abs() > limits::<T>().flat {
        let small = (-z.re.abs()).exp();
        return Complex { re: one.copysign(z.re), im: number::<T>(4.0) * z.im.sin() * z.im.cos() * small * small };
    }
    let (t, s) = (z.im.tan(), z.re.sinh());
    let (beta, rho) = (one + t * t, (one + s * s).sqrt());
    if t.is_infinite() {
        return Complex { re: rho / s, im: one / t };
    }
    let denominator = one + beta * s * s;
    Complex { re: beta * rho * s / denominator, im: t / denominator }
}

pub(in crate::expression::host) fn sin<T: Float>(z: Complex<T>) -> Complex<T> {
    over_i(sinh(times_i(z)))
}

pub(in crate::expression::host) fn cos<T: Float>(z: Complex<T>) -> Complex<T> {
    cosh(times_i(z))
}

pub(in crate::expression::host) fn tan<T: Float>(z: Complex<T>) -> Complex<T> {
    over_i(tanh(times_i(z)))
}

pub(in crate::expression::host) fn sqrt<T: Float>(z: Complex<T>) -> Complex<T> {
    if z.im.is_infinite() {
        return Complex { re: z.im.abs(), im: z.im };
    }
    if z.re.is_nan() {
        return Complex { re: z.re, im: z.re };
    }
    if z.re.is_infinite() {
        let rest = if z.im.is_finite() { T::zero() } else { T::nan() };
        return if z.re < T::zero() {
            Complex { re: rest, im: T::infinity().copysign(zero_of_sign(z.im)) }
        } else {
            Complex { re: z.re, im: rest.copysign(z.im) }
        };
    }
    if z.re.is_zero() && z.im.is_zero() {
        return Complex { re: T::zero(), im: z.im };
    }
    let limits = limits::<T>();
    let (x, y) = (z.re.abs(), z.im.abs());
    let (x, y, scale) = if x > limits.huge || y > limits.huge {
        (x * number(0.25), y * number(0.25), number(2.0))
    } else if x < limits.tiny && y < limits.tiny {
        // A power of 4, whose root is exact.
        let scale = power_of_two(limits.scale);
        (x * scale, y * scale, power_of_two(-limits.scale / 2))
    } else {
        (x, y, T::one())
    };
    let root = ((x + x.hypot(y)) * half()).sqrt();
    let other = y / (root + root);
    if z.re < T::zero() {
        Complex { re: other * scale, im: (root * scale).copysign(z.im) }
    } else {
        Complex { re: root * scale, im: (other * scale).copysign(z.im) }
    }
}

pub(in crate::expression::host) fn log<T: Float>(z: Complex<T>) -> Complex<T> {
    Complex { re: log_abs(z), im: z.im.atan2(z.re) }
}

pub(in crate::expression::host) fn log10<T: Float>(z: Complex<T>) -> Complex<T> {
    let (natural, factor) = (log(z), number(std::f64::consts::LOG10_E));
    Complex { re: natural.re * factor, im: natural.im * factor }
}

pub(in crate::expression::host) fn asin<T: Float>(z: Complex<T>) -> Complex<T> {
    if is_nan(z) {
        let nan = T::nan();
        let re = if z.re.is_zero() { z.re } else { nan };
        let infinite = z.re.is_infinite() || z.im.is_infinite();
        let im = if z.im.is_infinite() { z.im } else { z.re };
        return Complex { re, im: if infinite { im } else { nan } };
    }
    let (x, y) = (z.re.abs(), z.im.abs());
    let (re, im) = if is_far(z) {
        (x.atan2(y), log_abs(z) + log_2())
    } else {
        let arc = ArcSine::new(x, y);
        (arc.re, arc.im)
    };
    Complex { re: re.copysign(z.re), im: im.copysign(z.im) }
}

pub(in crate::expression::host) fn acos<T: Float>(z: Complex<T>) -> Complex<T> {
    let pi = number::<T>(std::f64::consts::PI);
    if is_nan(z) {
        let nan = T::nan();
        if z.re.is_infinite() || z.im.is_infinite() {
            return Complex { re: nan, im: -(if z.im.is_infinite() { z.im } else { z.re.abs() }) };
        }
        return Complex { re: if z.re.is_zero() { pi * half() } else { nan }, im: nan };
    }
    let (x, y) = (z.re.abs(), z.im.abs());
    let (re, im) = if is_far(z) {
        (y.atan2(x), log_abs(z) + log_2())
    } else {
        let arc = ArcSine::new(x, y);
        (arc.complement, arc.im)
    };
    Complex { re: if z.re.is_sign_negative() { pi - re } else { re }, im: -im.copysign(z.im) }
}

pub(in crate::expression::host) fn asinh<T: Float>(z: Complex<T>) -> Complex<T> {
    over_i(asin(times_i(z)))
}

pub(in crate::expression::host) fn acosh<T: Float>(z: Complex<T>) -> Complex<T> {
    let angle = acos(z);
    Complex { re: angle.im.abs(), im: if z.im.is_nan() { angle.re } else { angle.re.copysign(z.im) } }
}

pub(in crate::expression::host) fn atanh<T: Float>(z: Complex<T>) -> Complex<T> {
    let (x, y, right) = (z.re.abs(), z.im.abs(), number::<T>(std::f64::consts::FRAC_PI_2));
    let (re, im) = if y.is_infinite() {
        (T::zero(), right)
    } else if is_nan(z) {
        (if x.is_infinite() || x.is_zero() { T::zero() } else { T::nan() }, T::nan())
    } else if is_far(z) {
        // The real part of 1 / z.
        let h = (x * half()).hypot(y * half());
        (if x.is_infinite() { T::zero() } else { x * half() / h / h * half() }, right)
    } else {
        let gap = T::one() - x;
        let vanishes = gap.is_zero() && y < limits::<T>().square_vanishes && y > T::zero();
        let re = if vanishes {
            (log_2::<T>() - y.ln()) * half()
        } else {
            (number::<T>(4.0) * x / (gap * gap + y * y)).ln_1p() * number(0.25)
        };
        (re, (y + y).atan2(gap * (T::one() + x) - y * y) * half())
    };
    Complex { re: re.copysign(zero_of_sign(z.re)), im: im.copysign(z.im) }
}

pub(in crate::expression::host) fn atan<T: Float>(z: Complex<T>) -> Complex<T> {
    over_i(atanh(times_i(z)))
}
