// Selections of many contiguous values, in one launch, with tiles in shared memory.
//
// The values that are selected, and their order, are those of `select_single_pass`
// (select_single_pass.cuh). A tile comes into shared memory by copies that hold no registers. Each
// warp has neighbouring rows of it to itself. A row has 32 values, one for each lane, so that one
// vote ranks the selected values of a row, and they go to neighbouring banks. When a tile has
// arrived, each warp puts its selected values side by side where its values were. The last warp to
// have done so publishes the tile's count in a slot. AHEAD tiles of the block later, when the
// counts of all earlier tiles are known as a rule, each warp writes its selected values in whole
// lines. So a block that waits for counts delays no other block, and reads and writes meanwhile.
// One service warp draws tickets and adds up the counts that blocks have published.
//
// Contract: that of `select_single_pass`, with tiles of THREADS * VECTOR_SIZE * VECTORS_PER_THREAD,
// and with these differences. There are several tiles. The layout is CONTIGUOUS, and packs of
// VECTOR_SIZE of all leaves are aligned in memory. STEP is 1. The block is THREADS + 32, with
// Segments::ALL bytes of dynamic shared memory. VECTOR_SIZE * VECTORS_PER_THREAD is the number of
// rows of a warp: a multiple of 4 such that 16 bits tell the places of a tile. With REJECTED there
// is one slot more than tiles, for their sum. Parameters: those of `select_single_pass`.
#pragma once
#include "select_single_pass.cuh"

namespace gpu {
namespace select {

// Layout of a block's tiles in shared memory, for each warp by itself. Moved values overwrite the
// first leaf, which has STAGES buffers. Each other leaf has LOADING buffers of its own. Places
// beside values have STAGES buffers.
template <class E, class F, int MODE, uint64_t SAME, int WARPS, int VECTOR_SIZE, int ROWS,
          int STAGES, int LOADING>
struct Segments {
    typedef typename Moved<E, F, MODE>::Item Item;
    static constexpr int E_LEAVES = E::Leaves::SIZE, LEAVES = E_LEAVES + F::Leaves::SIZE,
                         VALUES = 32 * ROWS;
    // The value before a warp's first one is copied in front of it.
    static constexpr int PAD = (MODE & KEYS) != 0 ? 16 : 0;
    static constexpr bool BESIDE = (MODE & VALUES_AND_INDICES) == VALUES_AND_INDICES;
    // Bytes of a value; 0 if the leaf has no buffer of its own.
    template <int K> static constexpr int bytes() {
        if constexpr (K >= LEAVES) {
            return 0;
        } else if constexpr (K >= E_LEAVES && same_leaf(SAME, K - E_LEAVES) >= 0) {
            return 0;
        } else {
            return LeafOf<K, E, F>::BYTES;
        }
    }
    static constexpr int MAIN = bytes<0>() > int(sizeof(Item)) ? bytes<0>() : int(sizeof(Item));
    // Bytes of a warp's values in leaf K.
    template <int K> static constexpr int room() {
        if constexpr (K == 0) return PAD + VALUES * MAIN;
        return bytes<K>() > 0 ? PAD + VALUES * bytes<K>() : 0;
    }
    template <int K> static constexpr int start() {
        if constexpr (K == 0) {
            return 0;
        } else if constexpr (K == 1) {
            return STAGES * WARPS * room<0>();
        } else {
            return start<K - 1>() + LOADING * WARPS * room<K - 1>();
        }
    }
    static constexpr int PLACES_START = start<(LEAVES > 0 ? LEAVES : 1)>();
    static constexpr int ALL = PLACES_START + (BESIDE ? STAGES * WARPS * VALUES * 2 : 0);
    static_assert(ROWS % 4 == 0 && WARPS * VALUES < 1 << 16,
                  "copies are whole, counts and places in a tile have 16 bits");
    static_assert(STAGES % LOADING == 0, "the place among STAGES tells that among LOADING");

    unsigned char *all;
    int warp;

    // The selected values of the tile in stage `stage` of STAGES, and their places.
    __device__ __forceinline__ Item *selected(int stage) const {
        return reinterpret_cast<Item *>(all + (stage * WARPS + warp) * room<0>() + PAD);
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
            all + start<K>() + (at * WARPS + warp) * room<K>() + PAD);
    }

    // Starts the warp's copies of leaf K and of all later leaves. The first value is number `start`
    // of `count`.
    template <int K = 0>
    __device__ __forceinline__ void start_copies(const TileParams<E, F, Nothing> &params, int stage,
                                                 int64_t start, int64_t count) const {
        if constexpr (K < LEAVES) {
            if constexpr (bytes<K>() > 0) {
                typedef typename Stored<typename LeafOf<K, E, F>::type>::type T;
                constexpr int BYTES = VECTOR_SIZE * bytes<K>() < 16 ? VECTOR_SIZE * bytes<K>() : 16,
                              OF_COPY = BYTES / bytes<K>();
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
            } else if constexpr (bytes<K>() > 0) {
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
__device__ __forceinline__ void write_side_by_side(T *to, uint32_t count, const Made &made) {
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

// Counts the selected values of all tiles, since the rejected ones go behind them. Blocks draw
// parts and count them before their first tile.
template <class E, class F, int MODE, int THREADS, int VECTOR_SIZE> struct Counting {
    typedef At<E, F, Nothing> A;
    static constexpr int PACKS = VECTOR_SIZE > 8 ? 4 : 8, ROUNDS = 4,
                         PART = THREADS * VECTOR_SIZE * PACKS * ROUNDS;
    GridCounters *counters;
    Slot<uint32_t> *sum;

    static __device__ __forceinline__ uint32_t parts_of(const typename A::Params &params) {
        return uint32_t((int64_t(params.count) + int64_t(params.peel) + PART - 1) / PART);
    }
    // Number of selected values of a part that this thread counts.
    template <bool WHOLE>
    static __device__ __forceinline__ uint32_t of_part(const typename A::Params &params,
                                                       int64_t start, int64_t count) {
        uint32_t selected = 0;
#pragma unroll 1
        for (int round = 0; round < ROUNDS; round++) {
            const int64_t first =
                start + (int64_t(round) * PACKS * THREADS + threadIdx.x) * VECTOR_SIZE;
            typename Wide<VECTOR_SIZE, typename F::Leaves>::type in[PACKS];
#pragma unroll
            for (int u = 0; u < PACKS; u++) {
                const int64_t i = first + u * THREADS * VECTOR_SIZE;
                if constexpr (WHOLE) {
                    in[u] = read_whole<F, A, A::F_LEAVES, VECTOR_SIZE, (MODE & BACKWARD) != 0>(
                        params, i);
                } else {
                    in[u] = read<F, A, A::F_LEAVES, VECTOR_SIZE, MODE>(
                        params, i, i >= 0 && i + VECTOR_SIZE <= count);
                }
            }
#pragma unroll
            for (int u = 0; u < PACKS; u++) {
                const auto flags = values_of<F, VECTOR_SIZE>(params.scalars.at + A::F_SCALARS,
                                                             params.extra.at + A::F_EXTRA, in[u]);
                uint32_t bits = 0;
#pragma unroll
                for (int k = 0; k < VECTOR_SIZE; k++) bits |= uint32_t(bool(flags.lane[k])) << k;
                selected +=
                    uint32_t(__popc(WHOLE ? bits
                                          : bits & existing<VECTOR_SIZE>(
                                                       first + u * THREADS * VECTOR_SIZE, count)));
            }
        }
        return selected;
    }
    // All threads of the block call it; those of the last warp count nothing.
    __device__ __forceinline__ void add(const typename A::Params &params, uint32_t *claimed) const {
        const uint32_t parts = parts_of(params);
        const int64_t count = int64_t(params.count);
        uint32_t selected = 0, own_parts = 0;
        while (true) {
            __syncthreads();
            if (threadIdx.x == 0) claimed[0] = atomicAdd(&counters->next_part, 1u);
            __syncthreads();
            const uint32_t part = claimed[0];
            if (part >= parts) break;
            own_parts++;
            if (threadIdx.x >= THREADS) continue;
            const int64_t start = int64_t(part) * PART - int64_t(params.peel);
            // A part without cut packs is read without a branch for each pack.
            if (start >= 0 && start + PART <= count) {
                selected += of_part<true>(params, start, count);
            } else {
                selected += of_part<false>(params, start, count);
            }
        }
        selected = __reduce_add_sync(0xffffffffu, selected);
        if (threadIdx.x % 32 == 0) atomicAdd(&sum->word[0], uint64_t(selected));
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(&counters->parts_counted, own_parts);
        }
    }
    // Waits for the counts of all parts, which running blocks have claimed.
    __device__ __forceinline__ int64_t wait(const typename A::Params &params) const {
        const uint32_t parts = parts_of(params);
        while (__nv_atomic_load_n(&counters->parts_counted, __NV_ATOMIC_RELAXED,
                                  __NV_THREAD_SCOPE_DEVICE) < parts)
            __nanosleep(40);
        __threadfence();
        return int64_t(
            __nv_atomic_load_n(&sum->word[0], __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE));
    }
    __device__ __forceinline__ void clear() const {
        counters->next_part = counters->parts_counted = 0;
        sum->clear();
    }
};

// The stage after `place` in a cycle of N.
template <int N> __device__ __forceinline__ int next_of(int place) {
    return place + 1 < N ? place + 1 : 0;
}

template <class E, class F, int MODE, uint64_t SAME, class P>
__global__ void __launch_bounds__(P::THREADS + 32, 1)
    select_pipelined(const __grid_constant__ TileParams<E, F, Nothing> params) {
    constexpr int THREADS = P::THREADS, VECTOR_SIZE = P::VECTOR_SIZE,
                  VECTORS_PER_THREAD = P::VECTORS_PER_THREAD;
    constexpr int AHEAD = P::AHEAD, LOADING = P::LOADING;
    typedef At<E, F, Nothing> A;
    constexpr int WARPS = THREADS / 32, ROWS = VECTOR_SIZE * VECTORS_PER_THREAD,
                  STAGES = AHEAD + LOADING, OF_WARP = 32 * ROWS, TILE = THREADS * ROWS,
                  CLAIMED = 16;
    typedef Segments<E, F, MODE, SAME, WARPS, VECTOR_SIZE, ROWS, STAGES, LOADING> S;
    typedef typename S::Item Item;
    // The upper bits of `arrived` hold the number of warps that have counted.
    constexpr uint32_t WARP_COUNTED = 1u << 24;
    static_assert(
        WARPS <= 32 && TILE < 1 << 24 && STAGES < CLAIMED,
        "a lane for each warp, counts beside arrivals, tiles by the low bits of a number");
    SHARED_DYNAMIC(uint4, dynamic);
    // Indexed by the number of the block's tile, modulo CLAIMED: the tile.
    SHARED(uint32_t, claimed, [CLAIMED]);
    // Indexed by stage: the selected values of each warp, and of all warps that have counted.
    SHARED(uint32_t, of_warps, [STAGES][WARPS]);
    SHARED(uint32_t, arrived, [STAGES]);
    // Indexed by stage: the place after the last selected value of each warp, and of all warps that
    // have counted.
    SHARED(uint32_t, lasts_of_warps, [STAGES][WARPS]);
    SHARED(uint32_t, last_of_tile, [STAGES]);
    // Indexed by the last bit of the tile's number: the prefix of the tile.
    SHARED(Seen, before_tile, [2]);
    SHARED(bool, is_last, [1]);
    const int lane = threadIdx.x % 32, warp = int(of_all_lanes(threadIdx.x / 32));
    const bool is_worker = warp < WARPS;
    const S segments = {reinterpret_cast<unsigned char *>(dynamic), warp};
    const int64_t count = int64_t(params.count), peel = int64_t(params.peel);
    const uint32_t tiles = params.tiles;
    GridCounters *counters = reinterpret_cast<GridCounters *>(params.scratch);
    Slot<uint32_t> *of_tiles =
        reinterpret_cast<Slot<uint32_t> *>(params.scratch + sizeof(GridCounters));
    const Counting<E, F, MODE, THREADS, VECTOR_SIZE> counting = {counters, of_tiles + tiles};
    SHARED(int64_t, kept_of_all, [1]);
    // There are little more than four groups of slots between a block's tiles on an H200.
    constexpr int AT_ONCE = 5;
    Seen seen = {0, -1};
    uint32_t looked = 0;

    // The warp's first value of a tile. Its values from `first` to before `end` exist.
    const auto start_of = [&](uint32_t tile) {
        return int64_t(tile) * TILE - peel + warp * OF_WARP;
    };
    const auto first_of = [&](int64_t start) {
        return start >= 0 ? 0 : start > -OF_WARP ? int(-start) : OF_WARP;
    };
    const auto end_of = [&](int64_t start) {
        return count - start >= OF_WARP ? OF_WARP : count > start ? int(count - start) : 0;
    };
    const auto start_loading = [&](uint32_t tile, int stage) {
        if (is_worker && tile < tiles) segments.start_copies(params, stage, start_of(tile), count);
        end_batch_of_copies();
    };

    if (threadIdx.x < STAGES) arrived[threadIdx.x] = last_of_tile[threadIdx.x] = 0;
    gpu::grid_dependency_wait();
    if constexpr ((MODE & REJECTED) != 0) counting.add(params, claimed);
    // Blocks draw in rounds, so that the first tiles of all blocks come before their second ones.
#pragma unroll 1
    for (int number = 0; number < LOADING; number++) {
        if (threadIdx.x == THREADS) claimed[number] = atomicAdd(&counters->next_tile, 1u);
        __syncthreads();
        if (number < LOADING - 1) start_loading(claimed[number], number);
    }

    // Tile `number` is written while tile `number + AHEAD` is counted and the last of STAGES is in
    // flight.
    int written = STAGES - AHEAD, coming = 0, loading = LOADING - 1;
#pragma unroll 1
    for (int number = -AHEAD;; number++, written = next_of<STAGES>(written),
             coming = next_of<STAGES>(coming), loading = next_of<STAGES>(loading)) {
        wait_for_copies<LOADING - 2>();
        __syncthreads();
        const uint32_t written_tile =
            number >= 0 ? of_all_lanes(claimed[uint32_t(number) % CLAIMED]) : 0;
        const uint32_t coming_tile = of_all_lanes(claimed[uint32_t(number + AHEAD) % CLAIMED]);
        if (written_tile >= tiles) break;
        start_loading(of_all_lanes(claimed[uint32_t(number + STAGES - 1) % CLAIMED]), loading);

        if (!is_worker) {
            if (lane == 0)
                arrived[next_of<STAGES>(coming)] = last_of_tile[next_of<STAGES>(coming)] = 0;
            uint32_t ticket = 0;
            if (lane == 0) ticket = atomicAdd(&counters->next_tile, 1u);
            if ((MODE & REJECTED) != 0 && number == -1) {
                const int64_t all = counting.wait(params);
                if (lane == 0) kept_of_all[0] = all;
            }
            const uint32_t next = number + 1 >= 0 ? claimed[uint32_t(number + 1) % CLAIMED] : tiles;
            if (next < tiles) {
                for (; looked < next;
                     looked = next - looked < 32 * AT_ONCE ? next : looked + 32 * AT_ONCE) {
                    seen.add(look_at_tiles<MODE, TILE, AT_ONCE>(of_tiles, looked, next, peel));
                }
                if (lane == 0) before_tile[(number + 1) & 1] = seen;
            }
            if (lane == 0) claimed[uint32_t(number + STAGES) % CLAIMED] = ticket;
            continue;
        }

        if (coming_tile < tiles) {
            const int64_t start = start_of(coming_tile);
            typename Wide<ROWS, typename E::Leaves>::type of_e;
            typename Wide<ROWS, typename F::Leaves>::type of_f;
            segments.template read<E, A, A::E_LEAVES, ROWS>(params, coming, lane, start + lane,
                                                            of_e);
            segments.template read<F, A, A::F_LEAVES, ROWS>(params, coming, lane, start + lane,
                                                            of_f);
            take_same<SAME>(of_e, of_f);
            const auto heads = values_of<F, ROWS>(params.scalars.at + A::F_SCALARS,
                                                  params.extra.at + A::F_EXTRA, of_f);
            // Indexed by row: a bit for each lane whose value is selected.
            uint32_t votes[ROWS];
            if constexpr ((MODE & KEYS) != 0) {
                typename Wide<1, typename F::Leaves>::type of_before;
                segments.template read<F, A, A::F_LEAVES, 1>(params, coming, -1, start - 1,
                                                             of_before);
                auto earlier = values_of<F, 1>(params.scalars.at + A::F_SCALARS,
                                               params.extra.at + A::F_EXTRA, of_before)
                                   .lane[0];
#pragma unroll
                for (int u = 0; u < ROWS; u++) {
                    // Each lane has the value of the lane before; lane 0 has the row's last value,
                    // for the next row.
                    const auto neighbour = shuffled(heads.lane[u], (lane + 31) % 32);
                    if (lane > 0) earlier = neighbour;
                    votes[u] = __ballot_sync(0xffffffffu, heads.lane[u] != earlier);
                    earlier = neighbour;
                }
            } else {
#pragma unroll
                for (int u = 0; u < ROWS; u++)
                    votes[u] = __ballot_sync(0xffffffffu, bool(heads.lane[u]));
            }
            int first = 0, end = OF_WARP;
            if (start <= 0 || start + OF_WARP > count) {
                first = first_of(start);
                end = end_of(start);
#pragma unroll
                for (int u = 0; u < ROWS; u++) {
                    if ((MODE & KEYS) != 0 && u * 32 <= -start && u * 32 + 32 > -start)
                        votes[u] |= 1u << uint32_t(-start) % 32;
                    votes[u] &=
                        __ballot_sync(0xffffffffu, u * 32 + lane >= first && u * 32 + lane < end);
                }
            }
            Pack<Item, ROWS> values;
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
                for (int u = 0; u < ROWS; u++) values.lane[u] = Item(moved.lane[u]);
            }
            // All lanes have read the values that are overwritten now.
            __syncwarp();
            const uint32_t lane_bit = 1u << lane;
            uint32_t of_warp = 0;
            if constexpr ((MODE & REJECTED) != 0) {
#pragma unroll
                for (int u = 0; u < ROWS; u++) of_warp += uint32_t(__popc(votes[u]));
            }
            Item *to = segments.selected(coming);
            uint16_t *places = segments.places(coming);
            uint32_t before = 0;
#pragma unroll
            for (int u = 0; u < ROWS; u++) {
                const uint32_t at = before + uint32_t(__popc(votes[u] & (lane_bit - 1)));
                if ((votes[u] & lane_bit) != 0) {
                    if constexpr ((MODE & VALUES) != 0) to[at] = values.lane[u];
                    if constexpr ((MODE & INDICES) != 0)
                        places[at] = uint16_t(warp * OF_WARP + u * 32 + lane);
                } else if constexpr ((MODE & REJECTED) != 0) {
                    const int place = u * 32 + lane;
                    if (place >= first && place < end)
                        to[of_warp + uint32_t(place - first) - at] = values.lane[u];
                }
                before += uint32_t(__popc(votes[u]));
            }
            if (lane == 0) {
                of_warps[coming][warp] = before;
                uint32_t last = 0;
                if constexpr ((MODE & LENGTHS) != 0) {
#pragma unroll
                    for (int u = 0; u < ROWS; u++)
                        last = votes[u] != 0
                                   ? uint32_t(warp * OF_WARP + u * 32 + 32 - __clz(int(votes[u])))
                                   : last;
                    lasts_of_warps[coming][warp] = last;
                    atomicMax(&last_of_tile[coming], last);
                    __threadfence_block();
                }
                const uint32_t earlier = atomicAdd(&arrived[coming], WARP_COUNTED + before);
                if (earlier / WARP_COUNTED == WARPS - 1) {
                    if constexpr ((MODE & LENGTHS) != 0) {
                        __threadfence_block();
                        last = *static_cast<volatile uint32_t *>(&last_of_tile[coming]);
                    }
                    of_tiles[coming_tile].put(
                        handed_on<MODE>(earlier % WARP_COUNTED + before, last > 0 ? last - 1 : 0));
                }
            }
            __syncwarp();
        }

        if (number >= 0) {
            const uint32_t of_lane = lane < WARPS ? of_warps[written][lane < WARPS ? lane : 0] : 0,
                           of_warp = __shfl_sync(0xffffffffu, of_lane, warp);
            const int64_t before = before_tile[number & 1].selected +
                                   __reduce_add_sync(0xffffffffu, lane < warp ? of_lane : 0u);
            if constexpr ((MODE & VALUES) != 0) {
                const Item *from = segments.selected(written);
                Item *to = reinterpret_cast<Item *>(params.target);
                write_side_by_side(to + before, of_warp, [&](int at) { return from[at]; });
                if constexpr ((MODE & REJECTED) != 0) {
                    const int64_t start = start_of(written_tile), all = kept_of_all[0];
                    const int exist = end_of(start) - first_of(start);
                    // The rejected values before the warp's are the values before it less the
                    // selected ones.
                    write_side_by_side(to + all + (start > 0 ? start : 0) - before,
                                       exist > 0 ? uint32_t(exist) - of_warp : 0,
                                       [&](int at) { return from[of_warp + at]; });
                }
            }
            if constexpr ((MODE & INDICES) != 0) {
                const uint16_t *from = segments.places(written);
                const int64_t origin = int64_t(written_tile) * TILE - peel;
                int64_t *to =
                    reinterpret_cast<int64_t *>(S::BESIDE ? params.places : params.target);
                write_side_by_side(to + before, of_warp, [&](int at) { return origin + from[at]; });
                if constexpr ((MODE & LENGTHS) != 0) {
                    // The last selected value before the warp's values.
                    const uint32_t last = __reduce_max_sync(
                        0xffffffffu,
                        lane < warp ? lasts_of_warps[written][lane < WARPS ? lane : 0] : 0u);
                    const int64_t earlier =
                        last > 0 ? origin + last - 1 : before_tile[number & 1].last;
                    // Each selected value ends the run of the one before it; the first of all ends
                    // none.
                    int64_t *lengths = reinterpret_cast<int64_t *>(params.lengths) + before - 1;
                    const int none = before == 0 ? 1 : 0;
                    const auto length = [&](int at) {
                        return origin + from[at + none] -
                               (at + none > 0 ? origin + from[at + none - 1] : earlier);
                    };
                    if (of_warp > 0) write_side_by_side(lengths + none, of_warp - none, length);
                    if (written_tile == tiles - 1 && warp == WARPS - 1 && lane == 0) {
                        lengths[of_warp] =
                            count - (of_warp > 0 ? origin + from[of_warp - 1] : earlier);
                    }
                }
            }
            const bool is_end = written_tile == tiles - 1 && warp == WARPS - 1 && lane == 0;
            if (is_end) *reinterpret_cast<int64_t *>(params.selected) = before + of_warp;
        }
    }
    wait_for_copies<0>();
    gpu::trigger_dependents();

    // The last block that has polled slots zeroes them for the next launch.
    if (threadIdx.x == 0) is_last[0] = arrive(&counters->blocks_done) == gridDim.x - 1;
    __syncthreads();
    if (!is_last[0]) return;
#pragma unroll 1
    for (uint32_t k = threadIdx.x; k < tiles; k += THREADS + 32) of_tiles[k].clear();
    if (threadIdx.x > 0) return;
    counters->next_tile = counters->blocks_done = 0;
    if constexpr ((MODE & REJECTED) != 0) counting.clear();
}

} // namespace select
} // namespace gpu
