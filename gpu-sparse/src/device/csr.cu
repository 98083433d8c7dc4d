// Products of a matrix in compressed rows with a vector.
//
// Contract of all three:
//   grid      one-dimensional, any size: blocks stride over the rows
//   block     THREADS, a multiple of 32; LANES (1, 2, 4, 8, 16 or 32) neighbouring threads share a row
//   shared    8 bytes per warp where there are partials, else none
//   arguments row_starts[0..rows] rises from 0 to the number of entries; columns and values have that many, and each column
//             is below the length of x; what is written has `rows` elements and overlaps nothing that is read;
//             partials[0..gridDim.x) receives one sum per block
//   bytes     sizeof(T) + 4 per entry, 8 + sizeof(T) per row, x at least once (b and partials besides)
//   order     a row is summed in f64, each lane from left to right in steps of LANES, then the lanes by halves, and rounded
//             once. Bits depend on THREADS, LANES and the grid alone; there are no atomics.
// An element of x is read only for an entry in its column.
//
// Source: the vector kernel of Bell and Garland, "Implementing sparse matrix-vector multiplication on throughput-oriented
// processors", SC 2009, doi 10.1145/1654059.1654078, with less than a warp per row where rows are short.
#include "prelude.cuh"
#include "block_sum.cuh"

// Calls finish(row, sum of the row's entry times x) in one thread for each row; returns the sum of the results over the rows
// that this thread finished.
template <class T, int THREADS, int LANES, class Finish>
__device__ double for_each_row(const uint64_t *row_starts, const uint32_t *columns, const T *values, const T *x, uint64_t rows,
                               Finish finish) {
    static_assert(THREADS % 32 == 0 && 32 % LANES == 0, "rows do not straddle warps");
    constexpr uint64_t ROWS = THREADS / LANES;
    uint32_t lane = threadIdx.x % LANES;
    double total = 0;
    // The condition is the same for the whole block, so every thread takes part in the shuffles.
    for (uint64_t first = blockIdx.x * ROWS; first < rows; first += gridDim.x * ROWS) {
        uint64_t row = first + threadIdx.x / LANES;
        bool inside = row < rows;
        uint64_t end = inside ? row_starts[row + 1] : 0;
        double sum = 0;
        for (uint64_t entry = inside ? row_starts[row] + lane : 0; entry < end; entry += LANES) {
            sum += double(values[entry]) * double(x[columns[entry]]);
        }
        for (int offset = LANES / 2; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset, LANES);
        if (inside && lane == 0) total += finish(row, sum);
    }
    return total;
}

// y = A x.
template <class T, int THREADS, int LANES>
__global__ void __launch_bounds__(THREADS)
    csr_product(const uint64_t *row_starts, const uint32_t *columns, const T *values, const T *x, T *y, uint64_t rows) {
    auto finish = [=](uint64_t row, double sum) {
        y[row] = T(sum);
        return 0.0;
    };
    for_each_row<T, THREADS, LANES>(row_starts, columns, values, x, rows, finish);
}

// y = A x for a square A, with partial sums of x . y. Adds 1 read of x per row.
template <class T, int THREADS, int LANES>
__global__ void __launch_bounds__(THREADS)
    csr_product_dot(const uint64_t *row_starts, const uint32_t *columns, const T *values, const T *x, T *y, double *partials,
                    uint64_t rows) {
    auto finish = [=](uint64_t row, double sum) {
        T rounded = T(sum);
        y[row] = rounded;
        return double(x[row]) * double(rounded);
    };
    double total = for_each_row<T, THREADS, LANES>(row_starts, columns, values, x, rows, finish);
    gpu_sparse::store_block_sum<THREADS>(total, partials);
}

// r = b - A x, rounded once, with partial sums of r . r. b has `rows` elements.
template <class T, int THREADS, int LANES>
__global__ void __launch_bounds__(THREADS)
    csr_residual(const uint64_t *row_starts, const uint32_t *columns, const T *values, const T *x, const T *b, T *r,
                 double *partials, uint64_t rows) {
    auto finish = [=](uint64_t row, double sum) {
        T rounded = T(double(b[row]) - sum);
        r[row] = rounded;
        return double(rounded) * double(rounded);
    };
    double total = for_each_row<T, THREADS, LANES>(row_starts, columns, values, x, rows, finish);
    gpu_sparse::store_block_sum<THREADS>(total, partials);
}
