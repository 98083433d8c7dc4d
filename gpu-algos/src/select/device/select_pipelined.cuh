// Selections of many contiguous values, in one launch, with tiles in shared memory.
//
// The values that are selected, and their order, are those of `select_single_pass`
// (select_single_pass.cuh). A tile comes into shared memory by copies that hold no registers. Each
// warp has neighbouring rows of it to itself. A row has 32 values, one for each lane, so that one
// vote ranks the selected values of a row, and they go to neighbouring banks. When a tile has
// arrived, each warp makes its selected values contiguous where its values were. The last warp to
// have done so publishes the tile's count in a slot. AHEAD tiles of the block later, when the
// counts of all earlier tiles are known as a rule, each warp writes its selected values in whole
// lines. So a block that waits for counts delays no other block, and reads and writes meanwhile.
// One service warp claims tiles and adds up the counts that blocks have published.
//
// Contract: that of `select_single_pass`, with tiles of THREADS * VECTOR_SIZE * VECTORS_PER_THREAD,
// and with these differences. There are several tiles. The layout is CONTIGUOUS, and packs of
// VECTOR_SIZE of all leaves are aligned in memory. STEP is 1. The block is THREADS + 32, with
// StageBuffers::ALL bytes of dynamic shared memory. VECTOR_SIZE * VECTORS_PER_THREAD is the number
// of rows of a warp: a multiple of 4 such that 16 bits tell the places of a tile. With REJECTED
// there is one slot more than tiles, for their sum. Parameters: those of `select_single_pass`.
#pragma once
#include "select_counting.cuh"
#include "select_staged.cuh"

namespace gpu::algos::select {

// The stage after `place` in a cycle of N. Any thread calls it.
template <int N> __device__ __forceinline__ int next_of(int place) {
    return place + 1 < N ? place + 1 : 0;
}

// The prefix of a block's tiles, for a warp that goes on from tile to tile.
template <int MODE, int TILE> struct WarpPrefix {
    // There are little more than four batches of slots between a block's tiles on an H200.
    static constexpr int AT_ONCE = 5;
    Seen seen = {0, -1};
    uint32_t polled = 0;

    // Adds up the slots of the tiles before `tile`, waits for them, and puts the prefix into shared
    // memory. One whole warp calls it; the caller synchronises the block.
    __device__ __forceinline__ void resolve(Slot<uint32_t> *of_tiles, uint32_t tile, int64_t peel,
                                            Seen *prefix) {
        for (; polled < tile;
             polled = tile - polled < 32 * AT_ONCE ? tile : polled + 32 * AT_ONCE) {
            seen.add(poll_tiles<MODE, TILE, AT_ONCE>(of_tiles, polled, tile, peel));
        }
        if (threadIdx.x % 32 == 0) *prefix = seen;
    }
};

template <class E, class F, int MODE, uint64_t SAME, class P>
__global__ void __launch_bounds__(P::THREADS + 32, 1)
    select_pipelined(const __grid_constant__ TileParams<E, F, Nothing> params) {
    typedef StagedSelection<E, F, MODE, SAME, P> Steps;
    constexpr int THREADS = P::THREADS, AHEAD = P::AHEAD, LOADING = P::LOADING,
                  STAGES = AHEAD + LOADING, WARPS = Steps::WARPS, CLAIMED = Steps::CLAIMED;
    SHARED_DYNAMIC(uint4, dynamic);
    // Indexed by the number of the block's tile, modulo CLAIMED: the tile.
    SHARED(uint32_t, claimed, [CLAIMED]);
    SHARED(uint32_t, of_warps, [STAGES][WARPS]);
    SHARED(uint32_t, arrived, [STAGES]);
    SHARED(uint32_t, lasts_of_warps, [STAGES][WARPS]);
    SHARED(uint32_t, last_of_tile, [STAGES]);
    // Indexed by the last bit of the tile's number: the prefix of the tile.
    SHARED(Seen, before_tile, [2]);
    SHARED(bool, is_last, [1]);
    SHARED(int64_t, selected_of_all, [1]);
    const int lane = threadIdx.x % 32, warp = int(of_all_lanes(threadIdx.x / 32));
    const bool is_worker = warp < WARPS;
    const uint32_t tiles = params.tiles;
    const Steps steps(params, dynamic, warp, {of_warps, arrived, lasts_of_warps, last_of_tile});
    GridCounters *counters = reinterpret_cast<GridCounters *>(params.scratch);
    TilePrefix<Nothing, uint32_t> slots(params.scratch);
    Slot<uint32_t> *of_tiles = slots.of_tiles;
    const Counting<E, F, MODE, THREADS, P::VECTOR_SIZE> counting = {counters, of_tiles + tiles};
    WarpPrefix<MODE, Steps::TILE> prefix;

    if (threadIdx.x < STAGES) arrived[threadIdx.x] = last_of_tile[threadIdx.x] = 0;
    gpu::grid_dependency_wait();
    if constexpr ((MODE & REJECTED) != 0) counting.add(params, claimed);
    // Blocks claim in rounds, so that the first tiles of all blocks come before their second ones.
#pragma unroll 1
    for (int number = 0; number < LOADING; number++) {
        const uint32_t tile = claim_tile<THREADS>(counters, claimed + number);
        if (number < LOADING - 1) steps.start_loading(tile, number);
    }

    // Tile `number` is written while tile `number + AHEAD` is counted and the last of STAGES is in
    // flight.
    int written = STAGES - AHEAD, coming = 0, loading = LOADING - 1;
#pragma unroll 1
    for (int number = -AHEAD;; number++, written = next_of<STAGES>(written),
             coming = next_of<STAGES>(coming), loading = next_of<STAGES>(loading)) {
        wait_for_copies<LOADING - 2>();
        __syncthreads();
        const uint32_t written_tile =
            number >= 0 ? of_all_lanes(claimed[uint32_t(number) % CLAIMED]) : 0;
        const uint32_t coming_tile = of_all_lanes(claimed[uint32_t(number + AHEAD) % CLAIMED]);
        if (written_tile >= tiles) break;
        steps.start_loading(of_all_lanes(claimed[uint32_t(number + STAGES - 1) % CLAIMED]),
                            loading);

        if (!is_worker) {
            steps.clear_counts(next_of<STAGES>(coming));
            uint32_t claim = 0;
            if (lane == 0) claim = atomicAdd(&counters->next_tile, 1u);
            if ((MODE & REJECTED) != 0 && number == -1) counting.wait(params, selected_of_all);
            const uint32_t next = number + 1 >= 0 ? claimed[uint32_t(number + 1) % CLAIMED] : tiles;
            if (next < tiles)
                prefix.resolve(of_tiles, next, steps.peel, before_tile + ((number + 1) & 1));
            if (lane == 0) claimed[uint32_t(number + STAGES) % CLAIMED] = claim;
            continue;
        }

        if (coming_tile < tiles) {
            typename Steps::Rows rows;
            steps.load(rows, coming_tile, coming);
            // All lanes have read the values that are overwritten now.
            __syncwarp();
            const uint32_t of_warp = steps.put(rows, coming);
            if (lane == 0) steps.publish(rows, of_warp, coming, of_tiles + coming_tile);
            __syncwarp();
        }
        if (number >= 0)
            steps.store(written_tile, written, before_tile[number & 1], selected_of_all);
    }
    wait_for_copies<0>();
    gpu::trigger_dependents();
    if (reset_by_last_block<THREADS + 32, RESETS_CLAIMS, ROLLED_LOOP>(counters, slots, tiles,
                                                                      is_last)) {
        if constexpr ((MODE & REJECTED) != 0) counting.clear();
    }
}

} // namespace gpu::algos::select
