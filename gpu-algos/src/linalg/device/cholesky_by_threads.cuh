// Cholesky factors of a stack of matrices of at most 8 rows, a = l l^T with l lower triangular,
// as cholesky.cuh, with the same bits.
//
// A thread keeps a matrix in registers, so that no thread waits for another. SIZE is 4 or 8.
//
// Contract: a grid of any size, which strides over the stack; blocks of whole warps, at most 128
// threads; dynamic shared memory SIZE * SIZE elements and 16 bytes for each thread. Rows at most
// SIZE. Strides, results and parameters are those of cholesky.cuh. Bytes moved: a and c once.
// Source: that of cholesky.cuh.
#pragma once
#include "threads.cuh"

namespace gpu::algos::linalg {

// Replaces the lower triangle of a by l, and the rest by zeros; returns the status.
template <class T, int SIZE>
__device__ __forceinline__ int factorize_in_thread(T (&a)[SIZE * SIZE], int n) {
    int status = 0;
#pragma unroll
    for (int k = 0; k < SIZE; k++) {
        if (k >= n) continue;
        const T pivot = a[k * SIZE + k];
        if (!(pivot > T(0)) && status == 0) status = k + 1;
        const T root = square_root(pivot);
        a[k * SIZE + k] = root;
#pragma unroll
        for (int i = k + 1; i < SIZE; i++) {
            if (i < n) a[i * SIZE + k] /= root;
            a[k * SIZE + i] = T(0);
        }
#pragma unroll
        for (int i = k + 1; i < SIZE; i++) {
#pragma unroll
            for (int j = k + 1; j <= i; j++)
                a[i * SIZE + j] = multiply_add(-a[i * SIZE + k], a[j * SIZE + k], a[i * SIZE + j]);
        }
    }
    return status;
}

template <class T, int SIZE> __global__ void __launch_bounds__(MOST_THREADS)
    cholesky_by_threads(const __grid_constant__ LinalgParams<MAX_AXES> params) {
    SHARED_DYNAMIC(T, shared);
    gpu::grid_dependency_wait();
    const ThreadMatrices<T, SIZE> matrices(params, shared);
    const int lane = matrices.stage.lane;
    const uint64_t step = uint64_t(gridDim.x) * blockDim.x;
    for (uint64_t first = uint64_t(blockIdx.x) * blockDim.x + (threadIdx.x - lane);
         first < params.matrices; first += step) {
        const TeamMatrix matrix(params, first + lane);
        T a[SIZE * SIZE];
        matrices.template load<true>(a, first, matrix);
        const int status = factorize_in_thread<T, SIZE>(a, matrices.n);
#pragma unroll
        for (int i = 0; i < SIZE * SIZE; i++) a[i] = result_or_nan(a[i], status == 0);
        matrices.store(a, first, matrix);
        report(params, matrix, status);
        __syncwarp();
    }
}

} // namespace gpu::algos::linalg
