// Elimination with partial pivoting of a stack of matrices of at most 8 rows, p a = l u, and its
// uses, as lu.cuh, with the same bits.
//
// A thread keeps a matrix in registers, so that no thread waits for another. SIZE is 4 or 8.
//
// Contract: a grid of any size, which strides over the stack; blocks of whole warps, at most 128
// threads; dynamic shared memory SIZE * SIZE elements and 16 bytes for each thread. Rows at most
// SIZE. Modes, strides, results and parameters are those of lu.cuh; USE is the part of the modes
// that is compiled: SOLUTION and INVERSE are COLUMNS, the others FACTORS_ALONE. Bytes moved: a, b,
// c and d once. Source: that of lu.cuh.
#pragma once
#include "determinant.cuh"
#include "threads.cuh"

namespace gpu::algos::linalg {

// A permutation or a list of at most 8 numbers of rows, 4 bits for each.
struct RowNumbers {
    uint32_t bits;

    __device__ __forceinline__ int operator[](int at) const { return int(bits >> 4 * at) & 15; }
    __device__ __forceinline__ void exchange(int one, int other) {
        const uint32_t difference = (bits >> 4 * one ^ bits >> 4 * other) & 15;
        bits ^= difference << 4 * one;
        bits ^= difference << 4 * other;
    }
};

// The factors l and u, in the place of the matrix. Row i of l u is row order[i] of a, and step k
// exchanged row k with row pivots[k].
template <class T, int SIZE> struct ThreadElimination : Elimination {
    T a[SIZE * SIZE];
    RowNumbers order, pivots;

    __device__ __forceinline__ void run(int n) {
        status = 0, is_odd = false;
        order.bits = 0x76543210, pivots.bits = 0;
#pragma unroll
        for (int k = 0; k < SIZE; k++) {
            if (k < n) step(k, n);
        }
    }

    // Solves l u x = b for the elements of b in the order of the rows of l.
    __device__ __forceinline__ void substitute(T (&x)[SIZE], int n) const {
#pragma unroll
        for (int k = 0; k < SIZE; k++) {
#pragma unroll
            for (int i = k + 1; i < SIZE; i++) {
                if (i < n) x[i] = multiply_add(-a[i * SIZE + k], x[k], x[i]);
            }
        }
#pragma unroll
        for (int k = SIZE - 1; k >= 0; k--) {
            if (k >= n) continue;
            x[k] /= a[k * SIZE + k];
#pragma unroll
            for (int i = 0; i < k; i++) x[i] = multiply_add(-a[i * SIZE + k], x[k], x[i]);
        }
    }

  private:
    // Step k, which is known to the compiler.
    __device__ __forceinline__ void step(int k, int n) {
        T most = magnitude(a[k * SIZE + k]);
        int row = k;
#pragma unroll
        for (int i = k + 1; i < SIZE; i++) {
            const T size = magnitude(a[i * SIZE + k]);
            if (i < n && size > most) most = size, row = i;
        }
#pragma unroll
        for (int i = k + 1; i < SIZE; i++) {
#pragma unroll
            for (int j = 0; j < SIZE; j++) {
                const T upper = a[k * SIZE + j], lower = a[i * SIZE + j];
                a[k * SIZE + j] = row == i ? lower : upper;
                a[i * SIZE + j] = row == i ? upper : lower;
            }
        }
        order.exchange(k, row);
        pivots.bits |= uint32_t(row) << 4 * k;
        is_odd ^= row != k;
        const T pivot = a[k * SIZE + k];
        if (pivot == T(0) && status == 0) status = k + 1;
        const T divisor = pivot == T(0) ? T(1) : pivot;
#pragma unroll
        for (int i = k + 1; i < SIZE; i++) {
            if (i >= n) continue;
            const T left = a[i * SIZE + k] / divisor;
            a[i * SIZE + k] = left;
#pragma unroll
            for (int j = k + 1; j < SIZE; j++)
                a[i * SIZE + j] = multiply_add(-left, a[k * SIZE + j], a[i * SIZE + j]);
        }
    }
};

// Solves for each right-hand side, and stores the solutions. All lanes call it.
template <class T, int SIZE>
__device__ __forceinline__ void solve_by_threads(const ThreadMatrices<T, SIZE> &matrices,
                                                 const TeamMatrix &matrix, uint64_t first,
                                                 const ThreadElimination<T, SIZE> &factors) {
    typedef WarpStage<T, SIZE> Column;
    constexpr int VECTOR_SIZE = Column::VECTOR_SIZE;
    const LinalgParams<MAX_AXES> &params = matrices.params;
    const int n = matrices.n;
    const T *const b = reinterpret_cast<const T *>(params.b) + matrix.offsets[RIGHT];
    T *const c = reinterpret_cast<T *>(params.c) + matrix.offsets[RESULT];
    // The results of INVERSE are gathered where they are dense; columns in aligned memory are
    // stored as vectors.
    const bool is_gathered = params.mode == INVERSE && matrices.result.is_dense;
    const bool is_whole = n == SIZE && params.c_row == 1 && params.c % 16 == 0 &&
                          params.batch_rank <= 1 && stack_step(params, RESULT) % VECTOR_SIZE == 0 &&
                          (params.columns == 1 || params.c_column % VECTOR_SIZE == 0);
    if (is_gathered) __syncwarp(); // all have read their matrices
    for (uint64_t column = 0; column < params.columns; column++) {
        T x[SIZE];
#pragma unroll
        for (int i = 0; i < SIZE; i++) {
            const int source = factors.order[i];
            x[i] = T(0);
            if (i < n) {
                x[i] = params.b == 0 ? T(uint64_t(source) == column)
                                     : b[source * params.b_row + int64_t(column) * params.b_column];
            }
        }
        factors.substitute(x, n);
#pragma unroll
        for (int i = 0; i < SIZE; i++) x[i] = result_or_nan(x[i], factors.status == 0);
        T *const to = c + int64_t(column) * params.c_column;
        if (is_gathered) {
#pragma unroll
            for (int i = 0; i < SIZE; i++)
                matrices.stage.piece(matrices.stage.lane)[i * SIZE + int(column)] = x[i];
        } else if (is_whole) {
            if (matrix.is_there) Column::write(to, x);
        } else {
#pragma unroll
            for (int i = 0; i < SIZE; i++) {
                if (matrix.is_there && i < n) to[i * params.c_row] = x[i];
            }
        }
    }
    if (is_gathered) matrices.flush(first);
}

template <class T, int SIZE, int USE> __global__ void __launch_bounds__(MOST_THREADS)
    lu_by_threads(const __grid_constant__ LinalgParams<MAX_AXES> params) {
    SHARED_DYNAMIC(T, shared);
    gpu::grid_dependency_wait();
    const ThreadMatrices<T, SIZE> matrices(params, shared);
    const int lane = matrices.stage.lane, n = matrices.n;
    const uint64_t step = uint64_t(gridDim.x) * blockDim.x;
    for (uint64_t first = uint64_t(blockIdx.x) * blockDim.x + (threadIdx.x - lane);
         first < params.matrices; first += step) {
        const TeamMatrix matrix(params, first + lane);
        ThreadElimination<T, SIZE> factors;
        matrices.template load<false>(factors.a, first, matrix);
        factors.run(n);
        if constexpr (USE != FACTORS_ALONE) {
            solve_by_threads(matrices, matrix, first, factors);
        } else if (params.mode == FACTORS) {
            int32_t *const pivots = reinterpret_cast<int32_t *>(params.d) + matrix.number * n;
#pragma unroll
            for (int k = 0; k < SIZE; k++) {
                if (matrix.is_there && k < n) pivots[k] = factors.pivots[k];
            }
            matrices.store(factors.a, first, matrix);
        } else {
            SignedProduct<T> product(factors.is_odd);
#pragma unroll
            for (int k = 0; k < SIZE; k++) {
                if (k < n) product.take(factors.a[k * SIZE + k]);
            }
            if (matrix.is_there) store_determinant(params, matrix, product);
        }
        report(params, matrix, factors.status);
        __syncwarp();
    }
}

} // namespace gpu::algos::linalg
