// Sums over a block, in an order that depends on nothing but the block's size.
#pragma once

namespace gpu_sparse {

// The sum of `value` over the block, valid in thread 0: within each warp by halves, then over the warps from first to last.
// Every thread of the block must call it. May be called again at once: the barrier at the start ends the reads of the call before.
template <int THREADS> __device__ double block_sum(double value) {
    static_assert(THREADS % 32 == 0 && THREADS <= 1024, "whole warps, as every thread takes part in the shuffles");
    SHARED(double, warp_sums, [THREADS / 32]);
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
    __syncthreads();
    if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = value;
    __syncthreads();
    double total = 0;
    if (threadIdx.x == 0) {
        for (int warp = 0; warp < THREADS / 32; warp++) total += warp_sums[warp];
    }
    return total;
}

// Writes the block's sum of `value` to its place in `partials`, which has one per block of the grid.
template <int THREADS> __device__ void store_block_sum(double value, double *partials) {
    double total = block_sum<THREADS>(value);
    if (threadIdx.x == 0) partials[blockIdx.x] = total;
}

} // namespace gpu_sparse
