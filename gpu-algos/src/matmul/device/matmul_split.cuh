// Copies of an operand of a product into memory that tensor maps can describe: rows of which each
// begins at a multiple of 16 bytes, and elements as tensor cores take them.
//
// Contract: a grid of any size, of matmul_split more than `left_blocks` blocks; blocks of
// SPLIT_THREADS. `from` has `matrices` matrices of `rows`
// rows and `columns` columns with any strides, in elements; the axes of the stack are `batch`, the
// innermost first. `to` has for each matrix PARTS times `rows` rows of `pitch` elements, of which
// `pitch` is the next multiple of 8 (of bytes 16) from `columns` on; elements behind `columns`
// become 0. Parameters: SplitParams (tensor_cores/params.rs).
#pragma once
#include "tensor_core_params.cuh"
#include "warpgroup.cuh"

namespace gpu::algos::matmul {

// Elements that a thread takes along a row.
constexpr int SPLIT_VECTOR_SIZE = 8;

// The parts of an f32: three bf16 whose sum it is, if none of them is too small to be a bf16. A NaN
// and an infinity stay in the first part alone.
__device__ __forceinline__ void parts_of(float x, uint16_t (&parts)[3]) {
#pragma unroll
    for (int part = 0; part < 3; part++) {
        const uint32_t bits = __float_as_uint(x);
        const bool is_finite = (bits & 0x7f800000) != 0x7f800000;
        // To the nearest, to even ones where two are as near. The largest f32 become infinite, so
        // they are cut.
        const uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1);
        const bool fits = (rounded & 0x7f800000) != 0x7f800000;
        const uint32_t high =
            (is_finite ? fits ? rounded : bits : bits | (bits & 0xffff ? 0x400000 : 0)) >> 16;
        parts[part] = uint16_t(high);
        x = is_finite ? __fsub_rn(x, __uint_as_float(high << 16)) : 0.0f;
    }
}

// The address of the first element of a matrix.
template <class T, class Params>
__device__ __forceinline__ const T *matrix_of(const Params &params, uint64_t matrix) {
    const T *from = reinterpret_cast<const T *>(params.from);
    for (uint32_t d = 0; d < params.batch_rank; d++) {
        const auto &axis = params.batch[d];
        from += int64_t(matrix % uint64_t(axis.length)) * axis.strides[0];
        matrix /= uint64_t(axis.length);
    }
    return from;
}

// Splits an operand, by block `block` of `blocks`.
template <int THREADS, class Params> __device__ __forceinline__ void
split_operand(const Params &params, uint32_t block, uint32_t blocks) {
    const uint64_t packs = (params.columns + SPLIT_VECTOR_SIZE - 1) / SPLIT_VECTOR_SIZE;
    const uint64_t count = packs * params.rows * params.matrices;
    for (uint64_t at = uint64_t(block) * THREADS + threadIdx.x; at < count;
         at += uint64_t(blocks) * THREADS) {
        const uint64_t row = at / packs % params.rows, matrix = at / packs / params.rows;
        const uint64_t column = at % packs * SPLIT_VECTOR_SIZE;
        const float *from = matrix_of<float>(params, matrix) + int64_t(row) * params.row_stride +
                            int64_t(column) * params.column_stride;
        Pack<float, 4> in[2];
        if (params.is_packed) {
#pragma unroll
            for (int half = 0; half < 2; half++) {
                in[half] = column + half * 4 < params.columns ? load_pack<float, 4>(from + half * 4)
                                                              : Pack<float, 4>{};
            }
        } else {
#pragma unroll
            for (int k = 0; k < SPLIT_VECTOR_SIZE; k++) {
                in[k / 4].lane[k % 4] =
                    column + k < params.columns ? from[k * params.column_stride] : 0.0f;
            }
        }
        Pack<uint16_t, SPLIT_VECTOR_SIZE> out[3];
#pragma unroll
        for (int k = 0; k < SPLIT_VECTOR_SIZE; k++) {
            uint16_t parts[3];
            parts_of(in[k / 4].lane[k % 4], parts);
#pragma unroll
            for (int part = 0; part < 3; part++) out[part].lane[k] = parts[part];
        }
        uint16_t *to = reinterpret_cast<uint16_t *>(params.to) +
                       (matrix * 3 * params.rows + row) * params.pitch + column;
#pragma unroll
        for (int part = 0; part < 3; part++)
            store_pack<StoreMode::WHOLE>(to + part * params.rows * params.pitch, out[part]);
    }
}

// Both operands into three planes of bf16 for each matrix: the first `left_blocks` blocks split the
// left one, the others the right one. Bytes moved: 4 read and 6 written for each element.
template <int THREADS> __global__ void __launch_bounds__(THREADS)
    matmul_split(const __grid_constant__ SplitParams<MAX_AXES> left,
                 const __grid_constant__ SplitParams<MAX_AXES> right, const uint32_t left_blocks) {
    grid_dependency_wait();
    if (blockIdx.x < left_blocks)
        split_operand<THREADS>(left, blockIdx.x, left_blocks);
    else
        split_operand<THREADS>(right, blockIdx.x - left_blocks, gridDim.x - left_blocks);
}

// An element as it is copied: an f32 is rounded to TF32.
__device__ __forceinline__ float copied(float x) { return __uint_as_float(round_to_tf32(x)); }
template <class T> __device__ __forceinline__ T copied(T x) { return x; }

// Into one plane of T for each matrix, in tiles of 32 rows and columns. `is_transposed` says that
// the elements of a column are neighbours in memory, so that a warp reads a column of a tile.
template <class T, int THREADS> __global__ void __launch_bounds__(THREADS)
    matmul_copy(const __grid_constant__ SplitParams<MAX_AXES> params) {
    constexpr int TILE = 32, STEP = THREADS / TILE;
    SHARED(T, tile, [TILE][TILE + 1]);
    grid_dependency_wait();
    const int lane = threadIdx.x % TILE, line = threadIdx.x / TILE;
    const uint64_t columns = (params.columns + TILE - 1) / TILE;
    const uint64_t tiles = (params.rows + TILE - 1) / TILE * columns;
    for (uint64_t at = blockIdx.x; at < tiles * params.matrices; at += gridDim.x) {
        const T *from = matrix_of<T>(params, at / tiles);
        const uint64_t row = at % tiles / columns * TILE, column = at % tiles % columns * TILE;
        for (int k = line; k < TILE; k += STEP) {
            const int r = params.is_transposed ? lane : k, c = params.is_transposed ? k : lane;
            const bool is_there = row + r < params.rows && column + c < params.columns;
            const int64_t place =
                int64_t(row + r) * params.row_stride + int64_t(column + c) * params.column_stride;
            tile[r][c] = is_there ? from[place] : T(0);
        }
        __syncthreads();
        T *to = reinterpret_cast<T *>(params.to) + (at / tiles * params.rows + row) * params.pitch +
                column;
        for (int k = line; k < TILE; k += STEP) {
            if (row + k < params.rows && column + lane < params.pitch)
                to[k * params.pitch + lane] = copied(tile[k][lane]);
        }
        __syncthreads();
    }
}

// Four neighbours at distance `stride`, of which `left` exist; `is_packed` says that they are
// a pack.
__device__ __forceinline__ uint32_t four_of(const uint8_t *from, int64_t stride, int64_t left,
                                            bool is_packed) {
    if (is_packed && left >= 4) return *reinterpret_cast<const uint32_t *>(from);
    uint32_t pack = 0;
#pragma unroll
    for (int k = 0; k < 4; k++) pack |= k < left ? uint32_t(from[k * stride]) << 8 * k : 0;
    return pack;
}

// Makes four columns of bytes, each a pack, of four rows.
__device__ __forceinline__ void transpose_bytes(uint32_t (&rows)[4]) {
    const uint32_t low = __byte_perm(rows[0], rows[1], 0x5140),
                   high = __byte_perm(rows[0], rows[1], 0x7362),
                   next_low = __byte_perm(rows[2], rows[3], 0x5140),
                   next_high = __byte_perm(rows[2], rows[3], 0x7362);
    rows[0] = __byte_perm(low, next_low, 0x5410);
    rows[1] = __byte_perm(low, next_low, 0x7632);
    rows[2] = __byte_perm(high, next_high, 0x5410);
    rows[3] = __byte_perm(high, next_high, 0x7632);
}

// Into one plane of bytes for each matrix, in tiles of 128 rows and columns, by packs of 4.
// Pack p of row r stands at p ^ r / 4, so that lanes of neighbouring rows find other banks. Here
// `is_packed` says that four neighbours in memory begin at a multiple of 4 bytes.
template <int THREADS> __global__ void __launch_bounds__(THREADS)
    matmul_copy_bytes(const __grid_constant__ SplitParams<MAX_AXES> params) {
    constexpr int TILE = 128, PACKS = TILE / 4, WARPS = THREADS / 32;
    SHARED(uint32_t, tile, [TILE][PACKS]);
    grid_dependency_wait();
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint64_t columns = (params.columns + TILE - 1) / TILE;
    const uint64_t tiles = (params.rows + TILE - 1) / TILE * columns;
    for (uint64_t at = blockIdx.x; at < tiles * params.matrices; at += gridDim.x) {
        const int64_t row = at % tiles / columns * TILE, column = at % tiles % columns * TILE;
        const int64_t rows_left = int64_t(params.rows) - row;
        const int64_t columns_left = int64_t(params.columns) - column;
        const uint8_t *from = matrix_of<uint8_t>(params, at / tiles) + row * params.row_stride +
                              column * params.column_stride;
        if (params.is_transposed) {
#pragma unroll
            for (int pack = warp; pack < PACKS; pack += WARPS) {
                uint32_t four[4];
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    const int c = 4 * pack + k;
                    four[k] =
                        four_of(from + 4 * lane * params.row_stride + c * params.column_stride,
                                params.row_stride, c < columns_left ? rows_left - 4 * lane : 0,
                                params.is_packed);
                }
                transpose_bytes(four);
#pragma unroll
                for (int k = 0; k < 4; k++) tile[4 * lane + k][pack ^ lane] = four[k];
            }
        } else {
            for (int r = warp; r < TILE; r += WARPS) {
                tile[r][lane ^ r / 4] =
                    four_of(from + r * params.row_stride + 4 * lane * params.column_stride,
                            params.column_stride, r < rows_left ? columns_left - 4 * lane : 0,
                            params.is_packed);
            }
        }
        __syncthreads();
        uint8_t *to = reinterpret_cast<uint8_t *>(params.to) +
                      (at / tiles * params.rows + row) * params.pitch + column;
        for (int r = warp; r < TILE; r += WARPS) {
            if (r < rows_left && column + 4 * lane < int64_t(params.pitch))
                *reinterpret_cast<uint32_t *>(to + r * params.pitch + 4 * lane) =
                    tile[r][lane ^ r / 4];
        }
        __syncthreads();
    }
}

} // namespace gpu::algos::matmul
