// An expression over elements that lie anywhere: strides of any size and sign, and 0 for broadcast
// axes.
//
// The axes are in the order of the outputs' strides, and contiguous axes are joined. Axis 0 has the
// smallest stride; threads go along it, in packs of WIDTH places.
// Contract: grid ceil(items / (THREADS * UNROLL)), block THREADS, no shared memory. An item is a
// pack of a row; items = rows * packs of a row. Words: items; rank + 256 * (outputs are packed) +
// 65536 * (items >= 2^31); the length of axis 0; packs of a row and their divisor; the address of
// each output; address and kind of each leaf (first value and 0 for Place leaves); AXES axes:
// length, divisor, the outputs' stride, that of each leaf; the scalars; the extra words. The
// function `divisor` on the host gives a divisor. PACKED leaves and outputs have stride 1 along
// axis 0, and addresses and other strides of whole packs, or multiples of 16 bytes where packs are
// longer.
// Bytes moved: each output once, and the reads of each leaf that the caches do not serve.
#pragma once
#include "loop.cuh"

namespace gpu {

template <class E> struct StridedWords {
    static constexpr int OUTPUTS = 5, LEAVES = OUTPUTS + E::Outputs::SIZE, AXIS = LEAVES + 2 * E::Leaves::SIZE;
    static constexpr int AXIS_WORDS = 3 + E::Leaves::SIZE;
    static constexpr int SCALARS = AXIS + AXES * AXIS_WORDS, EXTRA = SCALARS + E::SCALARS, COUNT = EXTRA + E::EXTRA;
};

template <class E, int THREADS, int WIDTH, int UNROLL>
__global__ void __launch_bounds__(THREADS) strided(const __grid_constant__ Words<StridedWords<E>::COUNT> words) {
    typedef StridedWords<E> At;
    constexpr int LEAVES = E::Leaves::SIZE;
    gpu::wait_for_stream();
    const uint64_t *word = words.word;
    const uint64_t items = word[0];
    const int rank = int(word[1] & 255);
    const bool packed = word[1] & 256, wide = word[1] & 65536;

    typename Wide<WIDTH, typename E::Leaves>::type in[UNROLL];
    int64_t place[UNROLL];
    int count[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        const uint64_t item = (uint64_t(blockIdx.x) * UNROLL + u) * THREADS + threadIdx.x;
        count[u] = 0;
        if (item >= items) continue;

        // Offsets of the pack's first element, for the outputs and for each leaf.
        uint64_t row = quotient(item, word[3], word[4], wide);
        const int64_t column = int64_t(item - row * word[3]) * WIDTH;
        const int64_t left = int64_t(word[2]) - column;
        count[u] = left < WIDTH ? int(left) : WIDTH;
        int64_t offset[LEAVES + 1];
        const uint64_t *axis = word + At::AXIS;
#pragma unroll
        for (int k = 0; k <= LEAVES; k++) offset[k] = column * int64_t(axis[2 + k]);
        for (int d = 1; d < rank; d++) {
            axis += At::AXIS_WORDS;
            const uint64_t next = quotient(row, axis[0], axis[1], wide);
            const int64_t c = int64_t(row - next * axis[0]);
            row = next;
#pragma unroll
            for (int k = 0; k <= LEAVES; k++) offset[k] += c * int64_t(axis[2 + k]);
        }

        place[u] = offset[0];
        each(in[u], [&](auto k, auto &values) {
            constexpr int K = decltype(k)::value, LEAF = At::LEAVES + 2 * K;
            load(values, word[LEAF], word[LEAF + 1], offset[K + 1], int64_t(word[At::AXIS + 3 + K]), 0, count[u] - 1);
        });
    }
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        if (count[u] == 0) continue;
        typename Wide<WIDTH, typename E::Outputs>::type out;
        apply<E, WIDTH>(word + At::SCALARS, word + At::EXTRA, in[u], out);
        each(out, [&](auto k, auto &values) {
            store(values, word[At::OUTPUTS + decltype(k)::value], packed, place[u], int64_t(word[At::AXIS + 2]), 0, count[u] - 1);
        });
    }
}

} // namespace gpu
