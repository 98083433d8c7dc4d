// A matrix in packets, and its rows' sums. The format: packets/mod.rs.
#pragma once
#include "long_rows.cuh"

namespace gpu_sparse {

// A slice has 32 rows and the slots [slice_slots[s], slice_slots[s + 1]), each with 32 values. Where bit WIDE of slice_columns[s] is
// set, the rest of it is the slice's first slot in wide_columns (32 columns a slot, NO_COLUMN where there is no entry); else its
// first slot in bases (a column) and deltas (32 distances from it, NO_DELTA where there is no entry).
// A packet has PACKET_ROWS rows: in natural order where packet_orders is NATURAL, else in that block of PACKET_ROWS of `order`,
// which holds the row's number within the packet, or NO_ROW.
template <class T> struct Packets {
    static constexpr uint32_t PACKET_ROWS = 1024;
    static constexpr uint32_t WIDE = 0x80000000u, NATURAL = 0xffffffffu, NO_COLUMN = 0xffffffffu;
    static constexpr uint32_t NO_DELTA = 0xffffu, NO_ROW = 0xffffu;
    using Element = T;
    const uint32_t *slice_slots;
    const uint32_t *slice_columns;
    const uint32_t *bases;
    const uint16_t *deltas;
    const uint32_t *wide_columns;
    const T *values;
    const uint32_t *packet_orders;
    const uint16_t *order;
    LongRows<T> long_rows;
    uint32_t slices;
    uint32_t rows;
};
static_assert(sizeof(Packets<float>) == 136, "as the host passes it");

// A row's sum within its slice: `column(k)` is its column in slot k, or NO_COLUMN. The loads of UNROLL slots are all under way before
// the first is used.
template <int UNROLL, class T, class Column>
__device__ double sum_slots(const T *values, uint32_t width, const T *x, Column column) {
    double sum = 0;
    for (uint32_t slot = 0; slot < width; slot += UNROLL) {
        T value[UNROLL], factor[UNROLL];
        uint32_t at[UNROLL];
#pragma unroll
        for (uint32_t i = 0; i < UNROLL; i++) {
            bool inside = slot + i < width;
            at[i] = inside ? column(slot + i) : Packets<T>::NO_COLUMN;
            value[i] = inside ? __ldcs(values + uint64_t(slot + i) * 32) : T(0);
        }
#pragma unroll
        for (uint32_t i = 0; i < UNROLL; i++) factor[i] = at[i] != Packets<T>::NO_COLUMN ? x[at[i]] : T(0);
#pragma unroll
        for (uint32_t i = 0; i < UNROLL; i++) {
            if (at[i] != Packets<T>::NO_COLUMN) sum = fma(double(value[i]), double(factor[i]), sum);
        }
    }
    return sum;
}

// Calls finish(row, sum of the row's entry times x) in one thread for each row that is not long; the block's warps take the slices
// that belong to blocks `first`, `first + step`, ..., one warp a slice, one thread a row. Returns the sum of the results over the
// rows that this thread finished. A row is summed from its first entry to the last, by fma in f64.
//
// Sources: the sliced layout of Monakov, Lokhmotov and Avetisyan, HiPEAC 2010, and of Kreutzer et al., SIAM J. Sci. Comput. 36
// (2014), doi 10.1137/130930352; packets of rows and their 16-bit columns go back to Bell and Garland, SC 2009,
// doi 10.1145/1654059.1654078.
template <int THREADS, class T, class Finish>
__device__ double for_each_row(const Packets<T> &a, const T *x, uint32_t first, uint32_t step, Finish finish) {
    using P = Packets<T>;
    constexpr uint32_t WARPS = THREADS / 32, SLICES = P::PACKET_ROWS / 32;
    constexpr int UNROLL = 8;
    uint32_t lane = threadIdx.x % 32;
    double results = 0;
    for (uint64_t slice = uint64_t(first) * WARPS + threadIdx.x / 32; slice < a.slices; slice += uint64_t(step) * WARPS) {
        uint32_t begin = a.slice_slots[slice], width = a.slice_slots[slice + 1] - begin, place = a.slice_columns[slice];
        uint32_t packet = uint32_t(slice / SLICES), order = a.packet_orders[packet];
        uint32_t local = uint32_t(slice % SLICES) * 32 + lane;
        if (order != P::NATURAL) local = a.order[uint64_t(order) * P::PACKET_ROWS + local];
        const T *values = a.values + uint64_t(begin) * 32 + lane;
        double sum;
        if (place & P::WIDE) {
            const uint32_t *columns = a.wide_columns + uint64_t(place - P::WIDE) * 32 + lane;
            sum = sum_slots<UNROLL>(values, width, x, [=](uint32_t slot) { return __ldcs(columns + uint64_t(slot) * 32); });
        } else {
            const uint16_t *deltas = a.deltas + uint64_t(place) * 32 + lane;
            const uint32_t *bases = a.bases + place;
            sum = sum_slots<UNROLL>(values, width, x, [=](uint32_t slot) {
                uint32_t base = bases[slot], delta = __ldcs(deltas + uint64_t(slot) * 32);
                return delta != P::NO_DELTA ? base + delta : P::NO_COLUMN;
            });
        }
        uint64_t row = uint64_t(packet) * P::PACKET_ROWS + local;
        if (local != P::NO_ROW && row < a.rows) results += finish(uint32_t(row), sum);
    }
    return results;
}

} // namespace gpu_sparse
