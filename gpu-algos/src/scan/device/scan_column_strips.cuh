// Scans down the columns of wide arrays, in one launch. Each block goes down a strip of columns of
// its own, so no block waits for another.
//
// A strip is LANES packs wide, so that a row of it is some whole lines of memory. A walker is a run
// of neighbouring threads, one for each lane, and has VECTORS_PER_THREAD neighbouring rows of a
// tile. Tiles come into shared memory while earlier ones are scanned. Each thread reads only its
// own copies, so the only barrier is the one after which each walker knows the sums of the others.
//
// Contract: that of `scan_columns` (scan_columns.cuh), with these differences. Packs of all leaves
// of E and of the target are aligned in every row. M reads nothing in memory. The grid has one
// block for each LANES packs. Dynamic shared memory holds the packs of TILES_IN_FLIGHT tiles.
// Parameters: those of `scan_columns`.
#pragma once
#include "scan_columns.cuh"
#include "staged.cuh"

namespace gpu::algos::scan {

// Offsets of a row of the thread's columns.
template <class A, int VECTOR_SIZE> __device__ __forceinline__ Offsets<A::LEAF_COUNT + 1>
offsets_of_row(const typename A::Params &params, const ColumnPack<A, VECTOR_SIZE> &columns,
               int64_t row) {
    Offsets<A::LEAF_COUNT + 1> at = columns.base;
#pragma unroll
    for (int k = 0; k <= A::LEAF_COUNT; k++) at.of[k] += row * params.scanned[0].strides[k];
    return at;
}

// Starts the copies of a thread's rows of a tile, from row `first` on, into buffer `number`. Each
// thread calls it, also without a row, since its batches of copies are counted. It does not
// synchronise.
template <class E, class P, class A, int VECTOR_SIZE, class StageBuffers> __device__
__forceinline__ void
start_loading_rows(const typename A::Params &params, const ColumnPack<A, VECTOR_SIZE> &columns,
                   const StageBuffers &staged, int number, int64_t first) {
#pragma unroll
    for (int u = 0; u < P::VECTORS_PER_THREAD; u++) {
        const int64_t row = first + u;
        // The copy stops after the pack's last column that exists.
        const int64_t count = columns.exists && row < columns.rows ? columns.last + 1 : 0;
        staged.template start_copies<A, 0>(params, offsets_of_row(params, columns, row), number,
                                           u * P::THREADS + int(threadIdx.x), 0, count);
    }
    end_batch_of_copies();
}

// Loads a row of E's leaves from pack `pack` of buffer `number`, which the thread has copied
// itself. Each thread calls it after its wait for the copies; it does not synchronise.
template <class E, class A, int VECTOR_SIZE, class StageBuffers> __device__ __forceinline__
typename Wide<VECTOR_SIZE, typename E::Leaves>::type
load_staged_row(const typename A::Params &params, const ColumnPack<A, VECTOR_SIZE> &columns,
                const StageBuffers &staged, int number, int pack, int64_t row) {
    const Offsets<A::LEAF_COUNT + 1> at = offsets_of_row(params, columns, row);
    typename Wide<VECTOR_SIZE, typename E::Leaves>::type in;
    each(in, [&](auto k, auto &values) {
        constexpr int K = decltype(k)::value;
        typedef typename LeafOf<K, E, Nothing>::type T;
        if constexpr (same<T, Index>::value) {
            load_whole(values, params.leaves[K].address, at.of[1 + K],
                       params.lines[0].strides[1 + K]);
        } else {
            const auto stored = staged.template leaf<K>(number).read(pack);
#pragma unroll
            for (int k = 0; k < VECTOR_SIZE; k++) values.lane[k] = from_stored<T>(stored.lane[k]);
        }
    });
    return in;
}

// Scans the sums of a warp's walkers, of LANES lanes each: the sums of the walkers before in
// `earlier`, and those of the warp in `of_warps`. All lanes of a warp call it. It shuffles, and the
// caller needs a barrier before it reads `of_warps`.
template <class O, int LANES, int VECTOR_SIZE>
__device__ __forceinline__ void scan_walkers(const typename O::State (&sums)[VECTOR_SIZE],
                                             typename O::State *of_warps,
                                             typename O::State (&earlier)[VECTOR_SIZE]) {
    typedef typename O::State S;
    constexpr int WALKERS_OF_WARP = 32 / LANES;
    const int lane = threadIdx.x % LANES, warp = threadIdx.x / 32,
              walker = threadIdx.x % 32 / LANES;
#pragma unroll
    for (int k = 0; k < VECTOR_SIZE; k++) {
        S sum = sums[k];
#pragma unroll
        for (int distance = 1; distance < WALKERS_OF_WARP; distance *= 2) {
            const S other = shuffled_up(sum, distance * LANES);
            if (walker >= distance) sum = O::combine(other, sum);
        }
        if (WALKERS_OF_WARP > 1) earlier[k] = shuffled_up(sum, LANES % 32);
        if (walker == WALKERS_OF_WARP - 1) of_warps[(warp * LANES + lane) * VECTOR_SIZE + k] = sum;
    }
}

// The shared memory of a block's tiles, as the host passes it. Vectors stand in their order: a
// thread reads those that it copied, one at a time.
template <class P> using StripTile = Policy<P::THREADS * P::VECTORS_PER_THREAD, P::VECTOR_SIZE, 1>;
template <class E, class P> using StripBuffers =
    StageBuffers<E, Nothing, uint8_t, StripTile<P>, TILES_IN_FLIGHT, TILES_IN_FLIGHT>;

template <class E, class M, class O, int MODE, class P>
__global__ void __launch_bounds__(P::THREADS)
    scan_column_strips(const __grid_constant__ TileParams<E, Nothing, M> params) {
    constexpr int THREADS = P::THREADS, VECTOR_SIZE = P::VECTOR_SIZE,
                  VECTORS_PER_THREAD = P::VECTORS_PER_THREAD, LANES = P::LANES;
    typedef At<E, Nothing, M> A;
    typedef typename O::State S;
    typedef typename FirstOf<decltype(O::finalize(O::to_partial(O::identity()), 0))>::type Result;
    constexpr int WARPS = THREADS / 32, WALKERS_OF_WARP = 32 / LANES, WALKERS = THREADS / LANES,
                  STATES_OF_WARP = LANES * VECTOR_SIZE;
    typedef StripBuffers<E, P> Staged;
    typedef TempStorage<S, 2 * WARPS * STATES_OF_WARP> Shared;
    static_assert(sizeof(Shared) <= STRIP_STATES_BYTES, "the host leaves room for them");
    SHARED_DYNAMIC(uint4, dynamic);
    SHARED(Shared, storage, [1]);
    const Staged staged = {reinterpret_cast<unsigned char *>(dynamic)};
    const int lane = threadIdx.x % LANES, warp = threadIdx.x / 32,
              walker = threadIdx.x % 32 / LANES;
    const ColumnPack<A, VECTOR_SIZE> columns(params, uint64_t(blockIdx.x) * LANES + lane);
    const bool exists = columns.exists;
    const int64_t rows = columns.rows;
    const int64_t tiles =
        (rows + WALKERS * VECTORS_PER_THREAD - 1) / (WALKERS * VECTORS_PER_THREAD);
    auto row_of = [&](int64_t tile) {
        return (tile * WALKERS + warp * WALKERS_OF_WARP + walker) * VECTORS_PER_THREAD;
    };

    auto start_loading = [&](int64_t tile) {
        start_loading_rows<E, P>(params, columns, staged, int(tile % TILES_IN_FLIGHT),
                                 row_of(tile));
    };

    gpu::grid_dependency_wait();
    // The sum of all rows of the earlier tiles.
    S carry[VECTOR_SIZE];
    start_loading(0);
    for (int64_t tile = 0; tile < tiles; tile++) {
        wait_for_copies<0>();
        const int number = int(tile % TILES_IN_FLIGHT);
        const int64_t first = row_of(tile);
        S values[VECTORS_PER_THREAD][VECTOR_SIZE];
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            const bool has_row = exists && first + u < rows;
            const auto in = load_staged_row<E>(params, columns, staged, number,
                                               u * THREADS + int(threadIdx.x), first + u);
            const auto lifted = values_of<E, VECTOR_SIZE>(params.scalars.at + A::E_SCALARS,
                                                          params.extra.at + A::E_EXTRA, in);
            const auto states = states_of_row<O>(lifted, has_row, columns.last);
#pragma unroll
            for (int k = 0; k < VECTOR_SIZE; k++)
                values[u][k] = u > 0 ? O::combine(values[u > 0 ? u - 1 : 0][k], states.lane[k])
                                     : states.lane[k];
        }
        start_loading(tile + 1);

        // Scans the walkers of the warp, then the warps of the block.
        S *of_warps = storage[0].states() + (tile % 2) * WARPS * STATES_OF_WARP;
        S prefix[VECTOR_SIZE];
        scan_walkers<O, LANES>(values[VECTORS_PER_THREAD - 1], of_warps, prefix);
        __syncthreads();
        const bool has_prefix = tile > 0 || warp > 0 || walker > 0;
#pragma unroll
        for (int k = 0; k < VECTOR_SIZE; k++) {
            prefix[k] = prefix_of_thread<O, WARPS, STATES_OF_WARP>(
                of_warps + lane * VECTOR_SIZE + k, tile > 0, carry[k], walker > 0, prefix[k]);
        }
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            const int64_t row = first + u;
            if (!exists || row >= rows) continue;
            Pack<Result, VECTOR_SIZE> results;
#pragma unroll
            for (int k = 0; k < VECTOR_SIZE; k++) {
                const S state = join_prefix<O, MODE>(has_prefix, prefix[k], u == 0,
                                                     values[u > 0 ? u - 1 : 0][k], values[u][k]);
                results.lane[k] = get<0>(O::finalize(state, 0));
            }
            store_row<M>(params, columns, row, results);
        }
    }
    gpu::trigger_dependents();
}

} // namespace gpu::algos::scan
