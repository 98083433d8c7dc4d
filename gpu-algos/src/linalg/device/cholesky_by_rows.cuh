// Cholesky factors of a stack of matrices of at most 32 rows, a = l l^T with l lower triangular,
// as cholesky.cuh, with the same bits.
//
// SIZE lanes of a warp, 16 or 32, keep a matrix in registers, a row each. Step k writes column k of
// l to shared memory, where all lanes read it in vectors of 16 bytes. Lanes compute the elements
// above the diagonal too, of whatever stands there, and nothing reads them.
//
// Contract: a grid of any size, which strides over the stack; blocks of whole warps, at most 128
// threads; dynamic shared memory SIZE elements and 16 bytes for each thread. Rows at most SIZE.
// Strides, results and parameters are those of cholesky.cuh. Bytes moved: a and c once.
// Source: that of cholesky.cuh.
#pragma once
#include "rows.cuh"

namespace gpu::algos::linalg {

// Replaces the lower triangles by l; returns the status. All lanes call it.
template <class T, int SIZE>
__device__ __forceinline__ int factorize_rows(const RowMatrices<T, SIZE> &matrices, T (&a)[SIZE]) {
    constexpr int VECTOR_SIZE = RowMatrices<T, SIZE>::Stage::VECTOR_SIZE;
    const int row = matrices.row;
    int status = 0;
#pragma unroll
    for (int k = 0; k < SIZE; k++) {
        if (k >= matrices.n) continue;
        const T pivot = __shfl_sync(0xffffffffu, a[k], k, SIZE);
        if (!(pivot > T(0)) && status == 0) status = k + 1;
        const T root = square_root(pivot);
        // The rows above take a quotient that nothing reads, of numbers that are there.
        const T scaled = (row > k ? a[k] : pivot) / root;
        a[k] = row > k ? scaled : row == k ? root : a[k];
        if (k + 1 == SIZE) continue;
        T *const list = matrices.list(k % 2);
        list[row] = scaled;
        __syncwarp(); // the other list is free: all have read it
#pragma unroll
        for (int v = (k + 1) / VECTOR_SIZE * VECTOR_SIZE; v < SIZE; v += VECTOR_SIZE) {
            const Pack<T, VECTOR_SIZE> vector = load_pack<T, VECTOR_SIZE>(list + v);
#pragma unroll
            for (int e = 0; e < VECTOR_SIZE; e++) {
                if (v + e > k) a[v + e] = multiply_add(-scaled, vector.lane[e], a[v + e]);
            }
        }
    }
    __syncwarp();
    return status;
}

template <class T, int SIZE> __global__ void __launch_bounds__(MOST_THREADS)
    cholesky_by_rows(const __grid_constant__ LinalgParams<MAX_AXES> params) {
    SHARED_DYNAMIC(T, shared);
    gpu::grid_dependency_wait();
    const RowMatrices<T, SIZE> matrices(params, shared);
    const uint64_t warps = blockDim.x / 32, step = uint64_t(gridDim.x) * warps * matrices.COUNT;
    for (uint64_t first = (uint64_t(blockIdx.x) * warps + threadIdx.x / 32) * matrices.COUNT;
         first < params.matrices; first += step) {
        const TeamMatrix matrix(params, first + matrices.stage.lane / SIZE);
        T a[SIZE];
        matrices.load(a, first, matrix);
        const int status = factorize_rows<T, SIZE>(matrices, a);
#pragma unroll
        for (int j = 0; j < SIZE; j++)
            a[j] = result_or_nan(j <= matrices.row ? a[j] : T(0), status == 0);
        matrices.stage.write(matrices.stage.piece(matrices.stage.lane), a);
        __syncwarp();
        matrices.store(first, matrix);
        report(params, matrices.team, matrix, status);
        __syncwarp();
    }
}

} // namespace gpu::algos::linalg
