// The tile of c that a block computes, by its number: tiles of a matrix go in groups of rows, whose
// blocks find the same columns of b in L2.
#pragma once
#include "tensor_core_params.cuh"

namespace gpu {
namespace matmul {

// A tile of c, and the numbers of the matrices of the operands that it is a product of.
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

} // namespace matmul
} // namespace gpu
