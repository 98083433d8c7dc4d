// The special functions of expressions. Only programs that have one include them.
#pragma once
#include "operations.cuh"

namespace gpu {

#define GPU_FUNCTION(name, function)                                                               \
    __device__ __forceinline__ float name(float x) { return ::function##f(x); }                    \
    __device__ __forceinline__ double name(double x) { return ::function(x); }
GPU_FUNCTION(asinh, asinh)
GPU_FUNCTION(acosh, acosh)
GPU_FUNCTION(atanh, atanh)
GPU_FUNCTION(erf, erf)
GPU_FUNCTION(erfc, erfc)
GPU_FUNCTION(log_gamma, lgamma)
GPU_FUNCTION(gamma, tgamma)
GPU_FUNCTION(bessel_j0, j0)
GPU_FUNCTION(bessel_j1, j1)
GPU_FUNCTION(bessel_y0, y0)
GPU_FUNCTION(bessel_y1, y1)
#undef GPU_FUNCTION

__device__ __forceinline__ float copy_sign(float a, float b) { return ::copysignf(a, b); }
__device__ __forceinline__ double copy_sign(double a, double b) { return ::copysign(a, b); }

// (x/2)^n / n! (1 - q/(n+1) + q^2 / (2(n+1)(n+2))) with q = (x/2)^2, for |x| <= 2^-12: the next
// term is below 2^-78.
inline __device__ double bessel_series(double x, int order) {
    const double half = absolute(x) * 0.5, q = half * half;
    double term = 1.0;
    for (int k = 1; k <= order && term > 0.0; ++k) {
        term *= half / k;
    }
    const double sum = 1.0 - q / (order + 1.0) * (1.0 - q / (2.0 * (order + 2.0)));
    return order % 2 == 0 ? term * sum : copy_sign(term * sum, x);
}

// CUDA's function overflows between where x is small, and gives NaN; so it does at 0.
inline __device__ double bessel_jn(double x, double order) {
    const int n = int(order);
    return absolute(x) <= 0x1p-12 ? bessel_series(x, n) : ::jn(n, x);
}

// Y(k + 1) = 2k / x Y(k) - Y(k - 1), which is stable upwards, until it is minus infinity.
inline __device__ double bessel_yn(double x, double order) {
    const int n = int(order);
    double before = ::y0(x), value = n == 0 ? before : ::y1(x);
    for (int k = 1; k < n && is_finite(value); ++k) {
        const double next = 2.0 * k / x * value - before;
        before = value, value = next;
    }
    return value;
}

// Recurrences lose digits, so those of f32 are computed in f64.
__device__ __forceinline__ float bessel_jn(float x, float order) {
    return float(bessel_jn(double(x), double(order)));
}
__device__ __forceinline__ float bessel_yn(float x, float order) {
    return float(bessel_yn(double(x), double(order)));
}

__device__ __forceinline__ float next_after(float a, float b) { return ::nextafterf(a, b); }
__device__ __forceinline__ double next_after(double a, double b) { return ::nextafter(a, b); }

// All powers of two that do not give 0 or infinity are far within.
template <class T> __device__ __forceinline__ int exponent_in_range(T exponent) {
    return exponent < T(-10000) ? -10000 : exponent > T(10000) ? 10000 : int(exponent);
}
__device__ __forceinline__ float load_exponent(float x, float exponent) {
    return ::ldexpf(x, exponent_in_range(exponent));
}
__device__ __forceinline__ double load_exponent(double x, double exponent) {
    return ::ldexp(x, exponent_in_range(exponent));
}

__device__ __forceinline__ float split_exponent(float x, int *exponent) {
    return ::frexpf(x, exponent);
}
__device__ __forceinline__ double split_exponent(double x, int *exponent) {
    return ::frexp(x, exponent);
}
template <class T> __device__ __forceinline__ T mantissa(T x) {
    int exponent;
    return is_finite(x) ? split_exponent(x, &exponent) : x;
}
template <class T> __device__ __forceinline__ int32_t exponent(T x) {
    int exponent = 0;
    if (is_finite(x)) {
        split_exponent(x, &exponent);
    }
    return exponent;
}
template <class T> __device__ __forceinline__ T fraction(T x) {
    // Infinity less itself is NaN.
    return copy_sign(is_finite(x) || is_nan(x) ? x - truncate(x) : T(0), x);
}

} // namespace gpu
