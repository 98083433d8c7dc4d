// Scans of many contiguous values, in one launch, with tiles in shared memory.
//
// Values E, operator O, segments F and epilogue M are those of `scan_single_pass`
// (scan_single_pass.cuh). A tile comes into shared memory by copies that hold no registers. When it
// has arrived it is scanned by itself, and its aggregate is published in a slot at once. Its prefix
// is combined with it AHEAD tiles of its block later, when it is known as a rule.
// So a block that waits for a prefix delays no other block: its own aggregates were published
// before. Its copies go on meanwhile. There are two service warps. One claims tiles and publishes
// aggregates. The other adds up the aggregates of earlier tiles: it polls slots while the workers
// write a tile, and adds up the polled values while they scan the next one.
//
// AHEAD is the number of tiles of a block that are scanned and wait for their prefix. LOADING is
// the number of tiles in flight plus 1, for the tile that is scanned: with 2, the number that is
// used, one tile is in flight. Blocks exchange aggregates by slots
// (block/tile_status.cuh): relaxed stores and loads of words that carry their own mark.
//
// In iteration `number` the block stores its tile `number`, scans tile `number + AHEAD` and starts
// the copies of tile `number + AHEAD + LOADING - 1`. An iteration has two barriers. After the first
// one the copies of the tile to scan are visible to all, and so is the number of the tile to load.
// After the second one the sums of the warps and the prefix of the tile to store are there.
//
// Contract: that of `scan_single_pass`, with tiles of THREADS * VALUES, where VALUES is VECTOR_SIZE
// * VECTORS_PER_THREAD, and with these differences. There are several tiles. The layout is
// CONTIGUOUS and not LINES. Packs of all leaves of E and F are aligned in memory, and M has no
// leaves there. AHEAD is at least 1. The block is THREADS + 64, with StageBuffers::ALL bytes of
// dynamic shared memory. VALUES is a power of 2, at most 32 and eight packs. Parameters: those of
// `scan_single_pass`.
#pragma once
#include "block/polled_prefix.cuh"
#include "staged.cuh"

namespace gpu::algos::scan {

// The shared memory of a block's tiles, as the host passes it.
template <class E, class F, class O, class P> using PipelinedBuffers =
    StageBuffers<E, F, typename O::State, P, P::AHEAD + P::LOADING, P::LOADING>;

template <class E, class F, class M, class O, int MODE, class P>
__global__ void __launch_bounds__(P::THREADS + 64, 1)
    scan_pipelined(const __grid_constant__ TileParams<E, F, M> params) {
    typedef StagedScan<E, F, M, O, MODE, P> Scan;
    typedef typename Scan::R R;
    typedef typename Scan::S S;
    typedef typename O::State State;
    constexpr int AHEAD = P::AHEAD, LOADING = P::LOADING, STAGES = AHEAD + LOADING,
                  WARPS = Scan::WARPS;
    typedef PipelinedBuffers<E, F, O, P> Staged;
    typedef TempStorage<S, 2 * WARPS + 2> Shared;
    SHARED_DYNAMIC(uint4, dynamic);
    SHARED(Shared, storage, [1]);
    // Indexed by the number of the block's tile, modulo the size: the tile, and its first head.
    SHARED(uint32_t, claimed, [STAGES + 1]);
    SHARED(int, first_head, [STAGES]);
    SHARED(int, heads_of_warps, [2][WARPS]); // the first head of each warp, by parity
    SHARED(bool, is_last, [1]);
    const Staged staged = {reinterpret_cast<unsigned char *>(dynamic)};
    S *sums_of_warps = storage[0].states(), *prefix = sums_of_warps + 2 * WARPS;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const bool is_worker = warp < WARPS, is_claimer = warp == WARPS;
    const uint32_t tiles = params.tiles;
    GridCounters *counters = reinterpret_cast<GridCounters *>(params.scratch);
    PolledPrefix<R, S> earlier = {TilePrefix<R, S>(params.scratch)};
    const Scan steps(params, sums_of_warps, heads_of_warps[0]);
    // Key before the tile's first value; valid in thread 0, loaded one tile ahead.
    typename Scan::Key key_before, next_key_before;
    auto start_loading = [&](uint32_t tile, int number) {
        if (is_worker && tile < tiles)
            steps.start_loading_with_key(staged, tile, number, next_key_before);
        end_batch_of_copies();
    };

    gpu::grid_dependency_wait();
    // Blocks claim in rounds, so that the first tiles of all blocks come before their second ones.
    for (int number = 0; number < STAGES; number++) {
        const uint32_t tile = claim_tile<P::THREADS>(counters, claimed + number);
        if (number < LOADING - 1) start_loading(tile, number);
    }

    uint32_t claim = 0;
    for (int number = -AHEAD;; number++) {
        const int coming = number + AHEAD, loading = coming + LOADING - 1, parity = number & 1;
        wait_for_copies<LOADING - 2>();
        if (is_claimer && lane == 0 && loading >= STAGES) claimed[loading % (STAGES + 1)] = claim;
        __syncthreads();
        const uint32_t written_tile = number >= 0 ? claimed[number % (STAGES + 1)] : 0,
                       coming_tile = claimed[coming % (STAGES + 1)];
        if (written_tile >= tiles) break;
        key_before = next_key_before;
        start_loading(claimed[loading % (STAGES + 1)], loading);

        typename Scan::ThreadValues thread_values;
        if (is_claimer && lane == 0 && loading + 1 >= STAGES)
            claim = atomicAdd(&counters->next_tile, 1u);
        if (is_worker && coming_tile < tiles)
            steps.scan_warps(thread_values, staged, coming_tile, coming, parity, key_before);
        else if (!is_worker && !is_claimer && written_tile > 0)
            earlier.resolve(written_tile, prefix + parity);
        __syncthreads();

        if (is_claimer) {
            if (coming_tile < tiles)
                steps.publish_aggregate(earlier.sums.of_tiles + coming_tile, parity,
                                        first_head + coming % STAGES);
        } else if (!is_worker) {
            const uint32_t next = number + 1 >= 0 ? claimed[(number + 1) % (STAGES + 1)] : 0;
            if (next > 0 && next < tiles) earlier.start(next);
        } else {
            if (coming_tile < tiles) steps.scan_block(thread_values, staged.states(coming), parity);
            if (number >= 0) {
                State before;
                if (written_tile > 0) before = R::value(prefix[parity]);
                steps.store(staged.states(number), before, written_tile,
                            first_head + number % STAGES);
            }
        }
    }
    wait_for_copies<0>();
    gpu::trigger_dependents();
    reset_by_last_block<P::THREADS + 64>(counters, earlier.sums, tiles, is_last);
}

} // namespace gpu::algos::scan
