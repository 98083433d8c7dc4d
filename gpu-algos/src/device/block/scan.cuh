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
// barriers, and for each thread at most two calls of `combine` for each warp of the block.
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
        bool has_earlier;
        const State earlier = scan_threads(values, storage, aggregate, has_earlier);
        if (!has_earlier) return;
#pragma unroll
        for (int k = 0; k < VALUES; k++) values[k] = O::combine(earlier, values[k]);
    }

    // Replaces each value by its exclusive result; that of the block's first value is the identity.
    // All else is as with `inclusive`.
    static __device__ __forceinline__ void exclusive(State (&values)[VALUES], Storage &storage,
                                                     State &aggregate) {
        bool has_earlier;
        State earlier = scan_threads(values, storage, aggregate, has_earlier);
        if (!has_earlier) earlier = identity_of<O>();
#pragma unroll
        for (int k = VALUES - 1; k > 0; k--)
            values[k] = has_earlier ? O::combine(earlier, values[k > 0 ? k - 1 : 0])
                                    : values[k > 0 ? k - 1 : 0];
        values[0] = earlier;
    }

  private:
    // Scans the values of each thread by themselves, and returns the state of all threads before,
    // if there is one.
    static __device__ __forceinline__ State scan_threads(State (&values)[VALUES], Storage &storage,
                                                         State &aggregate, bool &has_earlier) {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
        for (int k = 1; k < VALUES; k++)
            values[k] = O::combine(values[k > 0 ? k - 1 : 0], values[k]);
        const State lanes = scan_lanes<O>(values[VALUES - 1]);
        const State before = shuffled_up(lanes, 1);
        __syncthreads();
        if (lane == 31) storage.states()[warp] = lanes;
        __syncthreads();
        aggregate = combine_first<O, WARPS>(storage.states(), WARPS);
        has_earlier = threadIdx.x > 0;
        if (warp == 0) return before;
        const State warps = combine_first<O, WARPS>(storage.states(), warp);
        return lane == 0 ? warps : O::combine(warps, before);
    }
};

} // namespace block
} // namespace gpu
