// An expression over contiguous elements.
//
// Packs of VECTOR_SIZE places begin `peel` places before the first, so that they are aligned in the
// outputs' memory.
// Contract: grid ceil((count + peel) / (THREADS * VECTOR_SIZE * VECTORS_PER_THREAD)), block
// THREADS, no shared memory. Parameters: LinearParams (params.rs). Each output has `count`
// elements, and its address less peel elements is aligned to packs; so is that of each PACKED leaf.
// The packs of a STRIDED leaf are not aligned. Bytes moved: each element is read once and written
// once. An output may be one of the leaves.
#pragma once
#include "loop.cuh"

namespace gpu::array {

// Loads the leaf's values at the places from i on. Only those from `first` to `last` exist.
template <class T, int VECTOR_SIZE>
__device__ __forceinline__ void linear_load(Pack<T, VECTOR_SIZE> &values, const LeafParams &leaf,
                                            int64_t, int64_t i, int first, int last) {
    load(values, leaf.address, leaf.kind, leaf.kind == CONSTANT ? 0 : i, 1, first, last);
}
template <int VECTOR_SIZE>
__device__ __forceinline__ void linear_load(Pack<Index, VECTOR_SIZE> &values,
                                            const LeafParams &leaf, int64_t step, int64_t i,
                                            int first, int last) {
    load(values, leaf.address, STRIDED, i * step, step, first, last);
}

template <class E, int THREADS, int VECTOR_SIZE, int VECTORS_PER_THREAD>
__global__ void __launch_bounds__(THREADS) linear(const __grid_constant__ LinearParams<E> params) {
    grid_dependency_wait();
    const int64_t n = int64_t(params.count), peel = int64_t(params.peel);

    // All loads precede the first use.
    typename Wide<VECTOR_SIZE, typename E::Leaves>::type in[VECTORS_PER_THREAD];
    int64_t place[VECTORS_PER_THREAD];
    int first[VECTORS_PER_THREAD], last[VECTORS_PER_THREAD];
#pragma unroll
    for (int u = 0; u < VECTORS_PER_THREAD; u++) {
        const int64_t i =
            ((int64_t(blockIdx.x) * VECTORS_PER_THREAD + u) * THREADS + threadIdx.x) * VECTOR_SIZE -
            peel;
        place[u] = i;
        first[u] = i < 0 ? int(-i) : 0;
        last[u] = n - i < VECTOR_SIZE ? int(n - i) - 1 : VECTOR_SIZE - 1;
        if (i >= n) last[u] = -1;
        if (last[u] < first[u]) continue;
        each(in[u], [&](auto k, auto &values) {
            constexpr int K = decltype(k)::value;
            linear_load(values, params.leaves[K], params.steps[K], i, first[u], last[u]);
        });
    }
#pragma unroll
    for (int u = 0; u < VECTORS_PER_THREAD; u++) {
        if (last[u] < first[u]) continue;
        typename Wide<VECTOR_SIZE, typename E::Outputs>::type out;
        apply<E, VECTOR_SIZE>(params.scalars.at, params.extra.at, in[u], out);
        each(out, [&](auto k, auto &values) {
            store<StoreMode::WHOLE>(values, params.outputs[decltype(k)::value], true, place[u], 1,
                                    first[u], last[u]);
        });
    }
}

} // namespace gpu::array
