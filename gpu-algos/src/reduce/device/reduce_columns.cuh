// Reductions along outer axes in packs of VECTOR_SIZE neighbours: the kernel `reduce_columns`.
//
// Contract: that of reduce.cuh, and grid groups * `blocks_per_result`. A group is the
// VECTOR_SIZE << `log_threads` results of a block. With CONTIGUOUS in FORM packs of results are
// whole.
#pragma once
#include "reduce.cuh"

namespace gpu::algos::reduce {

// The threads of a block of `reduce_columns` are `walkers` rows of `lanes`, and this thread has the
// number `lane` in row `walker`. Each row walks along the reduced axes.
struct WalkerThread {
    int lanes, walkers, lane, walker;
    __device__ __forceinline__ WalkerThread(int threads, int log)
        : lanes(1 << log), walkers(threads >> log), lane(threadIdx.x & (lanes - 1)),
          walker(threadIdx.x >> log) {}
};

// The neighbouring results of a thread of `reduce_columns`: the offsets at which their leaves
// begin, the offset of the first result, and the number of the last result within the pack.
template <class E, int VECTOR_SIZE> struct ResultPack {
    OperandOffsets<E> base;
    int64_t offset;
    int last;

    // Finds pack number `pack` of the results. It does not synchronise.
    template <class O> __device__ __forceinline__ ResultPack(const ReduceParams<E, O> &params,
                                                             uint64_t pack, bool wide) {
        const auto &outer = params.outer[0];
        uint64_t row = 0, column_pack = pack;
        if (int(params.outer_rank) > 1) {
            row = quotient(pack, params.row_packs, params.row_divisor, wide);
            column_pack = pack - row * params.row_packs;
        }
        const int64_t column = int64_t(column_pack) * VECTOR_SIZE,
                      left = int64_t(outer.length) - column;
        last = left < VECTOR_SIZE ? int(left) - 1 : VECTOR_SIZE - 1;
#pragma unroll
        for (int k = 0; k <= E::Leaves::SIZE; k++) base.of[k] = column * outer.strides[k];
        add_place(base, params.outer.at, 1, int(params.outer_rank), row, wide);
        offset = base.of[0];
        base.of[0] = 0;
    }
};

// Returns the places of the reduced axes that a thread of `reduce_columns` takes, of `places`
// places. If order matters they are neighbours.
template <class O> __device__ __forceinline__ Share find_column_share(const GroupBlock &block,
                                                                      const WalkerThread &thread,
                                                                      uint64_t places) {
    const uint64_t walkers = uint64_t(block.blocks) * thread.walkers,
                   number = uint64_t(block.split) * thread.walkers + thread.walker;
    Share share{number, walkers, places};
    if constexpr (!O::COMMUTATIVE) {
        const uint64_t size = (places + walkers - 1) / walkers;
        share.begin = number * size;
        share.end = share.begin + size < places ? share.begin + size : places;
        share.step = 1;
    }
    return share;
}

// Loads the values of a pack of results at place number `number` of the reduced axes, and returns
// that place in C order. It does not synchronise.
template <class E, class O, int VECTOR_SIZE> __device__ __forceinline__ int64_t load_at(
    const ReduceParams<E, O> &params, const ResultPack<E, VECTOR_SIZE> &results, uint64_t number,
    int rank, bool wide, typename Wide<VECTOR_SIZE, typename E::Leaves>::type &in) {
    OperandOffsets<E> offsets = results.base;
    add_place(offsets, params.reduced.at, 0, rank, number, wide);
    each(in, [&](auto k, auto &values) {
        constexpr int K = decltype(k)::value;
        const LeafParams &leaf = params.leaves[K];
        load(values, leaf.address, leaf.kind, offsets.of[K + 1], params.outer[0].strides[1 + K], 0,
             results.last);
    });
    return offsets.of[0];
}

// Takes the values of whole packs of results at the places of a share, where leaves are plain. It
// does not synchronise.
template <int VECTORS_PER_THREAD, class E, class O, int VECTOR_SIZE> __device__ __forceinline__ void
take_plain_columns(const ReduceParams<E, O> &params, const ResultPack<E, VECTOR_SIZE> &results,
                   typename O::Local (&locals)[VECTOR_SIZE], const Share &share) {
    const auto &outer = params.outer[0];
    const auto &steps = params.reduced[0].strides;
    Progress progress{share.begin, 0};
    Walk<O, VECTOR_SIZE> walk;
    // A leaf that is the same in all columns is one of several.
    const auto is_constant = [&](int k) {
        return E::Leaves::SIZE > 1 && params.leaves[k].kind == CONSTANT;
    };
    const auto load = [&](auto &in, uint64_t number) {
        const int64_t place = int64_t(number);
        each(in, [&](auto k, auto &values) {
            constexpr int K = decltype(k)::value;
            const uint64_t address = params.leaves[K].address;
            const int64_t offset = results.base.of[K + 1] + place * steps[1 + K];
            if (is_constant(K)) {
                load_first(values, address, offset);
            } else {
                load_whole(values, address, offset, outer.strides[1 + K]);
            }
        });
    };
    // Behind the loads, since it waits for them.
    const auto complete = [&](auto &in) {
        each(in, [&](auto k, auto &values) {
            const bool constant = is_constant(decltype(k)::value);
#pragma unroll
            for (int lane = 1; lane < VECTOR_SIZE; lane++)
                if (constant) values.lane[lane] = values.lane[0];
        });
    };
    take_whole_packs<VECTOR_SIZE, VECTORS_PER_THREAD>(params, walk, locals, share, progress, load,
                                                      complete);
    if (share.begin < share.end)
        walk.end(locals, int64_t(share.begin) * steps[0], int64_t(share.step) * steps[0], 0);
}

// Combines the states of the first `walkers` walkers of a block, in order, in the first one. All
// threads of the block call it, and it synchronises them. A result's states are `lanes` threads
// apart and often in several warps, so the shuffles of neighbours in block/reduce.cuh do not fit.
template <class O, int THREADS, int VECTOR_SIZE>
__device__ __forceinline__ void join_walkers(typename O::State (&states)[VECTOR_SIZE],
                                             const WalkerThread &thread, int walkers,
                                             typename O::State *shared) {
    for (int half = 1; half < walkers; half *= 2) {
        __syncthreads();
#pragma unroll
        for (int k = 0; k < VECTOR_SIZE; k++) shared[k * THREADS + threadIdx.x] = states[k];
        __syncthreads();
        if (thread.walker % (2 * half) == 0) {
#pragma unroll
            for (int k = 0; k < VECTOR_SIZE; k++)
                states[k] =
                    O::combine(states[k], shared[k * THREADS + threadIdx.x + half * thread.lanes]);
        }
    }
}

// The states of a group of `reduce_columns` in scratch memory: one of each block for each result.
// Neighbouring lanes have neighbouring states there, and each walker combines a share of the blocks
// for all its results, where `combine_by_last_block` (reduce_rows.cuh) has one result.
template <class O, int VECTOR_SIZE> struct ColumnPartials {
    typedef typename O::State State;
    State *states;
    const WalkerThread &thread;

    __device__ __forceinline__ State &at(uint32_t split, int k) const {
        return states[(uint64_t(split) * VECTOR_SIZE + k) * thread.lanes + thread.lane];
    }

    // Stores the states of block `split`, which the first walker of that block has.
    __device__ __forceinline__ void store(uint32_t split, const State (&from)[VECTOR_SIZE]) const {
        if (thread.walker == 0) {
#pragma unroll
            for (int k = 0; k < VECTOR_SIZE; k++) at(split, k) = from[k];
        }
    }

    // Combines the stored states of neighbouring blocks, a share of the `blocks` for each walker.
    // It does not synchronise.
    __device__ __forceinline__ void combine(uint32_t blocks, State (&to)[VECTOR_SIZE]) const {
        const uint32_t share = (blocks + thread.walkers - 1) / thread.walkers;
#pragma unroll
        for (int k = 0; k < VECTOR_SIZE; k++) {
            to[k] = O::to_partial(O::identity());
            for (uint32_t s = thread.walker * share; s < (thread.walker + 1) * share && s < blocks;
                 s++)
                to[k] = O::combine(to[k], at(s, k));
        }
    }
};

template <class E, class O, int THREADS, int VECTOR_SIZE, int VECTORS_PER_THREAD, uint32_t FORM>
__global__ void __launch_bounds__(THREADS, 512 / THREADS)
    reduce_columns(const __grid_constant__ ReduceParams<E, O> params) {
    typedef typename O::State State;
    constexpr int SLOW_VECTORS = VECTORS_PER_THREAD > 4 ? 4 : VECTORS_PER_THREAD;
    typedef TempStorage<State, THREADS * VECTOR_SIZE> Shared;
    SHARED(Shared, storage, [1]);
    SHARED(bool, last_block, [1]);
    State *shared = storage[0].states();

    // The results of this thread, and its places of the reduced axes.
    const int log = int(params.log_threads), rank = int(params.reduced_rank);
    const bool wide = params.is_wide;
    const GroupBlock block(params.blocks_per_result);
    const WalkerThread thread(THREADS, log);
    const uint64_t pack = (block.group << log) + thread.lane;
    const bool exists = pack < params.packs;
    const ResultPack<E, VECTOR_SIZE> results(params, pack, wide);
    const auto &outer = params.outer[0];
    Share share = find_column_share<O>(block, thread, exists ? params.count : 0);
    typename O::Local locals[VECTOR_SIZE];
#pragma unroll
    for (int k = 0; k < VECTOR_SIZE; k++) locals[k] = O::identity();
    gpu::grid_dependency_wait();

    // Packs of any leaves are loaded here: in a function of its own the loop takes more registers
    // (NVRTC 13.0, f64: 90 for 80).
    if constexpr (FORM & CONTIGUOUS) {
        take_plain_columns<VECTORS_PER_THREAD>(params, results, locals, share);
    } else {
        for (uint64_t i = share.begin; i < share.end; i += share.step * SLOW_VECTORS) {
            typename Wide<VECTOR_SIZE, typename E::Leaves>::type in[SLOW_VECTORS];
            int64_t place[SLOW_VECTORS];
#pragma unroll
            for (int u = 0; u < SLOW_VECTORS; u++) {
                if (i + u * share.step >= share.end) continue;
                place[u] = load_at(params, results, i + u * share.step, rank, wide, in[u]);
            }
#pragma unroll
            for (int u = 0; u < SLOW_VECTORS; u++) {
                if (i + u * share.step >= share.end) continue;
                const auto values =
                    values_of<E, VECTOR_SIZE>(params.scalars.at, params.extra.at, in[u]);
                take_pack<O>(locals, values, 0, results.last, place[u], 0);
            }
        }
    }
    gpu::trigger_dependents();

    // The states of the block, then those of all blocks of the group.
    State states[VECTOR_SIZE];
#pragma unroll
    for (int k = 0; k < VECTOR_SIZE; k++) states[k] = O::to_partial(locals[k]);
    join_walkers<O, THREADS>(states, thread, thread.walkers, shared);
    if (block.blocks > 1) {
        const ColumnPartials<O, VECTOR_SIZE> partials{
            reinterpret_cast<State *>(params.scratch + COUNTER_BYTES) +
                (block.group << log) * block.blocks * VECTOR_SIZE,
            thread};
        partials.store(block.split, states);
        if (!is_last_block(params.scratch, block.group, block.blocks, last_block[0])) return;
        partials.combine(block.blocks, states);
        const int walkers = min(int(block.blocks), thread.walkers);
        join_walkers<O, THREADS>(states, thread, walkers, shared);
    }
    if (thread.walker == 0 && exists) {
#pragma unroll
        for (int k = 0; k < VECTOR_SIZE; k++) {
            if (k <= results.last)
                write_results<E, O>(params, states[k], results.offset + k * outer.strides[0]);
        }
    }
}

} // namespace gpu::algos::reduce
