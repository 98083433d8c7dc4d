// A matrix in packets, and the sums of its rows. The format: packets/mod.rs.
#pragma once
#include "long_rows.cuh"

namespace gpu_sparse {

// A slice has 32 rows and the slots [slice_slots[s], slice_slots[s + 1]), each with 32 values. If
// bit WIDE of slice_columns[s] is set, the rest of it is the slice's first slot in wide_columns (32
// columns a slot, NO_COLUMN where there is no entry). Otherwise it is its first slot in bases (a
// column) and deltas (32 distances from it, NO_DELTA where there is no entry).
// A packet has PACKET_ROWS rows. They are in natural order if packet_orders is NATURAL. Otherwise
// packet_orders is their block of PACKET_ROWS in `order`, which holds the row's number within the
// packet, or NO_ROW.
template <class T> struct Packets {
    static constexpr int BLOCKS_PER_SM = 4;
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

// The columns of a narrow slice, as one of its rows sees them.
struct NarrowColumns {
    const uint16_t *deltas; // of this row
    const uint32_t *bases;
    struct EntryColumns {
        uint32_t base, delta;
        __device__ bool holds_entry() const { return delta != NO_DELTA; }
        // The column of the entry, or some column of the slot without one.
        __device__ uint32_t column() const { return holds_entry() ? base + delta : base; }
    };
    __device__ EntryColumns load(uint32_t slot) const {
        return {bases[slot], __ldcs(deltas + uint64_t(slot) * 32)};
    }
};

// The columns of a wide slice, as one of its rows sees them.
struct WideColumns {
    const uint32_t *columns; // of this row
    struct EntryColumns {
        uint32_t stored;
        __device__ bool holds_entry() const { return stored != NO_COLUMN; }
        __device__ uint32_t column() const { return holds_entry() ? stored : 0; }
    };
    __device__ EntryColumns load(uint32_t slot) const {
        return {__ldcs(columns + uint64_t(slot) * 32)};
    }
};

// Adds SLOTS slots of a row to its sum. All loads of a kind are in flight before the first is used,
// and none depends on a branch. Without an entry an element of x is read and not used: one that the
// slot's other rows need, or the first.
template <int SLOTS, class T, class Columns> __device__ void
add_slots(const T *values, const T *x, const Columns &columns, uint32_t slot, double &sum) {
    T value[SLOTS], factor[SLOTS];
    typename Columns::EntryColumns place[SLOTS];
#pragma unroll
    for (int i = 0; i < SLOTS; i++) place[i] = columns.load(slot + i);
#pragma unroll
    for (int i = 0; i < SLOTS; i++) value[i] = __ldcs(values + uint64_t(slot + i) * 32);
#pragma unroll
    for (int i = 0; i < SLOTS; i++) factor[i] = x[place[i].column()];
#pragma unroll
    for (int i = 0; i < SLOTS; i++) {
        if (place[i].holds_entry()) sum = fma(double(value[i]), double(factor[i]), sum);
    }
}

// A row's sum within its slice of `width` slots.
template <class T, class Columns>
__device__ double sum_slots(const T *values, const T *x, const Columns &columns, uint32_t width) {
    double sum = 0;
    uint32_t slot = 0;
    for (; slot + 8 <= width; slot += 8) add_slots<8>(values, x, columns, slot, sum);
    switch (width - slot) {
    case 1:
        add_slots<1>(values, x, columns, slot, sum);
        break;
    case 2:
        add_slots<2>(values, x, columns, slot, sum);
        break;
    case 3:
        add_slots<3>(values, x, columns, slot, sum);
        break;
    case 4:
        add_slots<4>(values, x, columns, slot, sum);
        break;
    case 5:
        add_slots<5>(values, x, columns, slot, sum);
        break;
    case 6:
        add_slots<6>(values, x, columns, slot, sum);
        break;
    case 7:
        add_slots<7>(values, x, columns, slot, sum);
        break;
    }
    return sum;
}

// The positions of a slice's parts.
struct SliceHead {
    uint32_t begin, end; // its slots
    uint32_t place;      // of its columns
    uint32_t order;      // of its packet
};

template <class T> __device__ SliceHead load_head(const Packets<T> &a, uint64_t slice) {
    constexpr uint32_t SLICES = PACKET_ROWS / 32;
    return {a.slice_slots[slice], a.slice_slots[slice + 1], a.slice_columns[slice],
            a.packet_orders[slice / SLICES]};
}

// Calls finish.after(row, sum of the row's entries times x, finish.before(row), results so far) in
// one thread for each row that is not long. One warp takes a slice, one thread a row. Block `first`
// of `blocks` takes a run of neighbouring slices, so that elements of x that rows share stay near.
// Returns the sum of the results over the rows that this thread finished. A row is summed from its
// first entry to the last, by fma in f64.
//
// Sources: the sliced layout of Monakov, Lokhmotov and Avetisyan, HiPEAC 2010, and of Kreutzer et
// al., SIAM J. Sci. Comput. 36 (2014), doi 10.1137/130930352; packets of rows and their 16-bit
// columns go back to Bell and Garland, SC 2009, doi 10.1145/1654059.1654078.
template <int THREADS, class T, class Finish> __device__ double
for_each_row(const Packets<T> &a, const T *x, uint32_t first, uint32_t blocks, Finish finish) {
    using P = Packets<T>;
    constexpr uint32_t WARPS = THREADS / 32, SLICES = PACKET_ROWS / 32;
    uint32_t lane = threadIdx.x % 32;
    double results = 0;
    uint64_t share =
        (uint64_t(a.slices) + uint64_t(blocks) * WARPS - 1) / (uint64_t(blocks) * WARPS) * WARPS;
    uint64_t end = min(uint64_t(a.slices), (first + 1) * share);
    uint64_t slice = first * share + threadIdx.x / 32;
    if (slice >= end) return 0;
    SliceHead next = load_head(a, slice);
    for (; slice < end; slice += WARPS) {
        // The loads of the next slice's head are in flight meanwhile.
        SliceHead head = next;
        next = load_head(a, min(slice + WARPS, end - 1));
        uint32_t begin = head.begin, width = head.end - begin, place = head.place,
                 order = head.order;
        uint32_t packet = uint32_t(slice / SLICES);
        uint32_t local = uint32_t(slice % SLICES) * 32 + lane;
        if (order != NATURAL) local = a.order[uint64_t(order) * PACKET_ROWS + local];
        uint64_t row = uint64_t(packet) * PACKET_ROWS + local;
        bool inside = local != NO_ROW && row < a.rows;
        T before = inside ? finish.before(uint32_t(row)) : T(0);
        const T *values = a.values + uint64_t(begin) * 32 + lane;
        double sum;
        if (place & WIDE) {
            WideColumns columns = {a.wide_columns + uint64_t(place - WIDE) * 32 + lane};
            sum = sum_slots(values, x, columns, width);
        } else {
            NarrowColumns columns = {a.deltas + uint64_t(place) * 32 + lane, a.bases + place};
            sum = sum_slots(values, x, columns, width);
        }
        if (inside) results = finish.after(uint32_t(row), sum, before, results);
    }
    return results;
}

} // namespace gpu_sparse
