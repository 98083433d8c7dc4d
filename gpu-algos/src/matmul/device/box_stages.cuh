// Stages of shared memory that boxes of both operands of a product are copied to, by a thread of
// another warp than those that multiply them. Barriers say when a stage has arrived, and when all
// warps have multiplied it.
//
// A Tile has STAGES of STAGE_BYTES, of which the left operand has the first LEFT_BYTES. An operand
// is ALONG_K_BOXES, rows of ROW_BYTES along k, or ACROSS_K_BOXES, panels of PANEL elements across k
// and BLOCK_K along k. Both have PARTS matrices for each.
#pragma once
#include "tensor_core_params.cuh"
#include "tensor_copy.cuh"

namespace gpu::algos::matmul {

// The stages in shared memory, as one warp goes through them: round and round.
template <class Tile> struct Stages {
    unsigned char *const memory;
    CopyBarrier *const arrived, *const released;
    int at;
    uint32_t parity; // of the present round

    __device__ __forceinline__ unsigned char *left() const {
        return memory + at * Tile::STAGE_BYTES;
    }
    __device__ __forceinline__ unsigned char *right() const { return left() + Tile::LEFT_BYTES; }
    __device__ __forceinline__ void advance() {
        if (++at == Tile::STAGES) at = 0, parity ^= 1;
    }
    // By a warp that has multiplied stage `stage`, to all blocks that copy into it.
    __device__ __forceinline__ void release(int stage) {
        __syncwarp();
        if (threadIdx.x % 32 == 0) Cluster<Tile::CLUSTER>::arrive(released[stage]);
    }
};

// Copies BLOCK elements across k of an operand from `first` on, and those along k from `k` on, into
// the shared memory of all blocks of a Cluster.
template <class Tile, int BLOCK, uint32_t BOXES, class Blocks = Cluster<1>>
__device__ __forceinline__ void copy_operand(unsigned char *to, const TensorMap &map, int first,
                                             int k, int matrix, CopyBarrier &arrived) {
    if constexpr (BOXES == ALONG_K_BOXES) {
        Blocks::copy_box(to, map, k, first, matrix * Tile::PARTS, arrived);
    } else {
#pragma unroll
        for (int panel = 0; panel < BLOCK / Tile::PANEL; panel++) {
            Blocks::copy_box(to + panel * Tile::PARTS * Tile::BLOCK_K * Tile::ROW_BYTES, map,
                             first + panel * Tile::PANEL, k, matrix * Tile::PARTS, arrived);
        }
    }
}

} // namespace gpu::algos::matmul
