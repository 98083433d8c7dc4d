// Scans over the lanes of a warp and over the threads of a block.
//
// #include "block/scan.cuh"
//
// O is an operator as block/reduce.cuh describes it. The inclusive result of a value combines all
// values up to it, the exclusive one those before it. States are combined in order, so that
// `combine` need not commute, and each launch gives the same bits.
//
// Running sums of each block's 1024 values, four neighbours to a thread (Sum as in
// block/reduce.cuh):
//
//   extern "C" __global__ void __launch_bounds__(256) running(const float *x, float *out) {
//       typedef gpu::block::Scan<Sum, 256, 4> Scan;
//       SHARED(Scan::Storage, storage, [1]);
//       const int first = (blockIdx.x * 256 + threadIdx.x) * 4;
//       float values[4], all;
//       for (int k = 0; k < 4; k++) values[k] = x[first + k];
//       Scan::inclusive(values, storage[0], all);
//       for (int k = 0; k < 4; k++) out[first + k] = values[k];
//   }
//
// Cost: six shuffles for each 32 bits of a state, a state of shared memory for each warp, two
// barriers, and for each thread a call of `combine` for each warp of the block.
#pragma once
#include "block/state.cuh"

namespace gpu {
namespace block {

// The inclusive scan over the lanes of a warp. All lanes call it.
template <class O>
__device__ __forceinline__ typename O::State scan_lanes(typename O::State state) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int delta = 1; delta < 32; delta *= 2) {
        const typename O::State earlier = shuffled_up(state, delta);
        if (lane >= delta) state = O::combine(earlier, state);
    }
    return state;
}

// The scan over segments of a warp's lanes: the result of a lane combines the states from `since`,
// the first lane of its segment, to its own. All lanes of a segment have the same `since`; below 0
// it stands for lane 0. All lanes call it.
template <class O>
__device__ __forceinline__ typename O::State scan_lanes(typename O::State state, int since) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int delta = 1; delta < 32; delta *= 2) {
        const typename O::State earlier = shuffled_up(state, delta);
        if (lane >= delta && lane - delta >= since) state = O::combine(earlier, state);
    }
    return state;
}

// Scans the values of a thread by themselves. Bit k of `heads` tells that value k begins a segment,
// at which the scan restarts; values from the 33rd on begin none. Any thread calls it.
template <class O, int VALUES> __device__ __forceinline__ void
scan_values(typename O::State (&values)[VALUES], uint32_t heads = 0) {
#pragma unroll
    for (int k = 1; k < VALUES; k++) {
        if (k >= 32 || (heads >> k % 32 & 1) == 0) values[k] = O::combine(values[k - 1], values[k]);
    }
}

// Combines `prefix`, the state of all before the thread, with its scanned values before its first
// head. Any thread calls it.
template <class O, int VALUES>
__device__ __forceinline__ void add_prefix(typename O::State (&values)[VALUES],
                                           const typename O::State &prefix, uint32_t heads = 0) {
#pragma unroll
    for (int k = 0; k < VALUES; k++) {
        if ((heads & (k < 31 ? (2u << k % 32) - 1 : ~0u)) == 0)
            values[k] = O::combine(prefix, values[k]);
    }
}

// Combines `first` with the states 1 to `end` - 1 of COUNT in shared memory, one by one. Any thread
// calls it, behind the barrier that follows their writes; it does not synchronise.
template <class O, int COUNT> __device__ __forceinline__ typename O::State
combine_rest(const typename O::State &first, const typename O::State *states, int end) {
    typename O::State all = first;
#pragma unroll
    for (int k = 1; k < COUNT; k++) {
        if (k < end) all = O::combine(all, states[k]);
    }
    return all;
}

// Combines the first `end` of COUNT states in shared memory; there is at least one. All else is as
// with `combine_rest`.
template <class O, int COUNT> __device__ __forceinline__ typename O::State
combine_first(const typename O::State *states, int end) {
    return combine_rest<O, COUNT>(states[0], states, end);
}

// The prefix of a thread: the state `carry` of all before the block, if there is one; the warps
// before, whose states are STRIDE apart in shared memory; and `earlier` of the lanes before, if
// there are any. Adds all warps to `carry`, so that it is that of the block's next tile. Any thread
// calls it, behind the barrier that follows the writes of the warps' states; it does not
// synchronise. The result is valid if there is anything before the thread.
template <class O, int WARPS, int STRIDE = 1> __device__ __forceinline__ typename O::State
prefix_of_thread(const typename O::State *of_warps, bool has_carry, typename O::State &carry,
                 bool has_earlier, const typename O::State &earlier) {
    const int warp = threadIdx.x / 32;
    typename O::State all = of_warps[0], prefix = carry;
    if (has_carry) all = O::combine(carry, all);
    if (warp > 0) prefix = all;
#pragma unroll
    for (int w = 1; w < WARPS; w++) {
        all = O::combine(all, of_warps[w * STRIDE]);
        if (w < warp) prefix = all;
    }
    carry = all;
    if (has_earlier) prefix = has_carry || warp > 0 ? O::combine(prefix, earlier) : earlier;
    return prefix;
}

// The scan over a block of THREADS, a multiple of 32, each of which has VALUES neighbours.
template <class O, int THREADS, int VALUES = 1> struct Scan {
    typedef typename O::State State;
    static constexpr int WARPS = THREADS / 32;
    static_assert(THREADS % 32 == 0 && WARPS >= 1 && WARPS <= 32, "1 to 32 whole warps");
    typedef TempStorage<State, WARPS> Storage;

    // Replaces each value by its inclusive result. `aggregate` is the state of all values, in every
    // thread. All THREADS call it, and it synchronises them before it uses `storage`.
    static __device__ __forceinline__ void inclusive(State (&values)[VALUES], Storage &storage,
                                                     State &aggregate) {
        const State prefix = scan(values, storage, aggregate);
        if (threadIdx.x > 0) add_prefix<O>(values, prefix);
    }

    // Replaces each value by its exclusive result; that of the block's first value is the identity.
    // All else is as with `inclusive`.
    static __device__ __forceinline__ void exclusive(State (&values)[VALUES], Storage &storage,
                                                     State &aggregate) {
        const State prefix = scan(values, storage, aggregate);
        const bool has_prefix = threadIdx.x > 0;
#pragma unroll
        for (int k = VALUES - 1; k > 0; k--)
            values[k] = has_prefix ? O::combine(prefix, values[k > 0 ? k - 1 : 0])
                                   : values[k > 0 ? k - 1 : 0];
        values[0] = has_prefix ? prefix : identity_of<O>();
    }

    // The first step of both, for kernels that go on from tile to tile: scans the values of each
    // thread by themselves, then the lanes of the warp. Returns the state of the lanes before,
    // valid in all lanes but the first; the warp's state goes to `of_warps`, which has one for each
    // warp. All lanes of a warp call it, with their numbers; it does not synchronise. The other
    // steps are a barrier, `prefix_of_thread` and `add_prefix`.
    static __device__ __forceinline__ State scan_warp(State (&values)[VALUES], int lane, int warp,
                                                      State *of_warps) {
        scan_values<O>(values);
        const State sum = scan_lanes<O>(values[VALUES - 1]), earlier = shuffled_up(sum, 1);
        if (lane == 31) of_warps[warp] = sum;
        return earlier;
    }

  private:
    // Scans the values of each thread by themselves, and returns the state of all threads before,
    // unless the thread is the first.
    static __device__ __forceinline__ State scan(State (&values)[VALUES], Storage &storage,
                                                 State &aggregate) {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        __syncthreads();
        const State earlier = scan_warp(values, lane, warp, storage.states());
        __syncthreads();
        return prefix_of_thread<O, WARPS>(storage.states(), false, aggregate, lane > 0, earlier);
    }
};

} // namespace block
} // namespace gpu
