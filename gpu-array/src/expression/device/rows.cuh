// An expression over rows of whole packs. Two kinds take it: those with tables, and those with rows
// of 64 packs or more whose outputs and leaves are PACKED, or leaves CONSTANT (plan.rs). A thread
// has PACKS packs of one row. With tables it computes once the values that do not differ along the
// row.
//
// The first blocks have the last rows: L2 holds the elements that the kernel before has accessed
// last, such as those of the operand of a reduction whose result is broadcast here.
//
// The axes are those of strided.cuh; a row lies along axis 0. The leaves of E::SAME have one value
// for all places of a row. Rows are shared by 1 << `log_lanes` threads of a block; a longer row has
// `parts` blocks.
// Contract: grid ceil(rows / (THREADS >> log_lanes)) * parts, block THREADS, no shared memory.
// Parameters: RowsParams (params.rs). PACKED leaves and outputs have stride 1 along axis 0, and
// addresses and other strides of whole packs. Bytes moved: each output once, and the reads of
// leaves and tables that the caches do not serve.
#pragma once
#include "loop.cuh"

namespace gpu::array {

template <class E, int THREADS, int VECTOR_SIZE, int PACKS>
__global__ void __launch_bounds__(THREADS) rows(const __grid_constant__ RowsParams<E> params) {
    constexpr int LEAVES = E::Leaves::SIZE;
    // Without tables nothing is STRIDED, and packs are moved without a branch.
    constexpr bool ALL_PACKED = !has_packs<E>(0);
    grid_dependency_wait();
    const uint32_t log = params.log_lanes, lane = threadIdx.x & ((1u << log) - 1);
    const uint32_t block = gridDim.x - 1 - blockIdx.x;
    const uint32_t rows = uint32_t(quotient(block, params.parts, params.parts_divisor, false));
    const uint32_t part = block - rows * params.parts;
    uint64_t row = uint64_t(rows) * (THREADS >> log) + (threadIdx.x >> log);
    // The packs of a thread are 1 << `log_lanes` apart; each has a first one, or has nothing to do.
    const uint32_t first = (part * PACKS << log) + lane;
    if (row >= params.rows || first >= params.row_packs) return;

    // Offsets of the row's first element, for the outputs and for each leaf.
    int64_t offset[LEAVES + 1];
#pragma unroll
    for (int k = 0; k <= LEAVES; k++) offset[k] = 0;
#pragma unroll 1
    for (int d = 1; d < int(params.rank); d++) {
        const auto &axis = params.axes.at[d];
        int64_t c = int64_t(row);
        // Along the last axis nothing needs to be divided.
        if (d + 1 < int(params.rank)) {
            const uint64_t next = quotient(row, axis.length, axis.divisor, params.is_wide);
            c -= int64_t(next * axis.length);
            row = next;
        }
#pragma unroll
        for (int k = 0; k <= LEAVES; k++) offset[k] += c * axis.strides[k];
    }

    typename Wide<VECTOR_SIZE, typename E::Leaves>::type in[PACKS];
    int64_t column[PACKS];
    bool is_there[PACKS];
    const auto &strides = params.axes.at[0].strides;
    const int64_t step = ALL_PACKED ? 1 : strides[0];
#pragma unroll
    for (int p = 0; p < PACKS; p++) {
        // In place of a pack behind the row stands the first: no other thread may write elements
        // that this one reads. It is not stored.
        const uint32_t pack = first + (uint32_t(p) << log);
        is_there[p] = pack < params.row_packs;
        column[p] = int64_t(is_there[p] ? pack : first) * VECTOR_SIZE;
        each(in[p], [&](auto k, auto &values) {
            constexpr int K = decltype(k)::value;
            const LeafParams &leaf = params.leaves[K];
            if constexpr (E::SAME >> K & 1) {
                if (p == 0) load(values, leaf.address, CONSTANT, offset[K + 1], 0);
            } else {
                const uint64_t kind = !ALL_PACKED || leaf.kind == CONSTANT ? leaf.kind : PACKED;
                load(values, leaf.address, kind, offset[K + 1] + column[p] * strides[K + 1],
                     strides[K + 1]);
            }
        });
    }
    // All values before the first store, behind which no load may move.
    typename Wide<VECTOR_SIZE, typename E::Outputs>::type out[PACKS];
    if constexpr (!ALL_PACKED) {
        E::template apply_packs<VECTOR_SIZE, PACKS>(params.scalars.at, params.extra.at, in, out);
    } else {
#pragma unroll
        for (int p = 0; p < PACKS; p++)
            apply<E, VECTOR_SIZE>(params.scalars.at, params.extra.at, in[p], out[p]);
    }
#pragma unroll
    for (int p = 0; p < PACKS; p++) {
        if (!is_there[p]) continue;
        each(out[p], [&](auto k, auto &values) {
            store<StoreMode::WHOLE>(values, params.outputs[decltype(k)::value],
                                    ALL_PACKED || params.is_packed, offset[0] + column[p] * step,
                                    step);
        });
    }
}

} // namespace gpu::array
