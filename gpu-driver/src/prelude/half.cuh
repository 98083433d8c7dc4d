// Numbers of 16 bits: gpu::f16, half precision (IEEE 754's binary16: 5 bits of exponent, 11
// significant ones), and gpu::bf16, bfloat16 (the upper half of a float: 8 and 8), as Rust's
// half::f16 and half::bf16, NumPy's float16, CUDA's __half and __nv_bfloat16 have them in memory.
//
// They convert to float exactly, and from every number with one rounding to nearest even: integers
// of any length and doubles do not round to float on the way. Arithmetic of two of one type is
// computed in float and rounded, each operation by itself, which gives the correctly rounded sum,
// difference, product or quotient; beside any other number it is that of float. Comparisons are
// those of float. No option of the compiler but flushing of subnormal floats changes a bit. A
// conversion of NaN from float gives 0x7fff.
//
// A text may include CUDA's cuda_fp16.h and cuda_bf16.h beside it: numbers pass from one to the
// other by their bits or through float.
#pragma once
#include "prelude.cuh"

namespace gpu {

// The two formats: both ways between bits and float.
struct Binary16 {
    static __device__ __forceinline__ uint16_t from_float(float x) {
#ifdef GPU_EMULATED
        const uint32_t bits = __float_as_uint(x), size = bits & 0x7fffffffu,
                       sign = bits >> 16 & 0x8000u;
        if (size > 0x7f800000u) return 0x7fffu;
        if (size >= 0x477ff000u) return uint16_t(sign | 0x7c00u);
        // Subnormal numbers are multiples of 2^-24, to which floats beside 1/2 are rounded.
        if (size < 0x38800000u) {
            const float shifted = __fadd_rn(__uint_as_float(size), 0.5f);
            return uint16_t(sign | (__float_as_uint(shifted) - 0x3f000000u));
        }
        return uint16_t(sign | ((size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13));
#else
        uint16_t bits;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
        return bits;
#endif
    }
    static __device__ __forceinline__ float to_float(uint16_t bits) {
#ifdef GPU_EMULATED
        const uint32_t sign = uint32_t(bits & 0x8000u) << 16, size = bits & 0x7fffu;
        if (size > 0x7c00u) return __uint_as_float(0x7fffffffu);
        if (size == 0x7c00u) return __uint_as_float(sign | 0x7f800000u);
        // 2^-14 more than it is: so subnormal numbers become normal ones.
        if (size < 0x400u) {
            const float value = __fsub_rn(__uint_as_float((size << 13) + 0x38800000u), 0x1p-14f);
            return __uint_as_float(sign | __float_as_uint(value));
        }
        return __uint_as_float(sign | ((size << 13) + 0x38000000u));
#else
        float x;
        asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
        return x;
#endif
    }
};
struct Bfloat16 {
    static __device__ __forceinline__ uint16_t from_float(float x) {
#if !defined(GPU_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
        // Of two at once, which four times as many threads do in a cycle as of one.
        uint32_t bits;
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(0.0f), "f"(x));
        return uint16_t(bits);
#else
        const uint32_t bits = __float_as_uint(x);
        if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fffu;
        return uint16_t((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
#endif
    }
    static __device__ __forceinline__ float to_float(uint16_t bits) {
#ifdef GPU_EMULATED
        // As the device, the functions of C know quiet NaN alone.
        if ((bits & 0x7fffu) > 0x7f80u) return __uint_as_float(uint32_t(bits | 0x40u) << 16);
#endif
        return __uint_as_float(uint32_t(bits) << 16);
    }
};

// A number as a float whose last bit is set where digits were lost ("rounded to odd"). Rounding
// that to 16 bits gives the same as rounding the number itself (Boldo and Melquiond: Emulation of a
// FMA and correctly rounded sums: proved algorithms using rounding to odd, 2008).
namespace half_parts {
__device__ __forceinline__ float odd(float x) { return x; }
#define GPU_ODD(T, towards_zero)                                                                   \
    __device__ __forceinline__ float odd(T x) {                                                    \
        const float cut = towards_zero(x);                                                         \
        return __uint_as_float(__float_as_uint(cut) | uint32_t(static_cast<T>(cut) != x));         \
    }
GPU_ODD(double, __double2float_rz)
GPU_ODD(int, __int2float_rz)
GPU_ODD(unsigned, __uint2float_rz)
GPU_ODD(long long, __ll2float_rz)
GPU_ODD(unsigned long long, __ull2float_rz)
#undef GPU_ODD
__device__ __forceinline__ float odd(long x) { return odd(static_cast<long long>(x)); }
__device__ __forceinline__ float odd(unsigned long x) {
    return odd(static_cast<unsigned long long>(x));
}
} // namespace half_parts

// A number of the format F.
template <class F> struct SmallFloat {
    uint16_t bits;

    SmallFloat() = default;
#define GPU_FROM(T)                                                                                \
    __device__ __forceinline__ SmallFloat(T x) : bits(F::from_float(half_parts::odd(x))) {}
    GPU_FROM(float)
    GPU_FROM(double)
    GPU_FROM(int)
    GPU_FROM(unsigned)
    GPU_FROM(long)
    GPU_FROM(unsigned long)
    GPU_FROM(long long)
    GPU_FROM(unsigned long long)
#undef GPU_FROM
    template <class G> __device__ __forceinline__ SmallFloat(SmallFloat<G> x)
        : bits(F::from_float(float(x))) {}
    __device__ __forceinline__ operator float() const { return F::to_float(bits); }

    // As x = x + y, which is one of the type's own if y is, else one of float that is rounded then.
    template <class T> __device__ __forceinline__ SmallFloat &operator+=(T y) {
        return *this = SmallFloat(*this + y);
    }
    template <class T> __device__ __forceinline__ SmallFloat &operator-=(T y) {
        return *this = SmallFloat(*this - y);
    }
    template <class T> __device__ __forceinline__ SmallFloat &operator*=(T y) {
        return *this = SmallFloat(*this * y);
    }
    template <class T> __device__ __forceinline__ SmallFloat &operator/=(T y) {
        return *this = SmallFloat(*this / y);
    }
};

typedef SmallFloat<Binary16> f16;
typedef SmallFloat<Bfloat16> bf16;
static_assert(sizeof(f16) == 2 && alignof(bf16) == 2, "the layout of Rust");

// Arithmetic, rounded once: a float has more than twice the digits.
#define GPU_ARITHMETIC(symbol, intrinsic)                                                          \
    template <class F>                                                                             \
    __device__ __forceinline__ SmallFloat<F> operator symbol(SmallFloat<F> a, SmallFloat<F> b) {   \
        return SmallFloat<F>(intrinsic(float(a), float(b)));                                       \
    }
GPU_ARITHMETIC(+, __fadd_rn)
GPU_ARITHMETIC(-, __fsub_rn)
GPU_ARITHMETIC(*, __fmul_rn)
GPU_ARITHMETIC(/, __fdiv_rn)
#undef GPU_ARITHMETIC
template <class F> __device__ __forceinline__ SmallFloat<F> operator-(SmallFloat<F> a) {
    return SmallFloat<F>(-float(a));
}

} // namespace gpu
