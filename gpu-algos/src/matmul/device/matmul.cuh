// Products of matrices, c = alpha a b + beta c, for all matrices of a stack in one launch.
//
// A block computes a tile of BLOCK_M rows and BLOCK_N columns of one c. It walks along k, the
// columns of a and the rows of b, in steps of BLOCK_K. Tiles of a and b are copied into shared
// memory while earlier ones are multiplied, STAGES in all. Both lie there with one k after another,
// so that a thread reads its rows and columns in accesses of 16 bytes. It keeps THREAD_M * THREAD_N
// sums in registers. The threads of a warp stand in 4 rows and 8 columns.
//
// If there are too few tiles for the device, several blocks share one: each sums a part of k and
// leaves its sums in scratch memory. The block that arrives last adds them in the order of k. So
// the order of additions depends on the shape of the launch, and on nothing else.
//
// Contract: grid `splits` * `tiles_m` * `tiles_n` * matrices of the stack, block Tile::THREADS,
// dynamic shared memory STAGES * (ATile::SIZE + BTile::SIZE) elements. Strides are in elements and
// may be negative or 0; those of c lead to each element once. A load of PACKS needs an outer stride
// of 1, and whole, aligned packs of 16 bytes everywhere. With `splits` > 1 there are at most
// COUNTER_BYTES / 4 tiles, and scratch is as `Stream::with_scratch` gives it, with BLOCK_M *
// BLOCK_N sums for each block. Bytes moved: a once for each column of tiles, b once for each row of
// tiles, less the reads that the caches serve; c once. Parameters: MatmulParams (params.rs).
//
// Sources: tiles in registers and shared memory after Volkov and Demmel, Benchmarking GPUs to Tune
// Dense Linear Algebra, 2008; places of the threads of a warp after Gray's SGEMM (maxas); parts of
// k after CUTLASS (NVIDIA).
#pragma once
#include "matmul_params.cuh"
#include "packs.cuh"

namespace gpu {
namespace matmul {

// Rows and columns of threads in a warp.
constexpr int WARP_ROWS = 4, WARP_COLUMNS = 8;

// Rows of tiles whose blocks run side by side, so that they find the same columns of b in L2.
constexpr uint32_t RASTER_ROWS = 8;

template <int M, int N, int K, int ROWS, int COLUMNS, int STAGES_, int RESIDENT_>
struct MatmulTile {
    static constexpr int BLOCK_M = M, BLOCK_N = N, BLOCK_K = K;
    static constexpr int THREAD_M = ROWS, THREAD_N = COLUMNS, STAGES = STAGES_;
    static constexpr int RESIDENT = RESIDENT_; // blocks of a multiprocessor
    static constexpr int WARPS_N = N / (WARP_COLUMNS * COLUMNS);
    static constexpr int THREADS = 32 * WARPS_N * (M / (WARP_ROWS * ROWS));
    static_assert(M % (WARP_ROWS * ROWS) == 0 && N % (WARP_COLUMNS * COLUMNS) == 0, "whole warps");
};

// a * b + c, rounded once for floats.
__device__ __forceinline__ float multiply_add(float a, float b, float c) {
    return __fmaf_rn(a, b, c);
}
__device__ __forceinline__ double multiply_add(double a, double b, double c) {
    return __fma_rn(a, b, c);
}
__device__ __forceinline__ uint32_t multiply_add(uint32_t a, uint32_t b, uint32_t c) {
    return a * b + c;
}
__device__ __forceinline__ uint64_t multiply_add(uint64_t a, uint64_t b, uint64_t c) {
    return a * b + c;
}

// The value whose bits are the low ones of a word.
template <class T> __device__ __forceinline__ T from_word(const uint64_t &word) {
    return *reinterpret_cast<const T *>(&word);
}

// The part of the problem that a block has.
struct BlockPart {
    uint32_t split; // number among the blocks of a tile
    uint32_t tile;  // number among the tiles of all matrices
    int64_t row, column;
    int64_t offsets[3]; // of c, a and b in the stack

    template <class Params>
    __device__ __forceinline__ BlockPart(const Params &params, int block_m, int block_n) {
        split = blockIdx.x % params.splits;
        tile = blockIdx.x / params.splits;
        const uint32_t tiles = params.tiles_m * params.tiles_n;
        uint32_t matrix = tile / tiles;
        const uint32_t in_group = tile % tiles % (RASTER_ROWS * params.tiles_n);
        const uint32_t first = tile % tiles / (RASTER_ROWS * params.tiles_n) * RASTER_ROWS;
        const uint32_t rows = min(params.tiles_m - first, RASTER_ROWS);
        row = int64_t(first + in_group % rows) * block_m;
        column = int64_t(in_group / rows) * block_n;
        for (int k = 0; k < 3; k++) offsets[k] = 0;
        for (uint32_t d = 0; d < params.batch_rank; d++) {
            const auto &axis = params.batch[d];
            const int64_t at = matrix % uint32_t(axis.length);
            matrix /= uint32_t(axis.length);
            for (int k = 0; k < 3; k++) offsets[k] += at * axis.strides[k];
        }
    }
};

// The copies of a thread that bring tiles of one operand into shared memory: LENGTH rows of a, or
// columns of b, and BLOCK_K values of each. Element (x, k) stands at k * PITCH + x. The pad behind
// each k spreads neighbours along k over the banks. LOAD says which elements neighbouring threads
// copy: PACKS of 16 bytes or single elements along x, or 8 along k and the rest along x.
template <class T, int LENGTH, int BLOCK_K, int THREADS, uint32_t LOAD> struct OperandTile {
    static constexpr int PITCH = LENGTH + 16 / int(sizeof(T)), SIZE = BLOCK_K * PITCH;
    static constexpr int PACK = LOAD == PACKS ? 16 / int(sizeof(T)) : 1;
    static constexpr int ALONG = LOAD == ALONG_K ? 8 : 1, ITEMS = LENGTH / PACK;
    static constexpr int COPIES = ITEMS * BLOCK_K / THREADS, BYTES = PACK * int(sizeof(T));
    static_assert(COPIES * THREADS == ITEMS * BLOCK_K && BLOCK_K % ALONG == 0, "equal shares");
    static_assert(THREADS / ALONG % ITEMS == 0 || ITEMS % (THREADS / ALONG) == 0,
                  "the place of copy j is that of copy 0, moved");

    const T *from[COPIES];
    int64_t step; // from one tile to the next
    int64_t left; // values along k from the next tile on

    static __device__ __forceinline__ constexpr int x_of(int item) {
        return item / ALONG % ITEMS * PACK;
    }
    static __device__ __forceinline__ constexpr int k_of(int item) {
        return item / ALONG / ITEMS * ALONG + item % ALONG;
    }
    // From copy 0 of a thread to copy j, in shared memory.
    static __device__ __forceinline__ constexpr int moved(int j) {
        return k_of(j * THREADS) * PITCH + x_of(j * THREADS);
    }

    // `first` is the operand's element at x = 0 and the first k of the block, `length` - `x` the
    // number of elements along x that exist from the tile on. Those beyond repeat the last one;
    // only sums that are not stored are made of them.
    __device__ __forceinline__ OperandTile(const T *first, int64_t outer, int64_t inner, int64_t x,
                                           int64_t length, int64_t count) {
        step = BLOCK_K * inner;
        left = count;
#pragma unroll
        for (int j = 0; j < COPIES; j++) {
            const int64_t here = x + x_of(threadIdx.x) + x_of(j * THREADS);
            const int64_t last = length - PACK;
            const int k = k_of(threadIdx.x) + k_of(j * THREADS);
            from[j] = first + (here < last ? here : last) * outer + k * inner;
        }
    }

    // Begins the copies of the next tile. Values behind the end of k are 0.
    __device__ __forceinline__ void begin(T *tile) {
        T *to = tile + k_of(threadIdx.x) * PITCH + x_of(threadIdx.x);
        if (left >= BLOCK_K) {
#pragma unroll
            for (int j = 0; j < COPIES; j++) {
                copy_to_shared<BYTES>(to + moved(j), from[j]);
                from[j] += step;
            }
        } else {
#pragma unroll
            for (int j = 0; j < COPIES; j++) {
                if (k_of(threadIdx.x) + k_of(j * THREADS) < left) {
                    copy_to_shared<BYTES>(to + moved(j), from[j]);
                } else {
#pragma unroll
                    for (int lane = 0; lane < PACK; lane++) to[moved(j) + lane] = T(0);
                }
            }
        }
        left -= BLOCK_K;
    }
};

// A thread's share of a row or column of a tile in shared memory: packs of 16 bytes, as far apart
// as the NEIGHBOURS threads of the warp that share the row or column reach.
template <int NEIGHBOURS, class T, int COUNT>
__device__ __forceinline__ void load_fragment(T (&to)[COUNT], const T *from) {
    constexpr int VECTOR_SIZE = 16 / int(sizeof(T));
    static_assert(COUNT % VECTOR_SIZE == 0, "whole packs");
#pragma unroll
    for (int part = 0; part < COUNT / VECTOR_SIZE; part++) {
        const auto pack = load_pack<T, VECTOR_SIZE>(from + part * NEIGHBOURS * VECTOR_SIZE);
#pragma unroll
        for (int lane = 0; lane < VECTOR_SIZE; lane++)
            to[part * VECTOR_SIZE + lane] = pack.lane[lane];
    }
}

// The sums of a thread, and their rows and columns in the tile of the block.
template <class T, class Tile> struct Sums {
    static constexpr int VECTOR_SIZE = 16 / int(sizeof(T));
    static constexpr uint64_t AREA = uint64_t(Tile::BLOCK_M) * Tile::BLOCK_N;
    T at[Tile::THREAD_M][Tile::THREAD_N];
    int first_row, first_column;

    __device__ __forceinline__ Sums() {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        // Lanes that read at once, the halves of a warp, have few different rows.
        const int lane_row = (lane & 1) | (lane >> 4 << 1), lane_column = lane >> 1 & 7;
        first_row = warp / Tile::WARPS_N * WARP_ROWS * Tile::THREAD_M + lane_row * VECTOR_SIZE;
        first_column =
            warp % Tile::WARPS_N * WARP_COLUMNS * Tile::THREAD_N + lane_column * VECTOR_SIZE;
#pragma unroll
        for (int i = 0; i < Tile::THREAD_M; i++) {
#pragma unroll
            for (int j = 0; j < Tile::THREAD_N; j++) at[i][j] = T(0);
        }
    }
    static __device__ __forceinline__ constexpr int row(int i) {
        return i / VECTOR_SIZE * WARP_ROWS * VECTOR_SIZE + i % VECTOR_SIZE;
    }
    static __device__ __forceinline__ constexpr int column(int j) {
        return j / VECTOR_SIZE * WARP_COLUMNS * VECTOR_SIZE + j % VECTOR_SIZE;
    }

    // Adds the products of two tiles in shared memory.
    template <class ATile, class BTile>
    __device__ __forceinline__ void add_products(const T *a, const T *b) {
#pragma unroll
        for (int k = 0; k < Tile::BLOCK_K; k++) {
            T rows[Tile::THREAD_M], columns[Tile::THREAD_N];
            load_fragment<WARP_ROWS>(rows, a + k * ATile::PITCH + first_row);
            load_fragment<WARP_COLUMNS>(columns, b + k * BTile::PITCH + first_column);
#pragma unroll
            for (int i = 0; i < Tile::THREAD_M; i++) {
#pragma unroll
                for (int j = 0; j < Tile::THREAD_N; j++)
                    at[i][j] = multiply_add(rows[i], columns[j], at[i][j]);
            }
        }
    }

    // Stores alpha * sum + beta * c for row `i` of this thread, as far as it exists. c is not read
    // if beta is 0.
    template <class Params> __device__ __forceinline__ void
    store_row(const Params &params, const BlockPart &part, int i, const T (&sums)[Tile::THREAD_N]) {
        const int64_t r = part.row + first_row + row(i);
        if (r >= int64_t(params.m)) return;
        const int64_t first = part.column + first_column, columns = int64_t(params.n) - first;
        T *c = reinterpret_cast<T *>(params.c) + part.offsets[0] + r * params.c_row +
               first * params.c_column;
        const T alpha = from_word<T>(params.alpha), beta = from_word<T>(params.beta);
#pragma unroll
        for (int j = 0; j < Tile::THREAD_N; j += VECTOR_SIZE) {
            Pack<T, VECTOR_SIZE> values;
#pragma unroll
            for (int lane = 0; lane < VECTOR_SIZE; lane++) {
                values.lane[lane] = alpha * sums[j + lane];
                if (beta != T(0) && column(j) + lane < columns) {
                    const T old = c[(column(j) + lane) * params.c_column];
                    values.lane[lane] = multiply_add(beta, old, values.lane[lane]);
                }
            }
            if (params.is_c_packed && column(j) < columns) {
                store_pack<false>(c + column(j), values);
                continue;
            }
#pragma unroll
            for (int lane = 0; lane < VECTOR_SIZE; lane++) {
                if (column(j) + lane < columns)
                    c[(column(j) + lane) * params.c_column] = values.lane[lane];
            }
        }
    }
    template <class Params>
    __device__ __forceinline__ void store(const Params &params, const BlockPart &part) {
#pragma unroll
        for (int i = 0; i < Tile::THREAD_M; i++) store_row(params, part, i, at[i]);
    }

    // Leaves the sums of a block of several in scratch memory, one value of each thread side by
    // side. Returns whether this block is the last of the tile to arrive. It then sees the sums of
    // all.
    __device__ __forceinline__ bool leave(T *partials, uint32_t *counter, uint32_t split,
                                          uint32_t splits, bool &is_last) {
        T *mine = partials + uint64_t(split) * AREA + threadIdx.x;
#pragma unroll
        for (int i = 0; i < Tile::THREAD_M; i++) {
#pragma unroll
            for (int j = 0; j < Tile::THREAD_N; j++)
                mine[(i * Tile::THREAD_N + j) * Tile::THREADS] = at[i][j];
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            is_last = arrive(counter) == splits - 1;
            if (is_last) *counter = 0;
        }
        __syncthreads();
        return is_last;
    }

    // Adds the sums of all blocks of the tile in the order of k, and stores the results. They pass
    // through few registers, a row at a time: with all rows at once the kernel spilled.
    template <class Params> __device__ __forceinline__ void
    store_combined(const Params &params, const BlockPart &part, const T *partials) {
#pragma unroll 1
        for (int i = 0; i < Tile::THREAD_M; i++) {
            const T *theirs = partials + i * Tile::THREAD_N * Tile::THREADS + threadIdx.x;
            T all[Tile::THREAD_N];
#pragma unroll
            for (int j = 0; j < Tile::THREAD_N; j++) all[j] = theirs[j * Tile::THREADS];
#pragma unroll 4
            for (uint32_t split = 1; split < params.splits; split++) {
#pragma unroll
                for (int j = 0; j < Tile::THREAD_N; j++)
                    all[j] += theirs[split * AREA + j * Tile::THREADS];
            }
            store_row(params, part, i, all);
        }
    }
};

template <class T, class Tile, uint32_t LOAD_A, uint32_t LOAD_B>
__global__ void __launch_bounds__(Tile::THREADS, Tile::RESIDENT)
    matmul(const __grid_constant__ MatmulParams<MAX_AXES> params) {
    typedef OperandTile<T, Tile::BLOCK_M, Tile::BLOCK_K, Tile::THREADS, LOAD_A> ATile;
    typedef OperandTile<T, Tile::BLOCK_N, Tile::BLOCK_K, Tile::THREADS, LOAD_B> BTile;
    constexpr int STAGE = ATile::SIZE + BTile::SIZE, AHEAD = Tile::STAGES - 1;
    SHARED_DYNAMIC(T, stages);
    SHARED(bool, is_last, [1]);

    // The tile of c, and the part of k.
    const BlockPart part(params, Tile::BLOCK_M, Tile::BLOCK_N);
    const int64_t first_k = int64_t(part.split) * params.k_per_split;
    const int64_t rest = int64_t(params.k) - first_k, share = int64_t(params.k_per_split);
    const int64_t count = rest < share ? rest : share;
    const int64_t tiles = (count + Tile::BLOCK_K - 1) / Tile::BLOCK_K;
    const T *a_first = reinterpret_cast<const T *>(params.a) + part.offsets[1];
    const T *b_first = reinterpret_cast<const T *>(params.b) + part.offsets[2];
    ATile a(a_first + first_k * params.a_inner, params.a_outer, params.a_inner, part.row, params.m,
            count);
    BTile b(b_first + first_k * params.b_inner, params.b_outer, params.b_inner, part.column,
            params.n, count);
    gpu::grid_dependency_wait();

    // The first tiles.
    for (int stage = 0; stage < AHEAD; stage++) {
        if (stage < tiles) {
            a.begin(stages + stage * STAGE);
            b.begin(stages + stage * STAGE + ATile::SIZE);
        }
        end_batch_of_copies();
    }

    Sums<T, Tile> sums;
    int stage = 0, free_stage = AHEAD;
    for (int64_t tile = 0; tile < tiles; tile++) {
        // This tile has come for all threads, and all have multiplied the one before it, whose
        // stage is free.
        wait_for_copies<AHEAD - 1>();
        __syncthreads();
        if (tile + AHEAD < tiles) {
            a.begin(stages + free_stage * STAGE);
            b.begin(stages + free_stage * STAGE + ATile::SIZE);
        }
        end_batch_of_copies();
        const T *here = stages + stage * STAGE;
        sums.template add_products<ATile, BTile>(here, here + ATile::SIZE);
        stage = stage + 1 < Tile::STAGES ? stage + 1 : 0;
        free_stage = free_stage + 1 < Tile::STAGES ? free_stage + 1 : 0;
    }

    if (params.splits == 1) {
        sums.store(params, part);
        return;
    }
    T *partials = reinterpret_cast<T *>(params.scratch + COUNTER_BYTES) +
                  uint64_t(part.tile) * params.splits * sums.AREA;
    uint32_t *counter = reinterpret_cast<uint32_t *>(params.scratch) + part.tile;
    if (sums.leave(partials, counter, part.split, params.splits, is_last[0]))
        sums.store_combined(params, part, partials);
}

} // namespace matmul
} // namespace gpu
