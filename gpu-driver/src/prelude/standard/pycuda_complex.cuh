// pycuda-complex.hpp: PyCUDA's complex numbers, with the names of its operators and functions.
//
// In memory they are gpu::Complex, and so are their sums, products and quotients. A fresh one is 0.
// Functions of one complex number are exact to a few units of the last place of its absolute value
// where the result is finite, and neither they nor absolute values overflow before their result.
#pragma once
#include "complex.cuh"

namespace pycuda {

template <class T> struct complex : gpu::Complex<T> {
    typedef T value_type;
    typedef gpu::Complex<T> Base;

    __device__ __forceinline__ complex() : Base(T(0)) {}
    __device__ __forceinline__ complex(T re, T im = T(0)) : Base(re, im) {}
    __device__ __forceinline__ explicit complex(Base z) : Base(z) {}
    // Of the other precision: float becomes double by itself, double becomes float where it is told
    // to.
    template <class U, int (*)[sizeof(U) < sizeof(T) ? 1 : -1] = nullptr>
    __device__ __forceinline__ complex(const complex<U> &z) : Base(T(z.re), T(z.im)) {}
    template <class U, int (*)[sizeof(U) > sizeof(T) ? 1 : -1] = nullptr>
    __device__ __forceinline__ explicit complex(const complex<U> &z) : Base(T(z.re), T(z.im)) {}

    // Of gpu::Complex, and of the other precision, as PyCUDA's.
    template <class U> __device__ __forceinline__ complex &operator=(const gpu::Complex<U> &z) {
        return *this = complex(T(z.re), T(z.im));
    }

    __device__ __forceinline__ T real() const { return this->re; }
    __device__ __forceinline__ T imag() const { return this->im; }

    friend __device__ __forceinline__ complex operator+(complex a) { return a; }
    friend __device__ __forceinline__ complex operator-(complex a) { return {-a.re, -a.im}; }
    friend __device__ __forceinline__ complex operator+(complex a, complex b) {
        return complex(Base(a) + Base(b));
    }
    friend __device__ __forceinline__ complex operator-(complex a, complex b) {
        return complex(Base(a) - Base(b));
    }
    friend __device__ __forceinline__ complex operator*(complex a, complex b) {
        return complex(Base(a) * Base(b));
    }
    friend __device__ __forceinline__ complex operator/(complex a, complex b) {
        return complex(Base(a) / Base(b));
    }
    // With a real number each part is taken by itself, so that no infinity meets a 0.
    friend __device__ __forceinline__ complex operator+(complex a, T x) { return {a.re + x, a.im}; }
    friend __device__ __forceinline__ complex operator+(T x, complex a) { return {x + a.re, a.im}; }
    friend __device__ __forceinline__ complex operator-(complex a, T x) { return {a.re - x, a.im}; }
    friend __device__ __forceinline__ complex operator-(T x, complex a) {
        return {x - a.re, -a.im};
    }
    friend __device__ __forceinline__ complex operator*(complex a, T x) {
        return {a.re * x, a.im * x};
    }
    friend __device__ __forceinline__ complex operator*(T x, complex a) { return a * x; }
    friend __device__ __forceinline__ complex operator/(complex a, T x) {
        return {a.re / x, a.im / x};
    }
    friend __device__ __forceinline__ complex operator/(T x, complex a) { return complex(x) / a; }
    friend __device__ __forceinline__ bool operator==(complex a, complex b) {
        return a.re == b.re && a.im == b.im;
    }
    friend __device__ __forceinline__ bool operator!=(complex a, complex b) { return !(a == b); }

    __device__ __forceinline__ complex &operator+=(complex b) { return *this = *this + b; }
    __device__ __forceinline__ complex &operator-=(complex b) { return *this = *this - b; }
    __device__ __forceinline__ complex &operator*=(complex b) { return *this = *this * b; }
    __device__ __forceinline__ complex &operator/=(complex b) { return *this = *this / b; }
    __device__ __forceinline__ complex &operator+=(T x) { return *this = *this + x; }
    __device__ __forceinline__ complex &operator-=(T x) { return *this = *this - x; }
    __device__ __forceinline__ complex &operator*=(T x) { return *this = *this * x; }
    __device__ __forceinline__ complex &operator/=(T x) { return *this = *this / x; }
};

template <class T> __device__ __forceinline__ T real(complex<T> z) { return z.re; }
template <class T> __device__ __forceinline__ T imag(complex<T> z) { return z.im; }
template <class T> __device__ __forceinline__ T abs(complex<T> z) { return ::hypot(z.re, z.im); }
template <class T> __device__ __forceinline__ T arg(complex<T> z) { return ::atan2(z.im, z.re); }
// The square of the absolute value.
template <class T> __device__ __forceinline__ T norm(complex<T> z) {
    return z.re * z.re + z.im * z.im;
}
template <class T> __device__ __forceinline__ complex<T> conj(complex<T> z) {
    return {z.re, -z.im};
}
template <class T> __device__ __forceinline__ complex<T> polar(T rho, T theta) {
    return {rho * ::cos(theta), rho * ::sin(theta)};
}
template <class T> __device__ __forceinline__ complex<T> polar(T rho) { return {rho, T(0)}; }

template <class T> __device__ inline complex<T> sqrt(complex<T> z) {
    const T x = ::fabs(z.re), y = ::fabs(z.im), size = x < y ? y : x;
    if (size == T(0) || isinf(y)) {
        return {y, z.im};
    }
    if (isinf(x)) {
        return z.re > T(0) ? complex<T>(x, ::copysign(T(0), z.im))
                           : complex<T>(T(0), ::copysign(x, z.im));
    }
    // Scaled by the larger part, so that no square overflows or vanishes.
    const T root = ::sqrt(size) * ::sqrt((x / size + ::hypot(x / size, y / size)) * T(0.5));
    const T other = y / (root * T(2));
    return z.re < T(0) ? complex<T>(other, ::copysign(root, z.im))
                       : complex<T>(root, ::copysign(other, z.im));
}

template <class T> __device__ inline complex<T> exp(complex<T> z) {
    // In two factors, between which cosine and sine come: the larger part may be finite where the
    // exponential alone is not.
    const T root = ::exp(z.re * T(0.5));
    if (z.im == T(0)) {
        return {::exp(z.re), z.im};
    }
    return {(root * ::cos(z.im)) * root, (root * ::sin(z.im)) * root};
}

// The logarithm of the absolute value; near 1 by its distance from 1.
template <class T> __device__ inline T log_abs(complex<T> z) {
    const T a = ::fabs(z.re), b = ::fabs(z.im), x = a < b ? b : a, y = a < b ? a : b;
    const T size = ::hypot(x, y);
    if (size > T(0.7) && size < T(1.8)) {
        return ::log1p((x - T(1)) * (x + T(1)) + y * y) * T(0.5);
    }
    // Two parts near the largest number have an absolute value beyond it.
    return isinf(size) && !isinf(x) ? ::log(::hypot(x * T(0.5), y * T(0.5))) + ::log(T(2))
                                    : ::log(size);
}
template <class T> __device__ inline complex<T> log(complex<T> z) { return {log_abs(z), arg(z)}; }
template <class T> __device__ inline complex<T> log10(complex<T> z) {
    return log(z) * T(0.434294481903251827651128918916605082);
}

template <class T> __device__ inline complex<T> sinh(complex<T> z) {
    return {::sinh(z.re) * ::cos(z.im), ::cosh(z.re) * ::sin(z.im)};
}
template <class T> __device__ inline complex<T> cosh(complex<T> z) {
    return {::cosh(z.re) * ::cos(z.im), ::sinh(z.re) * ::sin(z.im)};
}
// W. Kahan, "Branch cuts for complex elementary functions" (1987).
template <class T> __device__ inline complex<T> tanh(complex<T> z) {
    if (::fabs(z.re) > T(22)) {
        const T small = ::exp(-::fabs(z.re));
        const T im = T(4) * ::sin(z.im) * ::cos(z.im) * small * small;
        return {::copysign(T(1), z.re), im};
    }
    const T t = ::tan(z.im), s = ::sinh(z.re), beta = T(1) + t * t;
    const T denominator = T(1) + beta * s * s;
    return {beta * ::sqrt(T(1) + s * s) * s / denominator, t / denominator};
}
template <class T> __device__ inline complex<T> sin(complex<T> z) {
    return {::sin(z.re) * ::cosh(z.im), ::cos(z.re) * ::sinh(z.im)};
}
template <class T> __device__ inline complex<T> cos(complex<T> z) {
    return {::cos(z.re) * ::cosh(z.im), -(::sin(z.re) * ::sinh(z.im))};
}
template <class T> __device__ inline complex<T> tan(complex<T> z) {
    const complex<T> turned = tanh(complex<T>(-z.im, z.re));
    return {turned.im, -turned.re};
}

// By repeated products.
template <class T> __device__ inline complex<T> pow(complex<T> z, int n) {
    complex<T> result(T(1)), square = z;
    for (unsigned left = n < 0 ? 0u - unsigned(n) : unsigned(n); left != 0; left >>= 1) {
        if (left & 1) {
            result *= square;
        }
        square *= square;
    }
    return n < 0 ? complex<T>(T(1)) / result : result;
}
// 0 to a power with a real part that is not positive is 1 for the power 0, and else no number.
template <class T> __device__ inline complex<T> pow(complex<T> z, complex<T> power) {
    if (z.re == T(0) && z.im == T(0)) {
        const bool is_zero = power.re == T(0) && power.im == T(0);
        const T value = is_zero ? T(1) : power.re > T(0) ? T(0) : z.re / z.re;
        return {value, is_zero || power.re > T(0) ? T(0) : value};
    }
    return exp(power * log(z));
}
template <class T> __device__ inline complex<T> pow(complex<T> z, T power) {
    if (z.im == T(0) && z.re > T(0)) {
        return {::pow(z.re, power), T(0)};
    }
    return pow(z, complex<T>(power));
}
template <class T> __device__ inline complex<T> pow(T x, complex<T> power) {
    return pow(complex<T>(x), power);
}

} // namespace pycuda
