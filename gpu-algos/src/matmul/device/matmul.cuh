// Products of matrices, c = alpha a b + beta c, for all matrices of a stack in one launch.
//
// A block computes a tile of BLOCK_M rows and BLOCK_N columns of one c. It walks along k, the
// columns of a and the rows of b, in steps of BLOCK_K. Tiles of a and b are copied into shared
// memory while earlier ones are multiplied, STAGES in all (operand_tile.cuh). A thread keeps
// THREAD_M * THREAD_N sums in registers, and reads the fragment that it multiplies next while it
// multiplies the one before, across tiles too (multiply.cuh). The copies of the next tile are begun
// between these steps, without branches, so that they take the place of no multiplication.
//
// If there are too few tiles for the device, several blocks share one: each sums a part of k and
// leaves its sums in scratch memory. The block that arrives last adds them in the order of k. So
// the order of additions depends on the shape of the launch, and on nothing else.
//
// With FusedParams (fused_epilogue.cuh) the results are those of an expression of a b and arrays,
// with ListedParams (listed.cuh) the matrices lie anywhere.
//
// Contract: grid `splits` * `tiles_m` * `tiles_n` * matrices of the stack, block Sums::THREADS,
// dynamic shared memory STAGES * (ATile::SIZE + BTile::SIZE) elements. Strides are in elements and
// may be negative or 0; those of c lead to each element once. A load of PACKS needs an outer stride
// of 1, and whole, aligned packs of 16 bytes everywhere; PACKS_ALONG_K needs the same along k. With
// `splits` > 1 there are at most COUNTER_BYTES / 4 tiles, and scratch is as `Stream::with_scratch`
// gives it, with BLOCK_M * BLOCK_N sums for each block. Bytes moved: a once for each column of
// tiles, b once for each row of tiles, less the reads that the caches serve; c once. Parameters:
// MatmulParams (params.rs).
//
// Sources: tiles in registers and shared memory after Volkov and Demmel, Benchmarking GPUs to Tune
// Dense Linear Algebra, 2008; places of the threads of a warp after Gray's SGEMM (maxas); fragments
// that are read ahead, and parts of k, after CUTLASS (NVIDIA).
#pragma once
#include "epilogue.cuh"
#include "multiply.cuh"

namespace gpu::algos::matmul {

// Rows of tiles whose blocks run side by side, so that they find the same columns of b in L2.
constexpr uint32_t RASTER_ROWS = 8;

// The tile of a block, the work of a thread, and the units that multiply.
template <int M, int N, int K, int ROWS, int COLUMNS, int STAGES_, int RESIDENT_, uint32_t UNIT_>
struct MatmulTile {
    static constexpr int BLOCK_M = M, BLOCK_N = N, BLOCK_K = K;
    static constexpr int THREAD_M = ROWS, THREAD_N = COLUMNS, STAGES = STAGES_;
    static constexpr int RESIDENT = RESIDENT_; // blocks of a multiprocessor
    static constexpr uint32_t UNIT = UNIT_;
};

// The offsets of the elements of c, a and b of a matrix of the stack, which there is: along the
// last axis nothing needs to be divided.
template <class Params> __device__ __forceinline__ void
offsets_in_stack(const Params &params, uint32_t matrix, int64_t (&offsets)[3]) {
    for (int k = 0; k < 3; k++) offsets[k] = 0;
    for (uint32_t d = 0; d < params.batch_rank; d++) {
        const auto &axis = params.batch[d];
        uint32_t at = matrix;
        if (d + 1 < params.batch_rank)
            matrix = at / uint32_t(axis.length), at -= matrix * uint32_t(axis.length);
        for (int k = 0; k < 3; k++) offsets[k] += int64_t(at) * axis.strides[k];
    }
}

// The part of the problem that a block has.
struct BlockPart {
    uint32_t split; // number among the blocks of a tile
    uint32_t tile;  // number among the tiles of all matrices
    int64_t row, column;
    int64_t offsets[3]; // of c, a and b in the stack

    // Part number `block` of all, where each tile has `splits` blocks.
    template <class Params> __device__ __forceinline__
    BlockPart(const Params &params, uint32_t block, int block_m, int block_n)
        // Nothing is divided where there is nothing to divide: a division takes about 100 cycles.
        : BlockPart(params, params.splits > 1 ? block % params.splits : 0,
                    params.splits > 1 ? block / params.splits : block, block_m, block_n) {}

    template <class Params> __device__ __forceinline__
    BlockPart(const Params &params, uint32_t split, uint32_t tile, int block_m, int block_n)
        : split(split), tile(tile) {
        uint32_t matrix = 0, in_matrix = tile;
        if (params.batch_rank > 0) {
            const uint32_t tiles = params.tiles_m * params.tiles_n;
            matrix = tile / tiles, in_matrix = tile % tiles;
        }
        // No more than `tiles`, which are fewer than 2^31.
        const uint32_t group = min(params.tiles_m, RASTER_ROWS) * params.tiles_n;
        const uint32_t in_group = in_matrix % group;
        const uint32_t first = in_matrix / group * RASTER_ROWS;
        const uint32_t rows = min(params.tiles_m - first, RASTER_ROWS);
        row = int64_t(first + in_group % rows) * block_m;
        column = int64_t(in_group / rows) * block_n;
        offsets_in_stack(params, matrix, offsets);
    }
};

// The units of a tile whose threads copy.
template <class T, class Tile> using CopyingUnit =
    typename UnitOf<Tile::UNIT == TENSOR_CORES, T, Tile::BLOCK_N, Tile::THREAD_M,
                    Tile::THREAD_N>::Unit;

// By all threads of a block that shares its tile with others, after its sums were stored. Returns
// whether it is the last of the tile to arrive. It then sees the sums of all.
template <class Meet> __device__ __forceinline__ bool
is_last_block(uint32_t *counter, uint32_t splits, bool &is_last, const Meet &meet) {
    meet(0);
    if (threadIdx.x == 0) arrive(counter, splits, is_last);
    meet(1);
    return is_last;
}

// The sums of a thread, and their rows and columns in the tile of the block.
template <class T, class Tile, class Unit_ = CopyingUnit<T, Tile>> struct Sums {
    typedef Unit_ Unit;
    static constexpr int VECTOR_SIZE = 16 / int(sizeof(T));
    static constexpr uint64_t AREA = uint64_t(Tile::BLOCK_M) * Tile::BLOCK_N;
    static constexpr int WARP_M = Unit::WARP_ROWS * Tile::THREAD_M;
    static constexpr int WARP_N = Unit::WARP_COLUMNS * Tile::THREAD_N;
    static constexpr int WARPS_N = Tile::BLOCK_N / WARP_N;
    static constexpr int THREADS = 32 * WARPS_N * (Tile::BLOCK_M / WARP_M);
    static_assert(Tile::BLOCK_M % WARP_M == 0 && Tile::BLOCK_N % WARP_N == 0, "whole warps");

    T at[Tile::THREAD_M][Tile::THREAD_N];
    int warp_row, warp_column, first_row, first_column;

    __device__ __forceinline__ Sums() {
        const int warp = threadIdx.x / 32;
        warp_row = warp / WARPS_N * WARP_M, warp_column = warp % WARPS_N * WARP_N;
        first_row = warp_row + Unit::lane_row(), first_column = warp_column + Unit::lane_column();
#pragma unroll
        for (int i = 0; i < Tile::THREAD_M; i++) {
#pragma unroll
            for (int j = 0; j < Tile::THREAD_N; j++) at[i][j] = T(0);
        }
    }
    static __device__ __forceinline__ constexpr int row(int i) { return Unit::row(i); }
    static __device__ __forceinline__ constexpr int column(int j) { return Unit::column(j); }

    // Stores alpha * sum + beta * c for row `i` of this thread, as far as it exists. c is not read
    // if beta is 0.
    template <class Params> __device__ __forceinline__ void
    store_row(const Params &params, const BlockPart &part, int i, const T (&sums)[Tile::THREAD_N]) {
        const int64_t r = part.row + first_row + row(i);
        if (r >= int64_t(params.m)) return;
        const int64_t first = part.column + first_column, columns = int64_t(params.n) - first;
        T *c = reinterpret_cast<T *>(params.c) + part.offsets[0] + r * params.c_row +
               first * params.c_column;
#pragma unroll
        for (int j = 0; j < Tile::THREAD_N; j += VECTOR_SIZE) {
            const int64_t left = columns - column(j);
            store_part<T, VECTOR_SIZE>(params, c + column(j) * params.c_column,
                                       left < VECTOR_SIZE ? int(left) : VECTOR_SIZE, sums + j);
        }
    }

    // Stores the values that an epilogue makes of ROWS rows from row `i` on, after all leaves of
    // these have been loaded: between loads and stores that may be of one array there is no order
    // but that of the program. A tile that IS_WHOLE lies in c, whose packs are stored at once.
    template <int ROWS, bool IS_WHOLE, class Params, class Epilogue>
    __device__ __forceinline__ void store_applied(const Params &params, const BlockPart &part,
                                                  const Epilogue &epilogue, int i,
                                                  const T (*sums)[Tile::THREAD_N]) {
        constexpr int PACKS = Tile::THREAD_N / VECTOR_SIZE;
        typename Epilogue::template LeafPacks<VECTOR_SIZE> leaves[ROWS][PACKS];
        const int64_t m = int64_t(params.m), n = int64_t(params.n);
        const Factors<T> factors(params);
#pragma unroll
        for (int at = 0; at < ROWS * PACKS; at++) {
            const int64_t r = part.row + first_row + row(i + at / PACKS);
            const int64_t first = part.column + first_column + column(at % PACKS * VECTOR_SIZE);
            if (IS_WHOLE || (r < m && first < n))
                epilogue.template load_leaves<VECTOR_SIZE>(leaves[at / PACKS][at % PACKS], r, first,
                                                           IS_WHOLE ? VECTOR_SIZE : n - first);
        }
#pragma unroll
        for (int at = 0; at < ROWS * PACKS; at++) {
            const int64_t r = part.row + first_row + row(i + at / PACKS);
            const int64_t first = part.column + first_column + column(at % PACKS * VECTOR_SIZE);
            if (!IS_WHOLE && (r >= m || first >= n)) continue;
            T products[VECTOR_SIZE];
#pragma unroll
            for (int lane = 0; lane < VECTOR_SIZE; lane++)
                products[lane] = factors.scaled(sums[at / PACKS][at % PACKS * VECTOR_SIZE + lane]);
            const Pack<T, VECTOR_SIZE> values =
                epilogue.template applied<VECTOR_SIZE>(leaves[at / PACKS][at % PACKS], products);
            T *c = reinterpret_cast<T *>(params.c) + part.offsets[0] + r * params.c_row +
                   first * params.c_column;
            if constexpr (IS_WHOLE)
                store_pack<StoreMode::WHOLE>(c, values);
            else
                store_values<T, VECTOR_SIZE>(params, c, n - first, values);
        }
    }

    template <class Params>
    __device__ __forceinline__ void store(const Params &params, const BlockPart &part) {
        typedef typename EpilogueOf<Params>::type Epilogue;
        if constexpr (Epilogue::IS_FUSED) {
            const Epilogue epilogue(params, part.tile);
            if (params.is_c_packed && part.row + Tile::BLOCK_M <= int64_t(params.m) &&
                part.column + Tile::BLOCK_N <= int64_t(params.n)) {
                store_all_applied<true>(params, part, epilogue);
            } else {
                store_all_applied<false>(params, part, epilogue);
            }
        } else {
#pragma unroll
            for (int i = 0; i < Tile::THREAD_M; i++) store_row(params, part, i, at[i]);
        }
    }

    template <bool IS_WHOLE, class Params, class Epilogue> __device__ __forceinline__ void
    store_all_applied(const Params &params, const BlockPart &part, const Epilogue &epilogue) {
        constexpr int FITTING = Epilogue::PACKS_AT_ONCE * VECTOR_SIZE / Tile::THREAD_N;
        constexpr int MOST = FITTING < Tile::THREAD_M ? FITTING : Tile::THREAD_M;
        constexpr int ROWS = IS_WHOLE && MOST > 1 ? MOST : 1;
#pragma unroll
        for (int i = 0; i < Tile::THREAD_M; i += ROWS)
            store_applied<ROWS, IS_WHOLE>(params, part, epilogue, i, at + i);
    }

    // Leaves the sums of a block of several in scratch memory, one value of each thread side by
    // side.
    __device__ __forceinline__ void leave(T *partials, uint32_t split) const {
        T *mine = partials + uint64_t(split) * AREA + threadIdx.x;
#pragma unroll
        for (int i = 0; i < Tile::THREAD_M; i++) {
#pragma unroll
            for (int j = 0; j < Tile::THREAD_N; j++)
                mine[(i * Tile::THREAD_N + j) * THREADS] = at[i][j];
        }
    }

    // Adds the sums of all `splits` blocks of the tile in the order of k, and stores the results.
    // They pass through registers a few rows at a time: with one, a thread waits for each of its
    // rows, and with all the kernel spilled.
    template <class Params>
    __device__ __forceinline__ void store_combined(const Params &params, const BlockPart &part,
                                                   uint32_t splits, const T *partials) {
        typedef typename EpilogueOf<Params>::type Epilogue;
        constexpr int FITTING = 128 / (Tile::THREAD_N * int(sizeof(T)));
        constexpr int MOST = FITTING < Tile::THREAD_M ? FITTING : Tile::THREAD_M;
        constexpr int ROWS = MOST > 1 ? MOST : 1;
        static_assert(Tile::THREAD_M % ROWS == 0, "whole groups of rows");
        const Epilogue epilogue(params, part.tile);
#pragma unroll 1
        for (int i = 0; i < Tile::THREAD_M; i += ROWS) {
            const T *theirs = partials + i * Tile::THREAD_N * THREADS + threadIdx.x;
            T all[ROWS][Tile::THREAD_N];
#pragma unroll
            for (int at = 0; at < ROWS * Tile::THREAD_N; at++)
                all[at / Tile::THREAD_N][at % Tile::THREAD_N] = theirs[at * THREADS];
#pragma unroll 1
            for (uint32_t split = 1; split < splits; split++) {
                theirs += AREA;
#pragma unroll
                for (int at = 0; at < ROWS * Tile::THREAD_N; at++)
                    all[at / Tile::THREAD_N][at % Tile::THREAD_N] += theirs[at * THREADS];
            }
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                if constexpr (Epilogue::IS_FUSED) {
                    store_applied<1, false>(params, part, epilogue, i + r, all + r);
                } else {
                    store_row(params, part, i + r, all[r]);
                }
            }
        }
    }
};

// The stages of a block: tiles of a and b in shared memory, and the copies and sums of a thread.
template <class T, class Tile, uint32_t LOAD_A, uint32_t LOAD_B> struct Pipeline {
    typedef Sums<T, Tile> BlockSums;
    typedef typename BlockSums::Unit Unit;
    static constexpr int THREADS = BlockSums::THREADS;
    typedef OperandTile<T, Tile::BLOCK_M, Tile::BLOCK_K, THREADS, LOAD_A, Tile::UNIT> ATile;
    typedef OperandTile<T, Tile::BLOCK_N, Tile::BLOCK_K, THREADS, LOAD_B, Tile::UNIT> BTile;
    static constexpr int STAGE = ATile::SIZE + BTile::SIZE, AHEAD = Tile::STAGES - 1;
    // Steps of a tile, each a fragment. Copies are begun in the first of them.
    static constexpr int GROUPS = Tile::BLOCK_K / Unit::GROUP_K;
    static constexpr int BEGINNING = GROUPS > 4 ? GROUPS / 2 : GROUPS - 1;
    static_assert(GROUPS % 2 == 0, "fragment 0 belongs to the first step of each tile");

    T *const stages;
    ATile a;
    BTile b;
    typename Unit::Fragment fragments[2];

    // The part of the copies that belongs to step STEP of STEPS.
    template <int STEP, int STEPS> __device__ __forceinline__ void begin(T *stage) {
        if constexpr (STEP < STEPS) {
            a.template begin<STEP, STEPS>(stage);
            b.template begin<STEP, STEPS>(stage + ATile::SIZE);
        }
    }
    __device__ __forceinline__ void finish(T *stage) {
        a.finish(stage);
        b.finish(stage + ATile::SIZE);
    }
    __device__ __forceinline__ void load(int fragment, const T *stage, int group,
                                         const BlockSums &sums) {
        Unit::template load<ATile, BTile>(fragments[fragment], stage, stage + ATile::SIZE,
                                          group * Unit::GROUP_K, sums.warp_row, sums.warp_column);
    }

    // Step `GROUP` and those behind it of the tile in stage `here`. The next fragment is read, and
    // copies into stage `to` are begun, between the halves of the products.
    template <int GROUP>
    __device__ __forceinline__ void steps(BlockSums &sums, const T *here, const T *next, T *to) {
        if constexpr (GROUP < GROUPS) {
            Unit::template add<0, Unit::BEFORE>(sums.at, fragments[GROUP % 2]);
            if constexpr (GROUP == GROUPS - 1) {
                finish(to);
                end_batch_of_copies();
                // The next tile has come for all threads, and all have read this one.
                wait_for_copies<AHEAD - 1>();
                __syncthreads();
            }
            load((GROUP + 1) % 2, GROUP == GROUPS - 1 ? next : here, (GROUP + 1) % GROUPS, sums);
            begin<GROUP, BEGINNING>(to);
            Unit::template add<Unit::BEFORE, Tile::THREAD_M>(sums.at, fragments[GROUP % 2]);
            steps<GROUP + 1>(sums, here, next, to);
        }
    }

    // Adds the products of `tiles` tiles. Stages that no tile comes to are cleared.
    __device__ __forceinline__ void run(BlockSums &sums, int64_t tiles) {
        for (int stage = 0; stage < AHEAD; stage++) {
            begin<0, 1>(stages + stage * STAGE);
            finish(stages + stage * STAGE);
            end_batch_of_copies();
        }
        int here = 0, to = AHEAD * STAGE;
        wait_for_copies<AHEAD - 1>();
        __syncthreads();
        load(0, stages, 0, sums);
        for (; tiles > 0; tiles--) {
            const int next = here + STAGE < Tile::STAGES * STAGE ? here + STAGE : 0;
            steps<0>(sums, stages + here, stages + next, stages + to);
            to = here, here = next;
        }
    }
};

// The part of k that a block sums, where each of several has as many values: the elements of a and
// b at its first value, and the number of its values.
template <class T> struct SplitOfK {
    const T *a, *b;
    int64_t count;

    template <class Params>
    __device__ __forceinline__ SplitOfK(const Params &params, const BlockPart &part) {
        const int64_t first = int64_t(part.split) * params.k_per_split;
        const int64_t rest = int64_t(params.k) - first, share = int64_t(params.k_per_split);
        count = rest < share ? rest : share;
        a = reinterpret_cast<const T *>(params.a) + part.offsets[1] + first * params.a_inner;
        b = reinterpret_cast<const T *>(params.b) + part.offsets[2] + first * params.b_inner;
    }
};

// Stores the sums of a block that has a tile to itself. Else it leaves them, and the last block of
// the tile adds those of all. All threads of the block call it; it synchronises them.
template <class T, class BlockSums, class Params> __device__ __forceinline__ void
store_or_combine(const Params &params, const BlockPart &part, BlockSums &sums, bool &is_last) {
    if (params.splits == 1) {
        sums.store(params, part);
        return;
    }
    T *partials = reinterpret_cast<T *>(params.scratch + COUNTER_BYTES) +
                  uint64_t(part.tile) * params.splits * BlockSums::AREA;
    uint32_t *counter = reinterpret_cast<uint32_t *>(params.scratch) + part.tile;
    sums.leave(partials, part.split);
    if (is_last_block(counter, params.splits, is_last, [](int) { __syncthreads(); }))
        sums.store_combined(params, part, params.splits, partials);
}

template <class T, class Tile, uint32_t LOAD_A, uint32_t LOAD_B,
          class Params = MatmulParams<MAX_AXES>>
__global__ void __launch_bounds__(Sums<T, Tile>::THREADS, Tile::RESIDENT)
    matmul(const __grid_constant__ Params params) {
    typedef Pipeline<T, Tile, LOAD_A, LOAD_B> Tiles;
    SHARED_DYNAMIC(T, stages);
    SHARED(bool, is_last, [1]);

    const BlockPart part(params, blockIdx.x, Tile::BLOCK_M, Tile::BLOCK_N);
    const SplitOfK<T> of(params, part);
    Tiles tiles = {
        stages,
        {of.a, params.a_outer, params.a_inner, part.row, int64_t(params.m), of.count},
        {of.b, params.b_outer, params.b_inner, part.column, int64_t(params.n), of.count},
    };
    gpu::grid_dependency_wait();

    Sums<T, Tile> sums;
    tiles.run(sums, (of.count + Tile::BLOCK_K - 1) / Tile::BLOCK_K);
    store_or_combine<T>(params, part, sums, is_last[0]);
}

} // namespace gpu::algos::matmul
