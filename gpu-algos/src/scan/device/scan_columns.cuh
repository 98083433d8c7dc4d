// Scans along a strided axis (for example axis 0 in C order). Threads go along an outer axis, and
// each has some rows of a pack of columns.
//
// A group is the lanes of a block times VECTOR_SIZE columns, a tile is some rows of it. A walker is
// a run of neighbouring threads, one for each lane, and has VECTORS_PER_THREAD neighbouring rows.
// Blocks of one group claim its tiles in order, publish each tile's sums in slots and add up
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

namespace gpu::algos::scan {

// The columns of a thread, which are one pack of a row, and the offsets of their first row. Each
// thread makes its own, without synchronising.
template <class A, int VECTOR_SIZE> struct ColumnPack {
    bool exists;
    // The last column of the pack that exists.
    int last;
    // Number of rows of the array.
    int64_t rows;
    Offsets<A::LEAF_COUNT + 1> base;

    // Pack `pack` of all columns.
    __device__ __forceinline__ ColumnPack(const typename A::Params &params, uint64_t pack) {
        const auto &columns_axis = params.lines[0];
        const uint64_t row_packs = (columns_axis.length + VECTOR_SIZE - 1) / VECTOR_SIZE;
        exists = pack < params.packs;
        rows = int64_t(params.count);
        const uint64_t outer = int(params.line_rank) > 1
                                   ? quotient(pack, row_packs, params.row_divisor, params.is_wide)
                                   : 0;
        const int64_t column = int64_t(pack - outer * row_packs) * VECTOR_SIZE,
                      left = int64_t(columns_axis.length) - column;
        last = left < VECTOR_SIZE ? int(left) - 1 : VECTOR_SIZE - 1;
#pragma unroll
        for (int k = 0; k <= A::LEAF_COUNT; k++) base.of[k] = column * columns_axis.strides[k];
        add_place(base, params.lines.at, 1, int(params.line_rank), outer, params.is_wide);
    }
};

// Loads a pack of each of X's leaves in a row, up to the last column that exists. Each thread that
// has the row calls it, without synchronising.
template <class X, int FIRST, class A, int VECTOR_SIZE> __device__ __forceinline__
typename Wide<VECTOR_SIZE, typename X::Leaves>::type
load_row(const typename A::Params &params, const ColumnPack<A, VECTOR_SIZE> &columns, int64_t row) {
    typename Wide<VECTOR_SIZE, typename X::Leaves>::type in;
    const auto &row_steps = params.scanned[0].strides, &column_steps = params.lines[0].strides;
    const bool whole = params.are_leaves_packed && columns.last == VECTOR_SIZE - 1;
    each(in, [&](auto k, auto &values) {
        constexpr int K = FIRST + decltype(k)::value;
        const int64_t offset = columns.base.of[1 + K] + row * row_steps[1 + K],
                      step = column_steps[1 + K];
        if (whole) {
            load_whole(values, params.leaves[K].address, offset, step);
        } else {
            load(values, params.leaves[K].address, STRIDED, offset, step, 0, columns.last);
        }
    });
    return in;
}

// The states of a row's values; elements that do not exist are the identity. `exists` tells whether
// the row does; `last` is the last column of the pack that does. Each thread calls it, without
// synchronising.
template <class O, class T, int VECTOR_SIZE> __device__
__forceinline__ Pack<typename O::State, VECTOR_SIZE>
states_of_row(const Pack<T, VECTOR_SIZE> &lifted, bool exists, int last) {
    Pack<typename O::State, VECTOR_SIZE> states;
#pragma unroll
    for (int k = 0; k < VECTOR_SIZE; k++)
        states.lane[k] =
            exists && k <= last ? O::make_state(lifted.lane[k]) : O::to_partial(O::identity());
    return states;
}

// Combines the prefix of a thread with the state of a row, or with EXCLUSIVE with that of the row
// before; the first row of the thread then has the prefix alone. Each thread calls it, without
// synchronising. It takes states by value, since references cost the kernels registers.
template <class O, int MODE, class S = typename O::State>
__device__ __forceinline__ S join_prefix(bool has_prefix, S prefix, bool is_first, S before,
                                         S state) {
    if constexpr ((MODE & EXCLUSIVE) != 0) {
        if (is_first) return has_prefix ? prefix : O::to_partial(O::identity());
        return has_prefix ? O::combine(prefix, before) : before;
    } else {
        return has_prefix ? O::combine(prefix, state) : state;
    }
}

// The epilogue: M of a pack of results. Each thread that has the row calls it, without
// synchronising.
template <class M, class A, class R, int VECTOR_SIZE> struct RowEpilogue {
    typedef typename FirstOf<typename M::Outputs>::type Out;
    static __device__ __forceinline__ Pack<Out, VECTOR_SIZE>
    of(const typename A::Params &params, const Pack<R, VECTOR_SIZE> &results,
       const ColumnPack<A, VECTOR_SIZE> &columns, int64_t row) {
        return computed<M, A>(params, results, load_row<M, A::M_LEAVES>(params, columns, row));
    }
};
template <class A, class R, int VECTOR_SIZE> struct RowEpilogue<Nothing, A, R, VECTOR_SIZE> {
    typedef R Out;
    static __device__ __forceinline__ const Pack<R, VECTOR_SIZE> &
    of(const typename A::Params &, const Pack<R, VECTOR_SIZE> &results,
       const ColumnPack<A, VECTOR_SIZE> &, int64_t) {
        return results;
    }
};

// Applies the epilogue to a pack of results in row `row`, and stores it. Each thread that has the
// row calls it, without synchronising.
template <class M, class A, class R, int VECTOR_SIZE>
__device__ __forceinline__ void store_row(const typename A::Params &params,
                                          const ColumnPack<A, VECTOR_SIZE> &columns, int64_t row,
                                          const Pack<R, VECTOR_SIZE> &results) {
    typedef RowEpilogue<M, A, R, VECTOR_SIZE> Last;
    const Pack<typename Last::Out, VECTOR_SIZE> &out = Last::of(params, results, columns, row);
    const int64_t offset = columns.base.of[0] + row * params.scanned[0].strides[0];
    store<StoreMode::STREAMED>(out, params.target, params.is_target_packed != 0, offset,
                               params.lines[0].strides[0], 0, columns.last);
}

// The group of columns that the block shares with others, and the thread's lane and walker. A tile
// has a slot for each column and not one, and walkers are `lanes` threads apart, so neither
// block/tile_prefix.cuh nor block/scan.cuh, whose lanes are neighbours, fits. Its
// methods are steps of `scan_columns`: all threads of the block call them, and each says whether it
// synchronises.
template <class O, class P> struct ColumnGroup {
    typedef typename O::State S;
    static constexpr int VECTOR_SIZE = P::VECTOR_SIZE;
    int lanes, walkers, lane, walker;
    uint32_t groups, group, tiles;
    // Whether no other block shares the group.
    bool is_alone;
    GridCounters *counters;
    Slot<S> *slots;

    template <class Params> __device__ __forceinline__ explicit ColumnGroup(const Params &params) {
        const int log = int(params.log_lanes);
        lanes = 1 << log;
        walkers = P::THREADS >> log;
        lane = threadIdx.x & (lanes - 1);
        walker = threadIdx.x >> log;
        groups = uint32_t((params.packs + lanes - 1) >> log);
        group = blockIdx.x % groups;
        tiles = params.tiles;
        is_alone = gridDim.x == groups;
        counters = reinterpret_cast<GridCounters *>(params.scratch) + group;
        slots = reinterpret_cast<Slot<S> *>(params.scratch + groups * sizeof(GridCounters)) +
                uint64_t(group) * tiles * columns();
    }
    __device__ __forceinline__ int columns() const { return lanes * VECTOR_SIZE; }

    // Claims the group's next tile for the block. It has a barrier, after which all threads read
    // `claimed`.
    __device__ __forceinline__ uint32_t claim_tile(uint32_t *claimed) const {
        return tiles::claim_tile(counters, claimed);
    }

    // Scans the sums of the walkers over the block: the sums up to each walker, those before it,
    // and the tile's aggregate. It has barriers, and stores its states in `shared`.
    __device__ __forceinline__ void scan_block(S *shared, const S (&sums)[VECTOR_SIZE],
                                               S (&inclusive)[VECTOR_SIZE],
                                               S (&exclusive)[VECTOR_SIZE],
                                               S (&aggregate)[VECTOR_SIZE]) const {
#pragma unroll
        for (int k = 0; k < VECTOR_SIZE; k++) inclusive[k] = sums[k];
        for (int distance = 1; distance <= walkers; distance *= 2) {
#pragma unroll
            for (int k = 0; k < VECTOR_SIZE; k++)
                shared[threadIdx.x * VECTOR_SIZE + k] = inclusive[k];
            __syncthreads();
            if (distance == walkers) break;
            if (walker >= distance) {
#pragma unroll
                for (int k = 0; k < VECTOR_SIZE; k++)
                    inclusive[k] = O::combine(
                        shared[(threadIdx.x - distance * lanes) * VECTOR_SIZE + k], inclusive[k]);
            }
            __syncthreads();
        }
#pragma unroll
        for (int k = 0; k < VECTOR_SIZE; k++) {
            aggregate[k] = shared[((walkers - 1) * lanes + lane) * VECTOR_SIZE + k];
            if (walker > 0) exclusive[k] = shared[(threadIdx.x - lanes) * VECTOR_SIZE + k];
        }
    }

    // Publishes the tile's aggregate, which the last walker has, in slots. It does not synchronise.
    __device__ __forceinline__ void publish(uint32_t tile,
                                            const S (&inclusive)[VECTOR_SIZE]) const {
        if (walker != walkers - 1) return;
#pragma unroll
        for (int k = 0; k < VECTOR_SIZE; k++)
            slots[uint64_t(tile) * columns() + lane * VECTOR_SIZE + k].publish(inclusive[k]);
    }

    // Extends `prefix` from the tiles before `done` to those before `tile`: each walker polls the
    // slots of one tile, and all add them up. It has barriers, since the states go through
    // `shared`.
    __device__ __forceinline__ void add_earlier_tiles(S *shared, uint32_t tile, uint32_t &done,
                                                      S (&prefix)[VECTOR_SIZE]) const {
        while (done < tile) {
            const uint32_t count = tile - done < uint32_t(walkers) ? tile - done : walkers;
            S other[VECTOR_SIZE];
            if (walker < count) {
#pragma unroll
                for (int k = 0; k < VECTOR_SIZE; k++)
                    other[k] =
                        slots[uint64_t(done + walker) * columns() + lane * VECTOR_SIZE + k].wait();
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
                    prefix[k] = done + j > 0 ? O::combine(prefix[k], next) : next;
                }
            }
            done += count;
        }
    }

    // The prefix of a thread: that of the tile, and the walkers before. Extends the tile's prefix
    // to that of the next tile. It does not synchronise.
    __device__ __forceinline__ void join_walkers(uint32_t tile, const S (&exclusive)[VECTOR_SIZE],
                                                 const S (&aggregate)[VECTOR_SIZE],
                                                 S (&prefix)[VECTOR_SIZE],
                                                 S (&of_thread)[VECTOR_SIZE]) const {
#pragma unroll
        for (int k = 0; k < VECTOR_SIZE; k++) {
            if (tile > 0) {
                of_thread[k] = walker > 0 ? O::combine(prefix[k], exclusive[k]) : prefix[k];
            } else if (walker > 0) {
                of_thread[k] = exclusive[k];
            }
            prefix[k] = tile > 0 ? O::combine(prefix[k], aggregate[k]) : aggregate[k];
        }
    }

    // Zeroes the slots and counters for the next launch, if this is the last block of the group
    // that has polled slots. It has a barrier.
    template <class Params>
    __device__ __forceinline__ void clear(const Params &params, bool *is_last) const {
        if (threadIdx.x == 0) is_last[0] = arrive(&counters->blocks_done) == gridDim.x / groups - 1;
        __syncthreads();
        if (!is_last[0]) return;
        for (uint64_t k = threadIdx.x; k < uint64_t(params.tiles) * columns(); k += P::THREADS)
            slots[k].clear();
        if (threadIdx.x == 0) counters->next_tile = counters->blocks_done = 0;
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
    typedef typename Wide<VECTOR_SIZE, typename E::Leaves>::type Row;
    typedef TempStorage<S, THREADS * VECTOR_SIZE> Shared;
    SHARED(Shared, storage, [1]);
    SHARED(uint32_t, claimed, [1]);
    SHARED(bool, is_last, [1]);
    S *shared = storage[0].states();
    const ColumnGroup<O, P> group(params);
    const ColumnPack<A, VECTOR_SIZE> columns(params,
                                             uint64_t(group.group) * group.lanes + group.lane);
    const bool exists = columns.exists;
    const int64_t rows = columns.rows;

    // The sum of all tiles before `done`.
    S prefix[VECTOR_SIZE];
    uint32_t done = 0;
    gpu::grid_dependency_wait();
    while (true) {
        const uint32_t tile = group.is_alone ? done : group.claim_tile(claimed);
        if (tile >= group.tiles) break;

        // All loads are in flight before the first use.
        const int64_t first = (int64_t(tile) * group.walkers + group.walker) * VECTORS_PER_THREAD;
        Row in[VECTORS_PER_THREAD];
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            if (exists && first + u < rows)
                in[u] = load_row<E, A::E_LEAVES>(params, columns, first + u);
        }
        S values[VECTORS_PER_THREAD][VECTOR_SIZE];
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            const bool has_row = exists && first + u < rows;
            const auto lifted = values_of<E, VECTOR_SIZE>(params.scalars.at + A::E_SCALARS,
                                                          params.extra.at + A::E_EXTRA, in[u]);
            const auto states = states_of_row<O>(lifted, has_row, columns.last);
#pragma unroll
            for (int k = 0; k < VECTOR_SIZE; k++)
                values[u][k] = u > 0 ? O::combine(values[u > 0 ? u - 1 : 0][k], states.lane[k])
                                     : states.lane[k];
        }

        S inclusive[VECTOR_SIZE], exclusive[VECTOR_SIZE], aggregate[VECTOR_SIZE];
        group.scan_block(shared, values[VECTORS_PER_THREAD - 1], inclusive, exclusive, aggregate);
        if (!group.is_alone) {
            group.publish(tile, inclusive);
            group.add_earlier_tiles(shared, tile, done, prefix);
        }

        const bool has_prefix = tile > 0 || group.walker > 0;
        S of_thread[VECTOR_SIZE];
        group.join_walkers(tile, exclusive, aggregate, prefix, of_thread);
        done = tile + 1;

#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            const int64_t row = first + u;
            if (!exists || row >= rows) continue;
            Pack<Result, VECTOR_SIZE> results;
#pragma unroll
            for (int k = 0; k < VECTOR_SIZE; k++) {
                const S state = join_prefix<O, MODE>(has_prefix, of_thread[k], u == 0,
                                                     values[u > 0 ? u - 1 : 0][k], values[u][k]);
                results.lane[k] = get<0>(O::finalize(state, 0));
            }
            store_row<M>(params, columns, row, results);
        }
        // The next tile's states overwrite this one's.
        __syncthreads();
    }
    if (!group.is_alone) group.clear(params, is_last);
}

} // namespace gpu::algos::scan
