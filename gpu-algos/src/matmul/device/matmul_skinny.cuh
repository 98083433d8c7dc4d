// Products with few columns, c = alpha a b + beta c: the warps of a block divide k.
//
// A block computes all columns of 64 rows of c, or sums a part of k of them. So a is read once, and
// a block has many values along k to keep the memory busy with. BLOCK_K values along k of a and b
// come into shared memory at a time, STAGES in all. Packs along k of a stay together there,
// swizzled so that threads that read at once find packs of different rows in different banks. A
// warp multiplies a share of the values along k of each stage, for all rows and columns: a thread
// thus has THREAD_M * THREAD_N sums, and reads fewer elements for each product than one of a warp
// that has a part of the columns. In the end the warps add their sums in shared memory, in the
// order of their numbers. Each has a part of the rows from there on, like the warps of `matmul`.
//
// The order of additions depends on the shape of the launch, and on nothing else.
//
// Contract: that of `matmul`, with packs of a, along its rows (PACKS_ALONG_K) or columns (PACKS).
// BLOCK_M is the rows of a warp, 32 * THREAD_M * THREAD_N / BLOCK_N; the block is
// SkinnyTile::THREADS. Bytes moved: a once, b once for each row of tiles, less the reads that the
// caches serve; c once, and the sums of blocks that share a tile twice. Parameters: MatmulParams
// (params.rs).
//
// Sources: Chen, Xiong, Liang et al., TSM2: Optimizing Tall-and-Skinny Matrix-Matrix Multiplication
// on GPUs, 2019; the division of k among warps after CUTLASS (NVIDIA).
#pragma once
#include "matmul.cuh"

namespace gpu::algos::matmul {

// The threads of a warp, which has all rows and columns of a tile, and warps that divide k.
template <class T, class Tile> struct SkinnyTile {
    static constexpr int VECTOR_SIZE = 16 / int(sizeof(T));
    static constexpr int WARPS = 4, THREADS = 32 * WARPS;
    static constexpr int COLUMNS = Tile::BLOCK_N / Tile::THREAD_N, ROWS = 32 / COLUMNS;
    // Packs along k of a stage, and those of a warp.
    static constexpr int PACKS_K = Tile::BLOCK_K / VECTOR_SIZE, SHARE = PACKS_K / WARPS;
    static_assert(Tile::BLOCK_M == ROWS * Tile::THREAD_M, "a warp has all rows");
    static_assert(SHARE * WARPS * VECTOR_SIZE == Tile::BLOCK_K && Tile::THREAD_M % WARPS == 0,
                  "equal shares");

    // Lanes that read at once, the halves of a warp, have few different rows.
    static __device__ __forceinline__ int row() {
        const int lane = threadIdx.x % 32;
        return lane / 16 * (ROWS / 2) + lane % 16 / COLUMNS;
    }
    static __device__ __forceinline__ int column() { return threadIdx.x % COLUMNS; }
    // The lane with that row and column.
    static __device__ __forceinline__ int lane_of(int row, int column) {
        return row / (ROWS / 2) * 16 + row % (ROWS / 2) * COLUMNS + column;
    }
};

// A tile of rows whose packs along k stay together. Pack p of row x stands where p and the last
// bits of x, added bit by bit, say.
template <class T, int LENGTH, int BLOCK_K, int THREADS> struct RowsAlongK {
    static constexpr int VECTOR_SIZE = 16 / int(sizeof(T)), PACKS_K = BLOCK_K / VECTOR_SIZE;
    static constexpr int SIZE = LENGTH * BLOCK_K, COPIES = LENGTH * PACKS_K / THREADS;
    static_assert(PACKS_K % 8 == 0 && COPIES * THREADS == LENGTH * PACKS_K, "equal shares");

    const T *from[COPIES];
    int64_t left; // values along k from the next tile on, or fewer than 1

    static __device__ __forceinline__ constexpr int offset(int x, int pack) {
        return x * BLOCK_K + (pack ^ x % 8) * VECTOR_SIZE;
    }
    static __device__ __forceinline__ int row(int copy) {
        return int(threadIdx.x + copy * THREADS) / PACKS_K;
    }
    static __device__ __forceinline__ int pack() { return threadIdx.x % PACKS_K; }

    // As OperandTile's.
    __device__ __forceinline__ RowsAlongK(const T *first, int64_t outer, int64_t, int64_t x,
                                          int64_t length, int64_t count) {
        static_assert(THREADS % PACKS_K == 0, "the packs of a thread have one place along k");
        left = count;
#pragma unroll
        for (int j = 0; j < COPIES; j++) {
            const int64_t here = x + row(j);
            from[j] = first + (here < length ? here : length - 1) * outer + pack() * VECTOR_SIZE;
        }
    }
    // Begins the part of the copies of the next tile that belongs to step STEP of STEPS. Values
    // behind the end of k are 0.
    template <int STEP, int STEPS> __device__ __forceinline__ void begin(T *tile) {
        const bool is_there = pack() * VECTOR_SIZE < left;
#pragma unroll
        for (int j = COPIES * STEP / STEPS; j < COPIES * (STEP + 1) / STEPS; j++) {
            copy_to_shared_if<16>(tile + offset(row(j), pack()), from[j], is_there);
            from[j] += BLOCK_K;
        }
        if (STEP == STEPS - 1) left -= BLOCK_K;
    }
};

// Elements of a that a thread multiplies: VECTOR_SIZE values along k of each of its rows. Row x of
// the tile is row `number_of(x)` of the threads whose row is `thread_of(x)`.
template <class T, class Tile, uint32_t LOAD> struct SkinnyRows {
    typedef SkinnyTile<T, Tile> Threads;
    typedef OperandTile<T, Tile::BLOCK_M, Tile::BLOCK_K, Threads::THREADS, PACKS, Tile::UNIT> ATile;
    static constexpr int VECTOR_SIZE = Threads::VECTOR_SIZE;
    static_assert(LOAD == PACKS, "packs along the columns of a");
    Pack<T, VECTOR_SIZE> at[Tile::THREAD_M / VECTOR_SIZE][VECTOR_SIZE];

    __device__ __forceinline__ void load(const T *tile, int pack) {
#pragma unroll
        for (int k = 0; k < VECTOR_SIZE; k++) {
            const T *from = tile + (pack * VECTOR_SIZE + k) * ATile::PITCH;
#pragma unroll
            for (int p = 0; p < Tile::THREAD_M / VECTOR_SIZE; p++)
                at[p][k] = load_pack<T, VECTOR_SIZE>(from + (p * Threads::ROWS + Threads::row()) *
                                                                VECTOR_SIZE);
        }
    }
    __device__ __forceinline__ T value(int i, int k) const {
        return at[i / VECTOR_SIZE][k].lane[i % VECTOR_SIZE];
    }
    // The thread and the number i that have a row of the tile.
    static __device__ __forceinline__ int thread_of(int x) {
        return x / VECTOR_SIZE % Threads::ROWS;
    }
    static __device__ __forceinline__ int number_of(int x) {
        return x / (VECTOR_SIZE * Threads::ROWS) * VECTOR_SIZE + x % VECTOR_SIZE;
    }
};
template <class T, class Tile> struct SkinnyRows<T, Tile, PACKS_ALONG_K> {
    typedef SkinnyTile<T, Tile> Threads;
    typedef RowsAlongK<T, Tile::BLOCK_M, Tile::BLOCK_K, Threads::THREADS> ATile;
    static constexpr int VECTOR_SIZE = Threads::VECTOR_SIZE;
    Pack<T, VECTOR_SIZE> at[Tile::THREAD_M];

    __device__ __forceinline__ void load(const T *tile, int pack) {
#pragma unroll
        for (int i = 0; i < Tile::THREAD_M; i++)
            at[i] = load_pack<T, VECTOR_SIZE>(
                tile + ATile::offset(i * Threads::ROWS + Threads::row(), pack));
    }
    __device__ __forceinline__ T value(int i, int k) const { return at[i].lane[k]; }
    static __device__ __forceinline__ int thread_of(int x) { return x % Threads::ROWS; }
    static __device__ __forceinline__ int number_of(int x) { return x / Threads::ROWS; }
};

// The rows and columns of a thread after the sums of all warps were added: each warp has as many
// neighbouring rows as there are in a share.
template <class T, class Tile> struct SkinnyUnit {
    typedef SkinnyTile<T, Tile> Threads;
    static constexpr int WARP_COLUMNS = Threads::COLUMNS, WARP_ROWS = Threads::ROWS;
    static constexpr int VECTOR_SIZE = Threads::VECTOR_SIZE;
    static __device__ __forceinline__ int lane_row() { return Threads::row(); }
    static __device__ __forceinline__ int lane_column() { return Threads::column() * VECTOR_SIZE; }
    static __device__ __forceinline__ constexpr int row(int i) { return i * WARP_ROWS; }
    static __device__ __forceinline__ constexpr int column(int j) {
        return j / VECTOR_SIZE * WARP_COLUMNS * VECTOR_SIZE + j % VECTOR_SIZE;
    }
};

// The sums of a thread of `matmul_skinny` after those of all warps were added.
template <class T, class Tile> using SkinnySums =
    Sums<T,
         MatmulTile<Tile::BLOCK_M, Tile::BLOCK_N, Tile::BLOCK_K,
                    Tile::THREAD_M / SkinnyTile<T, Tile>::WARPS, Tile::THREAD_N, Tile::STAGES,
                    Tile::RESIDENT, Tile::UNIT>,
         SkinnyUnit<T, Tile>>;

template <class T, class Tile, uint32_t LOAD_A, uint32_t LOAD_B> struct SkinnyPipeline {
    typedef SkinnyTile<T, Tile> Threads;
    typedef SkinnyRows<T, Tile, LOAD_A> Rows;
    typedef typename Rows::ATile ATile;
    typedef OperandTile<T, Tile::BLOCK_N, Tile::BLOCK_K, Threads::THREADS, LOAD_B, Tile::UNIT>
        BTile;
    static constexpr int STAGE = ATile::SIZE + BTile::SIZE, AHEAD = Tile::STAGES - 1;
    static constexpr int VECTOR_SIZE = Threads::VECTOR_SIZE;
    // Values along k of a stage that this warp multiplies.
    static constexpr int VALUES = Threads::SHARE * VECTOR_SIZE;
    static_assert(VALUES % 2 == 0, "columns 0 belong to the first value of each stage");

    T *const stages;
    ATile a;
    BTile b;
    T sums[Tile::THREAD_M][Tile::THREAD_N];
    Rows rows;
    T columns[2][Tile::THREAD_N]; // of this value along k and of the next

    // The part of the copies that belongs to step STEP of STEPS.
    template <int STEP, int STEPS> __device__ __forceinline__ void begin(T *stage) {
        if constexpr (STEP < STEPS) {
            a.template begin<STEP, STEPS>(stage);
            b.template begin<STEP, STEPS>(stage + ATile::SIZE);
        }
    }
    __device__ __forceinline__ void finish(T *stage) {
        b.finish(stage + ATile::SIZE);
        end_batch_of_copies();
    }
    // The columns of value `k` of this warp's along k.
    __device__ __forceinline__ void load_columns(T (&to)[Tile::THREAD_N], const T *stage, int k) {
        const int at = int(threadIdx.x / 32) * VALUES + k;
        load_fragment<Threads::COLUMNS>(to, stage + ATile::SIZE + at * BTile::PITCH +
                                                Threads::column() * VECTOR_SIZE);
    }

    // Adds the products of value K and those behind it of the stage `here`. Copies into stage `to`,
    // which all threads have read, are begun between: at once they would keep all warps from
    // reading. In the end `next` has come for all threads.
    template <int K> __device__ __forceinline__ void add(const T *here, const T *next, T *to) {
        if constexpr (K < VALUES) {
            if constexpr (K % VECTOR_SIZE == 0)
                rows.load(here, int(threadIdx.x / 32) * Threads::SHARE + K / VECTOR_SIZE);
            if constexpr (K < VALUES - 1) {
                load_columns(columns[(K + 1) % 2], here, K + 1);
            } else {
                finish(to);
                wait_for_copies<AHEAD - 1>();
                __syncthreads();
                load_columns(columns[0], next, 0);
            }
            begin<K, VALUES - 1>(to);
#pragma unroll
            for (int i = 0; i < Tile::THREAD_M; i++) {
#pragma unroll
                for (int walk = 0; walk < Tile::THREAD_N; walk++) {
                    // To and fro, as in multiply.cuh.
                    const int j = i % 2 ? Tile::THREAD_N - 1 - walk : walk;
                    sums[i][j] =
                        multiply_add(rows.value(i, K % VECTOR_SIZE), columns[K % 2][j], sums[i][j]);
                }
            }
            add<K + 1>(here, next, to);
        }
    }

    // Adds the products of `tiles` stages.
    __device__ __forceinline__ void run(int64_t tiles) {
#pragma unroll
        for (int i = 0; i < Tile::THREAD_M; i++) {
#pragma unroll
            for (int j = 0; j < Tile::THREAD_N; j++) sums[i][j] = T(0);
        }
#pragma unroll 1
        for (int stage = 0; stage < AHEAD; stage++) {
            begin<0, 1>(stages + stage * STAGE);
            finish(stages + stage * STAGE);
        }
        int here = 0, to = AHEAD * STAGE;
        wait_for_copies<AHEAD - 1>();
        __syncthreads();
        load_columns(columns[0], stages, 0);
#pragma unroll 1
        for (; tiles > 0; tiles--) {
            const int next = here + STAGE < Tile::STAGES * STAGE ? here + STAGE : 0;
            add<0>(stages + here, stages + next, stages + to);
            to = here, here = next;
        }
    }

    // Adds the sums of all warps, in the order of their numbers, in the place of the stages. All
    // threads of the block call it; it synchronises them.
    __device__ __forceinline__ void join(SkinnySums<T, Tile> &all) {
        constexpr int COUNT = Tile::THREAD_M * Tile::THREAD_N * 32;
        static_assert(Threads::WARPS * COUNT <= Tile::STAGES * STAGE, "room for the sums");
        const int lane = threadIdx.x % 32;
        wait_for_copies<0>();
        __syncthreads();
        T *own = stages + int(threadIdx.x / 32) * COUNT;
#pragma unroll
        for (int i = 0; i < Tile::THREAD_M; i++) {
#pragma unroll
            for (int j = 0; j < Tile::THREAD_N; j++)
                own[(i * Tile::THREAD_N + j) * 32 + lane] = sums[i][j];
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < Tile::THREAD_M / Threads::WARPS; i++) {
            const int x = all.first_row + all.row(i);
            const T *from = stages + Rows::number_of(x) * Tile::THREAD_N * 32 +
                            Threads::lane_of(Rows::thread_of(x), Threads::column());
#pragma unroll
            for (int j = 0; j < Tile::THREAD_N; j++) {
                all.at[i][j] = from[j * 32];
#pragma unroll
                for (int warp = 1; warp < Threads::WARPS; warp++)
                    all.at[i][j] += from[warp * COUNT + j * 32];
            }
        }
    }
};

template <class T, class Tile, uint32_t LOAD_A, uint32_t LOAD_B,
          class Params = MatmulParams<MAX_AXES>>
__global__ void __launch_bounds__(SkinnyTile<T, Tile>::THREADS, Tile::RESIDENT)
    matmul_skinny(const __grid_constant__ Params params) {
    typedef SkinnyPipeline<T, Tile, LOAD_A, LOAD_B> Tiles;
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

    tiles.run((of.count + Tile::BLOCK_K - 1) / Tile::BLOCK_K);
    SkinnySums<T, Tile> sums;
    tiles.join(sums);
    store_or_combine<T>(params, part, sums, is_last[0]);
}

} // namespace gpu::algos::matmul
