// Small matrices in the registers of a warp: of each lane a whole matrix (`*_by_threads.cuh`) or
// one row (`*_by_rows.cuh`). SIZE is the number of rows for which the loops are unrolled; matrices
// of fewer rows are padded.
#pragma once
#include "packs.cuh"
#include "team.cuh"

namespace gpu::algos::linalg {

// Shared memory of a warp, in which elements pass between lanes and memory. Each lane has a piece
// of COUNT elements: its matrix, or its row. Between two pieces are 16 bytes, which spread accesses
// of 16 bytes over the banks.
template <class T, int COUNT> struct WarpStage {
    static constexpr int VECTOR_SIZE = 16 / int(sizeof(T)), PITCH = COUNT + VECTOR_SIZE;
    static constexpr int VECTORS = COUNT / VECTOR_SIZE;
    static_assert(COUNT % VECTOR_SIZE == 0, "whole vectors");
    typedef Pack<T, VECTOR_SIZE> Vector;
    static_assert(32 * VECTOR_SIZE % COUNT == 0, "the vectors of a warp fill whole pieces");
    // The distance of a lane's neighbouring vectors in the pieces. It is a constant, so that one
    // address serves all: of an address for each, registers spill.
    static constexpr int STEP = 32 * VECTOR_SIZE / COUNT * PITCH;
    T *const pieces;
    const int lane;

    __device__ __forceinline__ explicit WarpStage(T *shared, uint32_t thread = threadIdx.x)
        : pieces(shared + thread / 32 * 32 * PITCH), lane(int(thread) % 32) {}

    __device__ __forceinline__ T *piece(int of) const { return pieces + of * PITCH; }

    // The first of the lane's vectors in the pieces.
    __device__ __forceinline__ T *first_vector() const {
        return piece(lane * VECTOR_SIZE / COUNT) + lane * VECTOR_SIZE % COUNT;
    }

    // Copies `count` elements of aligned memory to the pieces, one behind another, COUNT to each;
    // zeros follow. All loads precede the first store. The caller synchronises.
    __device__ __forceinline__ void fill(const T *from, int count) const {
        Vector vectors[VECTORS];
        T *const to = first_vector();
        from += lane * VECTOR_SIZE;
        const int rest = count - lane * VECTOR_SIZE;
#pragma unroll
        for (int v = 0; v < VECTORS; v++) {
            if (v * 32 * VECTOR_SIZE < rest) {
                vectors[v] = load_pack<T, VECTOR_SIZE>(from + v * 32 * VECTOR_SIZE);
            } else {
#pragma unroll
                for (int e = 0; e < VECTOR_SIZE; e++) vectors[v].lane[e] = T(0);
            }
        }
#pragma unroll
        for (int v = 0; v < VECTORS; v++) store_pack(to + v * STEP, vectors[v]);
    }
    // Copies the first `count` elements of the pieces to aligned memory. The caller synchronises.
    __device__ __forceinline__ void flush(T *to, int count) const {
        const T *const from = first_vector();
        to += lane * VECTOR_SIZE;
        const int rest = count - lane * VECTOR_SIZE;
#pragma unroll
        for (int v = 0; v < VECTORS; v++) {
            if (v * 32 * VECTOR_SIZE < rest)
                store_pack<StoreMode::WHOLE>(to + v * 32 * VECTOR_SIZE,
                                             load_pack<T, VECTOR_SIZE>(from + v * STEP));
        }
    }
    static __device__ __forceinline__ void read(T (&to)[COUNT], const T *piece) {
#pragma unroll
        for (int v = 0; v < VECTORS; v++) {
            const Vector vector = load_pack<T, VECTOR_SIZE>(piece + v * VECTOR_SIZE);
#pragma unroll
            for (int e = 0; e < VECTOR_SIZE; e++) to[v * VECTOR_SIZE + e] = vector.lane[e];
        }
    }
    static __device__ __forceinline__ void write(T *piece, const T (&from)[COUNT]) {
#pragma unroll
        for (int v = 0; v < VECTORS; v++) {
            Vector vector;
#pragma unroll
            for (int e = 0; e < VECTOR_SIZE; e++) vector.lane[e] = from[v * VECTOR_SIZE + e];
            store_pack(piece + v * VECTOR_SIZE, vector);
        }
    }
};

// The operands of LinalgParams, in the order of their strides.
enum LinalgOperand { RESULT, LEFT, RIGHT };

// The step of an operand from one matrix to the next, if the stack has one axis at most.
template <class Params>
__device__ __forceinline__ int64_t stack_step(const Params &params, LinalgOperand operand) {
    return params.batch_rank == 0 ? 0 : params.batch[0].strides[operand];
}

// How the square matrices of an operand fill memory.
struct DenseLayout {
    bool is_dense;      // one behind another, without gaps, in C order or transposed
    bool is_transposed; // each one's columns are contiguous
    bool has_vectors;   // in C order from an aligned address, with SIZE rows

    template <class Params> __device__ __forceinline__ DenseLayout(const Params &params,
                                                                   LinalgOperand operand,
                                                                   uint64_t address, int64_t row,
                                                                   int64_t column, int size) {
        const int64_t n = params.rows;
        is_transposed = row == 1 && column == n && n > 1;
        is_dense = n > 0 && (is_transposed || (row == n && column == 1)) &&
                   (params.batch_rank == 0 ||
                    (params.batch_rank == 1 && stack_step(params, operand) == n * n));
        has_vectors = is_dense && !is_transposed && n == size && address % 16 == 0;
    }
};

// The matrix, row and column of every 32nd element of dense matrices.
struct DenseWalk {
    int matrix, row, column;
    const int n, matrices, rows, columns; // from one element to the next

    __device__ __forceinline__ DenseWalk(int n, int lane)
        : matrix(lane / (n * n)), row(lane / n % n), column(lane % n), n(n), matrices(32 / (n * n)),
          rows(32 / n % n), columns(32 % n) {}
    __device__ __forceinline__ void next() {
        column += columns;
        row += rows;
        matrix += matrices;
        if (column >= n) column -= n, row++;
        if (row >= n) row -= n, matrix++;
    }
};

// Places in a stage of matrices: from one matrix, row and column to the next.
struct StageSteps {
    int matrix, row, column;

    __device__ __forceinline__ StageSteps(int matrix, int row, bool is_transposed)
        : matrix(matrix), row(is_transposed ? 1 : row), column(is_transposed ? row : 1) {}
    __device__ __forceinline__ int of(const DenseWalk &walk) const {
        return walk.matrix * matrix + walk.row * row + walk.column * column;
    }
};

// Copies matrices in a stage to `count` elements of memory, which they fill. All lanes of a warp
// call it, and synchronise before it.
template <class T> __device__ __forceinline__ void
flush_places(T *to, const T *stage, const StageSteps &steps, int count, int n, int lane) {
    DenseWalk walk(n, lane);
#pragma unroll 4
    for (int i = lane; i < count; i += 32, walk.next()) to[i] = stage[steps.of(walk)];
}

// NaN, or x of a matrix that has a result.
template <class T> __device__ __forceinline__ T result_or_nan(T x, bool has_result) {
    return has_result ? x : infinity(T()) - infinity(T());
}

} // namespace gpu::algos::linalg
