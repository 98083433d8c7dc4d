// Elimination with partial pivoting of a stack of matrices of at most 32 rows, p a = l u, and its
// uses, as lu.cuh, with the same bits.
//
// SIZE lanes of a warp, 16 or 32, keep a matrix in registers, a row each. Step k finds the lane
// with the pivot by a vote, and that lane writes row k of u to shared memory, where the others read
// it in vectors of 16 bytes. Rows are not exchanged: a lane remembers the place of its row, and
// after the last step writes its row of l there in shared memory. Its registers are free behind its
// own step, so that later steps change them as those of the others, without a branch. One
// right-hand side is solved with an element in each lane, several with a column in each.
//
// NVRTC takes time for each step that it sees, long or short, so that loops see a block of them:
// behind each block the registers move on, the columns of the next block to the front.
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

// x in another register, in the order of the text: copies that the compiler orders by itself take
// a register for each element of a block. The empty assembly of `gpu::opaque` names no second
// register: 16 columns of f32 then take 80 registers in place of 77 (NVRTC 13.0, sm_100).
__device__ __forceinline__ float moved(float x) {
#ifndef GPU_EMULATED
    asm volatile("mov.f32 %0, %1;" : "=f"(x) : "f"(x));
#endif
    return x;
}
__device__ __forceinline__ double moved(double x) {
#ifndef GPU_EMULATED
    asm volatile("mov.f64 %0, %1;" : "=d"(x) : "d"(x));
#endif
    return x;
}

// The size of x as one or two whole numbers that have its order, the greater part first; that of a
// NaN is infinite.
__device__ __forceinline__ int size_part(float x, int) {
    const int bits = __float_as_int(x) & 0x7fffffff, infinite = 0x7f800000;
    return bits < infinite ? bits : infinite;
}
__device__ __forceinline__ int size_part(double x, int part) {
    const long long bits = __double_as_longlong(x);
    const int high = int(bits >> 32) & 0x7fffffff, infinite = 0x7ff00000;
    if (part == 0) return high < infinite ? high : infinite;
    return int((high < infinite ? uint32_t(bits) : 0) ^ 0x80000000u);
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

// The steps or rows of a block, which are unrolled. NVRTC takes 0.7 to 1.3 s of a busy core for 32
// rows, and 2.0 to 3.7 s with all steps unrolled. 16 rows of f64 spill registers with two blocks,
// and not with one.
template <class T, int SIZE> constexpr int BLOCK_ROWS = SIZE == 16 && sizeof(T) == 8 ? 16 : 8;

// The factors l and u of the matrices of a warp.
template <class T, int SIZE> struct RowElimination {
    int status; // 0, or the number of the first pivot that is 0, counted from 1
    const RowMatrices<T, SIZE> &matrices;
    // The row of l. Columns of the block come first, those behind it next, and finished ones last.
    T a[SIZE];

    __device__ __forceinline__ explicit RowElimination(const RowMatrices<T, SIZE> &matrices)
        : matrices(matrices) {}

    // Eliminates; then row i of l u is in piece i of the stage, and behind it the number of the row
    // of a, and that of the row with which step i exchanged. All lanes call it.
    __device__ __forceinline__ void run() {
        place = matrices.row < matrices.n ? matrices.row : -1;
        T *corner = matrices.pieces();
        int rest = matrices.n;
#pragma unroll 1
        for (int blocks = SIZE / BLOCK; blocks > 0; blocks--) {
#pragma unroll
            for (int k = 0; k < BLOCK; k++) {
                if (k < rest) step(k, blocks, corner + k * Stage::PITCH);
            }
            T front[BLOCK];
#pragma unroll
            for (int j = 0; j < BLOCK; j++) front[j] = a[j];
#pragma unroll
            for (int j = 0; j + BLOCK < SIZE; j++) a[j] = a[j + BLOCK];
#pragma unroll
            for (int j = 0; j < BLOCK; j++) a[SIZE - BLOCK + j] = front[j];
            place -= BLOCK, rest -= BLOCK, corner += BLOCK * (Stage::PITCH + 1);
        }
        store_left(place + SIZE);
        const int diagonal = matrices.row * (Stage::PITCH + 1);
        status = __ffs(int(vote(matrices.pieces()[diagonal] == T(0))));
    }

    // The number of the row of a that became row i, or 0 of rows that pad the matrix.
    __device__ __forceinline__ int order(int i) const { return numbers(i)[0]; }
    // The row with which step i exchanged row i.
    __device__ __forceinline__ int pivot(int i) const { return numbers(i)[1]; }
    // Whether rows were exchanged an odd number of times. All lanes call it.
    __device__ __forceinline__ bool has_odd_exchanges() const {
        return __popc(vote(pivot(matrices.row) != matrices.row)) % 2 != 0;
    }

  private:
    typedef typename RowMatrices<T, SIZE>::Stage Stage;
    static constexpr int VECTOR_SIZE = Stage::VECTOR_SIZE;
    static constexpr int BLOCK = BLOCK_ROWS<T, SIZE>;
    static_assert(SIZE % BLOCK == 0 && SIZE / BLOCK <= 4, "the blocks that a step knows");
    int place; // counted from the block; negative of finished rows and of those that pad

    __device__ __forceinline__ int32_t *numbers(int i) const {
        return reinterpret_cast<int32_t *>(matrices.pieces() + i * Stage::PITCH + SIZE);
    }
    // The rows of the lane's matrix for which it holds, row 0 in bit 0.
    __device__ __forceinline__ uint32_t vote(bool holds) const {
        const uint32_t all = __ballot_sync(0xffffffffu, holds && matrices.row < matrices.n);
        return (all & matrices.lanes()) >> (matrices.stage.lane - matrices.row);
    }
    __device__ __forceinline__ void store_vector(T *piece, int v) const {
        Pack<T, VECTOR_SIZE> vector;
#pragma unroll
        for (int e = 0; e < VECTOR_SIZE; e++) vector.lane[e] = a[v + e];
        store_pack(piece + v, vector);
    }
    // Stores the vectors of l that its step did not store with u, and the number of the row. The
    // rows that pad the matrix, of negative places, stay where they are and exchange with none.
    __device__ __forceinline__ void store_left(int to) const {
        const bool is_padding = to < 0;
        const int row = is_padding ? matrices.row : to, columns = is_padding ? SIZE : to;
        T *const piece = matrices.pieces() + row * Stage::PITCH;
#pragma unroll
        for (int v = 0; v < SIZE; v += VECTOR_SIZE) {
            if (v + VECTOR_SIZE <= columns) store_vector(piece, v);
        }
        numbers(row)[0] = is_padding ? 0 : matrices.row;
        if (is_padding) numbers(row)[1] = row;
        __syncwarp();
    }

    // The lane whose row is the pivot's: of those at place k or behind it the one with the greatest
    // x, and of equal ones the first in place.
    __device__ __forceinline__ int pivot_lane(T x, int k, bool &is_pivot) const {
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
        is_pivot = is_candidate;
        return 31 - __clz(int(vote & matrices.lanes()));
    }

    // Takes the products of `left` and the pivot's row off the columns behind the block.
    template <int BLOCKS> __device__ __forceinline__ void update(T left, const T *piece) {
#pragma unroll
        for (int v = BLOCK; v < BLOCKS * BLOCK; v += VECTOR_SIZE) {
            const Pack<T, VECTOR_SIZE> vector = load_pack<T, VECTOR_SIZE>(piece + v);
#pragma unroll
            for (int e = 0; e < VECTOR_SIZE; e++)
                a[v + e] = multiply_add(-left, vector.lane[e], a[v + e]);
        }
    }

    // Step k of a block, which is known to the compiler. The piece of row k begins with the column
    // of the block; `blocks` are left, this one among them.
    __device__ __forceinline__ void step(int k, int blocks, T *piece) {
        bool is_pivot;
        const int lane = pivot_lane(a[k], k, is_pivot);
        const int from = __shfl_sync(0xffffffffu, place, lane);
        if (is_pivot) {
#pragma unroll
            for (int v = k / VECTOR_SIZE * VECTOR_SIZE; v < SIZE; v += VECTOR_SIZE) {
                if (v / BLOCK < blocks) store_vector(piece, v);
            }
            int32_t *const numbers = reinterpret_cast<int32_t *>(piece + blocks * BLOCK);
            numbers[1] = from + (SIZE - blocks * BLOCK);
        }
        if (place == k) place = from;
        if (is_pivot) place = k;
        __syncwarp();
        T left = T(0);
#pragma unroll
        for (int v = k / VECTOR_SIZE * VECTOR_SIZE; v < BLOCK; v += VECTOR_SIZE) {
            const Pack<T, VECTOR_SIZE> vector = load_pack<T, VECTOR_SIZE>(piece + v);
#pragma unroll
            for (int e = 0; e < VECTOR_SIZE; e++) {
                const int j = v + e;
                if (j == k) {
                    const T quotient = a[k] / (vector.lane[e] == T(0) ? T(1) : vector.lane[e]);
                    left = place > k ? quotient : T(0);
                    a[k] = left;
                } else if (j > k) {
                    a[j] = multiply_add(-left, vector.lane[e], a[j]);
                }
            }
        }
        if (SIZE / BLOCK > 3 && blocks == 4) {
            update<SIZE / BLOCK>(left, piece);
        } else if (SIZE / BLOCK > 2 && blocks == 3) {
            update<SIZE / BLOCK - 1>(left, piece);
        } else if (SIZE / BLOCK > 1 && blocks == 2) {
            update<2>(left, piece);
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

// A column in the registers of a lane, with the factors in the pieces of its matrix.
template <class T, int SIZE> struct ColumnSolver {
    typedef typename RowMatrices<T, SIZE>::Stage Stage;
    static constexpr int VECTOR_SIZE = Stage::VECTOR_SIZE, BLOCK = BLOCK_ROWS<T, SIZE>;
    // The elements of a block come first, and the others behind them or before, around the end.
    T x[SIZE];

    // Solves l y = x. The rows that pad the matrix take part, and `backward` makes them 0.
    __device__ __forceinline__ void forward(const T *corner, int n) {
        int rest = n;
#pragma unroll 1
        for (int block = 0; block < SIZE; block += BLOCK) {
#pragma unroll
            for (int i = 1; i < BLOCK; i++) {
                T t[BLOCK];
                read(t, corner + i * Stage::PITCH);
#pragma unroll
                for (int k = 0; k < i; k++) x[i] = multiply_add(-t[k], x[k], x[i]);
                __syncwarp();
            }
#pragma unroll
            for (int first = BLOCK; first < SIZE; first += BLOCK) {
                if (first >= rest) continue;
#pragma unroll
                for (int i = first; i < first + BLOCK; i++) {
                    T t[BLOCK];
                    read(t, corner + i * Stage::PITCH);
#pragma unroll
                    for (int k = 0; k < BLOCK; k++) x[i] = multiply_add(-t[k], x[k], x[i]);
                    separate(i);
                }
            }
#pragma unroll
            for (int i = 0; i < BLOCK; i++) {
                const T front = moved(x[i]);
#pragma unroll
                for (int j = i; j + BLOCK < SIZE; j += BLOCK) x[j] = moved(x[j + BLOCK]);
                x[SIZE - BLOCK + i] = front;
            }
            rest -= BLOCK, corner += BLOCK * (Stage::PITCH + 1);
        }
    }

    // Solves u z = y, and stores z to elements `step` apart where the lane has a column.
    __device__ __forceinline__ void backward(const T *corner, int n, T *to, int64_t step,
                                             bool is_stored, bool has_result) {
        corner += SIZE * (Stage::PITCH + 1);
        to += SIZE * step;
#pragma unroll 1
        for (int block = SIZE - BLOCK; block >= 0; block -= BLOCK) {
            corner -= BLOCK * (Stage::PITCH + 1);
#pragma unroll
            for (int i = 0; i < BLOCK; i++) {
                const T front = moved(x[SIZE - BLOCK + i]);
#pragma unroll
                for (int j = SIZE - BLOCK + i; j >= BLOCK; j -= BLOCK) x[j] = moved(x[j - BLOCK]);
                x[i] = front;
            }
#pragma unroll
            for (int i = BLOCK - 1; i >= 0; i--) {
                T t[BLOCK];
                read(t, corner + i * Stage::PITCH);
                to -= step;
                if (block + i < n) {
#pragma unroll
                    for (int k = BLOCK - 1; k > i; k--) x[i] = multiply_add(-t[k], x[k], x[i]);
                    x[i] /= t[i];
                    if (is_stored) *to = result_or_nan(x[i], has_result);
                } else {
                    x[i] = T(0);
                }
                __syncwarp();
            }
#pragma unroll
            for (int first = BLOCK; first < SIZE; first += BLOCK) {
                if (first > block) continue;
#pragma unroll
                for (int i = 0; i < BLOCK; i++) {
                    T t[BLOCK];
                    read(t, corner + (i - first) * Stage::PITCH);
                    T &sum = x[SIZE - first + i];
#pragma unroll
                    for (int k = BLOCK - 1; k >= 0; k--) sum = multiply_add(-t[k], x[k], sum);
                    separate(i);
                }
            }
        }
    }

  private:
    static __device__ __forceinline__ void read(T (&t)[BLOCK], const T *from) {
#pragma unroll
        for (int v = 0; v < BLOCK; v += VECTOR_SIZE) {
            const Pack<T, VECTOR_SIZE> vector = load_pack<T, VECTOR_SIZE>(from + v);
#pragma unroll
            for (int e = 0; e < VECTOR_SIZE; e++) t[v + e] = vector.lane[e];
        }
    }
    // A barrier, which keeps the compiler from loading more than a few rows early.
    static __device__ __forceinline__ void separate(int i) {
        if (i % VECTOR_SIZE == VECTOR_SIZE - 1) __syncwarp();
    }
};

// Solves for several right-hand sides, or for the columns of the unit matrix, a column in each
// lane, of the matrix with this number. All lanes call it.
template <class T, int SIZE> __device__ __forceinline__ void
solve_by_columns(const RowElimination<T, SIZE> &factors, uint64_t number) {
    const RowMatrices<T, SIZE> &matrices = factors.matrices;
    const LinalgParams<MAX_AXES> &params = matrices.params;
    for (uint64_t first = 0; first < params.columns; first += SIZE) {
        const uint64_t column = first + matrices.row;
        const bool has_column = column < params.columns;
        ColumnSolver<T, SIZE> solver;
        if (params.b == 0) {
#pragma unroll
            for (int i = 0; i < SIZE; i++) solver.x[i] = T(factors.order(i) == int(column));
        } else {
            // Lanes without a column and rows that pad the matrix read elements of others.
            const T *const from = reinterpret_cast<const T *>(params.b) +
                                  TeamMatrix::compact(params, number).offsets[RIGHT] +
                                  int64_t(has_column ? column : 0) * params.b_column;
#pragma unroll
            for (int i = 0; i < SIZE; i++) solver.x[i] = from[factors.order(i) * params.b_row];
        }
        solver.forward(matrices.pieces(), matrices.n);
        // Offsets that were computed before would be in registers all the while.
        const TeamMatrix matrix = TeamMatrix::compact(params, number);
        T *const to = reinterpret_cast<T *>(params.c) + matrix.offsets[RESULT] +
                      int64_t(column) * params.c_column;
        solver.backward(matrices.pieces(), matrices.n, to, params.c_row,
                        has_column && matrix.is_there, factors.status == 0);
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
    constexpr int COUNT = RowMatrices<T, SIZE>::COUNT;
    const uint64_t warps = blockDim.x / 32, step = uint64_t(gridDim.x) * warps * COUNT;
    for (uint64_t first = (uint64_t(blockIdx.x) * warps + threadIdx.x / 32) * COUNT;
         first < params.matrices; first += step) {
        const RowMatrices<T, SIZE> matrices(params, shared, opaque(threadIdx.x));
        const int n = matrices.n, row = matrices.row;
        const uint64_t number = first + matrices.stage.lane / SIZE;
        RowElimination<T, SIZE> factors(matrices);
        matrices.load(factors.a, first, TeamMatrix::compact(params, number));
        factors.run();
        const TeamMatrix matrix = TeamMatrix::compact(params, number);
        report(params, matrices.team, matrix, factors.status);
        if constexpr (USE == ONE_COLUMN) {
            solve_by_rows(factors, matrix);
        } else if constexpr (USE == COLUMNS) {
            solve_by_columns(factors, number);
        } else if (params.mode == FACTORS) {
            if (row < n && matrix.is_there)
                reinterpret_cast<int32_t *>(params.d)[matrix.number * n + row] = factors.pivot(row);
            matrices.store(first, matrix);
        } else {
            SignedProduct<T> product(factors.has_odd_exchanges());
            if (row == 0 && matrix.is_there) {
                for (int k = 0; k < n; k++)
                    product.take(matrices.pieces()[k * (matrices.stage.PITCH + 1)]);
                store_determinant(params, matrix, product);
            }
        }
        __syncwarp();
    }
}

} // namespace gpu::algos::linalg
