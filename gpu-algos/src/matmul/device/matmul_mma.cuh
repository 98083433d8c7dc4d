// Products of matrices on tensor cores by warps (mma.sync), c = alpha a b + beta c, for all
// matrices of a stack in one launch: on architectures from 8.0 on but 9.0, which
// matmul_warpgroup.cuh is for.
//
// A block computes tiles of BLOCK_M rows and BLOCK_N columns of c, one behind the other. All its
// threads copy tiles of a and b into STAGES of shared memory, while earlier ones are multiplied:
// each warp multiplies WARP_M rows of a by WARP_N columns of b.
//
// Elements, PARTS, sums and epilogues are those of matmul_warpgroup.cuh.
//
// Contract: any grid; block Tile::THREADS; dynamic shared memory Tile::SHARED_BYTES. An operand is
// ALONG_K_BOXES, a row of elements along k for each row of a or column of b; or ACROSS_K_BOXES, a
// row of elements across k for each value along k, with BF16 and F16 alone. Rows begin at multiples
// of 16 bytes and are whole chunks of 16, of which elements that do not exist are 0. IS_PLAIN and
// the strides of c are as in matmul_warpgroup.cuh. Bytes moved: a once for each column of tiles, b
// once for each row of tiles, less the hits in caches; c once. Parameters: MmaOperands and
// TensorCoreParams (tensor_cores/params.rs).
//
// Source: stages of asynchronous copies after CUTLASS (NVIDIA), threadblock/mma_multistage.h.
#pragma once
#include "store_of_sums.cuh"
#include "tensor_copy.cuh"
#include "tensor_core_tile.cuh"
#include "warp_products.cuh"

namespace gpu::algos::matmul {

template <uint32_t TYPE, int PARTS, int M, int N, int ROWS, int COLUMNS, int STAGES, int BLOCKS>
struct MmaTile : TensorCoreTile<TYPE, PARTS, M, N, STAGES> {
    static constexpr int WARP_M = ROWS, WARP_N = COLUMNS;
    static constexpr int RESIDENT = BLOCKS; // blocks of a multiprocessor
    static constexpr int WARPS_N = N / COLUMNS, THREADS = 32 * (M / ROWS) * WARPS_N;
    static constexpr uint32_t RASTER_ROWS = 8;
    static_assert(M % ROWS == 0 && N % COLUMNS == 0 && ROWS % 16 == 0 && COLUMNS % 32 == 0,
                  "warps have whole matrices, and c whole packs of them");
    static_assert(bytes_of(TYPE) != 2 || (M % 64 == 0 && N % 64 == 0), "panels have 64 columns");
};

// Begins the copies of BLOCK elements across k of an operand from `first` on, and those along k
// from `k` on, of `along` in all. Elements that do not exist become 0.
template <class Tile, int BLOCK, uint32_t BOXES>
__device__ __forceinline__ void begin_copies(unsigned char *to, const MmaOperand &of, int64_t along,
                                             int64_t first, int64_t k, int64_t matrix) {
    constexpr bool IS_ALONG = BOXES == ALONG_K_BOXES;
    // Chunks of a row; rows of a part, or of a panel of it; rows that the threads copy at once.
    constexpr int ROW_CHUNKS = Tile::ROW_BYTES / 16, ROWS = IS_ALONG ? BLOCK : Tile::BLOCK_K;
    constexpr int AT_ONCE = Tile::THREADS / ROW_CHUNKS, ALL = Tile::PARTS * BLOCK;
    static_assert(ROWS % AT_ONCE == 0 && AT_ONCE % 8 == 0, "the rows of a thread are alike");
    const int chunk = threadIdx.x % ROW_CHUNKS, first_row = threadIdx.x / ROW_CHUNKS;
    const int64_t down = (IS_ALONG ? first : k) + first_row, across = IS_ALONG ? k : first;
    const int64_t height = (IS_ALONG ? int64_t(of.across) : along) - down,
                  width = (IS_ALONG ? along : int64_t(of.across)) - across;
    const unsigned char *const from = reinterpret_cast<const unsigned char *>(of.address) +
                                      matrix * Tile::PARTS * of.matrix_bytes + down * of.row_bytes +
                                      across * Tile::ELEMENT_BYTES + chunk * 16;
    // Swizzled as copy_box does it.
    to += swizzled<128>(first_row * Tile::ROW_BYTES + chunk * 16);
#pragma unroll
    for (int line = 0; line < ALL; line += AT_ONCE) {
        const int row = line % ROWS, part = line / ROWS % Tile::PARTS,
                  panel = line / (ROWS * Tile::PARTS);
        const bool is_there =
            row < height && (width - panel * Tile::PANEL) * Tile::ELEMENT_BYTES > chunk * 16;
        copy_to_shared_if<16>(
            to + line * Tile::ROW_BYTES,
            from + part * of.matrix_bytes + row * of.row_bytes + panel * Tile::ROW_BYTES, is_there);
    }
}

// The sums of a warp.
template <class Tile, uint32_t LEFT, uint32_t RIGHT> struct MmaSums {
    static constexpr int ROWS = Tile::WARP_M / 16, COUNT = Tile::WARP_N / 2;
    static constexpr bool LEFT_ACROSS = LEFT == ACROSS_K_BOXES,
                          RIGHT_ACROSS = RIGHT == ACROSS_K_BOXES;
    typedef typename Tile::Sum Sum;
    Sum at[ROWS][COUNT];
    int row, column; // of the first sum in the tile

    __device__ __forceinline__ MmaSums() {
        const int warp = threadIdx.x / 32;
        row = warp / Tile::WARPS_N * Tile::WARP_M, column = warp % Tile::WARPS_N * Tile::WARP_N;
        clear(at);
    }
    static __device__ __forceinline__ void clear(Sum (&sums)[ROWS][COUNT]) {
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
#pragma unroll
            for (int k = 0; k < COUNT; k++) sums[i][k] = Sum(0);
        }
    }

    // Adds the products of parts `left` and `right` of a stage. A step is loaded while the one
    // before is multiplied.
    __device__ __forceinline__ void add_parts(Sum (&sums)[ROWS][COUNT], const unsigned char *stage,
                                              int left, int right) const {
        const TilePlace a = place_of<Tile, Tile::BLOCK_M, LEFT>(stage, left, 0);
        const TilePlace b =
            place_of<Tile, Tile::BLOCK_N, RIGHT>(stage + Tile::LEFT_BYTES, right, 0);
        WarpFactors<Tile::TYPE, LEFT_ACROSS, RIGHT_ACROSS, ROWS, COUNT> factors[2];
        factors[0].load(a, row, b, column, 0);
#pragma unroll
        for (int step = 0; step < Tile::STEPS; step++) {
            if (step + 1 < Tile::STEPS) factors[(step + 1) % 2].load(a, row, b, column, step + 1);
            factors[step % 2].add_products(sums);
        }
    }

    // Adds the products of a stage.
    __device__ __forceinline__ void add(const unsigned char *stage) {
        if constexpr (Tile::PARTS == 1) {
            add_parts(at, stage, 0, 0);
        } else {
            // The six greatest products of parts, small ones first.
            Sum few[ROWS][COUNT];
            clear(few);
            add_parts(few, stage, 0, 2);
            add_parts(few, stage, 1, 1);
            add_parts(few, stage, 2, 0);
            add_parts(few, stage, 0, 1);
            add_parts(few, stage, 1, 0);
            add_parts(few, stage, 0, 0);
#pragma unroll
            for (int i = 0; i < ROWS; i++) {
#pragma unroll
                for (int k = 0; k < COUNT; k++) at[i][k] = __fadd_rn(at[i][k], few[i][k]);
            }
        }
    }

    // Stores the results of the part of a tile.
    template <class T, bool IS_PLAIN, class Params> __device__ __forceinline__ void
    store(const Params &params, TilePart part, uint32_t tile) const {
        typedef typename EpilogueOf<Params>::type Epilogue;
        part.row += row, part.column += column;
        if (part.column >= int64_t(params.n)) return;
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            const StoreOfSums<Sum, Tile::WARP_N, false, ByWarp> sums{at[i]};
            if constexpr (Epilogue::IS_FUSED)
                sums.template store_applied<T, IS_PLAIN>(params, part, Epilogue(params, tile));
            else
                sums.template store<T, IS_PLAIN>(params, part);
            part.row += 16;
        }
    }
};

// Begins the copies of a stage, of both operands from `k` on.
template <class Tile, uint32_t LEFT, uint32_t RIGHT, class Operands> __device__ __forceinline__ void
begin_stage(unsigned char *stage, const Operands &operands, const TilePart &part, int64_t k) {
    const int64_t along = int64_t(operands.along);
    begin_copies<Tile, Tile::BLOCK_M, LEFT>(stage, operands.operands[0], along, part.row, k,
                                            part.left);
    begin_copies<Tile, Tile::BLOCK_N, RIGHT>(stage + Tile::LEFT_BYTES, operands.operands[1], along,
                                             part.column, k, part.right);
}

template <class T, class Tile, uint32_t LEFT, uint32_t RIGHT, bool IS_PLAIN,
          class Params = TensorCoreParams<MAX_AXES>>
__global__ void __launch_bounds__(Tile::THREADS, Tile::RESIDENT)
    matmul_mma(const __grid_constant__ MmaOperands<2> operands,
               const __grid_constant__ Params params) {
    constexpr int AHEAD = Tile::STAGES - 1;
    SHARED_DYNAMIC(unsigned char, memory);
    unsigned char *const stages = swizzle_base(memory);
    const int64_t count = (int64_t(params.k) + Tile::BLOCK_K - 1) / Tile::BLOCK_K;
    grid_dependency_wait();
    for (uint32_t tile = blockIdx.x; tile < params.tiles; tile += gridDim.x) {
        const TilePart part(params, tile, Tile::BLOCK_M, Tile::BLOCK_N, Tile::RASTER_ROWS);
        // A batch ends even where no stage is left, so that the count of batches stays right.
        const auto begin = [&](int64_t number, int stage) {
            if (number < count)
                begin_stage<Tile, LEFT, RIGHT>(stages + stage * Tile::STAGE_BYTES, operands, part,
                                               number * Tile::BLOCK_K);
            end_batch_of_copies();
        };
#pragma unroll
        for (int stage = 0; stage < AHEAD; stage++) begin(stage, stage);
        MmaSums<Tile, LEFT, RIGHT> sums;
        int here = 0, next = AHEAD;
        for (int64_t done = 0; done < count; done++) {
            wait_for_copies<AHEAD - 1>();
            // The stage has come for all threads, and all have multiplied the one before.
            __syncthreads();
            begin(done + AHEAD, next);
            sums.add(stages + here * Tile::STAGE_BYTES);
            next = here;
            here = here + 1 < Tile::STAGES ? here + 1 : 0;
        }
        sums.template store<T, IS_PLAIN>(params, part, tile);
        // All warps have read the last stages before copies of the next tile overwrite them.
        __syncthreads();
    }
}

} // namespace gpu::algos::matmul
