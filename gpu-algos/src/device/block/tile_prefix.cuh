// Prefixes of tiles: a block learns the combined state of all tiles before its own, in one launch.
//
// #include "block/scan.cuh"
// #include "block/tile_prefix.cuh"
//
// The values of a launch are cut into tiles. Each block claims one tile after another
// (`claim_tile`), combines the values of a tile and publishes that aggregate
// (`TilePrefix::publish`), resolves its prefix, which combines the aggregates of all tiles before
// it (`TilePrefix::resolve`), and writes its results. At the end the last block clears the memory
// for the next launch (`reset_by_last_block`).
//
// Tiles are claimed in order, so all tiles before a block's tile belong to running blocks: a
// block may wait for them. It publishes an aggregate in a slot (block/tile_status.cuh). It combines
// the aggregates of all earlier tiles by itself, from its last tile to its present one. Blocks
// publish only aggregates of single tiles. So no block waits for a sum that another still adds up,
// unlike with the prefixes of decoupled look-back (Merrill and Garland, Single-pass Parallel Prefix
// Scan with Decoupled Look-back, 2016). The order in which aggregates are combined depends on their
// number alone, so each launch gives the same bits.
//
// Memory: `scratch` is the address that `Stream::with_cleared_scratch` gives, with
// `gpu_algos::block::tile_prefix_bytes(tiles, state_bytes)` bytes. A launch leaves it zero.
//
// Cost: an atomic addition for each tile, and for each block a poll of 8 bytes for every 32 bits of
// the state of every tile before its last one.
//
// Running sums of `count` values by any number of blocks of 256 threads (Sum as in
// block/reduce.cuh):
//
//   extern "C" __global__ void __launch_bounds__(256)
//       running(const float *x, float *out, int64_t count, uint32_t tiles, uint64_t scratch) {
//       typedef gpu::block::Scan<Sum, 256, 4> Scan;
//       typedef gpu::block::TilePrefix<Sum> Prefix;
//       SHARED(Scan::Storage, storage, [1]);
//       SHARED(float, before, [1]);
//       SHARED(uint32_t, claimed, [1]);
//       SHARED(bool, is_last, [1]);
//       gpu::block::GridCounters *counters = Prefix::counters(scratch);
//       Prefix prefix(scratch);
//       while (true) {
//           const uint32_t tile = gpu::block::claim_tile(counters, claimed);
//           if (tile >= tiles) break;
//           const int64_t first = (int64_t(tile) * 256 + threadIdx.x) * 4;
//           float values[4], all;
//           for (int k = 0; k < 4; k++) values[k] = first + k < count ? x[first + k] : 0.0f;
//           Scan::inclusive(values, storage[0], all);
//           if (threadIdx.x == 0) prefix.publish(tile, all);
//           if (threadIdx.x < 32 && tile > 0) {
//               const float sum = prefix.resolve(tile);
//               if (threadIdx.x == 0) before[0] = sum;
//           }
//           __syncthreads();
//           for (int k = 0; k < 4; k++)
//               if (first + k < count)
//                   out[first + k] = tile > 0 ? before[0] + values[k] : values[k];
//           __syncthreads();
//       }
//       gpu::block::reset_by_last_block<256>(counters, prefix, tiles, is_last);
//   }
#pragma once
#include "block/tile_status.cuh"

namespace gpu {
namespace block {

// Number of tiles of a batch, whose aggregates a warp adds up together: one for each lane.
constexpr uint32_t TILE_BATCH = 32;

// The head of the scratch memory: the next tile that a block claims, and the number of blocks that
// poll no more slots; the next part that is claimed, and the number of parts that are counted, for
// kernels that count all values first.
struct GridCounters {
    uint32_t next_tile, blocks_done, next_part, parts_counted;
};

// The state of all tiles up to some batch, for a warp that goes on from batch to batch. Lane 0 has
// it. S is the state of all, H that of a tile or a batch, which may be narrower; R::combine takes
// two of either. R is an operator as block/reduce.cuh describes it, without need of an identity.
template <class R, class S = typename R::State, class H = S> struct TilePrefix {
    Slot<H> *of_tiles;
    S sum;
    uint32_t batches;

    __device__ __forceinline__ explicit TilePrefix(uint64_t scratch)
        : of_tiles(reinterpret_cast<Slot<H> *>(scratch + sizeof(GridCounters))), batches(0) {}

    // The counters before the slots.
    static __device__ __forceinline__ GridCounters *counters(uint64_t scratch) {
        return reinterpret_cast<GridCounters *>(scratch);
    }
    // Publishes the aggregate of a tile, once in a launch. One thread calls it.
    __device__ __forceinline__ void publish(uint32_t tile, const H &aggregate) {
        of_tiles[tile].publish(aggregate);
    }
    __device__ __forceinline__ void add(const H &batch) {
        sum = batches > 0 ? R::combine(sum, S(batch)) : S(batch);
        batches++;
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
    // The sum of the tiles of a batch that come before `tile`; there is at least one.
    __device__ __forceinline__ H of_batch(uint32_t batch, uint32_t tile) {
        const uint32_t lane = threadIdx.x % 32, count = tile - batch * TILE_BATCH < TILE_BATCH
                                                            ? tile - batch * TILE_BATCH
                                                            : TILE_BATCH;
        H state;
        if (lane < count) state = of_tiles[batch * TILE_BATCH + lane].wait();
        __syncwarp();
        return of_lanes(state, count);
    }
    // Goes on to `batch`, several batches at a time.
    __device__ __forceinline__ void advance(uint32_t batch) {
        constexpr uint32_t AT_ONCE = Slot<H>::WORDS > 1 ? 1 : 2;
        const uint32_t lane = threadIdx.x % 32;
        while (batches < batch) {
            H states[AT_ONCE];
            bool here[AT_ONCE];
#pragma unroll
            for (uint32_t k = 0; k < AT_ONCE; k++)
                here[k] = batches + k >= batch ||
                          of_tiles[(batches + k) * TILE_BATCH + lane].poll(states[k]);
            const uint32_t end = batch - batches < AT_ONCE ? batch - batches : AT_ONCE;
#pragma unroll
            for (uint32_t k = 0; k < AT_ONCE; k++) {
                if (k >= end) continue;
                if (!here[k]) states[k] = of_tiles[batches * TILE_BATCH + lane].wait();
                __syncwarp();
                add(of_lanes(states[k], TILE_BATCH));
            }
        }
    }
    // The state of all tiles before `tile`, which is not the first; valid in all lanes. Waits for
    // their aggregates. All lanes of one warp of the block call it, the same warp each time, for
    // tiles in increasing order. It calls R::combine on states of any bits, and uses no result of
    // such.
    __device__ __forceinline__ S resolve(uint32_t tile) {
        const uint32_t batch = tile / TILE_BATCH, count = tile % TILE_BATCH,
                       lane = threadIdx.x % 32;
        advance(batch);
        S all = sum;
        if (count > 0) {
            H state;
            if (lane < count) state = of_tiles[batch * TILE_BATCH + lane].wait();
            __syncwarp();
            state = of_lanes(state, count);
            all = batch > 0 ? R::combine(sum, S(state)) : S(state);
        }
        return shuffled(all, 0);
    }
    // Clears the slots for the next launch. The last block that has polled calls it. A ROLLED loop
    // is little code, which each block of a kernel fetches.
    template <bool ROLLED = false>
    __device__ __forceinline__ void clear(uint32_t tiles, uint32_t threads) {
        if constexpr (ROLLED) {
#pragma unroll 1
            for (uint32_t k = threadIdx.x; k < tiles; k += threads) of_tiles[k].clear();
        } else {
            for (uint32_t k = threadIdx.x; k < tiles; k += threads) of_tiles[k].clear();
        }
    }
};

// Claims a tile for the block, unless it `is_claimed`: then `claimed` in shared memory has it
// already. Thread CLAIMER claims it. All threads of the block call this and get the tile; it
// synchronises them once the tile is claimed. Between two calls with the same `claimed` the block
// passes another barrier: else the second could overwrite the first before all threads have read
// that.
template <int CLAIMER = 0> __device__ __forceinline__ uint32_t claim_tile(GridCounters *counters,
                                                                          uint32_t *claimed,
                                                                          bool is_claimed = false) {
    if (!is_claimed && threadIdx.x == CLAIMER) claimed[0] = atomicAdd(&counters->next_tile, 1u);
    __syncthreads();
    return claimed[0];
}

// Flags of `reset_by_last_block`. The counter of `claim_tile` is to be reset; that of
// `gpu::claim_before_dependency` is 0 again by itself. A rolled loop that clears the slots is
// little code, which each block of a kernel fetches.
constexpr bool RESETS_CLAIMS = true, HAS_NO_CLAIMS = false, ROLLED_LOOP = true;

// Clears the slots and counters for the next launch, if this block is the last one that polls them;
// with CLAIMS the counter of tiles too. If the block has arrived, thread 0 passes the number of
// blocks before it as `place`. All THREADS of the block call it, behind a barrier that follows the
// block's last poll; it synchronises them. Returns true to thread 0 of that block, which may clear
// more.
template <int THREADS, bool CLAIMS = RESETS_CLAIMS, bool ROLLED = !ROLLED_LOOP, class R, class S,
          class H>
__device__ __forceinline__ bool
reset_by_last_block(GridCounters *counters, TilePrefix<R, S, H> &prefix, uint32_t tiles,
                    bool has_arrived, uint32_t place, bool *is_last) {
    if (threadIdx.x == 0) {
        if (!has_arrived) place = arrive(&counters->blocks_done);
        is_last[0] = place == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last[0]) return false;
    prefix.template clear<ROLLED>(tiles, THREADS);
    if (threadIdx.x > 0) return false;
    counters->blocks_done = 0;
    if constexpr (CLAIMS) counters->next_tile = 0;
    return true;
}
// The same for a block that has not arrived.
template <int THREADS, bool CLAIMS = RESETS_CLAIMS, bool ROLLED = !ROLLED_LOOP, class R, class S,
          class H>
__device__ __forceinline__ bool reset_by_last_block(GridCounters *counters,
                                                    TilePrefix<R, S, H> &prefix, uint32_t tiles,
                                                    bool *is_last) {
    const bool has_arrived = false;
    return reset_by_last_block<THREADS, CLAIMS, ROLLED>(counters, prefix, tiles, has_arrived, 0,
                                                        is_last);
}

} // namespace block
} // namespace gpu
