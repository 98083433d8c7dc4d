// Reduced QR factors of a stack of small matrices, a = q r, by Householder's reflections.
//
// A team of threads (team.cuh) keeps the matrix in shared memory. Reflection k is 1 - tau v v^T
// with v[k] = 1; the rest of v takes the place of column k below the diagonal. Its norm is taken of
// the column divided by its greatest element, so that no square overflows. r[k][k] has the sign
// opposite to that of the element that it replaces, as LAPACK chooses it; a column that is 0 below
// that element stays as it is. Then the reflections are applied to the unit matrix, from the last
// on, in the same place.
//
// Contract: a grid of any size, which strides over the stack; blocks of whole warps with `team`
// threads for each team, at most 128, and with WARPS > 1 of 32 WARPS threads; dynamic shared memory
// `team_elements` elements for each team. Rows and columns at most 64. Strides are in elements and
// may be negative, those of a 0 too; c, which is q, does not overlap a; d, which is r, is in C
// order. Bytes moved: a, q and r once. Parameters: LinalgParams (params.rs), of which b is not
// read. Source: Golub and Van Loan, Matrix Computations (2013), 5.1 and 5.2.
#pragma once
#include "team.cuh"

namespace gpu::algos::linalg {

// Applies reflection k, whose v stands in column k, to columns first to end - 1, one for a thread.
template <class T, int WARPS> __device__ __forceinline__ void
reflect(const Team<WARPS> &team, T *a, int pitch, int rows, int k, T tau, int first, int end) {
    for (int j = first + team.thread; j < end; j += team.size) {
        T sum = a[k * pitch + j];
        for (int i = k + 1; i < rows; i++)
            sum = multiply_add(a[i * pitch + k], a[i * pitch + j], sum);
        sum *= tau;
        a[k * pitch + j] -= sum;
        for (int i = k + 1; i < rows; i++)
            a[i * pitch + j] = multiply_add(-a[i * pitch + k], sum, a[i * pitch + j]);
    }
}

// Replaces column k by v and the diagonal of r; returns tau. Each warp of the team computes it by
// itself, in all lanes: `reduce_lanes` (block/reduce.cuh) has results in the first lane alone.
template <class T, int WARPS> __device__ __forceinline__ T make_reflection(const Team<WARPS> &team,
                                                                           T *a, int pitch,
                                                                           int rows, int k) {
    T most = T(0), squares = T(0);
    for (int i = k + team.x; i < rows; i += team.across) {
        const T size = magnitude(a[i * pitch + k]);
        if (size > most) most = size;
    }
    for (int lanes = team.across / 2; lanes > 0; lanes /= 2) {
        const T other = __shfl_xor_sync(0xffffffffu, most, lanes);
        if (other > most) most = other;
    }
    const T scale = most > T(0) ? most : T(1);
    for (int i = k + 1 + team.x; i < rows; i += team.across) {
        const T part = a[i * pitch + k] / scale;
        squares = multiply_add(part, part, squares);
    }
    for (int lanes = team.across / 2; lanes > 0; lanes /= 2)
        squares += __shfl_xor_sync(0xffffffffu, squares, lanes);
    const T head = a[k * pitch + k] / scale;
    const T norm = square_root(multiply_add(head, head, squares));
    const T turned = head < T(0) ? norm : -norm;
    team.sync(); // all have read the column
    if (squares != T(0)) {
        for (int i = k + 1 + team.thread; i < rows; i += team.size)
            a[i * pitch + k] = a[i * pitch + k] / scale / (head - turned);
        if (team.thread == 0) a[k * pitch + k] = turned * scale;
    }
    team.sync();
    return squares != T(0) ? (turned - head) / turned : T(0);
}

// Replaces the first `count` columns, which hold the reflections, by q.
template <class T, int WARPS> __device__ __forceinline__ void
apply_reflections(const Team<WARPS> &team, T *a, int pitch, int rows, int count, const T *taus) {
    for (int k = count - 1; k >= 0; k--) {
        const T tau = taus[k];
        reflect(team, a, pitch, rows, k, tau, k + 1, count);
        team.sync();
        for (int i = team.thread; i < rows; i += team.size) {
            const T v = a[i * pitch + k];
            a[i * pitch + k] = i < k ? T(0) : i == k ? T(1) - tau : -tau * v;
        }
        team.sync();
    }
}

template <class T, int WARPS> __global__ void __launch_bounds__(MOST_THREADS)
    qr(const __grid_constant__ LinalgParams<MAX_AXES> params) {
    SHARED_DYNAMIC(T, shared);
    const Team<WARPS> team(params.team);
    T *const a = shared + team.number * params.team_elements, *const taus = a + params.order_offset;
    const int rows = int(params.rows), columns = int(params.columns);
    const int pitch = int(params.a_pitch), count = rows < columns ? rows : columns;
    gpu::grid_dependency_wait();
    const uint64_t step = uint64_t(gridDim.x) * team.count;
    for (uint64_t at = uint64_t(blockIdx.x) * team.count; at < params.matrices; at += step) {
        const TeamMatrix matrix(params, at + team.number);
        load_matrix(team, a, pitch, reinterpret_cast<const T *>(params.a) + matrix.offsets[1], rows,
                    columns, params.a_row, params.a_column);
        team.sync();
        for (int k = 0; k < count; k++) {
            const T tau = make_reflection(team, a, pitch, rows, k);
            if (team.thread == 0) taus[k] = tau;
            reflect(team, a, pitch, rows, k, tau, k + 1, columns);
            team.sync();
        }
        T *const r = reinterpret_cast<T *>(params.d) + matrix.number * count * columns;
        store_matrix<ON_AND_ABOVE>(team, r, a, pitch, count, columns, columns, 1, matrix.is_there,
                                   true);
        team.sync();
        apply_reflections(team, a, pitch, rows, count, taus);
        store_matrix<ALL>(team, reinterpret_cast<T *>(params.c) + matrix.offsets[0], a, pitch, rows,
                          count, params.c_row, params.c_column, matrix.is_there, true);
        team.sync();
    }
}

} // namespace gpu::algos::linalg
