// Tiles of values, and the aggregates that blocks publish of them: for scans (scan_single_pass.cuh)
// and selections (select_single_pass.cuh).
//
// A block has a tile in registers: each warp has neighbouring rows of packs to itself. Tiles are
// claimed, and their aggregates published and resolved, as block/tile_prefix.cuh describes.
#pragma once
#include "block/tile_prefix.cuh"
#include "tile_params.cuh"
#include "walk.cuh"

namespace gpu {
namespace tiles {

using namespace block;

// The numbers that the host's policy chooses for a kernel: the threads of its block, the elements
// of a pack, and the packs that a thread takes of a tile.
template <int BLOCK, int SIZE, int NUMBER> struct Policy {
    static constexpr int THREADS = BLOCK, VECTOR_SIZE = SIZE, VECTORS_PER_THREAD = NUMBER;
    // The values of a tile.
    static constexpr int TILE = THREADS * VECTOR_SIZE * VECTORS_PER_THREAD;
};
// Besides, of a kernel that keeps several tiles in shared memory: those that wait for their prefix,
// and those in flight with the one that is scanned.
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

// X if FIRST, else Y.
template <bool FIRST, class X, class Y> struct conditional {
    typedef X type;
};
template <class X, class Y> struct conditional<false, X, Y> {
    typedef Y type;
};

// Leaf K among the leaves of E and then of F.
template <int K, class E, class F> struct LeafOf {
    static constexpr bool OF_E = K < E::Leaves::SIZE;
    typedef typename conditional<OF_E, E, F>::type X;
    typedef typename plain<decltype(get<OF_E ? K : K - E::Leaves::SIZE>(
        *static_cast<typename X::Leaves *>(nullptr)))>::type type;
    static constexpr int BYTES =
        same<type, Index>::value ? 0 : int(sizeof(typename Stored<type>::type));
};

static_assert(sizeof(GridCounters) == GRID_COUNTERS_BYTES, "as the host has it");

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
