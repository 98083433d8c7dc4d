// Scans of many lines of contiguous values, in one launch. Each block has whole lines to itself,
// one after another, so no block waits for another.
//
// A tile is a part of a line. It comes into shared memory while earlier tiles are scanned
// (staged.cuh). A warp reads only packs that it copied itself: the only barrier is the one behind
// which each warp knows the sums of the others.
//
// Measured on an H200: both axes of an 8192^2 f32 array, see scan_column_strips.cuh.
//
// Contract: that of `scan_single_pass` (scan_single_pass.cuh) without F, with tiles of THREADS *
// VALUES, and with these differences. There is one scanned axis, along which all leaves are
// contiguous from an aligned pack on, in each line. M reads nothing in memory. The grid is at most
// the number of lines, with StageBuffers::ALL bytes of dynamic shared memory. Parameters: those of
// `scan_single_pass`, but `tiles` is the number of tiles of a line.
#pragma once
#include "staged.cuh"

namespace gpu {
namespace scan {

// Number of tiles in flight, and of these with the one in hand.
constexpr int COMING = 2, TILES_OF_BLOCK = COMING + 1;

template <class E, class M, class O, int MODE, class P>
__global__ void __launch_bounds__(P::THREADS)
    scan_rows(const __grid_constant__ TileParams<E, Nothing, M> params) {
    constexpr int THREADS = P::THREADS, VECTOR_SIZE = P::VECTOR_SIZE,
                  VECTORS_PER_THREAD = P::VECTORS_PER_THREAD;
    typedef At<E, Nothing, M> A;
    constexpr int WARPS = THREADS / 32, VALUES = VECTOR_SIZE * VECTORS_PER_THREAD,
                  TILE = THREADS * VALUES;
    typedef typename O::State State;
    typedef typename FirstOf<decltype(O::finalize(O::to_partial(O::identity()), 0))>::type Result;
    typedef Epilogue<M, A, Result, VECTOR_SIZE, MODE> Last;
    typedef StageBuffers<E, Nothing, State, TILE, TILES_OF_BLOCK, TILES_OF_BLOCK> Staged;
    typedef TempStorage<State, 2 * WARPS> Shared;
    SHARED_DYNAMIC(uint4, dynamic);
    SHARED(Shared, room, [1]);
    const Staged staged = {reinterpret_cast<unsigned char *>(dynamic)};
    State *sums = reinterpret_cast<State *>(room[0].bytes);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64_t length = int64_t(params.length);
    const uint64_t lines = params.count / params.length;
    const uint32_t pieces = params.tiles;
    const bool wide = params.is_wide;

    // A tile: its line, its number in the line, and the offsets of the line.
    struct Where {
        uint64_t line;
        uint32_t piece;
        Offsets<A::LEAF_COUNT + 1> base;
    };
    auto enter = [&](Where &at) {
#pragma unroll
        for (int k = 0; k <= A::LEAF_COUNT; k++) at.base.of[k] = 0;
        add_place(at.base, params.lines.at, 0, int(params.line_rank), at.line, wide);
    };
    auto go_on = [&](Where &at) {
        if (++at.piece < pieces) return;
        at.piece = 0;
        at.line += gridDim.x;
        if (at.line < lines) enter(at);
    };
    auto start_loading = [&](const Where &at, int number) {
        if (at.line < lines) {
#pragma unroll
            for (int u = 0; u < VECTORS_PER_THREAD; u++) {
                const int pack = (warp * VECTORS_PER_THREAD + u) * 32 + lane;
                const int64_t i = int64_t(at.piece) * TILE + pack * VECTOR_SIZE;
                start_copies<0, E, Nothing, A, MODE, VECTOR_SIZE, VECTORS_PER_THREAD>(
                    params, at.base, staged, number, pack, i, length);
            }
        }
        end_batch_of_copies();
    };

    Where at = {blockIdx.x, 0, {}}, coming;
    enter(at);
    coming = at;
    gpu::grid_dependency_wait();
    for (int number = 0; number < COMING; number++) {
        start_loading(coming, number);
        if (coming.line < lines) go_on(coming);
    }
    // The sum of the line's earlier tiles.
    State carry;
    for (int number = 0; at.line < lines; number++) {
        wait_for_copies<COMING - 1>();
        __syncwarp();
        State values[VALUES];
        const int pack = int(threadIdx.x) * VECTORS_PER_THREAD;
        const int64_t start = int64_t(at.piece) * TILE,
                      first = start + int64_t(threadIdx.x) * VALUES;
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            const auto in =
                read_staged<E, E, Nothing, A, A::E_LEAVES, MODE, VECTOR_SIZE, VECTORS_PER_THREAD>(
                    params, at.base, staged, number, pack + u, first + u * VECTOR_SIZE);
            const auto lifted = values_of<E, VECTOR_SIZE>(params.scalars.at + A::E_SCALARS,
                                                          params.extra.at + A::E_EXTRA, in);
#pragma unroll
            for (int k = 0; k < VECTOR_SIZE; k++) {
                values[u * VECTOR_SIZE + k] = first + u * VECTOR_SIZE + k < length
                                                  ? O::make_state(lifted.lane[k])
                                                  : O::to_partial(O::identity());
            }
        }
        scan_thread<O>(values, 0);
        const State sum = scan_lanes<O>(values[VALUES - 1], -1), earlier = shuffled_up(sum, 1);
        State *of_warps = sums + (number & 1) * WARPS;
        if (lane == 31) of_warps[warp] = sum;
        __syncthreads();
        start_loading(coming, number + COMING);
        if (coming.line < lines) go_on(coming);

        // The prefix of the warp, and that of the next tile.
        State base = carry, all = of_warps[0];
        if (at.piece > 0) all = O::combine(carry, all);
        bool has_base = at.piece > 0;
        if (warp > 0) base = all;
#pragma unroll
        for (int k = 1; k < WARPS; k++) {
            all = O::combine(all, of_warps[k]);
            if (k < warp) base = all;
        }
        carry = all;
        has_base = has_base || warp > 0;
        if (lane > 0) base = has_base ? O::combine(base, earlier) : earlier;
        has_base = has_base || lane > 0;
        if (has_base) join_base<O>(values, base, 0);
        State *states = staged.states(number);
        put_states<O, MODE, VECTOR_SIZE, VECTORS_PER_THREAD>(states, values, base, has_base, 0,
                                                             pack);
        __syncwarp();
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            const int pack = (warp * VECTORS_PER_THREAD + u) * 32 + lane;
            const int64_t i = start + pack * VECTOR_SIZE;
            if (i >= length) continue;
            const Pack<State, VECTOR_SIZE> of_pack = load_pack<State, VECTOR_SIZE>(
                states + placed<VECTORS_PER_THREAD>(pack) * VECTOR_SIZE);
            Pack<Result, VECTOR_SIZE> results;
#pragma unroll
            for (int k = 0; k < VECTOR_SIZE; k++)
                results.lane[k] = get<0>(O::finalize(of_pack.lane[k], 0));
            const Pack<typename Last::Out, VECTOR_SIZE> &out =
                Last::of(params, results, i, i + VECTOR_SIZE <= length);
            write_staged<A, MODE>(params, out, at.base.of[0], i, length);
        }
        // The copies of a later tile overwrite this one.
        __syncwarp();
        go_on(at);
    }
    wait_for_copies<0>();
    gpu::trigger_dependents();
}

} // namespace scan
} // namespace gpu
