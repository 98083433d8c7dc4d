// The count of all selected values, which comes before the rejected ones are placed.
#pragma once
#include "selected.cuh"

namespace gpu::algos::select {

// Counts the selected values of all tiles, since the rejected ones go behind them. Blocks claim
// parts and count them before their first tile.
template <class E, class F, int MODE, int THREADS, int VECTOR_SIZE> struct Counting {
    typedef At<E, F, Nothing> A;
    static constexpr int PACKS = VECTOR_SIZE > 8 ? 4 : 8, ROUNDS = 4,
                         PART = THREADS * VECTOR_SIZE * PACKS * ROUNDS;
    GridCounters *counters;
    Slot<uint32_t> *sum;

    static __device__ __forceinline__ uint32_t parts_of(const typename A::Params &params) {
        return uint32_t((int64_t(params.count) + int64_t(params.peel) + PART - 1) / PART);
    }
    // Number of selected values of a part that this thread counts.
    template <bool WHOLE>
    static __device__ __forceinline__ uint32_t of_part(const typename A::Params &params,
                                                       int64_t start, int64_t count) {
        uint32_t selected = 0;
#pragma unroll 1
        for (int round = 0; round < ROUNDS; round++) {
            const int64_t first =
                start + (int64_t(round) * PACKS * THREADS + threadIdx.x) * VECTOR_SIZE;
            typename Wide<VECTOR_SIZE, typename F::Leaves>::type in[PACKS];
#pragma unroll
            for (int u = 0; u < PACKS; u++) {
                const int64_t i = first + u * THREADS * VECTOR_SIZE;
                if constexpr (WHOLE) {
                    in[u] = read_whole<F, A, A::F_LEAVES, VECTOR_SIZE, (MODE & BACKWARD) != 0>(
                        params, i);
                } else {
                    in[u] = read<F, A, A::F_LEAVES, VECTOR_SIZE, MODE>(
                        params, i, i >= 0 && i + VECTOR_SIZE <= count);
                }
            }
#pragma unroll
            for (int u = 0; u < PACKS; u++) {
                const auto flags = values_of<F, VECTOR_SIZE>(params.scalars.at + A::F_SCALARS,
                                                             params.extra.at + A::F_EXTRA, in[u]);
                uint32_t bits = 0;
#pragma unroll
                for (int k = 0; k < VECTOR_SIZE; k++) bits |= uint32_t(bool(flags.lane[k])) << k;
                selected +=
                    uint32_t(__popc(WHOLE ? bits
                                          : bits & existing<VECTOR_SIZE>(
                                                       first + u * THREADS * VECTOR_SIZE, count)));
            }
        }
        return selected;
    }
    // All threads of the block call it; those of the last warp count nothing.
    __device__ __forceinline__ void add(const typename A::Params &params, uint32_t *claimed) const {
        const uint32_t parts = parts_of(params);
        const int64_t count = int64_t(params.count);
        uint32_t selected = 0, own_parts = 0;
        while (true) {
            __syncthreads();
            if (threadIdx.x == 0) claimed[0] = atomicAdd(&counters->next_part, 1u);
            __syncthreads();
            const uint32_t part = claimed[0];
            if (part >= parts) break;
            own_parts++;
            if (threadIdx.x >= THREADS) continue;
            const int64_t start = int64_t(part) * PART - int64_t(params.peel);
            // A part without cut packs is read without a branch for each pack.
            if (start >= 0 && start + PART <= count) {
                selected += of_part<true>(params, start, count);
            } else {
                selected += of_part<false>(params, start, count);
            }
        }
        selected = __reduce_add_sync(0xffffffffu, selected);
        if (threadIdx.x % 32 == 0) atomicAdd(&sum->marked[0], uint64_t(selected));
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(&counters->parts_counted, own_parts);
        }
    }
    // Waits for the counts of all parts, which running blocks have claimed, and puts their sum into
    // shared memory. One whole warp calls it; the caller synchronises the block.
    __device__ __forceinline__ void wait(const typename A::Params &params, int64_t *all) const {
        const uint32_t parts = parts_of(params);
        while (__nv_atomic_load_n(&counters->parts_counted, __NV_ATOMIC_RELAXED,
                                  __NV_THREAD_SCOPE_DEVICE) < parts)
            __nanosleep(40);
        __threadfence();
        const int64_t selected = int64_t(
            __nv_atomic_load_n(&sum->marked[0], __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE));
        if (threadIdx.x % 32 == 0) *all = selected;
    }
    // Clears the count for the next launch. One thread of the last block calls it.
    __device__ __forceinline__ void clear() const {
        counters->next_part = counters->parts_counted = 0;
        sum->clear();
    }
};

} // namespace gpu::algos::select
