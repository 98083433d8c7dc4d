// Scans in one launch.
//
// Values stand in lines, one behind the other: value i is at place i % LENGTH of line i / LENGTH.
// Each is read as the expression E of arrays, joined with all before it of its line or segment by
// the operator O (operators.cuh), passed through the expression M and written once.
//
// tiles.cuh describes the tiles of the blocks, and the aggregates that they publish.
//
// Measured on an H200, 2^28 f32: 620 us; with four groups of slots read at once 656, with eight
// 676, since more polls disturb the writers; with sums of groups published too, which are fewer to
// poll but come later, 720; with a ticket that is drawn before the tile in hand is written 980.
//
// Contract: grid of at most TILES blocks of THREADS, no dynamic shared memory. With several tiles
// SCRATCH is as `Stream::with_cleared_scratch` gives it and has a Desk and a slot for each tile.
// The target is one of the leaves or overlaps none.
// Parameters: TileParams (device/params.rs).
#pragma once
#include "operators.cuh"
#include "scanned.cuh"
#include "tiles.cuh"

namespace gpu {
namespace scan {

// The state of some values, and whether a segment begins among them.
template <class V> struct Run {
    V value;
    uint32_t begins;
};

} // namespace scan

template <class V> struct Parts<scan::Run<V>> {
    typedef V Value;
    static __device__ __forceinline__ const V &value(const scan::Run<V> &run) { return run.value; }
    static __device__ __forceinline__ bool flag(const scan::Run<V> &run) { return run.begins != 0; }
    static __device__ __forceinline__ scan::Run<V> make(const V &value, bool begins) { return {value, begins}; }
};

namespace scan {

using namespace tiles;

// A state, and with segments whether one begins among its values.
template <class O, bool SEGMENTS> struct Runs;
template <class O> struct Runs<O, false> {
    typedef typename O::State State;
    static __device__ __forceinline__ State make(const typename O::State &value, bool) { return value; }
    static __device__ __forceinline__ State join(const State &a, const State &b) { return O::join(a, b); }
    static __device__ __forceinline__ bool begins(const State &) { return false; }
    static __device__ __forceinline__ const typename O::State &value(const State &run) { return run; }
};
template <class O> struct Runs<O, true> {
    typedef Run<typename O::State> State;
    static __device__ __forceinline__ State make(const typename O::State &value, bool begins) { return {value, begins}; }
    static __device__ __forceinline__ State join(const State &a, const State &b) {
        return b.begins ? b : State{O::join(a.value, b.value), a.begins};
    }
    static __device__ __forceinline__ bool begins(const State &run) { return run.begins != 0; }
    static __device__ __forceinline__ const typename O::State &value(const State &run) { return run.value; }
};

// M of a pack of results, with the leaves that it reads. The results replace the extra words that
// is_result selects.
template <class M, class A, class R, int WIDTH>
__device__ __forceinline__ Pack<typename FirstOf<typename M::Outputs>::type, WIDTH> computed(const typename A::Params &params, const Pack<R, WIDTH> &results,
                                                                                             const typename Wide<WIDTH, typename M::Leaves>::type &in) {
    Pack<typename FirstOf<typename M::Outputs>::type, WIDTH> out;
#pragma unroll
    for (int lane = 0; lane < WIDTH; lane++) {
        uint64_t extra[M::EXTRA + 1];
#pragma unroll
        for (int k = 0; k < M::EXTRA; k++) extra[k] = M::is_result(k) ? as_word(results.lane[lane]) : params.extra[A::M_EXTRA + k];
        typename M::Leaves x;
        typename M::Outputs y;
        each(x, [&](auto k, auto &value) { value = get<decltype(k)::value>(in).lane[lane]; });
        M::apply(params.scalars.at + A::M_SCALARS, extra, x, y);
        out.lane[lane] = get<0>(y);
    }
    return out;
}

// The epilogue of the results from number i on. Without M they stay as they are.
template <class M, class A, class R, int WIDTH, int HOW> struct Behind {
    typedef typename FirstOf<typename M::Outputs>::type Out;
    static __device__ __forceinline__ Pack<Out, WIDTH> of(const typename A::Params &params, const Pack<R, WIDTH> &results, int64_t i, bool whole) {
        return computed<M, A>(params, results, read<M, A, A::M_LEAVES, WIDTH, HOW>(params, i, whole));
    }
};
template <class A, class R, int WIDTH, int HOW> struct Behind<Nothing, A, R, WIDTH, HOW> {
    typedef R Out;
    static __device__ __forceinline__ const Pack<R, WIDTH> &of(const typename A::Params &, const Pack<R, WIDTH> &results, int64_t, bool) { return results; }
};

// Writes a pack of results to the target.
template <class A, int HOW, class T, int WIDTH>
__device__ __forceinline__ void write(const typename A::Params &params, const Pack<T, WIDTH> &out, int64_t i, bool whole) {
    if constexpr ((HOW & PLAIN) != 0) {
        if (whole && params.is_target_packed) {
            if constexpr ((HOW & BACKWARD) != 0) {
                Pack<T, WIDTH> turned;
#pragma unroll
                for (int k = 0; k < WIDTH; k++) turned.lane[k] = out.lane[WIDTH - 1 - k];
                store<true>(turned, params.target, true, -(i + WIDTH - 1), 1);
            } else {
                store<true>(out, params.target, true, i, 1);
            }
            return;
        }
    }
#pragma unroll
    for (int k = 0; k < WIDTH; k++) {
        if (i + k < 0 || i + k >= int64_t(params.count)) continue;
        int64_t offset = (i + k) * params.scanned[0].strides[0];
        if constexpr ((HOW & PLAIN) == 0) offset = offsets_at<A>(params, i + k).of[0];
        Pack<T, 1> one;
        one.lane[0] = out.lane[k];
        store(one, params.target, false, offset, 1);
    }
}

// Blocks that should fit a multiprocessor, if each thread has VALUES values.
template <class O, int HOW, int THREADS, int VALUES> struct Resident {
    typedef Runs<O, ((HOW & (LINES | FLAGS | KEYS)) != 0)> R;
    static constexpr int BLOCKS = (VALUES * WordsOf<typename R::State>::COUNT > 32 ? 512 : 768) / THREADS;
};

template <class E, class F, class M, class O, int HOW, int THREADS, int WIDTH, int UNROLL>
__global__ void __launch_bounds__(THREADS, (Resident<O, HOW, THREADS, WIDTH * UNROLL>::BLOCKS)) lines(const __grid_constant__ TileParams<E, F, M> params) {
    typedef At<E, F, M> A;
    constexpr bool SEGMENTS = (HOW & (LINES | FLAGS | KEYS)) != 0;
    constexpr int WARPS = THREADS / 32, TILE = THREADS * WIDTH * UNROLL;
    typedef Runs<O, SEGMENTS> R;
    typedef typename R::State S;
    typedef typename FirstOf<decltype(O::finish(O::settle(O::neutral()), 0))>::type Result;
    typedef Behind<M, A, Result, WIDTH, HOW> Last;
    typedef Room<S, 2 * WARPS + 1> Shared;
    SHARED(Shared, room, [1]);
    SHARED(uint32_t, ticket, [1]);
    SHARED(bool, is_last, [1]);
    S *shared = reinterpret_cast<S *>(room[0].bytes);
    const uint32_t tiles = params.tiles;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64_t count = int64_t(params.count);

    Desk *desk = reinterpret_cast<Desk *>(params.scratch);
    Sums<R, S> sums(params.scratch);
    // Blocks with more than one tile come here again for the next one. They draw it late, since all
    // later tiles wait for its sum.
    const bool once = gridDim.x == tiles;
    // With few tiles each warp polls the slots of a group of tiles, all at once.
    const bool few = once && tiles <= WARPS * GROUP;
    uint32_t place = 0;

    if (once && tiles > 1 && threadIdx.x == 0) ticket[0] = gpu::draw_before_stream(params.scratch, tiles - 1);
    gpu::wait_for_stream();
    do {
        uint32_t tile = 0;
        if (tiles > 1) {
            if (!once && threadIdx.x == 0) ticket[0] = atomicAdd(&desk->drawn, 1u);
            __syncthreads();
            tile = ticket[0];
            if (tile >= tiles) break;
        }
        const int64_t start = int64_t(tile) * TILE + int64_t(warp * UNROLL * 32 + lane) * WIDTH - int64_t(params.shift);
        Tile<E, F, A, HOW, WIDTH, UNROLL> in;
#pragma unroll
        for (int u = 0; u < UNROLL; u++) in.read_pack(params, start, u);
        uint32_t heads[UNROLL];
        if constexpr (SEGMENTS) in.begins(params, start, heads);

        // Scans each pack by itself, then the packs of a row, then the rows of the warp.
        typename O::State values[UNROLL][WIDTH];
        S before[UNROLL];
        S rows;
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            const int64_t i = start + u * 32 * WIDTH;
            const auto lifted = values_of<E, WIDTH>(params.scalars.at + A::E_SCALARS, params.extra.at + A::E_EXTRA, in.values[u]);
#pragma unroll
            for (int k = 0; k < WIDTH; k++) {
                const bool exists = i + k >= 0 && i + k < count;
                values[u][k] = exists ? O::lift(lifted.lane[k]) : O::settle(O::neutral());
                if (k > 0 && !(SEGMENTS && (heads[u] >> k & 1) != 0)) values[u][k] = O::join(values[u][k - 1], values[u][k]);
            }
            S sum = R::make(values[u][WIDTH - 1], SEGMENTS && heads[u] != 0);
#pragma unroll
            for (int delta = 1; delta < 32; delta *= 2) {
                const S earlier = shuffled_up(sum, delta);
                if (lane >= delta) sum = R::join(earlier, sum);
            }
            const S row = shuffled(sum, 31), packs = shuffled_up(sum, 1);
            if (u == 0) {
                before[u] = packs;
                rows = row;
            } else {
                before[u] = lane > 0 ? R::join(rows, packs) : rows;
                rows = R::join(rows, row);
            }
        }
        if (lane == 0) shared[warp] = rows;
        __syncthreads();

        // Prefixes over the warps of the block, and over the tiles.
        S base = shared[0];
        if (warp == 0) {
#pragma unroll
            for (int k = 1; k < WARPS; k++) base = R::join(base, shared[k]);
            if (tiles > 1) {
                if (lane == 0) sums.of_tiles[tile].put(base);
                // The prefix is of no use to a tile that begins with a segment.
                const bool is_needed = __shfl_sync(0xffffffffu, !SEGMENTS || (heads[0] & 1) == 0, 0);
                if (tile > 0 && is_needed && !few) base = sums.before(tile);
                if (lane == 0) {
                    shared[WARPS] = base;
                    if (once && !few) place = arrive(&desk->left);
                }
            }
        } else {
#pragma unroll
            for (int k = 1; k < WARPS; k++) {
                if (k < warp) base = R::join(base, shared[k]);
            }
        }
        gpu::let_next_start();
        if (tiles > 1) {
            const uint32_t groups = (tile + GROUP - 1) / GROUP;
            if (few && uint32_t(warp) < groups) {
                const S group = sums.of_group(warp, tile);
                if (lane == 0) shared[WARPS + 1 + warp] = group;
            }
            __syncthreads();
            if (few && threadIdx.x == 0) place = arrive(&desk->left);
            if (tile > 0) {
                S before_tile = few ? shared[WARPS + 1] : shared[WARPS];
#pragma unroll
                for (int k = 1; k < WARPS; k++) {
                    if (few && uint32_t(k) < groups) before_tile = R::join(before_tile, shared[WARPS + 1 + k]);
                }
                base = warp == 0 ? before_tile : R::join(before_tile, base);
            }
        }
        const bool has_base = tile > 0 || warp > 0;

#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            const int64_t i = start + u * 32 * WIDTH;
            const bool is_first = u == 0 && lane == 0;
            S all = is_first ? base : has_base ? R::join(base, before[u]) : before[u];
            const bool has_all = has_base || !is_first;
            Pack<Result, WIDTH> results;
#pragma unroll
            for (int k = 0; k < WIDTH; k++) {
                const bool begun = SEGMENTS && (heads[u] & ((2u << k) - 1)) != 0, begins_here = SEGMENTS && (heads[u] >> k & 1) != 0;
                typename O::State state;
                if constexpr ((HOW & EXCLUSIVE) != 0) {
                    const bool begun_before = SEGMENTS && (heads[u] & ((1u << k) - 1)) != 0;
                    if (begins_here || (k == 0 && !has_all)) {
                        state = O::settle(O::neutral());
                    } else if (k == 0) {
                        state = R::value(all);
                    } else {
                        const typename O::State &here = values[u][k > 0 ? k - 1 : 0];
                        state = begun_before || !has_all ? here : O::join(R::value(all), here);
                    }
                    // The first value of all, if packs begin before it.
                    if (i + k == 0) state = O::settle(O::neutral());
                } else {
                    state = begun || !has_all ? values[u][k] : O::join(R::value(all), values[u][k]);
                }
                results.lane[k] = get<0>(O::finish(state, 0));
            }
            const bool whole = i >= 0 && i + WIDTH <= count;
            const Pack<typename Last::Out, WIDTH> &out = Last::of(params, results, i, whole);
            write<A, HOW>(params, out, i, whole);
        }
        // The next tile's states overwrite this one's.
        __syncthreads();
    } while (!once);
    if (tiles == 1) return;

    // The last block that has polled slots zeroes them for the next launch.
    if (threadIdx.x == 0) {
        if (!once) place = arrive(&desk->left);
        is_last[0] = place == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last[0]) return;
    sums.clear(tiles, THREADS);
    if (threadIdx.x == 0) desk->drawn = desk->left = 0;
}

} // namespace scan
} // namespace gpu
