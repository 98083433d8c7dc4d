// The loop of kernels that are made from a user's text.
//
// Contract: block THREADS, any grid of at least one block; places k below `count`. A thread calls
// f(start + k step) for each of its places; ALL says that start is 0 and step 1. VECTORS_PER_THREAD
// places of a thread lie THREADS apart, so that a warp's accesses are contiguous. Their loads
// through restricted pointers precede the first of their stores. Bytes moved: those that f moves.
// The last tile runs one place after another.
#pragma once
#include "prelude.cuh"

namespace gpu {

// A bool in memory: a byte that is 0 or not. Assignments store 0 or 1.
struct Bool {
    uint8_t byte;
    __device__ __forceinline__ operator bool() const { return byte != 0; }
    __device__ __forceinline__ Bool &operator=(bool value) {
        byte = value;
        return *this;
    }
};
static_assert(sizeof(Bool) == 1 && alignof(Bool) == 1, "a byte");

template <int THREADS, int VECTORS_PER_THREAD, bool ALL, class F> __device__ __forceinline__ void
for_each_place(uint64_t count, int64_t start, int64_t step, const F &f) {
    constexpr uint64_t TILE = uint64_t(THREADS) * VECTORS_PER_THREAD;
    for (uint64_t tile = blockIdx.x * TILE; tile < count; tile += gridDim.x * TILE) {
        const uint64_t first = tile + threadIdx.x;
        if (count - tile >= TILE) {
#pragma unroll
            for (int u = 0; u < VECTORS_PER_THREAD; u++) {
                const int64_t k = int64_t(first + uint64_t(u) * THREADS);
                f(ALL ? k : start + k * step);
            }
        } else {
#pragma unroll 1
            for (uint64_t k = first; k < count; k += THREADS)
                f(ALL ? int64_t(k) : start + int64_t(k) * step);
        }
    }
}

} // namespace gpu
