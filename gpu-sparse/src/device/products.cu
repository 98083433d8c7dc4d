// Products of a sparse matrix with a vector, and the sums that solvers take from the same pass.
//
// Contract of all:
//   grid      blocks [0, main) sweep the rows that are not long, as csr.cuh and packets.cuh say;
//             each block after them takes one segment of a long row: main + a.long_rows.segments
//             blocks, main at least 1
//   block     THREADS, a multiple of 32
//   shared    8 bytes per warp and per flag; 16 KiB for csr
//   arguments a: a Csr or a Packets (csr.cuh, packets.cuh), whose columns are below the length of
//             x; scratch as long_rows.cuh says; written arrays have a.rows elements and overlap no
//             array that is read; partials[0..main + a.long_rows.count), arrived 0. Sums that are
//             left for the pass after (curvature, precondition) are in partials[0] alone when
//             `gathered`
//   bytes     the matrix once; x at least once, y once; each kernel names the others
//   order     a row's sum is formed in f64, in an order that depends on the matrix alone, and
//             rounded once; sums over rows depend on THREADS and the grid besides. There are no
//             atomics on floating-point numbers.
// An element of x is read only for an entry in its column.
#include "prelude.cuh"
#include "csr.cuh"
#include "packets.cuh"
#include "state.cuh"

using namespace gpu_sparse;

namespace {

// Finishes of a row's sum: `before` loads their operand early; `after` writes the row and adds its
// share to a sum over rows.

// y = A x.
template <class T> struct Store {
    T *y;
    __device__ T before(uint32_t) const { return T(0); }
    __device__ double after(uint32_t row, double sum, T, double) const {
        y[row] = T(sum);
        return 0;
    }
};

// y = alpha A x + beta y, each operation rounded to f64 and the result to T.
template <class T> struct Combine {
    T alpha, beta, *y;
    __device__ T before(uint32_t row) const { return beta != T(0) ? y[row] : T(0); }
    __device__ double after(uint32_t row, double sum, T old, double) const {
        double scaled = __dmul_rn(double(alpha), sum);
        if (beta != T(0)) scaled = __dadd_rn(scaled, __dmul_rn(double(beta), double(old)));
        y[row] = T(scaled);
        return 0;
    }
};

// r = b - A x, rounded once; r . r.
template <class T> struct Subtract {
    const T *b;
    T *r;
    __device__ T before(uint32_t row) const { return b[row]; }
    __device__ double after(uint32_t row, double sum, T of_b, double results) const {
        T rounded = T(double(of_b) - sum);
        r[row] = rounded;
        return fma(double(rounded), double(rounded), results);
    }
};

// y = A x; x . y.
template <class T> struct StoreAndDot {
    const T *x;
    T *y;
    __device__ T before(uint32_t row) const { return x[row]; }
    __device__ double after(uint32_t row, double sum, T of_x, double results) const {
        T rounded = T(sum);
        y[row] = rounded;
        return fma(double(of_x), double(rounded), results);
    }
};

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

// A sweep whose results are added over all rows: it leaves the sums of the blocks and of long rows
// in `partials`.
template <int THREADS, class Matrix, class T, class Finish>
__device__ void sweep_and_leave(const Matrix &a, const T *x, LongRowsScratch scratch,
                                double *partials, Finish finish) {
    double mine = block_sum<THREADS>(sweep<THREADS>(a, x, scratch, partials, finish));
    if (threadIdx.x == 0 && blockIdx.x < gridDim.x - a.long_rows.segments)
        partials[blockIdx.x] = mine;
}

// Adds up the sums that all blocks have left. Returns true in the last block, whose thread 0 has
// the total.
template <int THREADS, class Matrix>
__device__ bool gather(const Matrix &a, const double *partials, uint32_t *arrived, double &total) {
    if (!last_block(arrived)) return false;
    total = sum_partials<THREADS>(partials,
                                  uint64_t(gridDim.x - a.long_rows.segments) + a.long_rows.count);
    return true;
}

// Leaves one sum for the next pass, if there are so many that each of its blocks should not have to
// add them.
template <int THREADS, class Matrix>
__device__ void gather_in_place(const Matrix &a, double *partials, uint32_t *arrived) {
    double total;
    if (gather<THREADS>(a, partials, arrived, total) && threadIdx.x == 0) partials[0] = total;
}

} // namespace

// y = A x.
template <class Matrix, class T, int THREADS>
__global__ void __launch_bounds__(THREADS, Matrix::BLOCKS_PER_SM)
    product(Matrix a, const T *x, T *y, double *totals, uint32_t *rows_arrived) {
    gpu::grid_dependency_wait();
    sweep<THREADS>(a, x, {totals, rows_arrived}, nullptr, Store<T>{y});
}

// y = alpha A x + beta y. Reads y besides, unless beta is 0.
template <class Matrix, class T, int THREADS>
__global__ void __launch_bounds__(THREADS, Matrix::BLOCKS_PER_SM)
    product_axpby(Matrix a, T alpha, const T *x, T beta, T *y, double *totals,
                  uint32_t *rows_arrived) {
    gpu::grid_dependency_wait();
    sweep<THREADS>(a, x, {totals, rows_arrived}, nullptr, Combine<T>{alpha, beta, y});
}

// r = b - A x; state.total = r . r. Reads b besides.
template <class Matrix, class T, int THREADS>
__global__ void __launch_bounds__(THREADS, Matrix::BLOCKS_PER_SM)
    residual(Matrix a, const T *x, const T *b, T *r, SolverState *state, double *partials,
             uint32_t *arrived, double *totals, uint32_t *rows_arrived) {
    gpu::grid_dependency_wait();
    sweep_and_leave<THREADS>(a, x, {totals, rows_arrived}, partials, Subtract<T>{b, r});
    double total;
    if (gather<THREADS>(a, partials, arrived, total) && threadIdx.x == 0) state->total = total;
}

// The first pass of an iteration: computes q = A p, and leaves p . q. Reads p once more.
template <class Matrix, class T, int THREADS>
__global__ void __launch_bounds__(THREADS, Matrix::BLOCKS_PER_SM)
    curvature(Matrix a, const T *p, T *q, const SolverState *state, double *partials,
              uint32_t *arrived, uint32_t gathered, double *totals, uint32_t *rows_arrived) {
    gpu::grid_dependency_wait();
    if (state->start.stop != RUNNING) return;
    sweep_and_leave<THREADS>(a, p, {totals, rows_arrived}, partials, StoreAndDot<T>{p, q});
    if (gathered) gather_in_place<THREADS>(a, partials, arrived);
}

// A preconditioner that is a matrix, after the second pass: computes z = M r, and leaves r . z,
// unless the solve ends with the present r. `residual_sums` are those of r . r. Reads r once more.
template <class Matrix, class T, int THREADS>
__global__ void __launch_bounds__(THREADS, Matrix::BLOCKS_PER_SM)
    precondition(Matrix m, const T *r, T *z, const SolverState *state, const double *residual_sums,
                 uint64_t residual_count, double *partials, uint32_t *arrived, uint32_t gathered,
                 double *totals, uint32_t *rows_arrived) {
    gpu::grid_dependency_wait();
    if (state->step.stop != RUNNING) return;
    SHARED(bool, goes_on, [1]);
    double square = sum_partials<THREADS>(residual_sums, residual_count);
    if (threadIdx.x == 0) {
        Scalars scalars = state->step;
        decide_residual(scalars, square);
        goes_on[0] = scalars.stop == RUNNING;
    }
    __syncthreads();
    if (!goes_on[0]) return;
    sweep_and_leave<THREADS>(m, r, {totals, rows_arrived}, partials, StoreAndDot<T>{r, z});
    if (gathered) gather_in_place<THREADS>(m, partials, arrived);
}
