// Reductions of an expression, over some or all of its axes, in one launch.
//
// E is an expression (loop.cuh), O an operator (operators.cuh). A result combines the values at all
// places of the reduced axes; there is one result for each place of the outer axes. Three
// kernels share the parts in this file, and `map_rows` (map_rows.cuh) has some of them. The threads
// of `reduce_rows` (reduce_rows.cuh) go along a reduced axis in packs of VECTOR_SIZE neighbours,
// those of `reduce_columns` (reduce_columns.cuh) along an outer axis. `reduce_all` (reduce_all.cuh)
// computes one result of contiguous values.
//
// If several blocks compute a result, each stores a state in the stream's scratch memory. If there
// is one result by `reduce_rows`, the last block waits for the states. Otherwise each block counts
// itself, and the last one to arrive combines the states and sets the counter back to 0. No block
// waits for another then, since so many blocks need not be resident at once. Both combine the
// states in the order of the blocks, so results depend on the shape of the launch, and on nothing
// else.
//
// Contract of `reduce_rows` and `reduce_columns`: block THREADS, no dynamic shared memory. Scratch,
// with `blocks_per_result` > 1: if `reduce_rows` has one result, `blocks_per_result` slots and
// BEHIND more, as `Stream::with_cleared_scratch` gives them. Otherwise it is as
// `Stream::with_scratch` gives it, with a counter for each group of results and `blocks_per_result`
// states for each result; it may hold anything else. Axes are in the order in which they are
// walked, axis 0 first. If O is not COMMUTATIVE the reduced ones are in C order. Bytes moved: each
// leaf is read as often as it is broadcast along outer axes, less the reads that the caches serve.
// Parameters: ReduceParams (reduce_params.cuh, which params.rs makes).
#pragma once
#include "block/reduce.cuh"
#include "block/tile_status.cuh"
#include "operators.cuh"
#include "reduce_params.cuh"
#include "walk.cuh"

namespace gpu::algos::reduce {

// Offsets of a reduction's operands: the own one, then those of the leaves.
template <class E> using OperandOffsets = Offsets<1 + E::Leaves::SIZE>;

using namespace block;

// Writes the results of one place.
template <class E, class O> __device__ __forceinline__ void
write_results(const ReduceParams<E, O> &params, const typename O::State &state, int64_t offset) {
    auto results = O::finalize(state, int64_t(params.count));
    each(results, [&](auto k, auto &value) {
        typedef typename plain<decltype(value)>::type R;
        typedef typename Stored<R>::type S;
        reinterpret_cast<S *>(params.targets[decltype(k)::value])[offset] = S(value);
    });
}

// Whether this block is the last of its group to arrive. It then sees all earlier writes of the
// group's blocks.
__device__ __forceinline__ bool is_last_block(uint64_t scratch, uint64_t group, uint32_t blocks,
                                              bool &shared) {
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t *counter = reinterpret_cast<uint32_t *>(scratch) + group;
        arrive(counter, blocks, shared);
    }
    __syncthreads();
    return shared;
}

// A thread's walk along whole packs, one in each iteration. It takes values into its locals at
// once, or where places matter into a Seen, which is less to carry.
template <class O, int LOCALS, bool = O::NEEDS_INDEX> struct Walk {
    template <class P> __device__ __forceinline__ void take(typename O::Local (&locals)[LOCALS],
                                                            const P &values, uint32_t) {
#pragma unroll
        for (int lane = 0; lane < int(sizeof(values.lane) / sizeof(values.lane[0])); lane++)
            O::take(locals[LOCALS == 1 ? 0 : lane], values.lane[lane], 0);
    }
    // The walk's first value has the place `first`.
    __device__ __forceinline__ void end(typename O::Local (&)[LOCALS], int64_t, int64_t, int64_t) {}
};
template <class O, int LOCALS> struct Walk<O, LOCALS, true> {
    typename O::Seen seen[LOCALS];
    __device__ __forceinline__ Walk() {
#pragma unroll
        for (int lane = 0; lane < LOCALS; lane++) seen[lane] = O::unseen();
    }
    template <class P> __device__ __forceinline__ void take(typename O::Local (&)[LOCALS],
                                                            const P &values, uint32_t iteration) {
#pragma unroll
        for (int lane = 0; lane < LOCALS; lane++) O::see(seen[lane], values.lane[lane], iteration);
    }
    __device__ __forceinline__ void end(typename O::Local (&locals)[LOCALS], int64_t first,
                                        int64_t iteration_step, int64_t lane_step) {
#pragma unroll
        for (int lane = 0; lane < LOCALS; lane++) {
            O::take_seen(locals[lane], seen[lane],
                         first + int64_t(seen[lane].iteration) * iteration_step + lane * lane_step);
        }
    }
};

// Takes values into the locals of a thread: one for each lane, or one for all, in order.
template <class O, int LOCALS, class P>
__device__ __forceinline__ void take_pack(typename O::Local (&locals)[LOCALS], const P &values,
                                          int first, int last, int64_t place, int64_t step) {
#pragma unroll
    for (int lane = 0; lane < int(sizeof(values.lane) / sizeof(values.lane[0])); lane++) {
        if (lane >= first && lane <= last)
            O::take(locals[LOCALS == 1 ? 0 : lane], values.lane[lane],
                    O::NEEDS_INDEX ? place + lane * step : 0);
    }
}

// The block is number `split` of the `blocks` blocks that compute the results of group `group`.
struct GroupBlock {
    uint32_t blocks, split;
    uint64_t group;
    __device__ __forceinline__ explicit GroupBlock(uint64_t blocks_per_result)
        : blocks(uint32_t(blocks_per_result)) {
        group = blockIdx.x / blocks;
        split = uint32_t(blockIdx.x - group * blocks);
    }
};

// The packs or places that a thread takes: from `begin` in steps of `step`, below `end`.
struct Share {
    uint64_t begin, step, end;
};

// The progress of a thread along its share: the next pack or place, and the iteration that takes
// it.
struct Progress {
    uint64_t next;
    uint32_t iteration;
};

// Returns the state of all locals of a thread. It does not synchronise.
template <class O, int LOCALS> __device__ __forceinline__ typename O::State
combine_locals(const typename O::Local (&locals)[LOCALS]) {
    typename O::State state = O::to_partial(locals[0]);
#pragma unroll
    for (int k = 1; k < LOCALS; k++) state = O::combine(state, O::to_partial(locals[k]));
    return state;
}

// Takes the whole packs of a share by `walk`, each of them loaded by `load(pack, number)`. All
// loads of a batch precede the first use, which is `complete(pack)`. Each thread calls it for
// itself, and it does not synchronise.
template <int VECTOR_SIZE, int VECTORS_PER_THREAD, class E, class O, int LOCALS, class Load,
          class Complete>
__device__ __forceinline__ void
take_whole_packs(const ReduceParams<E, O> &params, Walk<O, LOCALS> &walk,
                 typename O::Local (&locals)[LOCALS], const Share &share, Progress &progress,
                 const Load &load, const Complete &complete) {
    const uint64_t step = share.step, end = share.end;
    uint64_t &i = progress.next;
    uint32_t &iteration = progress.iteration;
    auto batch = [&](auto whole) {
        typename Wide<VECTOR_SIZE, typename E::Leaves>::type in[VECTORS_PER_THREAD];
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            if (!decltype(whole)::value && i + u * step >= end) continue;
            load(in[u], i + u * step);
        }
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            if (!decltype(whole)::value && i + u * step >= end) continue;
            complete(in[u]);
            const auto values =
                values_of<E, VECTOR_SIZE>(params.scalars.at, params.extra.at, in[u]);
            walk.take(locals, values, iteration + u);
        }
    };
    for (; i + (VECTORS_PER_THREAD - 1) * step < end;
         i += VECTORS_PER_THREAD * step, iteration += VECTORS_PER_THREAD)
        batch(Number<1>{});
    if (i < end) batch(Number<0>{});
}

// Takes the whole packs of a share along the only reduced axis, where leaves are plain and begin at
// the offsets `base`. It does not synchronise.
template <int VECTOR_SIZE, int VECTORS_PER_THREAD, class E, class O, int LOCALS> __device__
__forceinline__ void
take_whole_row_packs(const ReduceParams<E, O> &params, const OperandOffsets<E> &base,
                     Walk<O, LOCALS> &walk, typename O::Local (&locals)[LOCALS], const Share &share,
                     Progress &progress) {
    const int64_t peel = int64_t(params.peel);
    const auto &steps = params.reduced[0].strides;
    const auto load = [&](auto &in, uint64_t pack) {
        // Only addresses are computed between the loads.
        const int64_t column = int64_t(pack * VECTOR_SIZE) - peel;
        each(in, [&](auto k, auto &values) {
            constexpr int K = decltype(k)::value;
            typedef typename plain<decltype(values.lane[0])>::type T;
            const int64_t leaf_step = same<T, Index>::value ? steps[1 + K] : 1;
            load_whole(values, params.leaves[K].address, base.of[K + 1] + column * leaf_step,
                       leaf_step);
        });
    };
    take_whole_packs<VECTOR_SIZE, VECTORS_PER_THREAD>(params, walk, locals, share, progress, load,
                                                      [](auto &) {});
    if (share.begin < share.end)
        walk.end(locals, (int64_t(share.begin * VECTOR_SIZE) - peel) * steps[0],
                 int64_t(share.step * VECTOR_SIZE) * steps[0], steps[0]);
}

} // namespace gpu::algos::reduce
