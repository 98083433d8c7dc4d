// Products whose blocks have equal shares of all steps along k.
//
// The steps of all tiles stand in one row, tile behind tile, BLOCK_K values along k each. Block i
// of n has the steps from i * steps / n to (i + 1) * steps / n: a part of one tile, or the end of
// one and the beginning of the next. So all blocks are done at the same time, whatever the number
// of tiles is; with the same number of blocks for each tile (matmul.cuh) a few of them are often
// left for the end.
//
// A block leaves its sums of a tile in scratch memory. The one that arrives last adds them in the
// order of k. No block waits for another. The order of additions depends on the shape of the
// launch, and on nothing else.
//
// Contract: that of `matmul` but for the grid, of more blocks than tiles, so that each tile has
// several, and no more than steps; (steps + 1) * blocks has 32 bits. No tile is shared by more
// blocks than `splits`, and the stack's matrices fit in `matrices`. `k_per_split` is not read.
// Bytes moved: as in `matmul`. Parameters: MatmulParams (params.rs).
//
// Source: Osama, Merrill, Cecka, Garland and Owens, Stream-K: Work-centric Parallel Decomposition
// for Dense Matrix-Matrix Multiplication on the GPU, 2023.
#pragma once
#include "matmul.cuh"

namespace gpu::algos::matmul {

// The division of steps among the blocks of a launch.
struct EqualShares {
    uint32_t steps, blocks;

    // The first step of a block.
    __device__ __forceinline__ uint32_t begin(uint32_t block) const {
        return block * steps / blocks;
    }
    // The block that has a step.
    __device__ __forceinline__ uint32_t owner(uint32_t step) const {
        return ((step + 1) * blocks - 1) / steps;
    }
};

template <class T, class Tile, uint32_t LOAD_A, uint32_t LOAD_B,
          class Params = MatmulParams<MAX_AXES>>
__global__ void __launch_bounds__(Sums<T, Tile>::THREADS, Tile::RESIDENT)
    matmul_shares(const __grid_constant__ Params params) {
    typedef Pipeline<T, Tile, LOAD_A, LOAD_B> Tiles;
    SHARED_DYNAMIC(T, stages);
    SHARED(bool, is_last, [1]);
    const uint32_t k = uint32_t(params.k), of_tile = (k + Tile::BLOCK_K - 1) / Tile::BLOCK_K;
    const EqualShares shares = {of_tile * params.tiles_m * params.tiles_n * params.matrices,
                                gridDim.x};
    const uint32_t end = shares.begin(blockIdx.x + 1);
    gpu::grid_dependency_wait();

#pragma unroll 1
    for (uint32_t step = shares.begin(blockIdx.x); step < end;) {
        // The steps up to `stop` are of one tile.
        const uint32_t tile = step / of_tile, tile_begin = tile * of_tile;
        const uint32_t stop = min(end, tile_begin + of_tile), first = shares.owner(tile_begin);
        const uint32_t sharing = shares.owner(tile_begin + of_tile - 1) - first + 1;
        const BlockPart part(params, blockIdx.x - first, tile, Tile::BLOCK_M, Tile::BLOCK_N);
        const int64_t first_k = int64_t(step - tile_begin) * Tile::BLOCK_K;
        const int64_t count = min(k, (stop - tile_begin) * Tile::BLOCK_K) - first_k;
        const T *a =
            reinterpret_cast<const T *>(params.a) + part.offsets[1] + first_k * params.a_inner;
        const T *b =
            reinterpret_cast<const T *>(params.b) + part.offsets[2] + first_k * params.b_inner;
        Tiles tiles = {
            stages,
            {a, params.a_outer, params.a_inner, part.row, int64_t(params.m), count},
            {b, params.b_outer, params.b_inner, part.column, int64_t(params.n), count},
        };
        Sums<T, Tile> sums;
        tiles.run(sums, stop - step);
        // Stages are filled anew for the next tile: no copy is on its way, and none is read.
        wait_for_copies<0>();
        __syncthreads();
        step = stop;

        T *partials = reinterpret_cast<T *>(params.scratch + COUNTER_BYTES) +
                      uint64_t(tile) * params.splits * sums.AREA;
        uint32_t *counter = reinterpret_cast<uint32_t *>(params.scratch) + tile;
        sums.leave(partials, part.split);
        if (is_last_block(counter, sharing, is_last[0], [](int) { __syncthreads(); }))
            sums.store_combined(params, part, sharing, partials);
    }
}

} // namespace gpu::algos::matmul
