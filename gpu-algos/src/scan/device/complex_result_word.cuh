// Complex results of a scan as words: one of each part. Only programs that have them include it.
#pragma once
#include "complex_operations.cuh"
#include "result_word.cuh"

namespace gpu {

// Found by the type of its argument.
template <class T> __device__ __forceinline__ uint64_t as_word(Complex<T> x, int part) {
    return algos::scan::as_word(part == 0 ? x.re : x.im, 0);
}

} // namespace gpu

namespace gpu::algos::scan {

template <class T>
__device__ __forceinline__ Complex<T> complex_scanned(const uint64_t *extra, uint64_t) {
    return Complex<T>(word_as<T>(extra[0]), word_as<T>(extra[1]));
}

} // namespace gpu::algos::scan
