// The functions of complex numbers. Only programs that have one include them.
//
// Values at infinities, NaN and zeros of either sign, and the sides of branch cuts, are those of
// C99's annex G. Where that leaves a sign open, the sign here does not depend on that of a NaN, so
// that device and host have the same. Inverse sines and cosines follow T. E. Hull, T. F.
// Fairgrieve, P. T. P. Tang, "Implementing the complex arcsine and arccosine functions using
// exception handling" (1997), roots and hyperbolic tangents W. Kahan, "Branch cuts for complex
// elementary functions" (1987). The host has the same formulas in Rust.
#pragma once
#include "complex_operations.cuh"

namespace gpu {

namespace complex_functions {

template <class T> constexpr T LOG_2 = T(0.693147180559945309417232121458176568);
template <class T> constexpr T PI = T(3.14159265358979323846264338327950288);
template <class T> struct Limits;
template <> struct Limits<float> {
    static constexpr float HUGE_PART = 0x1p125f;  // twice a sum of two such does not overflow
    static constexpr float TINY_PART = 0x1p-100f; // parts below are scaled before they are squared
    static constexpr float SCALE = 0x1p60f;
    static constexpr float SCALE_LOG = 60.0f;
    static constexpr float FAR = 0x1p26f; // the square of 1 is lost beside that of such a part
    static constexpr float LARGE_EXPONENT = 88.0f; // exp overflows soon after
    static constexpr float FLAT = 12.0f;           // tanh is 1 beyond
    static constexpr float SQUARE_VANISHES = 0x1p-62f;
};
template <> struct Limits<double> {
    static constexpr double HUGE_PART = 0x1p1021;
    static constexpr double TINY_PART = 0x1p-900;
    static constexpr double SCALE = 0x1p500;
    static constexpr double SCALE_LOG = 500.0;
    static constexpr double FAR = 0x1p54;
    static constexpr double LARGE_EXPONENT = 709.0;
    static constexpr double FLAT = 22.0;
    static constexpr double SQUARE_VANISHES = 0x1p-510;
};

template <class T> __device__ __forceinline__ bool is_infinite(T x) {
    return !is_finite(x) && !is_nan(x);
}
__device__ __forceinline__ float with_sign(float a, float b) { return ::copysignf(a, b); }
__device__ __forceinline__ double with_sign(double a, double b) { return ::copysign(a, b); }
__device__ __forceinline__ bool is_negative(float x) { return with_sign(1.0f, x) < 0.0f; }
__device__ __forceinline__ bool is_negative(double x) { return with_sign(1.0, x) < 0.0; }

// 0 with the sign of x; that of a NaN does not count, here and below, as a GPU may change it.
template <class T> __device__ __forceinline__ T zero_of_sign(T x) {
    return is_nan(x) ? T(0) : with_sign(T(0), x);
}

template <class T> __device__ __forceinline__ Complex<T> times_i(Complex<T> z) {
    return Complex<T>(-z.im, z.re);
}
template <class T> __device__ __forceinline__ Complex<T> over_i(Complex<T> z) {
    return Complex<T>(z.im, -z.re);
}

// factor * exp(x) * (cos y, sin y), where exp(x) alone may overflow. x is not NaN, y finite.
template <class T> __device__ Complex<T> exp_scaled(T x, T y, T factor) {
    // In two factors, of which the product with cosine or sine comes between.
    const T root = exp(x * T(0.5));
    return Complex<T>((factor * root * cos(y)) * root, (factor * root * sin(y)) * root);
}

// log |z|.
template <class T> __device__ T log_abs(Complex<T> z) {
    typedef Limits<T> L;
    const T a = absolute(z.re), b = absolute(z.im);
    const T x = a < b ? b : a, y = a < b ? a : b;
    if (is_infinite(a) || is_infinite(b)) {
        return is_infinite(a) ? a : b;
    }
    if (x > L::HUGE_PART) {
        return log(hypot(x * T(0.5), y * T(0.5))) + LOG_2<T>;
    }
    if (x < L::TINY_PART) {
        return log(hypot(x * L::SCALE, y * L::SCALE)) - L::SCALE_LOG * LOG_2<T>;
    }
    const T h = hypot(x, y);
    return h > T(0.7) && h < T(1.8) ? log1p((x - T(1)) * (x + T(1)) + y * y) * T(0.5) : log(h);
}

// The arc sine of x + iy for x, y >= 0 that are finite and not far, and pi/2 less its real part.
template <class T> struct ArcSine {
    T re, complement, im;

    __device__ ArcSine(T x, T y) {
        typedef Limits<T> L;
        const T r = hypot(x + T(1), y), s = hypot(x - T(1), y);
        const T a = (r + s) * T(0.5), b = x / a;
        const T y_over_r = y / (r + (x + T(1)));
        // 1 less x, or x less 1, and the part of s beyond, without cancellation.
        const T to_one = x < T(1) ? y * (y / (s + (T(1) - x))) : s + (x - T(1));
        const bool near = b <= T(0.6417);
        // Beyond 1 the square of y, a factor of both terms, stands before the root, where it cannot
        // vanish.
        const T root =
            x <= T(1)
                ? sqrt(T(0.5) * (a + x) * (y * y_over_r + s + (T(1) - x)))
                : y * sqrt(T(0.5) * (a + x) * (T(1) / (r + (x + T(1))) + T(1) / (s + (x - T(1)))));
        re = near ? asin(b) : atan(x / root);
        complement = near ? acos(b) : atan(root / x);
        if (x < T(1) && y < L::SQUARE_VANISHES) {
            im = y / sqrt((T(1) - x) * (T(1) + x));
        } else if (a <= T(1.5)) {
            const T above = T(0.5) * (y * y_over_r + to_one); // a - 1
            im = log1p(above + sqrt(above * (a + T(1))));
        } else {
            im = log(a + sqrt(a * a - T(1)));
        }
    }
};

template <class T> __device__ __forceinline__ bool is_far(Complex<T> z) {
    return !(absolute(z.re) < Limits<T>::FAR && absolute(z.im) < Limits<T>::FAR);
}

} // namespace complex_functions

template <class T> __device__ Complex<T> exp(Complex<T> z) {
    namespace f = complex_functions;
    if (z.im == T(0)) {
        return Complex<T>(exp(z.re), z.im);
    }
    if (!is_finite(z.im)) {
        if (f::is_infinite(z.re)) {
            // Of a conjugate number the conjugate value.
            return z.re < T(0) ? Complex<T>(T(0), f::zero_of_sign(z.im))
                               : Complex<T>(z.re, z.im - z.im);
        }
        return Complex<T>(z.im - z.im, z.im - z.im);
    }
    if (z.re > f::Limits<T>::LARGE_EXPONENT) {
        return f::exp_scaled(z.re, z.im, T(1));
    }
    const T size = exp(z.re);
    return Complex<T>(size * cos(z.im), size * sin(z.im));
}

template <class T> __device__ Complex<T> sinh(Complex<T> z) {
    namespace f = complex_functions;
    if (!is_finite(z.im)) {
        const bool stays = z.re == T(0) || f::is_infinite(z.re);
        return Complex<T>(stays ? z.re : z.im - z.im, z.im - z.im);
    }
    if (z.im == T(0)) {
        return Complex<T>(sinh(z.re), z.im);
    }
    if (absolute(z.re) > f::Limits<T>::LARGE_EXPONENT) {
        const Complex<T> scaled = f::exp_scaled(absolute(z.re), z.im, T(0.5));
        return Complex<T>(z.re < T(0) ? -scaled.re : scaled.re, scaled.im);
    }
    return Complex<T>(sinh(z.re) * cos(z.im), cosh(z.re) * sin(z.im));
}

template <class T> __device__ Complex<T> cosh(Complex<T> z) {
    namespace f = complex_functions;
    if (!is_finite(z.im)) {
        if (z.re == T(0)) {
            return Complex<T>(z.im - z.im, T(0));
        }
        return Complex<T>(f::is_infinite(z.re) ? absolute(z.re) : z.im - z.im, z.im - z.im);
    }
    if (z.im == T(0)) {
        return Complex<T>(cosh(z.re), f::zero_of_sign(z.re) * z.im);
    }
    if (absolute(z.re) > f::Limits<T>::LARGE_EXPONENT) {
        const Complex<T> scaled = f::exp_scaled(absolute(z.re), z.im, T(0.5));
        return Complex<T>(scaled.re, z.re < T(0) ? -scaled.im : scaled.im);
    }
    return Complex<T>(cosh(z.re) * cos(z.im), sinh(z.re) * sin(z.im));
}

template <class T> __device__ Complex<T> tanh(Complex<T> z) {
    namespace f = complex_functions;
    if (f::is_infinite(z.re)) {
        const T sign = is_finite(z.im) ? sin(z.im) * cos(z.im) : z.im;
        return Complex<T>(f::with_sign(T(1), z.re), f::zero_of_sign(sign));
    }
    if (!is_finite(z.im)) {
        return Complex<T>(z.re == T(0) ? z.re : z.im - z.im, z.im - z.im);
    }
    if (is_nan(z.re)) {
        return Complex<T>(z.re, z.im == T(0) ? z.im : z.re);
    }
    if (absolute(z.re) > f::Limits<T>::FLAT) {
        const T small = exp(-absolute(z.re));
        return Complex<T>(f::with_sign(T(1), z.re), T(4) * sin(z.im) * cos(z.im) * small * small);
    }
    const T t = tan(z.im), s = sinh(z.re);
    const T beta = T(1) + t * t, rho = sqrt(T(1) + s * s);
    if (f::is_infinite(t)) {
        return Complex<T>(rho / s, T(1) / t);
    }
    const T denominator = T(1) + beta * s * s;
    return Complex<T>(beta * rho * s / denominator, t / denominator);
}

template <class T> __device__ Complex<T> sin(Complex<T> z) {
    namespace f = complex_functions;
    return f::over_i(sinh(f::times_i(z)));
}
template <class T> __device__ Complex<T> cos(Complex<T> z) {
    return cosh(complex_functions::times_i(z));
}
template <class T> __device__ Complex<T> tan(Complex<T> z) {
    namespace f = complex_functions;
    return f::over_i(tanh(f::times_i(z)));
}

template <class T> __device__ Complex<T> sqrt(Complex<T> z) {
    namespace f = complex_functions;
    typedef f::Limits<T> L;
    if (f::is_infinite(z.im)) {
        return Complex<T>(absolute(z.im), z.im);
    }
    if (is_nan(z.re)) {
        return Complex<T>(z.re, z.re);
    }
    if (f::is_infinite(z.re)) {
        const T rest = absolute(z.im - z.im); // 0 or NaN
        return z.re < T(0) ? Complex<T>(rest, f::with_sign(z.re, f::zero_of_sign(z.im)))
                           : Complex<T>(z.re, f::with_sign(rest, z.im));
    }
    if (z.re == T(0) && z.im == T(0)) {
        return Complex<T>(T(0), z.im);
    }
    T x = absolute(z.re), y = absolute(z.im), scale = T(1);
    if (x > L::HUGE_PART || y > L::HUGE_PART) {
        x *= T(0.25), y *= T(0.25), scale = T(2);
    } else if (x < L::TINY_PART && y < L::TINY_PART) {
        // A power of 4, whose root is exact.
        x *= L::SCALE, y *= L::SCALE, scale = exp2(L::SCALE_LOG * T(-0.5));
    }
    const T root = sqrt((x + hypot(x, y)) * T(0.5));
    const T other = y / (T(2) * root);
    return z.re < T(0) ? Complex<T>(other * scale, f::with_sign(root * scale, z.im))
                       : Complex<T>(root * scale, f::with_sign(other * scale, z.im));
}

template <class T> __device__ Complex<T> log(Complex<T> z) {
    return Complex<T>(complex_functions::log_abs(z), arg(z));
}
template <class T> __device__ Complex<T> log10(Complex<T> z) {
    const T factor = T(0.434294481903251827651128918916605082);
    const Complex<T> natural = log(z);
    return Complex<T>(natural.re * factor, natural.im * factor);
}

template <class T> __device__ Complex<T> asin(Complex<T> z) {
    namespace f = complex_functions;
    if (is_nan(z)) {
        const bool infinite = f::is_infinite(z.re) || f::is_infinite(z.im);
        const T nan = z.re + z.im;
        const T im = f::is_infinite(z.im) ? z.im : z.re;
        return Complex<T>(z.re == T(0) ? z.re : nan - nan, infinite ? im : nan);
    }
    const T x = absolute(z.re), y = absolute(z.im);
    T re, im;
    if (f::is_far(z)) {
        re = atan2(x, y), im = f::log_abs(z) + f::LOG_2<T>;
    } else {
        const f::ArcSine<T> arc(x, y);
        re = arc.re, im = arc.im;
    }
    return Complex<T>(f::with_sign(re, z.re), f::with_sign(im, z.im));
}

template <class T> __device__ Complex<T> acos(Complex<T> z) {
    namespace f = complex_functions;
    if (is_nan(z)) {
        const T nan = z.re + z.im;
        if (f::is_infinite(z.re) || f::is_infinite(z.im)) {
            return Complex<T>(nan - nan, -(f::is_infinite(z.im) ? z.im : absolute(z.re)));
        }
        return Complex<T>(z.re == T(0) ? f::PI<T> * T(0.5) : nan, nan);
    }
    const T x = absolute(z.re), y = absolute(z.im);
    T re, im;
    if (f::is_far(z)) {
        re = atan2(y, x), im = f::log_abs(z) + f::LOG_2<T>;
    } else {
        const f::ArcSine<T> arc(x, y);
        re = arc.complement, im = arc.im;
    }
    return Complex<T>(f::is_negative(z.re) ? f::PI<T> - re : re, -f::with_sign(im, z.im));
}

template <class T> __device__ Complex<T> asinh(Complex<T> z) {
    namespace f = complex_functions;
    return f::over_i(asin(f::times_i(z)));
}
template <class T> __device__ Complex<T> acosh(Complex<T> z) {
    const Complex<T> angle = acos(z);
    const T im = is_nan(z.im) ? angle.re : complex_functions::with_sign(angle.re, z.im);
    return Complex<T>(absolute(angle.im), im);
}

template <class T> __device__ Complex<T> atanh(Complex<T> z) {
    namespace f = complex_functions;
    const T x = absolute(z.re), y = absolute(z.im), right = f::PI<T> * T(0.5);
    T re, im;
    if (f::is_infinite(y)) {
        re = T(0), im = right;
    } else if (is_nan(z)) {
        const T nan = x + y;
        re = f::is_infinite(x) || x == T(0) ? T(0) : nan, im = nan;
    } else if (f::is_far(z)) {
        // The real part of 1 / z.
        const T h = hypot(x * T(0.5), y * T(0.5));
        re = f::is_infinite(x) ? T(0) : (x * T(0.5) / h) / h * T(0.5), im = right;
    } else {
        const T gap = T(1) - x;
        const bool vanishes = gap == T(0) && y < f::Limits<T>::SQUARE_VANISHES && y > T(0);
        re = vanishes ? (f::LOG_2<T> - log(y)) * T(0.5)
                      : log1p(T(4) * x / (gap * gap + y * y)) * T(0.25);
        im = atan2(T(2) * y, gap * (T(1) + x) - y * y) * T(0.5);
    }
    return Complex<T>(f::with_sign(re, f::zero_of_sign(z.re)), f::with_sign(im, z.im));
}
template <class T> __device__ Complex<T> atan(Complex<T> z) {
    namespace f = complex_functions;
    return f::over_i(atanh(f::times_i(z)));
}

namespace complex_functions {

template <class T> __device__ __forceinline__ bool is_infinite(Complex<T> z) {
    return is_infinite(z.re) || is_infinite(z.im);
}
template <class T> __device__ __forceinline__ Complex<T> without_nan(Complex<T> z) {
    return Complex<T>(is_nan(z.re) ? T(0) : z.re, is_nan(z.im) ? T(0) : z.im);
}
// The direction of an infinity; of other numbers themselves.
template <class T> __device__ Complex<T> direction(Complex<T> z) {
    if (!is_infinite(z)) {
        return without_nan(z);
    }
    return Complex<T>(is_infinite(z.re) ? with_sign(T(1), z.re) : zero_of_sign(z.re),
                      is_infinite(z.im) ? with_sign(T(1), z.im) : zero_of_sign(z.im));
}

// A product that is infinite where an operand or a product of parts is, although both parts are
// NaN: C99, G.5.1.
template <class T> __device__ Complex<T> recovered_product(Complex<T> a, Complex<T> b) {
    const Complex<T> product = a * b;
    if (!(is_nan(product.re) && is_nan(product.im))) {
        return product;
    }
    const T infinity = -log(T(0));
    Complex<T> along;
    if (is_infinite(a) || is_infinite(b)) {
        along = direction(a) * direction(b);
    } else if (is_infinite(a.re * b.re) || is_infinite(a.im * b.im) || is_infinite(a.re * b.im) ||
               is_infinite(a.im * b.re)) {
        along = without_nan(a) * without_nan(b);
    } else {
        return product;
    }
    return Complex<T>(infinity * along.re, infinity * along.im);
}

// z to the power n by repeated products, the first of which is that of 1 and z.
template <class T> __device__ Complex<T> integer_power(Complex<T> z, int n) {
    Complex<T> result = Complex<T>(T(1), T(0)), square = z;
    for (; n != 0; n >>= 1) {
        if (n & 1) {
            result = result * square;
        }
        square = square * square;
    }
    return result;
}

} // namespace complex_functions

// NumPy's power: products for small integers, else C99's cpow, which is the exponential of the
// recovered product.
template <class T> __device__ Complex<T> power(Complex<T> z, Complex<T> exponent) {
    namespace f = complex_functions;
    if (exponent.re == T(0) && exponent.im == T(0)) {
        return Complex<T>(T(1), T(0));
    }
    if (z.re == T(0) && z.im == T(0)) {
        const T value = exponent.re > T(0) ? T(0) : z.re / z.re; // 0 / 0
        return Complex<T>(value, value);
    }
    if (exponent.im == T(0) && absolute(exponent.re) < T(100) &&
        exponent.re == truncate(exponent.re)) {
        // NumPy begins at z up to the third power: a product with 1 would lose signs of zeros, and
        // make NaN of parts beside an infinite one.
        const int n = int(exponent.re);
        switch (n) {
        case 1:
            return z;
        case 2:
            return z * z;
        case 3:
            return z * (z * z);
        }
        return n < 0 ? Complex<T>(T(1), T(0)) / f::integer_power(z, -n) : f::integer_power(z, n);
    }
    return exp(f::recovered_product(exponent, log(z)));
}

} // namespace gpu
