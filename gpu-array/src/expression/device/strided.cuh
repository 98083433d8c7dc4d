// An expression over elements that lie anywhere: strides of any size and sign, and 0 for broadcast
// axes.
//
// The axes are in the order of the outputs' strides, and contiguous axes are joined. Axis 0 has the
// smallest stride; threads go along it, in packs of VECTOR_SIZE places.
// Contract: grid ceil(items / (THREADS * VECTORS_PER_THREAD)), block THREADS, no shared memory. An
// item is a pack of a row; items = rows * packs of a row. Parameters: StridedParams (params.rs).
// The function `divisor` on the host gives a divisor. PACKED leaves and outputs have stride 1 along
// axis 0, and addresses and other strides of whole packs.
// Bytes moved: each output once, and the reads of each leaf that the caches do not serve.
#pragma once
#include "loop.cuh"

namespace gpu::array {

template <class E, int THREADS, int VECTOR_SIZE, int VECTORS_PER_THREAD>
__global__ void __launch_bounds__(THREADS)
    strided(const __grid_constant__ StridedParams<E> params) {
    constexpr int LEAVES = E::Leaves::SIZE;
    grid_dependency_wait();
    const uint64_t items = params.items;
    const int rank = int(params.rank);
    const bool packed = params.is_packed, wide = params.is_wide;

    typename Wide<VECTOR_SIZE, typename E::Leaves>::type in[VECTORS_PER_THREAD];
    int64_t place[VECTORS_PER_THREAD];
    int count[VECTORS_PER_THREAD];
#pragma unroll
    for (int u = 0; u < VECTORS_PER_THREAD; u++) {
        const uint64_t item =
            (uint64_t(blockIdx.x) * VECTORS_PER_THREAD + u) * THREADS + threadIdx.x;
        count[u] = 0;
        if (item >= items) continue;

        // Offsets of the pack's first element, for the outputs and for each leaf.
        uint64_t row = quotient(item, params.row_packs, params.row_divisor, wide);
        const int64_t column = int64_t(item - row * params.row_packs) * VECTOR_SIZE;
        const int64_t left = int64_t(params.length) - column;
        count[u] = left < VECTOR_SIZE ? int(left) : VECTOR_SIZE;
        int64_t offset[LEAVES + 1];
#pragma unroll
        for (int k = 0; k <= LEAVES; k++) offset[k] = column * params.axes[0].strides[k];
        const auto *axis = params.axes.at;
        // Copies of the loop's body, four of them, would take a quarter longer to compile.
#pragma unroll 1
        for (int d = 1; d < rank; d++) {
            axis++;
            const uint64_t next = quotient(row, axis->length, axis->divisor, wide);
            const int64_t c = int64_t(row - next * axis->length);
            row = next;
#pragma unroll
            for (int k = 0; k <= LEAVES; k++) offset[k] += c * axis->strides[k];
        }

        place[u] = offset[0];
        each(in[u], [&](auto k, auto &values) {
            constexpr int K = decltype(k)::value;
            const LeafParams &leaf = params.leaves[K];
            load(values, leaf.address, leaf.kind, offset[K + 1], params.axes[0].strides[K + 1], 0,
                 count[u] - 1);
        });
    }
    // All values before the first store, behind which no load may move.
    typename Wide<VECTOR_SIZE, typename E::Outputs>::type out[VECTORS_PER_THREAD];
#pragma unroll
    for (int u = 0; u < VECTORS_PER_THREAD; u++) {
        if (count[u] > 0) apply<E, VECTOR_SIZE>(params.scalars.at, params.extra.at, in[u], out[u]);
    }
#pragma unroll
    for (int u = 0; u < VECTORS_PER_THREAD; u++) {
        if (count[u] == 0) continue;
        each(out[u], [&](auto k, auto &values) {
            store<StoreMode::WHOLE>(values, params.outputs[decltype(k)::value], packed, place[u],
                                    params.axes[0].strides[0], 0, count[u] - 1);
        });
    }
}

} // namespace gpu::array
