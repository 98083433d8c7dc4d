// cuComplex.h: CUDA's complex numbers as pairs, with its functions by name.
#pragma once

typedef float2 cuFloatComplex;
typedef float2 cuComplex;
typedef double2 cuDoubleComplex;

// Quotients and absolute values scale by the larger part, so that they overflow only where the
// result does.
#define GPU_COMPLEX_FUNCTIONS(Complex, Real, suffix, scalar)                                       \
    static __device__ __forceinline__ Real cuCreal##suffix(Complex a) { return a.x; }              \
    static __device__ __forceinline__ Real cuCimag##suffix(Complex a) { return a.y; }              \
    static __device__ __forceinline__ Complex cuConj##suffix(Complex a) {                          \
        a.y = -a.y;                                                                                \
        return a;                                                                                  \
    }                                                                                              \
    static __device__ __forceinline__ Complex cuCadd##suffix(Complex a, Complex b) {               \
        a.x += b.x;                                                                                \
        a.y += b.y;                                                                                \
        return a;                                                                                  \
    }                                                                                              \
    static __device__ __forceinline__ Complex cuCsub##suffix(Complex a, Complex b) {               \
        a.x -= b.x;                                                                                \
        a.y -= b.y;                                                                                \
        return a;                                                                                  \
    }                                                                                              \
    static __device__ __forceinline__ Complex cuCmul##suffix(Complex a, Complex b) {               \
        Complex c;                                                                                 \
        c.x = a.x * b.x - a.y * b.y;                                                               \
        c.y = a.x * b.y + a.y * b.x;                                                               \
        return c;                                                                                  \
    }                                                                                              \
    static __device__ __forceinline__ Complex cuCdiv##suffix(Complex a, Complex b) {               \
        const Real scale = Real(1) / (fabs##scalar(b.x) + fabs##scalar(b.y));                      \
        const Real ax = a.x * scale, ay = a.y * scale, bx = b.x * scale, by = b.y * scale;         \
        const Real over = Real(1) / (bx * bx + by * by);                                           \
        Complex c;                                                                                 \
        c.x = (ax * bx + ay * by) * over;                                                          \
        c.y = (ay * bx - ax * by) * over;                                                          \
        return c;                                                                                  \
    }                                                                                              \
    static __device__ __forceinline__ Real cuCabs##suffix(Complex a) {                             \
        return hypot##scalar(a.x, a.y);                                                            \
    }                                                                                              \
    static __device__ __forceinline__ Complex cuCfma##suffix(Complex a, Complex b, Complex c) {    \
        c.x = fma##scalar(-a.y, b.y, fma##scalar(a.x, b.x, c.x));                                  \
        c.y = fma##scalar(a.y, b.x, fma##scalar(a.x, b.y, c.y));                                   \
        return c;                                                                                  \
    }
GPU_COMPLEX_FUNCTIONS(cuFloatComplex, float, f, f)
GPU_COMPLEX_FUNCTIONS(cuDoubleComplex, double, , )
#undef GPU_COMPLEX_FUNCTIONS

static __device__ __forceinline__ cuFloatComplex make_cuFloatComplex(float x, float y) {
    return make_float2(x, y);
}
static __device__ __forceinline__ cuFloatComplex make_cuComplex(float x, float y) {
    return make_float2(x, y);
}
static __device__ __forceinline__ cuDoubleComplex make_cuDoubleComplex(double x, double y) {
    return make_double2(x, y);
}
static __device__ __forceinline__ cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex a) {
    return make_double2(a.x, a.y);
}
static __device__ __forceinline__ cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex a) {
    return make_float2(float(a.x), float(a.y));
}
