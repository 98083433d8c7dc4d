// Reductions of an expression, over some or all of its axes, in one launch.
//
// E is an expression (loop.cuh), O an operator (operators.cuh). A result combines the values at all
// places of the reduced axes; there is one result for each place of the outer axes. There are two
// kernels. The threads of `reduce_rows` go along a reduced axis in packs of VECTOR_SIZE neighbours,
// those of `reduce_columns` along an outer axis.
//
// If several blocks compute a result, each leaves a state in the stream's scratch memory. If there
// is one result by `reduce_rows`, the last block waits for the states. Otherwise each block counts
// itself, and the last one to arrive joins the states and sets the counter back to 0. No block
// waits for another then, since so many blocks need not be resident at once. Both combine the
// states in the order of the blocks, so results depend on the shape of the launch, and on nothing
// else.
//
// Contract of both: block THREADS, no dynamic shared memory. Scratch, with `blocks_per_result` > 1:
// if `reduce_rows` has one result, `blocks_per_result` slots and BEHIND more, as
// `Stream::with_cleared_scratch` gives them. Otherwise it is as `Stream::with_scratch` gives it,
// with a counter for each group of results and `blocks_per_result` states for each result; it may
// hold anything else. Axes are in the order in which they are walked, axis 0 first. If O is not
// COMMUTATIVE the reduced ones are in C order. Bytes moved: each leaf is read as often as it is
// broadcast along outer axes, less the reads that the caches serve. Parameters: ReduceParams
// (params.rs).
#pragma once
#include "tile_status.cuh"
#include "operators.cuh"
#include "reduce_params.cuh"
#include "walk.cuh"

namespace gpu {
namespace reduce {

// Offsets of a reduction's operands: the own one, then those of the leaves.
template <class E> using OperandOffsets = Offsets<1 + E::Leaves::SIZE>;

// Joins the states of groups of `width` lanes (a power of 2), in order, in the first lane of each.
template <class O>
__device__ __forceinline__ typename O::State join_lanes(typename O::State state, int width) {
    for (int delta = 1; delta < width; delta *= 2) {
        const typename O::State later = shuffled_down(state, delta, width);
        // Lanes beyond the end get their own state back; nobody uses theirs.
        state = O::combine(state, later);
    }
    return state;
}

// Joins the states of groups of `1 << log` threads of the block, in order, in the first thread of
// each.
template <class O, int THREADS> __device__ __forceinline__ typename O::State
join_threads(typename O::State state, int log, typename O::State *shared) {
    state = join_lanes<O>(state, log < 5 ? 1 << log : 32);
    if (log <= 5) return state;
    const int warps = 1 << (log - 5), warp = threadIdx.x / 32;
    __syncthreads();
    if (threadIdx.x % 32 == 0) shared[warp] = state;
    __syncthreads();
    if (warp % warps == 0) {
        const int lane = threadIdx.x % 32;
        state = lane < warps ? shared[warp + lane] : O::to_partial(O::identity());
        state = join_lanes<O>(state, warps);
    }
    return state;
}

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

// Joins the states in the first `count` slots, in order, in a warp's first lane. Clears the slots.
template <class O> __device__ __forceinline__ typename O::State
join_slots(Slot<typename O::State> *slots, uint32_t count) {
    typedef typename O::State State;
    constexpr uint32_t AT_ONCE = Slot<State>::WORDS < 8 ? 8 / Slot<State>::WORDS : 1;
    const uint32_t lane = threadIdx.x % 32;
    State all = O::to_partial(O::identity());
    for (uint32_t first = 0; first < count; first += 32 * AT_ONCE) {
        State states[AT_ONCE];
        bool wanted[AT_ONCE];
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) wanted[k] = first + k * 32 + lane < count;
        wait_for_all(slots + first + lane, slots, wanted, states);
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            if (wanted[k]) {
                slots[first + k * 32 + lane].clear();
            } else {
                states[k] = O::to_partial(O::identity());
            }
            if constexpr (!O::COMMUTATIVE) states[k] = join_lanes<O>(states[k], 32);
        }
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) all = O::combine(all, states[k]);
    }
    return O::COMMUTATIVE ? join_lanes<O>(all, 32) : all;
}

// Whether this block is the last of its group to arrive. It then sees all earlier writes of the
// group's blocks.
__device__ __forceinline__ bool is_last(uint64_t scratch, uint64_t group, uint32_t blocks,
                                        bool &shared) {
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t *counter = reinterpret_cast<uint32_t *>(scratch) + group;
        shared = arrive(counter) == blocks - 1;
        if (shared) *counter = 0;
    }
    __syncthreads();
    return shared;
}

// A thread's walk along whole packs, turn by turn. It takes values into its locals at once, or
// where places matter into a Seen, which is less to carry.
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
                                                            const P &values, uint32_t turn) {
#pragma unroll
        for (int lane = 0; lane < LOCALS; lane++) O::see(seen[lane], values.lane[lane], turn);
    }
    __device__ __forceinline__ void end(typename O::Local (&locals)[LOCALS], int64_t first,
                                        int64_t turn_step, int64_t lane_step) {
#pragma unroll
        for (int lane = 0; lane < LOCALS; lane++) {
            O::take_seen(locals[lane], seen[lane],
                         first + int64_t(seen[lane].turn) * turn_step + lane * lane_step);
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

// Contract besides: grid groups * `blocks_per_result`. A group is the THREADS >> `log_threads`
// results of a block. `blocks_per_result` > 1 only for groups of one result.
template <class E, class O, int THREADS, int VECTOR_SIZE, int VECTORS_PER_THREAD>
__global__ void __launch_bounds__(THREADS)
    reduce_rows(const __grid_constant__ ReduceParams<E, O> params) {
    typedef typename O::State State;
    constexpr int LOCALS = O::COMMUTATIVE && O::LANES ? VECTOR_SIZE : 1;
    // Packs that are not plain carry more beside their values, and VECTORS_PER_THREAD of them would
    // take registers from all.
    constexpr int SLOW_VECTORS = VECTORS_PER_THREAD > 4
                                     ? VECTORS_PER_THREAD / (sizeof(typename O::Local) > 8 ? 4 : 2)
                                     : VECTORS_PER_THREAD;
    typedef TempStorage<State, THREADS / 32> Shared;
    SHARED(Shared, room, [1]);
    SHARED(bool, last_block, [1]);
    State *shared = reinterpret_cast<State *>(room[0].bytes);
    const int log = int(params.log_threads), threads = 1 << log;
    const uint32_t blocks_per_result = uint32_t(params.blocks_per_result);
    const uint64_t group = blockIdx.x / blocks_per_result;
    const uint32_t split = uint32_t(blockIdx.x - group * blocks_per_result);
    const uint64_t result = group * (THREADS >> log) + (threadIdx.x >> log);
    const int lane = threadIdx.x & (threads - 1);
    const bool wide = params.is_wide;

    OperandOffsets<E> base;
#pragma unroll
    for (int k = 0; k <= E::Leaves::SIZE; k++) base.of[k] = 0;
    typename O::Local locals[LOCALS];
#pragma unroll
    for (int k = 0; k < LOCALS; k++) locals[k] = O::identity();
    State ordered = O::to_partial(O::identity());

    if (result < params.results)
        add_place(base, params.outer.at, 0, int(params.outer_rank), result, wide);
    const int64_t result_offset = base.of[0];
    base.of[0] = 0;

    // The packs of this thread: from `begin` in steps of `step`, below `end`. If order matters each
    // warp has neighbouring packs to itself, and its lanes take equal numbers of turns, since they
    // meet in each.
    const uint64_t packs = params.packs;
    uint64_t begin = uint64_t(split) * threads + lane, step = uint64_t(blocks_per_result) * threads,
             end = packs, turns = ~uint64_t(0);
    if constexpr (!O::COMMUTATIVE) {
        const int walkers_of_block = threads > 32 ? threads / 32 : 1;
        const uint64_t walkers = uint64_t(blocks_per_result) * walkers_of_block,
                       walker = uint64_t(split) * walkers_of_block + lane / 32;
        const uint64_t share = (packs + walkers - 1) / walkers;
        begin = walker * share + lane % 32;
        end = (walker + 1) * share < packs ? (walker + 1) * share : packs;
        step = threads < 32 ? threads : 32;
        turns = (share + step * SLOW_VECTORS - 1) / (step * SLOW_VECTORS);
    }
    if (result >= params.results) end = 0;
    const int rank = int(params.reduced_rank);
    const int64_t length = int64_t(params.reduced[0].length), peel = int64_t(params.peel);
    const auto &steps = params.reduced[0].strides;

    gpu::grid_dependency_wait();
    // Whole packs of plain leaves: all loads of a batch precede the first use, and only addresses
    // are computed in between. The first pack and the last one are left over if they are cut.
    if constexpr (O::COMMUTATIVE) {
        if (params.is_plain && begin < end) {
            const uint64_t from = peel > 0 ? 1 : 0, to = uint64_t(length + peel) / VECTOR_SIZE;
            const int64_t place_step = steps[0];
            const uint64_t begun = begin < from ? begin + step : begin;
            uint64_t i = begun;
            uint32_t turn = 0;
            Walk<O, LOCALS> walk;
            auto batch = [&](auto whole) {
                typename Wide<VECTOR_SIZE, typename E::Leaves>::type in[VECTORS_PER_THREAD];
#pragma unroll
                for (int u = 0; u < VECTORS_PER_THREAD; u++) {
                    if (!decltype(whole)::value && i + u * step >= to) continue;
                    const int64_t column = int64_t((i + u * step) * VECTOR_SIZE) - peel;
                    each(in[u], [&](auto k, auto &values) {
                        constexpr int K = decltype(k)::value;
                        typedef typename plain<decltype(values.lane[0])>::type T;
                        const int64_t leaf_step = same<T, Index>::value ? steps[1 + K] : 1;
                        load_whole(values, params.leaves[K].address,
                                   base.of[K + 1] + column * leaf_step, leaf_step);
                    });
                }
#pragma unroll
                for (int u = 0; u < VECTORS_PER_THREAD; u++) {
                    if (!decltype(whole)::value && i + u * step >= to) continue;
                    const auto values =
                        values_of<E, VECTOR_SIZE>(params.scalars.at, params.extra.at, in[u]);
                    walk.take(locals, values, turn + u);
                }
            };
            for (; i + (VECTORS_PER_THREAD - 1) * step < to;
                 i += VECTORS_PER_THREAD * step, turn += VECTORS_PER_THREAD)
                batch(Number<1>{});
            if (i < to) batch(Number<0>{});
            if (begun < to)
                walk.end(locals, (int64_t(begun * VECTOR_SIZE) - peel) * place_step,
                         int64_t(step * VECTOR_SIZE) * place_step, place_step);
            // The packs that are left over: pack 0 and the last one.
            const bool has_first = from > 0 && begin == 0 && to > 0,
                       has_last = to < packs && begin == (packs - 1) % step;
            begin = has_first ? 0 : has_last ? packs - 1 : end;
            step = has_first && has_last ? packs - 1 : end;
        }
    }

    for (uint64_t i = begin; O::COMMUTATIVE ? i < end : turns > 0;
         i += step * SLOW_VECTORS, turns--) {
        typename Wide<VECTOR_SIZE, typename E::Leaves>::type in[SLOW_VECTORS];
        int first[SLOW_VECTORS], last[SLOW_VECTORS];
        int64_t place[SLOW_VECTORS];
#pragma unroll
        for (int u = 0; u < SLOW_VECTORS; u++) {
            const uint64_t pack = i + u * step;
            first[u] = 0;
            last[u] = -1;
            if (pack >= end) continue;
            uint64_t row = 0, column_pack = pack;
            if (rank > 1) {
                row = quotient(pack, params.row_packs, params.row_divisor, wide);
                column_pack = pack - row * params.row_packs;
            }
            const int64_t column = int64_t(column_pack) * VECTOR_SIZE - peel;
            first[u] = column < 0 ? int(-column) : 0;
            last[u] = length - column < VECTOR_SIZE ? int(length - column) - 1 : VECTOR_SIZE - 1;
            OperandOffsets<E> offsets = base;
            if (rank > 1) add_place(offsets, params.reduced.at, 1, rank, row, wide);
#pragma unroll
            for (int k = 0; k <= E::Leaves::SIZE; k++) offsets.of[k] += column * steps[k];
            place[u] = offsets.of[0];
            each(in[u], [&](auto k, auto &values) {
                constexpr int K = decltype(k)::value;
                const LeafParams &leaf = params.leaves[K];
                load(values, leaf.address, leaf.kind, offsets.of[K + 1], steps[1 + K], first[u],
                     last[u]);
            });
        }
#pragma unroll
        for (int u = 0; u < SLOW_VECTORS; u++) {
            if (O::COMMUTATIVE && last[u] < first[u]) continue;
            if constexpr (!O::COMMUTATIVE) locals[0] = O::identity();
            if (last[u] >= first[u]) {
                const auto values =
                    values_of<E, VECTOR_SIZE>(params.scalars.at, params.extra.at, in[u]);
                take_pack<O>(locals, values, first[u], last[u], place[u], steps[0]);
            }
            if constexpr (!O::COMMUTATIVE) {
                const State next =
                    join_lanes<O>(O::to_partial(locals[0]), threads < 32 ? threads : 32);
                if (lane % 32 == 0) ordered = O::combine(ordered, next);
            }
        }
    }

    gpu::trigger_dependents();
    State state = ordered;
    if constexpr (O::COMMUTATIVE) {
        state = O::to_partial(locals[0]);
#pragma unroll
        for (int k = 1; k < LOCALS; k++) state = O::combine(state, O::to_partial(locals[k]));
    } else if (lane % 32 != 0) {
        state = O::to_partial(O::identity());
    }
    state = join_threads<O, THREADS>(state, log, shared);
    if (blocks_per_result == 1) {
        if (lane == 0 && result < params.results) write_results<E, O>(params, state, result_offset);
        return;
    }
    if (gridDim.x == blocks_per_result) {
        Slot<State> *slots = reinterpret_cast<Slot<State> *>(params.scratch);
        if (split + 1 < blocks_per_result) {
            if (threadIdx.x == 0) slots[split].put(state);
            return;
        }
        // One warp, all of whose polls are in flight at once, is done sooner than a block (H200,
        // 2^20 f32: by 0.5 of 2.5 us).
        if (threadIdx.x >= 32) return;
        const State others = join_slots<O>(slots, blocks_per_result - 1);
        if (threadIdx.x == 0) write_results<E, O>(params, O::combine(others, state), result_offset);
        return;
    }
    State *states =
        reinterpret_cast<State *>(params.scratch + COUNTER_BYTES) + group * blocks_per_result;
    if (threadIdx.x == 0) states[split] = state;
    if (!is_last(params.scratch, group, blocks_per_result, last_block[0])) return;
    // Each thread joins neighbouring states.
    const uint32_t share = (blocks_per_result + THREADS - 1) / THREADS, from = threadIdx.x * share,
                   to = from + share < blocks_per_result ? from + share : blocks_per_result;
    state = O::to_partial(O::identity());
    for (uint32_t k = from; k < to; k++) state = O::combine(state, states[k]);
    state = join_threads<O, THREADS>(state, log, shared);
    if (threadIdx.x == 0) write_results<E, O>(params, state, result_offset);
}

// Contract besides: grid groups * `blocks_per_result`. A group is the VECTOR_SIZE << `log_threads`
// results of a block.
template <class E, class O, int THREADS, int VECTOR_SIZE, int VECTORS_PER_THREAD>
__global__ void __launch_bounds__(THREADS, 512 / THREADS)
    reduce_columns(const __grid_constant__ ReduceParams<E, O> params) {
    typedef typename O::State State;
    typedef TempStorage<State, THREADS * VECTOR_SIZE> Shared;
    SHARED(Shared, room, [1]);
    SHARED(bool, last_block, [1]);
    State *shared = reinterpret_cast<State *>(room[0].bytes);
    const int log = int(params.log_threads), wide_lanes = 1 << log,
              walkers_of_block = THREADS >> log;
    const uint32_t blocks_per_result = uint32_t(params.blocks_per_result);
    const uint64_t group = blockIdx.x / blocks_per_result;
    const uint32_t split = uint32_t(blockIdx.x - group * blocks_per_result);
    const int lane = threadIdx.x & (wide_lanes - 1), walker = threadIdx.x >> log;
    const uint64_t pack = (group << log) + lane;
    const bool wide = params.is_wide, exists = pack < params.packs;

    // The outer places of this thread.
    const auto &outer = params.outer[0];
    const auto &steps = params.reduced[0].strides;
    uint64_t row = 0, column_pack = pack;
    if (int(params.outer_rank) > 1) {
        row = quotient(pack, params.row_packs, params.row_divisor, wide);
        column_pack = pack - row * params.row_packs;
    }
    const int64_t column = int64_t(column_pack) * VECTOR_SIZE,
                  left = int64_t(outer.length) - column;
    const int last = left < VECTOR_SIZE ? int(left) - 1 : VECTOR_SIZE - 1;
    OperandOffsets<E> base;
#pragma unroll
    for (int k = 0; k <= E::Leaves::SIZE; k++) base.of[k] = column * outer.strides[k];
    add_place(base, params.outer.at, 1, int(params.outer_rank), row, wide);
    const int64_t result_offset = base.of[0];
    base.of[0] = 0;

    const uint64_t places = exists ? params.count : 0,
                   walkers = uint64_t(blocks_per_result) * walkers_of_block;
    const uint64_t number = uint64_t(split) * walkers_of_block + walker;
    uint64_t begin = number, step = walkers, end = places;
    if constexpr (!O::COMMUTATIVE) {
        const uint64_t share = (places + walkers - 1) / walkers;
        begin = number * share;
        end = begin + share < places ? begin + share : places;
        step = 1;
    }
    const int rank = int(params.reduced_rank);
    typename O::Local locals[VECTOR_SIZE];
#pragma unroll
    for (int k = 0; k < VECTOR_SIZE; k++) locals[k] = O::identity();
    gpu::grid_dependency_wait();
    if (params.is_plain && last == VECTOR_SIZE - 1) {
        const uint64_t first = begin;
        uint32_t turn = 0;
        Walk<O, VECTOR_SIZE> walk;
        auto batch = [&](auto whole) {
            typename Wide<VECTOR_SIZE, typename E::Leaves>::type in[VECTORS_PER_THREAD];
#pragma unroll
            for (int u = 0; u < VECTORS_PER_THREAD; u++) {
                if (!decltype(whole)::value && begin + u * step >= end) continue;
                const int64_t place = int64_t(begin + u * step);
                each(in[u], [&](auto k, auto &values) {
                    constexpr int K = decltype(k)::value;
                    load_whole(values, params.leaves[K].address,
                               base.of[K + 1] + place * steps[1 + K], outer.strides[1 + K]);
                });
            }
#pragma unroll
            for (int u = 0; u < VECTORS_PER_THREAD; u++) {
                if (!decltype(whole)::value && begin + u * step >= end) continue;
                const auto values =
                    values_of<E, VECTOR_SIZE>(params.scalars.at, params.extra.at, in[u]);
                walk.take(locals, values, turn + u);
            }
        };
        for (; begin + (VECTORS_PER_THREAD - 1) * step < end;
             begin += VECTORS_PER_THREAD * step, turn += VECTORS_PER_THREAD)
            batch(Number<1>{});
        if (begin < end) batch(Number<0>{});
        if (first < end) walk.end(locals, int64_t(first) * steps[0], int64_t(step) * steps[0], 0);
        begin = end;
    }
    for (uint64_t i = begin; i < end; i += step * VECTORS_PER_THREAD) {
        typename Wide<VECTOR_SIZE, typename E::Leaves>::type in[VECTORS_PER_THREAD];
        int64_t place[VECTORS_PER_THREAD];
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            if (i + u * step >= end) continue;
            OperandOffsets<E> offsets = base;
            add_place(offsets, params.reduced.at, 0, rank, i + u * step, wide);
            place[u] = offsets.of[0];
            each(in[u], [&](auto k, auto &values) {
                constexpr int K = decltype(k)::value;
                const LeafParams &leaf = params.leaves[K];
                load(values, leaf.address, leaf.kind, offsets.of[K + 1], outer.strides[1 + K], 0,
                     last);
            });
        }
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            if (i + u * step >= end) continue;
            const auto values =
                values_of<E, VECTOR_SIZE>(params.scalars.at, params.extra.at, in[u]);
            take_pack<O>(locals, values, 0, last, place[u], 0);
        }
    }

    gpu::trigger_dependents();
    // The states of the walkers are joined in order; the first walker has the block's states.
    State states[VECTOR_SIZE];
#pragma unroll
    for (int k = 0; k < VECTOR_SIZE; k++) states[k] = O::to_partial(locals[k]);
    auto join_walkers = [&]() {
        for (int half = 1; half < walkers_of_block; half *= 2) {
            __syncthreads();
#pragma unroll
            for (int k = 0; k < VECTOR_SIZE; k++) shared[k * THREADS + threadIdx.x] = states[k];
            __syncthreads();
            if (walker % (2 * half) == 0) {
#pragma unroll
                for (int k = 0; k < VECTOR_SIZE; k++)
                    states[k] = O::combine(states[k],
                                           shared[k * THREADS + threadIdx.x + half * wide_lanes]);
            }
        }
    };
    join_walkers();
    if (blocks_per_result > 1) {
        State *left_states = reinterpret_cast<State *>(params.scratch + COUNTER_BYTES) +
                             (group << log) * blocks_per_result * VECTOR_SIZE;
        if (walker == 0) {
#pragma unroll
            for (int k = 0; k < VECTOR_SIZE; k++)
                left_states[(uint64_t(split) * VECTOR_SIZE + k) * wide_lanes + lane] = states[k];
        }
        if (!is_last(params.scratch, group, blocks_per_result, last_block[0])) return;
        const uint32_t share = (blocks_per_result + walkers_of_block - 1) / walkers_of_block;
#pragma unroll
        for (int k = 0; k < VECTOR_SIZE; k++) {
            states[k] = O::to_partial(O::identity());
            for (uint32_t s = walker * share; s < (walker + 1) * share && s < blocks_per_result;
                 s++) {
                states[k] = O::combine(
                    states[k], left_states[(uint64_t(s) * VECTOR_SIZE + k) * wide_lanes + lane]);
            }
        }
        join_walkers();
    }
    if (walker == 0 && exists) {
#pragma unroll
        for (int k = 0; k < VECTOR_SIZE; k++) {
            if (k <= last)
                write_results<E, O>(params, states[k], result_offset + k * outer.strides[0]);
        }
    }
}

} // namespace reduce
} // namespace gpu
