// A matrix in compressed rows, and the sums of its rows.
#pragma once
#include "long_rows.cuh"

namespace gpu_sparse {

// row_starts[0..rows] rises from 0 to the number of entries; columns and values have that many. The
// rows are cut into blocks: block k is [blocks[k], blocks[k + 1]), whose entries start at
// block_entries[k]. A block has at most ITEMS entries, or one row of more. Rows of more are the
// long rows.
template <class T> struct Csr {
    static constexpr uint32_t ITEMS = CSR_ITEMS;
    static constexpr int BLOCKS_PER_SM = 8;
    using Element = T;
    const uint64_t *row_starts;
    const uint32_t *blocks;
    const uint64_t *block_entries;
    LongRows<T> long_rows;
    uint32_t block_count;
    uint32_t rows;
};
static_assert(sizeof(Csr<float>) == 96, "as the host passes it");

// The bounds of a block of rows.
struct BlockHead {
    uint32_t row_begin, row_end;
    uint64_t begin, end; // its entries
};

template <class T> __device__ BlockHead load_head(const Csr<T> &a, uint64_t block) {
    return {a.blocks[block], a.blocks[block + 1], a.block_entries[block],
            a.block_entries[block + 1]};
}

// Calls finish.after(row, sum of the row's entries times x, finish.before(row), results so far) in
// one thread for each row that is not long, over blocks `first`, `first + step`, ... Returns the
// sum of the results over the rows that this thread finished.
//
// A block's products go to shared memory, entry by entry, so that reads are contiguous for rows of
// any length. Then each row is added by an equal number of threads, up to a warp. Products are
// rounded to f64; a row's are added in steps of its threads, then by halves. `reduce_lanes` of
// gpu-algos adds neighbours, which gives other bits.
//
// Source: the stream kernel of Greathouse and Daga, "Efficient sparse matrix-vector multiplication
// on GPUs using the CSR storage format", SC 2014, doi 10.1109/SC.2014.68.
template <int THREADS, class T, class Finish> __device__ double
for_each_row(const Csr<T> &a, const T *x, uint32_t first, uint32_t step, Finish finish) {
    constexpr uint32_t ITEMS = Csr<T>::ITEMS;
    static_assert(ITEMS % THREADS == 0, "each thread has as many entries");
    SHARED(double, products, [ITEMS]);
    double results = 0;
    if (first >= a.block_count) return 0;
    BlockHead next = load_head(a, first);
    for (uint64_t block = first; block < a.block_count; block += step) {
        // The loads of the next block's head are in flight meanwhile.
        BlockHead head = next;
        next = load_head(a, min(block + step, uint64_t(a.block_count) - 1));
        uint32_t row_begin = head.row_begin, rows = head.row_end - row_begin;
        uint64_t begin = head.begin, entries = head.end - begin;
        if (entries > ITEMS) continue;
        const T *values = a.long_rows.values + begin;
        const uint32_t *columns = a.long_rows.columns + begin;
        // All loads of a kind are in flight before the first is used, and none depends on a branch:
        // beyond the last entry that entry is loaded again.
        if (entries > 0) {
            constexpr int PER_THREAD = ITEMS / THREADS;
            T value[PER_THREAD], factor[PER_THREAD];
            uint32_t column[PER_THREAD], last = uint32_t(entries) - 1;
#pragma unroll
            for (int i = 0; i < PER_THREAD; i++)
                column[i] = __ldcs(columns + min(i * THREADS + threadIdx.x, last));
#pragma unroll
            for (int i = 0; i < PER_THREAD; i++)
                value[i] = __ldcs(values + min(i * THREADS + threadIdx.x, last));
#pragma unroll
            for (int i = 0; i < PER_THREAD; i++) factor[i] = x[column[i]];
#pragma unroll
            for (int i = 0; i < PER_THREAD; i++)
                products[i * THREADS + threadIdx.x] = double(value[i]) * double(factor[i]);
        }
        __syncthreads();
        uint32_t lanes = 1;
        while (lanes < 32 && 2 * lanes * rows <= THREADS) lanes *= 2;
        uint32_t lane = threadIdx.x % lanes;
        // The condition is the same for the whole block, so every thread takes part in the
        // shuffles.
        for (uint32_t r = 0; r < rows; r += THREADS / lanes) {
            uint32_t offset = r + threadIdx.x / lanes;
            bool inside = offset < rows;
            uint32_t row = row_begin + offset;
            uint32_t end = inside ? uint32_t(a.row_starts[row + 1] - begin) : 0;
            T before = inside && lane == 0 ? finish.before(row) : T(0);
            double sum = 0;
            for (uint32_t i = inside ? uint32_t(a.row_starts[row] - begin) + lane : 0; i < end;
                 i += lanes)
                sum += products[i];
            for (uint32_t half = lanes / 2; half > 0; half /= 2)
                sum += __shfl_down_sync(0xffffffffu, sum, half, lanes);
            if (inside && lane == 0) results = finish.after(row, sum, before, results);
        }
        __syncthreads(); // the next block's products wait for these reads
    }
    return results;
}

} // namespace gpu_sparse
