// Tiles of products on tensor cores: their sizes, the tile of c that a block computes, and the
// places of its operands in shared memory.
#pragma once
#include "tensor_core_params.cuh"
#include "warpgroup.cuh"

namespace gpu::algos::matmul {

// A tile of BLOCK_M rows and BLOCK_N columns of c, and STAGES of shared memory for its operands.
template <uint32_t TYPE_, int PARTS_, int M, int N, int STAGES_> struct TensorCoreTile {
    static constexpr uint32_t TYPE = TYPE_;
    static constexpr int PARTS = PARTS_, BLOCK_M = M, BLOCK_N = N, STAGES = STAGES_;
    static constexpr int ROW_BYTES = 128, ELEMENT_BYTES = bytes_of(TYPE);
    typedef typename SumOf<TYPE>::type Sum;
    static constexpr int BLOCK_K = ROW_BYTES / ELEMENT_BYTES, PANEL = BLOCK_K;
    // Products of the tensor cores take 32 bytes along k.
    static constexpr int STEPS = ROW_BYTES / 32, STEP_K = BLOCK_K / STEPS;
    static constexpr int LEFT_BYTES = PARTS * M * ROW_BYTES, RIGHT_BYTES = PARTS * N * ROW_BYTES;
    static constexpr int STAGE_BYTES = LEFT_BYTES + RIGHT_BYTES;
    static constexpr int SHARED_BYTES = STAGES * STAGE_BYTES + 1024;
    static constexpr int CLUSTER = 1; // neighbouring blocks that share tiles of b
    static_assert(TYPE == BF16 || PARTS == 1, "parts are bf16");
};

// The place of part PART of an operand, from 64 ROWS of a or column 0 of b on.
template <class Tile, int BLOCK, uint32_t BOXES>
__device__ __forceinline__ TilePlace place_of(const unsigned char *tile, int part, int rows) {
    if constexpr (BOXES == ALONG_K_BOXES) {
        return along_k<Tile::ROW_BYTES>(tile + (part * BLOCK + rows * 64) * Tile::ROW_BYTES);
    } else {
        constexpr int PANEL_BYTES = Tile::PARTS * Tile::BLOCK_K * Tile::ROW_BYTES;
        return across_k(tile + rows * PANEL_BYTES + part * Tile::BLOCK_K * Tile::ROW_BYTES,
                        PANEL_BYTES);
    }
}
// A tile of c by its number, and the numbers of the matrices of the operands that it is a product
// of. Tiles of a matrix go in groups of rows, whose blocks find the same columns of b in L2.
struct TilePart {
    int64_t row, column, c;
    int left, right;

    template <class Params> __device__ __forceinline__
    TilePart(const Params &params, uint32_t tile, int block_m, int block_n, uint32_t raster_rows) {
        const uint32_t tiles = params.tiles_m * params.tiles_n;
        uint32_t matrix = tile / tiles;
        const uint32_t group = min(params.tiles_m, raster_rows) * params.tiles_n;
        const uint32_t in_group = tile % tiles % group;
        const uint32_t first = tile % tiles / group * raster_rows;
        const uint32_t rows = min(params.tiles_m - first, raster_rows);
        row = int64_t(first + in_group % rows) * block_m;
        column = int64_t(in_group / rows) * block_n;
        int64_t offsets[3] = {0, 0, 0};
        for (uint32_t d = 0; d < params.batch_rank; d++) {
            const auto &axis = params.batch[d];
            const int64_t at = matrix % uint32_t(axis.length);
            matrix /= uint32_t(axis.length);
            for (int k = 0; k < 3; k++) offsets[k] += at * axis.strides[k];
        }
        c = offsets[0], left = int(offsets[1]), right = int(offsets[2]);
    }
};

} // namespace gpu::algos::matmul
