// Reductions along a reduced axis, in packs of VECTOR_SIZE neighbours: the kernel `reduce_rows`.
//
// Contract: that of reduce.cuh, and grid groups * `blocks_per_result`. A group is the
// THREADS >> `log_threads` results of a block. `blocks_per_result` > 1 only for groups of one
// result. With CONTIGUOUS in FORM, O is COMMUTATIVE. Then packs are whole unless there is
// ONE_RESULT too.
#pragma once
#include "reduce.cuh"

namespace gpu::algos::reduce {

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

// The packs that a thread of `reduce_rows` takes, and the number of its iterations if order
// matters.
struct RowShare : Share {
    uint64_t iterations;
};

// Returns the share of thread `lane` of the `threads` threads of a result, of `packs` packs. If
// order matters each warp has neighbouring packs to itself, and its lanes take equal numbers of
// iterations of `at_once` packs, since they meet in each.
template <class O> __device__ __forceinline__ RowShare find_row_share(const GroupBlock &block,
                                                                      uint64_t packs, int threads,
                                                                      int lane, int at_once) {
    RowShare share;
    share.begin = uint64_t(block.split) * threads + lane;
    share.step = uint64_t(block.blocks) * threads;
    share.end = packs;
    share.iterations = ~uint64_t(0);
    if constexpr (!O::COMMUTATIVE) {
        const int walkers_of_block = threads > 32 ? threads / 32 : 1;
        const uint64_t walkers = uint64_t(block.blocks) * walkers_of_block,
                       walker = uint64_t(block.split) * walkers_of_block + lane / 32;
        const uint64_t size = (packs + walkers - 1) / walkers;
        share.begin = walker * size + lane % 32;
        share.end = (walker + 1) * size < packs ? (walker + 1) * size : packs;
        share.step = threads < 32 ? threads : 32;
        share.iterations = (size + share.step * at_once - 1) / (share.step * at_once);
    }
    return share;
}

// Takes the packs of a share of `reduce_rows`, of which AT_ONCE are in flight. If order matters the
// first lane of each warp combines the states of each iteration in `ordered`, and all lanes of a
// warp must call it together. Otherwise it does not synchronise.
template <int VECTOR_SIZE, int AT_ONCE, class E, class O, int LOCALS> __device__
__forceinline__ void
take_cut_packs(const ReduceParams<E, O> &params, const OperandOffsets<E> &base,
               typename O::Local (&locals)[LOCALS], typename O::State &ordered, RowShare &share,
               int threads, int rank, bool wide) {
    const uint64_t step = share.step, end = share.end;
    for (uint64_t i = share.begin; O::COMMUTATIVE ? i < end : share.iterations > 0;
         i += step * AT_ONCE, share.iterations--) {
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

// Takes the packs of a share of `reduce_rows` where leaves are plain. HAS_ENDS tells whether the
// first pack and the last one may be cut. It does not synchronise.
template <int VECTOR_SIZE, int VECTORS_PER_THREAD, bool HAS_ENDS, class E, class O, int LOCALS>
__device__ __forceinline__ void
take_plain_packs(const ReduceParams<E, O> &params, const OperandOffsets<E> &base,
                 typename O::Local (&locals)[LOCALS], const Share &share) {
    const int64_t length = int64_t(params.reduced[0].length), peel = int64_t(params.peel);
    const uint64_t begin = share.begin, step = share.step, last_pack = params.packs - 1;
    const uint64_t from = HAS_ENDS && peel > 0 ? 1 : 0, to = uint64_t(length + peel) / VECTOR_SIZE;
    const Share whole{begin < from ? begin + step : begin, step, to};
    Progress progress{whole.begin, 0};
    Walk<O, LOCALS> walk;
    take_whole_row_packs<VECTOR_SIZE, VECTORS_PER_THREAD>(params, base, walk, locals, whole,
                                                          progress);
    if constexpr (HAS_ENDS) {
#pragma unroll 1
        for (int end = 0; end < 2; end++) {
            const uint64_t pack = end == 0 ? 0 : last_pack;
            const bool is_cut = end == 0 ? from > 0 && to > 0 : to <= last_pack;
            if (!is_cut || pack < begin || (pack - begin) % step != 0) continue;
            CutPack<E, VECTOR_SIZE> cut;
            cut.load_from(params, base, pack, 1, false);
            const auto values =
                values_of<E, VECTOR_SIZE>(params.scalars.at, params.extra.at, cut.in);
            take_pack<O>(locals, values, cut.first, cut.last, cut.place,
                         params.reduced[0].strides[0]);
        }
    }
}

// Combines the states in the first `count` slots, in order, in a warp's first lane. Clears the
// slots. A TilePrefix (block/tile_prefix.cuh) would need counters for tiles that are claimed, and
// combines over the lanes for each batch. Here that happens once, if O is COMMUTATIVE, and the lane
// that has read a slot clears it.
template <class O> __device__ __forceinline__ typename O::State
combine_slots(Slot<typename O::State> *slots, uint32_t count) {
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

// Combines the states of the blocks of the only result by slots. All threads of all blocks call it,
// and it returns whether the thread has the combined state, as thread 0 of the last block has. Only
// a warp of that block waits for other blocks; there is no barrier.
template <class O> __device__ __forceinline__ bool
combine_by_slots(uint64_t scratch, const GroupBlock &block, typename O::State &state) {
    typedef typename O::State State;
    Slot<State> *slots = reinterpret_cast<Slot<State> *>(scratch);
    if (block.split + 1 < block.blocks) {
        if (threadIdx.x == 0) slots[block.split].publish(state);
        return false;
    }
    // One warp, all of whose polls are in flight at once, is done sooner than a block (H200,
    // 2^20 f32: by 0.5 of 2.5 us).
    if (threadIdx.x >= 32) return false;
    const State others = combine_slots<O>(slots, block.blocks - 1);
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
    if (!is_last_block(scratch, block.group, block.blocks, last_block)) return false;
    // Each thread combines neighbouring states.
    const uint32_t share = (block.blocks + THREADS - 1) / THREADS, from = threadIdx.x * share,
                   to = from + share < block.blocks ? from + share : block.blocks;
    state = O::to_partial(O::identity());
    for (uint32_t k = from; k < to; k++) state = O::combine(state, states[k]);
    state = reduce_groups<O>(state, log, shared);
    return threadIdx.x == 0;
}

// Without a number of blocks NVRTC 13.0 spills registers on sm_90 to have 64 of them.
template <class E, class O, int THREADS, int VECTOR_SIZE, int VECTORS_PER_THREAD, uint32_t FORM>
__global__ void __launch_bounds__(THREADS, 512 / THREADS)
    reduce_rows(const __grid_constant__ ReduceParams<E, O> params) {
    typedef typename O::State State;
    constexpr bool IS_CONTIGUOUS = FORM & CONTIGUOUS, HAS_ONE = FORM & ONE_RESULT;
    static_assert(!IS_CONTIGUOUS || O::COMMUTATIVE, "threads take packs out of order");
    constexpr int LOCALS = O::COMMUTATIVE && O::LANES ? VECTOR_SIZE : 1;
    // Packs that are not plain carry more beside their values, and VECTORS_PER_THREAD of them would
    // take registers from all.
    constexpr int SLOW_VECTORS = VECTORS_PER_THREAD > 4
                                     ? VECTORS_PER_THREAD / (sizeof(typename O::Local) > 8 ? 4 : 2)
                                     : VECTORS_PER_THREAD;
    typedef TempStorage<State, THREADS / 32> Shared;
    SHARED(Shared, storage, [1]);
    SHARED(bool, last_block, [1]);
    State *shared = storage[0].states();

    // The result and the packs of this thread.
    const int log = int(params.log_threads), threads = 1 << log, lane = threadIdx.x & (threads - 1);
    const bool wide = params.is_wide;
    const GroupBlock block(params.blocks_per_result);
    const uint64_t result = block.group * (THREADS >> log) + (threadIdx.x >> log);
    OperandOffsets<E> base;
#pragma unroll
    for (int k = 0; k <= E::Leaves::SIZE; k++) base.of[k] = 0;
    if (!HAS_ONE && result < params.results)
        add_place(base, params.outer.at, 0, int(params.outer_rank), result, wide);
    const int64_t result_offset = base.of[0];
    base.of[0] = 0;
    RowShare share = find_row_share<O>(block, params.packs, threads, lane, SLOW_VECTORS);
    if (result >= params.results) share.end = 0;
    const int rank = int(params.reduced_rank);

    // The values of these packs.
    typename O::Local locals[LOCALS];
#pragma unroll
    for (int k = 0; k < LOCALS; k++) locals[k] = O::identity();
    State ordered = O::to_partial(O::identity());
    gpu::grid_dependency_wait();
    if constexpr (IS_CONTIGUOUS) {
        if (share.begin < share.end)
            take_plain_packs<VECTOR_SIZE, VECTORS_PER_THREAD, HAS_ONE>(params, base, locals, share);
    } else {
        take_cut_packs<VECTOR_SIZE, SLOW_VECTORS>(params, base, locals, ordered, share, threads,
                                                  rank, wide);
    }
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
    } else if constexpr (HAS_ONE) {
        if (combine_by_slots<O>(params.scratch, block, state))
            write_results<E, O>(params, state, 0);
    } else if (combine_by_last_block<O, THREADS>(params.scratch, block, state, log, shared,
                                                 last_block[0])) {
        write_results<E, O>(params, state, result_offset);
    }
}

} // namespace gpu::algos::reduce
