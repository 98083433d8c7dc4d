// The passes of conjugate gradients that multiply with a matrix, and take sums from the same pass.
//
// Contract of all: that of sweep.cuh, and
//   arguments partials[0..main + a.long_rows.count), arrived 0. Sums that are stored for the pass
//             after (curvature, precondition) are in partials[0] alone when `gathered`
//   order     sums over rows depend on THREADS and the grid, besides the matrix
#include "prelude.cuh"
#include "cg_state.cuh"
#include "sums.cuh"
#include "sweep.cuh"

namespace gpu_sparse::cg {

namespace {

// Finishes of a row's sum, as sweep.cuh asks for them.

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

// A sweep whose results are added over all rows: it stores the sums of the blocks and of long rows
// in `partials`.
template <int THREADS, class Matrix, class T, class Finish>
__device__ void sweep_and_store(const Matrix &a, const T *x, LongRowsScratch scratch,
                                double *partials, Finish finish) {
    double mine = block_sum<THREADS>(sweep<THREADS>(a, x, scratch, partials, finish));
    if (threadIdx.x == 0 && blockIdx.x < gridDim.x - a.long_rows.segments)
        partials[blockIdx.x] = mine;
}

// Adds up the sums that all blocks have stored. Returns true in the last block, whose thread 0 has
// the total.
template <int THREADS, class Matrix>
__device__ bool gather(const Matrix &a, const double *partials, uint32_t *arrived, double &total) {
    if (!is_last_block(arrived)) return false;
    total = sum_partials<THREADS>(partials,
                                  uint64_t(gridDim.x - a.long_rows.segments) + a.long_rows.count);
    return true;
}

// Stores one sum for the next pass, if there are so many that each of its blocks should not have to
// add them.
template <int THREADS, class Matrix>
__device__ void gather_in_place(const Matrix &a, double *partials, uint32_t *arrived) {
    double total;
    if (gather<THREADS>(a, partials, arrived, total) && threadIdx.x == 0) partials[0] = total;
}

} // namespace

// r = b - A x; state.total = r . r. Reads b besides.
template <class Matrix, class T, int THREADS>
__global__ void __launch_bounds__(THREADS, Matrix::BLOCKS_PER_SM)
    residual(Matrix a, const T *x, const T *b, T *r, SolverState *state, double *partials,
             uint32_t *arrived, double *totals, uint32_t *rows_arrived) {
    gpu::grid_dependency_wait();
    sweep_and_store<THREADS>(a, x, {totals, rows_arrived}, partials, Subtract<T>{b, r});
    double total;
    if (gather<THREADS>(a, partials, arrived, total) && threadIdx.x == 0) state->total = total;
}

// The first pass of an iteration: computes q = A p, and stores p . q. Reads p once more.
template <class Matrix, class T, int THREADS>
__global__ void __launch_bounds__(THREADS, Matrix::BLOCKS_PER_SM)
    curvature(Matrix a, const T *p, T *q, const SolverState *state, double *partials,
              uint32_t *arrived, uint32_t gathered, double *totals, uint32_t *rows_arrived) {
    gpu::grid_dependency_wait();
    if (state->start.stop != RUNNING) return;
    sweep_and_store<THREADS>(a, p, {totals, rows_arrived}, partials, StoreAndDot<T>{p, q});
    if (gathered) gather_in_place<THREADS>(a, partials, arrived);
}

// A preconditioner that is a matrix, after the second pass: computes z = M r, and stores r . z,
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
    sweep_and_store<THREADS>(m, r, {totals, rows_arrived}, partials, StoreAndDot<T>{r, z});
    if (gathered) gather_in_place<THREADS>(m, partials, arrived);
}

} // namespace gpu_sparse::cg
