// Complex numbers: pairs of a real and an imaginary part, as Rust's num_complex::Complex and C's
// complex types have them in memory.
//
// Sums, products and quotients have NumPy's definitions, each operation on the parts rounded once
// and none contracted with its neighbours. The prelude's options do not change their bits.
// A product is (a.re b.re - a.im b.im, a.re b.im + a.im b.re): a NaN among the four products stays,
// and no infinity is recovered as C99's annex G has it. A quotient scales by the larger part of the
// divisor (Smith, Algorithm 116: Complex division, 1962), so that squares of it do not overflow; a
// divisor of 0 gives a / |0| of each part.
#pragma once
#include "prelude.cuh"

namespace gpu {

// Operations on the parts, which round once.
namespace complex_parts {
__device__ __forceinline__ float sum(float a, float b) { return __fadd_rn(a, b); }
__device__ __forceinline__ double sum(double a, double b) { return __dadd_rn(a, b); }
__device__ __forceinline__ float difference(float a, float b) { return __fsub_rn(a, b); }
__device__ __forceinline__ double difference(double a, double b) { return __dsub_rn(a, b); }
__device__ __forceinline__ float product(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double product(double a, double b) { return __dmul_rn(a, b); }
__device__ __forceinline__ float quotient(float a, float b) { return __fdiv_rn(a, b); }
__device__ __forceinline__ double quotient(double a, double b) { return __ddiv_rn(a, b); }
} // namespace complex_parts

// T is float or double. A real number converts to one with the imaginary part 0.
template <class T> struct alignas(2 * sizeof(T)) Complex {
    T re, im;

    Complex() = default;
    __device__ __forceinline__ constexpr Complex(T re, T im = T(0)) : re(re), im(im) {}
    // Of the other precision.
    template <class U> __device__ __forceinline__ explicit constexpr Complex(const Complex<U> &z)
        : re(T(z.re)), im(T(z.im)) {}

    // Whether a part is not 0.
    __device__ __forceinline__ explicit operator bool() const { return re != T(0) || im != T(0); }

    friend __device__ __forceinline__ Complex operator-(Complex a) { return Complex(-a.re, -a.im); }
    friend __device__ __forceinline__ Complex operator+(Complex a, Complex b) {
        return Complex(complex_parts::sum(a.re, b.re), complex_parts::sum(a.im, b.im));
    }
    friend __device__ __forceinline__ Complex operator-(Complex a, Complex b) {
        return Complex(complex_parts::difference(a.re, b.re),
                       complex_parts::difference(a.im, b.im));
    }
    friend __device__ __forceinline__ Complex operator*(Complex a, Complex b) {
        using namespace complex_parts;
        return Complex(difference(product(a.re, b.re), product(a.im, b.im)),
                       sum(product(a.re, b.im), product(a.im, b.re)));
    }
    friend __device__ __forceinline__ Complex operator/(Complex a, Complex b) {
        using namespace complex_parts;
        const T re = b.re < T(0) ? -b.re : b.re, im = b.im < T(0) ? -b.im : b.im;
        if (re == T(0) && im == T(0)) {
            // Of zeros of either sign the absolute value is +0.
            return Complex(quotient(a.re, T(0)), quotient(a.im, T(0)));
        }
        if (re >= im) {
            const T ratio = quotient(b.im, b.re);
            const T scale = quotient(T(1), sum(b.re, product(b.im, ratio)));
            return Complex(product(sum(a.re, product(a.im, ratio)), scale),
                           product(difference(a.im, product(a.re, ratio)), scale));
        }
        const T ratio = quotient(b.re, b.im);
        const T scale = quotient(T(1), sum(b.im, product(b.re, ratio)));
        return Complex(product(sum(product(a.re, ratio), a.im), scale),
                       product(difference(product(a.im, ratio), a.re), scale));
    }
    // Both parts are equal; a NaN equals nothing.
    friend __device__ __forceinline__ bool operator==(Complex a, Complex b) {
        return a.re == b.re && a.im == b.im;
    }
    friend __device__ __forceinline__ bool operator!=(Complex a, Complex b) { return !(a == b); }

    __device__ __forceinline__ Complex &operator+=(Complex b) { return *this = *this + b; }
    __device__ __forceinline__ Complex &operator-=(Complex b) { return *this = *this - b; }
    __device__ __forceinline__ Complex &operator*=(Complex b) { return *this = *this * b; }
    __device__ __forceinline__ Complex &operator/=(Complex b) { return *this = *this / b; }
};
static_assert(sizeof(Complex<float>) == 8 && sizeof(Complex<double>) == 16, "pairs of parts");

} // namespace gpu
