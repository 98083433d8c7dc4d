// Forward and back substitution in shared memory, for any number of right-hand sides.
#pragma once
#include "team.cuh"

namespace gpu::algos::linalg {

// A triangular matrix of n rows in shared memory.
template <class T> struct Triangular {
    const T *at;
    int pitch, n;
    bool is_lower, is_unit; // the diagonal of a unit triangle is 1, and not read
};

// Solves t x = b for `columns` columns of b, in place. Each step finishes one row of x and
// subtracts its multiples from the rows that are left, which the threads share: column by column if
// there are many, else row by row. `columns` is at most the size of the team.
template <class T, int WARPS> __device__ __forceinline__ void
substitute(const Team<WARPS> &team, const Triangular<T> &t, T *b, int b_pitch, int columns) {
    int threads = 1;
    while (threads < columns) threads *= 2;
    const int column = team.thread & (threads - 1), first = team.thread / threads;
    const int step = team.size / threads;
    const bool has_column = column < columns;
    for (int done = 0; done < t.n; done++) {
        const int k = t.is_lower ? done : t.n - 1 - done;
        if (!t.is_unit) {
            if (has_column && first == 0) b[k * b_pitch + column] /= t.at[k * t.pitch + k];
            team.sync();
        }
        if (has_column) {
            const T x = b[k * b_pitch + column];
            const int end = t.is_lower ? t.n : k;
            for (int i = (t.is_lower ? k + 1 : 0) + first; i < end; i += step) {
                b[i * b_pitch + column] =
                    multiply_add(-t.at[i * t.pitch + k], x, b[i * b_pitch + column]);
            }
        }
        team.sync();
    }
}

// The right-hand sides and the solutions of a matrix: `chunk` columns at a time pass through shared
// memory.
template <class T, class Params, int WARPS> struct RightSides {
    const Params &params;
    const Team<WARPS> &team;
    const TeamMatrix &matrix;
    T *const b; // in shared memory

    // Loads columns first to first + columns - 1, row order[i] to row i; without an address the
    // columns are those of the unit matrix, and without an order the rows stay where they are.
    __device__ __forceinline__ void load(uint64_t first, int columns, const int32_t *order) const {
        const int n = int(params.rows);
        const T *from = reinterpret_cast<const T *>(params.b) + matrix.offsets[2] +
                        int64_t(first) * params.b_column;
        const MatrixWalk walk(n, columns, params.b_row, params.b_column);
#pragma unroll 4
        for (int i = team.y; i < walk.outer; i += team.down) {
            for (int j = team.x; j < walk.inner; j += team.across) {
                const int r = walk.row(i, j), c = walk.column(i, j);
                const int source = order != nullptr ? order[r] : r;
                b[r * int(params.b_pitch) + c] =
                    params.b == 0 ? T(source == int(first) + c)
                                  : from[source * params.b_row + c * params.b_column];
            }
        }
        team.sync();
    }

    __device__ __forceinline__ void store(uint64_t first, int columns, bool has_result) const {
        T *to =
            reinterpret_cast<T *>(params.c) + matrix.offsets[0] + int64_t(first) * params.c_column;
        store_matrix<ALL>(team, to, b, int(params.b_pitch), int(params.rows), columns, params.c_row,
                          params.c_column, matrix.is_there, has_result);
        team.sync();
    }

    // Solves t x = b, or t u x = b with two triangles.
    __device__ __forceinline__ void solve(const Triangular<T> &t, const Triangular<T> *u,
                                          const int32_t *order, bool has_result) const {
        for (uint64_t first = 0; first < params.columns; first += params.chunk) {
            const uint64_t left = params.columns - first;
            const int columns = int(left < params.chunk ? left : params.chunk);
            load(first, columns, order);
            substitute(team, t, b, int(params.b_pitch), columns);
            if (u != nullptr) substitute(team, *u, b, int(params.b_pitch), columns);
            store(first, columns, has_result);
        }
    }
};

} // namespace gpu::algos::linalg
