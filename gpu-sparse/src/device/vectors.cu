// The vector passes of conjugate gradients (Hestenes and Stiefel 1952), fused so that each vector moves once per pass.
//
// Contract of all but sum_partials:
//   grid      one-dimensional, any size: threads stride over the elements
//   block     THREADS, a multiple of 32
//   shared    8 bytes per warp where there are partials, else none
//   arguments vectors have n elements and do not overlap; partials has gridDim.x elements per sum, one sum after the other
//   bytes     n elements for each vector read and each vector written: the number stands at each kernel
//   order     sums are formed in f64, one per thread with its stride, then per block. Bits depend on THREADS and the grid
//             alone; there are no atomics.
#include "prelude.cuh"
#include "block_sum.cuh"

using gpu_sparse::store_block_sum;

// r -= alpha q; partial sums of r . r. 3n.
template <class T, int THREADS>
__global__ void __launch_bounds__(THREADS) update_residual(T alpha, const T *q, T *r, double *partials, uint64_t n) {
    double square = 0;
    for (uint64_t i = gpu::first_index(); i < n; i += gpu::index_step()) {
        T updated = r[i] - alpha * q[i];
        r[i] = updated;
        square += double(updated) * double(updated);
    }
    store_block_sum<THREADS>(square, partials);
}

// r -= alpha q; partial sums of r . r, then of r . D r, D diagonal. 4n.
template <class T, int THREADS>
__global__ void __launch_bounds__(THREADS)
    update_residual_diagonal(T alpha, const T *q, const T *diagonal, T *r, double *partials, uint64_t n) {
    double square = 0, weighted = 0;
    for (uint64_t i = gpu::first_index(); i < n; i += gpu::index_step()) {
        T updated = r[i] - alpha * q[i];
        r[i] = updated;
        square += double(updated) * double(updated);
        weighted += double(updated) * (double(diagonal[i]) * double(updated));
    }
    store_block_sum<THREADS>(square, partials);
    store_block_sum<THREADS>(weighted, partials + gridDim.x);
}

// Partial sums of r . D r, D diagonal. 2n.
template <class T, int THREADS>
__global__ void __launch_bounds__(THREADS)
    weighted_square(const T *diagonal, const T *r, double *partials, uint64_t n) {
    double weighted = 0;
    for (uint64_t i = gpu::first_index(); i < n; i += gpu::index_step()) {
        weighted += double(r[i]) * (double(diagonal[i]) * double(r[i]));
    }
    store_block_sum<THREADS>(weighted, partials);
}

// r *= factor, rounded once; partial sums of r . r. 2n.
template <class T, int THREADS>
__global__ void __launch_bounds__(THREADS) rescale(double factor, T *r, double *partials, uint64_t n) {
    double square = 0;
    for (uint64_t i = gpu::first_index(); i < n; i += gpu::index_step()) {
        T scaled = T(double(r[i]) * factor);
        r[i] = scaled;
        square += double(scaled) * double(scaled);
    }
    store_block_sum<THREADS>(square, partials);
}

// p = D r, D diagonal. 3n.
template <class T, int THREADS>
__global__ void __launch_bounds__(THREADS) scaled_direction(const T *diagonal, const T *r, T *p, uint64_t n) {
    for (uint64_t i = gpu::first_index(); i < n; i += gpu::index_step()) p[i] = diagonal[i] * r[i];
}

// x += step p, then p = z + beta p. 5n.
template <class T, int THREADS>
__global__ void __launch_bounds__(THREADS)
    update_solution_and_direction(T step, T beta, const T *z, T *x, T *p, uint64_t n) {
    for (uint64_t i = gpu::first_index(); i < n; i += gpu::index_step()) {
        T before = p[i];
        x[i] += step * before;
        p[i] = z[i] + beta * before;
    }
}

// x += step p, then p = D r + beta p, D diagonal. 6n.
template <class T, int THREADS>
__global__ void __launch_bounds__(THREADS)
    update_solution_and_direction_diagonal(T step, T beta, const T *diagonal, const T *r, T *x, T *p, uint64_t n) {
    for (uint64_t i = gpu::first_index(); i < n; i += gpu::index_step()) {
        T before = p[i];
        x[i] += step * before;
        p[i] = diagonal[i] * r[i] + beta * before;
    }
}

// x += step p. 3n.
template <class T, int THREADS>
__global__ void __launch_bounds__(THREADS) update_solution(T step, const T *p, T *x, uint64_t n) {
    for (uint64_t i = gpu::first_index(); i < n; i += gpu::index_step()) x[i] += step * p[i];
}

// totals[k] = sum of partials[k * count .. (k + 1) * count) for k < sums.
//
// Grid 1, block THREADS, 8 bytes of shared memory per warp. Each thread adds with stride THREADS, then the block's sum: the
// order depends on count and THREADS alone. 8 bytes per partial.
template <int THREADS>
__global__ void __launch_bounds__(THREADS)
    sum_partials(const double *partials, double *totals, uint64_t count, uint64_t sums) {
    for (uint64_t k = 0; k < sums; k++) {
        double sum = 0;
        for (uint64_t i = threadIdx.x; i < count; i += THREADS) sum += partials[k * count + i];
        store_block_sum<THREADS>(sum, totals + k);
    }
}
