// Parts that the kernels of selections share: leaves that are read once, the expression of the
// moved values, and the aggregates of tiles.
#pragma once
#include "tiles.cuh"

namespace gpu::algos::select {

using namespace tiles;

// The output is a set of flags beside those of a scan.
constexpr int VALUES_AND_INDICES = VALUES | INDICES;

// The leaf of E that leaf `k` of F repeats, or -1. Digit k of SAME, in base 16 from the lowest one,
// is one more.
constexpr int same_leaf(uint64_t same, int k) {
    return k >= 0 && k < 16 ? int(same >> (4 * k) & 15) - 1 : -1;
}
// Parameters where such leaves are read once.
template <class E, class F, uint64_t SAME> struct AtSame : At<E, F, Nothing> {
    static constexpr int leaf(int k) {
        return same_leaf(SAME, k - E::Leaves::SIZE) >= 0 ? same_leaf(SAME, k - E::Leaves::SIZE) : k;
    }
};

// The aggregate of a tile: the number of selected values, and with LENGTHS in the upper half the
// place in the tile of the last one.
template <int MODE>
__device__ __forceinline__ uint32_t aggregate_of(uint32_t selected, uint32_t last) {
    return (MODE & LENGTHS) != 0 ? selected | last << 16 : selected;
}

// The number of selected values of some tiles, and with LENGTHS the place of the last one, or -1.
struct Seen {
    int64_t selected, last;
    __device__ __forceinline__ void add(const Seen &later) {
        selected += later.selected;
        if (later.last >= 0) last = later.last;
    }
};

// Adds up the aggregates of the tiles with the numbers `first` to before `end`, at most AT_ONCE for
// each lane. All lanes of a warp call it. There is at least one tile. Counts are added in any
// order, by one instruction for a warp, where TilePrefix::resolve combines states in order by
// shuffles.
template <int MODE, int TILE, int AT_ONCE>
__device__ __forceinline__ Seen poll_tiles(Slot<uint32_t> *of_tiles, uint32_t first, uint32_t end,
                                           int64_t peel) {
    uint32_t values[AT_ONCE], selected = 0, last = 0, place = 0;
    bool wanted[AT_ONCE];
    first += threadIdx.x % 32;
#pragma unroll
    for (int g = 0; g < AT_ONCE; g++) wanted[g] = first + g * 32 < end;
    wait_for_all(of_tiles + first, of_tiles, wanted, values);
    __syncwarp();
#pragma unroll
    for (int g = 0; g < AT_ONCE; g++) {
        if (!wanted[g]) continue;
        if constexpr ((MODE & LENGTHS) != 0) {
            selected += values[g] & 0xffff;
            if ((values[g] & 0xffff) != 0) {
                last = first + g * 32 + 1;
                place = values[g] >> 16;
            }
        } else {
            selected += values[g];
        }
    }
    Seen seen = {__reduce_add_sync(0xffffffffu, selected), -1};
    if constexpr ((MODE & LENGTHS) != 0) {
        const uint32_t tile = __reduce_max_sync(0xffffffffu, last);
        const uint32_t of_last = __shfl_sync(
            0xffffffffu, place, __ffs(int(__ballot_sync(0xffffffffu, last == tile))) - 1);
        if (tile > 0) seen.last = int64_t(tile - 1) * TILE - peel + of_last;
    }
    return seen;
}

// The expression of the moved values, and their type in memory.
template <class E, class F, int MODE, bool ANY = (MODE & VALUES) != 0,
          bool OWN = (MODE & KEYS) == 0>
struct Moved;
template <class E, class F, int MODE> struct Moved<E, F, MODE, true, true> {
    typedef typename FirstOf<typename E::Outputs>::type Value;
    typedef typename Stored<Value>::type Item;
    template <int VECTOR_SIZE, class T> static __device__ __forceinline__ Pack<Value, VECTOR_SIZE>
    of(const TileParams<E, F, Nothing> &params, const T &tile, int u) {
        typedef At<E, F, Nothing> A;
        return values_of<E, VECTOR_SIZE>(params.scalars.at + A::E_SCALARS,
                                         params.extra.at + A::E_EXTRA, tile.values[u]);
    }
};
template <class E, class F, int MODE> struct Moved<E, F, MODE, true, false> {
    typedef typename FirstOf<typename F::Outputs>::type Value;
    typedef typename Stored<Value>::type Item;
    template <int VECTOR_SIZE, class T> static __device__ __forceinline__ Pack<Value, VECTOR_SIZE>
    of(const TileParams<E, F, Nothing> &params, const T &tile, int u) {
        typedef At<E, F, Nothing> A;
        return values_of<F, VECTOR_SIZE>(params.scalars.at + A::F_SCALARS,
                                         params.extra.at + A::F_EXTRA, tile.heads[u]);
    }
};
template <class E, class F, int MODE, bool OWN> struct Moved<E, F, MODE, false, OWN> {
    typedef uint16_t Item;
};

// Bits of those values i to i + VECTOR_SIZE - 1 that exist.
template <int VECTOR_SIZE> __device__ __forceinline__ uint32_t existing(int64_t i, int64_t count) {
    if (i >= 0 && i + VECTOR_SIZE <= count) return (1u << VECTOR_SIZE) - 1;
    if (i + VECTOR_SIZE <= 0 || i >= count) return 0;
    const uint32_t before = i < 0 ? uint32_t(-i) : 0,
                   end = count - i < VECTOR_SIZE ? uint32_t(count - i) : VECTOR_SIZE;
    return ((1u << end) - 1) & ~((1u << before) - 1);
}

} // namespace gpu::algos::select
