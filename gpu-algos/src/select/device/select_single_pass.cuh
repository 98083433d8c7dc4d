// Select in one launch: the selected values, side by side and in their order.
//
// Values are counted in C order. With FLAGS value i is selected if the expression F of arrays is
// not 0 there. With KEYS it is selected if F differs from its value at i - 1; the first value of
// all is selected. Each value is read once. Tiles and their aggregates are those of a scan
// (tiles.cuh). The aggregate of a tile is the number of values that it keeps, so that each block
// learns how many values are selected before its tile. Meanwhile the selected values of the tile
// are put side by side in shared memory, and they leave it in whole lines. With REJECTED all
// selected values are counted first, so that the places of the rejected ones are known: F's arrays
// are read twice.
//
// Contract of `select_single_pass`: that of scan_single_pass.cuh, for one line. The target has STEP
// elements from one value to the next and room for all selected values (with REJECTED: for all
// values), and overlaps no leaf. The number of all selected values is written to COUNTED.
// Parameters: TileParams (device/params.rs); the target is in C order.
#pragma once
#include "tiles.cuh"

namespace gpu {
namespace select {

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
__device__ __forceinline__ uint32_t handed_on(uint32_t selected, uint32_t last) {
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
// each lane. All lanes of a warp call it. There is at least one tile.
template <int MODE, int TILE, int AT_ONCE>
__device__ __forceinline__ Seen look_at_tiles(Slot<uint32_t> *of_tiles, uint32_t first,
                                              uint32_t end, int64_t peel) {
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

// Puts the number of the warp's selected values before each pack above its 16 bits. Returns the
// number of all.
template <int VECTORS_PER_THREAD>
__device__ __forceinline__ uint32_t rank(uint32_t (&selected)[VECTORS_PER_THREAD]) {
    const uint32_t lane = threadIdx.x % 32;
    uint32_t all = 0;
    // Two rows share a word, in its halves: a row has at most 32 packs of 16.
#pragma unroll
    for (int u = 0; u < VECTORS_PER_THREAD; u += 2) {
        const bool two = u + 1 < VECTORS_PER_THREAD;
        const uint32_t own = uint32_t(__popc(selected[u])) +
                             (two ? uint32_t(__popc(selected[two ? u + 1 : u])) << 16 : 0);
        uint32_t upto = own;
#pragma unroll
        for (int delta = 1; delta < 32; delta *= 2) {
            const uint32_t earlier = __shfl_up_sync(0xffffffffu, upto, delta);
            if (lane >= uint32_t(delta)) upto += earlier;
        }
        const uint32_t row = __shfl_sync(0xffffffffu, upto, 31), before = upto - own;
        selected[u] |= (all + before) << 16;
        all += row & 0xffff;
        if (two) {
            selected[two ? u + 1 : u] |= (all + (before >> 16)) << 16;
            all += row >> 16;
        }
    }
    return all;
}

// Writes values that are side by side in shared memory. All threads of a block call it.
template <int THREADS, class T>
__device__ __forceinline__ void put_dense(T *to, const T *from, uint32_t count, int64_t step) {
    to += int64_t(threadIdx.x) * step;
    // There are few turns, and the code of each is fetched.
#pragma unroll 2
    for (uint32_t k = threadIdx.x; k < count; k += THREADS, to += THREADS * step) *to = from[k];
}

// Blocks that should fit a multiprocessor.
template <int MODE, int THREADS> struct Resident {
    static constexpr int BLOCKS = ((MODE & (REJECTED | LENGTHS)) != 0 ? 768 : 1024) / THREADS;
};

template <class E, class F, int MODE, uint64_t SAME, class P>
__global__ void __launch_bounds__(P::THREADS, (Resident<MODE, P::THREADS>::BLOCKS))
    select_single_pass(const __grid_constant__ TileParams<E, F, Nothing> params) {
    constexpr int THREADS = P::THREADS, VECTOR_SIZE = P::VECTOR_SIZE,
                  VECTORS_PER_THREAD = P::VECTORS_PER_THREAD;
    typedef AtSame<E, F, SAME> A;
    typedef Moved<E, F, MODE> Moves;
    typedef typename Moves::Item Item;
    constexpr int WARPS = THREADS / 32, TILE = THREADS * VECTOR_SIZE * VECTORS_PER_THREAD;
    static_assert(VECTOR_SIZE <= 16 && TILE < 1 << 16,
                  "ranks, counts and places in a tile have 16 bits");
    constexpr int ROOM =
        (MODE & INDICES) != 0 && sizeof(Item) < 2 ? 2 * TILE : int(sizeof(Item)) * TILE;
    typedef TempStorage<uint8_t, ROOM> Stage;
    SHARED(Stage, stage, [1]);
    SHARED(uint32_t, of_warps, [WARPS]);
    SHARED(uint32_t, lasts_of_warps, [WARPS]);
    SHARED(Seen, seen_by_warps, [WARPS]);
    SHARED(uint32_t, ticket, [1]);
    SHARED(bool, is_last, [1]);
    Item *values = reinterpret_cast<Item *>(stage[0].bytes);
    uint16_t *places = reinterpret_cast<uint16_t *>(stage[0].bytes);
    const uint32_t tiles = params.tiles;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64_t count = int64_t(params.count), step = params.step;

    GridCounters *counters = reinterpret_cast<GridCounters *>(params.scratch);
    Slot<uint32_t> *of_tiles =
        reinterpret_cast<Slot<uint32_t> *>(params.scratch + sizeof(GridCounters));
    // The prefix of the block's last tile, which has the number `looked`; the number of all
    // selected values, once it is known.
    Seen before_tile = {0, -1};
    uint32_t looked = 0;
    int64_t all = -1;
    // Rejected values go behind all selected ones, so each tile is claimed twice, first to be
    // counted. A block that waits for all counts thus waits for tickets before its own.
    const bool is_twice = (MODE & REJECTED) != 0 && tiles > 1;
    // One tile for each block, as in a scan.
    const bool once = gridDim.x == tiles && !is_twice;
    uint32_t arrived = 0;

    if (once && tiles > 1 && threadIdx.x == 0)
        ticket[0] = gpu::claim_before_dependency(params.scratch, tiles - 1);
    gpu::grid_dependency_wait();
    do {
        uint32_t tile = 0;
        bool is_counted = tiles > 1, is_written = true;
        if (tiles > 1) {
            if (!once && threadIdx.x == 0) ticket[0] = atomicAdd(&counters->next_tile, 1u);
            __syncthreads();
            tile = ticket[0];
            if (is_twice) {
                is_counted = tile < tiles;
                is_written = !is_counted;
                if (is_written) tile -= tiles;
            }
            if (tile >= tiles) break;
        }
        // The first pack may begin before the first value.
        const int64_t origin = int64_t(tile) * TILE - int64_t(params.peel);
        const int64_t first = origin > 0 ? origin : 0,
                      end = origin + TILE < count ? origin + TILE : count;
        const int64_t start = origin + int64_t(warp * VECTORS_PER_THREAD * 32 + lane) * VECTOR_SIZE;
        Tile<E, F, A, MODE, VECTOR_SIZE, VECTORS_PER_THREAD> in;
        // A cut tile is read by code of its own, which blocks with whole tiles need not fetch.
        const bool is_whole = (MODE & CONTIGUOUS) != 0 && origin >= 0 && origin + TILE <= count &&
                              params.are_leaves_packed;
        if (is_whole && is_written) {
#pragma unroll
            for (int u = 0; u < VECTORS_PER_THREAD; u++) {
                if constexpr ((MODE & CONTIGUOUS) != 0)
                    in.template read_whole_pack<true>(params, start, u);
            }
        } else if (is_whole) {
#pragma unroll
            for (int u = 0; u < VECTORS_PER_THREAD; u++) {
                if constexpr ((MODE & CONTIGUOUS) != 0)
                    in.template read_whole_pack<false>(params, start, u);
            }
        } else if (is_written) {
#pragma unroll
            for (int u = 0; u < VECTORS_PER_THREAD; u++) in.read_pack(params, start, u);
        } else {
#pragma unroll
            for (int u = 0; u < VECTORS_PER_THREAD; u++) in.read_heads(params, start, u);
        }

        // Bits of the selected values, and the rank of each pack in its warp.
        uint32_t selected[VECTORS_PER_THREAD];
        in.begins(params, start, selected);
        if (!is_whole || origin <= 0) {
#pragma unroll
            for (int u = 0; u < VECTORS_PER_THREAD; u++) {
                const int64_t i = start + u * 32 * VECTOR_SIZE;
                if ((MODE & KEYS) != 0 && i <= 0 && i + VECTOR_SIZE > 0)
                    selected[u] |= 1u << uint32_t(-i);
                selected[u] &= existing<VECTOR_SIZE>(i, count);
            }
        }
        const uint32_t of_warp = rank(selected);
        if (lane == 0) of_warps[warp] = of_warp;
        if constexpr ((MODE & LENGTHS) != 0) {
            // The place after the last selected value.
            uint32_t last = 0;
#pragma unroll
            for (int u = 0; u < VECTORS_PER_THREAD; u++) {
                if ((selected[u] & 0xffff) != 0)
                    last = uint32_t(start - origin) + u * 32 * VECTOR_SIZE + 32 -
                           __clz(int(selected[u] & 0xffff));
            }
            last = __reduce_max_sync(0xffffffffu, last);
            if (lane == 0) lasts_of_warps[warp] = last;
        }
        __syncthreads();
        uint32_t base = 0, of_tile = 0;
#pragma unroll
        for (int k = 0; k < WARPS; k++) {
            if (k < warp) base += of_warps[k];
            of_tile += of_warps[k];
        }
        uint32_t last_of_tile = 0;
        if constexpr ((MODE & LENGTHS) != 0) {
#pragma unroll
            for (int k = 0; k < WARPS; k++)
                last_of_tile = lasts_of_warps[k] > 0 ? lasts_of_warps[k] - 1 : last_of_tile;
        }
        if (is_counted && threadIdx.x == 0)
            of_tiles[tile].put(handed_on<MODE>(of_tile, last_of_tile));
        if (!is_written) {
            __syncthreads();
            continue;
        }

        // Calls prepare(pack), then put(place in the tile's output, pack, lane) for each value to
        // write. Rejected values go behind the selected ones.
        const auto each_written = [&](const auto &prepare, const auto &put) {
#pragma unroll
            for (int u = 0; u < VECTORS_PER_THREAD; u++) {
                const int64_t i = start + u * 32 * VECTOR_SIZE;
                const uint32_t exist = existing<VECTOR_SIZE>(i, count);
                prepare(u);
#pragma unroll
                for (int k = 0; k < VECTOR_SIZE; k++) {
                    const uint32_t before = base + (selected[u] >> 16) +
                                            uint32_t(__popc(selected[u] & ((1u << k) - 1)));
                    if ((selected[u] >> k & 1) != 0) {
                        put(before, u, k);
                    } else if ((MODE & REJECTED) != 0 && (exist >> k & 1) != 0) {
                        put(of_tile + uint32_t(i + k - first) - before, u, k);
                    }
                }
            }
        };
        const auto put_places = [&] {
            each_written([](int) {},
                         [&](uint32_t at, int u, int k) {
                             places[at] = uint16_t(start + u * 32 * VECTOR_SIZE + k - origin);
                         });
        };
        if constexpr ((MODE & VALUES) != 0) {
            Pack<typename Moves::Value, VECTOR_SIZE> pack;
            each_written([&](int u) { pack = Moves::template of<VECTOR_SIZE>(params, in, u); },
                         [&](uint32_t at, int, int k) { values[at] = Item(pack.lane[k]); });
        } else {
            put_places();
        }

        // The number of values selected before the tile: all warps poll slots.
        constexpr int AT_ONCE = 2, OF_WARP = AT_ONCE * 32;
        Seen seen = {0, -1};
        for (uint32_t from = looked + warp * OF_WARP; from < tile; from += WARPS * OF_WARP) {
            seen.add(
                look_at_tiles<MODE, TILE, AT_ONCE>(of_tiles, from, tile, int64_t(params.peel)));
        }
        looked = tile;
        if (is_twice && all < 0) {
            // The sum of all tiles travels in the field `last`.
            Seen of_all = {0, -1};
            for (uint32_t from = warp * OF_WARP; from < tiles; from += WARPS * OF_WARP)
                of_all.add(look_at_tiles<MODE, TILE, AT_ONCE>(of_tiles, from, tiles, 0));
            seen.last = of_all.selected;
        }
        if (lane == 0) seen_by_warps[warp] = seen;
        gpu::trigger_dependents();
        __syncthreads();
        if (threadIdx.x == 0 && tiles > 1 && once) arrived = arrive(&counters->blocks_done);
#pragma unroll
        for (int k = 0; k < WARPS; k++) {
            before_tile.selected += seen_by_warps[k].selected;
            if ((MODE & REJECTED) != 0 && seen_by_warps[k].last >= 0)
                all = (all < 0 ? 0 : all) + seen_by_warps[k].last;
            if constexpr ((MODE & LENGTHS) != 0)
                before_tile.last = seen_by_warps[k].last > before_tile.last ? seen_by_warps[k].last
                                                                            : before_tile.last;
        }
        const int64_t offset = before_tile.selected;
        if (tiles == 1) all = of_tile;
        if (threadIdx.x == 0 && tile == tiles - 1)
            *reinterpret_cast<int64_t *>(params.selected) = offset + of_tile;

        if constexpr ((MODE & VALUES) != 0) {
            Item *target = reinterpret_cast<Item *>(params.target);
            put_dense<THREADS>(target + offset * step, values, of_tile, step);
            if constexpr ((MODE & REJECTED) != 0) {
                // The rejected values before the tile are the values before it less the selected
                // ones.
                put_dense<THREADS>(target + (all + first - offset) * step, values + of_tile,
                                   uint32_t(end - first) - of_tile, step);
            }
            if constexpr ((MODE & INDICES) != 0) {
                __syncthreads();
                put_places();
                __syncthreads();
            }
        }
        if constexpr ((MODE & INDICES) != 0) {
            constexpr bool BESIDE = (MODE & VALUES) != 0;
            int64_t *target = reinterpret_cast<int64_t *>(BESIDE ? params.places : params.target);
            for (uint32_t k = threadIdx.x; k < of_tile; k += THREADS)
                target[(offset + k) * (BESIDE ? 1 : step)] = origin + places[k];
            if constexpr ((MODE & LENGTHS) != 0) {
                // Each selected value ends the run of the one before it, and the last value of all
                // ends the last run.
                int64_t *lengths = reinterpret_cast<int64_t *>(params.lengths) + offset - 1;
                const bool is_end = tile == tiles - 1;
                for (uint32_t k = threadIdx.x; k < of_tile + is_end; k += THREADS) {
                    const int64_t end_of_run = k < of_tile ? origin + places[k] : count;
                    if (offset + k > 0)
                        lengths[k] = end_of_run - (k > 0 ? origin + places[k > 0 ? k - 1 : 0]
                                                         : before_tile.last);
                }
            }
        }
        // The next tile overwrites this one.
        __syncthreads();
    } while (!once);
    if (tiles == 1) return;

    // The last block that has polled slots zeroes them for the next launch.
    if (threadIdx.x == 0) {
        if (!once) arrived = arrive(&counters->blocks_done);
        is_last[0] = arrived == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last[0]) return;
    for (uint32_t k = threadIdx.x; k < tiles; k += THREADS) of_tiles[k].clear();
    if (threadIdx.x == 0) counters->next_tile = counters->blocks_done = 0;
}

} // namespace select
} // namespace gpu
