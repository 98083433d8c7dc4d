// Parts of selections whose tiles come into shared memory by copies that hold no registers: the
// buffers, and the steps of a warp.
#pragma once
#include "block/staged_tiles.cuh"
#include "selected.cuh"

namespace gpu::algos::select {

// A block's tiles in shared memory, for each warp by itself. Moved values overwrite the
// first leaf, which has STAGES buffers. Each other leaf has LOADING buffers of its own. Places
// beside values have STAGES buffers. Each lane of a warp calls a method; none synchronises.
template <class E, class F, int MODE, uint64_t SAME, class P> struct StageBuffers {
    typedef StageLayout<StageBuffers, P::AHEAD + P::LOADING, P::LOADING> Layout;
    static constexpr int VECTOR_SIZE = P::VECTOR_SIZE, ROWS = VECTOR_SIZE * P::VECTORS_PER_THREAD,
                         WARPS = P::THREADS / 32, LOADING = P::LOADING, STAGES = P::AHEAD + LOADING;
    typedef typename Moved<E, F, MODE>::Item Item;
    static constexpr int E_LEAVES = E::Leaves::SIZE, LEAVES = E_LEAVES + F::Leaves::SIZE,
                         VALUES = 32 * ROWS;
    // The value before a warp's first one is copied in front of it. The pad is a whole sector of
    // 32 bytes: copies whose halves of one go to several read it twice.
    static constexpr int PAD = (MODE & KEYS) != 0 ? 32 : 0;
    static constexpr bool BESIDE = (MODE & VALUES_AND_INDICES) == VALUES_AND_INDICES;
    // Bytes of a value; 0 if the leaf has no buffer of its own.
    template <int K> static constexpr int value_bytes() {
        if constexpr (K >= LEAVES) {
            return 0;
        } else if constexpr (K >= E_LEAVES && same_leaf(SAME, K - E_LEAVES) >= 0) {
            return 0;
        } else {
            return LeafOf<K, E, F>::BYTES;
        }
    }
    // Bytes of a warp's values in a buffer of leaf K, and of the whole buffer.
    template <int K> static constexpr int warp_bytes() {
        constexpr int ITEM = K == 0 ? int(sizeof(Item)) : 0;
        constexpr int BYTES = value_bytes<K>() > ITEM ? value_bytes<K>() : ITEM;
        return BYTES > 0 ? PAD + VALUES * BYTES : 0;
    }
    template <int K> static constexpr int bytes() { return WARPS * warp_bytes<K>(); }
    static constexpr int PLACES_START = Layout::template start<(LEAVES > 0 ? LEAVES : 1)>();
    static constexpr int ALL = PLACES_START + (BESIDE ? STAGES * WARPS * VALUES * 2 : 0);
    static_assert(ROWS % 4 == 0 && WARPS * VALUES < 1 << 16,
                  "copies are whole, counts and places in a tile have 16 bits");
    static_assert(STAGES % LOADING == 0, "the place among STAGES tells that among LOADING");

    unsigned char *all;
    int warp;

    // The selected values of the tile in stage `stage` of STAGES, and their places.
    __device__ __forceinline__ Item *selected(int stage) const {
        return reinterpret_cast<Item *>(all + (stage * WARPS + warp) * warp_bytes<0>() + PAD);
    }
    __device__ __forceinline__ uint16_t *places(int stage) const {
        if constexpr (BESIDE) {
            return reinterpret_cast<uint16_t *>(all + PLACES_START) +
                   (stage * WARPS + warp) * VALUES;
        } else {
            return reinterpret_cast<uint16_t *>(selected(stage));
        }
    }
    template <int K> __device__ __forceinline__
    typename Stored<typename LeafOf<K, E, F>::type>::type *
    leaf(int stage) const {
        const int at = K == 0 ? stage : stage % LOADING;
        return reinterpret_cast<typename Stored<typename LeafOf<K, E, F>::type>::type *>(
            all + Layout::template start<K>() + (at * WARPS + warp) * warp_bytes<K>() + PAD);
    }

    // Starts the warp's copies of leaf K and of all later leaves. The first value is number `start`
    // of `count`.
    template <int K = 0>
    __device__ __forceinline__ void start_copies(const TileParams<E, F, Nothing> &params, int stage,
                                                 int64_t start, int64_t count) const {
        if constexpr (K < LEAVES) {
            if constexpr (value_bytes<K>() > 0) {
                typedef typename Stored<typename LeafOf<K, E, F>::type>::type T;
                constexpr int BYTES = VECTOR_SIZE * value_bytes<K>() < 16
                                          ? VECTOR_SIZE * value_bytes<K>()
                                          : 16,
                              OF_COPY = BYTES / value_bytes<K>();
                T *to = leaf<K>(stage);
                const T *from = reinterpret_cast<const T *>(params.leaves[K].address) + start;
                const int lane = threadIdx.x % 32;
                constexpr int BEFORE = PAD > 0, COPIES = VALUES / OF_COPY,
                              ROUNDS = (BEFORE + COPIES + 31) / 32;
                if (start >= BEFORE * OF_COPY && start + VALUES <= count) {
#pragma unroll
                    for (int round = 0; round < ROUNDS; round++) {
                        const int c = lane + round * 32 - BEFORE;
                        if ((COPIES % 32 == 0 && BEFORE == 0) || c < COPIES)
                            copy_to_shared<BYTES>(to + c * OF_COPY, from + c * OF_COPY);
                    }
                } else {
#pragma unroll 1
                    for (int at = lane - BEFORE * OF_COPY; at < VALUES; at += 32)
                        to[at] = start + at >= 0 && start + at < count ? from[at] : T();
                }
            }
            start_copies<K + 1>(params, stage, start, count);
        }
    }

    // Reads `N` rows of the leaves of X, the first of which has number FIRST. This lane's first
    // value is number i, at `at` in the warp's values.
    template <class X, class A, int FIRST, int N>
    __device__ __forceinline__ void read(const typename A::Params &params, int stage, int at,
                                         int64_t i,
                                         typename Wide<N, typename X::Leaves>::type &in) const {
        each(in, [&](auto k, auto &values) {
            constexpr int K = FIRST + decltype(k)::value;
            typedef typename LeafOf<K, E, F>::type T;
            if constexpr (same<T, Index>::value) {
                const int64_t step = params.scanned[0].strides[1 + K];
#pragma unroll
                for (int u = 0; u < N; u++)
                    values.lane[u].value = int64_t(params.leaves[K].address) + (i + u * 32) * step;
            } else if constexpr (value_bytes<K>() > 0) {
                const auto *from = leaf<K>(stage) + at;
#pragma unroll
                for (int u = 0; u < N; u++) values.lane[u] = from_stored<T>(from[u * 32]);
            }
        });
    }
};

// Copies the leaves of F that are leaves of E too.
template <uint64_t SAME, class WideE, class WideF>
__device__ __forceinline__ void take_same(const WideE &of_e, WideF &of_f) {
    each(of_f, [&](auto k, auto &values) {
        constexpr int FROM = same_leaf(SAME, decltype(k)::value);
        if constexpr (FROM >= 0) values = get<FROM>(of_e);
    });
}

// Stores a value that leaves the caches first.
template <class T> __device__ __forceinline__ void put_streaming(T *to, const T &value) {
    if constexpr (sizeof(T) == 1) {
        __stcs(reinterpret_cast<unsigned char *>(to),
               *reinterpret_cast<const unsigned char *>(&value));
    } else if constexpr (sizeof(T) == 2) {
        __stcs(reinterpret_cast<unsigned short *>(to),
               *reinterpret_cast<const unsigned short *>(&value));
    } else if constexpr (sizeof(T) == 4) {
        __stcs(reinterpret_cast<unsigned int *>(to),
               *reinterpret_cast<const unsigned int *>(&value));
    } else {
        __stcs(reinterpret_cast<unsigned long long *>(to),
               *reinterpret_cast<const unsigned long long *>(&value));
    }
}

// Writes made(0) to made(count - 1), which read shared memory, by the lanes of a warp, in whole
// lines where possible.
template <class T, class Made>
__device__ __forceinline__ void write_contiguous(T *to, uint32_t count, const Made &made) {
    constexpr int AT_ONCE = 4;
    // The loop begins before the first value, at the start of a line; negative numbers are very
    // large as unsigned ones.
    const uint32_t before = uint32_t(reinterpret_cast<uint64_t>(to) / sizeof(T) % 32);
#pragma unroll 1
    for (int first = int(threadIdx.x % 32 - before); first < int(count); first += 32 * AT_ONCE) {
        T values[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            if (uint32_t(first + 32 * k) < count) values[k] = made(first + 32 * k);
        }
        T *from_first = to + first;
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            if (uint32_t(first + 32 * k) < count) put_streaming(from_first + 32 * k, values[k]);
        }
    }
}

// Broadcasts a word that is equal in all lanes, so that the compiler knows that it is.
__device__ __forceinline__ uint32_t of_all_lanes(uint32_t word) {
    return __shfl_sync(0xffffffffu, word, 0);
}

// A warp's rows of a tile: the lane's values of each row, and which of the warp's are selected.
template <class Item, int ROWS> struct WarpRows {
    Pack<Item, ROWS> values;
    // By row: a bit for each lane whose value is selected.
    uint32_t votes[ROWS];
    // The warp's values from number `first` to before `end` exist.
    int first, end;
};

// The steps of a warp's selection from tiles in shared memory. A tile is in stage `stage` of STAGES
// from its copies until its output is written. All lanes of a warp call each method, unless it says
// otherwise.
template <class E, class F, int MODE, uint64_t SAME, class P> struct StagedSelection {
    typedef StageBuffers<E, F, MODE, SAME, P> S;
    typedef At<E, F, Nothing> A;
    typedef TileParams<E, F, Nothing> Params;
    typedef typename S::Item Item;
    static constexpr int WARPS = S::WARPS, ROWS = S::ROWS, OF_WARP = 32 * ROWS,
                         TILE = WARPS * OF_WARP;
    typedef WarpRows<Item, ROWS> Rows;
    typedef typename Wide<ROWS, typename E::Leaves>::type WideE;
    typedef typename Wide<ROWS, typename F::Leaves>::type WideF;
    // The upper bits of `arrived` hold the number of warps that have counted.
    static constexpr uint32_t WARP_COUNTED = 1u << 24;
    // Tiles that the block remembers, by the low bits of their numbers.
    static constexpr int CLAIMED = 16;
    static_assert(WARPS <= 32 && TILE < 1 << 24 && S::STAGES < CLAIMED,
                  "a lane for each warp, counts beside arrivals, tiles by the low bits of numbers");

    // Counts in shared memory, by stage.
    struct Counts {
        // The selected values of each warp, and of all warps that have counted.
        uint32_t (*of_warps)[WARPS], *arrived;
        // The place after the last selected value of each warp, and of all warps that have counted.
        uint32_t (*lasts_of_warps)[WARPS], *last_of_tile;
    };

    const Params &params;
    const int lane, warp;
    const S buffers;
    const Counts counts;
    const int64_t count, peel;
    const uint32_t tiles;

    // `warp` is the same number in all lanes, and the compiler knows it.
    __device__ __forceinline__ StagedSelection(const Params &params, void *dynamic, int warp,
                                               const Counts &counts)
        : params(params), lane(threadIdx.x % 32), warp(warp),
          buffers{static_cast<unsigned char *>(dynamic), warp}, counts(counts),
          count(int64_t(params.count)), peel(int64_t(params.peel)), tiles(params.tiles) {}

    // The warp's first value of a tile. Its values from `first_of` to before `end_of` exist.
    __device__ __forceinline__ int64_t start_of(uint32_t tile) const {
        return int64_t(tile) * TILE - peel + warp * OF_WARP;
    }
    static __device__ __forceinline__ int first_of(int64_t start) {
        return start >= 0 ? 0 : start > -OF_WARP ? int(-start) : OF_WARP;
    }
    __device__ __forceinline__ int end_of(int64_t start) const {
        return count - start >= OF_WARP ? OF_WARP : count > start ? int(count - start) : 0;
    }

    // Starts the warp's copies of a tile, if there is such a tile. It does not synchronise.
    __device__ __forceinline__ void start_loading(uint32_t tile, int stage) const {
        if (warp < WARPS && tile < tiles)
            buffers.start_copies(params, stage, start_of(tile), count);
        end_batch_of_copies();
    }

    // Reads the warp's rows of a tile, and votes on each row. It does not synchronise.
    __device__ __forceinline__ void load(Rows &rows, uint32_t tile, int stage) const {
        const int64_t start = start_of(tile);
        WideE of_e;
        WideF of_f;
        buffers.template read<E, A, A::E_LEAVES, ROWS>(params, stage, lane, start + lane, of_e);
        buffers.template read<F, A, A::F_LEAVES, ROWS>(params, stage, lane, start + lane, of_f);
        take_same<SAME>(of_e, of_f);
        const auto heads = values_of<F, ROWS>(params.scalars.at + A::F_SCALARS,
                                              params.extra.at + A::F_EXTRA, of_f);
        if constexpr ((MODE & KEYS) != 0) {
            vote_on_keys(rows, heads, stage, start);
        } else {
#pragma unroll
            for (int u = 0; u < ROWS; u++)
                rows.votes[u] = __ballot_sync(0xffffffffu, bool(heads.lane[u]));
        }
        cut(rows, start);
        if constexpr ((MODE & VALUES) != 0) {
            const auto moved = [&] {
                if constexpr ((MODE & KEYS) != 0) {
                    return heads;
                } else {
                    return values_of<E, ROWS>(params.scalars.at + A::E_SCALARS,
                                              params.extra.at + A::E_EXTRA, of_e);
                }
            }();
#pragma unroll
            for (int u = 0; u < ROWS; u++) rows.values.lane[u] = Item(moved.lane[u]);
        }
    }
    // Votes whether each key differs from the one before it. It does not synchronise.
    template <class Keys> __device__ __forceinline__ void
    vote_on_keys(Rows &rows, const Keys &keys, int stage, int64_t start) const {
        typename Wide<1, typename F::Leaves>::type of_before;
        buffers.template read<F, A, A::F_LEAVES, 1>(params, stage, -1, start - 1, of_before);
        auto earlier = values_of<F, 1>(params.scalars.at + A::F_SCALARS,
                                       params.extra.at + A::F_EXTRA, of_before)
                           .lane[0];
#pragma unroll
        for (int u = 0; u < ROWS; u++) {
            // Each lane has the value of the lane before; lane 0 has the row's last value, for the
            // next row.
            const auto neighbour = shuffled(keys.lane[u], (lane + 31) % 32);
            if (lane > 0) earlier = neighbour;
            rows.votes[u] = __ballot_sync(0xffffffffu, keys.lane[u] != earlier);
            earlier = neighbour;
        }
    }
    // Takes back votes for values that do not exist. The first key of all is selected. It does not
    // synchronise.
    __device__ __forceinline__ void cut(Rows &rows, int64_t start) const {
        rows.first = 0;
        rows.end = OF_WARP;
        if (start <= 0 || start + OF_WARP > count) {
            rows.first = first_of(start);
            rows.end = end_of(start);
#pragma unroll
            for (int u = 0; u < ROWS; u++) {
                if ((MODE & KEYS) != 0 && u * 32 <= -start && u * 32 + 32 > -start)
                    rows.votes[u] |= 1u << uint32_t(-start) % 32;
                rows.votes[u] &= __ballot_sync(0xffffffffu, u * 32 + lane >= rows.first &&
                                                                u * 32 + lane < rows.end);
            }
        }
    }

    // Makes the warp's selected values and their places contiguous where its values were; with
    // REJECTED the others behind them. Returns the number of selected values. The caller
    // synchronises the warp before it and after it.
    __device__ __forceinline__ uint32_t put(const Rows &rows, int stage) const {
        const uint32_t lane_bit = 1u << lane;
        uint32_t of_warp = 0;
        if constexpr ((MODE & REJECTED) != 0) {
#pragma unroll
            for (int u = 0; u < ROWS; u++) of_warp += uint32_t(__popc(rows.votes[u]));
        }
        Item *to = buffers.selected(stage);
        uint16_t *places = buffers.places(stage);
        uint32_t before = 0;
#pragma unroll
        for (int u = 0; u < ROWS; u++) {
            const uint32_t at = before + uint32_t(__popc(rows.votes[u] & (lane_bit - 1)));
            if ((rows.votes[u] & lane_bit) != 0) {
                if constexpr ((MODE & VALUES) != 0) to[at] = rows.values.lane[u];
                if constexpr ((MODE & INDICES) != 0)
                    places[at] = uint16_t(warp * OF_WARP + u * 32 + lane);
            } else if constexpr ((MODE & REJECTED) != 0) {
                const int place = u * 32 + lane;
                if (place >= rows.first && place < rows.end)
                    to[of_warp + uint32_t(place - rows.first) - at] = rows.values.lane[u];
            }
            before += uint32_t(__popc(rows.votes[u]));
        }
        return before;
    }

    // Clears the counts of a stage for its next tile. The service warp calls it, between barriers
    // that part it from `publish`.
    __device__ __forceinline__ void clear_counts(int stage) const {
        if (lane == 0) counts.arrived[stage] = counts.last_of_tile[stage] = 0;
    }
    // Adds the warp's number of selected values to the tile's. The last warp to do so publishes the
    // tile's aggregate in `slot`. Lane 0 alone calls it; it fences shared memory and has no
    // barrier.
    __device__ __forceinline__ void publish(const Rows &rows, uint32_t of_warp, int stage,
                                            Slot<uint32_t> *slot) const {
        counts.of_warps[stage][warp] = of_warp;
        uint32_t last = 0;
        if constexpr ((MODE & LENGTHS) != 0) {
#pragma unroll
            for (int u = 0; u < ROWS; u++)
                last = rows.votes[u] != 0
                           ? uint32_t(warp * OF_WARP + u * 32 + 32 - __clz(int(rows.votes[u])))
                           : last;
            counts.lasts_of_warps[stage][warp] = last;
            atomicMax(&counts.last_of_tile[stage], last);
            __threadfence_block();
        }
        const uint32_t earlier = atomicAdd(&counts.arrived[stage], WARP_COUNTED + of_warp);
        if (earlier / WARP_COUNTED == WARPS - 1) {
            if constexpr ((MODE & LENGTHS) != 0) {
                __threadfence_block();
                last = *static_cast<volatile uint32_t *>(&counts.last_of_tile[stage]);
            }
            slot->publish(
                aggregate_of<MODE>(earlier % WARP_COUNTED + of_warp, last > 0 ? last - 1 : 0));
        }
    }

    // Stores the warp's output of a tile. `before_tile` is the tile's prefix, and `all` the number
    // of all selected values, if there is REJECTED. It does not synchronise.
    __device__ __forceinline__ void store(uint32_t tile, int stage, const Seen &before_tile,
                                          const int64_t *all) const {
        const uint32_t of_lane = lane < WARPS ? counts.of_warps[stage][lane < WARPS ? lane : 0] : 0,
                       of_warp = __shfl_sync(0xffffffffu, of_lane, warp);
        const int64_t before =
            before_tile.selected + __reduce_add_sync(0xffffffffu, lane < warp ? of_lane : 0u);
        if constexpr ((MODE & VALUES) != 0) store_values(tile, stage, before, of_warp, all);
        if constexpr ((MODE & INDICES) != 0) {
            const uint16_t *from = buffers.places(stage);
            const int64_t origin = int64_t(tile) * TILE - peel;
            int64_t *to = reinterpret_cast<int64_t *>(S::BESIDE ? params.places : params.target);
            write_contiguous(to + before, of_warp, [&](int at) { return origin + from[at]; });
            if constexpr ((MODE & LENGTHS) != 0)
                store_lengths(tile, stage, before, of_warp, before_tile.last);
        }
        const bool is_end = tile == tiles - 1 && warp == WARPS - 1 && lane == 0;
        if (is_end) *reinterpret_cast<int64_t *>(params.selected) = before + of_warp;
    }
    // Stores the warp's `of_warp` selected values behind `before` others, and with REJECTED the
    // rejected ones behind all selected ones. It does not synchronise.
    __device__ __forceinline__ void store_values(uint32_t tile, int stage, int64_t before,
                                                 uint32_t of_warp, const int64_t *all) const {
        const Item *from = buffers.selected(stage);
        Item *to = reinterpret_cast<Item *>(params.target);
        write_contiguous(to + before, of_warp, [&](int at) { return from[at]; });
        if constexpr ((MODE & REJECTED) != 0) {
            const int64_t start = start_of(tile), selected = *all;
            const int exist = end_of(start) - first_of(start);
            // The rejected values before the warp's are the values before it less the selected
            // ones.
            write_contiguous(to + selected + (start > 0 ? start : 0) - before,
                             exist > 0 ? uint32_t(exist) - of_warp : 0,
                             [&](int at) { return from[of_warp + at]; });
        }
    }
    // Stores the lengths of the runs that the warp's selected values end: each ends the run of the
    // one before it, and the first of all ends none. `last` is the last one before the tile. It
    // does not synchronise.
    __device__ __forceinline__ void store_lengths(uint32_t tile, int stage, int64_t before,
                                                  uint32_t of_warp, int64_t last) const {
        const uint16_t *from = buffers.places(stage);
        const int64_t origin = int64_t(tile) * TILE - peel;
        // The last selected value before the warp's values.
        const uint32_t of_tile = __reduce_max_sync(
            0xffffffffu, lane < warp ? counts.lasts_of_warps[stage][lane < WARPS ? lane : 0] : 0u);
        const int64_t earlier = of_tile > 0 ? origin + of_tile - 1 : last;
        int64_t *lengths = reinterpret_cast<int64_t *>(params.lengths) + before - 1;
        const int none = before == 0 ? 1 : 0;
        const auto length = [&](int at) {
            return origin + from[at + none] -
                   (at + none > 0 ? origin + from[at + none - 1] : earlier);
        };
        if (of_warp > 0) write_contiguous(lengths + none, of_warp - none, length);
        if (tile == tiles - 1 && warp == WARPS - 1 && lane == 0)
            lengths[of_warp] = count - (of_warp > 0 ? origin + from[of_warp - 1] : earlier);
    }
};

} // namespace gpu::algos::select
