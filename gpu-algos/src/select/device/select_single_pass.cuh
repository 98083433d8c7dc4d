// Select in one launch: the selected values, contiguous and in their order.
//
// Values are counted in C order. With FLAGS value i is selected if the expression F of arrays is
// not 0 there. With KEYS it is selected if F differs from its value at i - 1; the first value of
// all is selected. Each value is read once. Tiles and their aggregates are those of a scan
// (tiles.cuh). The aggregate of a tile is the number of values that it keeps, so that each block
// learns how many values are selected before its tile. Meanwhile the selected values of the tile
// become contiguous in shared memory, and they leave it in whole lines. With REJECTED all
// selected values are counted first, so that the places of the rejected ones are known: F's arrays
// are read twice.
//
// Contract of `select_single_pass`: that of scan_single_pass.cuh, for one line. The target has STEP
// elements from one value to the next and room for all selected values (with REJECTED: for all
// values), and overlaps no leaf. The number of all selected values is written to COUNTED.
// Parameters: TileParams (device/params.rs); the target is in C order.
#pragma once
#include "block/scan.cuh"
#include "selected.cuh"

namespace gpu::algos::select {

// Sums of numbers of values.
struct AddCounts {
    typedef uint32_t State;
    static __device__ __forceinline__ State combine(State a, State b) { return a + b; }
};

// Puts the number of the warp's selected values before each pack above its 16 bits. Returns the
// number of all.
template <int VECTORS_PER_THREAD>
__device__ __forceinline__ uint32_t rank(uint32_t (&selected)[VECTORS_PER_THREAD]) {
    uint32_t all = 0;
    // Two rows share a word, in its halves: a row has at most 32 packs of 16.
#pragma unroll
    for (int u = 0; u < VECTORS_PER_THREAD; u += 2) {
        const bool two = u + 1 < VECTORS_PER_THREAD;
        const uint32_t own = uint32_t(__popc(selected[u])) +
                             (two ? uint32_t(__popc(selected[two ? u + 1 : u])) << 16 : 0);
        const uint32_t upto = scan_lanes<AddCounts>(own), row = shuffled(upto, 31),
                       before = upto - own;
        selected[u] |= (all + before) << 16;
        all += row & 0xffff;
        if (two) {
            selected[two ? u + 1 : u] |= (all + (before >> 16)) << 16;
            all += row >> 16;
        }
    }
    return all;
}

// Stores contiguous values of shared memory. All threads of a block call it.
template <int THREADS, class T>
__device__ __forceinline__ void put_dense(T *to, const T *from, uint32_t count, int64_t step) {
    to += int64_t(threadIdx.x) * step;
    // There are few iterations, and the code of each is fetched.
#pragma unroll 2
    for (uint32_t k = threadIdx.x; k < count; k += THREADS, to += THREADS * step) *to = from[k];
}

// Blocks that should fit a multiprocessor.
template <int MODE, int THREADS> struct Resident {
    static constexpr int BLOCKS = ((MODE & (REJECTED | LENGTHS)) != 0 ? 768 : 1024) / THREADS;
};

// A thread's part of a tile in registers: packs that are 32 packs apart. The bits and ranks of
// their selected values stand beside it, since arrays in it cost registers.
template <class E, class F, int MODE, uint64_t SAME, class P> struct SelectedTile {
    static constexpr int THREADS = P::THREADS, VECTOR_SIZE = P::VECTOR_SIZE,
                         VECTORS_PER_THREAD = P::VECTORS_PER_THREAD, WARPS = THREADS / 32,
                         TILE = THREADS * VECTOR_SIZE * VECTORS_PER_THREAD;
    static_assert(VECTOR_SIZE <= 16 && TILE < 1 << 16,
                  "ranks, counts and places in a tile have 16 bits");
    typedef AtSame<E, F, SAME> A;
    typedef TileParams<E, F, Nothing> Params;
    typedef Moved<E, F, MODE> Moves;
    typedef typename Moves::Item Item;
    // By pack: bits of its selected values, and above them the number of the warp's before it.
    typedef uint32_t Ranks[VECTORS_PER_THREAD];
    typedef Tile<E, F, A, MODE, VECTOR_SIZE, VECTORS_PER_THREAD> Inputs;
    // Bytes of the tile's output in shared memory: values, or their places in the tile.
    static constexpr int ROOM =
        (MODE & INDICES) != 0 && sizeof(Item) < 2 ? 2 * TILE : int(sizeof(Item)) * TILE;

    const Params &params;
    const int64_t count, step;
    // Number of the tile's first value, which may be before the first value of all; those of its
    // first value that exists, and behind its last one; that of the thread's first value.
    const int64_t origin, first, end, start;
    // Whether all values exist and all leaves are packed: then no pack needs a branch.
    const bool is_whole;
    // Selected values of the warps before, and of the tile.
    uint32_t base, of_tile;

    // The first pack may begin before the first value. The kernel reads `count` and `step` once.
    __device__ __forceinline__ SelectedTile(const Params &params, uint32_t tile, int64_t count,
                                            int64_t step)
        : params(params), count(count), step(step),
          origin(int64_t(tile) * TILE - int64_t(params.peel)), first(origin > 0 ? origin : 0),
          end(origin + TILE < count ? origin + TILE : count),
          start(origin +
                int64_t(int(threadIdx.x / 32) * VECTORS_PER_THREAD * 32 + int(threadIdx.x % 32)) *
                    VECTOR_SIZE),
          is_whole((MODE & CONTIGUOUS) != 0 && origin >= 0 && origin + TILE <= count &&
                   params.are_leaves_packed) {}

    // Loads the thread's packs; without `is_written` those of F alone. Any thread calls it; it does
    // not synchronise. A cut tile is read by code of its own, which blocks with whole tiles need
    // not fetch.
    __device__ __forceinline__ void load(Inputs &in, bool is_written) const {
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
    }

    // Finds the selected values and ranks them in the warp. Puts their number into shared memory,
    // with LENGTHS the place after the last one too. All lanes of a warp call it; the caller
    // synchronises the block.
    __device__ __forceinline__ void rank_warp(const Inputs &in, Ranks &selected, uint32_t *of_warps,
                                              uint32_t *lasts_of_warps) const {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
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
            const uint32_t last = last_of_warp(selected);
            if (lane == 0) lasts_of_warps[warp] = last;
        }
    }

    // The place in the tile after the warp's last selected value, or 0. All lanes of a warp call
    // it.
    __device__ __forceinline__ uint32_t last_of_warp(const Ranks &selected) const {
        uint32_t last = 0;
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            if ((selected[u] & 0xffff) != 0)
                last = uint32_t(start - origin) + u * 32 * VECTOR_SIZE + 32 -
                       __clz(int(selected[u] & 0xffff));
        }
        return __reduce_max_sync(0xffffffffu, last);
    }

    // Adds up the numbers of the warps, and returns the tile's aggregate. Any thread calls it,
    // behind the barrier that follows their writes; it does not synchronise.
    __device__ __forceinline__ uint32_t scan_block(const uint32_t *of_warps,
                                                   const uint32_t *lasts_of_warps) {
        const int warp = threadIdx.x / 32;
        base = of_tile = 0;
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
        return aggregate_of<MODE>(of_tile, last_of_tile);
    }

    // Calls prepare(pack), then put(place in the tile's output, pack, lane) for each value to
    // write. Rejected values go behind the selected ones. Any thread calls it; it does not
    // synchronise.
    template <class Prepare, class Put> __device__ __forceinline__ void
    each_written(const Ranks &selected, const Prepare &prepare, const Put &put) const {
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            const int64_t i = start + u * 32 * VECTOR_SIZE;
            const uint32_t exist = existing<VECTOR_SIZE>(i, count);
            prepare(u);
#pragma unroll
            for (int k = 0; k < VECTOR_SIZE; k++) {
                const uint32_t before =
                    base + (selected[u] >> 16) + uint32_t(__popc(selected[u] & ((1u << k) - 1)));
                if ((selected[u] >> k & 1) != 0) {
                    put(before, u, k);
                } else if ((MODE & REJECTED) != 0 && (exist >> k & 1) != 0) {
                    put(of_tile + uint32_t(i + k - first) - before, u, k);
                }
            }
        }
    }
    // Puts the places in the tile of its output into shared memory. Any thread calls it; it does
    // not synchronise.
    __device__ __forceinline__ void put_places(const Ranks &selected, uint16_t *places) const {
        each_written(
            selected, [](int) {},
            [&](uint32_t at, int u, int k) {
                places[at] = uint16_t(start + u * 32 * VECTOR_SIZE + k - origin);
            });
    }
    // Puts the tile's output into shared memory: the moved values, or without VALUES their places,
    // with the same callers.
    __device__ __forceinline__ void put(const Inputs &in, const Ranks &selected, Item *values,
                                        uint16_t *places) const {
        if constexpr ((MODE & VALUES) != 0) {
            Pack<typename Moves::Value, VECTOR_SIZE> pack;
            each_written(
                selected, [&](int u) { pack = Moves::template of<VECTOR_SIZE>(params, in, u); },
                [&](uint32_t at, int, int k) { values[at] = Item(pack.lane[k]); });
        } else {
            put_places(selected, places);
        }
    }

    // Stores the tile's values; `offset` values are selected before it, and `all` of all tiles. All
    // threads of the block call it, behind a barrier that follows `put`; it does not
    // synchronise.
    __device__ __forceinline__ void store_values(const Item *values, int64_t offset,
                                                 int64_t all) const {
        Item *target = reinterpret_cast<Item *>(params.target);
        put_dense<THREADS>(target + offset * step, values, of_tile, step);
        if constexpr ((MODE & REJECTED) != 0) {
            // The rejected values before the tile are the values before it less the selected ones.
            put_dense<THREADS>(target + (all + first - offset) * step, values + of_tile,
                               uint32_t(end - first) - of_tile, step);
        }
    }
    // Stores the indices of the selected values, with the same callers behind `put_places`.
    __device__ __forceinline__ void store_indices(const uint16_t *places, int64_t offset) const {
        constexpr bool BESIDE = (MODE & VALUES) != 0;
        int64_t *target = reinterpret_cast<int64_t *>(BESIDE ? params.places : params.target);
        for (uint32_t k = threadIdx.x; k < of_tile; k += THREADS)
            target[(offset + k) * (BESIDE ? 1 : step)] = origin + places[k];
    }
    // Stores the lengths of the runs that end in the tile, with the same callers. Each selected
    // value ends the run of the one before it, and the last value of all ends the last run.
    __device__ __forceinline__ void store_lengths(const uint16_t *places, const Seen &before,
                                                  bool is_end) const {
        const int64_t offset = before.selected;
        int64_t *lengths = reinterpret_cast<int64_t *>(params.lengths) + offset - 1;
        for (uint32_t k = threadIdx.x; k < of_tile + is_end; k += THREADS) {
            const int64_t end_of_run = k < of_tile ? origin + places[k] : count;
            if (offset + k > 0)
                lengths[k] =
                    end_of_run - (k > 0 ? origin + places[k > 0 ? k - 1 : 0] : before.last);
        }
    }
};

// The prefix of a block's tiles, for a block that goes on from tile to tile and polls with all
// warps.
template <int MODE, int TILE, int WARPS> struct BlockPrefix {
    static constexpr int AT_ONCE = 2, OF_WARP = AT_ONCE * 32;
    // The prefix of the block's last tile, which has the number `polled`.
    Seen before_tile = {0, -1};
    uint32_t polled = 0;
    // The number of all selected values, or -1 until it is known.
    int64_t all = -1;

    // Adds up the slots of the tiles before `tile`, from the last tile on; with `is_all_needed`
    // those of all `tiles` too, as long as `all` is not known. Each warp takes slots of its own and
    // stores its sum in `seen_by_warps`. All warps of the block call it; it does not synchronise.
    __device__ __forceinline__ void poll(Slot<uint32_t> *of_tiles, uint32_t tile, uint32_t tiles,
                                         int64_t peel, bool is_all_needed, Seen *seen_by_warps) {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        Seen seen = {0, -1};
        for (uint32_t from = polled + warp * OF_WARP; from < tile; from += WARPS * OF_WARP)
            seen.add(poll_tiles<MODE, TILE, AT_ONCE>(of_tiles, from, tile, peel));
        polled = tile;
        if (is_all_needed && all < 0) {
            // The sum of all tiles travels in the field `last`.
            Seen of_all = {0, -1};
            for (uint32_t from = warp * OF_WARP; from < tiles; from += WARPS * OF_WARP)
                of_all.add(poll_tiles<MODE, TILE, AT_ONCE>(of_tiles, from, tiles, 0));
            seen.last = of_all.selected;
        }
        if (lane == 0) seen_by_warps[warp] = seen;
    }
    // Adds up the sums of the warps. Any thread calls it, behind the barrier that follows `poll`;
    // it does not synchronise.
    __device__ __forceinline__ void add(const Seen *seen_by_warps) {
#pragma unroll
        for (int k = 0; k < WARPS; k++) {
            before_tile.selected += seen_by_warps[k].selected;
            if ((MODE & REJECTED) != 0 && seen_by_warps[k].last >= 0)
                all = (all < 0 ? 0 : all) + seen_by_warps[k].last;
            if constexpr ((MODE & LENGTHS) != 0)
                before_tile.last = seen_by_warps[k].last > before_tile.last ? seen_by_warps[k].last
                                                                            : before_tile.last;
        }
    }
};

template <class E, class F, int MODE, uint64_t SAME, class P>
__global__ void __launch_bounds__(P::THREADS, (Resident<MODE, P::THREADS>::BLOCKS))
    select_single_pass(const __grid_constant__ TileParams<E, F, Nothing> params) {
    typedef SelectedTile<E, F, MODE, SAME, P> ThreadTile;
    typedef typename ThreadTile::Item Item;
    typedef TempStorage<uint8_t, ThreadTile::ROOM> Stage;
    constexpr int WARPS = ThreadTile::WARPS;
    SHARED(Stage, stage, [1]);
    SHARED(uint32_t, of_warps, [WARPS]);
    SHARED(uint32_t, lasts_of_warps, [WARPS]);
    SHARED(Seen, seen_by_warps, [WARPS]);
    SHARED(uint32_t, claimed, [1]);
    SHARED(bool, is_last, [1]);
    Item *values = reinterpret_cast<Item *>(stage[0].bytes);
    uint16_t *places = reinterpret_cast<uint16_t *>(stage[0].bytes);
    const uint32_t tiles = params.tiles;
    const int64_t count = int64_t(params.count), step = params.step;

    GridCounters *counters = reinterpret_cast<GridCounters *>(params.scratch);
    TilePrefix<Nothing, uint32_t> slots(params.scratch);
    BlockPrefix<MODE, ThreadTile::TILE, WARPS> prefix;
    // Rejected values go behind all selected ones, so each tile is claimed twice, first to be
    // counted. A block that waits for all counts thus waits for tiles that were claimed before its
    // own.
    const bool is_twice = (MODE & REJECTED) != 0 && tiles > 1;
    // One tile for each block, as in a scan.
    const bool once = gridDim.x == tiles && !is_twice;
    uint32_t arrived = 0;

    if (once && tiles > 1 && threadIdx.x == 0)
        claimed[0] = gpu::claim_before_dependency(params.scratch, tiles - 1);
    gpu::grid_dependency_wait();
    do {
        uint32_t tile = 0;
        bool is_counted = tiles > 1, is_written = true;
        if (tiles > 1) {
            tile = claim_tile(counters, claimed, once);
            if (is_twice) {
                is_counted = tile < tiles;
                is_written = !is_counted;
                if (is_written) tile -= tiles;
            }
            if (tile >= tiles) break;
        }
        ThreadTile thread_tile(params, tile, count, step);
        typename ThreadTile::Inputs in;
        thread_tile.load(in, is_written);
        typename ThreadTile::Ranks selected;
        thread_tile.rank_warp(in, selected, of_warps, lasts_of_warps);
        __syncthreads();
        const uint32_t aggregate = thread_tile.scan_block(of_warps, lasts_of_warps);
        if (is_counted && threadIdx.x == 0) slots.of_tiles[tile].publish(aggregate);
        if (!is_written) {
            __syncthreads();
            continue;
        }

        thread_tile.put(in, selected, values, places);
        prefix.poll(slots.of_tiles, tile, tiles, int64_t(params.peel), is_twice, seen_by_warps);
        gpu::trigger_dependents();
        __syncthreads();
        if (threadIdx.x == 0 && tiles > 1 && once) arrived = arrive(&counters->blocks_done);
        prefix.add(seen_by_warps);
        const int64_t offset = prefix.before_tile.selected;
        if (tiles == 1) prefix.all = thread_tile.of_tile;
        if (threadIdx.x == 0 && tile == tiles - 1)
            *reinterpret_cast<int64_t *>(params.selected) = offset + thread_tile.of_tile;

        if constexpr ((MODE & VALUES) != 0) thread_tile.store_values(values, offset, prefix.all);
        if constexpr ((MODE & VALUES_AND_INDICES) == VALUES_AND_INDICES) {
            __syncthreads();
            thread_tile.put_places(selected, places);
            __syncthreads();
        }
        if constexpr ((MODE & INDICES) != 0) thread_tile.store_indices(places, offset);
        if constexpr ((MODE & INDICES) != 0 && (MODE & LENGTHS) != 0)
            thread_tile.store_lengths(places, prefix.before_tile, tile == tiles - 1);
        // The next tile overwrites this one.
        __syncthreads();
    } while (!once);
    if (tiles == 1) return;
    reset_by_last_block<P::THREADS>(counters, slots, tiles, once, arrived, is_last);
}

} // namespace gpu::algos::select
