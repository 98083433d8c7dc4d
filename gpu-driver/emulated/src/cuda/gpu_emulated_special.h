// The mathematical functions that CUDA has and the C library has not, and the fast ones.
//
// Nothing here is exact to the bit with the device, and the fast ones are better than there; where a fast one is wrong in kind
// (a result for arguments that it does not take), it is as wrong here.
#pragma once

namespace gpu_emulated {

constexpr double PI = 3.14159265358979323846;
constexpr double SQUARE_ROOT_OF_2 = 1.41421356237309504880;
constexpr double TWO_BY_SQUARE_ROOT_OF_PI = 1.12837916709551257390;

// sin(pi x): the remainder is exact, so only the last product rounds.
GPU_EMULATED_QUIET inline double sinpi(double x) {
    double r = __builtin_remainder(x, 2.0);
    if (r != r) return r;
    if (r == 0 || r == 1 || r == -1) return __builtin_copysign(0.0, x);
    double magnitude = __builtin_fabs(r);
    if (magnitude > 0.5) magnitude = 1 - magnitude;
    double sine = magnitude > 0.25 ? __builtin_cos(PI * (0.5 - magnitude)) : __builtin_sin(PI * magnitude);
    return __builtin_copysign(sine, r);
}
GPU_EMULATED_QUIET inline double cospi(double x) {
    double r = __builtin_fabs(__builtin_remainder(x, 2.0));
    bool negative = r > 0.5;
    if (negative) r = 1 - r;
    double cosine = r > 0.25 ? __builtin_sin(PI * (0.5 - r)) : __builtin_cos(PI * r);
    return negative ? -cosine : cosine;
}

// The inverse of the error function near 0, by Halley's method from its series' first terms.
GPU_EMULATED_QUIET inline double erfinv_center(double y) {
    double x = y / TWO_BY_SQUARE_ROOT_OF_PI * (1 + 0.26179938779914943654 * y * y);
    for (int i = 0; i < 4; i++) {
        double step = (__builtin_erf(x) - y) / (TWO_BY_SQUARE_ROOT_OF_PI * __builtin_exp(-x * x));
        x -= step / (1 + x * step);
    }
    return x;
}
// The inverse of the complement, 0 < y <= 1/2, from Abramowitz and Stegun 26.2.22.
GPU_EMULATED_QUIET inline double erfcinv_tail(double y) {
    double t = __builtin_sqrt(-2 * __builtin_log(y / 2));
    double x = (t - (2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481))) / SQUARE_ROOT_OF_2;
    for (int i = 0; i < 4; i++) {
        // Relative to y, because both sides may be far below the smallest normal number's square root.
        double slope = TWO_BY_SQUARE_ROOT_OF_PI * (__builtin_exp(-x * x) / y);
        if (slope == 0) break;
        double step = (1 - __builtin_erfc(x) / y) / slope;
        x -= step / (1 + x * step);
    }
    return x;
}
GPU_EMULATED_QUIET inline double erfcinv(double y) {
    if (!(y >= 0 && y <= 2)) return __builtin_nan("");
    if (y == 0) return __builtin_inf();
    if (y == 2) return -__builtin_inf();
    if (y > 1.5) return -erfcinv_tail(2 - y);
    if (y < 0.5) return erfcinv_tail(y);
    return erfinv_center(1 - y);
}
GPU_EMULATED_QUIET inline double erfinv(double y) {
    if (!(y >= -1 && y <= 1)) return __builtin_nan("");
    if (__builtin_fabs(y) <= 0.5) return y == 0 ? y : erfinv_center(y);
    return __builtin_copysign(erfcinv(1 - __builtin_fabs(y)), y);
}

// exp(x^2) erfc(x), with the square's rounding error carried along; far out its asymptotic series.
GPU_EMULATED_QUIET inline double erfcx(double x) {
    if (x > 25) {
        double inverse = 1 / (2 * x * x), term = 1, sum = 1;
        for (int n = 1; n < 10; n++) sum += term *= -(2 * n - 1) * inverse;
        return sum / x * (TWO_BY_SQUARE_ROOT_OF_PI / 2);
    }
    double square = x * x, error = __builtin_fma(x, x, -square);
    if (square > 720) return __builtin_inf();
    double power = __builtin_exp(square);
    return (power + power * error) * __builtin_erfc(x);
}

// The Euclidean length without overflow on the way.
GPU_EMULATED_QUIET inline double length(const double *x, int n) {
    double largest = 0, sum = 0;
    for (int i = 0; i < n; i++) {
        if (__builtin_isinf(x[i])) return __builtin_inf();
        largest = __builtin_fmax(largest, __builtin_fabs(x[i]));
        if (x[i] != x[i]) sum = x[i];
    }
    if (largest == 0 || sum != sum) return largest + sum;
    int exponent = __builtin_ilogb(largest);
    for (int i = 0; i < n; i++) {
        double scaled = __builtin_scalbn(x[i], -exponent);
        sum += scaled * scaled;
    }
    return __builtin_scalbn(__builtin_sqrt(sum), exponent);
}

} // namespace gpu_emulated

// Each for double, for float, and for float with f.
#define GPU_EMULATED_SPECIAL_1(name, expression)                                                                             \
    GPU_EMULATED_INLINE double name(double x) { return expression; }                                                         \
    GPU_EMULATED_INLINE float name##f(float single) {                                                                        \
        double x = single;                                                                                                   \
        return (float)(expression);                                                                                          \
    }                                                                                                                        \
    GPU_EMULATED_INLINE float name(float x) { return name##f(x); }
GPU_EMULATED_SPECIAL_1(rsqrt, 1 / __builtin_sqrt(x))
GPU_EMULATED_SPECIAL_1(rcbrt, 1 / __builtin_cbrt(x))
GPU_EMULATED_SPECIAL_1(sinpi, gpu_emulated::sinpi(x))
GPU_EMULATED_SPECIAL_1(cospi, gpu_emulated::cospi(x))
GPU_EMULATED_SPECIAL_1(erfinv, gpu_emulated::erfinv(x))
GPU_EMULATED_SPECIAL_1(erfcinv, gpu_emulated::erfcinv(x))
GPU_EMULATED_SPECIAL_1(erfcx, gpu_emulated::erfcx(x))
GPU_EMULATED_SPECIAL_1(normcdf, 0.5 * __builtin_erfc(-x / gpu_emulated::SQUARE_ROOT_OF_2))
GPU_EMULATED_SPECIAL_1(normcdfinv, -gpu_emulated::SQUARE_ROOT_OF_2 *gpu_emulated::erfcinv(2 * x))
#undef GPU_EMULATED_SPECIAL_1

#define GPU_EMULATED_SPECIAL_LENGTH(F, suffix)                                                                               \
    GPU_EMULATED_INLINE F rhypot##suffix(F a, F b) { return (F)(1 / __builtin_hypot((double)a, (double)b)); }                \
    GPU_EMULATED_INLINE F norm3d##suffix(F a, F b, F c) {                                                                    \
        double values[] = {(double)a, (double)b, (double)c};                                                                 \
        return (F)gpu_emulated::length(values, 3);                                                                           \
    }                                                                                                                        \
    GPU_EMULATED_INLINE F norm4d##suffix(F a, F b, F c, F d) {                                                               \
        double values[] = {(double)a, (double)b, (double)c, (double)d};                                                      \
        return (F)gpu_emulated::length(values, 4);                                                                           \
    }                                                                                                                        \
    GPU_EMULATED_INLINE F rnorm3d##suffix(F a, F b, F c) {                                                                   \
        double values[] = {(double)a, (double)b, (double)c};                                                                 \
        return (F)(1 / gpu_emulated::length(values, 3));                                                                     \
    }                                                                                                                        \
    GPU_EMULATED_INLINE F rnorm4d##suffix(F a, F b, F c, F d) {                                                              \
        double values[] = {(double)a, (double)b, (double)c, (double)d};                                                      \
        return (F)(1 / gpu_emulated::length(values, 4));                                                                     \
    }
GPU_EMULATED_SPECIAL_LENGTH(double, )
GPU_EMULATED_SPECIAL_LENGTH(float, f)
#undef GPU_EMULATED_SPECIAL_LENGTH

#define GPU_EMULATED_SINE_AND_COSINE(F, name, sine, cosine)                                                                  \
    GPU_EMULATED_INLINE void name(F x, F *s, F *c) {                                                                         \
        F of_x = sine(x);                                                                                                    \
        *c = cosine(x);                                                                                                      \
        *s = of_x;                                                                                                           \
    }
GPU_EMULATED_SINE_AND_COSINE(double, sincos, __builtin_sin, __builtin_cos)
GPU_EMULATED_SINE_AND_COSINE(float, sincos, __builtin_sinf, __builtin_cosf)
GPU_EMULATED_SINE_AND_COSINE(float, sincosf, __builtin_sinf, __builtin_cosf)
GPU_EMULATED_SINE_AND_COSINE(float, __sincosf, __builtin_sinf, __builtin_cosf)
GPU_EMULATED_SINE_AND_COSINE(double, sincospi, sinpi, cospi)
GPU_EMULATED_SINE_AND_COSINE(float, sincospi, sinpif, cospif)
GPU_EMULATED_SINE_AND_COSINE(float, sincospif, sinpif, cospif)
#undef GPU_EMULATED_SINE_AND_COSINE

GPU_EMULATED_INLINE float __fdividef(float x, float y) {
    // The fast division is x times the reciprocal of y, which is taken for 0 where it would be subnormal.
    float magnitude = __builtin_fabsf(y);
    if (magnitude > 0x1p126f && magnitude < __builtin_inff()) return x * __builtin_copysignf(0.0f, y);
    return x / y;
}
GPU_EMULATED_INLINE float fdividef(float x, float y) { return x / y; }
GPU_EMULATED_INLINE double fdivide(double x, double y) { return x / y; }
GPU_EMULATED_INLINE float fdivide(float x, float y) { return x / y; }
GPU_EMULATED_INLINE float __expf(float x) { return __builtin_expf(x); }
GPU_EMULATED_INLINE float __exp10f(float x) { return __builtin_exp10f(x); }
GPU_EMULATED_INLINE float __logf(float x) { return __builtin_logf(x); }
GPU_EMULATED_INLINE float __log2f(float x) { return __builtin_log2f(x); }
GPU_EMULATED_INLINE float __log10f(float x) { return __builtin_log10f(x); }
// Not a number for negative x, whatever y is.
GPU_EMULATED_INLINE float __powf(float x, float y) { return __builtin_exp2f(y * __builtin_log2f(x)); }
GPU_EMULATED_INLINE float __sinf(float x) { return __builtin_sinf(x); }
GPU_EMULATED_INLINE float __cosf(float x) { return __builtin_cosf(x); }
GPU_EMULATED_INLINE float __tanf(float x) { return __builtin_tanf(x); }
GPU_EMULATED_INLINE float __tanhf(float x) { return __builtin_tanhf(x); }
// Not a number becomes 0.
GPU_EMULATED_INLINE float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }
