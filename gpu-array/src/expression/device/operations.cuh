// The operations of expressions on the device. Each gives the bits of the host's evaluator (op.rs
// and the host's definitions specify them), but for the mathematical functions at the end, which
// keep to a bound.
//
// Sums, products and quotients of floats are intrinsics that round once, since a plain a * b + c
// becomes one operation on the device.
#pragma once
#include "tuple.cuh"

namespace gpu {

template <class T> constexpr bool is_float = same<T, float>::value || same<T, double>::value;
template <class T> constexpr bool is_signed = T(-1) < T(0);
template <> constexpr bool is_signed<bool> = false;

// The unsigned type in which integers of type T are calculated: it wraps, and is not shorter than
// int.
template <int BYTES> struct Unsigned {
    typedef uint32_t type;
};
template <> struct Unsigned<8> {
    typedef uint64_t type;
};
template <class T> using Wrapping = typename Unsigned<sizeof(T)>::type;

// The limits of an integer type.
template <class T> constexpr T highest() {
    return is_signed<T> ? T(~(1ull << (8 * sizeof(T) - 1))) : T(~0ull);
}
template <class T> constexpr T lowest() { return is_signed<T> ? T(-highest<T>() - 1) : T(0); }

template <class To, class From> __device__ __forceinline__ To cast(From x) {
    if constexpr (same<To, bool>::value) {
        return x != From(0);
    } else if constexpr (is_float<From> && !is_float<To>) {
        if (x != x) return To(0);
        if (x <= From(lowest<To>())) return lowest<To>();
        if (x >= From(highest<To>())) return highest<To>();
        return To(x);
    } else {
        return To(x);
    }
}

template <class T> __device__ __forceinline__ T where(bool condition, T a, T b) {
    return condition ? a : b;
}

// Arithmetic. Integers wrap.
#define GPU_ARITHMETIC(name, symbol, intrinsic)                                                    \
    __device__ __forceinline__ float name(float a, float b) { return __f##intrinsic##_rn(a, b); }  \
    __device__ __forceinline__ double name(double a, double b) {                                   \
        return __d##intrinsic##_rn(a, b);                                                          \
    }                                                                                              \
    template <class T> __device__ __forceinline__ T name(T a, T b) {                               \
        return T(Wrapping<T>(a) symbol Wrapping<T>(b));                                            \
    }
GPU_ARITHMETIC(add, +, add)
GPU_ARITHMETIC(subtract, -, sub)
GPU_ARITHMETIC(multiply, *, mul)
#undef GPU_ARITHMETIC
__device__ __forceinline__ float divide(float a, float b) { return __fdiv_rn(a, b); }
__device__ __forceinline__ double divide(double a, double b) { return __ddiv_rn(a, b); }
__device__ __forceinline__ float sqrt(float x) { return __fsqrt_rn(x); }
__device__ __forceinline__ double sqrt(double x) { return __dsqrt_rn(x); }
__device__ __forceinline__ float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ __forceinline__ double fma(double a, double b, double c) { return __fma_rn(a, b, c); }

template <class T> __device__ __forceinline__ T negate(T x) {
    if constexpr (is_float<T>) {
        return -x;
    } else {
        return T(Wrapping<T>(0) - Wrapping<T>(x));
    }
}
__device__ __forceinline__ float absolute(float x) { return ::fabsf(x); }
__device__ __forceinline__ double absolute(double x) { return ::fabs(x); }
template <class T> __device__ __forceinline__ T absolute(T x) {
    if constexpr (is_signed<T>) {
        return x < T(0) ? negate(x) : x;
    } else {
        return x;
    }
}
template <class T> __device__ __forceinline__ T sign(T x) {
    if constexpr (is_float<T>) {
        if (x != x) return x;
    }
    if constexpr (is_float<T> || is_signed<T>) {
        if (x < T(0)) return T(-1);
    }
    return x > T(0) ? T(1) : T(0);
}
template <class T> __device__ __forceinline__ T invert(T x) { return T(~Wrapping<T>(x)); }
template <> __device__ __forceinline__ bool invert(bool x) { return !x; }

// C's remainder, and NumPy's quotient and remainder.
__device__ __forceinline__ float fmod(float a, float b) { return ::fmodf(a, b); }
__device__ __forceinline__ double fmod(double a, double b) { return ::fmod(a, b); }
template <class T> __device__ __forceinline__ T fmod(T a, T b) {
    if (b == T(0)) return T(0);
    if constexpr (is_signed<T>) {
        if (b == T(-1)) return T(0); // the least number by -1 would overflow
    }
    return T(a % b);
}
__device__ __forceinline__ float floor(float x) { return ::floorf(x); }
__device__ __forceinline__ double floor(double x) { return ::floor(x); }
__device__ __forceinline__ float with_sign_of(float x, float sign) { return ::copysignf(x, sign); }
__device__ __forceinline__ double with_sign_of(double x, double sign) {
    return ::copysign(x, sign);
}
template <class T> __device__ __forceinline__ T remainder(T a, T b) {
    T rest = fmod(a, b);
    if constexpr (is_float<T>) {
        if (b == T(0)) return rest;
        if (rest == T(0)) return with_sign_of(T(0), b);
        return (b < T(0)) != (rest < T(0)) ? add(rest, b) : rest;
    } else if constexpr (is_signed<T>) {
        return rest != T(0) && (rest < T(0)) != (b < T(0)) ? T(rest + b) : rest;
    } else {
        return rest;
    }
}
template <class T> __device__ __forceinline__ T floor_divide(T a, T b) {
    if constexpr (is_float<T>) {
        if (b == T(0)) return divide(a, b);
        T rest = fmod(a, b);
        T quotient = divide(subtract(a, rest), b);
        if (rest != T(0) && (b < T(0)) != (rest < T(0))) quotient = subtract(quotient, T(1));
        if (quotient == T(0)) return with_sign_of(T(0), divide(a, b));
        T below = floor(quotient);
        return subtract(quotient, below) > T(0.5) ? add(below, T(1)) : below;
    } else {
        if (b == T(0)) return T(0);
        if constexpr (is_signed<T>) {
            if (b == T(-1)) return negate(a);
            T quotient = T(a / b);
            return (a % b != 0) && ((a < T(0)) != (b < T(0))) ? T(quotient - 1) : quotient;
        } else {
            return T(a / b);
        }
    }
}

// Minima and maxima: a comparison chooses one of the two values, the first one if they are equal.
template <class T> __device__ __forceinline__ T minimum(T a, T b) {
    return a <= b || a != a ? a : b;
}
template <class T> __device__ __forceinline__ T maximum(T a, T b) {
    return a >= b || a != a ? a : b;
}
template <class T> __device__ __forceinline__ T fmin(T a, T b) { return a <= b || b != b ? a : b; }
template <class T> __device__ __forceinline__ T fmax(T a, T b) { return a >= b || b != b ? a : b; }

template <class T> __device__ __forceinline__ T bit_and(T a, T b) { return T(a & b); }
template <class T> __device__ __forceinline__ T bit_or(T a, T b) { return T(a | b); }
template <class T> __device__ __forceinline__ T bit_xor(T a, T b) { return T(a ^ b); }
template <class T> __device__ __forceinline__ T shift_left(T a, T b) {
    return uint64_t(b) < 8 * sizeof(T) ? T(Wrapping<T>(a) << uint32_t(b)) : T(0);
}
template <class T> __device__ __forceinline__ T shift_right(T a, T b) {
    return uint64_t(b) < 8 * sizeof(T) ? T(a >> uint32_t(b)) : T(0);
}

template <class T> __device__ __forceinline__ bool equal(T a, T b) { return a == b; }
template <class T> __device__ __forceinline__ bool not_equal(T a, T b) { return a != b; }
template <class T> __device__ __forceinline__ bool less(T a, T b) { return a < b; }
template <class T> __device__ __forceinline__ bool less_equal(T a, T b) { return a <= b; }
template <class T> __device__ __forceinline__ bool greater(T a, T b) { return a > b; }
template <class T> __device__ __forceinline__ bool greater_equal(T a, T b) { return a >= b; }
template <class T> __device__ __forceinline__ bool is_nan(T x) { return x != x; }
// A number less itself is 0, infinity less itself and NaN less itself are NaN.
template <class T> __device__ __forceinline__ bool is_finite(T x) { return subtract(x, x) == T(0); }

// Functions that round to integers.
#define GPU_FUNCTION(name, function)                                                               \
    __device__ __forceinline__ float name(float x) { return ::function##f(x); }                    \
    __device__ __forceinline__ double name(double x) { return ::function(x); }
GPU_FUNCTION(ceil, ceil)
GPU_FUNCTION(round, rint)
GPU_FUNCTION(truncate, trunc)

// Functions that keep to a bound.
GPU_FUNCTION(exp, exp)
GPU_FUNCTION(exp2, exp2)
GPU_FUNCTION(expm1, expm1)
GPU_FUNCTION(log, log)
GPU_FUNCTION(log2, log2)
GPU_FUNCTION(log10, log10)
GPU_FUNCTION(log1p, log1p)
// The reduction of large angles is long in machine code. It stands in a function of its own, once.
// The library's function begins with the same comparison, and the rest of it is short behind this
// one.
#define GPU_ANGLE(name)                                                                            \
    __device__ __noinline__ float large_##name(float x) { return ::name##f(x); }                   \
    __device__ __forceinline__ float name(float x) {                                               \
        return ::fabsf(x) >= 105615.0f ? large_##name(x) : ::name##f(x);                           \
    }                                                                                              \
    __device__ __forceinline__ double name(double x) { return ::name(x); }
GPU_ANGLE(sin)
GPU_ANGLE(cos)
GPU_ANGLE(tan)
#undef GPU_ANGLE
GPU_FUNCTION(asin, asin)
GPU_FUNCTION(acos, acos)
GPU_FUNCTION(atan, atan)
GPU_FUNCTION(sinh, sinh)
GPU_FUNCTION(cosh, cosh)
GPU_FUNCTION(tanh, tanh)
GPU_FUNCTION(cbrt, cbrt)
#undef GPU_FUNCTION
#define GPU_FUNCTION(name, function)                                                               \
    __device__ __forceinline__ float name(float a, float b) { return ::function##f(a, b); }        \
    __device__ __forceinline__ double name(double a, double b) { return ::function(a, b); }
GPU_FUNCTION(atan2, atan2)
GPU_FUNCTION(hypot, hypot)
GPU_FUNCTION(power, pow)
#undef GPU_FUNCTION

// Integers to an integer power, by squaring.
template <class T> __device__ __forceinline__ T power(T base, T exponent) {
    if constexpr (is_signed<T>) {
        if (exponent < T(0)) {
            if (base == T(1)) return base;
            return base == T(-1) ? (exponent & 1 ? base : T(1)) : T(0);
        }
    }
    Wrapping<T> result = 1, square = Wrapping<T>(base);
    for (uint64_t left = uint64_t(exponent); left != 0; left >>= 1) {
        if (left & 1) result *= square;
        square *= square;
    }
    return T(result);
}

} // namespace gpu
