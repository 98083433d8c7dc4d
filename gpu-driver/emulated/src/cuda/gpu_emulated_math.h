// The usual mathematical functions: of the C library, for double, float (with and without f) and, as double, integers.
#pragma once

#define GPU_EMULATED_UNARY(name)                                                                                             \
    extern "C" double name(double) noexcept;                                                                                 \
    extern "C" float name##f(float) noexcept;                                                                                \
    GPU_EMULATED_INLINE float name(float x) { return name##f(x); }                                                           \
    template <class I> GPU_EMULATED_INLINE gpu_emulated::enable_if<gpu_emulated::is_integer<I>, double> name(I x) {          \
        return name((double)x);                                                                                              \
    }
GPU_EMULATED_UNARY(acos)
GPU_EMULATED_UNARY(acosh)
GPU_EMULATED_UNARY(asin)
GPU_EMULATED_UNARY(asinh)
GPU_EMULATED_UNARY(atan)
GPU_EMULATED_UNARY(atanh)
GPU_EMULATED_UNARY(cbrt)
GPU_EMULATED_UNARY(ceil)
GPU_EMULATED_UNARY(cos)
GPU_EMULATED_UNARY(cosh)
GPU_EMULATED_UNARY(erf)
GPU_EMULATED_UNARY(erfc)
GPU_EMULATED_UNARY(exp)
GPU_EMULATED_UNARY(exp10)
GPU_EMULATED_UNARY(exp2)
GPU_EMULATED_UNARY(expm1)
GPU_EMULATED_UNARY(fabs)
GPU_EMULATED_UNARY(floor)
GPU_EMULATED_UNARY(j0)
GPU_EMULATED_UNARY(j1)
GPU_EMULATED_UNARY(lgamma)
GPU_EMULATED_UNARY(log)
GPU_EMULATED_UNARY(log10)
GPU_EMULATED_UNARY(log1p)
GPU_EMULATED_UNARY(log2)
GPU_EMULATED_UNARY(logb)
GPU_EMULATED_UNARY(nearbyint)
GPU_EMULATED_UNARY(rint)
GPU_EMULATED_UNARY(round)
GPU_EMULATED_UNARY(sin)
GPU_EMULATED_UNARY(sinh)
GPU_EMULATED_UNARY(sqrt)
GPU_EMULATED_UNARY(tan)
GPU_EMULATED_UNARY(tanh)
GPU_EMULATED_UNARY(tgamma)
GPU_EMULATED_UNARY(trunc)
GPU_EMULATED_UNARY(y0)
GPU_EMULATED_UNARY(y1)
#undef GPU_EMULATED_UNARY

// With arguments of two types both become double.
#define GPU_EMULATED_MIXED(name)                                                                                             \
    template <class A, class B>                                                                                              \
    GPU_EMULATED_INLINE                                                                                                      \
        gpu_emulated::enable_if<gpu_emulated::is_number<A> && gpu_emulated::is_number<B> &&                                  \
                                    (!gpu_emulated::is_same<A, B> || gpu_emulated::is_integer<A>),                           \
                                double>                                                                                      \
        name(A a, B b) {                                                                                                     \
        return name((double)a, (double)b);                                                                                   \
    }
#define GPU_EMULATED_BINARY(name)                                                                                            \
    extern "C" double name(double, double) noexcept;                                                                         \
    extern "C" float name##f(float, float) noexcept;                                                                         \
    GPU_EMULATED_INLINE float name(float a, float b) { return name##f(a, b); }                                               \
    GPU_EMULATED_MIXED(name)
GPU_EMULATED_BINARY(atan2)
GPU_EMULATED_BINARY(copysign)
GPU_EMULATED_BINARY(fdim)
GPU_EMULATED_BINARY(fmod)
GPU_EMULATED_BINARY(hypot)
GPU_EMULATED_BINARY(nextafter)
GPU_EMULATED_BINARY(pow)
GPU_EMULATED_BINARY(remainder)
#undef GPU_EMULATED_BINARY

namespace gpu_emulated {

// The device takes -0 to be less than 0; the C library leaves that open.
template <class F> GPU_EMULATED_INLINE F minimum(F a, F b) {
    if (a != a) return b;
    if (a == b) return __builtin_signbit(a) ? a : b;
    return b < a ? b : a;
}
template <class F> GPU_EMULATED_INLINE F maximum(F a, F b) {
    if (a != a) return b;
    if (a == b) return __builtin_signbit(a) ? b : a;
    return a < b ? b : a;
}

} // namespace gpu_emulated

GPU_EMULATED_INLINE float fminf(float a, float b) { return gpu_emulated::minimum(a, b); }
GPU_EMULATED_INLINE float fmaxf(float a, float b) { return gpu_emulated::maximum(a, b); }
#define GPU_EMULATED_EXTREME(name, function)                                                                                 \
    GPU_EMULATED_INLINE double name(double a, double b) { return gpu_emulated::function(a, b); }                             \
    GPU_EMULATED_INLINE float name(float a, float b) { return gpu_emulated::function(a, b); }
GPU_EMULATED_EXTREME(fmin, minimum)
GPU_EMULATED_EXTREME(fmax, maximum)
GPU_EMULATED_EXTREME(min, minimum)
GPU_EMULATED_EXTREME(max, maximum)
#undef GPU_EMULATED_EXTREME
GPU_EMULATED_MIXED(fmin)
GPU_EMULATED_MIXED(fmax)
#undef GPU_EMULATED_MIXED
GPU_EMULATED_INLINE double min(float a, double b) { return gpu_emulated::minimum((double)a, b); }
GPU_EMULATED_INLINE double min(double a, float b) { return gpu_emulated::minimum(a, (double)b); }
GPU_EMULATED_INLINE double max(float a, double b) { return gpu_emulated::maximum((double)a, b); }
GPU_EMULATED_INLINE double max(double a, float b) { return gpu_emulated::maximum(a, (double)b); }

extern "C" double fma(double, double, double) noexcept;
extern "C" float fmaf(float, float, float) noexcept;
GPU_EMULATED_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

// Functions of a number and an integer, and those that return an integer.
#define GPU_EMULATED_SCALE(name, I)                                                                                          \
    extern "C" double name(double, I) noexcept;                                                                              \
    extern "C" float name##f(float, I) noexcept;                                                                             \
    GPU_EMULATED_INLINE float name(float x, I n) { return name##f(x, n); }
GPU_EMULATED_SCALE(ldexp, int)
GPU_EMULATED_SCALE(scalbn, int)
GPU_EMULATED_SCALE(scalbln, long)
#undef GPU_EMULATED_SCALE
#define GPU_EMULATED_ORDER(name)                                                                                             \
    extern "C" double name(int, double) noexcept;                                                                            \
    extern "C" float name##f(int, float) noexcept;                                                                           \
    GPU_EMULATED_INLINE float name(int n, float x) { return name##f(n, x); }
GPU_EMULATED_ORDER(jn)
GPU_EMULATED_ORDER(yn)
#undef GPU_EMULATED_ORDER
// These saturate like the casts, and return the device's values for what has no exponent.
#define GPU_EMULATED_TO_INTEGER(F, suffix)                                                                                   \
    GPU_EMULATED_INLINE long lrint##suffix(F x) { return gpu_emulated::to_integer<long, gpu_emulated::Toward::Nearest>(x); } \
    GPU_EMULATED_INLINE long long llrint##suffix(F x) {                                                                      \
        return gpu_emulated::to_integer<long long, gpu_emulated::Toward::Nearest>(x);                                        \
    }                                                                                                                        \
    GPU_EMULATED_INLINE long lround##suffix(F x) {                                                                           \
        return gpu_emulated::to_integer<long, gpu_emulated::Toward::Zero>(round(x));                                         \
    }                                                                                                                        \
    GPU_EMULATED_INLINE long long llround##suffix(F x) {                                                                     \
        return gpu_emulated::to_integer<long long, gpu_emulated::Toward::Zero>(round(x));                                    \
    }                                                                                                                        \
    GPU_EMULATED_INLINE int ilogb##suffix(F x) {                                                                             \
        if (x == 0 || x != x) return -__INT_MAX__ - 1;                                                                       \
        return __builtin_isinf(x) ? __INT_MAX__ : __builtin_ilogb((double)x);                                                \
    }
GPU_EMULATED_TO_INTEGER(double, )
GPU_EMULATED_TO_INTEGER(float, )
GPU_EMULATED_TO_INTEGER(float, f)
#undef GPU_EMULATED_TO_INTEGER
GPU_EMULATED_INLINE double nan(const char *) { return __builtin_nan(""); }
GPU_EMULATED_INLINE float nanf(const char *) { return __builtin_nanf(""); }

#define GPU_EMULATED_CLASSIFY(name, expression)                                                                              \
    GPU_EMULATED_INLINE bool name(float x) { return expression; }                                                            \
    GPU_EMULATED_INLINE bool name(double x) { return expression; }
GPU_EMULATED_CLASSIFY(isnan, x != x)
GPU_EMULATED_CLASSIFY(isinf, __builtin_isinf(x) != 0)
GPU_EMULATED_CLASSIFY(isfinite, __builtin_isfinite(x) != 0)
GPU_EMULATED_CLASSIFY(signbit, __builtin_signbit(x) != 0)
#undef GPU_EMULATED_CLASSIFY

// Functions with a second result: the store to the caller's memory is an access like any other.
#define GPU_EMULATED_SECOND_RESULT(F, name, builtin, Second)                                                                 \
    GPU_EMULATED_INLINE F name(F x, Second *second) {                                                                        \
        Second value;                                                                                                        \
        F result = builtin(x, &value);                                                                                       \
        *second = value;                                                                                                     \
        return result;                                                                                                       \
    }
GPU_EMULATED_SECOND_RESULT(double, frexp, __builtin_frexp, int)
GPU_EMULATED_SECOND_RESULT(float, frexp, __builtin_frexpf, int)
GPU_EMULATED_SECOND_RESULT(float, frexpf, __builtin_frexpf, int)
GPU_EMULATED_SECOND_RESULT(double, modf, __builtin_modf, double)
GPU_EMULATED_SECOND_RESULT(float, modf, __builtin_modff, float)
GPU_EMULATED_SECOND_RESULT(float, modff, __builtin_modff, float)
#undef GPU_EMULATED_SECOND_RESULT
#define GPU_EMULATED_REMQUO(F, name, builtin)                                                                                \
    GPU_EMULATED_INLINE F name(F x, F y, int *quotient) {                                                                    \
        int value;                                                                                                           \
        F result = builtin(x, y, &value);                                                                                    \
        *quotient = value;                                                                                                   \
        return result;                                                                                                       \
    }
GPU_EMULATED_REMQUO(double, remquo, __builtin_remquo)
GPU_EMULATED_REMQUO(float, remquo, __builtin_remquof)
GPU_EMULATED_REMQUO(float, remquof, __builtin_remquof)
#undef GPU_EMULATED_REMQUO
