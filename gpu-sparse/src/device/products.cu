// Products of a sparse matrix with a vector, and what solvers take along in the same pass.
//
// Contract of all:
//   grid      blocks [0, main) sweep the rows that are not long, in strides of `main` blocks; each block after them takes one segment of
//             a long row: main + a.long_rows.segments blocks, main at least 1
//   block     THREADS, a multiple of 32
//   shared    8 bytes per warp and per flag; 16 KiB for csr
//   arguments a: a Csr or a Packets (csr.cuh, packets.cuh), whose columns are below the length of x; scratch as long_rows.cuh says; what
//             is written has a.rows elements and overlaps nothing that is read; partials[0..main + a.long_rows.count), arrived 0
//   bytes     the matrix once; x at least once, y once; what else stands at each kernel
//   order     a row's sum is formed in f64, in an order that depends on the matrix alone, and rounded once; sums over rows depend on
//             THREADS and the grid besides. There are no atomics on floating-point numbers.
// An element of x is read only for an entry in its column.
#include "prelude.cuh"
#include "csr.cuh"
#include "packets.cuh"
#include "state.cuh"

using namespace gpu_sparse;

namespace {

// Calls finish(row, sum) once for each row, and returns the sum of the results of this thread. The result of a long row goes to
// its place behind those of the blocks in `partials`, for who completes a row is a matter of chance.
template <int THREADS, class Matrix, class T, class Finish>
__device__ double sweep(const Matrix &a, const T *x, LongRowsScratch scratch, double *partials, Finish finish) {
    uint32_t main = gridDim.x - a.long_rows.segments;
    if (blockIdx.x < main) return for_each_row<THREADS>(a, x, blockIdx.x, main, finish);
    uint32_t number;
    double sum;
    if (sum_segment<THREADS>(a.long_rows, blockIdx.x - main, x, scratch, number, sum)) {
        double result = finish(a.long_rows.rows[number], sum);
        if (partials) partials[main + number] = result;
    }
    return 0;
}

// A sweep whose results are added over all rows: valid in thread 0 of the one block for which it is true.
template <int THREADS, class Matrix, class T, class Finish>
__device__ bool sweep_sum(const Matrix &a, const T *x, LongRowsScratch scratch, double *partials, uint32_t *arrived, Finish finish,
                          double &total) {
    uint32_t main = gridDim.x - a.long_rows.segments;
    double mine = block_sum<THREADS>(sweep<THREADS>(a, x, scratch, partials, finish));
    if (threadIdx.x == 0 && blockIdx.x < main) partials[blockIdx.x] = mine;
    if (!last_block(arrived)) return false;
    total = sum_partials<THREADS>(partials, uint64_t(main) + a.long_rows.count);
    return true;
}

} // namespace

// y = A x.
template <class Matrix, class T, int THREADS>
__global__ void __launch_bounds__(THREADS) product(Matrix a, const T *x, T *y, double *totals, uint32_t *rows_arrived) {
    auto finish = [=](uint32_t row, double sum) {
        y[row] = T(sum);
        return 0.0;
    };
    sweep<THREADS>(a, x, {totals, rows_arrived}, nullptr, finish);
}

// y = alpha A x + beta y, each operation rounded to f64 and the result to T. Reads y besides; not where beta is 0.
template <class Matrix, class T, int THREADS>
__global__ void __launch_bounds__(THREADS)
    product_axpby(Matrix a, T alpha, const T *x, T beta, T *y, double *totals, uint32_t *rows_arrived) {
    auto finish = [=](uint32_t row, double sum) {
        double scaled = __dmul_rn(double(alpha), sum);
        if (beta != T(0)) scaled = __dadd_rn(scaled, __dmul_rn(double(beta), double(y[row])));
        y[row] = T(scaled);
        return 0.0;
    };
    sweep<THREADS>(a, x, {totals, rows_arrived}, nullptr, finish);
}

// r = b - A x, rounded once; state.total = r . r. Reads b besides.
template <class Matrix, class T, int THREADS>
__global__ void __launch_bounds__(THREADS)
    residual(Matrix a, const T *x, const T *b, T *r, State *state, double *partials, uint32_t *arrived, double *totals,
             uint32_t *rows_arrived) {
    auto finish = [=](uint32_t row, double sum) {
        T rounded = T(double(b[row]) - sum);
        r[row] = rounded;
        return double(rounded) * double(rounded);
    };
    double total;
    bool last = sweep_sum<THREADS>(a, x, {totals, rows_arrived}, partials, arrived, finish, total);
    if (last && threadIdx.x == 0) state->total = total;
}

// y = A x for a square A, and x . y. Reads x once more.
template <int THREADS, class Matrix, class T>
__device__ bool product_dot(const Matrix &a, const T *x, T *y, double *partials, uint32_t *arrived, LongRowsScratch scratch,
                            double &total) {
    auto finish = [=](uint32_t row, double sum) {
        T rounded = T(sum);
        y[row] = rounded;
        return double(x[row]) * double(rounded);
    };
    return sweep_sum<THREADS>(a, x, scratch, partials, arrived, finish, total);
}

// The first pass of an iteration: q = A p, p . q, and the step that follows from it.
template <class Matrix, class T, int THREADS>
__global__ void __launch_bounds__(THREADS)
    curvature(Matrix a, const T *p, T *q, State *state, double *partials, uint32_t *arrived, double *totals,
              uint32_t *rows_arrived) {
    if (state->stop != RUNNING) {
        // x has the last step by now. Nobody else looks at `pending` in this kernel.
        if (blockIdx.x == 0 && threadIdx.x == 0) state->pending = 0;
        return;
    }
    double total;
    bool last = product_dot<THREADS>(a, p, q, partials, arrived, {totals, rows_arrived}, total);
    if (last && threadIdx.x == 0) decide_step<T>(*state, total);
}

// A preconditioner that is a matrix: z = M r, r . z, and the direction that follows from it.
template <class Matrix, class T, int THREADS>
__global__ void __launch_bounds__(THREADS)
    precondition(Matrix m, const T *r, T *z, State *state, double *partials, uint32_t *arrived, double *totals,
                 uint32_t *rows_arrived) {
    if (state->stop != RUNNING) return;
    double total;
    bool last = product_dot<THREADS>(m, r, z, partials, arrived, {totals, rows_arrived}, total);
    if (last && threadIdx.x == 0) decide_direction<T>(*state, total);
}
