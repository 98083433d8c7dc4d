// The part that cuda_fp16.h and cuda_bf16.h share, for GPUs: numbers of 16 bits under CUDA's names.
// (The emulated device has headers of its own, with the same names and more.)
//
// Sums, differences, products, quotients and square roots are computed in float and rounded, which
// rounds them correctly: float has more than twice the digits. Other functions are those of float,
// rounded once more. Conversions from integers and doubles round once.
#pragma once
#include "half.cuh"

namespace gpu {
namespace small {

// a b + c, rounded to odd: the two directions differ where digits were lost.
static __device__ __forceinline__ float fused(float a, float b, float c) {
    const double down = __fma_rd(double(a), double(b), double(c));
    const double up = __fma_ru(double(a), double(b), double(c));
    double sum = __fma_rz(double(a), double(b), double(c));
    if (down == down && down != up) {
        sum = __longlong_as_double(__double_as_longlong(sum) | 1);
    } else if (sum == 0) {
        sum = __fma_rn(double(a), double(b), double(c));
    }
    return half_parts::odd(sum);
}

// Adds within the aligned word that holds the number.
template <class T> static __device__ __forceinline__ T add_in_word(T *address, T value) {
    const size_t place = reinterpret_cast<size_t>(address);
    unsigned *word = reinterpret_cast<unsigned *>(place & ~size_t(3));
    const int shift = int(place & 2) * 8;
    unsigned seen = *(volatile unsigned *)word, before;
    T old;
    do {
        before = seen;
        old.bits = (unsigned short)(before >> shift);
        const unsigned sum = (old + value).bits;
        seen = atomicCAS(word, before, (before & ~(0xffffu << shift)) | sum << shift);
    } while (seen != before);
    return old;
}
template <class T2> static __device__ __forceinline__ T2 add_pair(T2 *address, T2 value) {
    unsigned *word = reinterpret_cast<unsigned *>(address);
    unsigned seen = *(volatile unsigned *)word, before;
    T2 old;
    do {
        before = seen;
        old.x.bits = (unsigned short)before;
        old.y.bits = (unsigned short)(before >> 16);
        const T2 sum = old + value;
        seen = atomicCAS(word, before, unsigned(sum.y.bits) << 16 | sum.x.bits);
    } while (seen != before);
    return old;
}
template <class T2> static __device__ __forceinline__ unsigned to_word(T2 a) {
    return unsigned(a.y.bits) << 16 | a.x.bits;
}
template <class T2> static __device__ __forceinline__ T2 from_word(unsigned word) {
    T2 a;
    a.x.bits = (unsigned short)word;
    a.y.bits = (unsigned short)(word >> 16);
    return a;
}

} // namespace small
} // namespace gpu

#define GPU_SMALL static __device__ __forceinline__
#define GPU_SMALL_FROM(T, I, Wide)                                                                 \
    __device__ __forceinline__ T(I x)                                                              \
        : bits(Format::from_float(gpu::half_parts::odd(static_cast<Wide>(x)))) {}                  \
    __device__ __forceinline__ operator I() const { return static_cast<I>(float(*this)); }

// The type and the vector of two.
#define GPU_SMALL_TYPE(T, T2, Raw, FORMAT)                                                         \
    struct Raw {                                                                                   \
        unsigned short x;                                                                          \
    };                                                                                             \
    struct T {                                                                                     \
        typedef FORMAT Format;                                                                     \
        unsigned short bits;                                                                       \
        T() = default;                                                                             \
        __device__ __forceinline__ constexpr T(Raw raw) : bits(raw.x) {}                           \
        __device__ __forceinline__ T(float x) : bits(Format::from_float(x)) {}                     \
        __device__ __forceinline__ T(double x)                                                     \
            : bits(Format::from_float(gpu::half_parts::odd(x))) {}                                 \
        GPU_SMALL_FROM(T, short, long long)                                                        \
        GPU_SMALL_FROM(T, unsigned short, long long)                                               \
        GPU_SMALL_FROM(T, int, long long)                                                          \
        GPU_SMALL_FROM(T, unsigned, long long)                                                     \
        GPU_SMALL_FROM(T, long, long long)                                                         \
        GPU_SMALL_FROM(T, unsigned long, unsigned long long)                                       \
        GPU_SMALL_FROM(T, long long, long long)                                                    \
        GPU_SMALL_FROM(T, unsigned long long, unsigned long long)                                  \
        __device__ __forceinline__ operator float() const { return Format::to_float(bits); }       \
        __device__ __forceinline__ constexpr operator Raw() const { return Raw{bits}; }            \
        __device__ __forceinline__ constexpr operator bool() const {                               \
            return (bits & 0x7fff) != 0;                                                           \
        }                                                                                          \
    };                                                                                             \
    struct __align__(4) T2 {                                                                       \
        T x, y;                                                                                    \
        T2() = default;                                                                            \
        __device__ __forceinline__ T2(T x, T y) : x(x), y(y) {}                                    \
    };                                                                                             \
    GPU_SMALL T operator+(T a, T b) { return T(__fadd_rn(float(a), float(b))); }                   \
    GPU_SMALL T operator-(T a, T b) { return T(__fsub_rn(float(a), float(b))); }                   \
    GPU_SMALL T operator*(T a, T b) { return T(__fmul_rn(float(a), float(b))); }                   \
    GPU_SMALL T operator/(T a, T b) { return T(__fdiv_rn(float(a), float(b))); }                   \
    GPU_SMALL T operator+(T a) { return a; }                                                       \
    GPU_SMALL T operator-(T a) { return T(-float(a)); }                                            \
    GPU_SMALL T __habs(T a) { return T(fabsf(float(a))); }                                         \
    GPU_SMALL T __hneg(T a) { return -a; }                                                         \
    GPU_SMALL T &operator+=(T &a, T b) { return a = a + b; }                                       \
    GPU_SMALL T &operator-=(T &a, T b) { return a = a - b; }                                       \
    GPU_SMALL T &operator*=(T &a, T b) { return a = a * b; }                                       \
    GPU_SMALL T &operator/=(T &a, T b) { return a = a / b; }                                       \
    GPU_SMALL bool operator==(T a, T b) { return float(a) == float(b); }                           \
    GPU_SMALL bool operator!=(T a, T b) { return float(a) != float(b); }                           \
    GPU_SMALL bool operator<(T a, T b) { return float(a) < float(b); }                             \
    GPU_SMALL bool operator>(T a, T b) { return float(a) > float(b); }                             \
    GPU_SMALL bool operator<=(T a, T b) { return float(a) <= float(b); }                           \
    GPU_SMALL bool operator>=(T a, T b) { return float(a) >= float(b); }                           \
    GPU_SMALL T2 operator+(T2 a, T2 b) { return T2(a.x + b.x, a.y + b.y); }                        \
    GPU_SMALL T2 operator-(T2 a, T2 b) { return T2(a.x - b.x, a.y - b.y); }                        \
    GPU_SMALL T2 operator*(T2 a, T2 b) { return T2(a.x * b.x, a.y * b.y); }                        \
    GPU_SMALL T2 operator/(T2 a, T2 b) { return T2(a.x / b.x, a.y / b.y); }                        \
    GPU_SMALL T2 operator-(T2 a) { return T2(-a.x, -a.y); }                                        \
    GPU_SMALL T2 &operator+=(T2 &a, T2 b) { return a = a + b; }                                    \
    GPU_SMALL T2 &operator-=(T2 &a, T2 b) { return a = a - b; }                                    \
    GPU_SMALL T2 &operator*=(T2 &a, T2 b) { return a = a * b; }                                    \
    GPU_SMALL T2 &operator/=(T2 &a, T2 b) { return a = a / b; }                                    \
    GPU_SMALL bool operator==(T2 a, T2 b) { return a.x == b.x && a.y == b.y; }

// Functions whose name says the type.
#define GPU_SMALL_NAMED(T, T2, Raw, word)                                                          \
    GPU_SMALL T __ushort_as_##word(unsigned short bits) { return T(Raw{bits}); }                   \
    GPU_SMALL T __short_as_##word(short bits) { return T(Raw{(unsigned short)bits}); }             \
    GPU_SMALL unsigned short __##word##_as_ushort(T a) { return a.bits; }                          \
    GPU_SMALL short __##word##_as_short(T a) { return (short)a.bits; }                             \
    GPU_SMALL T __float2##word(float x) { return T(x); }                                           \
    GPU_SMALL T __float2##word##_rn(float x) { return T(x); }                                      \
    GPU_SMALL T __double2##word(double x) { return T(x); }                                         \
    GPU_SMALL float __##word##2float(T a) { return float(a); }                                     \
    GPU_SMALL T __int2##word##_rn(int x) { return T(x); }                                          \
    GPU_SMALL T __uint2##word##_rn(unsigned x) { return T(x); }                                    \
    GPU_SMALL T __ll2##word##_rn(long long x) { return T(x); }                                     \
    GPU_SMALL T __ull2##word##_rn(unsigned long long x) { return T(x); }                           \
    GPU_SMALL int __##word##2int_rn(T a) { return __float2int_rn(float(a)); }                      \
    GPU_SMALL int __##word##2int_rz(T a) { return __float2int_rz(float(a)); }                      \
    GPU_SMALL int __##word##2int_rd(T a) { return __float2int_rd(float(a)); }                      \
    GPU_SMALL int __##word##2int_ru(T a) { return __float2int_ru(float(a)); }                      \
    GPU_SMALL unsigned __##word##2uint_rn(T a) { return __float2uint_rn(float(a)); }               \
    GPU_SMALL unsigned __##word##2uint_rz(T a) { return __float2uint_rz(float(a)); }               \
    GPU_SMALL T2 make_##word##2(T x, T y) { return T2(x, y); }                                     \
    GPU_SMALL T2 __halves2##word##2(T x, T y) { return T2(x, y); }                                 \
    GPU_SMALL T2 __##word##2##word##2(T a) { return T2(a, a); }                                    \
    GPU_SMALL T2 __float2##word##2_rn(float x) { return T2(T(x), T(x)); }                          \
    GPU_SMALL T2 __floats2##word##2_rn(float x, float y) { return T2(T(x), T(y)); }                \
    GPU_SMALL T2 __float22##word##2_rn(float2 a) { return T2(T(a.x), T(a.y)); }                    \
    GPU_SMALL float2 __##word##22float2(T2 a) { return make_float2(float(a.x), float(a.y)); }      \
    GPU_SMALL T __low2##word(T2 a) { return a.x; }                                                 \
    GPU_SMALL T __high2##word(T2 a) { return a.y; }                                                \
    GPU_SMALL T2 __low2##word##2(T2 a) { return T2(a.x, a.x); }                                    \
    GPU_SMALL T2 __high2##word##2(T2 a) { return T2(a.y, a.y); }                                   \
    GPU_SMALL T2 __lows2##word##2(T2 a, T2 b) { return T2(a.x, b.x); }                             \
    GPU_SMALL T2 __highs2##word##2(T2 a, T2 b) { return T2(a.y, b.y); }

// Functions of one name for both types.
#define GPU_SMALL_ARITHMETIC(T, T2)                                                                \
    GPU_SMALL float __low2float(T2 a) { return float(a.x); }                                       \
    GPU_SMALL float __high2float(T2 a) { return float(a.y); }                                      \
    GPU_SMALL T2 __lowhigh2highlow(T2 a) { return T2(a.y, a.x); }                                  \
    GPU_SMALL T2 __hneg2(T2 a) { return -a; }                                                      \
    GPU_SMALL T2 __habs2(T2 a) { return T2(__habs(a.x), __habs(a.y)); }                            \
    GPU_SMALL_OPERATION(T, T2, __hadd, +)                                                          \
    GPU_SMALL_OPERATION(T, T2, __hsub, -)                                                          \
    GPU_SMALL_OPERATION(T, T2, __hmul, *)                                                          \
    GPU_SMALL T __hdiv(T a, T b) { return a / b; }                                                 \
    GPU_SMALL T2 __h2div(T2 a, T2 b) { return a / b; }                                             \
    GPU_SMALL T __hfma_sat(T a, T b, T c) { return T(__saturatef(float(__hfma(a, b, c)))); }       \
    GPU_SMALL T __hfma_relu(T a, T b, T c) {                                                       \
        const T sum = __hfma(a, b, c);                                                             \
        return sum < T(0.0f) ? T(0.0f) : sum;                                                      \
    }                                                                                              \
    GPU_SMALL T2 __hfma2(T2 a, T2 b, T2 c) {                                                       \
        return T2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));                                   \
    }                                                                                              \
    GPU_SMALL T __hmin(T a, T b) { return T(fminf(float(a), float(b))); }                          \
    GPU_SMALL T __hmax(T a, T b) { return T(fmaxf(float(a), float(b))); }                          \
    GPU_SMALL T2 __hmin2(T2 a, T2 b) { return T2(__hmin(a.x, b.x), __hmin(a.y, b.y)); }            \
    GPU_SMALL T2 __hmax2(T2 a, T2 b) { return T2(__hmax(a.x, b.x), __hmax(a.y, b.y)); }            \
    GPU_SMALL bool __hisnan(T a) { return float(a) != float(a); }                                  \
    GPU_SMALL int __hisinf(T a) { return isinf(float(a)) ? (float(a) > 0 ? 1 : -1) : 0; }          \
    GPU_SMALL_COMPARE(T, T2, eq, a == b)                                                           \
    GPU_SMALL_COMPARE(T, T2, ne, a<b || a> b)                                                      \
    GPU_SMALL_COMPARE(T, T2, lt, a < b)                                                            \
    GPU_SMALL_COMPARE(T, T2, le, a <= b)                                                           \
    GPU_SMALL_COMPARE(T, T2, gt, a > b)                                                            \
    GPU_SMALL_COMPARE(T, T2, ge, a >= b)                                                           \
    GPU_SMALL_COMPARE(T, T2, equ, !(a < b || a > b))                                               \
    GPU_SMALL_COMPARE(T, T2, neu, a != b)                                                          \
    GPU_SMALL_COMPARE(T, T2, ltu, !(a >= b))                                                       \
    GPU_SMALL_COMPARE(T, T2, leu, !(a > b))                                                        \
    GPU_SMALL_COMPARE(T, T2, gtu, !(a <= b))                                                       \
    GPU_SMALL_COMPARE(T, T2, geu, !(a < b))                                                        \
    GPU_SMALL_FUNCTION(T, T2, ceil, ceilf(x))                                                      \
    GPU_SMALL_FUNCTION(T, T2, floor, floorf(x))                                                    \
    GPU_SMALL_FUNCTION(T, T2, trunc, truncf(x))                                                    \
    GPU_SMALL_FUNCTION(T, T2, rint, rintf(x))                                                      \
    GPU_SMALL_FUNCTION(T, T2, sqrt, __fsqrt_rn(x))                                                 \
    GPU_SMALL_FUNCTION(T, T2, rsqrt, rsqrtf(x))                                                    \
    GPU_SMALL_FUNCTION(T, T2, rcp, __frcp_rn(x))                                                   \
    GPU_SMALL_FUNCTION(T, T2, exp, expf(x))                                                        \
    GPU_SMALL_FUNCTION(T, T2, exp2, exp2f(x))                                                      \
    GPU_SMALL_FUNCTION(T, T2, exp10, exp10f(x))                                                    \
    GPU_SMALL_FUNCTION(T, T2, log, logf(x))                                                        \
    GPU_SMALL_FUNCTION(T, T2, log2, log2f(x))                                                      \
    GPU_SMALL_FUNCTION(T, T2, log10, log10f(x))                                                    \
    GPU_SMALL_FUNCTION(T, T2, sin, sinf(x))                                                        \
    GPU_SMALL_FUNCTION(T, T2, cos, cosf(x))                                                        \
    GPU_SMALL_FUNCTION(T, T2, tanh, tanhf(x))                                                      \
    GPU_SMALL T atomicAdd(T *address, T value) { return gpu::small::add_in_word(address, value); } \
    GPU_SMALL T2 atomicAdd(T2 *address, T2 value) { return gpu::small::add_pair(address, value); } \
    GPU_SMALL_SHUFFLE(T, T2, __shfl_sync, int lane, lane)                                          \
    GPU_SMALL_SHUFFLE(T, T2, __shfl_up_sync, unsigned delta, delta)                                \
    GPU_SMALL_SHUFFLE(T, T2, __shfl_down_sync, unsigned delta, delta)                              \
    GPU_SMALL_SHUFFLE(T, T2, __shfl_xor_sync, int lanes, lanes)
#define GPU_SMALL_OPERATION(T, T2, name, op)                                                       \
    GPU_SMALL T name(T a, T b) { return a op b; }                                                  \
    GPU_SMALL T name##_rn(T a, T b) { return a op b; }                                             \
    GPU_SMALL T name##_sat(T a, T b) { return T(__saturatef(float(a op b))); }                     \
    GPU_SMALL T2 name##2(T2 a, T2 b) { return a op b; }                                            \
    GPU_SMALL T2 name##2_rn(T2 a, T2 b) { return a op b; }
#define GPU_SMALL_COMPARE(T, T2, name, expression)                                                 \
    GPU_SMALL bool __h##name(T small_a, T small_b) {                                               \
        const float a = float(small_a), b = float(small_b);                                        \
        return expression;                                                                         \
    }                                                                                              \
    GPU_SMALL T2 __h##name##2(T2 a, T2 b) {                                                        \
        return T2(T(__h##name(a.x, b.x) ? 1.0f : 0.0f), T(__h##name(a.y, b.y) ? 1.0f : 0.0f));     \
    }                                                                                              \
    GPU_SMALL bool __hb##name##2(T2 a, T2 b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); }
#define GPU_SMALL_FUNCTION(T, T2, name, expression)                                                \
    GPU_SMALL T h##name(T a) {                                                                     \
        const float x = float(a);                                                                  \
        return T(expression);                                                                      \
    }                                                                                              \
    GPU_SMALL T2 h2##name(T2 a) { return T2(h##name(a.x), h##name(a.y)); }
#define GPU_SMALL_SHUFFLE(T, T2, name, declared, used)                                             \
    GPU_SMALL T name(unsigned mask, T value, declared, int width = warpSize) {                     \
        T got;                                                                                     \
        got.bits = (unsigned short)::name(mask, unsigned(value.bits), used, width);                \
        return got;                                                                                \
    }                                                                                              \
    GPU_SMALL T2 name(unsigned mask, T2 value, declared, int width = warpSize) {                   \
        return gpu::small::from_word<T2>(::name(mask, gpu::small::to_word(value), used, width));   \
    }
