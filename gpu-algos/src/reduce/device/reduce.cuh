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
#include "block/reduce.cuh"
#include "block/tile_status.cuh"
#include "operators.cuh"
#include "reduce_params.cuh"
#include "walk.cuh"

namespace gpu {
namespace reduce {

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
            if constexpr (!O::COMMUTATIVE) states[k] = reduce_lanes<O>(states[k], 32);
        }
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) all = O::combine(all, states[k]);
    }
    return O::COMMUTATIVE ? reduce_lanes<O>(all, 32) : all;
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

// The progress of a thread along its share: the next pack or place, and the turn that takes it.
struct Progress {
    uint64_t next;
    uint32_t turn;
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
    uint32_t &turn = progress.turn;
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
            walk.take(locals, values, turn + u);
        }
    };
    for (; i + (VECTORS_PER_THREAD - 1) * step < end;
         i += VECTORS_PER_THREAD * step, turn += VECTORS_PER_THREAD)
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

// Takes the whole packs of plain leaves of a share of `reduce_rows`. The share then has the packs
// that are left over: the first pack and the last one, where they are cut. It does not synchronise.
template <int VECTOR_SIZE, int VECTORS_PER_THREAD, class E, class O, int LOCALS> __device__
__forceinline__ void
take_plain_packs(const ReduceParams<E, O> &params, const OperandOffsets<E> &base,
                 typename O::Local (&locals)[LOCALS], Share &share) {
    const int64_t length = int64_t(params.reduced[0].length), peel = int64_t(params.peel);
    const uint64_t packs = params.packs, begin = share.begin, step = share.step, end = share.end;
    const uint64_t from = peel > 0 ? 1 : 0, to = uint64_t(length + peel) / VECTOR_SIZE;
    const Share whole{begin < from ? begin + step : begin, step, to};
    Progress progress{whole.begin, 0};
    Walk<O, LOCALS> walk;
    take_whole_row_packs<VECTOR_SIZE, VECTORS_PER_THREAD>(params, base, walk, locals, whole,
                                                          progress);
    const bool has_first = from > 0 && begin == 0 && to > 0,
               has_last = to < packs && begin == (packs - 1) % step;
    share.begin = has_first ? 0 : has_last ? packs - 1 : end;
    share.step = has_first && has_last ? packs - 1 : end;
}

// A pack of `reduce_rows` that may be cut. Its values `first` to `last` belong to the result, and
// its value 0 has the place `place`.
template <class E, int VECTOR_SIZE> struct CutPack {
    typename Wide<VECTOR_SIZE, typename E::Leaves>::type in;
    int first, last;
    int64_t place;

    __device__ __forceinline__ bool is_empty() const { return last < first; }

    // Removes all values from the pack.
    __device__ __forceinline__ void clear() {
        first = 0;
        last = -1;
    }

    // Loads pack number `pack` of a result whose operands begin at the offsets `base`. It does not
    // synchronise.
    template <class O> __device__ __forceinline__ void load_from(const ReduceParams<E, O> &params,
                                                                 const OperandOffsets<E> &base,
                                                                 uint64_t pack, int rank,
                                                                 bool wide) {
        const int64_t length = int64_t(params.reduced[0].length);
        const auto &steps = params.reduced[0].strides;
        uint64_t row = 0, column_pack = pack;
        if (rank > 1) {
            row = quotient(pack, params.row_packs, params.row_divisor, wide);
            column_pack = pack - row * params.row_packs;
        }
        const int64_t column = int64_t(column_pack) * VECTOR_SIZE - int64_t(params.peel);
        first = column < 0 ? int(-column) : 0;
        last = length - column < VECTOR_SIZE ? int(length - column) - 1 : VECTOR_SIZE - 1;
        OperandOffsets<E> offsets = base;
        if (rank > 1) add_place(offsets, params.reduced.at, 1, rank, row, wide);
#pragma unroll
        for (int k = 0; k <= E::Leaves::SIZE; k++) offsets.of[k] += column * steps[k];
        place = offsets.of[0];
        each(in, [&](auto k, auto &values) {
            constexpr int K = decltype(k)::value;
            const LeafParams &leaf = params.leaves[K];
            load(values, leaf.address, leaf.kind, offsets.of[K + 1], steps[1 + K], first, last);
        });
    }
};

// The packs that a thread of `reduce_rows` takes, and the number of its turns if order matters.
struct RowShare : Share {
    uint64_t turns;
};

// Returns the share of thread `lane` of the `threads` threads of a result, of `packs` packs. If
// order matters each warp has neighbouring packs to itself, and its lanes take equal numbers of
// turns of `at_once` packs, since they meet in each.
template <class O> __device__ __forceinline__ RowShare find_row_share(const GroupBlock &block,
                                                                      uint64_t packs, int threads,
                                                                      int lane, int at_once) {
    RowShare share;
    share.begin = uint64_t(block.split) * threads + lane;
    share.step = uint64_t(block.blocks) * threads;
    share.end = packs;
    share.turns = ~uint64_t(0);
    if constexpr (!O::COMMUTATIVE) {
        const int walkers_of_block = threads > 32 ? threads / 32 : 1;
        const uint64_t walkers = uint64_t(block.blocks) * walkers_of_block,
                       walker = uint64_t(block.split) * walkers_of_block + lane / 32;
        const uint64_t size = (packs + walkers - 1) / walkers;
        share.begin = walker * size + lane % 32;
        share.end = (walker + 1) * size < packs ? (walker + 1) * size : packs;
        share.step = threads < 32 ? threads : 32;
        share.turns = (size + share.step * at_once - 1) / (share.step * at_once);
    }
    return share;
}

// Takes the packs of a share of `reduce_rows`, of which AT_ONCE are in flight. If order matters the
// first lane of each warp combines the states of each turn in `ordered`, and all lanes of a warp
// must call it together. Otherwise it does not synchronise.
template <int VECTOR_SIZE, int AT_ONCE, class E, class O, int LOCALS> __device__
__forceinline__ void
take_cut_packs(const ReduceParams<E, O> &params, const OperandOffsets<E> &base,
               typename O::Local (&locals)[LOCALS], typename O::State &ordered, RowShare &share,
               int threads, int rank, bool wide) {
    const uint64_t step = share.step, end = share.end;
    for (uint64_t i = share.begin; O::COMMUTATIVE ? i < end : share.turns > 0;
         i += step * AT_ONCE, share.turns--) {
        CutPack<E, VECTOR_SIZE> packs[AT_ONCE];
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) {
            packs[u].clear();
            if (i + u * step < end) packs[u].load_from(params, base, i + u * step, rank, wide);
        }
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) {
            const CutPack<E, VECTOR_SIZE> &pack = packs[u];
            if (O::COMMUTATIVE && pack.is_empty()) continue;
            if constexpr (!O::COMMUTATIVE) locals[0] = O::identity();
            if (!pack.is_empty()) {
                const auto values =
                    values_of<E, VECTOR_SIZE>(params.scalars.at, params.extra.at, pack.in);
                take_pack<O>(locals, values, pack.first, pack.last, pack.place,
                             params.reduced[0].strides[0]);
            }
            if constexpr (!O::COMMUTATIVE) {
                const typename O::State next =
                    reduce_lanes<O>(O::to_partial(locals[0]), threads < 32 ? threads : 32);
                if ((threadIdx.x & (threads - 1)) % 32 == 0) ordered = O::combine(ordered, next);
            }
        }
    }
}

// Combines the states of the blocks of the only result by slots. All threads of all blocks call it,
// and it returns whether the thread has the combined state, as thread 0 of the last block has. Only
// a warp of that block waits for other blocks; there is no barrier.
template <class O> __device__ __forceinline__ bool
combine_by_slots(uint64_t scratch, const GroupBlock &block, typename O::State &state) {
    typedef typename O::State State;
    Slot<State> *slots = reinterpret_cast<Slot<State> *>(scratch);
    if (block.split + 1 < block.blocks) {
        if (threadIdx.x == 0) slots[block.split].put(state);
        return false;
    }
    // One warp, all of whose polls are in flight at once, is done sooner than a block (H200,
    // 2^20 f32: by 0.5 of 2.5 us).
    if (threadIdx.x >= 32) return false;
    const State others = join_slots<O>(slots, block.blocks - 1);
    if (threadIdx.x > 0) return false;
    state = O::combine(others, state);
    return true;
}

// Combines the states of the blocks of a group of one result. All threads of a block call it, and
// it synchronises them. It returns whether the thread has the combined state, as thread 0 of the
// last block to arrive has.
template <class O, int THREADS>
__device__ __forceinline__ bool combine_by_last_block(uint64_t scratch, const GroupBlock &block,
                                                      typename O::State &state, int log,
                                                      typename O::State *shared, bool &last_block) {
    typedef typename O::State State;
    State *states = reinterpret_cast<State *>(scratch + COUNTER_BYTES) + block.group * block.blocks;
    if (threadIdx.x == 0) states[block.split] = state;
    if (!is_last(scratch, block.group, block.blocks, last_block)) return false;
    // Each thread combines neighbouring states.
    const uint32_t share = (block.blocks + THREADS - 1) / THREADS, from = threadIdx.x * share,
                   to = from + share < block.blocks ? from + share : block.blocks;
    state = O::to_partial(O::identity());
    for (uint32_t k = from; k < to; k++) state = O::combine(state, states[k]);
    state = reduce_groups<O>(state, log, shared);
    return threadIdx.x == 0;
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
    State *shared = room[0].states();

    // The result and the packs of this thread.
    const int log = int(params.log_threads), threads = 1 << log, lane = threadIdx.x & (threads - 1);
    const bool wide = params.is_wide;
    const GroupBlock block(params.blocks_per_result);
    const uint64_t result = block.group * (THREADS >> log) + (threadIdx.x >> log);
    OperandOffsets<E> base;
#pragma unroll
    for (int k = 0; k <= E::Leaves::SIZE; k++) base.of[k] = 0;
    if (result < params.results)
        add_place(base, params.outer.at, 0, int(params.outer_rank), result, wide);
    const int64_t result_offset = base.of[0];
    base.of[0] = 0;
    RowShare share = find_row_share<O>(block, params.packs, threads, lane, SLOW_VECTORS);
    if (result >= params.results) share.end = 0;
    const int rank = int(params.reduced_rank);

    // The values of these packs: whole packs of plain leaves first.
    typename O::Local locals[LOCALS];
#pragma unroll
    for (int k = 0; k < LOCALS; k++) locals[k] = O::identity();
    State ordered = O::to_partial(O::identity());
    gpu::grid_dependency_wait();
    if constexpr (O::COMMUTATIVE) {
        if (params.is_plain && share.begin < share.end)
            take_plain_packs<VECTOR_SIZE, VECTORS_PER_THREAD>(params, base, locals, share);
    }
    take_cut_packs<VECTOR_SIZE, SLOW_VECTORS>(params, base, locals, ordered, share, threads, rank,
                                              wide);
    gpu::trigger_dependents();

    // The state of the block's threads of the result.
    State state = ordered;
    if constexpr (O::COMMUTATIVE) {
        state = combine_locals<O>(locals);
    } else if (lane % 32 != 0) {
        state = O::to_partial(O::identity());
    }
    state = reduce_groups<O>(state, log, shared);

    // The state of all blocks of the result, and the results.
    if (block.blocks == 1) {
        if (lane == 0 && result < params.results) write_results<E, O>(params, state, result_offset);
    } else if (gridDim.x == block.blocks) {
        if (combine_by_slots<O>(params.scratch, block, state))
            write_results<E, O>(params, state, result_offset);
    } else if (combine_by_last_block<O, THREADS>(params.scratch, block, state, log, shared,
                                                 last_block[0])) {
        write_results<E, O>(params, state, result_offset);
    }
}

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

// Joins the states of the walkers of a block, in order, in the first walker. All threads of the
// block call it, and it synchronises them.
template <class O, int THREADS, int VECTOR_SIZE>
__device__ __forceinline__ void join_walkers(typename O::State (&states)[VECTOR_SIZE],
                                             const WalkerThread &thread,
                                             typename O::State *shared) {
    for (int half = 1; half < thread.walkers; half *= 2) {
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

// Contract besides: grid groups * `blocks_per_result`. A group is the VECTOR_SIZE << `log_threads`
// results of a block.
template <class E, class O, int THREADS, int VECTOR_SIZE, int VECTORS_PER_THREAD>
__global__ void __launch_bounds__(THREADS, 512 / THREADS)
    reduce_columns(const __grid_constant__ ReduceParams<E, O> params) {
    typedef typename O::State State;
    constexpr int SLOW_VECTORS =
        VECTORS_PER_THREAD > 4 ? VECTORS_PER_THREAD / 2 : VECTORS_PER_THREAD;
    typedef TempStorage<State, THREADS * VECTOR_SIZE> Shared;
    SHARED(Shared, room, [1]);
    SHARED(bool, last_block, [1]);
    State *shared = room[0].states();

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

    // Whole packs of plain leaves.
    if (params.is_plain && results.last == VECTOR_SIZE - 1) {
        take_plain_columns<VECTORS_PER_THREAD>(params, results, locals, share);
        share.begin = share.end;
    }

    // Packs of any leaves. In a function of its own the loop takes more registers (NVRTC 13.0, f64:
    // 90 for 80).
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
    gpu::trigger_dependents();

    // The states of the block, then those of all blocks of the group.
    State states[VECTOR_SIZE];
#pragma unroll
    for (int k = 0; k < VECTOR_SIZE; k++) states[k] = O::to_partial(locals[k]);
    join_walkers<O, THREADS>(states, thread, shared);
    if (block.blocks > 1) {
        const ColumnPartials<O, VECTOR_SIZE> partials{
            reinterpret_cast<State *>(params.scratch + COUNTER_BYTES) +
                (block.group << log) * block.blocks * VECTOR_SIZE,
            thread};
        partials.store(block.split, states);
        if (!is_last(params.scratch, block.group, block.blocks, last_block[0])) return;
        partials.combine(block.blocks, states);
        join_walkers<O, THREADS>(states, thread, shared);
    }
    if (thread.walker == 0 && exists) {
#pragma unroll
        for (int k = 0; k < VECTOR_SIZE; k++) {
            if (k <= results.last)
                write_results<E, O>(params, states[k], results.offset + k * outer.strides[0]);
        }
    }
}

} // namespace reduce
} // namespace gpu
