// An expression over contiguous elements.
//
// Packs of WIDTH places begin `shift` places before the first, so that they are aligned in the
// outputs' memory.
// Contract: grid ceil((n + shift) / (THREADS * WIDTH * UNROLL)), block THREADS, no shared memory.
// Words: n; shift, less than WIDTH; the address of each output; address and kind of each leaf (for
// Place leaves the first value and the step); the scalars; the extra words. Each output has n
// elements, and its address less shift elements is aligned to packs; so is that of each PACKED
// leaf. The packs of a SPACED leaf are not aligned. Bytes moved: each element is read once and
// written once. An output may be one of the leaves.
#pragma once
#include "loop.cuh"

namespace gpu {

template <class E> struct LinearWords {
    static constexpr int OUTPUTS = 2, LEAVES = OUTPUTS + E::Outputs::SIZE, SCALARS = LEAVES + 2 * E::Leaves::SIZE;
    static constexpr int EXTRA = SCALARS + E::SCALARS, COUNT = EXTRA + E::EXTRA;
};

// Loads the leaf's values at the places from i on. Only those from `first` to `last` exist.
template <class T, int WIDTH>
__device__ __forceinline__ void linear_load(Pack<T, WIDTH> &values, uint64_t address, uint64_t kind, int64_t i, int first, int last) {
    load(values, address, kind, kind == CONSTANT ? 0 : i, 1, first, last);
}
template <int WIDTH>
__device__ __forceinline__ void linear_load(Pack<Place, WIDTH> &values, uint64_t start, uint64_t step, int64_t i, int first, int last) {
    load(values, start, SPACED, int64_t(i * step), int64_t(step), first, last);
}

template <class E, int THREADS, int WIDTH, int UNROLL>
__global__ void __launch_bounds__(THREADS) linear(const __grid_constant__ Words<LinearWords<E>::COUNT> words) {
    typedef LinearWords<E> At;
    gpu::wait_for_stream();
    const uint64_t *word = words.word;
    const int64_t n = int64_t(word[0]), shift = int64_t(word[1]);

    // All loads precede the first use.
    typename Wide<WIDTH, typename E::Leaves>::type in[UNROLL];
    int64_t place[UNROLL];
    int first[UNROLL], last[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        const int64_t i = ((int64_t(blockIdx.x) * UNROLL + u) * THREADS + threadIdx.x) * WIDTH - shift;
        place[u] = i;
        first[u] = i < 0 ? int(-i) : 0;
        last[u] = n - i < WIDTH ? int(n - i) - 1 : WIDTH - 1;
        if (i >= n) last[u] = -1;
        if (last[u] < first[u]) continue;
        each(in[u], [&](auto k, auto &values) {
            constexpr int LEAF = At::LEAVES + 2 * decltype(k)::value;
            linear_load(values, word[LEAF], word[LEAF + 1], i, first[u], last[u]);
        });
    }
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        if (last[u] < first[u]) continue;
        typename Wide<WIDTH, typename E::Outputs>::type out;
        apply<E, WIDTH>(word + At::SCALARS, word + At::EXTRA, in[u], out);
        each(out, [&](auto k, auto &values) { store(values, word[At::OUTPUTS + decltype(k)::value], true, place[u], 1, first[u], last[u]); });
    }
}

} // namespace gpu
