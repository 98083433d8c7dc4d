// An expression over elements that all lie one behind the other.
//
// Contract: grid ceil((n - head) / TILE), at least 1, where TILE = THREADS * WIDTH * UNROLL; block THREADS; no shared memory.
// Words: n, head; the address of each output; address and kind of each leaf (for Place leaves the first value and the step); the scalars;
// the extra words. Each output has n elements, and its address plus head elements is aligned to packs of WIDTH; so has each PACKED leaf. A
// SPACED leaf here is one whose packs are not aligned. Elements are read once and written once: bytes moved are those of all of them.
// An output may be one of the leaves.
#pragma once
#include "loop.cuh"

namespace gpu {

template <class E> struct LinearWords {
    static constexpr int OUTPUTS = 2, LEAVES = OUTPUTS + E::Outputs::SIZE, SCALARS = LEAVES + 2 * E::Leaves::SIZE;
    static constexpr int EXTRA = SCALARS + E::SCALARS, COUNT = EXTRA + E::EXTRA;
};

// The leaf's values from place i on.
template <class T, int WIDTH>
__device__ __forceinline__ void linear_load(Pack<T, WIDTH> &values, uint64_t address, uint64_t kind, uint64_t i) {
    load(values, address, kind, kind == CONSTANT ? 0 : int64_t(i), 1);
}
template <int WIDTH>
__device__ __forceinline__ void linear_load(Pack<Place, WIDTH> &values, uint64_t first, uint64_t step, uint64_t i) {
    load(values, first, SPACED, int64_t(i * step), int64_t(step));
}
template <class T> __device__ __forceinline__ void linear_load_one(T &value, uint64_t address, uint64_t kind, uint64_t i) {
    load_one(value, address, kind == CONSTANT ? 0 : int64_t(i));
}
__device__ __forceinline__ void linear_load_one(Place &value, uint64_t first, uint64_t step, uint64_t i) {
    load_one(value, first, int64_t(i * step));
}

// One place.
template <class E> __device__ __forceinline__ void linear_one(const uint64_t *word, uint64_t i) {
    typedef LinearWords<E> At;
    typename E::Leaves x;
    typename E::Outputs y;
    each(x, [&](auto k, auto &value) {
        constexpr int LEAF = At::LEAVES + 2 * decltype(k)::value;
        linear_load_one(value, word[LEAF], word[LEAF + 1], i);
    });
    E::apply(word + At::SCALARS, word + At::EXTRA, x, y);
    each(y, [&](auto k, auto &value) { store_one(value, word[At::OUTPUTS + decltype(k)::value], int64_t(i)); });
}

template <class E, int THREADS, int WIDTH, int UNROLL>
__global__ void __launch_bounds__(THREADS) linear(const __grid_constant__ Words<LinearWords<E>::COUNT> words) {
    typedef LinearWords<E> At;
    constexpr uint64_t ROUND = uint64_t(THREADS) * WIDTH, TILE = ROUND * UNROLL;
    const uint64_t *word = words.word;
    const uint64_t n = word[0], head = word[1];

    // Before the first aligned place.
    if (blockIdx.x == 0 && threadIdx.x < head) linear_one<E>(word, threadIdx.x);

    const uint64_t start = head + blockIdx.x * TILE;
    if (start + TILE <= n) {
        // All loads before the first use.
        typename Wide<WIDTH, typename E::Leaves>::type in[UNROLL];
        const uint64_t first = start + threadIdx.x * WIDTH;
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            const uint64_t i = first + u * ROUND;
            each(in[u], [&](auto k, auto &values) {
                constexpr int LEAF = At::LEAVES + 2 * decltype(k)::value;
                linear_load(values, word[LEAF], word[LEAF + 1], i);
            });
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            const uint64_t i = first + u * ROUND;
            typename Wide<WIDTH, typename E::Outputs>::type out;
            apply<E, WIDTH>(word + At::SCALARS, word + At::EXTRA, in[u], out);
            each(out, [&](auto k, auto &values) { store(values, word[At::OUTPUTS + decltype(k)::value], true, int64_t(i), 1); });
        }
    } else {
        for (uint64_t i = start + threadIdx.x; i < n; i += THREADS) linear_one<E>(word, i);
    }
}

} // namespace gpu
