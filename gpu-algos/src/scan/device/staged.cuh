// Parts of scans whose tiles come into shared memory by copies that hold no registers, while the
// block does something else.
#pragma once
#include "block/staged_tiles.cuh"
#include "scan_constants.cuh"
#include "scan_single_pass.cuh"

namespace gpu::algos::scan {

// A block's tiles in shared memory. States overwrite the first leaf, which has STAGES buffers. Each
// other leaf has LOADING buffers of its own. The block's tile `number` has the buffer of that
// number, modulo theirs. Each thread calls a method for vectors of its choice; none synchronises.
template <class E, class F, class S, class P, int STAGES, int LOADING> struct StageBuffers {
    typedef StageLayout<StageBuffers, STAGES, LOADING> Layout;
    static constexpr int LEAVES = E::Leaves::SIZE + F::Leaves::SIZE, TILE = P::TILE,
                         VECTOR_SIZE = P::VECTOR_SIZE;
    template <class T> using Tile = StagedTile<T, VECTOR_SIZE, P::VECTORS_PER_THREAD>;
    template <int K> using Leaf = typename LeafOf<K, E, F>::type;
    // Bytes of a buffer of leaf K. Without leaves there are buffers of states.
    template <int K> static constexpr int bytes() {
        int of_value = K == 0 ? int(sizeof(S)) : 0;
        if constexpr (K < LEAVES)
            of_value = LeafOf<K, E, F>::BYTES > of_value ? LeafOf<K, E, F>::BYTES : of_value;
        return of_value * TILE;
    }
    static constexpr int ALL = Layout::template start<(LEAVES > 0 ? LEAVES : 1)>();

    unsigned char *storage;
    // The states of the block's tile `number`.
    __device__ __forceinline__ Tile<S> states(int number) const {
        return {reinterpret_cast<S *>(storage + number % STAGES * bytes<0>())};
    }
    // Its values of leaf K.
    template <int K>
    __device__ __forceinline__ Tile<typename Stored<Leaf<K>>::type> leaf(int number) const {
        const int at =
            Layout::template start<K>() + number % (K == 0 ? STAGES : LOADING) * bytes<K>();
        return {reinterpret_cast<typename Stored<Leaf<K>>::type *>(storage + at)};
    }

    // Starts the copies of a vector of a tile, for leaf K and all later ones. Its first value is
    // number i of `count`, which lie after `base`.
    template <class A, int MODE, int K = 0>
    __device__ __forceinline__ void start_copies(const typename A::Params &params,
                                                 const Offsets<A::LEAF_COUNT + 1> &base, int number,
                                                 int vector, int64_t i, int64_t count) const {
        if constexpr (K < LEAVES) {
            if constexpr (LeafOf<K, E, F>::BYTES > 0) {
                typedef typename Stored<Leaf<K>>::type T;
                leaf<K>(number).template start_copy<(MODE & BACKWARD) != 0>(
                    vector, reinterpret_cast<const T *>(params.leaves[K].address) + base.of[1 + K],
                    i, count);
            }
            start_copies<A, MODE, K + 1>(params, base, number, vector, i, count);
        }
    }

    // Reads a vector of X's leaves; the first leaf has number FIRST. Its first value is number i.
    template <class X, class A, int FIRST, int MODE> __device__ __forceinline__
    typename Wide<VECTOR_SIZE, typename X::Leaves>::type
    read(const typename A::Params &params, const Offsets<A::LEAF_COUNT + 1> &base, int number,
         int vector, int64_t i) const {
        typename Wide<VECTOR_SIZE, typename X::Leaves>::type in;
        each(in, [&](auto k, auto &values) {
            constexpr int K = FIRST + decltype(k)::value;
            typedef Leaf<K> T;
            if constexpr (same<T, Index>::value) {
                const int64_t step = params.scanned[0].strides[1 + K];
                load_whole(values, params.leaves[K].address, base.of[1 + K] + i * step, step);
            } else {
                const auto stored = leaf<K>(number).read(vector);
#pragma unroll
                for (int k = 0; k < VECTOR_SIZE; k++)
                    values.lane[k] = from_stored<T>(
                        stored.lane[(MODE & BACKWARD) != 0 ? VECTOR_SIZE - 1 - k : k]);
            }
        });
        return in;
    }
};

// Puts the thread's states into the buffer of the tile; its first pack is `pack`. With EXCLUSIVE
// each state leaves its own value out.
template <class O, int MODE, int VECTOR_SIZE, int VECTORS_PER_THREAD> __device__
__forceinline__ void
put_states(const StagedTile<typename O::State, VECTOR_SIZE, VECTORS_PER_THREAD> &states,
           const typename O::State (&values)[VECTOR_SIZE * VECTORS_PER_THREAD],
           const typename O::State &base, bool has_base, uint32_t heads, int pack) {
#pragma unroll
    for (int u = 0; u < VECTORS_PER_THREAD; u++) {
        Pack<typename O::State, VECTOR_SIZE> out;
#pragma unroll
        for (int k = 0; k < VECTOR_SIZE; k++) {
            const int v = u * VECTOR_SIZE + k;
            if constexpr ((MODE & EXCLUSIVE) == 0) {
                out.lane[k] = values[v];
            } else if ((heads >> v & 1) != 0 || (v == 0 && !has_base)) {
                out.lane[k] = O::to_partial(O::identity());
            } else {
                out.lane[k] = v == 0 ? base : values[v > 0 ? v - 1 : 0];
            }
        }
        states.write(pack + u, out);
    }
}

// A thread's part of a tile in shared memory, which is neighbouring values. SEGMENTS may begin
// among them.
template <class E, class F, class A, class O, int MODE, int VECTOR_SIZE, int VECTORS_PER_THREAD>
struct Neighbours {
    typedef typename O::State State;
    static constexpr int VALUES = VECTOR_SIZE * VECTORS_PER_THREAD;
    static constexpr bool SEGMENTS = (MODE & (FLAGS | KEYS)) != 0;
    static_assert(VALUES <= 32, "heads of a thread in a word");

    State values[VALUES];
    // The sum of the lanes before, as far as the segment goes.
    State earlier;
    // Bits of the values that begin a segment, and of the lanes before that have such values.
    uint32_t heads, begun;

    // Scans the thread's part of tile `number` by itself, then the lanes of the warp. The tile's
    // first value is value `first` of `count`. Returns the sum of the warp, in lane 31. `head` is
    // the place in the tile of the warp's first segment head, or TILE. All lanes of a warp call it.
    template <class R, int TILE, class StageBuffers, class Key> __device__ __forceinline__
    typename R::State
    scan_warp(const typename A::Params &params, const Offsets<A::LEAF_COUNT + 1> &nothing,
              const StageBuffers &staged, int number, int64_t first, int64_t count, bool is_whole,
              const Key &key_before, int &head) {
        const int pack = int(threadIdx.x) * VECTORS_PER_THREAD, lane = threadIdx.x % 32;
        const int64_t start = first + int64_t(threadIdx.x) * VALUES;
        heads = begun = 0;
        if constexpr ((MODE & FLAGS) != 0) {
#pragma unroll
            for (int u = 0; u < VECTORS_PER_THREAD; u++) {
                const auto in = staged.template read<F, A, A::F_LEAVES, MODE>(
                    params, nothing, number, pack + u, start + u * VECTOR_SIZE);
                const auto flags = values_of<F, VECTOR_SIZE>(params.scalars.at + A::F_SCALARS,
                                                             params.extra.at + A::F_EXTRA, in);
#pragma unroll
                for (int k = 0; k < VECTOR_SIZE; k++)
                    heads |= uint32_t(bool(flags.lane[k])) << (u * VECTOR_SIZE + k);
            }
            if (start < 0) heads = start > -32 ? heads >> uint32_t(-start) << uint32_t(-start) : 0;
        } else if constexpr ((MODE & KEYS) != 0) {
            typename FirstOf<typename F::Outputs>::type key;
            if (threadIdx.x == 0) {
                key = values_of<F, 1>(params.scalars.at + A::F_SCALARS,
                                      params.extra.at + A::F_EXTRA, key_before)
                          .lane[0];
            } else {
                const auto in = staged.template read<F, A, A::F_LEAVES, MODE>(
                    params, nothing, number, pack - 1, start - VECTOR_SIZE);
                key = values_of<F, VECTOR_SIZE>(params.scalars.at + A::F_SCALARS,
                                                params.extra.at + A::F_EXTRA, in)
                          .lane[VECTOR_SIZE - 1];
            }
#pragma unroll
            for (int u = 0; u < VECTORS_PER_THREAD; u++) {
                const auto in = staged.template read<F, A, A::F_LEAVES, MODE>(
                    params, nothing, number, pack + u, start + u * VECTOR_SIZE);
                const auto keys = values_of<F, VECTOR_SIZE>(params.scalars.at + A::F_SCALARS,
                                                            params.extra.at + A::F_EXTRA, in);
#pragma unroll
                for (int k = 0; k < VECTOR_SIZE; k++) {
                    heads |= uint32_t(keys.lane[k] != key) << (u * VECTOR_SIZE + k);
                    key = keys.lane[k];
                }
            }
            // Neither the first value of all nor the places before it begin a segment.
            if (start <= 0)
                heads = start > -31 ? heads >> uint32_t(1 - start) << uint32_t(1 - start) : 0;
        }
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            const int64_t i = start + u * VECTOR_SIZE;
            const auto in =
                staged.template read<E, A, A::E_LEAVES, MODE>(params, nothing, number, pack + u, i);
            const auto lifted = values_of<E, VECTOR_SIZE>(params.scalars.at + A::E_SCALARS,
                                                          params.extra.at + A::E_EXTRA, in);
#pragma unroll
            for (int k = 0; k < VECTOR_SIZE; k++)
                values[u * VECTOR_SIZE + k] = O::make_state(lifted.lane[k]);
        }
        if (!is_whole) {
#pragma unroll
            for (int k = 0; k < VALUES; k++) {
                if (start + k < 0 || start + k >= count) values[k] = O::to_partial(O::identity());
            }
        }
        scan_values<O>(values, heads);
        // The lanes with a head, and the last of them up to this one.
        uint32_t with_head = 0;
        int since = -1;
        if constexpr (SEGMENTS) {
            with_head = __ballot_sync(0xffffffffu, heads != 0);
            since = 31 - __clz(int(with_head & (0xffffffffu >> (31 - lane))));
            begun = with_head & ((1u << lane) - 1);
            const int of_lane = int(threadIdx.x) * VALUES + __ffs(int(heads)) - 1;
            const int of_warp =
                __shfl_sync(0xffffffffu, of_lane, with_head != 0 ? __ffs(int(with_head)) - 1 : 0);
            head = with_head != 0 ? of_warp : TILE;
        }
        const State sum = scan_lanes<O>(values[VALUES - 1], since);
        earlier = shuffled_up(sum, 1);
        return R::make(sum, with_head != 0);
    }
    // Combines the warps before, then the lanes, both only as far as the segment goes, and puts the
    // states into the tile's buffer.
    template <class R, int WARPS> __device__ __forceinline__ void
    scan_block(const StagedTile<State, VECTOR_SIZE, VECTORS_PER_THREAD> &states,
               const typename R::State *sums_of_warps) {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const typename R::State of_warps = combine_first<R, WARPS>(sums_of_warps, warp);
        const bool has_base = warp > 0 || lane > 0;
        State base = R::value(of_warps);
        if (lane > 0) base = warp > 0 && begun == 0 ? O::combine(base, earlier) : earlier;
        if (has_base) add_prefix<O>(values, base, heads);
        put_states<O, MODE, VECTOR_SIZE, VECTORS_PER_THREAD>(states, values, base, has_base, heads,
                                                             int(threadIdx.x) * VECTORS_PER_THREAD);
    }
};

// The place of the tile's first segment head. All lanes of a warp call it.
template <int WARPS, int TILE>
__device__ __forceinline__ int first_of_heads(const int *heads_of_warps) {
    const int lane = threadIdx.x % 32, head = lane < WARPS ? heads_of_warps[lane] : TILE;
    const uint32_t with_head = __ballot_sync(0xffffffffu, head < TILE);
    return __shfl_sync(0xffffffffu, head, with_head != 0 ? __ffs(int(with_head)) - 1 : 0);
}

// Combines the tile's prefix `before` with the states of a pack that are before `end`, and writes
// the results. The pack begins at place `place` of the tile.
template <class E, class F, class M, class O, class A, int MODE, int VECTOR_SIZE> __device__
__forceinline__ void
write_joined(const typename A::Params &params, const Pack<typename O::State, VECTOR_SIZE> &states,
             const typename O::State &before, int place, int end, int64_t i, int64_t count) {
    typedef typename FirstOf<decltype(O::finalize(O::to_partial(O::identity()), 0))>::type Result;
    typedef Epilogue<M, A, Result, VECTOR_SIZE, MODE> Last;
    Pack<Result, VECTOR_SIZE> results;
#pragma unroll
    for (int k = 0; k < VECTOR_SIZE; k++) {
        typename O::State state = states.lane[k];
        if (place + k < end)
            state = (MODE & EXCLUSIVE) != 0 && place + k == 0 ? before : O::combine(before, state);
        results.lane[k] = get<0>(O::finalize(state, 0));
    }
    const bool whole = i >= 0 && i + VECTOR_SIZE <= count;
    const Pack<typename Last::Out, VECTOR_SIZE> &out = Last::of(params, results, i, whole);
    write<A, MODE>(params, out, 0, i, count, whole);
}

// The steps of a block's scan of tiles in shared memory, for kernels that take them in an order of
// their own. Two tiles may be between `scan_warps` and `publish_aggregate`: those of either
// `parity`.
template <class E, class F, class M, class O, int MODE, class P> struct StagedScan {
    static constexpr int THREADS = P::THREADS, VECTOR_SIZE = P::VECTOR_SIZE,
                         VECTORS_PER_THREAD = P::VECTORS_PER_THREAD, WARPS = THREADS / 32,
                         TILE = THREADS * VECTOR_SIZE * VECTORS_PER_THREAD;
    static constexpr bool SEGMENTS = (MODE & (FLAGS | KEYS)) != 0;
    static_assert(WARPS <= 32, "sums of warps by a warp");
    typedef At<E, F, M> A;
    typedef SegmentedOperator<O, SEGMENTS> R;
    typedef typename R::State S;
    typedef typename O::State State;
    typedef Neighbours<E, F, A, O, MODE, VECTOR_SIZE, VECTORS_PER_THREAD> ThreadValues;
    typedef StagedTile<State, VECTOR_SIZE, VECTORS_PER_THREAD> States;
    typedef typename Wide<1, typename F::Leaves>::type Key;

    const typename A::Params &params;
    const int64_t count, peel;
    // In shared memory, by parity and warp: the sum of the warp, and the place of its first head.
    S *sums_of_warps;
    int *heads_of_warps;
    // Leaves begin at their addresses.
    Offsets<A::LEAF_COUNT + 1> nothing;

    __device__ __forceinline__ StagedScan(const typename A::Params &params, S *sums_of_warps,
                                          int *heads_of_warps)
        : params(params), count(int64_t(params.count)), peel(int64_t(params.peel)),
          sums_of_warps(sums_of_warps), heads_of_warps(heads_of_warps) {
#pragma unroll
        for (int k = 0; k <= A::LEAF_COUNT; k++) nothing.of[k] = 0;
    }

    // Number of the tile's first value.
    __device__ __forceinline__ int64_t start_of(uint32_t tile) const {
        return int64_t(tile) * TILE - peel;
    }
    // Starts the copies of a tile to its buffer. All THREADS call it; it does not synchronise.
    template <class StageBuffers> __device__ __forceinline__ void
    start_loading(const StageBuffers &staged, uint32_t tile, int number) const {
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            const int pack = u * THREADS + int(threadIdx.x);
            staged.template start_copies<A, MODE>(params, nothing, number, pack,
                                                  start_of(tile) + pack * VECTOR_SIZE, count);
        }
    }
    // Loads the key before the tile's first value, in thread 0. Any thread may call it.
    __device__ __forceinline__ void load_key_before(uint32_t tile, Key &key) const {
        if constexpr ((MODE & KEYS) != 0) {
            if (threadIdx.x == 0 && start_of(tile) > 0)
                key = read_at<F, A, A::F_LEAVES, true>(params, start_of(tile) - 1);
        }
    }
    // Does both of these, with the same callers as `start_loading`.
    template <class StageBuffers> __device__ __forceinline__ void
    start_loading_with_key(const StageBuffers &staged, uint32_t tile, int number, Key &key) const {
        start_loading(staged, tile, number);
        load_key_before(tile, key);
    }
    // Scans the tile within each thread and each warp, and puts the sums of warps into shared
    // memory. All THREADS call it when the tile is there; it does not synchronise them.
    template <class StageBuffers> __device__ __forceinline__ void
    scan_warps(ThreadValues &thread_values, const StageBuffers &staged, uint32_t tile, int number,
               int parity, const Key &key_before) const {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const bool is_whole = start_of(tile) >= 0 && start_of(tile) + TILE <= count;
        int head;
        const S sum = thread_values.template scan_warp<R, TILE>(
            params, nothing, staged, number, start_of(tile), count, is_whole, key_before, head);
        if (SEGMENTS && lane == 0) heads_of_warps[parity * WARPS + warp] = head;
        if (lane == 31) sums_of_warps[parity * WARPS + warp] = sum;
    }
    // Combines the sums of warps, and publishes them as the tile's aggregate. With SEGMENTS it
    // finds the place of the tile's first head too. One whole warp calls it, after a barrier that
    // follows `scan_warps`.
    __device__ __forceinline__ void publish_aggregate(Slot<S> *slot, int parity,
                                                      int *first_head) const {
        const int lane = threadIdx.x % 32;
        S sum = sums_of_warps[parity * WARPS + (lane < WARPS ? lane : 0)];
        sum = TilePrefix<R, S>::of_lanes(sum, WARPS);
        if (lane == 0) slot->publish(sum);
        if constexpr (SEGMENTS) {
            const int first = first_of_heads<WARPS, TILE>(heads_of_warps + parity * WARPS);
            if (lane == 0) *first_head = first;
        }
    }
    // Scans the tile over the block, after the same barrier, and puts the states into the tile's
    // buffer. All THREADS call it; it does not synchronise them.
    __device__ __forceinline__ void scan_block(ThreadValues &thread_values, const States &states,
                                               int parity) const {
        thread_values.template scan_block<R, WARPS>(states, sums_of_warps + parity * WARPS);
    }
    // Combines the tile's prefix `before` with its states up to the first segment head, and stores
    // the results of the epilogue. All THREADS call it, after a barrier that follows `scan_block`;
    // it does not synchronise them.
    __device__ __forceinline__ void store(const States &states, const State &before, uint32_t tile,
                                          const int *first_head) const {
        const int end = tile == 0 ? 0 : SEGMENTS ? *first_head : TILE;
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            const int pack = u * THREADS + int(threadIdx.x);
            const Pack<State, VECTOR_SIZE> of_pack = states.read(pack);
            write_joined<E, F, M, O, A, MODE>(params, of_pack, before, pack * VECTOR_SIZE, end,
                                              start_of(tile) + pack * VECTOR_SIZE, count);
        }
    }
};

} // namespace gpu::algos::scan
