// The vector passes of conjugate gradients (Hestenes and Stiefel 1952), fused so that each vector moves once per pass. Their scalars are
// in the State, which the pass before has made.
//
// Contract of all:
//   grid      one-dimensional, any size: threads stride over the elements
//   block     THREADS, a multiple of 32
//   shared    8 bytes per warp and per flag where there are sums, else none
//   arguments vectors have n elements and do not overlap; partials has gridDim.x elements per sum; arrived is 0
//   bytes     n elements for each vector read and each vector written: the number stands at each kernel
//   order     sums are formed in f64, one per thread with its stride, then per block, then over the blocks. Bits depend on THREADS and
//             the grid alone; there are no atomics on floating-point numbers.
#include "prelude.cuh"
#include "state.cuh"
#include "sums.cuh"

using namespace gpu_sparse;

// r -= alpha q; r . r; without a preconditioner that is r . z, too, and the direction follows; with one that must be stored
// (STORED) the direction waits for it. 3n.
template <class T, int THREADS, bool STORED>
__global__ void __launch_bounds__(THREADS)
    update_residual(const T *q, T *r, State *state, double *partials, uint32_t *arrived, uint64_t n) {
    if (state->stop != RUNNING) return;
    T alpha = T(state->alpha);
    double sums[1] = {0};
    for (uint64_t i = gpu::first_index(); i < n; i += gpu::index_step()) {
        T updated = r[i] - alpha * q[i];
        r[i] = updated;
        sums[0] += double(updated) * double(updated);
    }
    bool last = grid_sums<THREADS>(sums, partials, arrived);
    if (last && threadIdx.x == 0 && decide_residual(*state, sums[0]) && !STORED) decide_direction<T>(*state, sums[0]);
}

// The same with z = D r, D diagonal, which is not stored: r . r and r . D r. 4n.
template <class T, int THREADS>
__global__ void __launch_bounds__(THREADS)
    update_residual_diagonal(const T *q, const T *diagonal, T *r, State *state, double *partials, uint32_t *arrived, uint64_t n) {
    if (state->stop != RUNNING) return;
    T alpha = T(state->alpha);
    double sums[2] = {0, 0};
    for (uint64_t i = gpu::first_index(); i < n; i += gpu::index_step()) {
        T updated = r[i] - alpha * q[i];
        r[i] = updated;
        sums[0] += double(updated) * double(updated);
        sums[1] += double(updated) * (double(diagonal[i]) * double(updated));
    }
    bool last = grid_sums<THREADS>(sums, partials, arrived);
    if (last && threadIdx.x == 0 && decide_residual(*state, sums[0])) decide_direction<T>(*state, sums[1]);
}

// x += step p, then p = z + beta p; in the iteration that stopped the solve the former alone. 5n.
template <class T, int THREADS>
__global__ void __launch_bounds__(THREADS) update_direction(const T *z, T *x, T *p, const State *state, uint64_t n) {
    bool running = state->stop == RUNNING;
    if (!running && !state->pending) return;
    T step = T(state->step), beta = T(state->beta);
    for (uint64_t i = gpu::first_index(); i < n; i += gpu::index_step()) {
        T before = p[i];
        x[i] += step * before;
        if (running) p[i] = z[i] + beta * before;
    }
}

// The same with z = D r, D diagonal. 6n.
template <class T, int THREADS>
__global__ void __launch_bounds__(THREADS)
    update_direction_diagonal(const T *diagonal, const T *r, T *x, T *p, const State *state, uint64_t n) {
    bool running = state->stop == RUNNING;
    if (!running && !state->pending) return;
    T step = T(state->step), beta = T(state->beta);
    for (uint64_t i = gpu::first_index(); i < n; i += gpu::index_step()) {
        T before = p[i];
        x[i] += step * before;
        if (running) p[i] = diagonal[i] * r[i] + beta * before;
    }
}

// z was made elsewhere: r . z, and the direction that follows from it. 2n.
template <class T, int THREADS>
__global__ void __launch_bounds__(THREADS)
    decide_preconditioned(const T *r, const T *z, State *state, double *partials, uint32_t *arrived, uint64_t n) {
    if (state->stop != RUNNING) return;
    double sums[1] = {0};
    for (uint64_t i = gpu::first_index(); i < n; i += gpu::index_step()) sums[0] += double(r[i]) * double(z[i]);
    bool last = grid_sums<THREADS>(sums, partials, arrived);
    if (last && threadIdx.x == 0) decide_direction<T>(*state, sums[0]);
}

// state.total = r . z. 2n.
template <class T, int THREADS>
__global__ void __launch_bounds__(THREADS)
    dot(const T *r, const T *z, State *state, double *partials, uint32_t *arrived, uint64_t n) {
    double sums[1] = {0};
    for (uint64_t i = gpu::first_index(); i < n; i += gpu::index_step()) sums[0] += double(r[i]) * double(z[i]);
    bool last = grid_sums<THREADS>(sums, partials, arrived);
    if (last && threadIdx.x == 0) state->total = sums[0];
}

// p = D r, D diagonal; state.total = r . D r. 3n.
template <class T, int THREADS>
__global__ void __launch_bounds__(THREADS)
    scaled_direction(const T *diagonal, const T *r, T *p, State *state, double *partials, uint32_t *arrived, uint64_t n) {
    double sums[1] = {0};
    for (uint64_t i = gpu::first_index(); i < n; i += gpu::index_step()) {
        p[i] = diagonal[i] * r[i];
        sums[0] += double(r[i]) * (double(diagonal[i]) * double(r[i]));
    }
    bool last = grid_sums<THREADS>(sums, partials, arrived);
    if (last && threadIdx.x == 0) state->total = sums[0];
}

// r *= factor, rounded once; state.total = r . r. 2n.
template <class T, int THREADS>
__global__ void __launch_bounds__(THREADS)
    rescale(double factor, T *r, State *state, double *partials, uint32_t *arrived, uint64_t n) {
    double sums[1] = {0};
    for (uint64_t i = gpu::first_index(); i < n; i += gpu::index_step()) {
        T scaled = T(double(r[i]) * factor);
        r[i] = scaled;
        sums[0] += double(scaled) * double(scaled);
    }
    bool last = grid_sums<THREADS>(sums, partials, arrived);
    if (last && threadIdx.x == 0) state->total = sums[0];
}
