// Results of 16 bits of a scan as words. Only programs that have them include it.
#pragma once
#include "half_operations.cuh"
#include "result_word.cuh"

namespace gpu {

// Found by the type of its argument.
template <class F> __device__ __forceinline__ uint64_t as_word(SmallFloat<F> x, int) {
    return x.bits;
}

} // namespace gpu
