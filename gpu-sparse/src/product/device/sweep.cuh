// The sweep behind each kernel that multiplies a matrix with a vector.
#pragma once
#include "prelude.cuh"
#include "csr.cuh"
#include "packets.cuh"

namespace gpu_sparse {

// The contract of every kernel that sweeps:
//   grid      blocks [0, main) sweep the rows that are not long, as csr.cuh and packets.cuh say;
//             each block after them takes one segment of a long row: main + a.long_rows.segments
//             blocks, main at least 1
//   block     THREADS, a multiple of 32
//   shared    8 bytes per warp and per flag; 16 KiB for csr
//   arguments a: a Csr or a Packets (csr.cuh, packets.cuh), whose columns are below the length of
//             x; scratch as long_rows.cuh says; written arrays have a.rows elements and overlap no
//             array that is read
//   bytes     the matrix once; x at least once, y once; each kernel names the others
//   order     a row's sum is formed in f64, in an order that depends on the matrix alone, and
//             rounded once. There are no atomics on floating-point numbers.
// An element of x is read only for an entry in its column.
//
// `finish` ends the sum of a row: `finish.before(row)` loads its operand early;
// `finish.after(row, sum, operand, results)` writes the row and returns the results with the row's
// share added.

// Finishes each row once, and returns the sum of the results of this thread. The result of a long
// row goes to its place behind those of the blocks in `partials`, since any block may complete the
// row.
template <int THREADS, class Matrix, class T, class Finish> __device__ double
sweep(const Matrix &a, const T *x, LongRowsScratch scratch, double *partials, Finish finish) {
    uint32_t main = gridDim.x - a.long_rows.segments;
    if (blockIdx.x < main) return for_each_row<THREADS>(a, x, blockIdx.x, main, finish);
    uint32_t number;
    double sum;
    if (sum_segment<THREADS>(a.long_rows, blockIdx.x - main, x, scratch, number, sum)) {
        uint32_t row = a.long_rows.rows[number];
        double result = finish.after(row, sum, finish.before(row), 0);
        if (partials) partials[main + number] = result;
    }
    return 0;
}

} // namespace gpu_sparse
