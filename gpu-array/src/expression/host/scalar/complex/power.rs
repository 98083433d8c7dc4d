//! Powers of complex numbers: those of `complex_functions.cuh`.

use num_complex::Complex;
use num_traits::Float;

use super::functions::{exp, log, number, zero_of_sign};

/// A product that is infinite where an operand or a product of parts is, although both parts are NaN: C99, G.5.1.
fn recovered_product<T: Float>(
    a: Complex<T>,
    b: Complex<T>,
    multiply: impl Fn(Complex<T>, Complex<T>) -> Complex<T>,
) -> Complex<T> {
    let product = multiply(a, b);
    if !(product.re.is_nan() && product.im.is_nan()) {
        return product;
    }
    let infinite = |z: Complex<T>| z.re.is_infinite() || z.im.is_infinite();
    let finite = |x: T| if x.is_nan() { T::zero() } else { x };
    let no_nan = |z: Complex<T>| Complex { re: finite(z.re), im: finite(z.im) };
    // The direction of an infinity; of other numbers themselves.
    let unit = |x: T| if x.is_infinite() { T::one().copysign(x) } else { zero_of_sign(x) };
    let direction = |z: Complex<T>| if infinite(z) { Complex { re: unit(z.re), im: unit(z.im) } } else { no_nan(z) };
    let overflows = [a.re * b.re, a.im * b.im, a.re * b.im, a.im * b.re].into_iter().any(T::is_infinite);
    let along = if infinite(a) || infinite(b) {
        multiply(direction(a), direction(b))
    } else if overflows {
        multiply(no_nan(a), no_nan(b))
    } else {
        return product;
    };
    Complex { re: T::infinity() * along.re, im: T::infinity() * along.im }
}

/// z to the power n by repeated products, the first of which is that of 1 and z.
fn integer_power<T: Float>(
    z: Complex<T>,
    mut n: u32,
    multiply: impl Fn(Complex<T>, Complex<T>) -> Complex<T>,
) -> Complex<T> {
    let (mut result, mut square) = (Complex { re: T::one(), im: T::zero() }, z);
    while n != 0 {
        if n % 2 == 1 {
            result = multiply(result, square);
        }
        square = multiply(square, square);
        n /= 2;
    }
    result
}

/// NumPy's `power`: products for small integers, else C99's `cpow`, which is the exponential of the recovered product.
pub(super) fn power<T: Float>(
    z: Complex<T>,
    exponent: Complex<T>,
    multiply: impl Fn(Complex<T>, Complex<T>) -> Complex<T>,
    divide: impl Fn(Complex<T>, Complex<T>) -> Complex<T>,
) -> Complex<T> {
    let one = Complex { re: T::one(), im: T::zero() };
    if exponent.re.is_zero() && exponent.im.is_zero() {
        return one;
    }
    if z.re.is_zero() && z.im.is_zero() {
        let value = if exponent.re > T::zero() { T::zero() } else { T::nan() };
        return Complex { re: value, im: value };
    }
    // NumPy begins at z up to the third power: a product with 1 would lose signs of zeros, and make NaN of parts beside an infinite one.
    let size = exponent.re.abs();
    if exponent.im.is_zero() && size < number(100.0) && size == size.trunc() {
        return match exponent.re.to_i32().unwrap_or(0) {
            1 => z,
            2 => multiply(z, z),
            3 => multiply(z, multiply(z, z)),
            n if n < 0 => divide(one, integer_power(z, n.unsigned_abs(), multiply)),
            n => integer_power(z, n.unsigned_abs(), multiply),
        };
    }
    exp(recovered_product(exponent, log(z), multiply))
}
