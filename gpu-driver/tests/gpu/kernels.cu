// Kernels for the tests of gpu-driver. Each runs on any one-dimensional grid unless it says otherwise.
#include "prelude.cuh"

// y = a x + y over n elements.
template <class T> __global__ void axpy(T a, const T *x, T *y, uint64_t n) {
    for (uint64_t i = gpu::first_index(); i < n; i += gpu::index_step()) y[i] = a * x[i] + y[i];
}

// Waits about `cycles` clock cycles, then writes value to out[0..n).
__global__ void slow_fill(uint64_t cycles, uint32_t value, uint32_t *out, uint64_t n) {
    long long start = clock64();
    while (uint64_t(clock64() - start) < cycles) {}
    for (uint64_t i = gpu::first_index(); i < n; i += gpu::index_step()) out[i] = value;
}

// Reverses n <= blockDim.x elements through dynamic shared memory; one block.
__global__ void reverse(const uint32_t *x, uint32_t *y, uint64_t n) {
    SHARED_DYNAMIC(uint32_t, tile);
    if (threadIdx.x < n) tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    if (threadIdx.x < n) y[threadIdx.x] = tile[n - 1 - threadIdx.x];
}

// Faults, by kind: 0 a store to an unmapped address, 1 a trap, 2 a misaligned store.
__global__ void fault(uint32_t kind, uint32_t *out) {
    if (kind == 0) *reinterpret_cast<volatile uint32_t *>(16) = 1;
    if (kind == 1) __trap();
    if (kind == 2) *reinterpret_cast<volatile uint32_t *>(reinterpret_cast<char *>(out) + 1) = 1;
}

// out[0] = sum of x[0..n) in one launch: `counters` is a ticket, zero before and after; `partial` has room for a sum of each thread.
__global__ void total(const uint32_t *x, uint64_t n, uint64_t counters, uint64_t partial, uint64_t *out) {
    uint32_t *ticket = reinterpret_cast<uint32_t *>(counters);
    volatile uint64_t *sums = reinterpret_cast<uint64_t *>(partial);
    SHARED(bool, is_last, [1]);
    uint64_t sum = 0;
    for (uint64_t i = gpu::first_index(); i < n; i += gpu::index_step()) sum += x[i];
    sums[gpu::first_index()] = sum;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) is_last[0] = atomicAdd(ticket, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!is_last[0] || threadIdx.x != 0) return;
    // The last block to end sees what all have left.
    __threadfence();
    sum = 0;
    for (uint32_t i = 0; i < gridDim.x * blockDim.x; ++i) sum += sums[i];
    out[0] = sum;
    *ticket = 0;
}
