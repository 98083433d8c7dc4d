// Converts a result of a scan to words, and back.
#pragma once
#include "tuple.cuh"

namespace gpu::algos::scan {

// The word of a part of the result; numbers have one part.
template <class T> __device__ __forceinline__ uint64_t as_word(T x, int) {
    static_assert(T(3) / T(2) == T(1), "an integer");
    return uint64_t(int64_t(x));
}
__device__ __forceinline__ uint64_t as_word(float x, int) { return __float_as_uint(x); }
__device__ __forceinline__ uint64_t as_word(double x, int) {
    return uint64_t(__double_as_longlong(x));
}

template <class T> __device__ __forceinline__ T scanned(const uint64_t *extra, uint64_t) {
    return word_as<T>(extra[0]);
}

} // namespace gpu::algos::scan
