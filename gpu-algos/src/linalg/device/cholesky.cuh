// Cholesky factors of a stack of small matrices, a = l l^T with l lower triangular.
//
// A team of threads (team.cuh) keeps the matrix in shared memory. Step k scales column k by the
// root of its pivot and subtracts the products of its elements from the lower triangle that is
// left. A pivot that is not above 0, or NaN, means that the matrix is not positive definite: its
// status is the first one's number, counted from 1, and its l is NaN.
//
// Contract: a grid of any size, which strides over the stack; blocks of whole warps with `team`
// threads for each team, at most 128, and with WARPS > 1 of 32 WARPS threads; dynamic shared memory
// `team_elements` elements for each team. Rows at most 64. Strides are in elements and may be
// negative, those of a 0 too; c does not overlap a. Bytes moved: a and c once. Parameters:
// LinalgParams (params.rs), of which b and d are not read.
// Source: Golub and Van Loan, Matrix Computations (2013), 4.2.5 (outer products).
#pragma once
#include "team.cuh"

namespace gpu::algos::linalg {

// Replaces the lower triangle of a by l; returns the status.
template <class T, int WARPS> __device__ __forceinline__ int
factorize_symmetric(const Team<WARPS> &team, T *a, int pitch, int n) {
    int status = 0;
    for (int k = 0; k < n; k++) {
        const T pivot = a[k * pitch + k];
        if (!(pivot > T(0)) && status == 0) status = k + 1;
        const T root = square_root(pivot);
        for (int i = k + 1 + team.thread; i < n; i += team.size) a[i * pitch + k] /= root;
        team.sync();
        if (team.thread == 0) a[k * pitch + k] = root;
        for (int i = k + 1 + team.y; i < n; i += team.down) {
            const T left = -a[i * pitch + k];
            for (int j = k + 1 + team.x; j <= i; j += team.across)
                a[i * pitch + j] = multiply_add(left, a[j * pitch + k], a[i * pitch + j]);
        }
        team.sync();
    }
    return status;
}

template <class T, int WARPS> __global__ void __launch_bounds__(MOST_THREADS)
    cholesky(const __grid_constant__ LinalgParams<MAX_AXES> params) {
    SHARED_DYNAMIC(T, shared);
    const Team<WARPS> team(params.team);
    T *const a = shared + team.number * params.team_elements;
    const int n = int(params.rows), pitch = int(params.a_pitch);
    gpu::grid_dependency_wait();
    const uint64_t step = uint64_t(gridDim.x) * team.count;
    for (uint64_t at = uint64_t(blockIdx.x) * team.count; at < params.matrices; at += step) {
        const TeamMatrix matrix(params, at + team.number);
        load_matrix(team, a, pitch, reinterpret_cast<const T *>(params.a) + matrix.offsets[1], n, n,
                    params.a_row, params.a_column);
        team.sync();
        const int status = factorize_symmetric(team, a, pitch, n);
        store_matrix<ON_AND_BELOW>(team, reinterpret_cast<T *>(params.c) + matrix.offsets[0], a,
                                   pitch, n, n, params.c_row, params.c_column, matrix.is_there,
                                   status == 0);
        report(params, team, matrix, status);
        team.sync();
    }
}

} // namespace gpu::algos::linalg
