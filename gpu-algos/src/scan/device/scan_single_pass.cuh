// Scans in one launch.
//
// Values stand in lines, one after another: value i is at place i % LENGTH of line i / LENGTH.
// Each is read as the expression E of arrays, combined with all before it of its line or segment by
// the operator O (operators.cuh), passed through the expression M and written once. F is the
// expression of the flags or keys of segments, else Nothing.
//
// block/tile_prefix.cuh describes the tiles of the blocks, and the aggregates that they publish.
//
// Contract: grid of at most TILES blocks of THREADS, no dynamic shared memory. With several tiles
// SCRATCH is as `Stream::with_cleared_scratch` gives it and has a GridCounters and a slot for each
// tile. The target is one of the leaves or overlaps none. Parameters: TileParams
// (device/params.rs).
#pragma once
#include "block/scan.cuh"
#include "operators.cuh"
#include "result_word.cuh"
#include "tiles.cuh"

namespace gpu::algos::scan {

// The state of some values, and whether a segment begins among them.
template <class V> struct SegmentedState {
    V value;
    uint32_t begins;
};

} // namespace gpu::algos::scan

namespace gpu {

template <class V> struct Parts<algos::scan::SegmentedState<V>> {
    typedef V Value;
    static __device__ __forceinline__ const V &value(const algos::scan::SegmentedState<V> &run) {
        return run.value;
    }
    static __device__ __forceinline__ bool flag(const algos::scan::SegmentedState<V> &run) {
        return run.begins != 0;
    }
    static __device__ __forceinline__ algos::scan::SegmentedState<V> make(const V &value,
                                                                          bool begins) {
        return {value, begins};
    }
};

} // namespace gpu

namespace gpu::algos::scan {

using namespace tiles;

// A state, and with segments whether one begins among its values.
template <class O, bool SEGMENTS> struct SegmentedOperator;
template <class O> struct SegmentedOperator<O, false> {
    typedef typename O::State State;
    static __device__ __forceinline__ State make(const typename O::State &value, bool) {
        return value;
    }
    static __device__ __forceinline__ State combine(const State &a, const State &b) {
        return O::combine(a, b);
    }
    static __device__ __forceinline__ bool begins(const State &) { return false; }
    static __device__ __forceinline__ const typename O::State &value(const State &run) {
        return run;
    }
};
template <class O> struct SegmentedOperator<O, true> {
    typedef SegmentedState<typename O::State> State;
    static __device__ __forceinline__ State make(const typename O::State &value, bool begins) {
        return {value, begins};
    }
    static __device__ __forceinline__ State combine(const State &a, const State &b) {
        return b.begins ? b : State{O::combine(a.value, b.value), a.begins};
    }
    static __device__ __forceinline__ bool begins(const State &run) { return run.begins != 0; }
    static __device__ __forceinline__ const typename O::State &value(const State &run) {
        return run.value;
    }
};

// M of a pack of results, with the leaves that it reads. The results replace the extra words that
// part_of_result selects.
template <class M, class A, class R, int VECTOR_SIZE> __device__
__forceinline__ Pack<typename FirstOf<typename M::Outputs>::type, VECTOR_SIZE>
computed(const typename A::Params &params, const Pack<R, VECTOR_SIZE> &results,
         const typename Wide<VECTOR_SIZE, typename M::Leaves>::type &in) {
    Pack<typename FirstOf<typename M::Outputs>::type, VECTOR_SIZE> out;
#pragma unroll
    for (int lane = 0; lane < VECTOR_SIZE; lane++) {
        uint64_t extra[M::EXTRA + 1];
#pragma unroll
        for (int k = 0; k < M::EXTRA; k++)
            extra[k] = M::part_of_result(k) >= 0 ? as_word(results.lane[lane], M::part_of_result(k))
                                                 : params.extra[A::M_EXTRA + k];
        typename M::Leaves x;
        typename M::Outputs y;
        each(x, [&](auto k, auto &value) { value = get<decltype(k)::value>(in).lane[lane]; });
        M::apply(params.scalars.at + A::M_SCALARS, extra, x, y);
        out.lane[lane] = get<0>(y);
    }
    return out;
}

// The epilogue of the results from number i on. Without M they stay as they are.
template <class M, class A, class R, int VECTOR_SIZE, int MODE> struct Epilogue {
    typedef typename FirstOf<typename M::Outputs>::type Out;
    static __device__ __forceinline__ Pack<Out, VECTOR_SIZE> of(const typename A::Params &params,
                                                                const Pack<R, VECTOR_SIZE> &results,
                                                                int64_t i, bool whole) {
        return computed<M, A>(params, results,
                              read<M, A, A::M_LEAVES, VECTOR_SIZE, MODE>(params, i, whole));
    }
};
template <class A, class R, int VECTOR_SIZE, int MODE>
struct Epilogue<Nothing, A, R, VECTOR_SIZE, MODE> {
    typedef R Out;
    static __device__ __forceinline__ const Pack<R, VECTOR_SIZE> &
    of(const typename A::Params &, const Pack<R, VECTOR_SIZE> &results, int64_t, bool) {
        return results;
    }
};

// Writes a pack of results to the target: from number i on, of `count` values whose first one is
// at the offset `base`. `whole` tells whether all of the pack exists. Any thread calls it; it does
// not synchronise.
template <class A, int MODE, class T, int VECTOR_SIZE>
__device__ __forceinline__ void write(const typename A::Params &params,
                                      const Pack<T, VECTOR_SIZE> &out, int64_t base, int64_t i,
                                      int64_t count, bool whole) {
    if constexpr ((MODE & CONTIGUOUS) != 0) {
        if (whole && params.is_target_packed) {
            if constexpr ((MODE & BACKWARD) != 0) {
                Pack<T, VECTOR_SIZE> turned;
#pragma unroll
                for (int k = 0; k < VECTOR_SIZE; k++)
                    turned.lane[k] = out.lane[VECTOR_SIZE - 1 - k];
                store<StoreMode::STREAMED>(turned, params.target, true,
                                           base - (i + VECTOR_SIZE - 1), 1);
            } else {
                store<StoreMode::STREAMED>(out, params.target, true, base + i, 1);
            }
            return;
        }
    }
#pragma unroll
    for (int k = 0; k < VECTOR_SIZE; k++) {
        if (i + k < 0 || i + k >= count) continue;
        int64_t offset = base + (i + k) * params.scanned[0].strides[0];
        if constexpr ((MODE & CONTIGUOUS) == 0) offset = offsets_at<A>(params, i + k).of[0];
        Pack<T, 1> one;
        one.lane[0] = out.lane[k];
        store(one, params.target, false, offset, 1);
    }
}

// Blocks that should fit a multiprocessor, if each thread has VALUES values.
template <class O, int MODE, int THREADS, int VALUES> struct Resident {
    typedef SegmentedOperator<O, ((MODE & (LINES | FLAGS | KEYS)) != 0)> R;
    static constexpr int BLOCKS =
        (VALUES * WordsOf<typename R::State>::COUNT > 32 ? 512 : 768) / THREADS;
};

// Polls the slots of the tiles before `tile`, a batch by each warp, and puts their sums into
// `sums_of_batches`. All warps of the block call it; it does not synchronise them. A block with one
// tile has all batches to poll at once, which TilePrefix::resolve does with one warp.
template <class R, class S> __device__ __forceinline__ void
poll_batches(TilePrefix<R, S> &sums, uint32_t tile, uint32_t batches, S *sums_of_batches) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (uint32_t(warp) < batches) {
        const S batch = sums.of_batch(warp, tile);
        if (lane == 0) sums_of_batches[warp] = batch;
    }
}

// A thread's part of a tile in registers: packs that are 32 packs apart.
template <class E, class F, class M, class O, int MODE, class P> struct RegisterTile {
    static constexpr int VECTOR_SIZE = P::VECTOR_SIZE, VECTORS_PER_THREAD = P::VECTORS_PER_THREAD,
                         TILE = P::THREADS * VECTOR_SIZE * VECTORS_PER_THREAD;
    static constexpr bool SEGMENTS = (MODE & (LINES | FLAGS | KEYS)) != 0;
    typedef At<E, F, M> A;
    typedef SegmentedOperator<O, SEGMENTS> R;
    typedef typename R::State S;
    typedef typename O::State State;
    typedef typename FirstOf<decltype(O::finalize(O::to_partial(O::identity()), 0))>::type Result;
    typedef Epilogue<M, A, Result, VECTOR_SIZE, MODE> Last;
    typedef Tile<E, F, A, MODE, VECTOR_SIZE, VECTORS_PER_THREAD> Inputs;

    const typename A::Params &params;
    // Number of the thread's first value, and of all values.
    const int64_t start, count;
    // Bits of the values of each pack that begin a segment.
    uint32_t heads[VECTORS_PER_THREAD];
    // Each pack scanned by itself, and the sum of the warp's packs before it.
    State values[VECTORS_PER_THREAD][VECTOR_SIZE];
    S before[VECTORS_PER_THREAD];

    // The kernel computes `start` with `first_value`, and reads `count` once before its first tile.
    __device__ __forceinline__ RegisterTile(const typename A::Params &params, int64_t start,
                                            int64_t count)
        : params(params), start(start), count(count) {}

    // Number of the thread's first value of a tile.
    static __device__ __forceinline__ int64_t first_value(const typename A::Params &params,
                                                          uint32_t tile) {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        return int64_t(tile) * TILE + int64_t(warp * VECTORS_PER_THREAD * 32 + lane) * VECTOR_SIZE -
               int64_t(params.peel);
    }

    // Loads the thread's packs and finds the heads of segments. All lanes of a warp call it.
    __device__ __forceinline__ void load(Inputs &in) {
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) in.read_pack(params, start, u);
        if constexpr (SEGMENTS) in.begins(params, start, heads);
    }

    // Scans pack u by itself, and returns its sum.
    __device__ __forceinline__ S scan_pack(const Inputs &in, int u) {
        const int64_t i = start + u * 32 * VECTOR_SIZE;
        const auto lifted = values_of<E, VECTOR_SIZE>(params.scalars.at + A::E_SCALARS,
                                                      params.extra.at + A::E_EXTRA, in.values[u]);
#pragma unroll
        for (int k = 0; k < VECTOR_SIZE; k++) {
            const bool exists = i + k >= 0 && i + k < count;
            values[u][k] = exists ? O::make_state(lifted.lane[k]) : O::to_partial(O::identity());
            if (k > 0 && !(SEGMENTS && (heads[u] >> k & 1) != 0))
                values[u][k] = O::combine(values[u][k - 1], values[u][k]);
        }
        return R::make(values[u][VECTOR_SIZE - 1], SEGMENTS && heads[u] != 0);
    }

    // Scans each pack by itself, then the packs of a row, then the rows of the warp. Returns the
    // sum of the warp. All lanes of a warp call it.
    __device__ __forceinline__ S scan_warp(const Inputs &in) {
        const int lane = threadIdx.x % 32;
        S rows;
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            const S sum = scan_lanes<R>(scan_pack(in, u));
            const S row = shuffled(sum, 31), packs = shuffled_up(sum, 1);
            if (u == 0) {
                before[u] = packs;
                rows = row;
            } else {
                before[u] = lane > 0 ? R::combine(rows, packs) : rows;
                rows = R::combine(rows, row);
            }
        }
        return rows;
    }

    // Whether the tile's first value continues the segment before it. All lanes of warp 0 call it.
    __device__ __forceinline__ bool is_prefix_needed() const {
        return __shfl_sync(0xffffffffu, !SEGMENTS || (heads[0] & 1) == 0, 0);
    }

    // The results of pack u. `all` is the sum of all values before the pack, if there are any.
    __device__ __forceinline__ Pack<Result, VECTOR_SIZE> results_of(int u, const S &all,
                                                                    bool has_all) const {
        const int64_t i = start + u * 32 * VECTOR_SIZE;
        Pack<Result, VECTOR_SIZE> results;
#pragma unroll
        for (int k = 0; k < VECTOR_SIZE; k++) {
            const bool begun = SEGMENTS && (heads[u] & ((2u << k) - 1)) != 0,
                       begins_here = SEGMENTS && (heads[u] >> k & 1) != 0;
            State state;
            if constexpr ((MODE & EXCLUSIVE) != 0) {
                const bool begun_before = SEGMENTS && (heads[u] & ((1u << k) - 1)) != 0;
                if (begins_here || (k == 0 && !has_all)) {
                    state = O::to_partial(O::identity());
                } else if (k == 0) {
                    state = R::value(all);
                } else {
                    const State &here = values[u][k > 0 ? k - 1 : 0];
                    state = begun_before || !has_all ? here : O::combine(R::value(all), here);
                }
                // The first value of all, if packs begin before it.
                if (i + k == 0) state = O::to_partial(O::identity());
            } else {
                state = begun || !has_all ? values[u][k] : O::combine(R::value(all), values[u][k]);
            }
            results.lane[k] = get<0>(O::finalize(state, 0));
        }
        return results;
    }

    // Combines the sum of all values before the warp with its scanned values, if there are any, and
    // stores the results of the epilogue. It does not synchronise.
    __device__ __forceinline__ void store(const S &base, bool has_base) const {
        const int lane = threadIdx.x % 32;
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            const int64_t i = start + u * 32 * VECTOR_SIZE;
            const bool is_first = u == 0 && lane == 0;
            const S all = is_first ? base : has_base ? R::combine(base, before[u]) : before[u];
            const auto results = results_of(u, all, has_base || !is_first);
            const bool whole = i >= 0 && i + VECTOR_SIZE <= count;
            const Pack<typename Last::Out, VECTOR_SIZE> &out = Last::of(params, results, i, whole);
            write<A, MODE>(params, out, 0, i, count, whole);
        }
    }
};

template <class E, class F, class M, class O, int MODE, class P> __global__ void
__launch_bounds__(P::THREADS,
                  (Resident<O, MODE, P::THREADS, P::VECTOR_SIZE * P::VECTORS_PER_THREAD>::BLOCKS))
    scan_single_pass(const __grid_constant__ TileParams<E, F, M> params) {
    typedef RegisterTile<E, F, M, O, MODE, P> ThreadTile;
    typedef typename ThreadTile::R R;
    typedef typename R::State S;
    constexpr int THREADS = P::THREADS, WARPS = THREADS / 32;
    typedef TempStorage<S, 2 * WARPS + 1> Shared;
    SHARED(Shared, storage, [1]);
    SHARED(uint32_t, claimed, [1]);
    SHARED(bool, is_last, [1]);
    S *sums_of_warps = storage[0].states(), *prefix = sums_of_warps + WARPS,
      *sums_of_batches = prefix + 1;
    const uint32_t tiles = params.tiles;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64_t count = int64_t(params.count);

    GridCounters *counters = reinterpret_cast<GridCounters *>(params.scratch);
    TilePrefix<R, S> sums(params.scratch);
    // Blocks with more than one tile come here again for the next one. They claim it late, since
    // all later tiles wait for its sum.
    const bool once = gridDim.x == tiles;
    // With few tiles each warp polls the slots of a batch of tiles, all at once.
    const bool few = once && tiles <= WARPS * TILE_BATCH;
    uint32_t place = 0;

    if (once && tiles > 1 && threadIdx.x == 0)
        claimed[0] = gpu::claim_before_dependency(params.scratch, tiles - 1);
    gpu::grid_dependency_wait();
    do {
        uint32_t tile = 0;
        if (tiles > 1) {
            tile = claim_tile(counters, claimed, once);
            if (tile >= tiles) break;
        }
        const int64_t start = ThreadTile::first_value(params, tile);
        ThreadTile thread_tile(params, start, count);
        typename ThreadTile::Inputs in;
        thread_tile.load(in);
        const S sum = thread_tile.scan_warp(in);
        if (lane == 0) sums_of_warps[warp] = sum;
        __syncthreads();

        // Warp 0 publishes the aggregate, and resolves the prefix. The others scan over the block.
        S base;
        if (warp == 0) {
            base = combine_first<R, WARPS>(sums_of_warps, WARPS);
            if (tiles > 1) {
                if (lane == 0) sums.publish(tile, base);
                // The prefix is of no use to a tile that begins with a segment.
                const bool is_needed = thread_tile.is_prefix_needed();
                if (tile > 0 && is_needed && !few) base = sums.resolve(tile);
                if (lane == 0) {
                    prefix[0] = base;
                    if (once && !few) place = arrive(&counters->blocks_done);
                }
            }
        } else {
            base = combine_first<R, WARPS>(sums_of_warps, warp);
        }
        gpu::trigger_dependents();
        if (tiles > 1) {
            const uint32_t batches = (tile + TILE_BATCH - 1) / TILE_BATCH;
            if (few) poll_batches(sums, tile, batches, sums_of_batches);
            __syncthreads();
            if (few && threadIdx.x == 0) place = arrive(&counters->blocks_done);
            if (tile > 0) {
                // One state is read before it is known whether others follow: a branch costs 2 %
                // of a scan of 16384 f32.
                const S before_tile = combine_rest<R, WARPS>(
                    few ? sums_of_batches[0] : prefix[0], sums_of_batches, few ? int(batches) : 1);
                base = warp == 0 ? before_tile : R::combine(before_tile, base);
            }
        }
        thread_tile.store(base, tile > 0 || warp > 0);
        // The next tile's states overwrite this one's.
        __syncthreads();
    } while (!once);
    if (tiles == 1) return;

    reset_by_last_block<THREADS>(counters, sums, tiles, once, place, is_last);
}

} // namespace gpu::algos::scan
