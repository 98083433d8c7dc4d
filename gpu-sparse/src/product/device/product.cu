// Products of a sparse matrix with a vector. The contract of both kernels stands in sweep.cuh.
#include "prelude.cuh"
#include "sweep.cuh"

namespace gpu_sparse {

namespace {

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

} // namespace gpu_sparse
