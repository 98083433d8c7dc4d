// Prefixes of a block's tiles that one warp polls while the others do something else.
//
// #include "block/polled_prefix.cuh"
//
// Memory, tiles, aggregates and the clearing of slots are those of block/tile_prefix.cuh. There a
// warp waits for a prefix when it is needed. Here it asks for it one tile earlier, by `start`, and
// the polls are on their way while the block works on: `resolve` finds them there as a rule. A
// kernel whose service warp does so, with tiles that it knows ahead (R an operator, S its state):
//
//   gpu::block::PolledPrefix<R, S> earlier = {gpu::block::TilePrefix<R, S>(scratch)};
//   if (is_service_warp && tiles_of_block[0] > 0) earlier.start(tiles_of_block[0]);
//   for (int number = 0; number < mine; number++) {
//       const uint32_t tile = tiles_of_block[number];          // tile 0 of a grid has no prefix
//       if (is_service_warp && tile > 0) earlier.resolve(tile, prefix + number % 2);
//       ...                                                    // the others work meanwhile
//       __syncthreads();                                       // prefix[number % 2] is there
//       if (is_service_warp && number + 1 < mine) earlier.start(tiles_of_block[number + 1]);
//       ...
//   }
//
// Cost: six batches of 32 slots in flight, which registers of the warp hold. Results have the
// bits of `TilePrefix::resolve`.
#pragma once
#include "block/tile_prefix.cuh"

namespace gpu {
namespace block {

// The state of all tiles before one, for a warp that goes on from tile to tile. All lanes of that
// warp call each method, for tiles in increasing order; none synchronises the block.
template <class R, class S> struct PolledPrefix {
    // There are little more than four batches between a block's tiles on an H200. With 5 at once it
    // takes 2 % longer.
    static constexpr int AT_ONCE = 6;
    TilePrefix<R, S> sums;
    TileStatusPoll<S, AT_ONCE> poll;

    // Polls the slots before `tile`, and does not wait for the result.
    __device__ __forceinline__ void start(uint32_t tile) {
        const uint32_t first = sums.batches * TILE_BATCH + threadIdx.x % 32;
        bool wanted[AT_ONCE];
#pragma unroll
        for (int g = 0; g < AT_ONCE; g++) wanted[g] = first + g * TILE_BATCH < tile;
        poll.start(sums.of_tiles + first, sums.of_tiles, wanted);
    }
    // The sum of all tiles before `tile`, in lane 0. `tile` is not the first, and `start` was
    // called for it.
    __device__ __forceinline__ S before(uint32_t tile) {
        const uint32_t batch = tile / TILE_BATCH, count = tile % TILE_BATCH,
                       lane = threadIdx.x % 32;
        while (true) {
            const uint32_t first = sums.batches * TILE_BATCH + lane;
            S states[AT_ONCE];
            bool wanted[AT_ONCE];
#pragma unroll
            for (int g = 0; g < AT_ONCE; g++) wanted[g] = first + g * TILE_BATCH < tile;
            while (!poll.are_here(wanted, states)) {
                __nanosleep(20);
                poll.start(sums.of_tiles + first, sums.of_tiles, wanted);
            }
            __syncwarp();
            const uint32_t full = batch - sums.batches;
            S all = sums.sum;
#pragma unroll
            for (int g = 0; g < AT_ONCE; g++) {
                const S of_batch =
                    TilePrefix<R, S>::of_lanes(states[g], uint32_t(g) < full ? TILE_BATCH : count);
                if (uint32_t(g) < full) {
                    sums.add(of_batch);
                    all = sums.sum;
                } else if (uint32_t(g) == full && count > 0) {
                    all = sums.batches > 0 ? R::combine(sums.sum, of_batch) : of_batch;
                }
            }
            if (full < AT_ONCE) return all;
            start(tile);
        }
    }
    // Puts the prefix of `tile` into shared memory. One whole warp calls it; the caller
    // synchronises the block.
    __device__ __forceinline__ void resolve(uint32_t tile, S *prefix) {
        const S all = before(tile);
        if (threadIdx.x % 32 == 0) *prefix = all;
    }
};

} // namespace block
} // namespace gpu
