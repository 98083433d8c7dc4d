// Products with few values along k, c = alpha a b + beta c: many tiles, each computed by a warp.
//
// A warp computes one tile of BLOCK_M rows and BLOCK_N columns of a c after another, on its own. It
// copies BLOCK_K columns of a and as many rows of b at a time into its share of shared memory, each
// as they lie, STAGES in all, and multiplies earlier ones meanwhile; behind the last ones of a tile
// come those of the next. So neither begin nor end of a tile stops the arithmetic, as it does where
// a tile has few values along k, and no thread waits for those of another warp. A thread keeps
// THREAD_M * THREAD_N sums, and adds the products of a sum in the order of k.
//
// With TERMS the warps of a block read one b, of at most so many rows, which the block copies once.
//
// Contract: any grid of blocks of Tile::THREADS, whose warps share the tiles, `tiles_m` * `tiles_n`
// of each of `matrices` matrices; dynamic shared memory TERMS * BLOCK_N + Tile::THREADS / 32 *
// STAGES * STAGE elements. With TERMS one column of tiles, and one b for all matrices. Strides are
// in elements and may be negative or 0; those of c lead to each element once.
// Rows of a and rows of b are whole, aligned packs of 16 bytes. Bytes moved: a once for each column
// of tiles, b once for each row of tiles, less the reads that the caches serve; c once. Parameters:
// MatmulParams (params.rs), of which `scratch`, `splits` and `k_per_split` are not read.
#pragma once
#include "matmul.cuh"

namespace gpu::algos::matmul {

template <int M, int N, int K, int ROWS, int COLUMNS, int STAGES_, int WARPS, int RESIDENT_,
          int TERMS_ = 0>
struct WarpTile {
    static constexpr int BLOCK_M = M, BLOCK_N = N, BLOCK_K = K, TERMS = TERMS_;
    static constexpr int THREAD_M = ROWS, THREAD_N = COLUMNS, STAGES = STAGES_;
    static constexpr int THREADS = 32 * WARPS, RESIDENT = RESIDENT_; // blocks of a multiprocessor
    // Threads along the rows and columns of a tile.
    static constexpr int DOWN = M / ROWS, ACROSS = N / COLUMNS;
    // Values along k whose products are one piece of code. With twice as many, warps wait for
    // instructions: 260 in place of 231 us (16384 products of 64 x 64, H200).
    static constexpr int STEPS = 8;
    static_assert(DOWN * ACROSS == 32 && K % STEPS == 0, "a warp has a tile");
    static_assert(TERMS % K == 0, "whole parts of b");
};

// A tile of a matrix: its first row and column, and the offsets of c, a and b.
struct WarpPart {
    int64_t row, column, offsets[3];

    // Nothing is divided where there is nothing to divide.
    template <class Params> __device__ __forceinline__ WarpPart(const Params &params, uint32_t tile,
                                                                int block_m, int block_n) {
        const uint32_t tiles = params.tiles_m * params.tiles_n;
        uint32_t matrix = 0, down = tile, across = 0;
        if (params.batch_rank > 0) {
            matrix = tile, down = 0;
            if (tiles > 1) matrix = tile / tiles, down = tile % tiles;
        }
        if (params.tiles_n > 1) across = down % params.tiles_n, down /= params.tiles_n;
        row = int64_t(down) * block_m, column = int64_t(across) * block_n;
        offsets_in_stack(params, matrix, offsets);
    }
};

// The stages of a warp, and the copies into them.
template <class T, class Tile> struct WarpStages {
    static constexpr int VECTOR_SIZE = 16 / int(sizeof(T));
    // The pad behind rows of a spreads rows that threads read at once over the banks.
    static constexpr int A_PITCH = Tile::BLOCK_K + VECTOR_SIZE, A_SIZE = Tile::BLOCK_M * A_PITCH;
    static constexpr bool SHARES_B = Tile::TERMS > 0;
    static constexpr int B_SIZE = Tile::BLOCK_K * Tile::BLOCK_N;
    static constexpr int STAGE = A_SIZE + (SHARES_B ? 0 : B_SIZE);
    static constexpr int SIZE = Tile::STAGES * STAGE;
    // Packs of a row of a part of a and of b.
    static constexpr int A_PACKS = Tile::BLOCK_K / VECTOR_SIZE,
                         B_PACKS = Tile::BLOCK_N / VECTOR_SIZE;
    static_assert(32 % A_PACKS == 0 && 32 % B_PACKS == 0, "the packs of a thread have one column");

    const MatmulParams<MAX_AXES> &params;
    T *const stages;
    uint32_t tile;        // whose parts are copied
    const uint32_t tiles; // all there are
    const uint32_t step;  // from a tile of this warp to its next
    int to = 0;           // the offset of the next stage
    const T *a = nullptr; // the next packs of this thread
    const T *b = nullptr;
    int rows = 0, columns = 0; // that exist from there on
    int left = 0;              // values along k from this part on
    // The first packs of this thread in a stage: their offsets, and values of k before them. They
    // are not computed anew for each part.
    const int a_at = opaque(row_of(A_PACKS) * A_PITCH + column_of(A_PACKS));
    const int b_at = opaque(A_SIZE + row_of(B_PACKS) * Tile::BLOCK_N + column_of(B_PACKS));
    const int a_before = opaque(column_of(A_PACKS)), b_before = opaque(row_of(B_PACKS));

    __device__ __forceinline__ WarpStages(const MatmulParams<MAX_AXES> &params, T *stages,
                                          uint32_t first, uint32_t tiles, uint32_t step)
        : params(params), stages(stages), tile(first), tiles(tiles), step(step) {}

    // Row and column of the first pack of this thread in a part whose rows have so many.
    static __device__ __forceinline__ int row_of(int packs) { return threadIdx.x % 32 / packs; }
    static __device__ __forceinline__ int column_of(int packs) {
        return threadIdx.x % 32 % packs * VECTOR_SIZE;
    }
    static __device__ __forceinline__ int behind(int stage) {
        return stage + STAGE < SIZE ? stage + STAGE : 0;
    }

    // Goes to the first parts of tile `tile`.
    __device__ __forceinline__ void enter_tile() {
        const WarpPart part(params, tile, Tile::BLOCK_M, Tile::BLOCK_N);
        const int64_t row = part.row + row_of(A_PACKS), down = int64_t(params.m) - row;
        a = reinterpret_cast<const T *>(params.a) + part.offsets[1] + row * params.a_outer +
            column_of(A_PACKS);
        rows = down < Tile::BLOCK_M ? int(down) : Tile::BLOCK_M;
        left = int(params.k);
        if constexpr (!SHARES_B) {
            const int64_t column = part.column + column_of(B_PACKS);
            const int64_t across = int64_t(params.n) - column;
            b = reinterpret_cast<const T *>(params.b) + part.offsets[2] +
                row_of(B_PACKS) * params.b_inner + column;
            columns = across < Tile::BLOCK_N ? int(across) : Tile::BLOCK_N;
        }
    }

    // Begins the copies of the next part of b.
    __device__ __forceinline__ void begin_right() {
        T *at = stages + to + b_at;
        const int in_k = columns > 0 ? left - b_before : 0;
#pragma unroll
        for (int i = 0; i < Tile::BLOCK_K * B_PACKS / 32; i++) {
            const int k = i * (32 / B_PACKS);
            copy_to_shared_if<16>(at + k * Tile::BLOCK_N, b + k * params.b_inner, k < in_k);
        }
        b += Tile::BLOCK_K * params.b_inner;
    }

    // Begins the copies of the next parts. Elements that do not exist become 0, as
    // all do behind the last tile.
    __device__ __forceinline__ void begin() {
        T *at = stages + to + a_at;
        const bool is_in_k = a_before < left;
#pragma unroll
        for (int i = 0; i < Tile::BLOCK_M * A_PACKS / 32; i++) {
            const int row = i * (32 / A_PACKS);
            copy_to_shared_if<16>(at + row * A_PITCH, a + row * params.a_outer,
                                  is_in_k && row < rows);
        }
        if constexpr (!SHARES_B) begin_right();
        end_batch_of_copies();
        to = behind(to);
        a += Tile::BLOCK_K, left -= Tile::BLOCK_K;
        if (left <= 0) {
            tile += step;
            if (tile < tiles) enter_tile();
        }
    }
};

// The sums of a thread, and the elements that it multiplies next.
template <class T, class Tile> struct WarpSums {
    typedef WarpStages<T, Tile> Stages;
    static constexpr int VECTOR_SIZE = Stages::VECTOR_SIZE;
    T at[Tile::THREAD_M][Tile::THREAD_N];
    Pack<T, VECTOR_SIZE> rows[Tile::THREAD_M]; // VECTOR_SIZE values along k
    T columns[2][Tile::THREAD_N];              // of this value along k and of the next
    int down, across;                          // of the first sum in the tile
    int rows_at, columns_at;                   // its elements in parts of a and b

    // Lanes that read at once, the halves of a warp, have few different rows.
    __device__ __forceinline__ WarpSums() {
        constexpr int HALF = Tile::DOWN / 2;
        const int lane = threadIdx.x % 32;
        down = lane % HALF + lane / 16 * HALF, across = lane % 16 / HALF * VECTOR_SIZE;
        rows_at = opaque(down * Stages::A_PITCH), columns_at = opaque(across);
        clear();
    }
    __device__ __forceinline__ void clear() {
#pragma unroll
        for (int i = 0; i < Tile::THREAD_M; i++) {
#pragma unroll
            for (int j = 0; j < Tile::THREAD_N; j++) at[i][j] = T(0);
        }
    }

    // The first elements of the thread in a stage.
    __device__ __forceinline__ const T *rows_in(const T *stage) const { return stage + rows_at; }
    __device__ __forceinline__ const T *columns_in(const T *part_of_b) const {
        return part_of_b + columns_at;
    }
    __device__ __forceinline__ void load_row(int i, const T *from) {
        rows[i] = load_pack<T, VECTOR_SIZE>(from + i * Tile::DOWN * Stages::A_PITCH);
    }
    __device__ __forceinline__ void load_first(const T *stage, const T *part_of_b) {
#pragma unroll
        for (int i = 0; i < Tile::THREAD_M; i++) load_row(i, rows_in(stage));
        load_fragment<Tile::ACROSS>(columns[0], columns_in(part_of_b));
    }

    // Adds the products of value K along k and of those behind it, STEPS in all. Columns of the
    // next value are read before, the next values of a row as soon as those before have been
    // multiplied.
    template <int K> __device__ __forceinline__ void
    steps(const T *from_rows, const T *from_columns, const T *next_rows, const T *next_columns) {
        if constexpr (K < Tile::STEPS) {
            constexpr int NEXT = (K + 1) % Tile::STEPS;
            load_fragment<Tile::ACROSS>(
                columns[NEXT % 2], NEXT == 0 ? next_columns : from_columns + NEXT * Tile::BLOCK_N);
#pragma unroll
            for (int i = 0; i < Tile::THREAD_M; i++) {
#pragma unroll
                for (int walk = 0; walk < Tile::THREAD_N; walk++) {
                    // To and fro, as in multiply.cuh.
                    const int j = i % 2 ? Tile::THREAD_N - 1 - walk : walk;
                    at[i][j] =
                        multiply_add(rows[i].lane[K % VECTOR_SIZE], columns[K % 2][j], at[i][j]);
                }
                if constexpr (NEXT % VECTOR_SIZE == 0)
                    load_row(i, NEXT == 0 ? next_rows : from_rows + NEXT);
            }
            steps<K + 1>(from_rows, from_columns, next_rows, next_columns);
        }
    }

    // Adds the products of the parts of a and b that are `here`, whose first elements have been
    // read, and reads those of the next ones.
    __device__ __forceinline__ void add(const T *here, const T *b_here, const T *next,
                                        const T *b_next) {
        const T *from_rows = rows_in(here), *from_columns = columns_in(b_here);
#pragma unroll 1
        for (int left = Tile::BLOCK_K - Tile::STEPS; left >= 0; left -= Tile::STEPS) {
            const T *next_rows = left > 0 ? from_rows + Tile::STEPS : rows_in(next);
            const T *next_columns =
                left > 0 ? from_columns + Tile::STEPS * Tile::BLOCK_N : columns_in(b_next);
            steps<0>(from_rows, from_columns, next_rows, next_columns);
            from_rows = next_rows, from_columns = next_columns;
        }
    }

    // Stores the results of a tile.
    __device__ __forceinline__ void store(const MatmulParams<MAX_AXES> &params,
                                          uint32_t tile) const {
        const WarpPart part(params, tile, Tile::BLOCK_M, Tile::BLOCK_N);
        const int64_t row = part.row + down, column = part.column + across;
        T *c = reinterpret_cast<T *>(params.c) + part.offsets[0] + row * params.c_row +
               column * params.c_column;
        if (params.is_c_packed && from_word<T>(params.beta) == T(0) &&
            part.row + Tile::BLOCK_M <= int64_t(params.m) &&
            part.column + Tile::BLOCK_N <= int64_t(params.n))
            return store_whole(c, params.c_row, from_word<T>(params.alpha));
#pragma unroll
        for (int i = 0; i < Tile::THREAD_M; i++) {
            if (row + i * Tile::DOWN >= int64_t(params.m)) break;
#pragma unroll
            for (int j = 0; j < Tile::THREAD_N; j += VECTOR_SIZE) {
                const int64_t columns = int64_t(params.n) - column - j * Tile::ACROSS;
                store_part<T, VECTOR_SIZE>(
                    params, c + i * Tile::DOWN * params.c_row + j * Tile::ACROSS * params.c_column,
                    columns < VECTOR_SIZE ? int(columns) : VECTOR_SIZE, at[i] + j);
            }
        }
    }
    __device__ __forceinline__ void store_whole(T *c, int64_t c_row, T alpha) const {
#pragma unroll
        for (int i = 0; i < Tile::THREAD_M; i++) {
#pragma unroll
            for (int j = 0; j < Tile::THREAD_N; j += VECTOR_SIZE) {
                Pack<T, VECTOR_SIZE> pack;
#pragma unroll
                for (int lane = 0; lane < VECTOR_SIZE; lane++)
                    pack.lane[lane] = alpha * at[i][j + lane];
                store_pack<StoreMode::WHOLE>(c + i * Tile::DOWN * c_row + j * Tile::ACROSS, pack);
            }
        }
    }
};

// Begins the copies of b, by all threads of a block. Rows behind k and columns behind n become 0.
template <class T, class Tile>
__device__ __forceinline__ void begin_shared_right(T *to, const MatmulParams<MAX_AXES> &params) {
    constexpr int VECTOR_SIZE = 16 / int(sizeof(T)), PACKS = Tile::BLOCK_N / VECTOR_SIZE;
    const T *b = reinterpret_cast<const T *>(params.b);
#pragma unroll
    for (int pack = threadIdx.x; pack < Tile::TERMS * PACKS; pack += Tile::THREADS) {
        const int k = pack / PACKS, column = pack % PACKS * VECTOR_SIZE;
        copy_to_shared_if<16>(to + k * Tile::BLOCK_N + column, b + k * params.b_inner + column,
                              k < int(params.k) && column < int(params.n));
    }
    end_batch_of_copies();
}

template <class T, class Tile> __global__ void __launch_bounds__(Tile::THREADS, Tile::RESIDENT)
    matmul_warps(const __grid_constant__ MatmulParams<MAX_AXES> params) {
    typedef WarpStages<T, Tile> Stages;
    constexpr int AHEAD = Tile::STAGES - 1;
    SHARED_DYNAMIC(T, shared_right);
    T *const stages = shared_right + Tile::TERMS * Tile::BLOCK_N + threadIdx.x / 32 * Stages::SIZE;
    // Neighbouring tiles go to different blocks, so that all have about as many.
    const uint32_t first = threadIdx.x / 32 * gridDim.x + blockIdx.x;
    const uint32_t step = Tile::THREADS / 32 * gridDim.x;
    const uint32_t tiles = params.tiles_m * params.tiles_n * params.matrices;
    gpu::grid_dependency_wait();
    if constexpr (Stages::SHARES_B) {
        begin_shared_right<T, Tile>(shared_right, params);
        // A warp without a tile copies a part of b.
        if (first >= tiles) wait_for_copies<0>();
    }
    Stages copies(params, stages, first, tiles, step);
    if (first < tiles) {
        copies.enter_tile();
#pragma unroll 1
        for (int stage = 0; stage < AHEAD; stage++) copies.begin();
        wait_for_copies<AHEAD - 1>();
    }
    if constexpr (Stages::SHARES_B) __syncthreads();
    if (first >= tiles) return;

    WarpSums<T, Tile> sums;
    int here = 0;
    __syncwarp();
    // The part of b of a stage, or where warps share it that with number `part`.
    const auto b_in = [&](int stage, int part) {
        return Stages::SHARES_B ? shared_right + part * Stages::B_SIZE
                                : stages + stage + Stages::A_SIZE;
    };
    sums.load_first(stages, b_in(0, 0));
    const int parts = int((params.k + Tile::BLOCK_K - 1) / Tile::BLOCK_K);
#pragma unroll 1
    for (uint32_t tile = first; tile < tiles; tile += step) {
#pragma unroll 1
        for (int part = 0; part < parts; part++) {
            copies.begin();
            wait_for_copies<AHEAD - 1>();
            // The next parts have come for all threads.
            __syncwarp();
            const int next = Stages::behind(here);
            sums.add(stages + here, b_in(here, part), stages + next,
                     b_in(next, part + 1 < parts ? part + 1 : 0));
            // All have read these.
            __syncwarp();
            here = next;
        }
        sums.store(params, tile);
        sums.clear();
    }
}

} // namespace gpu::algos::matmul
