// A kernel for each piece of the block layer, as a user would write it. CI compiles them for every
// architecture; the tests run them on both devices.
#include "block/reduce.cuh"
#include "block/scan.cuh"
#include "block/staged_tiles.cuh"
#include "block/tile_prefix.cuh"
#include "block/vector_io.cuh"

using namespace gpu;

// The map x -> factor x + offset of 32-bit integers. Maps are applied in order, so that combining
// them is associative and does not commute.
struct Affine {
    uint32_t factor, offset;
};
struct Compose {
    typedef Affine State;
    static __device__ __forceinline__ Affine identity() { return {1, 0}; }
    static __device__ __forceinline__ Affine combine(const Affine &first, const Affine &then) {
        return {first.factor * then.factor, first.offset * then.factor + then.offset};
    }
};

// out[b] = all maps of block b, in order. Grid: any number of blocks of THREADS.
template <int THREADS> __global__ void __launch_bounds__(THREADS)
    reduce_blocks(const Affine *x, Affine *out) {
    typedef block::Reduce<Compose, THREADS> Reduce;
    SHARED(typename Reduce::Storage, storage, [1]);
    const uint64_t i = uint64_t(blockIdx.x) * THREADS + threadIdx.x;
    const Affine all = Reduce::all(x[i], storage[0]);
    // At once again, the other way round: the storage may be used behind a result.
    const Affine turned =
        Reduce::all(x[uint64_t(blockIdx.x) * THREADS + THREADS - 1 - threadIdx.x], storage[0]);
    if (threadIdx.x == 0) {
        out[2 * blockIdx.x] = all;
        out[2 * blockIdx.x + 1] = turned;
    }
}

// out[g] = all maps of group g of `1 << log` threads. Grid: blocks of 256 threads.
extern "C" __global__ void __launch_bounds__(256)
    reduce_groups_of_threads(const Affine *x, Affine *out, int log) {
    typedef TempStorage<Affine, 8> Storage;
    SHARED(Storage, storage, [1]);
    const uint64_t i = uint64_t(blockIdx.x) * 256 + threadIdx.x;
    const Affine all = block::reduce_groups<Compose>(x[i], log, storage[0].states());
    if ((i & ((1u << log) - 1)) == 0) out[i >> log] = all;
}

// out[i] = the maps of the block up to i, or with EXCLUSIVE those before i; totals[b] = all maps of
// block b. Grid: any number of blocks of THREADS, which have VALUES maps to a thread.
template <int THREADS, int VALUES, bool EXCLUSIVE> __global__ void __launch_bounds__(THREADS)
    scan_blocks(const Affine *x, Affine *out, Affine *totals) {
    typedef block::Scan<Compose, THREADS, VALUES> Scan;
    SHARED(typename Scan::Storage, storage, [1]);
    const uint64_t first = (uint64_t(blockIdx.x) * THREADS + threadIdx.x) * VALUES;
    Affine values[VALUES], all;
    for (int k = 0; k < VALUES; k++) values[k] = x[first + k];
    if (EXCLUSIVE) {
        Scan::exclusive(values, storage[0], all);
    } else {
        Scan::inclusive(values, storage[0], all);
    }
    for (int k = 0; k < VALUES; k++) out[first + k] = values[k];
    // The last thread writes it, since every thread has it.
    if (threadIdx.x == THREADS - 1) totals[blockIdx.x] = all;
}

// out[i] = the maps up to i. Grid: one block of 128 threads, which goes from tile to tile.
extern "C" __global__ void __launch_bounds__(128)
    scan_tiles(const Affine *x, Affine *out, int64_t count) {
    typedef block::Scan<Compose, 128, 4> Scan;
    // Of either parity, so that a tile needs one barrier.
    SHARED(Scan::Storage, storage, [2]);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    Affine carry;
    for (int64_t tile = 0; tile * 512 < count; tile++) {
        const int64_t first = tile * 512 + int64_t(threadIdx.x) * 4;
        Affine values[4], *of_warps = storage[tile % 2].states();
        for (int k = 0; k < 4; k++)
            values[k] = first + k < count ? x[first + k] : Compose::identity();
        const Affine earlier = Scan::scan_warp(values, lane, warp, of_warps);
        __syncthreads();
        const Affine prefix = block::prefix_of_thread<Compose, Scan::WARPS>(
            of_warps, tile > 0, carry, lane > 0, earlier);
        if (tile > 0 || threadIdx.x > 0) block::add_prefix<Compose>(values, prefix);
        for (int k = 0; k < 4; k++)
            if (first + k < count) out[first + k] = values[k];
    }
}

// out[i] = the maps up to i of its segment; bit k of heads[t] tells that map 5 t + k begins one.
// Grid: one warp.
extern "C" __global__ void __launch_bounds__(32)
    scan_segments(const Affine *x, const uint32_t *heads, Affine *out) {
    const int lane = threadIdx.x;
    Affine values[5];
    for (int k = 0; k < 5; k++) values[k] = x[lane * 5 + k];
    block::scan_values<Compose>(values, heads[lane]);
    const uint32_t with_head = __ballot_sync(0xffffffffu, heads[lane] != 0);
    const int since = 31 - __clz(int(with_head & (0xffffffffu >> (31 - lane))));
    const Affine sum = block::scan_lanes<Compose>(values[4], since), earlier = shuffled_up(sum, 1);
    if (lane > 0) block::add_prefix<Compose>(values, earlier, heads[lane]);
    for (int k = 0; k < 5; k++) out[lane * 5 + k] = values[k];
}

// out[i] = x[count - 1 - i], by copies to shared memory. Grid: one block of 64 threads for at most
// 512 maps.
extern "C" __global__ void __launch_bounds__(64)
    reverse_staged(const Affine *x, Affine *out, int64_t count) {
    typedef block::StagedTile<Affine, 2, 4> Tile;
    SHARED(uint4, storage, [256]);
    const Tile tile = {reinterpret_cast<Affine *>(storage)};
    const bool is_aligned = (reinterpret_cast<uint64_t>(x) / 8 + uint64_t(count)) % 2 == 0;
    for (int u = 0; u < 4; u++) {
        const int vector = u * 64 + int(threadIdx.x);
        tile.start_copy<true>(vector, x + count - 1, int64_t(vector) * 2, count, is_aligned);
    }
    end_batch_of_copies();
    wait_for_copies<0>();
    __syncthreads();
    for (int u = 0; u < 4; u++) {
        const int vector = int(threadIdx.x) * 4 + u;
        const auto values = tile.read(vector);
        for (int k = 0; k < 2; k++)
            if (vector * 2 + k < count) out[vector * 2 + k] = values.lane[1 - k];
    }
}

// out[i] = the maps up to i, over all blocks. Grid: any number of blocks of THREADS. `scratch` as
// block/tile_prefix.cuh says, for `tiles` tiles of THREADS * 4 maps.
template <int THREADS> __global__ void __launch_bounds__(THREADS)
    scan_all(const Affine *x, Affine *out, int64_t count, uint32_t tiles, uint64_t scratch) {
    typedef block::Scan<Compose, THREADS, 4> Scan;
    typedef block::TilePrefix<Compose> Prefix;
    SHARED(typename Scan::Storage, storage, [1]);
    SHARED(Affine, before, [1]);
    SHARED(uint32_t, claimed, [1]);
    SHARED(bool, is_last, [1]);
    block::GridCounters *counters = Prefix::counters(scratch);
    Prefix prefix(scratch);
    while (true) {
        const uint32_t tile = block::claim_tile(counters, claimed);
        if (tile >= tiles) break;
        const int64_t first = (int64_t(tile) * THREADS + threadIdx.x) * 4;
        Affine values[4], all;
        for (int k = 0; k < 4; k++)
            values[k] = first + k < count ? x[first + k] : Compose::identity();
        Scan::inclusive(values, storage[0], all);
        if (threadIdx.x == 0) prefix.publish(tile, all);
        if (threadIdx.x < 32 && tile > 0) {
            const Affine earlier = prefix.resolve(tile);
            if (threadIdx.x == 0) before[0] = earlier;
        }
        __syncthreads();
        for (int k = 0; k < 4; k++) {
            if (first + k < count)
                out[first + k] = tile > 0 ? Compose::combine(before[0], values[k]) : values[k];
        }
        // The next tile's prefix overwrites this one's.
        __syncthreads();
    }
    block::reset_by_last_block<THREADS>(counters, prefix, tiles, is_last);
}

// out[i] = x[i] + 1, for arrays that begin anywhere. Grid: a block of THREADS for each tile of
// VectorTile, the first of which begins before the arrays.
template <class T, int THREADS, int VECTOR_SIZE> __global__ void __launch_bounds__(THREADS)
    increment(const T *x, T *out, int64_t count) {
    typedef block::VectorTile<T, THREADS, VECTOR_SIZE, 2> Tile;
    const int64_t start = int64_t(blockIdx.x) * Tile::SIZE - Tile::unaligned_before(x);
    Tile tile;
    tile.load(x, start, count, T(0));
    for (int u = 0; u < 2; u++)
        for (int k = 0; k < VECTOR_SIZE; k++) tile.vectors[u].lane[k] += T(1);
    tile.store(out, start, count);
}

// out[i] = the maps of the tile up to i, for tiles that come through shared memory. Grid: any
// number of blocks of 128 threads, which stride over the tiles. Shared memory: StagedTiles::BYTES.
extern "C" __global__ void __launch_bounds__(128)
    scan_staged(const Affine *x, Affine *out, int64_t count) {
    typedef block::StagedTiles<Affine, 128, 2, 4, 3> Tiles;
    typedef block::Scan<Compose, 128, 8> Scan;
    SHARED_DYNAMIC(uint4, dynamic);
    SHARED(Scan::Storage, storage, [1]);
    const Tiles tiles = {reinterpret_cast<Affine *>(dynamic)};
    const int64_t all = (count + Tiles::SIZE - 1) / Tiles::SIZE;
    const auto start_of = [&](int64_t number) {
        return (int64_t(blockIdx.x) + number * gridDim.x) * Tiles::SIZE;
    };
    tiles.start(x, start_of(0), count, 0);
    tiles.start(x, start_of(1), count, 1);
    for (int64_t number = 0; blockIdx.x + number * gridDim.x < all; number++) {
        const int stage = int(number % 3);
        Tiles::wait<1>();
        Affine values[8], total;
        for (int u = 0; u < 4; u++) {
            const auto vector = tiles.read(stage, u);
            for (int k = 0; k < 2; k++) values[u * 2 + k] = vector.lane[k];
        }
        // The stage that all threads have read before the barrier.
        tiles.start(x, start_of(number + 2), count, int((number + 2) % 3));
        Scan::inclusive(values, storage[0], total);
        const int64_t first = start_of(number) + int64_t(threadIdx.x) * 8;
        for (int k = 0; k < 8; k++)
            if (first + k < count) out[first + k] = values[k];
    }
    Tiles::wait<0>();
}
