// Kernels that make arrays.
//
// Contract of both: grid any one-dimensional, block THREADS, no shared memory; out[0..n) is writable and aligned for T;
// each element is written once, nothing else is touched. Bytes moved: sizeof(T) per element.
#include "prelude.cuh"

// out[i] = value. Stores of 16 bytes between the first and the last 16-byte boundary, single elements around them.
template <class T, int THREADS> __global__ void __launch_bounds__(THREADS) fill(T value, T *out, uint64_t n) {
    constexpr uint64_t WIDTH = 16 / sizeof(T);
    struct alignas(16) Pack { T lane[WIDTH]; };
    Pack pack;
    for (uint64_t k = 0; k < WIDTH; k++) pack.lane[k] = value;

    // Elements before the first boundary: the address is a multiple of sizeof(T), so this is a whole number of them.
    uint64_t misaligned = reinterpret_cast<uint64_t>(out) % 16;
    uint64_t head = misaligned == 0 ? 0 : (16 - misaligned) / sizeof(T);
    if (head > n) head = n;
    uint64_t packs = (n - head) / WIDTH;
    uint64_t tail = head + packs * WIDTH;

    Pack *body = reinterpret_cast<Pack *>(out + head);
    for (uint64_t i = gpu::first_index(); i < packs; i += gpu::index_step()) body[i] = pack;
    for (uint64_t i = gpu::first_index(); i < head; i += gpu::index_step()) out[i] = value;
    for (uint64_t i = tail + gpu::first_index(); i < n; i += gpu::index_step()) out[i] = value;
}

// start + i * step as the host's reference computes it: integers wrap, floats in f64 without contraction, rounded once.
template <class T> __device__ T range_value(T start, T step, uint64_t i) { return T(uint64_t(start) + i * uint64_t(step)); }
template <> __device__ inline double range_value(double start, double step, uint64_t i) {
    return __dadd_rn(start, __dmul_rn(double(i), step));
}
template <> __device__ inline float range_value(float start, float step, uint64_t i) {
    return float(range_value(double(start), double(step), i));
}

// out[i] = start + i * step.
template <class T, int THREADS> __global__ void __launch_bounds__(THREADS) arange(T start, T step, T *out, uint64_t n) {
    for (uint64_t i = gpu::first_index(); i < n; i += gpu::index_step()) out[i] = range_value(start, step, i);
}
