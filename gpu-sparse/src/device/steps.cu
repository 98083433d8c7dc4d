// The vector passes of conjugate gradients (Hestenes and Stiefel 1952), fused so that each vector moves once per pass. Their scalars are
// in the State, which the pass before has made.
//
// Contract of all:
//   grid      one-dimensional, any size: blocks stride over the elements
//   block     THREADS, a multiple of 32
//   shared    8 bytes per warp and per flag where there are sums, else none
//   arguments vectors have n elements, n at least 1, and do not overlap; partials has gridDim.x elements per sum; arrived is 0
//   bytes     n elements for each vector read and each vector written: the number stands at each kernel
//   order     sums are formed in f64, one per thread with its stride, then per block, then over the blocks. Bits depend on THREADS,
//             BATCH and the grid alone; there are no atomics on floating-point numbers.
#include "prelude.cuh"
#include "state.cuh"
#include "sums.cuh"

using namespace gpu_sparse;

namespace {

// The elements that fall to a thread, BATCH at a time. A batch's loads are all under way before the first is used, and those of the first
// batch as soon as this is made. `load(i)` gives what there is to know of element i.
template <int THREADS, int BATCH, class Element, class Load> struct Elements {
    Load load;
    uint64_t n, first;
    Element batch[BATCH];

    __device__ Elements(Load load, uint64_t n) : load(load), n(n), first(uint64_t(blockIdx.x) * THREADS * BATCH + threadIdx.x) { fetch(); }

    __device__ void fetch() {
        if (first >= n) return;
#pragma unroll
        for (int k = 0; k < BATCH; k++) batch[k] = load(min(first + k * THREADS, n - 1));
    }

    // body(i, what load(i) gave)
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
template <int THREADS> __device__ void finish_total(double sum, State *state, double *partials, uint32_t *arrived) {
    double sums[1] = {sum};
    if (!leave_sums<THREADS>(sums, partials, arrived)) return;
    double total = sum_of_blocks<THREADS>(partials, 0);
    if (threadIdx.x == 0) state->scalars.total = total;
}

} // namespace

// r -= alpha q; r . r; without a preconditioner that is r . z, too, and the direction follows; with one that must be stored
// (STORED) the direction waits for it. 3n.
template <class T, int THREADS, int BATCH, bool STORED>
__global__ void __launch_bounds__(THREADS)
    update_residual(const T *q, T *r, State *state, double *partials, uint32_t *arrived, uint64_t n) {
    bool running = state->scalars.stop == RUNNING;
    T alpha = T(state->scalars.alpha);
    auto all = elements<THREADS, BATCH>(n, [=](uint64_t i) { return Two<T>{r[i], q[i]}; });
    if (!running) return;
    double sums[1] = {0};
    all.for_each([&](uint64_t i, Two<T> of) {
        T updated = of.a - alpha * of.b;
        r[i] = updated;
        sums[0] += double(updated) * double(updated);
    });
    if (!leave_sums<THREADS>(sums, partials, arrived)) return;
    Scalars scalars = state->scalars;
    double square = sum_of_blocks<THREADS>(partials, 0);
    if (threadIdx.x != 0) return;
    if (decide_residual(scalars, square, state->history) && !STORED) decide_direction<T>(scalars, square);
    state->scalars = scalars;
}

// The same with z = D r, D diagonal, which is not stored: r . r and r . D r. 4n.
template <class T, int THREADS, int BATCH>
__global__ void __launch_bounds__(THREADS)
    update_residual_diagonal(const T *q, const T *diagonal, T *r, State *state, double *partials, uint32_t *arrived, uint64_t n) {
    bool running = state->scalars.stop == RUNNING;
    T alpha = T(state->scalars.alpha);
    auto all = elements<THREADS, BATCH>(n, [=](uint64_t i) { return Three<T>{r[i], q[i], diagonal[i]}; });
    if (!running) return;
    double sums[2] = {0, 0};
    all.for_each([&](uint64_t i, Three<T> of) {
        T updated = of.a - alpha * of.b;
        r[i] = updated;
        sums[0] += double(updated) * double(updated);
        sums[1] += double(updated) * (double(of.c) * double(updated));
    });
    if (!leave_sums<THREADS>(sums, partials, arrived)) return;
    Scalars scalars = state->scalars;
    double square = sum_of_blocks<THREADS>(partials, 0), rho = sum_of_blocks<THREADS>(partials, 1);
    if (threadIdx.x != 0) return;
    if (decide_residual(scalars, square, state->history)) decide_direction<T>(scalars, rho);
    state->scalars = scalars;
}

// x += step p, then p = z + beta p; in the iteration that stopped the solve the former alone. 5n.
template <class T, int THREADS, int BATCH>
__global__ void __launch_bounds__(THREADS) update_direction(const T *z, T *x, T *p, const State *state, uint64_t n) {
    bool running = state->scalars.stop == RUNNING, pending = state->scalars.pending;
    T step = T(state->scalars.step), beta = T(state->scalars.beta);
    auto all = elements<THREADS, BATCH>(n, [=](uint64_t i) { return Three<T>{p[i], x[i], z[i]}; });
    if (!running && !pending) return;
    all.for_each([&](uint64_t i, Three<T> of) {
        x[i] = of.b + step * of.a;
        if (running) p[i] = of.c + beta * of.a;
    });
}

// The same with z = D r, D diagonal. 6n.
template <class T, int THREADS, int BATCH>
__global__ void __launch_bounds__(THREADS)
    update_direction_diagonal(const T *diagonal, const T *r, T *x, T *p, const State *state, uint64_t n) {
    bool running = state->scalars.stop == RUNNING, pending = state->scalars.pending;
    T step = T(state->scalars.step), beta = T(state->scalars.beta);
    auto all = elements<THREADS, BATCH>(n, [=](uint64_t i) { return Four<T>{p[i], x[i], r[i], diagonal[i]}; });
    if (!running && !pending) return;
    all.for_each([&](uint64_t i, Four<T> of) {
        x[i] = of.b + step * of.a;
        if (running) p[i] = of.d * of.c + beta * of.a;
    });
}

// z was made elsewhere: r . z, and the direction that follows from it. 2n.
template <class T, int THREADS, int BATCH>
__global__ void __launch_bounds__(THREADS)
    decide_preconditioned(const T *r, const T *z, State *state, double *partials, uint32_t *arrived, uint64_t n) {
    if (state->scalars.stop != RUNNING) return;
    double sums[1] = {0};
    auto all = elements<THREADS, BATCH>(n, [=](uint64_t i) { return Two<T>{r[i], z[i]}; });
    all.for_each([&](uint64_t, Two<T> of) { sums[0] += double(of.a) * double(of.b); });
    if (!leave_sums<THREADS>(sums, partials, arrived)) return;
    Scalars scalars = state->scalars;
    double rho = sum_of_blocks<THREADS>(partials, 0);
    if (threadIdx.x != 0) return;
    decide_direction<T>(scalars, rho);
    state->scalars = scalars;
}

// state.total = r . z. 2n.
template <class T, int THREADS, int BATCH>
__global__ void __launch_bounds__(THREADS)
    dot(const T *r, const T *z, State *state, double *partials, uint32_t *arrived, uint64_t n) {
    double sum = 0;
    auto all = elements<THREADS, BATCH>(n, [=](uint64_t i) { return Two<T>{r[i], z[i]}; });
    all.for_each([&](uint64_t, Two<T> of) { sum += double(of.a) * double(of.b); });
    finish_total<THREADS>(sum, state, partials, arrived);
}

// p = D r, D diagonal; state.total = r . D r. 3n.
template <class T, int THREADS, int BATCH>
__global__ void __launch_bounds__(THREADS)
    scaled_direction(const T *diagonal, const T *r, T *p, State *state, double *partials, uint32_t *arrived, uint64_t n) {
    double sum = 0;
    auto all = elements<THREADS, BATCH>(n, [=](uint64_t i) { return Two<T>{diagonal[i], r[i]}; });
    all.for_each([&](uint64_t i, Two<T> of) {
        p[i] = of.a * of.b;
        sum += double(of.b) * (double(of.a) * double(of.b));
    });
    finish_total<THREADS>(sum, state, partials, arrived);
}

// r *= factor, rounded once; state.total = r . r. 2n.
template <class T, int THREADS, int BATCH>
__global__ void __launch_bounds__(THREADS)
    rescale(double factor, T *r, State *state, double *partials, uint32_t *arrived, uint64_t n) {
    double sum = 0;
    auto all = elements<THREADS, BATCH>(n, [=](uint64_t i) { return r[i]; });
    all.for_each([&](uint64_t i, T of) {
        T scaled = T(double(of) * factor);
        r[i] = scaled;
        sum += double(scaled) * double(scaled);
    });
    finish_total<THREADS>(sum, state, partials, arrived);
}
