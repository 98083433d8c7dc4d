// Tiles of values, and the aggregates that blocks publish of them: for scans (scan_single_pass.cuh)
// and selections (select_single_pass.cuh).
//
// A block has a tile in registers: each warp has neighbouring rows of packs to itself. Blocks draw
// tiles by a ticket, so all tiles before a block's tile belong to running blocks: a block may wait
// for them. It publishes the sum of its tile in a slot (tile_status.cuh). It adds up the slots of
// all earlier tiles by itself, from its last tile to its present one. Blocks publish only sums of
// single tiles. So no block waits for a sum that another still adds up, unlike with the prefixes of
// decoupled look-back (Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled
// Look-back, 2016), and the order of additions depends on the number of values alone.
#pragma once
#include "tile_params.cuh"
#include "walk.cuh"

namespace gpu {
namespace tiles {

// The numbers that the host's policy chooses for a kernel: the threads of its block, the elements
// of a pack, and the packs that a thread takes of a tile.
template <int BLOCK, int SIZE, int NUMBER> struct Policy {
    static constexpr int THREADS = BLOCK, VECTOR_SIZE = SIZE, VECTORS_PER_THREAD = NUMBER;
};
// Besides, of a kernel that keeps several tiles in shared memory: those that wait for their prefix,
// and those in flight.
template <int BLOCK, int SIZE, int NUMBER, int WAITING, int IN_FLIGHT> struct PipelinePolicy
    : Policy<BLOCK, SIZE, NUMBER> {
    static constexpr int AHEAD = WAITING, LOADING = IN_FLIGHT;
};
// Besides, of a kernel whose block takes a strip of columns: the packs of a row of the strip.
template <int BLOCK, int SIZE, int NUMBER, int PACKS> struct StripPolicy
    : Policy<BLOCK, SIZE, NUMBER> {
    static constexpr int LANES = PACKS;
};

// The absence of an expression.
struct Nothing {
    typedef Tuple<> Leaves;
    static constexpr int SCALARS = 0, EXTRA = 0;
};

// The parameters, and the indices of the first leaves, scalars and extra words of E, F and M.
template <class E, class F, class M> struct At {
    typedef TileParams<E, F, M> Params;
    static constexpr int E_LEAVES = 0, F_LEAVES = E::Leaves::SIZE,
                         M_LEAVES = F_LEAVES + F::Leaves::SIZE,
                         LEAF_COUNT = M_LEAVES + M::Leaves::SIZE;
    static constexpr int E_SCALARS = 0, F_SCALARS = E::SCALARS, M_SCALARS = F_SCALARS + F::SCALARS;
    static constexpr int E_EXTRA = 0, F_EXTRA = E::EXTRA, M_EXTRA = F_EXTRA + F::EXTRA;
    // The leaf that is read for leaf `k`.
    static constexpr int leaf(int k) { return k; }
};

template <bool FIRST, class X, class Y> struct choose {
    typedef X type;
};
template <class X, class Y> struct choose<false, X, Y> {
    typedef Y type;
};

// Leaf K among the leaves of E and then of F.
template <int K, class E, class F> struct LeafOf {
    static constexpr bool OF_E = K < E::Leaves::SIZE;
    typedef typename choose<OF_E, E, F>::type X;
    typedef typename plain<decltype(get<OF_E ? K : K - E::Leaves::SIZE>(
        *static_cast<typename X::Leaves *>(nullptr)))>::type type;
    static constexpr int BYTES =
        same<type, Index>::value ? 0 : int(sizeof(typename Stored<type>::type));
};

// Number of tiles that are added up together: one for each lane of a warp.
constexpr uint32_t GROUP = 32;

// The head of the scratch memory: the next tile that a block claims, and the number of blocks that
// poll no more slots; the next part that is claimed, and the number of parts that are counted
// (select_pipelined.cuh).
struct GridCounters {
    uint32_t next_tile, blocks_done, next_part, parts_counted;
};

// The sum of all tiles up to some group, for a warp that goes on from group to group. Lane 0 has
// it. S is the state of all, H that of a tile or a group, which may be narrower; R::combine joins
// two of either.
template <class R, class S, class H = S> struct TilePrefix {
    Slot<H> *of_tiles;
    S sum;
    uint32_t groups;

    __device__ __forceinline__ explicit TilePrefix(uint64_t scratch)
        : of_tiles(reinterpret_cast<Slot<H> *>(scratch + sizeof(GridCounters))), groups(0) {}

    __device__ __forceinline__ void add(const H &group) {
        sum = groups > 0 ? R::combine(sum, S(group)) : S(group);
        groups++;
    }
    // The sum of the first `count` lanes' states, in lane 0.
    static __device__ __forceinline__ H of_lanes(H state, uint32_t count) {
        const uint32_t lane = threadIdx.x % 32;
#pragma unroll
        for (uint32_t delta = 1; delta < 32; delta *= 2) {
            const H later = shuffled_down(state, int(delta), 32);
            if (lane % (2 * delta) == 0 && lane + delta < count) state = R::combine(state, later);
        }
        return state;
    }
    // The sum of the tiles of a group that come before `tile`; there is at least one.
    __device__ __forceinline__ H of_group(uint32_t group, uint32_t tile) {
        const uint32_t lane = threadIdx.x % 32,
                       count = tile - group * GROUP < GROUP ? tile - group * GROUP : GROUP;
        H state;
        if (lane < count) state = of_tiles[group * GROUP + lane].wait();
        __syncwarp();
        return of_lanes(state, count);
    }
    // Goes on to `group`, several groups at a time.
    __device__ __forceinline__ void advance(uint32_t group) {
        constexpr uint32_t AT_ONCE = Slot<H>::WORDS > 1 ? 1 : 2;
        const uint32_t lane = threadIdx.x % 32;
        while (groups < group) {
            H states[AT_ONCE];
            bool here[AT_ONCE];
#pragma unroll
            for (uint32_t k = 0; k < AT_ONCE; k++)
                here[k] =
                    groups + k >= group || of_tiles[(groups + k) * GROUP + lane].look(states[k]);
            const uint32_t end = group - groups < AT_ONCE ? group - groups : AT_ONCE;
#pragma unroll
            for (uint32_t k = 0; k < AT_ONCE; k++) {
                if (k >= end) continue;
                if (!here[k]) states[k] = of_tiles[groups * GROUP + lane].wait();
                __syncwarp();
                add(of_lanes(states[k], GROUP));
            }
        }
    }
    // The sum of all tiles before `tile`, which is not the first; valid in all lanes.
    __device__ __forceinline__ S before(uint32_t tile) {
        const uint32_t group = tile / GROUP, count = tile % GROUP, lane = threadIdx.x % 32;
        advance(group);
        S all = sum;
        if (count > 0) {
            H state;
            if (lane < count) state = of_tiles[group * GROUP + lane].wait();
            __syncwarp();
            state = of_lanes(state, count);
            all = group > 0 ? R::combine(sum, S(state)) : S(state);
        }
        return shuffled(all, 0);
    }
    // Clears the slots for the next launch. The last block that has polled calls it.
    __device__ __forceinline__ void clear(uint32_t tiles, uint32_t threads) {
        for (uint32_t k = threadIdx.x; k < tiles; k += threads) of_tiles[k].clear();
    }
};

static_assert(sizeof(GridCounters) == GRID_COUNTERS_BYTES, "as the host has it");

// Claims a tile for the block, unless `has_ticket`: then `ticket` in shared memory has it already.
// Thread CLAIMER draws the ticket. All threads of the block call it and get the tile; it
// synchronises them.
template <int CLAIMER> __device__ __forceinline__ uint32_t claim_tile(GridCounters *counters,
                                                                      uint32_t *ticket,
                                                                      bool has_ticket) {
    if (!has_ticket && threadIdx.x == CLAIMER) ticket[0] = atomicAdd(&counters->next_tile, 1u);
    __syncthreads();
    return ticket[0];
}

// Clears the slots and counters for the next launch, if this block is the last one that polls them;
// with CLAIMS the counter of tiles too. If the block has arrived, thread 0 passes the number of
// blocks before it as `place`. All THREADS of the block call it; it synchronises them.
template <int THREADS, bool CLAIMS, class R, class S, class H> __device__ __forceinline__ void
reset_by_last_block(GridCounters *counters, TilePrefix<R, S, H> &prefix, uint32_t tiles,
                    bool has_arrived, uint32_t place, bool *is_last) {
    if (threadIdx.x == 0) {
        if (!has_arrived) place = arrive(&counters->blocks_done);
        is_last[0] = place == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last[0]) return;
    prefix.clear(tiles, THREADS);
    if (threadIdx.x == 0) {
        counters->blocks_done = 0;
        if constexpr (CLAIMS) counters->next_tile = 0;
    }
}

// Offsets of all operands at value i.
template <class A> __device__ __forceinline__ Offsets<A::LEAF_COUNT + 1>
offsets_at(const typename A::Params &params, int64_t i) {
    Offsets<A::LEAF_COUNT + 1> offsets;
#pragma unroll
    for (int k = 0; k <= A::LEAF_COUNT; k++) offsets.of[k] = 0;
    const bool wide = params.is_wide;
    const uint64_t line = quotient(uint64_t(i), params.length, params.length_divisor, wide);
    add_place(offsets, params.scanned.at, 0, int(params.scanned_rank),
              uint64_t(i) - line * params.length, wide);
    add_place(offsets, params.lines.at, 0, int(params.line_rank), line, wide);
    return offsets;
}

// The leaves of X at value i; the first of them has number FIRST.
template <class X, class A, int FIRST, bool ALONG> __device__ __forceinline__
typename Wide<1, typename X::Leaves>::type
read_at(const typename A::Params &params, int64_t i) {
    typename Wide<1, typename X::Leaves>::type in;
    Offsets<A::LEAF_COUNT + 1> offsets;
    if constexpr (!ALONG) offsets = offsets_at<A>(params, i);
    each(in, [&](auto k, auto &values) {
        constexpr int K = A::leaf(FIRST + decltype(k)::value);
        const int64_t step = params.scanned[0].strides[1 + K];
        load(values, params.leaves[K].address, STRIDED, ALONG ? i * step : offsets.of[1 + K], step);
    });
    return in;
}

// The leaves of X at a pack that begins with value i, all of it in memory. BACK reads it from the
// last value to the first.
template <class X, class A, int FIRST, int VECTOR_SIZE, bool BACK> __device__ __forceinline__
typename Wide<VECTOR_SIZE, typename X::Leaves>::type
read_whole(const typename A::Params &params, int64_t i) {
    typename Wide<VECTOR_SIZE, typename X::Leaves>::type in;
    each(in, [&](auto k, auto &values) {
        constexpr int K = A::leaf(FIRST + decltype(k)::value);
        typedef typename plain<decltype(values.lane[0])>::type T;
        const int64_t step = params.scanned[0].strides[1 + K];
        if constexpr (same<T, Index>::value) {
            load_whole(values, params.leaves[K].address, i * step, step);
        } else if constexpr (BACK) {
            typename plain<decltype(values)>::type turned;
            load_whole(turned, params.leaves[K].address, -(i + VECTOR_SIZE - 1), 1);
#pragma unroll
            for (int lane = 0; lane < VECTOR_SIZE; lane++)
                values.lane[lane] = turned.lane[VECTOR_SIZE - 1 - lane];
        } else {
            load_whole(values, params.leaves[K].address, i, 1);
        }
    });
    return in;
}

// The leaves of X at a pack that may be cut at either end, read value by value.
template <class X, class A, int FIRST, int VECTOR_SIZE, bool ALONG> __device__ __forceinline__
typename Wide<VECTOR_SIZE, typename X::Leaves>::type
read_cut(const typename A::Params &params, int64_t i) {
    typename Wide<VECTOR_SIZE, typename X::Leaves>::type in;
    // Bytes that are not read are 0: a flag of other bits would set those of its neighbours.
    each(in, [](auto, auto &values) {
        typedef typename plain<decltype(values.lane[0])>::type T;
        if constexpr (sizeof(T) == 1) {
#pragma unroll
            for (int lane = 0; lane < VECTOR_SIZE; lane++) values.lane[lane] = T();
        }
    });
    const int64_t count = int64_t(params.count);
#pragma unroll
    for (int lane = 0; lane < VECTOR_SIZE; lane++) {
        if (i + lane < 0 || i + lane >= count) continue;
        auto one = read_at<X, A, FIRST, ALONG>(params, i + lane);
        each(in, [&](auto k, auto &values) {
            values.lane[lane] = get<decltype(k)::value>(one).lane[0];
        });
    }
    return in;
}

template <class X, class A, int FIRST, int VECTOR_SIZE, int MODE> __device__ __forceinline__
typename Wide<VECTOR_SIZE, typename X::Leaves>::type
read(const typename A::Params &params, int64_t i, bool whole) {
    constexpr bool ALONG = (MODE & CONTIGUOUS) != 0;
    if constexpr (ALONG) {
        if (whole && params.are_leaves_packed)
            return read_whole<X, A, FIRST, VECTOR_SIZE, (MODE & BACKWARD) != 0>(params, i);
    }
    return read_cut<X, A, FIRST, VECTOR_SIZE, ALONG>(params, i);
}

template <class T> struct FirstOf {
    typedef typename plain<decltype(get<0>(*static_cast<T *>(nullptr)))>::type type;
};

// A thread's inputs of a tile. Nothing is computed from them here, so that all loads are in flight
// before the first use.
template <class E, class F, class A, int MODE, int VECTOR_SIZE, int VECTORS_PER_THREAD>
struct Tile {
    typename Wide<VECTOR_SIZE, typename E::Leaves>::type values[VECTORS_PER_THREAD];
    typename Wide<VECTOR_SIZE, typename F::Leaves>::type heads[VECTORS_PER_THREAD];
    // The key before the warp's first pack.
    typename Wide<1, typename F::Leaves>::type key_before;

    __device__ __forceinline__ void read_pack(const typename A::Params &params, int64_t start,
                                              int u) {
        const int64_t i = start + u * 32 * VECTOR_SIZE, count = int64_t(params.count);
        const bool whole = i >= 0 && i + VECTOR_SIZE <= count;
        values[u] = read<E, A, A::E_LEAVES, VECTOR_SIZE, MODE>(params, i, whole);
        read_heads(params, start, u);
    }
    // Reads a pack as read_pack does, if the caller knows that all packs are whole in memory:
    // without a branch for each.
    template <bool WITH_VALUES> __device__ __forceinline__ void
    read_whole_pack(const typename A::Params &params, int64_t start, int u) {
        const int64_t i = start + u * 32 * VECTOR_SIZE;
        if constexpr (WITH_VALUES)
            values[u] =
                read_whole<E, A, A::E_LEAVES, VECTOR_SIZE, (MODE & BACKWARD) != 0>(params, i);
        heads[u] = read_whole<F, A, A::F_LEAVES, VECTOR_SIZE, (MODE & BACKWARD) != 0>(params, i);
        if constexpr ((MODE & KEYS) != 0) {
            if (u == 0 && threadIdx.x % 32 == 0 && i > 0)
                key_before = read_at<F, A, A::F_LEAVES, true>(params, i - 1);
        }
    }
    // Reads the leaves of F alone.
    __device__ __forceinline__ void read_heads(const typename A::Params &params, int64_t start,
                                               int u) {
        const int64_t i = start + u * 32 * VECTOR_SIZE, count = int64_t(params.count);
        const bool whole = i >= 0 && i + VECTOR_SIZE <= count;
        if constexpr ((MODE & (FLAGS | KEYS)) != 0)
            heads[u] = read<F, A, A::F_LEAVES, VECTOR_SIZE, MODE>(params, i, whole);
        if constexpr ((MODE & KEYS) != 0) {
            if (u == 0 && threadIdx.x % 32 == 0 && i > 0 && i <= count) {
                key_before = read_at<F, A, A::F_LEAVES, (MODE & CONTIGUOUS) != 0>(params, i - 1);
            }
        }
    }

    // Sets a bit for each value that begins a segment, in a word for each pack.
    __device__ __forceinline__ void begins(const typename A::Params &params, int64_t start,
                                           uint32_t (&bits)[VECTORS_PER_THREAD]) const {
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) bits[u] = 0;
        if constexpr ((MODE & FLAGS) != 0) {
#pragma unroll
            for (int u = 0; u < VECTORS_PER_THREAD; u++) {
                const auto flags = values_of<F, VECTOR_SIZE>(
                    params.scalars.at + A::F_SCALARS, params.extra.at + A::F_EXTRA, heads[u]);
#pragma unroll
                for (int k = 0; k < VECTOR_SIZE; k++) bits[u] |= uint32_t(bool(flags.lane[k])) << k;
            }
        } else if constexpr ((MODE & KEYS) != 0) {
            auto earlier = values_of<F, 1>(params.scalars.at + A::F_SCALARS,
                                           params.extra.at + A::F_EXTRA, key_before)
                               .lane[0];
#pragma unroll
            for (int u = 0; u < VECTORS_PER_THREAD; u++) {
                const auto keys = values_of<F, VECTOR_SIZE>(params.scalars.at + A::F_SCALARS,
                                                            params.extra.at + A::F_EXTRA, heads[u]);
                const auto neighbour = shuffled_up(keys.lane[VECTOR_SIZE - 1], 1);
                if (threadIdx.x % 32 != 0) earlier = neighbour;
                bits[u] = start + u * 32 * VECTOR_SIZE > 0 && keys.lane[0] != earlier;
#pragma unroll
                for (int k = 1; k < VECTOR_SIZE; k++)
                    bits[u] |= uint32_t(keys.lane[k] != keys.lane[k - 1]) << k;
                earlier = shuffled(keys.lane[VECTOR_SIZE - 1], 31);
            }
        }
        if constexpr ((MODE & LINES) != 0) {
            const int64_t length = int64_t(params.length);
#pragma unroll
            for (int u = 0; u < VECTORS_PER_THREAD; u++) {
                const int64_t i = start + u * 32 * VECTOR_SIZE, last = i + VECTOR_SIZE - 1;
                // The first line that begins at or behind i.
                const int64_t line =
                    i <= 0 ? 0
                           : int64_t(quotient(uint64_t(i + length - 1), uint64_t(length),
                                              params.length_divisor, params.is_wide));
                for (int64_t head = line * length; head <= last; head += length)
                    bits[u] |= 1u << uint32_t(head - i);
            }
        }
    }
};

} // namespace tiles
} // namespace gpu
