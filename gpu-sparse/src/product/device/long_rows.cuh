// Rows too long for the row sums of a format: they are cut into segments, with a block for each.
#pragma once
#include "constants.cuh"
#include "sums.cuh"

namespace gpu_sparse {

// Some rows of a matrix. Row `rows[i]` has the entries [begins[i], ends[i]) of columns and values.
// Its segments are [first_segments[i], first_segments[i + 1]), each of SEGMENT entries but the
// last. Segment s belongs to the long row number owners[s].
template <class T> struct LongRows {
    const uint32_t *columns;
    const T *values;
    const uint32_t *rows;
    const uint64_t *begins;
    const uint64_t *ends;
    const uint32_t *first_segments;
    const uint32_t *owners;
    uint32_t count;
    uint32_t segments;
};

// Scratch by which blocks exchange sums. totals has an element per segment; arrived has one per
// long row, 0 before and after.
struct LongRowsScratch {
    double *totals;
    uint32_t *arrived;
};

// One block sums one segment: each thread sums its entries with stride THREADS, then the block sums
// those. The block that completes a row adds the row's segments from first to last. Returns true in
// that block's thread 0, with the number of the long row and its sum.
template <int THREADS, class T> __device__ bool sum_segment(const LongRows<T> &a, uint32_t segment,
                                                            const T *x, LongRowsScratch scratch,
                                                            uint32_t &number, double &sum) {
    uint32_t i = a.owners[segment], first = a.first_segments[i],
             count = a.first_segments[i + 1] - first;
    uint64_t begin = a.begins[i] + (segment - first) * SEGMENT;
    uint64_t end = min(begin + SEGMENT, a.ends[i]);
    double mine = 0;
    for (uint64_t entry = begin + threadIdx.x; entry < end; entry += THREADS) {
        mine = fma(double(__ldcs(a.values + entry)), double(x[__ldcs(a.columns + entry)]), mine);
    }
    double total = block_sum<THREADS>(mine);
    if (threadIdx.x != 0) return false;
    number = i;
    sum = total;
    if (count == 1) return true;
    scratch.totals[segment] = total;
    if (gpu::arrive(scratch.arrived + i) != count - 1) return false;
    scratch.arrived[i] = 0;
    sum = 0;
    for (uint32_t s = first; s < first + count; s++) sum += __ldcg(scratch.totals + s);
    return true;
}

} // namespace gpu_sparse
