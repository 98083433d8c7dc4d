// Elimination with partial pivoting of a stack of small matrices, p a = l u, and its uses: the
// factors, solutions of a x = b, inverses, and determinants or their signs and logarithms.
//
// A team of threads (team.cuh) keeps the matrix in shared memory. Step k takes as its pivot the
// element of column k that is greatest in size, the first of equal ones; NaN counts as infinite.
// It exchanges rows, divides the column by the pivot, and subtracts products of column and row from
// the matrix that is left. A pivot that is 0 means that the matrix is singular: its status is the
// first one's number, counted from 1, and solutions and inverse are NaN.
//
// MODE in the parameters: FACTORS writes l without its diagonal of ones and u to c, and to d for
// each row the one that it was exchanged with; SOLUTION and INVERSE write to c, DETERMINANT one
// element; LOG_DETERMINANT writes the sign of the determinant to c and the logarithm of its size to
// d, an element each.
//
// Contract: a grid of any size, which strides over the stack; blocks of whole warps with `team`
// threads for each team, at most 128, and with WARPS > 1 of 32 WARPS threads; dynamic shared memory
// `team_elements` elements for each team. Rows at most 64. Strides are in elements and may be
// negative, those of a and b 0 too; c overlaps neither a nor b, and d is in C order. Bytes moved:
// a, b, c and d once. Parameters: LinalgParams (params.rs). Source: Golub and Van Loan, Matrix
// Computations (2013), 3.4; Higham, Accuracy and Stability of Numerical Algorithms (2002), chapter
// 9, and 14.6 on determinants.
#pragma once
#include "determinant.cuh"
#include "substitute.cuh"

namespace gpu::algos::linalg {

// The row from k on with the greatest element in a column. Each warp of the team finds it by
// itself, in all lanes: `reduce_lanes` (block/reduce.cuh) has results in the first lane alone.
template <class T, int WARPS> __device__ __forceinline__ int
pivot_row(const Team<WARPS> &team, const T *column, int pitch, int k, int n) {
    T most = T(-1);
    int row = k;
    for (int i = k + team.x; i < n; i += team.across) {
        const T size = magnitude(column[i * pitch]);
        if (size > most) most = size, row = i;
    }
    for (int lanes = team.across / 2; lanes > 0; lanes /= 2) {
        const T other = __shfl_xor_sync(0xffffffffu, most, lanes);
        const int other_row = __shfl_xor_sync(0xffffffffu, row, lanes);
        if (other > most || (other == most && other_row < row)) most = other, row = other_row;
    }
    return row;
}

// Replaces a by l and u. Row i of l u is row order[i] of a; `pivots` has the exchanges, unless it
// is null.
template <class T, int WARPS>
__device__ __forceinline__ Elimination eliminate(const Team<WARPS> &team, T *a, int pitch, int n,
                                                 int32_t *order, int32_t *pivots) {
    Elimination told = {0, false};
    for (int i = team.thread; i < n; i += team.size) order[i] = i;
    team.sync();
    for (int k = 0; k < n; k++) {
        const int row = pivot_row(team, a + k, pitch, k, n);
        const T pivot = a[row * pitch + k], head = a[k * pitch + k];
        if (pivot == T(0) && told.status == 0) told.status = k + 1;
        told.is_odd ^= row != k;
        team.sync(); // all have read the column
        // Rows k and `row` are exchanged, but for column k, which is divided with `head` in its new
        // place.
        for (int j = team.thread; j < n && row != k; j += team.size) {
            if (j == k) continue;
            const T other = a[row * pitch + j];
            a[row * pitch + j] = a[k * pitch + j];
            a[k * pitch + j] = other;
        }
        for (int i = k + 1 + team.thread; i < n; i += team.size) {
            const T below = i == row ? head : a[i * pitch + k];
            a[i * pitch + k] = pivot == T(0) ? below : below / pivot;
        }
        if (team.thread == 0) {
            a[k * pitch + k] = pivot;
            const int32_t other = order[row];
            order[row] = order[k];
            order[k] = other;
            if (pivots != nullptr) pivots[k] = row;
        }
        team.sync();
        for (int i = k + 1 + team.y; i < n; i += team.down) {
            const T left = -a[i * pitch + k];
            for (int j = k + 1 + team.x; j < n; j += team.across)
                a[i * pitch + j] = multiply_add(left, a[k * pitch + j], a[i * pitch + j]);
        }
        team.sync();
    }
    return told;
}

template <class T, int WARPS> __global__ void __launch_bounds__(MOST_THREADS)
    lu(const __grid_constant__ LinalgParams<MAX_AXES> params) {
    SHARED_DYNAMIC(T, shared);
    const Team<WARPS> team(params.team);
    T *const a = shared + team.number * params.team_elements;
    int32_t *const order = reinterpret_cast<int32_t *>(a + params.order_offset);
    const int n = int(params.rows), pitch = int(params.a_pitch);
    gpu::grid_dependency_wait();
    const uint64_t step = uint64_t(gridDim.x) * team.count;
    for (uint64_t at = uint64_t(blockIdx.x) * team.count; at < params.matrices; at += step) {
        const TeamMatrix matrix(params, at + team.number);
        load_matrix(team, a, pitch, reinterpret_cast<const T *>(params.a) + matrix.offsets[1], n, n,
                    params.a_row, params.a_column);
        int32_t *pivots = reinterpret_cast<int32_t *>(params.d) + matrix.number * n;
        if (params.mode != FACTORS || !matrix.is_there) pivots = nullptr;
        team.sync();
        const Elimination told = eliminate(team, a, pitch, n, order, pivots);
        T *const c = reinterpret_cast<T *>(params.c) + matrix.offsets[0];
        if (params.mode == FACTORS) {
            store_matrix<ALL>(team, c, a, pitch, n, n, params.c_row, params.c_column,
                              matrix.is_there, true);
        } else if (params.mode == DETERMINANT || params.mode == LOG_DETERMINANT) {
            if (team.thread == 0 && matrix.is_there) {
                SignedProduct<T> product(told.is_odd);
                for (int k = 0; k < n; k++) product.take(a[k * pitch + k]);
                store_determinant(params, matrix, product);
            }
        } else {
            const Triangular<T> lower = {a, pitch, n, true, true}, upper = {a, pitch, n, false};
            const RightSides<T, LinalgParams<MAX_AXES>, WARPS> sides = {params, team, matrix,
                                                                        a + params.b_offset};
            sides.solve(lower, &upper, order, told.status == 0);
        }
        report(params, team, matrix, told.status);
        team.sync();
    }
}

} // namespace gpu::algos::linalg
