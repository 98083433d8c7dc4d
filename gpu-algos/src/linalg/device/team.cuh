// Teams of threads that work on one small matrix each, and the parts that the kernels of linear
// algebra share: loads and stores of matrices with any strides, and reports of matrices without a
// result.
//
// With WARPS of 1 a team is 4, 8, 16 or 32 neighbouring threads of a warp, and a block has several
// teams; all threads of a warp take the same steps. With more WARPS a team is the block. A matrix
// stands in shared memory, rows `pitch` elements apart; an odd pitch spreads a column over the
// banks.
#pragma once
#include "linalg_params.cuh"

namespace gpu::algos::linalg {

// a * b + c, rounded once.
__device__ __forceinline__ float multiply_add(float a, float b, float c) {
    return __fmaf_rn(a, b, c);
}
__device__ __forceinline__ double multiply_add(double a, double b, double c) {
    return __fma_rn(a, b, c);
}
__device__ __forceinline__ float square_root(float x) { return sqrtf(x); }
__device__ __forceinline__ double square_root(double x) { return sqrt(x); }
__device__ __forceinline__ float natural_logarithm(float x) { return logf(x); }
__device__ __forceinline__ double natural_logarithm(double x) { return log(x); }

__device__ __forceinline__ float infinity(float) { return __int_as_float(0x7f800000); }
__device__ __forceinline__ double infinity(double) {
    return __longlong_as_double(0x7ff0000000000000LL);
}

// |x|; that of a NaN counts as infinite, so that a NaN is found and spreads.
template <class T> __device__ __forceinline__ T magnitude(T x) {
    return x != x ? infinity(x) : x < T(0) ? -x : x;
}

template <int WARPS> struct Team {
    int size, thread;  // threads, and the number of this one
    int number, count; // the number of this team in its block, and the teams of a block
    // Threads along a row of a matrix and rows that are taken at once, with this thread's place.
    int across, down, x, y;

    __device__ __forceinline__ explicit Team(uint32_t threads, uint32_t of_block = threadIdx.x) {
        size = int(threads);
        thread = WARPS > 1 ? int(of_block) : int(of_block) & (size - 1);
        number = WARPS > 1 ? 0 : int(of_block) / size;
        count = WARPS > 1 ? 1 : int(blockDim.x) / size;
        across = size < 32 ? size : 32;
        down = size / across;
        x = thread & (across - 1);
        y = thread / across;
    }

    // Waits for all threads of the team. Writes before it are seen behind it.
    static __device__ __forceinline__ void sync() {
        if constexpr (WARPS > 1) {
            __syncthreads();
        } else {
            __syncwarp();
        }
    }
};

// The matrix of a team: its number in the stack, and the offsets of c, a and b. Teams beyond the
// stack take the last matrix once more, and neither store nor report.
struct TeamMatrix {
    uint64_t number;
    bool is_there;
    int64_t offsets[3];

    template <class Params>
    __device__ __forceinline__ TeamMatrix(const Params &params, uint64_t at) {
        uint64_t rest = begin(params, at);
        for (uint32_t d = 0; d < params.batch_rank; d++) add_axis(params, d, rest);
    }
    // The same, by a loop that the compiler does not unroll: four of its divisions are a tenth of a
    // kernel's text.
    template <class Params>
    static __device__ __forceinline__ TeamMatrix compact(const Params &params, uint64_t at) {
        TeamMatrix matrix;
        uint64_t rest = matrix.begin(params, at);
#pragma unroll 1
        for (uint32_t d = 0; d < params.batch_rank; d++) matrix.add_axis(params, d, rest);
        return matrix;
    }

  private:
    TeamMatrix() = default;
    template <class Params>
    __device__ __forceinline__ uint64_t begin(const Params &params, uint64_t at) {
        is_there = at < params.matrices;
        number = is_there ? at : params.matrices - 1;
        offsets[0] = offsets[1] = offsets[2] = 0;
        return number;
    }
    template <class Params>
    __device__ __forceinline__ void add_axis(const Params &params, uint32_t d, uint64_t &rest) {
        const auto &axis = params.batch[d];
        // The last axis, often the only one, has the rest of the number for its index.
        const bool is_last = d + 1 == params.batch_rank;
        const int64_t index = int64_t(is_last ? rest : rest % uint64_t(axis.length));
        if (!is_last) rest /= uint64_t(axis.length);
#pragma unroll
        for (int operand = 0; operand < 3; operand++)
            offsets[operand] += index * axis.strides[operand];
    }
};

// Rows and columns of memory as a team walks them: its threads go along the axis with the smaller
// stride.
struct MatrixWalk {
    bool is_by_columns;
    int outer, inner;

    __device__ __forceinline__ MatrixWalk(int rows, int columns, int64_t row, int64_t column) {
        const int64_t down = row < 0 ? -row : row, across = column < 0 ? -column : column;
        is_by_columns = columns == 1 || (down < across && rows > 1);
        outer = is_by_columns ? columns : rows;
        inner = is_by_columns ? rows : columns;
    }
    __device__ __forceinline__ int row(int i, int j) const { return is_by_columns ? j : i; }
    __device__ __forceinline__ int column(int i, int j) const { return is_by_columns ? i : j; }
};

// Copies a matrix into shared memory.
template <class T, int WARPS>
__device__ __forceinline__ void load_matrix(const Team<WARPS> &team, T *to, int pitch,
                                            const T *from, int rows, int columns,
                                            int64_t row_stride, int64_t column_stride) {
    const MatrixWalk walk(rows, columns, row_stride, column_stride);
#pragma unroll 4
    for (int i = team.y; i < walk.outer; i += team.down) {
        for (int j = team.x; j < walk.inner; j += team.across) {
            const int r = walk.row(i, j), c = walk.column(i, j);
            to[r * pitch + c] = from[r * row_stride + c * column_stride];
        }
    }
}

// The triangles of a matrix that are stored as they are; zeros stand for the others.
enum StoredPart { ALL, ON_AND_BELOW, ON_AND_ABOVE };

// Stores a matrix from shared memory, or NaN in place of each element if the matrix has no result.
template <StoredPart PART, class T, int WARPS> __device__ __forceinline__ void
store_matrix(const Team<WARPS> &team, T *to, const T *from, int pitch, int rows, int columns,
             int64_t row_stride, int64_t column_stride, bool is_there, bool has_result) {
    if (!is_there) return;
    const MatrixWalk walk(rows, columns, row_stride, column_stride);
    for (int i = team.y; i < walk.outer; i += team.down) {
        for (int j = team.x; j < walk.inner; j += team.across) {
            const int r = walk.row(i, j), c = walk.column(i, j);
            const bool is_stored = PART == ALL || (PART == ON_AND_BELOW ? c <= r : c >= r);
            const T element = is_stored ? from[r * pitch + c] : T(0);
            to[r * row_stride + c * column_stride] =
                has_result ? element : infinity(T()) - infinity(T());
        }
    }
}

// Writes the status of a matrix: 0, or the number of its first failing pivot, counted from 1. The
// word `first_failure` gets the complement of matrix and pivot, of which the greatest is that of
// the first matrix; the order of the atomic operations plays no part.
template <class Params>
__device__ __forceinline__ void report(const Params &params, const TeamMatrix &matrix, int status) {
    if (!matrix.is_there) return;
    if (params.info != 0) reinterpret_cast<int32_t *>(params.info)[matrix.number] = status;
    if (params.first_failure != 0 && status != 0) {
        atomicMax(reinterpret_cast<unsigned long long *>(params.first_failure),
                  ~(matrix.number << PIVOT_BITS | uint64_t(status - 1)));
    }
}
template <class Params, int WARPS> __device__ __forceinline__ void
report(const Params &params, const Team<WARPS> &team, const TeamMatrix &matrix, int status) {
    if (team.thread == 0) report(params, matrix, status);
}

} // namespace gpu::algos::linalg
