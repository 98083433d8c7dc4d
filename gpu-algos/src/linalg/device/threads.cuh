// Matrices of which each thread has one in its registers: loads and stores.
#pragma once
#include "registers.cuh"

namespace gpu::algos::linalg {

// The matrices of a warp: lane by lane one of the stack, padded with zeros to SIZE rows, in C
// order.
template <class T, int SIZE> struct ThreadMatrices {
    typedef WarpStage<T, SIZE * SIZE> Stage;
    const LinalgParams<MAX_AXES> &params;
    const Stage stage;
    const int n;
    const DenseLayout left, result;

    __device__ __forceinline__ ThreadMatrices(const LinalgParams<MAX_AXES> &params, T *shared)
        : params(params), stage(shared), n(int(params.rows)),
          left(params, LEFT, params.a, params.a_row, params.a_column, SIZE),
          result(params, RESULT, params.c, params.c_row, params.c_column, SIZE) {}

    // Elements of the warp's matrices in the stack, the first of which is number `first`.
    __device__ __forceinline__ int count(uint64_t first) const {
        const uint64_t rest = params.matrices - first;
        return int(rest < 32 ? rest : 32) * n * n;
    }

    // Loads the matrix, or the triangle on and below its diagonal. All lanes call it.
    template <bool IS_TRIANGLE> __device__ __forceinline__ void
    load(T (&a)[SIZE * SIZE], uint64_t first, const TeamMatrix &matrix) const {
        const T *const from = reinterpret_cast<const T *>(params.a);
        if (left.has_vectors) {
            stage.fill(from + int64_t(first) * n * n, count(first));
            __syncwarp();
            stage.read(a, stage.piece(stage.lane));
            return;
        }
#pragma unroll
        for (int i = 0; i < SIZE; i++) {
#pragma unroll
            for (int j = 0; j < SIZE; j++) {
                const bool is_read = i < n && (IS_TRIANGLE ? j <= i : j < n);
                a[i * SIZE + j] =
                    is_read ? from[matrix.offsets[LEFT] + i * params.a_row + j * params.a_column]
                            : T(0);
            }
        }
    }
    // Stores a matrix as the result. All lanes call it.
    __device__ __forceinline__ void store(const T (&a)[SIZE * SIZE], uint64_t first,
                                          const TeamMatrix &matrix) const {
        if (result.is_dense) {
            __syncwarp(); // all have read their matrices
            stage.write(stage.piece(stage.lane), a);
            flush(first);
            return;
        }
        T *const to = reinterpret_cast<T *>(params.c) + matrix.offsets[RESULT];
#pragma unroll
        for (int i = 0; i < SIZE; i++) {
#pragma unroll
            for (int j = 0; j < SIZE; j++) {
                if (matrix.is_there && i < n && j < n)
                    to[i * params.c_row + j * params.c_column] = a[i * SIZE + j];
            }
        }
    }
    // Stores the matrices in the stage as the results, which are dense.
    __device__ __forceinline__ void flush(uint64_t first) const {
        __syncwarp();
        T *const to = reinterpret_cast<T *>(params.c) + int64_t(first) * n * n;
        if (result.has_vectors) {
            stage.flush(to, count(first));
        } else {
            const StageSteps steps(Stage::PITCH, SIZE, result.is_transposed);
            flush_places(to, stage.pieces, steps, count(first), n, stage.lane);
        }
    }
};

} // namespace gpu::algos::linalg
