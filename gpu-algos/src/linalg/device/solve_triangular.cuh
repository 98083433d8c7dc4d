// Solutions of triangular systems, t x = b, for a stack of small matrices.
//
// A team of threads (team.cuh) keeps the matrix in shared memory and takes `chunk` right-hand sides
// at a time. A matrix with a 0 on its diagonal has no solution: its status is the first one's
// place, counted from 1, and its x is NaN.
//
// Contract: a grid of any size, which strides over the stack; blocks of whole warps with `team`
// threads for each team, at most 128, and with WARPS > 1 of 32 WARPS threads; dynamic shared memory
// `team_elements` elements for each team. Rows at most 64; strides are in elements and may be
// negative, those of a and b 0 too; c overlaps neither a nor b. Bytes moved: a, b and c once.
// Parameters: LinalgParams (params.rs), of which d is not read.
// Source: Golub and Van Loan, Matrix Computations (2013), 3.1.
#pragma once
#include "substitute.cuh"

namespace gpu::algos::linalg {

template <class T, int WARPS> __global__ void __launch_bounds__(MOST_THREADS)
    solve_triangular(const __grid_constant__ LinalgParams<MAX_AXES> params) {
    SHARED_DYNAMIC(T, shared);
    const Team<WARPS> team(params.team);
    T *const a = shared + team.number * params.team_elements;
    const int n = int(params.rows), pitch = int(params.a_pitch);
    const Triangular<T> triangle = {a, pitch, n, (params.mode & LOWER) != 0,
                                    (params.mode & UNIT) != 0};
    gpu::grid_dependency_wait();
    const uint64_t step = uint64_t(gridDim.x) * team.count;
    for (uint64_t at = uint64_t(blockIdx.x) * team.count; at < params.matrices; at += step) {
        const TeamMatrix matrix(params, at + team.number);
        load_matrix(team, a, pitch, reinterpret_cast<const T *>(params.a) + matrix.offsets[1], n, n,
                    params.a_row, params.a_column);
        team.sync();
        int status = 0;
        for (int k = n - 1; k >= 0 && !triangle.is_unit; k--) {
            if (a[k * pitch + k] == T(0)) status = k + 1;
        }
        const RightSides<T, LinalgParams<MAX_AXES>, WARPS> sides = {params, team, matrix,
                                                                    a + params.b_offset};
        sides.solve(triangle, nullptr, nullptr, status == 0);
        report(params, team, matrix, status);
        team.sync();
    }
}

} // namespace gpu::algos::linalg
