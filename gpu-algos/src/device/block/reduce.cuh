// Reductions over the lanes of a warp and over the threads of a block.
//
// #include "block/reduce.cuh"
//
// O is an operator, a structure with
//   State                     the type of the states, plain data
//   combine(earlier, later)   the state of both, associative
//   identity()                the state of no value
// States are combined in the order of lanes and threads, so that `combine` need not commute, and
// each launch gives the same bits. `combine` may be called on states of any bits, also ones that
// were never written; nobody uses the result. So it neither faults nor loops, whatever the
// bits of a state.
//
// The sum of each block's 256 values:
//
//   struct Add {
//       typedef float State;
//       static __device__ float identity() { return 0.0f; }
//       static __device__ float combine(float a, float b) { return a + b; }
//   };
//   extern "C" __global__ void __launch_bounds__(256) sums(const float *x, float *out) {
//       typedef gpu::block::Reduce<Add, 256> Reduce;
//       SHARED(Reduce::Storage, storage, [1]);
//       const float sum = Reduce::all(x[blockIdx.x * 256 + threadIdx.x], storage[0]);
//       if (threadIdx.x == 0) out[blockIdx.x] = sum;
//   }
//
// Cost: ten shuffles for each 32 bits of a state, a state of shared memory for each warp, and two
// barriers; in a block of one warp half the shuffles and no barrier.
#pragma once
#include "block/state.cuh"

namespace gpu {
namespace block {

// Combines the states of groups of `width` lanes (a power of 2), in order, in the first lane of
// each. All lanes of a warp call it.
template <class O>
__device__ __forceinline__ typename O::State reduce_lanes(typename O::State state, int width) {
    for (int delta = 1; delta < width; delta *= 2) {
        const typename O::State later = shuffled_down(state, delta, width);
        // Lanes beyond the end get their own state back; nobody uses theirs.
        state = O::combine(state, later);
    }
    return state;
}

// Combines the first `count` states in shared memory, of at most `width` lanes (a power of 2), in
// order, in a warp's first lane. All lanes of a warp call it, behind the barrier that follows the
// writes of the states; it does not synchronise.
template <class O> __device__ __forceinline__ typename O::State
reduce_stored(const typename O::State *states, int count, int width) {
    const int lane = threadIdx.x % 32;
    return reduce_lanes<O>(lane < count ? states[lane] : identity_of<O>(), width);
}

// Combines the states of groups of `1 << log` threads of the block, in order, in the first thread
// of each. `shared` has a state for each warp. All threads of the block call it, with the same
// `log`. If groups are larger than a warp, it synchronises them, before it uses `shared` too.
template <class O> __device__ __forceinline__ typename O::State
reduce_groups(typename O::State state, int log, typename O::State *shared) {
    state = reduce_lanes<O>(state, log < 5 ? 1 << log : 32);
    if (log <= 5) return state;
    const int warps = 1 << (log - 5), warp = threadIdx.x / 32;
    __syncthreads();
    if (threadIdx.x % 32 == 0) shared[warp] = state;
    __syncthreads();
    if (warp % warps == 0) state = reduce_stored<O>(shared + warp, warps, warps);
    return state;
}

// The reduction over a block of THREADS, a multiple of 32.
template <class O, int THREADS> struct Reduce {
    typedef typename O::State State;
    static constexpr int WARPS = THREADS / 32;
    static_assert(THREADS % 32 == 0 && WARPS >= 1 && WARPS <= 32, "1 to 32 whole warps");
    typedef TempStorage<State, WARPS> Storage;

    // Combines the states of all threads, in their order; the result is valid in thread 0. All
    // THREADS call it. If there are several warps, it synchronises them before it uses `storage`.
    static __device__ __forceinline__ State all(State state, Storage &storage) {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        state = reduce_lanes<O>(state, 32);
        if (WARPS == 1) return state;
        __syncthreads();
        store_warp(state, lane, warp, storage);
        __syncthreads();
        if (warp > 0) return state;
        return combine_warps(storage);
    }

    // The steps of `all` behind `reduce_lanes`, for kernels that have a barrier between them
    // anyway. Each thread calls `store_warp` with the result of its warp, which lane 0 has. Behind
    // the barrier all lanes of one warp call `combine_warps`; the result is valid in lane 0.
    // Neither synchronises.
    static __device__ __forceinline__ void store_warp(const State &state, int lane, int warp,
                                                      Storage &storage) {
        if (lane == 0) storage.states()[warp] = state;
    }
    static __device__ __forceinline__ State combine_warps(Storage &storage) {
        constexpr int LANES = WARPS > 16  ? 32
                              : WARPS > 8 ? 16
                              : WARPS > 4 ? 8
                              : WARPS > 2 ? 4
                                          : WARPS;
        return reduce_stored<O>(storage.states(), WARPS, LANES);
    }
};

} // namespace block
} // namespace gpu
