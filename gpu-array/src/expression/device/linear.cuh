// An expression over contiguous elements.
//
// Packs of WIDTH places begin `shift` places before the first, so that they are aligned in the
// outputs' memory.
// Contract: grid ceil((count + shift) / (THREADS * WIDTH * UNROLL)), block THREADS, no shared
// memory. Parameters: LinearParams (params.rs). Each output has `count` elements, and its address less shift elements is aligned to packs; so is that of each PACKED
// leaf. The packs of a SPACED leaf are not aligned. Bytes moved: each element is read once and
// written once. An output may be one of the leaves.
#pragma once
#include "loop.cuh"

namespace gpu {

// Loads the leaf's values at the places from i on. Only those from `first` to `last` exist.
template <class T, int WIDTH>
__device__ __forceinline__ void linear_load(Pack<T, WIDTH> &values, const LeafParams &leaf, int64_t, int64_t i, int first, int last) {
    load(values, leaf.address, leaf.kind, leaf.kind == CONSTANT ? 0 : i, 1, first, last);
}
template <int WIDTH>
__device__ __forceinline__ void linear_load(Pack<Place, WIDTH> &values, const LeafParams &leaf, int64_t step, int64_t i, int first, int last) {
    load(values, leaf.address, SPACED, i * step, step, first, last);
}

template <class E, int THREADS, int WIDTH, int UNROLL>
__global__ void __launch_bounds__(THREADS) linear(const __grid_constant__ LinearParams<E> params) {
    gpu::wait_for_stream();
    const int64_t n = int64_t(params.count), shift = int64_t(params.shift);

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
            constexpr int K = decltype(k)::value;
            linear_load(values, params.leaves[K], params.steps[K], i, first[u], last[u]);
        });
    }
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        if (last[u] < first[u]) continue;
        typename Wide<WIDTH, typename E::Outputs>::type out;
        apply<E, WIDTH>(params.scalars.at, params.extra.at, in[u], out);
        each(out, [&](auto k, auto &values) { store(values, params.outputs[decltype(k)::value], true, place[u], 1, first[u], last[u]); });
    }
}

} // namespace gpu
