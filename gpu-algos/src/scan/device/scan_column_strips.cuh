// Scans down the columns of wide arrays, in one launch. Each block goes down a strip of columns of
// its own, so no block waits for another.
//
// A strip is LANES packs wide, so that a row of it is some whole lines of memory. A walker is a run
// of neighbouring threads, one for each lane, and has VECTORS_PER_THREAD neighbouring rows of a
// tile. Tiles come into shared memory while earlier ones are scanned. Each thread reads only its
// own copies, so the only barrier is the one behind which each walker knows the sums of the others.
//
// Measured on an H200, 8192^2 f32 in a prototype: 141 us down and 145 us along (scan_rows.cuh), of
// which a copy takes 132; strips of 128 bytes 156 us, of 64 185.
//
// Contract: that of `scan_columns` (scan_columns.cuh), with these differences. Packs of all leaves
// of E and of the target are aligned in every row. M reads nothing in memory. The grid has one
// block for each LANES packs. Dynamic shared memory holds the packs of COMING tiles. Parameters:
// those of `scan_columns`.
#pragma once
#include "scan_rows.cuh"
#include "scan_columns.cuh"

namespace gpu {
namespace scan {

template <class E, class M, class O, int MODE, class P>
__global__ void __launch_bounds__(P::THREADS)
    scan_column_strips(const __grid_constant__ TileParams<E, Nothing, M> params) {
    constexpr int THREADS = P::THREADS, VECTOR_SIZE = P::VECTOR_SIZE,
                  VECTORS_PER_THREAD = P::VECTORS_PER_THREAD;
    constexpr int LANES = P::LANES;
    typedef At<E, Nothing, M> A;
    typedef typename O::State S;
    typedef typename FirstOf<decltype(O::finalize(O::to_partial(O::identity()), 0))>::type Result;
    typedef BehindRow<M, A, Result, VECTOR_SIZE> Last;
    constexpr int WARPS = THREADS / 32, WALKERS_OF_WARP = 32 / LANES, WALKERS = THREADS / LANES,
                  PACKS_OF_TILE = THREADS * VECTORS_PER_THREAD;
    typedef StageBuffers<E, Nothing, uint8_t, PACKS_OF_TILE * VECTOR_SIZE, COMING, COMING> Staged;
    typedef TempStorage<S, 2 * WARPS * LANES * VECTOR_SIZE> Shared;
    SHARED_DYNAMIC(uint4, dynamic);
    SHARED(Shared, room, [1]);
    const Staged staged = {reinterpret_cast<unsigned char *>(dynamic)};
    const auto &columns_axis = params.lines[0];
    const auto &row_steps = params.scanned[0].strides;
    const int lane = threadIdx.x % LANES, warp = threadIdx.x / 32,
              walker = threadIdx.x % 32 / LANES;
    const int64_t rows = int64_t(params.count);

    // The columns of this thread.
    const uint64_t pack = uint64_t(blockIdx.x) * LANES + lane,
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

    const int64_t tiles =
        (rows + WALKERS * VECTORS_PER_THREAD - 1) / (WALKERS * VECTORS_PER_THREAD);
    auto row_of = [&](int64_t tile) {
        return (tile * WALKERS + warp * WALKERS_OF_WARP + walker) * VECTORS_PER_THREAD;
    };
    auto start_loading = [&](int64_t tile) {
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            const int64_t row = row_of(tile) + u;
            Offsets<A::LEAF_COUNT + 1> at = base;
#pragma unroll
            for (int k = 0; k <= A::LEAF_COUNT; k++) at.of[k] += row * row_steps[k];
            // The copy stops behind the pack's last column that exists.
            const int64_t columns = exists && row < rows ? last + 1 : 0;
            start_copies<0, E, Nothing, A, 0, VECTOR_SIZE, 1>(
                params, at, staged, int(tile % COMING), u * THREADS + int(threadIdx.x), 0, columns);
        }
        end_batch_of_copies();
    };

    gpu::grid_dependency_wait();
    // The sum of all rows of the earlier tiles.
    S carry[VECTOR_SIZE];
    start_loading(0);
    for (int64_t tile = 0; tile < tiles; tile++) {
        wait_for_copies<0>();
        const int64_t first = row_of(tile);
        S values[VECTORS_PER_THREAD][VECTOR_SIZE];
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            const bool here = exists && first + u < rows;
            Offsets<A::LEAF_COUNT + 1> at = base;
#pragma unroll
            for (int k = 0; k <= A::LEAF_COUNT; k++) at.of[k] += (first + u) * row_steps[k];
            typename Wide<VECTOR_SIZE, typename E::Leaves>::type in;
            each(in, [&](auto k, auto &values) {
                constexpr int K = decltype(k)::value;
                typedef typename LeafOf<K, E, Nothing>::type T;
                if constexpr (same<T, Index>::value) {
                    load_whole(values, params.leaves[K].address, at.of[1 + K],
                               columns_axis.strides[1 + K]);
                } else {
                    const auto stored = load_pack<typename Stored<T>::type, VECTOR_SIZE>(
                        staged.template leaf<K>(int(tile % COMING)) +
                        (u * THREADS + int(threadIdx.x)) * VECTOR_SIZE);
#pragma unroll
                    for (int k = 0; k < VECTOR_SIZE; k++)
                        values.lane[k] = from_stored<T>(stored.lane[k]);
                }
            });
            const auto lifted = values_of<E, VECTOR_SIZE>(params.scalars.at + A::E_SCALARS,
                                                          params.extra.at + A::E_EXTRA, in);
#pragma unroll
            for (int k = 0; k < VECTOR_SIZE; k++) {
                const S one = here && k <= last ? O::make_state(lifted.lane[k])
                                                : O::to_partial(O::identity());
                values[u][k] = u > 0 ? O::combine(values[u > 0 ? u - 1 : 0][k], one) : one;
            }
        }
        start_loading(tile + 1);

        // Prefixes over the walkers of the warp, over the warps, and over the tiles before.
        S earlier[VECTOR_SIZE];
        S *of_warps =
            reinterpret_cast<S *>(room[0].bytes) + (tile % 2) * WARPS * LANES * VECTOR_SIZE;
#pragma unroll
        for (int k = 0; k < VECTOR_SIZE; k++) {
            S sum = values[VECTORS_PER_THREAD - 1][k];
#pragma unroll
            for (int distance = 1; distance < WALKERS_OF_WARP; distance *= 2) {
                const S other = shuffled_up(sum, distance * LANES);
                if (walker >= distance) sum = O::combine(other, sum);
            }
            if (WALKERS_OF_WARP > 1) earlier[k] = shuffled_up(sum, LANES % 32);
            if (walker == WALKERS_OF_WARP - 1)
                of_warps[(warp * LANES + lane) * VECTOR_SIZE + k] = sum;
        }
        __syncthreads();
        const bool has_base = tile > 0 || warp > 0 || walker > 0;
#pragma unroll
        for (int k = 0; k < VECTOR_SIZE; k++) {
            S all = of_warps[lane * VECTOR_SIZE + k], from = carry[k];
            if (tile > 0) all = O::combine(carry[k], all);
            if (warp > 0) from = all;
#pragma unroll
            for (int w = 1; w < WARPS; w++) {
                all = O::combine(all, of_warps[(w * LANES + lane) * VECTOR_SIZE + k]);
                if (w < warp) from = all;
            }
            carry[k] = all;
            if (walker > 0) from = tile > 0 || warp > 0 ? O::combine(from, earlier[k]) : earlier[k];
            earlier[k] = from;
        }
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
                        state = has_base ? earlier[k] : O::to_partial(O::identity());
                    } else {
                        const S &before = values[u > 0 ? u - 1 : 0][k];
                        state = has_base ? O::combine(earlier[k], before) : before;
                    }
                } else {
                    state = has_base ? O::combine(earlier[k], values[u][k]) : values[u][k];
                }
                results.lane[k] = get<0>(O::finalize(state, 0));
            }
            const Pack<typename Last::Out, VECTOR_SIZE> &out =
                Last::of(params, results, base, row, last);
            const int64_t offset = base.of[0] + row * row_steps[0];
            store<true>(out, params.target, params.is_target_packed != 0, offset,
                        columns_axis.strides[0], 0, last);
        }
    }
    gpu::trigger_dependents();
}

} // namespace scan
} // namespace gpu
