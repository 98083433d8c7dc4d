// The members that most operators have, the bounds of types, and NaN.
#pragma once
#include "tuple.cuh"

namespace gpu::algos::reduce {

// The members that most operators have.
template <class L> struct Plain {
    typedef L Local;
    typedef L State;
    static constexpr bool COMMUTATIVE = true, LANES = true, NEEDS_INDEX = false, TOTAL = true;
    static __device__ __forceinline__ State to_partial(const Local &local) { return local; }
};

template <class T> struct Bounds;
template <> struct Bounds<bool> {
    static __device__ constexpr bool least() { return false; }
    static __device__ constexpr bool most() { return true; }
};
#define GPU_BOUNDS(T, LEAST, MOST)                                                                 \
    template <> struct Bounds<T> {                                                                 \
        static __device__ constexpr T least() { return LEAST; }                                    \
        static __device__ constexpr T most() { return MOST; }                                      \
    }
GPU_BOUNDS(int8_t, -128, 127);
GPU_BOUNDS(int16_t, -32768, 32767);
GPU_BOUNDS(int32_t, -2147483647 - 1, 2147483647);
GPU_BOUNDS(int64_t, -9223372036854775807LL - 1, 9223372036854775807LL);
GPU_BOUNDS(uint8_t, 0, 255);
GPU_BOUNDS(uint16_t, 0, 65535);
GPU_BOUNDS(uint32_t, 0, 4294967295u);
GPU_BOUNDS(uint64_t, 0, 18446744073709551615ULL);
#undef GPU_BOUNDS
template <> struct Bounds<float> {
    static __device__ __forceinline__ float least() { return __int_as_float(int(0xff800000)); }
    static __device__ __forceinline__ float most() { return __int_as_float(0x7f800000); }
    static __device__ __forceinline__ float nan() { return __int_as_float(0x7fc00000); }
};
template <> struct Bounds<double> {
    static __device__ __forceinline__ double least() { return -most(); }
    static __device__ __forceinline__ double most() {
        return __longlong_as_double(0x7ff0000000000000LL);
    }
    static __device__ __forceinline__ double nan() {
        return __longlong_as_double(0x7ff8000000000000LL);
    }
};

template <class T> __device__ __forceinline__ bool is_nan(T x) { return x != x; }
template <> __device__ __forceinline__ bool is_nan<bool>(bool) { return false; }

// Whether a value is left out: a NaN with IGNORE.
template <bool IGNORE, class T> __device__ __forceinline__ bool skipped(T x) {
    return IGNORE && is_nan(x);
}

} // namespace gpu::algos::reduce
