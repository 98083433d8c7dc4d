// Scans of many lines of contiguous values, in one launch. Each block has whole lines to itself,
// one after another, so no block waits for another.
//
// A tile is a part of a line. It comes into shared memory while earlier tiles are scanned
// (staged.cuh). A warp reads only packs that it copied itself: the only barrier is the one after
// which each warp knows the sums of the others.
//
// Contract: that of `scan_single_pass` (scan_single_pass.cuh) without F, with tiles of THREADS *
// VALUES, and with these differences. There is one scanned axis, along which all leaves are
// contiguous from an aligned pack on, in each line. M reads nothing in memory. The grid is at most
// the number of lines, with StageBuffers::ALL bytes of dynamic shared memory. Parameters: those of
// `scan_single_pass`, but `tiles` is the number of tiles of a line.
#pragma once
#include "staged.cuh"

namespace gpu::algos::scan {

// The shared memory of a block's tiles, in hand and in flight, as the host passes it.
static_assert(ROW_TILES_PER_BLOCK == TILES_IN_FLIGHT + 1, "one tile is in hand");
template <class E, class O, class P> using RowBuffers =
    StageBuffers<E, Nothing, typename O::State, P, ROW_TILES_PER_BLOCK, ROW_TILES_PER_BLOCK>;

// The number of lines, and whether their offsets need 64-bit divisions. The kernel reads the flag
// once, since the compiler makes other code of flags that are read in the loop.
struct Lines {
    uint64_t count;
    bool is_wide;
};

// A tile of a line, and the offsets of the line. Each thread has its own and calls the methods
// without synchronising.
template <class A> struct LineTile {
    uint64_t line;
    // The number of the tile in its line.
    uint32_t tile;
    Offsets<A::LEAF_COUNT + 1> base;

    // Computes the offsets of the line.
    __device__ __forceinline__ void enter(const typename A::Params &params, const Lines &lines) {
#pragma unroll
        for (int k = 0; k <= A::LEAF_COUNT; k++) base.of[k] = 0;
        add_place(base, params.lines.at, 0, int(params.line_rank), line, lines.is_wide);
    }
    // Goes on to the block's next tile; after the last one `line` is at least `lines.count`.
    __device__ __forceinline__ void advance(const typename A::Params &params, const Lines &lines) {
        if (++tile < params.tiles) return;
        tile = 0;
        line += gridDim.x;
        if (line < lines.count) enter(params, lines);
    }
};

// Starts the copies of the block's tile `number`, and goes on to the tile after it. Each thread
// calls it also when no tile is left, since its batches of copies are counted. It does not
// synchronise.
template <class E, int MODE, class P, class A, class StageBuffers>
__device__ __forceinline__ void start_loading_line(const typename A::Params &params,
                                                   const StageBuffers &staged, int number,
                                                   const Lines &lines, LineTile<A> &coming) {
    constexpr int VECTOR_SIZE = P::VECTOR_SIZE, VECTORS_PER_THREAD = P::VECTORS_PER_THREAD,
                  TILE = P::THREADS * VECTOR_SIZE * VECTORS_PER_THREAD;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (coming.line < lines.count) {
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            const int pack = (warp * VECTORS_PER_THREAD + u) * 32 + lane;
            const int64_t i = int64_t(coming.tile) * TILE + pack * VECTOR_SIZE;
            staged.template start_copies<A, MODE>(params, coming.base, number, pack, i,
                                                  int64_t(params.length));
        }
    }
    end_batch_of_copies();
    if (coming.line < lines.count) coming.advance(params, lines);
}

// Loads the thread's neighbouring values of tile `number` from shared memory, as states. Values
// after the end of the line are the identity. It needs the warp's copies and does not synchronise.
template <class E, class O, int MODE, class P, class A, class StageBuffers, int VALUES> __device__
__forceinline__ void
load_states(const typename A::Params &params, const StageBuffers &staged, int number,
            const LineTile<A> &at, typename O::State (&values)[VALUES]) {
    constexpr int VECTOR_SIZE = P::VECTOR_SIZE, VECTORS_PER_THREAD = P::VECTORS_PER_THREAD,
                  TILE = P::THREADS * VALUES;
    const int pack = int(threadIdx.x) * VECTORS_PER_THREAD;
    const int64_t first = int64_t(at.tile) * TILE + int64_t(threadIdx.x) * VALUES;
#pragma unroll
    for (int u = 0; u < VECTORS_PER_THREAD; u++) {
        const auto in = staged.template read<E, A, A::E_LEAVES, MODE>(
            params, at.base, number, pack + u, first + u * VECTOR_SIZE);
        const auto lifted = values_of<E, VECTOR_SIZE>(params.scalars.at + A::E_SCALARS,
                                                      params.extra.at + A::E_EXTRA, in);
#pragma unroll
        for (int k = 0; k < VECTOR_SIZE; k++) {
            values[u * VECTOR_SIZE + k] = first + u * VECTOR_SIZE + k < int64_t(params.length)
                                              ? O::make_state(lifted.lane[k])
                                              : O::to_partial(O::identity());
        }
    }
}

// Applies the epilogue to the states of a tile in shared memory, and stores the results. All lanes
// of a warp call it when the warp's states are there; it does not synchronise.
template <class M, class O, int MODE, class P, class States, class A>
__device__ __forceinline__ void store_line(const typename A::Params &params, const States &states,
                                           const LineTile<A> &at) {
    constexpr int VECTOR_SIZE = P::VECTOR_SIZE, VECTORS_PER_THREAD = P::VECTORS_PER_THREAD,
                  TILE = P::THREADS * VECTOR_SIZE * VECTORS_PER_THREAD;
    typedef typename O::State State;
    typedef typename FirstOf<decltype(O::finalize(O::to_partial(O::identity()), 0))>::type Result;
    typedef Epilogue<M, A, Result, VECTOR_SIZE, MODE> Last;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64_t length = int64_t(params.length);
#pragma unroll
    for (int u = 0; u < VECTORS_PER_THREAD; u++) {
        const int pack = (warp * VECTORS_PER_THREAD + u) * 32 + lane;
        const int64_t i = int64_t(at.tile) * TILE + pack * VECTOR_SIZE;
        if (i >= length) continue;
        const Pack<State, VECTOR_SIZE> of_pack = states.read(pack);
        Pack<Result, VECTOR_SIZE> results;
#pragma unroll
        for (int k = 0; k < VECTOR_SIZE; k++)
            results.lane[k] = get<0>(O::finalize(of_pack.lane[k], 0));
        const bool whole = i + VECTOR_SIZE <= length;
        const Pack<typename Last::Out, VECTOR_SIZE> &out = Last::of(params, results, i, whole);
        write<A, MODE>(params, out, at.base.of[0], i, length, whole);
    }
}

template <class E, class M, class O, int MODE, class P>
__global__ void __launch_bounds__(P::THREADS)
    scan_rows(const __grid_constant__ TileParams<E, Nothing, M> params) {
    constexpr int THREADS = P::THREADS, VECTOR_SIZE = P::VECTOR_SIZE,
                  VECTORS_PER_THREAD = P::VECTORS_PER_THREAD;
    typedef At<E, Nothing, M> A;
    constexpr int WARPS = THREADS / 32, VALUES = VECTOR_SIZE * VECTORS_PER_THREAD,
                  TILE = THREADS * VALUES;
    typedef typename O::State State;
    typedef RowBuffers<E, O, P> Staged;
    typedef TempStorage<State, 2 * WARPS> Shared;
    SHARED_DYNAMIC(uint4, dynamic);
    SHARED(Shared, storage, [1]);
    const Staged staged = {reinterpret_cast<unsigned char *>(dynamic)};
    State *sums = storage[0].states();
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const Lines lines = {params.count / params.length, params.is_wide != 0};

    LineTile<A> at = {blockIdx.x, 0, {}}, coming;
    at.enter(params, lines);
    coming = at;
    gpu::grid_dependency_wait();
    for (int number = 0; number < TILES_IN_FLIGHT; number++)
        start_loading_line<E, MODE, P>(params, staged, number, lines, coming);
    // The sum of the line's earlier tiles.
    State carry;
    for (int number = 0; at.line < lines.count; number++) {
        wait_for_copies<TILES_IN_FLIGHT - 1>();
        __syncwarp();
        State values[VALUES];
        load_states<E, O, MODE, P>(params, staged, number, at, values);

        // Scans the values of the thread, the lanes of the warp, and the warps of the block.
        State *of_warps = sums + (number & 1) * WARPS;
        const State earlier = Scan<O, THREADS, VALUES>::scan_warp(values, lane, warp, of_warps);
        __syncthreads();
        start_loading_line<E, MODE, P>(params, staged, number + TILES_IN_FLIGHT, lines, coming);
        const bool has_prefix = at.tile > 0 || warp > 0 || lane > 0;
        const State prefix =
            prefix_of_thread<O, WARPS>(of_warps, at.tile > 0, carry, lane > 0, earlier);
        if (has_prefix) add_prefix<O>(values, prefix);

        // The states go through shared memory, so that neighbouring lanes store neighbouring packs.
        const auto states = staged.states(number);
        put_states<O, MODE, VECTOR_SIZE, VECTORS_PER_THREAD>(states, values, prefix, has_prefix, 0,
                                                             int(threadIdx.x) * VECTORS_PER_THREAD);
        __syncwarp();
        store_line<M, O, MODE, P>(params, states, at);
        // The copies of a later tile overwrite this one.
        __syncwarp();
        at.advance(params, lines);
    }
    wait_for_copies<0>();
    gpu::trigger_dependents();
}

} // namespace gpu::algos::scan
