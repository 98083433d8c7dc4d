// Elimination with partial pivoting of a stack of matrices of at most 32 rows, p a = l u, and its
// uses, as lu.cuh, with the same bits.
//
// SIZE lanes of a warp, 16 or 32, keep a matrix in registers, a row each. Step k finds the lane
// with the pivot by a vote, and that lane writes its row to shared memory, where the others read it
// in vectors of 16 bytes. Rows are not exchanged: a lane remembers the place of its row, and after
// the last step writes it there in shared memory. One right-hand side is solved with an
// element in each lane, several with a column in each.
//
// Contract: a grid of any size, which strides over the stack; blocks of whole warps, at most 128
// threads; dynamic shared memory SIZE elements and 16 bytes for each thread. Rows at most SIZE.
// Modes, strides, results and parameters are those of lu.cuh; USE is the part of the modes that is
// compiled: SOLUTION of one column is ONE_COLUMN, of several COLUMNS, as is INVERSE, and the others
// are FACTORS_ALONE. Bytes moved: a, b, c and d once.
// Source: that of lu.cuh.
#pragma once
#include "determinant.cuh"
#include "rows.cuh"

namespace gpu::algos::linalg {

// The size of x as one or two whole numbers that have its order, the greater part first; that of a
// NaN is infinite.
__device__ __forceinline__ int size_part(float x, int) {
    return __float_as_int(magnitude(x)) & 0x7fffffff;
}
__device__ __forceinline__ int size_part(double x, int part) {
    const long long bits = __double_as_longlong(magnitude(x));
    return part == 0 ? int(bits >> 32) & 0x7fffffff : int(uint32_t(bits) ^ 0x80000000u);
}

// Whether a vote has two lanes of one matrix.
template <int SIZE> __device__ __forceinline__ bool has_ties(uint32_t vote) {
    bool ties = false;
#pragma unroll
    for (int first = 0; first < 32; first += SIZE) {
        const uint32_t own = vote >> first & (SIZE == 32 ? 0xffffffffu : (1u << SIZE % 32) - 1);
        ties |= (own & (own - 1)) != 0;
    }
    return ties;
}

// The factors l and u of the matrices of a warp. A lane keeps the row of l and u that its row of a
// becomes, and its place there.
template <class T, int SIZE> struct RowElimination : Elimination {
    const RowMatrices<T, SIZE> &matrices;
    T a[SIZE];
    int place; // -1 of the rows that pad the matrix, which no step changes
    int pivot; // the row that row `matrices.row` was exchanged with in the step of this number

    __device__ __forceinline__ explicit RowElimination(const RowMatrices<T, SIZE> &matrices)
        : matrices(matrices) {}

    // Eliminates; then row i of l u is in piece i of the stage, and behind it the number of the row
    // of a. All lanes call it.
    __device__ __forceinline__ void run() {
        status = 0, is_odd = false;
        pivot = matrices.row;
        place = matrices.row < matrices.n ? matrices.row : -1;
#pragma unroll
        for (int k = 0; k < SIZE; k++) {
            if (k < matrices.n) step(k);
        }
        __syncwarp(); // all have read the last row
        const int to = place < 0 ? matrices.row : place;
        T *const piece = matrices.pieces() + to * RowMatrices<T, SIZE>::Stage::PITCH;
        RowMatrices<T, SIZE>::Stage::write(piece, a);
        *reinterpret_cast<int32_t *>(piece + SIZE) = matrices.row;
        __syncwarp();
    }

    // The number of the row of a that became row i.
    __device__ __forceinline__ int order(int i) const {
        const T *piece = matrices.pieces() + i * RowMatrices<T, SIZE>::Stage::PITCH;
        return *reinterpret_cast<const int32_t *>(piece + SIZE);
    }

  private:
    // The lane whose row is the pivot's: of those at place k or behind it the one with the greatest
    // x, and of equal ones the first in place.
    __device__ __forceinline__ int pivot_lane(T x, int k) const {
        bool is_candidate = place >= k;
        const int size = is_candidate ? size_part(x, 0) : -1;
        is_candidate &= size == greatest<SIZE>(size);
        uint32_t vote = __ballot_sync(0xffffffffu, is_candidate);
        if (has_ties<SIZE>(vote)) {
            if (sizeof(T) == 8) {
                const int rest = is_candidate ? size_part(x, 1) : -0x7fffffff - 1;
                is_candidate &= rest == greatest<SIZE>(rest);
            }
            const int early = is_candidate ? -place : -SIZE;
            is_candidate &= early == greatest<SIZE>(early);
            vote = __ballot_sync(0xffffffffu, is_candidate);
        }
        const int first = matrices.stage.lane - matrices.row;
        const uint32_t all = SIZE == 32 ? 0xffffffffu : (1u << SIZE % 32) - 1;
        return first + __ffs(int(vote >> first & all)) - 1;
    }

    // Step k, which is known to the compiler.
    __device__ __forceinline__ void step(int k) {
        const int lane = pivot_lane(a[k], k);
        const int from = __shfl_sync(0xffffffffu, place, lane);
        T *const list = matrices.list(k % 2);
        constexpr int VECTOR_SIZE = RowMatrices<T, SIZE>::Stage::VECTOR_SIZE;
        if (matrices.stage.lane == lane) {
#pragma unroll
            for (int v = k / VECTOR_SIZE * VECTOR_SIZE; v < SIZE; v += VECTOR_SIZE) {
                Pack<T, VECTOR_SIZE> vector;
#pragma unroll
                for (int e = 0; e < VECTOR_SIZE; e++) vector.lane[e] = a[v + e];
                store_pack(list + v, vector);
            }
        }
        if (place == k) place = from;
        if (matrices.stage.lane == lane) place = k;
        if (matrices.row == k) pivot = from;
        is_odd ^= from != k;
        __syncwarp(); // the other list is free: all have read it
        T divisor = T(1), left = T(0);
#pragma unroll
        for (int v = k / VECTOR_SIZE * VECTOR_SIZE; v < SIZE; v += VECTOR_SIZE) {
            const Pack<T, VECTOR_SIZE> vector = load_pack<T, VECTOR_SIZE>(list + v);
#pragma unroll
            for (int e = 0; e < VECTOR_SIZE; e++) {
                const int j = v + e;
                if (j == k) {
                    if (vector.lane[e] == T(0)) {
                        if (status == 0) status = k + 1;
                    } else {
                        divisor = vector.lane[e];
                    }
                    left = a[k] / divisor;
                    if (place > k) a[k] = left;
                } else if (j > k) {
                    if (place > k) a[j] = multiply_add(-left, vector.lane[e], a[j]);
                }
            }
        }
    }
};

// Solves for one right-hand side, an element of which each lane has. All lanes call it.
template <class T, int SIZE> __device__ __forceinline__ void
solve_by_rows(const RowElimination<T, SIZE> &factors, const TeamMatrix &matrix) {
    const RowMatrices<T, SIZE> &matrices = factors.matrices;
    const LinalgParams<MAX_AXES> &params = matrices.params;
    const int row = matrices.row, n = matrices.n;
    const T *const piece = matrices.stage.piece(matrices.stage.lane);
    const int source = factors.order(row);
    const T diagonal = piece[row];
    T a[SIZE];
    matrices.stage.read(a, piece);
#pragma unroll
    for (int k = 0; k < SIZE; k++) a[k] = -a[k];
    const T *const b =
        reinterpret_cast<const T *>(params.b) + matrix.offsets[RIGHT] + source * params.b_row;
    T *const c = reinterpret_cast<T *>(params.c) + matrix.offsets[RESULT] + row * params.c_row;
    T x = row < n ? *b : T(0);
#pragma unroll
    for (int k = 0; k < SIZE; k++) {
        if (k >= n) continue;
        const T above = __shfl_sync(0xffffffffu, x, k, SIZE);
        if (row > k) x = multiply_add(a[k], above, x);
    }
#pragma unroll
    for (int k = SIZE - 1; k >= 0; k--) {
        if (k >= n) continue;
        const T quotient = x / diagonal;
        if (row == k) x = quotient;
        const T below = __shfl_sync(0xffffffffu, quotient, k, SIZE);
        if (row < k) x = multiply_add(a[k], below, x);
    }
    if (row < n && matrix.is_there) *c = result_or_nan(x, factors.status == 0);
}

// Solves for several right-hand sides, or for the columns of the unit matrix, a column in each
// lane. All lanes call it.
template <class T, int SIZE> __device__ __forceinline__ void
solve_by_columns(const RowElimination<T, SIZE> &factors, const TeamMatrix &matrix) {
    typedef typename RowMatrices<T, SIZE>::Stage Stage;
    const RowMatrices<T, SIZE> &matrices = factors.matrices;
    const LinalgParams<MAX_AXES> &params = matrices.params;
    const int n = matrices.n;
    const T *const pieces = matrices.pieces();
    const T *const b = reinterpret_cast<const T *>(params.b) + matrix.offsets[RIGHT];
    T *const c = reinterpret_cast<T *>(params.c) + matrix.offsets[RESULT];
    for (uint64_t first = 0; first < params.columns; first += SIZE) {
        const uint64_t column = first + matrices.row;
        const bool has_column = column < params.columns;
        T x[SIZE];
#pragma unroll
        for (int i = 0; i < SIZE; i++) {
            x[i] = T(0);
            if (i < n && has_column) {
                const int source = factors.order(i);
                x[i] = params.b == 0 ? T(uint64_t(source) == column)
                                     : b[source * params.b_row + int64_t(column) * params.b_column];
            }
        }
        // Sums do not ask for n: the rows and columns that pad the factors, and their elements of
        // x, are 0. The barriers keep the compiler from loading rows early.
#pragma unroll
        for (int i = 1; i < SIZE; i++) {
            T t[SIZE];
            Stage::read(t, pieces + i * Stage::PITCH);
#pragma unroll
            for (int k = 0; k < i; k++) x[i] = multiply_add(-t[k], x[k], x[i]);
            __syncwarp();
        }
#pragma unroll
        for (int i = SIZE - 1; i >= 0; i--) {
            if (i >= n) x[i] = T(0);
            T t[SIZE];
            Stage::read(t, pieces + i * Stage::PITCH);
#pragma unroll
            for (int k = SIZE - 1; k > i; k--) x[i] = multiply_add(-t[k], x[k], x[i]);
            if (i < n) x[i] /= t[i];
            __syncwarp();
        }
        T *to = c + int64_t(column) * params.c_column;
#pragma unroll
        for (int i = 0; i < SIZE; i++, to += params.c_row) {
            if (i < n && has_column && matrix.is_there)
                *to = result_or_nan(x[i], factors.status == 0);
        }
    }
}

// Steps wait for each other more than for arithmetic, so that resident warps count more than a few
// spilled registers: of 6 blocks of 128 threads 2^18 solutions of 16 rows of f32 take an H200 441
// us, of 4, without a spilled one, 528.
template <class T, int SIZE, int USE>
__global__ void __launch_bounds__(MOST_THREADS, SIZE * sizeof(T) < 256 ? 6 : 4)
    lu_by_rows(const __grid_constant__ LinalgParams<MAX_AXES> params) {
    SHARED_DYNAMIC(T, shared);
    gpu::grid_dependency_wait();
    const RowMatrices<T, SIZE> matrices(params, shared);
    const int n = matrices.n, row = matrices.row;
    const uint64_t warps = blockDim.x / 32, step = uint64_t(gridDim.x) * warps * matrices.COUNT;
    for (uint64_t first = (uint64_t(blockIdx.x) * warps + threadIdx.x / 32) * matrices.COUNT;
         first < params.matrices; first += step) {
        const TeamMatrix matrix(params, first + matrices.stage.lane / SIZE);
        RowElimination<T, SIZE> factors(matrices);
        matrices.load(factors.a, first, matrix);
        factors.run();
        if constexpr (USE == ONE_COLUMN) {
            solve_by_rows(factors, matrix);
        } else if constexpr (USE == COLUMNS) {
            solve_by_columns(factors, matrix);
        } else if (params.mode == FACTORS) {
            if (row < n && matrix.is_there)
                reinterpret_cast<int32_t *>(params.d)[matrix.number * n + row] = factors.pivot;
            matrices.store(first, matrix);
        } else if (row == 0 && matrix.is_there) {
            SignedProduct<T> product(factors.is_odd);
            for (int k = 0; k < n; k++)
                product.take(matrices.pieces()[k * (matrices.stage.PITCH + 1)]);
            store_determinant(params, matrix, product);
        }
        report(params, matrices.team, matrix, factors.status);
        __syncwarp();
    }
}

} // namespace gpu::algos::linalg
