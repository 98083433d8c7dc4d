// Converts a result of a scan to a word, and back.
#pragma once
#include "tuple.cuh"

namespace gpu {
namespace scan {

template <class T> __device__ __forceinline__ uint64_t as_word(T x) { return uint64_t(int64_t(x)); }
template <> __device__ __forceinline__ uint64_t as_word<float>(float x) {
    return __float_as_uint(x);
}
template <> __device__ __forceinline__ uint64_t as_word<double>(double x) {
    return uint64_t(__double_as_longlong(x));
}

template <class T> __device__ __forceinline__ T scanned(const uint64_t *extra, uint64_t) {
    return word_as<T>(extra[0]);
}

} // namespace scan
} // namespace gpu
