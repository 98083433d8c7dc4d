// Scans of contiguous values that the shared memory of the multiprocessors holds all at once, in
// one launch.
//
// Values, operator, segments and epilogue are those of `scan_single_pass` (scan_single_pass.cuh).
// The copies of all tiles of a block to shared memory are in flight from the start. Each tile is
// scanned there by itself when it has arrived, and its aggregate is published in a slot. Then the
// block polls the sums of all tiles before its first one, and writes that tile, and so on. So the
// sums before a block's first tile are there, as a rule, when it has scanned its last one, and the
// first tiles are written while others still arrive.
//
// A tile is claimed only after the one before it: all tiles before a block's belong to running
// blocks.
//
// Measured on an H200, 2^20 values, f32, f64, f32 by key, in us: 4.4, 6.2, 5.6 (CUB 3.0.1 6.7, 7.8,
// 7.5; `scan_single_pass` 5.0, 8.3, 7.9, and 0.5 more where its blocks draw after the wait for the
// stream). Written with the default of the caches in place of the streaming one: 4.5, 6.2.
//
// Contract: that of `scan_pipelined`, with these differences. The block is THREADS. There are at
// most MOST_GROUPS groups of tiles, and for each block at most MOST_PARTS tiles, each with
// StageBuffers::ALL bytes of dynamic shared memory. Parameters: those of `scan_single_pass`.
#pragma once
#include "staged.cuh"

namespace gpu {
namespace scan {

constexpr int MOST_PARTS = 8, MOST_GROUPS = 64;

// Waits for all batches of copies but the last `left`.
template <int LEFT = MOST_PARTS - 1> __device__ __forceinline__ void wait_for_copies_but(int left) {
    if constexpr (LEFT > 0) {
        if (left < LEFT) return wait_for_copies_but<LEFT - 1>(left);
    }
    wait_for_copies<LEFT>();
}

// Blocks that should fit a multiprocessor. The next launch's blocks then come beside this one's, if
// the values of a thread leave it the registers.
template <class O, int THREADS, int VALUES> struct Present {
    static constexpr int BLOCKS =
        (VALUES * WordsOf<typename O::State>::COUNT > 16 ? 512 : 1024) / THREADS;
};

template <class E, class F, class M, class O, int MODE, class P> __global__ void
__launch_bounds__(P::THREADS,
                  (Present<O, P::THREADS, P::VECTOR_SIZE * P::VECTORS_PER_THREAD>::BLOCKS))
    scan_single_wave(const __grid_constant__ TileParams<E, F, M> params) {
    constexpr int THREADS = P::THREADS, VECTOR_SIZE = P::VECTOR_SIZE,
                  VECTORS_PER_THREAD = P::VECTORS_PER_THREAD;
    typedef At<E, F, M> A;
    constexpr bool SEGMENTS = (MODE & (FLAGS | KEYS)) != 0;
    constexpr int WARPS = THREADS / 32, TILE = THREADS * VECTOR_SIZE * VECTORS_PER_THREAD;
    static_assert(WARPS <= 32, "sums of warps by a warp");
    typedef SegmentedOperator<O, SEGMENTS> R;
    typedef typename R::State S;
    typedef typename O::State State;
    typedef StageBuffers<E, F, State, TILE, 1, 1> Staged;
    typedef TempStorage<S, 2 * WARPS + MOST_GROUPS + 2> Shared;
    SHARED_DYNAMIC(uint4, dynamic);
    SHARED(Shared, room, [1]);
    SHARED(uint32_t, claimed, [MOST_PARTS]);
    // The place of the first segment head of each tile; by the last bit of the tile's number, that
    // of each warp.
    SHARED(int, first_head, [MOST_PARTS]);
    SHARED(int, heads_of_warps, [2][WARPS]);
    SHARED(bool, is_last, [1]);
    S *sums_of_warps = reinterpret_cast<S *>(room[0].bytes),
      *sums_of_groups = sums_of_warps + 2 * WARPS, *last_sums = sums_of_groups + MOST_GROUPS;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64_t count = int64_t(params.count), peel = int64_t(params.peel);
    const uint32_t tiles = params.tiles, parts = (tiles + gridDim.x - 1) / gridDim.x;
    GridCounters *counters = reinterpret_cast<GridCounters *>(params.scratch);
    TilePrefix<R, S> sums(params.scratch);

    const auto staged_of = [&](uint32_t part) {
        return Staged{reinterpret_cast<unsigned char *>(dynamic) + part * Staged::ALL};
    };
    const auto start_of = [&](uint32_t tile) { return int64_t(tile) * TILE - peel; };
    Offsets<A::LEAF_COUNT + 1> nothing;
#pragma unroll
    for (int k = 0; k <= A::LEAF_COUNT; k++) nothing.of[k] = 0;
    // Key before the tile's first value; valid in thread 0, loaded one tile ahead.
    typename Wide<1, typename F::Leaves>::type key_before, next_key_before;
    const auto read_key_before = [&](uint32_t tile) {
        if constexpr ((MODE & KEYS) != 0) {
            if (threadIdx.x == 0 && tile < tiles && start_of(tile) > 0)
                next_key_before = read_at<F, A, A::F_LEAVES, true>(params, start_of(tile) - 1);
        }
    };

    if (threadIdx.x == 0) {
        for (uint32_t part = 0; part < parts; part++)
            claimed[part] = gpu::claim_before_dependency(params.scratch, gridDim.x * parts - 1);
    }
    gpu::grid_dependency_wait();
    __syncthreads();
    // Tiles that do not exist are the last ones.
#pragma unroll 1
    for (uint32_t part = 0; part < parts; part++) {
        const uint32_t tile = claimed[part];
        if (tile < tiles) {
            const Staged staged = staged_of(part);
#pragma unroll
            for (int u = 0; u < VECTORS_PER_THREAD; u++) {
                const int pack = u * THREADS + int(threadIdx.x);
                start_copies<0, E, F, A, MODE, VECTOR_SIZE, VECTORS_PER_THREAD>(
                    params, nothing, staged, 0, pack, start_of(tile) + pack * VECTOR_SIZE, count);
            }
        }
        end_batch_of_copies();
    }

    read_key_before(claimed[0]);
#pragma unroll 1
    for (uint32_t part = 0; part < parts; part++) {
        const uint32_t tile = claimed[part], parity = part % 2;
        if (tile >= tiles) break;
        const Staged staged = staged_of(part);
        key_before = next_key_before;
        if (part + 1 < parts) read_key_before(claimed[part + 1]);
        wait_for_copies_but(int(parts - 1 - part));
        __syncthreads();
        Neighbours<E, F, A, O, MODE, VECTOR_SIZE, VECTORS_PER_THREAD> own;
        const bool is_whole = start_of(tile) >= 0 && start_of(tile) + TILE <= count;
        int head;
        const S sum = own.template scan<R, TILE>(params, nothing, staged, 0, start_of(tile), count,
                                                 is_whole, key_before, head);
        if (SEGMENTS && lane == 0) heads_of_warps[parity][warp] = head;
        if (lane == 31) sums_of_warps[parity * WARPS + warp] = sum;
        __syncthreads();
        if (warp == 0) {
            S of_tile = sums_of_warps[parity * WARPS + (lane < WARPS ? lane : 0)];
            of_tile = TilePrefix<R, S>::of_lanes(of_tile, WARPS);
            if (lane == 0) sums.of_tiles[tile].put(of_tile);
            if constexpr (SEGMENTS) {
                const int first = first_of_heads<WARPS, TILE>(heads_of_warps[parity]);
                if (lane == 0) first_head[part] = first;
            }
        }
        own.template put<R, WARPS>(staged.states(0), sums_of_warps + parity * WARPS);
    }
    gpu::trigger_dependents();

    uint32_t place = 0, groups = 0;
    // The sum of all whole groups before.
    S of_groups;
#pragma unroll 1
    for (uint32_t part = 0; part < parts; part++) {
        const uint32_t tile = claimed[part], whole = tile / GROUP;
        // The sum of the tiles behind the last whole group.
        S *last_sum = last_sums + part % 2;
        if (tile < tiles) {
            for (uint32_t group = groups + warp; group * GROUP < tile; group += WARPS) {
                const S of_group = sums.of_group(group, tile);
                if (lane == 0) *(group < whole ? sums_of_groups + group : last_sum) = of_group;
            }
        }
        __syncthreads();
        if (part + 1 == parts && threadIdx.x == 0) place = arrive(&counters->blocks_done);
        if (tile >= tiles) continue;
        for (; groups < whole; groups++)
            of_groups =
                groups > 0 ? R::combine(of_groups, sums_of_groups[groups]) : sums_of_groups[groups];
        State before;
        if (tile % GROUP != 0) {
            before = R::value(whole > 0 ? R::combine(of_groups, *last_sum) : *last_sum);
        } else if (tile > 0) {
            before = R::value(of_groups);
        }
        const int end = tile == 0 ? 0 : SEGMENTS ? first_head[part] : TILE;
        const State *states = staged_of(part).states(0);
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            const int pack = u * THREADS + int(threadIdx.x);
            const Pack<State, VECTOR_SIZE> of_pack = load_pack<State, VECTOR_SIZE>(
                states + placed<VECTORS_PER_THREAD>(pack) * VECTOR_SIZE);
            write_joined<E, F, M, O, A, MODE>(params, of_pack, before, pack * VECTOR_SIZE, end,
                                              start_of(tile) + pack * VECTOR_SIZE, count);
        }
    }

    // The last block that has polled slots zeroes them for the next launch.
    if (threadIdx.x == 0) is_last[0] = place == gridDim.x - 1;
    __syncthreads();
    if (!is_last[0]) return;
    sums.clear(tiles, THREADS);
    if (threadIdx.x == 0) counters->blocks_done = 0;
}

} // namespace scan
} // namespace gpu
