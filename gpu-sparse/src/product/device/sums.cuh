// Sums over a block and over a grid, in orders that depend on their sizes alone.
//
// The bits of every solve follow these orders: lanes are added by halves of a warp, and the warps
// from first to last. gpu-algos' block/reduce.cuh combines neighbours, since its operators need not
// commute.
#pragma once

namespace gpu_sparse {

// The sum of `value` over the block, valid in thread 0: within each warp by halves, then over the
// warps from first to last. Every thread of the block must call it. It may be called again at once:
// the barrier at the start ends the reads of the call before.
template <int THREADS> __device__ double block_sum(double value) {
    static_assert(THREADS % 32 == 0 && THREADS <= 1024,
                  "whole warps, as every thread takes part in the shuffles");
    SHARED(double, warp_sums, [THREADS / 32]);
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync(0xffffffffu, value, offset);
    __syncthreads();
    if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = value;
    __syncthreads();
    double total = 0;
    if (threadIdx.x == 0) {
        for (int warp = 0; warp < THREADS / 32; warp++) total += warp_sums[warp];
    }
    return total;
}

// Whether this block is the last of gridDim.x to arrive, by `gpu::arrive`. It can then
// read all that thread 0 of each block wrote before. Every thread of every block must call it, once
// per launch. `arrived` is 0 before the launch and again after it.
__device__ inline bool is_last_block(uint32_t *arrived) {
    SHARED(bool, is_last, [1]);
    if (threadIdx.x == 0) gpu::arrive(arrived, gridDim.x, is_last[0]);
    __syncthreads();
    return is_last[0];
}

// The sum of partials[0..count), valid in thread 0: each thread sums with stride THREADS, then the
// block sums those. Loads bypass the first cache, where a value of an earlier launch may linger.
template <int THREADS> __device__ double sum_partials(const double *partials, uint64_t count) {
    double sum = 0;
    for (uint64_t i = threadIdx.x; i < count; i += THREADS) sum += __ldcg(partials + i);
    return block_sum<THREADS>(sum);
}

// Stores this block's sum of the value number k in `partials`, which has gridDim.x elements for
// each k.
template <int THREADS> __device__ void store_sum(double value, double *partials, int k = 0) {
    double mine = block_sum<THREADS>(value);
    if (threadIdx.x == 0) partials[uint64_t(k) * gridDim.x + blockIdx.x] = mine;
}

} // namespace gpu_sparse
