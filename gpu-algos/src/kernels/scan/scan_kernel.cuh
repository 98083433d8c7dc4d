// Scans of the values that a user's text computes at each place, in one launch.
//
// U is the user's structure, generated:
//   State, identity(), combine(a, b)  the scanned type, its identity, and the operator, which is
//                                     associative: in the order of places
//   Params                            ScanKernelParams of its arguments (params.rs)
//   SEGMENTS, begins(params, i)       whether there are segments, and whether one begins at place i
//   input(params, i)                  the value of a place
//   output(params, i, item, prev)     uses the results: that of all places of the segment up to
//                                     this one, and that of those before it
//
// Input, begins and output run once for each place. A warp has 32 VECTORS_PER_THREAD places to
// itself. It reads and writes them in rows of 32, so that its accesses are contiguous. In between
// the states change hands in shared memory, and each thread combines neighbouring ones. That takes
// two combinations for a place, and moves a state by four accesses. Rows of shuffles would take six
// combinations and five shuffles of each word, but states may be large and combining them
// expensive. VECTORS_PER_THREAD is odd, so that threads with neighbouring values use different
// banks. The result before a place is the one that stands before its own.
//
// block/tile_prefix.cuh describes the tiles of the blocks, and the aggregates that they publish.
//
// Contract: grid of at most `tiles` blocks of THREADS, no dynamic shared memory. The places are
// start + k step for k below `count`; ALL says that start is 0 and step 1. With several tiles
// `scratch` is as `Stream::with_cleared_scratch` gives it and has a GridCounters and a slot for
// each tile. Bytes moved: those that the texts move.
#pragma once
#include "scan_kernel_params.cuh"
#include "scan_single_pass.cuh"

namespace gpu::algos::kernels {

using tiles::GridCounters;
using tiles::TilePrefix;

// A thread's part of a tile: places that are 32 places apart, then neighbouring ones. The warp's
// states stand in shared memory, behind the state before its places.
template <class U, bool ALL, int THREADS, int VECTORS_PER_THREAD> struct RowsOfPlaces {
    static_assert(VECTORS_PER_THREAD % 2 == 1 && VECTORS_PER_THREAD < 32, "see above");
    typedef gpu::algos::scan::SegmentedOperator<U, U::SEGMENTS> R;
    typedef typename R::State S;
    static constexpr int WARPS = THREADS / 32, OF_WARP = 32 * VECTORS_PER_THREAD;

    const typename U::Params &params;
    S *const shared;
    // Number of the thread's first place. Row u has a place if u * 32 < rest.
    const int64_t first;
    const int rest;
    // Bits of the rows whose places begin a segment.
    uint32_t begins;

    __device__ __forceinline__ RowsOfPlaces(const typename U::Params &params, S *shared,
                                            int64_t first, int64_t count)
        : params(params), shared(shared), first(first),
          rest(count - first < OF_WARP ? int(count - first < 0 ? 0 : count - first) : OF_WARP),
          begins(0) {}

    __device__ __forceinline__ int64_t place(int u) const {
        const int64_t k = first + u * 32;
        return ALL ? k : params.start + k * params.step;
    }

    // Computes the values of the thread's places, and puts them into shared memory. A thread reads
    // all its rows before it combines anything. Any thread calls it; it does not synchronise.
    __device__ __forceinline__ void load(S (&values)[VECTORS_PER_THREAD]) {
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            if (u * 32 < rest) {
                const int64_t i = place(u);
                const bool begins_here = U::SEGMENTS && U::begins(params, i);
                begins |= uint32_t(begins_here) << u;
                values[u] = R::make(U::input(params, i), begins_here);
            } else {
                values[u] = R::make(U::identity(), false);
            }
        }
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++)
            shared[1 + u * 32 + threadIdx.x % 32] = values[u];
    }

    // Combines neighbours, then the lanes. Returns the sum of the lanes up to this one. All lanes
    // of a warp call it, behind a synchronisation of the warp that follows `load`.
    __device__ __forceinline__ S scan_warp(S (&values)[VECTORS_PER_THREAD]) {
        const int lane = threadIdx.x % 32;
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            values[u] = shared[1 + lane * VECTORS_PER_THREAD + u];
        }
        block::scan_values<R>(values);
        return block::scan_lanes<R>(values[VECTORS_PER_THREAD - 1]);
    }

    // Whether the tile's first place continues the segment before it. All lanes of warp 0 call it.
    __device__ __forceinline__ bool is_prefix_needed() const {
        return __shfl_sync(0xffffffffu, !U::SEGMENTS || (begins & 1) == 0, 0);
    }

    // Uses the results, which stand in shared memory. All lanes of a warp call it, when they are
    // synchronised behind the writes of the results.
    __device__ __forceinline__ void store(S (&values)[VECTORS_PER_THREAD]) const {
        const int lane = threadIdx.x % 32;
        S earlier[VECTORS_PER_THREAD];
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            values[u] = shared[1 + u * 32 + lane];
            earlier[u] = shared[u * 32 + lane];
        }
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            const bool begins_here = (begins >> u & 1) != 0;
            if (u * 32 < rest)
                U::output(params, place(u), R::value(values[u]),
                          begins_here ? U::identity() : R::value(earlier[u]));
        }
    }
};

template <class U, bool ALL, int THREADS, int VECTORS_PER_THREAD>
__global__ void __launch_bounds__(THREADS)
    scan_kernel(const __grid_constant__ typename U::Params params) {
    typedef RowsOfPlaces<U, ALL, THREADS, VECTORS_PER_THREAD> Rows;
    typedef typename Rows::R R;
    typedef typename R::State S;
    constexpr int WARPS = Rows::WARPS, OF_WARP = Rows::OF_WARP;
    // Each warp has the state before its places, then those of its places. Totals are the sums of
    // all warps, and of the tiles before.
    typedef TempStorage<S, WARPS *(OF_WARP + 1)> Values;
    typedef TempStorage<S, WARPS + 1> Totals;
    SHARED(Values, values_storage, [1]);
    SHARED(Totals, totals_storage, [1]);
    SHARED(uint32_t, claimed, [1]);
    SHARED(bool, is_last, [1]);
    const uint32_t tiles = uint32_t(params.tiles);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64_t count = int64_t(params.count);
    S *shared = reinterpret_cast<S *>(values_storage[0].bytes) + warp * (OF_WARP + 1),
      *totals = reinterpret_cast<S *>(totals_storage[0].bytes);

    GridCounters *counters = reinterpret_cast<GridCounters *>(params.scratch);
    TilePrefix<R, S> sums(params.scratch);
    const bool once = gridDim.x == tiles;
    uint32_t arrived = 0;

    if (once && tiles > 1 && threadIdx.x == 0)
        claimed[0] = gpu::claim_before_dependency(params.scratch, tiles - 1);
    gpu::grid_dependency_wait();
    do {
        uint32_t tile = 0;
        if (tiles > 1) {
            tile = tiles::claim_tile(counters, claimed, once);
            if (tile >= tiles) break;
        }
        const int64_t first = (int64_t(tile) * WARPS + warp) * OF_WARP + lane;
        Rows rows(params, shared, first, count);
        S values[VECTORS_PER_THREAD];
        rows.load(values);
        __syncwarp();
        const S sum = rows.scan_warp(values);
        const S before = shuffled_up(sum, 1);
        if (lane == 31) totals[warp] = sum;
        __syncthreads();

        // Warp 0 publishes the aggregate, and resolves the prefix. The others scan over the block.
        S base = totals[0];
        if (warp == 0) {
            base = block::combine_rest<R, WARPS>(base, totals, WARPS);
            if (tiles > 1) {
                if (lane == 0) sums.publish(tile, base);
                // The prefix is of no use to a tile that begins with a segment.
                const bool is_needed = rows.is_prefix_needed();
                if (tile > 0 && is_needed) base = sums.resolve(tile);
                if (lane == 0) {
                    totals[WARPS] = base;
                    if (once) arrived = arrive(&counters->blocks_done);
                }
            }
        } else {
            base = block::combine_rest<R, WARPS>(base, totals, warp);
        }
        gpu::trigger_dependents();
        if (tiles > 1) {
            __syncthreads();
            if (tile > 0) base = warp == 0 ? totals[WARPS] : R::combine(totals[WARPS], base);
        }

        // The results go back to rows. A method for it would cost large states registers.
        const bool has_base = tile > 0 || warp > 0, has_all = has_base || lane > 0;
        const S all = lane == 0 ? base : has_base ? R::combine(base, before) : before;
        if (lane == 0) shared[0] = has_base ? base : R::make(U::identity(), false);
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++)
            shared[1 + lane * VECTORS_PER_THREAD + u] =
                has_all ? R::combine(all, values[u]) : values[u];
        __syncwarp();
        rows.store(values);
        // The next tile's states overwrite this one's.
        __syncthreads();
    } while (!once);
    if (tiles == 1) return;
    tiles::reset_by_last_block<THREADS>(counters, sums, tiles, once, arrived, is_last);
}

} // namespace gpu::algos::kernels
