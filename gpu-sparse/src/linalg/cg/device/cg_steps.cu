// The vector passes of conjugate gradients (Hestenes and Stiefel 1952), fused so that each vector
// moves once per pass. Their scalars are in the SolverState, which the pass before has made.
//
// Contract of all:
//   grid      one-dimensional, any size: blocks stride over the elements
//   block     THREADS, a multiple of 32
//   shared    8 bytes per warp and per flag where there are sums, else none
//   arguments vectors have n elements, n at least 1, and do not overlap; partials has gridDim.x
//             elements per sum and is not the array of the sums of the pass before, which are read;
//             those are `count` for each sum; arrived is 0
//   bytes     n elements for each vector read and each vector written: the number stands at each
//             kernel
//   order     sums are formed in f64, one per thread with its stride, then per block, then over the
//             blocks. Bits depend on THREADS, BATCH and the grid alone: every fused multiply-add is
//             written as one, and nothing is left for the compiler to fuse; there are no atomics on
//             floating-point numbers.
// The loads of a thread's first elements are in flight before the pass knows whether the solve has
// stopped.
#include "prelude.cuh"
#include "cg_state.cuh"
#include "sums.cuh"

namespace gpu_sparse::cg {

namespace {

// The elements of a thread, BATCH at a time. A batch's loads are all in flight before the first is
// used, and those of the first batch as soon as this is made. `load(i)` returns the data of element
// i.
template <int THREADS, int BATCH, class Element, class Load> struct Elements {
    Load load;
    uint64_t n, first;
    Element batch[BATCH];

    __device__ Elements(Load load, uint64_t n)
        : load(load), n(n), first(uint64_t(blockIdx.x) * THREADS * BATCH + threadIdx.x) {
        fetch();
    }

    __device__ void fetch() {
        if (first >= n) return;
#pragma unroll
        for (int k = 0; k < BATCH; k++) batch[k] = load(min(first + k * THREADS, n - 1));
    }

    // Calls body(i, result of load(i)) for each element.
    template <class Body> __device__ void for_each(Body body) {
        while (first < n) {
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                if (first + k * THREADS < n) body(first + k * THREADS, batch[k]);
            }
            first += uint64_t(gridDim.x) * THREADS * BATCH;
            fetch();
        }
    }
};

template <class T> struct Two {
    T a, b;
};
template <class T> struct Three {
    T a, b, c;
};
template <class T> struct Four {
    T a, b, c, d;
};

template <int THREADS, int BATCH, class Load> __device__ auto elements(uint64_t n, Load load) {
    return Elements<THREADS, BATCH, decltype(load(n)), Load>(load, n);
}

// The end of a pass that makes one sum for the host.
template <int THREADS>
__device__ void finish_total(double sum, SolverState *state, double *partials, uint32_t *arrived) {
    store_sum<THREADS>(sum, partials);
    if (!is_last_block(arrived)) return;
    double total = sum_partials<THREADS>(partials, gridDim.x);
    if (threadIdx.x == 0) state->total = total;
}

// The start of the second pass: decides the step, from the sums that the first pass has stored.
// Returns false when the solve has stopped.
template <class T, int THREADS> __device__ bool
take_step(SolverState *state, const double *curvature_sums, uint64_t count, T &alpha) {
    SHARED(Scalars, agreed, [1]);
    double curvature = sum_partials<THREADS>(curvature_sums, count);
    if (threadIdx.x == 0) {
        Scalars scalars = state->start;
        if (scalars.stop == RUNNING) decide_step<T>(scalars, curvature);
        if (blockIdx.x == 0) state->step = scalars;
        agreed[0] = scalars;
    }
    __syncthreads();
    alpha = T(agreed[0].alpha);
    return agreed[0].stop == RUNNING;
}

// The updates of the last pass of an iteration.
template <class T> struct Direction {
    T step, beta;
    bool moves_x, moves_p;
};

// The start of the last pass: decides the end of the solve or its next direction, from r . r and r
// . z, which are equal if their sums are the same array.
template <class T, int THREADS>
__device__ Direction<T> next_direction(SolverState *state, const double *residual_sums,
                                       uint64_t count, const double *rho_sums, uint64_t rho_count) {
    SHARED(Direction<T>, agreed, [1]);
    double square = sum_partials<THREADS>(residual_sums, count);
    double rho = rho_sums != residual_sums ? sum_partials<THREADS>(rho_sums, rho_count) : square;
    if (threadIdx.x == 0) {
        Scalars scalars = state->step;
        bool counts = false;
        if (scalars.stop == RUNNING) {
            counts = decide_residual(scalars, square);
            if (scalars.stop == RUNNING) decide_direction<T>(scalars, rho);
        }
        if (blockIdx.x == 0) {
            if (counts) state->history[scalars.iteration % HISTORY] = square;
            state->start = scalars;
        }
        agreed[0] = {T(scalars.step), T(scalars.beta), counts, scalars.stop == RUNNING};
    }
    __syncthreads();
    return agreed[0];
}

} // namespace

// The second pass: decides the step from p . q, computes r -= alpha q, and stores r . r. 3n.
template <class T, int THREADS, int BATCH> __global__ void __launch_bounds__(THREADS, 4)
    update_residual(const T *q, T *r, SolverState *state, const double *curvature_sums,
                    uint64_t count, double *partials, uint64_t n) {
    gpu::grid_dependency_wait();
    auto all = elements<THREADS, BATCH>(n, [=](uint64_t i) { return Two<T>{r[i], q[i]}; });
    T alpha;
    if (!take_step<T, THREADS>(state, curvature_sums, count, alpha)) return;
    double square = 0;
    all.for_each([&](uint64_t i, Two<T> of) {
        T updated = fma(-alpha, of.b, of.a);
        r[i] = updated;
        square = fma(double(updated), double(updated), square);
    });
    store_sum<THREADS>(square, partials);
}

// The second pass with z = D r, D diagonal, which is not stored: stores r . r, then r . D r. 4n.
template <class T, int THREADS, int BATCH> __global__ void __launch_bounds__(THREADS, 4)
    update_residual_diagonal(const T *q, const T *diagonal, T *r, SolverState *state,
                             const double *curvature_sums, uint64_t count, double *partials,
                             uint64_t n) {
    gpu::grid_dependency_wait();
    auto all =
        elements<THREADS, BATCH>(n, [=](uint64_t i) { return Three<T>{r[i], q[i], diagonal[i]}; });
    T alpha;
    if (!take_step<T, THREADS>(state, curvature_sums, count, alpha)) return;
    double square = 0, rho = 0;
    all.for_each([&](uint64_t i, Three<T> of) {
        T updated = fma(-alpha, of.b, of.a);
        r[i] = updated;
        square = fma(double(updated), double(updated), square);
        rho = fma(double(updated), double(of.c) * double(updated), rho);
    });
    store_sum<THREADS>(square, partials, 0);
    store_sum<THREADS>(rho, partials, 1);
}

// The last pass: decides the direction from r . r (and r . z, if z is not r), then computes x +=
// step p and p = z + beta p. The iteration that stops the solve computes x alone. 5n. rho_sums are
// residual_sums if z is r.
template <class T, int THREADS, int BATCH> __global__ void __launch_bounds__(THREADS, 4)
    update_direction(const T *z, T *x, T *p, SolverState *state, const double *residual_sums,
                     uint64_t count, const double *rho_sums, uint64_t rho_count, uint64_t n) {
    gpu::grid_dependency_wait();
    auto all = elements<THREADS, BATCH>(n, [=](uint64_t i) { return Three<T>{p[i], x[i], z[i]}; });
    Direction<T> now = next_direction<T, THREADS>(state, residual_sums, count, rho_sums, rho_count);
    if (!now.moves_x) return;
    all.for_each([&](uint64_t i, Three<T> of) {
        x[i] = fma(now.step, of.a, of.b);
        if (now.moves_p) p[i] = fma(now.beta, of.a, of.c);
    });
}

// The last pass with z = D r, D diagonal. 6n.
template <class T, int THREADS, int BATCH> __global__ void __launch_bounds__(THREADS, 4)
    update_direction_diagonal(const T *diagonal, const T *r, T *x, T *p, SolverState *state,
                              const double *residual_sums, uint64_t count, uint64_t n) {
    gpu::grid_dependency_wait();
    auto all = elements<THREADS, BATCH>(
        n, [=](uint64_t i) { return Four<T>{p[i], x[i], r[i], diagonal[i]}; });
    Direction<T> now =
        next_direction<T, THREADS>(state, residual_sums, count, residual_sums + count, count);
    if (!now.moves_x) return;
    all.for_each([&](uint64_t i, Four<T> of) {
        x[i] = fma(now.step, of.a, of.b);
        if (now.moves_p) p[i] = fma(now.beta, of.a, of.d * of.c);
    });
}

// Between the second pass and the last, for a preconditioner on the host: decides whether r . z is
// wanted. One block.
template <class T, int THREADS, int BATCH> __global__ void __launch_bounds__(THREADS, 4)
    probe(SolverState *state, const double *residual_sums, uint64_t count) {
    gpu::grid_dependency_wait();
    double square = sum_partials<THREADS>(residual_sums, count);
    if (threadIdx.x != 0) return;
    Scalars scalars = state->step;
    if (scalars.stop == RUNNING) decide_residual(scalars, square);
    state->step.wants_rho = scalars.stop == RUNNING;
}

// Stores r . z, for a z that was made elsewhere. 2n.
template <class T, int THREADS, int BATCH> __global__ void __launch_bounds__(THREADS, 4)
    leave_dot(const T *r, const T *z, double *partials, uint64_t n) {
    gpu::grid_dependency_wait();
    double sum = 0;
    auto all = elements<THREADS, BATCH>(n, [=](uint64_t i) { return Two<T>{r[i], z[i]}; });
    all.for_each([&](uint64_t, Two<T> of) { sum = fma(double(of.a), double(of.b), sum); });
    store_sum<THREADS>(sum, partials);
}

// state.total = r . z. 2n.
template <class T, int THREADS, int BATCH> __global__ void __launch_bounds__(THREADS, 4)
    dot(const T *r, const T *z, SolverState *state, double *partials, uint32_t *arrived,
        uint64_t n) {
    gpu::grid_dependency_wait();
    double sum = 0;
    auto all = elements<THREADS, BATCH>(n, [=](uint64_t i) { return Two<T>{r[i], z[i]}; });
    all.for_each([&](uint64_t, Two<T> of) { sum = fma(double(of.a), double(of.b), sum); });
    finish_total<THREADS>(sum, state, partials, arrived);
}

// p = D r, D diagonal; state.total = r . D r. 3n.
template <class T, int THREADS, int BATCH> __global__ void __launch_bounds__(THREADS, 4)
    scaled_direction(const T *diagonal, const T *r, T *p, SolverState *state, double *partials,
                     uint32_t *arrived, uint64_t n) {
    gpu::grid_dependency_wait();
    double sum = 0;
    auto all = elements<THREADS, BATCH>(n, [=](uint64_t i) { return Two<T>{diagonal[i], r[i]}; });
    all.for_each([&](uint64_t i, Two<T> of) {
        p[i] = of.a * of.b;
        sum = fma(double(of.b), double(of.a) * double(of.b), sum);
    });
    finish_total<THREADS>(sum, state, partials, arrived);
}

// r *= factor, rounded once; state.total = r . r. 2n.
template <class T, int THREADS, int BATCH> __global__ void __launch_bounds__(THREADS, 4)
    rescale(double factor, T *r, SolverState *state, double *partials, uint32_t *arrived,
            uint64_t n) {
    gpu::grid_dependency_wait();
    double sum = 0;
    auto all = elements<THREADS, BATCH>(n, [=](uint64_t i) { return r[i]; });
    all.for_each([&](uint64_t i, T of) {
        T scaled = T(double(of) * factor);
        r[i] = scaled;
        sum = fma(double(scaled), double(scaled), sum);
    });
    finish_total<THREADS>(sum, state, partials, arrived);
}

} // namespace gpu_sparse::cg
