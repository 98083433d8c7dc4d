// Reductions of all values of contiguous arrays to one result, in one launch. `reduce_rows`
// (reduce_rows.cuh) does that too, with more work around it, which is most of the time if there are
// few values.
//
// With several blocks each publishes its state in a slot. A warp of the last block combines them
// and does nothing else. A multiprocessor waits for anything that it does for the first time, so
// that warp does all of it once before there is anything to combine.
//
// Contract: that of `reduce_rows` with CONTIGUOUS and ONE_RESULT, and THREADS for the result; grid
// `blocks_per_result`, block THREADS + 32.
#pragma once
#include "reduce.cuh"

namespace gpu::algos::reduce {

// A warp that combines the states in the first `count` slots, in its first lane, and clears the
// slots. It is `combine_slots` (reduce_rows.cuh) with one poll to a call, so that a rehearsal can
// run the same code.
template <class O> struct Collector {
    typedef typename O::State State;
    static constexpr uint32_t AT_ONCE = Slot<State>::WORDS > 2 ? 1 : 4;
    State all = O::to_partial(O::identity());
    uint32_t first = 0;

    // Polls once, and returns whether all states are combined. A rehearsal has no effect.
    __device__ __forceinline__ bool poll(Slot<State> *slots, uint32_t count, bool is_rehearsal) {
        const uint32_t lane = threadIdx.x % 32;
        State states[AT_ONCE];
        bool wanted[AT_ONCE];
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) wanted[k] = first + k * 32 + lane < count;
        const bool here = poll_all(slots + first + lane, wanted, states);
        // With TOTAL states are combined whether they are there or not, which is sooner; the result
        // is discarded unless all are there.
        const bool are_combined = O::TOTAL || (here && !is_rehearsal);
        State sum = O::to_partial(O::identity());
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            if (wanted[k] && are_combined) sum = O::combine(sum, states[k]);
        }
        sum = reduce_lanes<O>(sum, 32);
        if (!here || is_rehearsal) return false;
        all = O::combine(all, sum);
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            if (wanted[k]) slots[first + k * 32 + lane].clear();
        }
        first += 32 * AT_ONCE;
        return first >= count;
    }
};

// Takes a value at either end of the array, if it fills no whole pack. The first 2 * VECTOR_SIZE
// threads of one block call it, each for a value of its own; `from` and `to` bound the whole packs.
// It does not synchronise.
template <int VECTOR_SIZE, class E, class O> __device__ __forceinline__ void
take_end_value(const ReduceParams<E, O> &params, typename O::Local &local, int64_t count,
               int64_t peel, uint64_t from, uint64_t to, int64_t place_step) {
    const int lane = int(threadIdx.x) % VECTOR_SIZE;
    const bool is_first = int(threadIdx.x) < VECTOR_SIZE;
    const int64_t column = (is_first ? 0 : int64_t(to * VECTOR_SIZE)) + lane - peel;
    if (column >= 0 && column < count && (is_first ? peel > 0 : to >= from)) {
        typename Wide<1, typename E::Leaves>::type one;
        each(one, [&](auto k, auto &values) {
            constexpr int K = decltype(k)::value;
            const int64_t leaf_step = params.reduced[0].strides[1 + K];
            load(values, params.leaves[K].address, STRIDED, column * leaf_step, leaf_step);
        });
        O::take(local, values_of<E, 1>(params.scalars.at, params.extra.at, one).lane[0],
                column * place_step);
    }
}

template <class E, class O, int THREADS, int VECTOR_SIZE, int VECTORS_PER_THREAD>
// Two blocks to a multiprocessor leave enough registers for all loads of a batch.
__global__ void __launch_bounds__(THREADS + 32, 2)
    reduce_all(const __grid_constant__ ReduceParams<E, O> params) {
    typedef typename O::State State;
    static_assert(O::COMMUTATIVE, "threads take packs out of order");
    constexpr int LOCALS = O::LANES ? VECTOR_SIZE : 1;
    typedef Reduce<O, THREADS> BlockReduce;
    SHARED(typename BlockReduce::Storage, storage, [1]);

    // The whole packs of this thread; the first pack may begin before the first value.
    const uint32_t split = blockIdx.x, blocks_per_result = gridDim.x;
    const uint64_t step = uint64_t(blocks_per_result) * THREADS,
                   begin = uint64_t(split) * THREADS + threadIdx.x;
    const int64_t count = int64_t(params.count), peel = int64_t(params.peel),
                  place_step = params.reduced[0].strides[0];
    const uint64_t from = peel > 0 ? 1 : 0, to = uint64_t(count + peel) / VECTOR_SIZE;
    const Share share{begin < from ? begin + step : begin, step, to};
    OperandOffsets<E> base;
#pragma unroll
    for (int k = 0; k <= E::Leaves::SIZE; k++) base.of[k] = 0;
    typename O::Local locals[LOCALS];
#pragma unroll
    for (int k = 0; k < LOCALS; k++) locals[k] = O::identity();

    // These stand outside the loop below: NVRTC 13.0 makes longer code of them inside it.
    Progress progress{share.begin, 0};
    Walk<O, LOCALS> walk;

    Slot<State> *slots = reinterpret_cast<Slot<State> *>(params.scratch);
    Collector<O> collector;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const bool is_collector = threadIdx.x >= THREADS,
               has_slots = is_collector && blocks_per_result > 1 && split + 1 == blocks_per_result;
    // `results` is always 1 here, so this is true. The compiler must not know that: it would make a
    // second copy of the collector's code for the first iteration.
    bool is_rehearsal = params.results != 0;
    gpu::grid_dependency_wait();
    if (is_collector) gpu::trigger_dependents();
    while (true) {
        if (is_collector) {
            if (has_slots && collector.poll(slots, blocks_per_result, is_rehearsal)) break;
            if (!has_slots && !is_rehearsal) return;
        } else if (is_rehearsal) {
            // The state of each warp.
            take_whole_row_packs<VECTOR_SIZE, VECTORS_PER_THREAD>(params, base, walk, locals, share,
                                                                  progress);
            if (split == 0 && threadIdx.x < 2 * VECTOR_SIZE)
                take_end_value<VECTOR_SIZE>(params, locals[0], count, peel, from, to, place_step);
            gpu::trigger_dependents();
            const State state = reduce_lanes<O>(combine_locals<O>(locals), 32);
            BlockReduce::store_warp(state, lane, warp, storage[0]);
        } else {
            // The state of the block.
            if (warp > 0) return;
            const State state = BlockReduce::combine_warps(storage[0]);
            if (lane > 0) return;
            if (blocks_per_result > 1) {
                slots[split].publish(state);
                return;
            }
            collector.all = state;
            break;
        }
        if (is_rehearsal) {
            __syncthreads();
            is_rehearsal = false;
        } else {
            __nanosleep(20);
        }
    }
    if (lane == 0) write_results<E, O>(params, collector.all, 0);
}

} // namespace gpu::algos::reduce
