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
// Contract: that of `scan_single_pass`, with tiles of THREADS * VALUES, a power of 2 of values of a
// thread, at most 32 and eight packs. There are several tiles. The layout is CONTIGUOUS and not
// LINES. Packs of all leaves of E and F are aligned in memory, and M has no leaves there. The block
// is THREADS. There are at most MOST_BATCHES batches of tiles, and for each block at most
// WAVE_TILES_PER_BLOCK tiles, each with StageBuffers::ALL bytes of dynamic shared memory.
// Parameters: those of `scan_single_pass`.
#pragma once
#include "staged.cuh"

namespace gpu::algos::scan {

constexpr int MOST_BATCHES = WAVE_TILES / int(TILE_BATCH);

// The shared memory of a block's tile; the host passes that of all tiles of a block.
template <class E, class F, class O, class P> using WaveBuffers =
    StageBuffers<E, F, typename O::State, P, 1, 1>;

// Waits for all batches of copies but the last `left`.
template <int LEFT = WAVE_TILES_PER_BLOCK - 1>
__device__ __forceinline__ void wait_for_copies_but(int left) {
    if constexpr (LEFT > 0) {
        if (left < LEFT) return wait_for_copies_but<LEFT - 1>(left);
    }
    wait_for_copies<LEFT>();
}

// The prefixes of a block's tiles, from the sums of all batches of tiles before. The warps of the
// block share the batches, and exchange the sums by shared memory. With TilePrefix::resolve one
// warp would poll all batches, and the others would wait for it.
template <class R, class S, int WARPS> struct WavePrefix {
    TilePrefix<R, S> sums;
    // Of the whole batches; of the tiles after the last whole batch, for either parity.
    S *sums_of_batches, *last_sums;
    // Number of whole batches before, and their sum.
    uint32_t batches;
    S of_batches;

    __device__ __forceinline__ WavePrefix(uint64_t scratch, S *shared)
        : sums(scratch), sums_of_batches(shared), last_sums(shared + MOST_BATCHES), batches(0) {}

    // Polls the slots of the tiles before `tile` that no earlier call polled. All warps of the
    // block call it; it does not synchronise them.
    __device__ __forceinline__ void poll(uint32_t tile, uint32_t parity) {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const uint32_t whole = tile / TILE_BATCH;
        S *last_sum = last_sums + parity;
        for (uint32_t batch = batches + warp; batch * TILE_BATCH < tile; batch += WARPS) {
            const S of_batch = sums.of_batch(batch, tile);
            if (lane == 0) *(batch < whole ? sums_of_batches + batch : last_sum) = of_batch;
        }
    }
    // The prefix of `tile`, unless it is the first. All threads call it, after a barrier that
    // follows `poll`; it does not synchronise them.
    template <class State>
    __device__ __forceinline__ void resolve(uint32_t tile, uint32_t parity, State &before) {
        const uint32_t whole = tile / TILE_BATCH;
        const S *last_sum = last_sums + parity;
        for (; batches < whole; batches++)
            of_batches = batches > 0 ? R::combine(of_batches, sums_of_batches[batches])
                                     : sums_of_batches[batches];
        if (tile % TILE_BATCH != 0) {
            before = R::value(whole > 0 ? R::combine(of_batches, *last_sum) : *last_sum);
        } else if (tile > 0) {
            before = R::value(of_batches);
        }
    }
};

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
    typedef StagedScan<E, F, M, O, MODE, P> Scan;
    typedef typename Scan::R R;
    typedef typename Scan::S S;
    constexpr int THREADS = P::THREADS, WARPS = Scan::WARPS;
    typedef WaveBuffers<E, F, O, P> Staged;
    typedef TempStorage<S, 2 * WARPS + MOST_BATCHES + 2> Shared;
    SHARED_DYNAMIC(uint4, dynamic);
    SHARED(Shared, storage, [1]);
    SHARED(uint32_t, claimed, [WAVE_TILES_PER_BLOCK]);
    // The place of the first segment head of each tile; by the last bit of the tile's number, that
    // of each warp.
    SHARED(int, first_head, [WAVE_TILES_PER_BLOCK]);
    SHARED(int, heads_of_warps, [2][WARPS]);
    SHARED(bool, is_last, [1]);
    S *sums_of_warps = storage[0].states();
    const uint32_t tiles = params.tiles, parts = (tiles + gridDim.x - 1) / gridDim.x;
    GridCounters *counters = reinterpret_cast<GridCounters *>(params.scratch);
    const Scan steps(params, sums_of_warps, heads_of_warps[0]);
    WavePrefix<R, S, WARPS> prefix(params.scratch, sums_of_warps + 2 * WARPS);
    const auto staged_of = [&](uint32_t part) {
        return Staged{reinterpret_cast<unsigned char *>(dynamic) + part * Staged::ALL};
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
        if (claimed[part] < tiles) steps.start_loading(staged_of(part), claimed[part], 0);
        end_batch_of_copies();
    }

    // Key before the tile's first value; valid in thread 0, loaded one tile ahead.
    typename Scan::Key key_before, next_key_before;
    if (claimed[0] < tiles) steps.load_key_before(claimed[0], next_key_before);
#pragma unroll 1
    for (uint32_t part = 0; part < parts; part++) {
        const uint32_t tile = claimed[part], parity = part % 2;
        if (tile >= tiles) break;
        const Staged staged = staged_of(part);
        key_before = next_key_before;
        if (part + 1 < parts && claimed[part + 1] < tiles)
            steps.load_key_before(claimed[part + 1], next_key_before);
        wait_for_copies_but(int(parts - 1 - part));
        __syncthreads();
        typename Scan::ThreadValues thread_values;
        steps.scan_warps(thread_values, staged, tile, 0, parity, key_before);
        __syncthreads();
        if (threadIdx.x / 32 == 0)
            steps.publish_aggregate(prefix.sums.of_tiles + tile, parity, first_head + part);
        steps.scan_block(thread_values, staged.states(0), parity);
    }
    gpu::trigger_dependents();

    // Each block arrives after its last poll.
    const bool has_arrived = true;
    uint32_t place = 0;
#pragma unroll 1
    for (uint32_t part = 0; part < parts; part++) {
        const uint32_t tile = claimed[part];
        if (tile < tiles) prefix.poll(tile, part % 2);
        __syncthreads();
        if (part + 1 == parts && threadIdx.x == 0) place = arrive(&counters->blocks_done);
        if (tile >= tiles) continue;
        typename O::State before;
        prefix.resolve(tile, part % 2, before);
        steps.store(staged_of(part).states(0), before, tile, first_head + part);
    }
    reset_by_last_block<THREADS, HAS_NO_CLAIMS>(counters, prefix.sums, tiles, has_arrived, place,
                                                is_last);
}

} // namespace gpu::algos::scan
