// How fast memory can be read: the ceiling of everything that only reads.
//
// Contract: grid any one-dimensional, block THREADS (a power of two, at least 32), no dynamic
// shared memory. words[0..n) is readable and aligned to 16 bytes, partials[0..grid) writable; block
// b writes partials[b] and nothing else. Bytes moved: 16 per word, and 4 per block. The words are
// added up, modulo 2^32, so that no load can be left out: the sum of partials is the sum of the 4 n
// integers.
#include "prelude.cuh"

struct alignas(16) Word {
    uint32_t part[4];
};

template <int THREADS, int LOADS> __global__ void __launch_bounds__(THREADS)
    read_all(const uint32_t *integers, uint32_t *partials, uint64_t n) {
    const Word *words = reinterpret_cast<const Word *>(integers);
    uint32_t sum = 0;
    // LOADS loads are under way before the first is used.
    uint64_t i = gpu::first_index(), step = gpu::index_step();
    for (; i + (LOADS - 1) * step < n; i += LOADS * step) {
        Word loaded[LOADS];
#pragma unroll
        for (int k = 0; k < LOADS; k++) loaded[k] = words[i + k * step];
#pragma unroll
        for (int k = 0; k < LOADS; k++)
            sum += loaded[k].part[0] + loaded[k].part[1] + loaded[k].part[2] + loaded[k].part[3];
    }
    for (; i < n; i += step)
        sum += words[i].part[0] + words[i].part[1] + words[i].part[2] + words[i].part[3];

    SHARED(uint32_t, sums, [THREADS]);
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) partials[blockIdx.x] = sums[0];
}
