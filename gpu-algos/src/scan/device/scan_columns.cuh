// Scans along an axis across which neighbours in memory lie. Threads go along an outer axis, and
// each has some rows of a pack of columns.
//
// A group is the lanes of a block times VECTOR_SIZE columns, a tile is some rows of it. A walker is
// a run of neighbouring threads, one for each lane, and has VECTORS_PER_THREAD neighbouring rows.
// Blocks of one group draw its tiles by a ticket, publish each tile's sums in slots and add up
// those of all tiles before their own, as in `scan_single_pass` (scan_single_pass.cuh), a tile by
// each walker at once. A group with one block needs neither.
//
// Contract: grid GROUPS times blocks of each group, block THREADS, no dynamic shared memory. There
// is one scanned axis. With several blocks to a group SCRATCH is as `Stream::with_cleared_scratch`
// gives it and has a GridCounters for each group, then, group by group and tile by tile, a slot for
// each column. The target is one of the leaves or overlaps none. Parameters: TileParams
// (device/params.rs).
#pragma once
#include "scan_single_pass.cuh"

namespace gpu {
namespace scan {

// A pack of each of X's leaves in a row. Its elements up to `last` exist.
template <class X, class A, int FIRST, int VECTOR_SIZE> __device__ __forceinline__
typename Wide<VECTOR_SIZE, typename X::Leaves>::type
read_row(const typename A::Params &params, const Offsets<A::LEAF_COUNT + 1> &base, int64_t row,
         int last) {
    typename Wide<VECTOR_SIZE, typename X::Leaves>::type in;
    const auto &row_steps = params.scanned[0].strides, &column_steps = params.lines[0].strides;
    const bool whole = params.are_leaves_packed && last == VECTOR_SIZE - 1;
    each(in, [&](auto k, auto &values) {
        constexpr int K = FIRST + decltype(k)::value;
        const int64_t offset = base.of[1 + K] + row * row_steps[1 + K], step = column_steps[1 + K];
        if (whole) {
            load_whole(values, params.leaves[K].address, offset, step);
        } else {
            load(values, params.leaves[K].address, STRIDED, offset, step, 0, last);
        }
    });
    return in;
}

// The epilogue: M of a pack of results.
template <class M, class A, class R, int VECTOR_SIZE> struct BehindRow {
    typedef typename FirstOf<typename M::Outputs>::type Out;
    static __device__ __forceinline__ Pack<Out, VECTOR_SIZE>
    of(const typename A::Params &params, const Pack<R, VECTOR_SIZE> &results,
       const Offsets<A::LEAF_COUNT + 1> &base, int64_t row, int last) {
        return computed<M, A>(params, results,
                              read_row<M, A, A::M_LEAVES, VECTOR_SIZE>(params, base, row, last));
    }
};
template <class A, class R, int VECTOR_SIZE> struct BehindRow<Nothing, A, R, VECTOR_SIZE> {
    typedef R Out;
    static __device__ __forceinline__ const Pack<R, VECTOR_SIZE> &
    of(const typename A::Params &, const Pack<R, VECTOR_SIZE> &results,
       const Offsets<A::LEAF_COUNT + 1> &, int64_t, int) {
        return results;
    }
};

template <class E, class M, class O, int MODE, class P>
__global__ void __launch_bounds__(P::THREADS)
    scan_columns(const __grid_constant__ TileParams<E, Nothing, M> params) {
    constexpr int THREADS = P::THREADS, VECTOR_SIZE = P::VECTOR_SIZE,
                  VECTORS_PER_THREAD = P::VECTORS_PER_THREAD;
    typedef At<E, Nothing, M> A;
    typedef typename O::State S;
    typedef typename FirstOf<decltype(O::finalize(O::to_partial(O::identity()), 0))>::type Result;
    typedef BehindRow<M, A, Result, VECTOR_SIZE> Last;
    typedef TempStorage<S, THREADS * VECTOR_SIZE> Shared;
    SHARED(Shared, room, [1]);
    SHARED(uint32_t, ticket, [1]);
    SHARED(bool, is_last, [1]);
    S *shared = reinterpret_cast<S *>(room[0].bytes);
    const auto &columns_axis = params.lines[0];
    const int log = int(params.log_lanes), lanes = 1 << log, walkers = THREADS >> log;
    const int lane = threadIdx.x & (lanes - 1), walker = threadIdx.x >> log;
    const uint32_t groups = uint32_t((params.packs + lanes - 1) >> log),
                   group = blockIdx.x % groups, tiles = params.tiles;
    const bool alone = gridDim.x == groups;
    const int64_t rows = int64_t(params.count);

    // The columns of this thread.
    const uint64_t pack = (uint64_t(group) << log) + lane,
                   row_packs = (columns_axis.length + VECTOR_SIZE - 1) / VECTOR_SIZE;
    const bool exists = pack < params.packs;
    const uint64_t outer = int(params.line_rank) > 1
                               ? quotient(pack, row_packs, params.row_divisor, params.is_wide)
                               : 0;
    const int64_t column = int64_t(pack - outer * row_packs) * VECTOR_SIZE,
                  left = int64_t(columns_axis.length) - column;
    const int last = left < VECTOR_SIZE ? int(left) - 1 : VECTOR_SIZE - 1;
    Offsets<A::LEAF_COUNT + 1> base;
#pragma unroll
    for (int k = 0; k <= A::LEAF_COUNT; k++) base.of[k] = column * columns_axis.strides[k];
    add_place(base, params.lines.at, 1, int(params.line_rank), outer, params.is_wide);

    GridCounters *counters = reinterpret_cast<GridCounters *>(params.scratch) + group;
    const int columns_of_group = lanes * VECTOR_SIZE;
    Slot<S> *slots = reinterpret_cast<Slot<S> *>(params.scratch + groups * sizeof(GridCounters)) +
                     uint64_t(group) * tiles * columns_of_group;

    // The sum of all tiles before `done`.
    S sum[VECTOR_SIZE];
    uint32_t done = 0;
    gpu::grid_dependency_wait();
    while (true) {
        uint32_t tile = done;
        if (!alone) {
            if (threadIdx.x == 0) ticket[0] = atomicAdd(&counters->next_tile, 1u);
            __syncthreads();
            tile = ticket[0];
        }
        if (tile >= tiles) break;

        const int64_t first = (int64_t(tile) * walkers + walker) * VECTORS_PER_THREAD;
        typename Wide<VECTOR_SIZE, typename E::Leaves>::type in[VECTORS_PER_THREAD];
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            if (exists && first + u < rows)
                in[u] = read_row<E, A, A::E_LEAVES, VECTOR_SIZE>(params, base, first + u, last);
        }
        S values[VECTORS_PER_THREAD][VECTOR_SIZE];
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            const bool here = exists && first + u < rows;
            const auto lifted = values_of<E, VECTOR_SIZE>(params.scalars.at + A::E_SCALARS,
                                                          params.extra.at + A::E_EXTRA, in[u]);
#pragma unroll
            for (int k = 0; k < VECTOR_SIZE; k++) {
                const S one = here && k <= last ? O::make_state(lifted.lane[k])
                                                : O::to_partial(O::identity());
                values[u][k] = u > 0 ? O::combine(values[u > 0 ? u - 1 : 0][k], one) : one;
            }
        }

        // The sum of all walkers up to each one.
        S here[VECTOR_SIZE];
#pragma unroll
        for (int k = 0; k < VECTOR_SIZE; k++) here[k] = values[VECTORS_PER_THREAD - 1][k];
        for (int distance = 1; distance <= walkers; distance *= 2) {
#pragma unroll
            for (int k = 0; k < VECTOR_SIZE; k++) shared[threadIdx.x * VECTOR_SIZE + k] = here[k];
            __syncthreads();
            if (distance == walkers) break;
            if (walker >= distance) {
#pragma unroll
                for (int k = 0; k < VECTOR_SIZE; k++)
                    here[k] = O::combine(shared[(threadIdx.x - distance * lanes) * VECTOR_SIZE + k],
                                         here[k]);
            }
            __syncthreads();
        }
        S before[VECTOR_SIZE], all[VECTOR_SIZE];
#pragma unroll
        for (int k = 0; k < VECTOR_SIZE; k++) {
            all[k] = shared[((walkers - 1) * lanes + lane) * VECTOR_SIZE + k];
            if (walker > 0) before[k] = shared[(threadIdx.x - lanes) * VECTOR_SIZE + k];
        }
        if (!alone) {
            if (walker == walkers - 1) {
#pragma unroll
                for (int k = 0; k < VECTOR_SIZE; k++)
                    slots[uint64_t(tile) * columns_of_group + lane * VECTOR_SIZE + k].put(here[k]);
            }
            // Each walker reads one of the tiles before, and all add them up.
            while (done < tile) {
                const uint32_t count = tile - done < uint32_t(walkers) ? tile - done : walkers;
                S other[VECTOR_SIZE];
                if (walker < count) {
#pragma unroll
                    for (int k = 0; k < VECTOR_SIZE; k++)
                        other[k] = slots[uint64_t(done + walker) * columns_of_group +
                                         lane * VECTOR_SIZE + k]
                                       .wait();
                }
                __syncthreads();
                if (walker < count) {
#pragma unroll
                    for (int k = 0; k < VECTOR_SIZE; k++)
                        shared[threadIdx.x * VECTOR_SIZE + k] = other[k];
                }
                __syncthreads();
                for (uint32_t j = 0; j < count; j++) {
#pragma unroll
                    for (int k = 0; k < VECTOR_SIZE; k++) {
                        const S next = shared[(j * lanes + lane) * VECTOR_SIZE + k];
                        sum[k] = done + j > 0 ? O::combine(sum[k], next) : next;
                    }
                }
                done += count;
            }
        }

        const bool has_base = tile > 0 || walker > 0;
        S from[VECTOR_SIZE];
#pragma unroll
        for (int k = 0; k < VECTOR_SIZE; k++) {
            if (tile > 0) {
                from[k] = walker > 0 ? O::combine(sum[k], before[k]) : sum[k];
            } else if (walker > 0) {
                from[k] = before[k];
            }
            sum[k] = tile > 0 ? O::combine(sum[k], all[k]) : all[k];
        }
        done = tile + 1;
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            const int64_t row = first + u;
            if (!exists || row >= rows) continue;
            Pack<Result, VECTOR_SIZE> results;
#pragma unroll
            for (int k = 0; k < VECTOR_SIZE; k++) {
                S state;
                if constexpr ((MODE & EXCLUSIVE) != 0) {
                    if (u == 0) {
                        state = has_base ? from[k] : O::to_partial(O::identity());
                    } else {
                        const S &earlier = values[u > 0 ? u - 1 : 0][k];
                        state = has_base ? O::combine(from[k], earlier) : earlier;
                    }
                } else {
                    state = has_base ? O::combine(from[k], values[u][k]) : values[u][k];
                }
                results.lane[k] = get<0>(O::finalize(state, 0));
            }
            const Pack<typename Last::Out, VECTOR_SIZE> &out =
                Last::of(params, results, base, row, last);
            const int64_t offset = base.of[0] + row * params.scanned[0].strides[0];
            store<true>(out, params.target, params.is_target_packed != 0, offset,
                        columns_axis.strides[0], 0, last);
        }
        // The next tile's states overwrite this one's.
        __syncthreads();
    }
    if (alone) return;

    // The last block of the group that has polled slots zeroes them for the next launch.
    if (threadIdx.x == 0) is_last[0] = arrive(&counters->blocks_done) == gridDim.x / groups - 1;
    __syncthreads();
    if (!is_last[0]) return;
    for (uint64_t k = threadIdx.x; k < uint64_t(tiles) * columns_of_group; k += THREADS)
        slots[k].clear();
    if (threadIdx.x == 0) counters->next_tile = counters->blocks_done = 0;
}

} // namespace scan
} // namespace gpu
