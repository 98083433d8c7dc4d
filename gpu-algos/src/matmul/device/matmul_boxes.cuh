// Products of matrices of f64 on the tensor cores of Hopper, c = alpha a b + beta c, for all
// matrices of a stack in one launch: matmul.cuh with bulk copies in place of those of threads.
//
// A block computes tiles of BLOCK_M rows and BLOCK_N columns of c, one behind the other. One thread
// copies tiles of a and b into STAGES of shared memory, box by box, also those of the next tile
// while the sums of this one are stored; the other warps multiply. So these have the registers and
// the time to issue that copies take, and no thread waits for a barrier of the whole block.
// Elements are read one by one, 8 bytes for each thread: in the order of boxes a warp then finds
// its elements in different banks whichever axis is contiguous, and pairs of sums are neighbours.
//
// The order of additions is that of matmul.cuh: one chain along k for each part of it.
//
// Contract: grid at most `splits` * `tiles_m` * `tiles_n` * matrices of the stack, and as many with
// `splits` > 1; block BoxTile::THREADS; dynamic shared memory BoxTile::SHARED_BYTES. T is double,
// or Complex<double> with complex_boxes.cuh. With E elements in 128 bytes an operand is
// ALONG_K_BOXES with boxes of E elements along k and BLOCK_M or BLOCK_N across; or ACROSS_K_BOXES,
// with E elements across and BLOCK_K along k. A map has the two parts of a complex number side by
// side, as two of its elements. Its strides along the axes of the stack are matrices of its map.
// Scratch memory, c and epilogue are as in matmul.cuh. Bytes moved: those of matmul.cuh.
// Parameters: MatmulParams (params.rs).
//
// Sources: those of matmul.cuh; a warp that copies after CUTLASS (NVIDIA).
#pragma once
#include "box_stages.cuh"
#include "matmul.cuh"
#include "shared_address.cuh"
#include "warpgroup.cuh"

namespace gpu::algos::matmul {

// The places of a thread's elements of one operand in a stage, BLOCK elements across k and BLOCK_K
// values along k: boxes of 16 of these one behind the other, or panels of 16 elements across k.
// With lane = 4 g + t, the thread reads those at k = t, t + 4, … of two elements across k in each
// group of 16, called halves. Where k is contiguous these are even rows before odd ones of 8, and 8
// behind; for columns 2 g and 2 g + 1, so that sums are neighbours. Else they are pairs of
// neighbours. All are far enough from each other that the swizzle brings them to different banks.
template <uint32_t BOXES, bool IS_OF_ROWS, int BLOCK, int BLOCK_K> struct BoxPlace {
    static constexpr bool IS_ALONG = BOXES == ALONG_K_BOXES;
    static constexpr int HALF = IS_ALONG ? (IS_OF_ROWS ? 8 : 1) : 4; // from one half to the other
    static constexpr int GROUP_BYTES = (IS_ALONG ? 16 : BLOCK_K) * 128, BOX_BYTES = BLOCK * 128;

    // The first half of g.
    static __device__ __forceinline__ int element(int g) {
        if (!IS_ALONG) return g / 4 * 2 + g / 2 % 2 * 8 + g % 2;
        return IS_OF_ROWS ? g % 4 * 2 + g / 4 : 2 * g;
    }
    // The place at k = t of the first half in the group from element `x` on, a multiple of 16.
    static __device__ __forceinline__ uint32_t first(int x) {
        const int at = element(threadIdx.x % 32 / 4), t = threadIdx.x % 4;
        return swizzled<128>(IS_ALONG ? (x + at) * 128 + t * 8
                                      : x / 16 * GROUP_BYTES + t * 128 + at * 8);
    }
    // That at k = t + 4 `step` of a half in group `group` behind.
    static __device__ __forceinline__ uint32_t behind(uint32_t first, int group, int half,
                                                      int step) {
        const uint32_t in = step % 4 << 5, box = step / 4 * BOX_BYTES + group * GROUP_BYTES;
        if (IS_ALONG && IS_OF_ROWS) return (first ^ in) + half * 1024 + box;
        if (IS_ALONG) return (first ^ (in | half << 4)) + half * 128 + box;
        return (first ^ (step % 2 << 6 | half << 5)) + step * 4 * 128 + group * GROUP_BYTES;
    }
};

// The warp multiplies matrices of 16 x STEP_K and STEP_K x 8 (`warp_multiply_add`). Rows of a half
// play rows 0 to 7 and 8 to 15 of 16, columns of a half those of one of two matrices.
template <class T, class Tile, uint32_t LEFT, uint32_t RIGHT> struct OnBoxes {
    typedef BoxPlace<LEFT, true, Tile::BLOCK_M, Tile::BLOCK_K> Left;
    typedef BoxPlace<RIGHT, false, Tile::BLOCK_N, Tile::BLOCK_K> Right;
    static constexpr int THREAD_M = Tile::THREAD_M, THREAD_N = Tile::THREAD_N;
    static constexpr int WARP_ROWS = 8, WARP_COLUMNS = 4;
    // With few sums there are registers for larger products, of which fewer are in flight.
    static constexpr int STEP_K = THREAD_M * THREAD_N > 16 ? 8 : 16;
    static_assert(THREAD_M % 2 == 0 && THREAD_N % 4 == 0, "groups of 16 rows and of 16 columns");

    struct Fragment {
        double rows[THREAD_M / 2][STEP_K / 2], columns[THREAD_N / 2][STEP_K / 4];
    };

    static __device__ __forceinline__ int lane_row() { return Left::element(threadIdx.x % 32 / 4); }
    static __device__ __forceinline__ int lane_column() {
        const int t = threadIdx.x % 4;
        return Right::IS_ALONG ? 4 * t : Right::element(2 * t);
    }
    static __device__ __forceinline__ constexpr int row(int i) {
        return i / 2 * 16 + i % 2 * Left::HALF;
    }
    static __device__ __forceinline__ constexpr int column(int j) {
        return j / 4 * 16 + (Right::IS_ALONG ? j % 4 : j / 2 % 2 * Right::HALF + j % 2);
    }
    // The number in a row of sum 0 of product n, and the distance of its neighbour.
    static constexpr int NEXT = Right::IS_ALONG ? 2 : 1;
    static __device__ __forceinline__ constexpr int sum(int n) {
        return Right::IS_ALONG ? n / 2 * 4 + n % 2 : 2 * n;
    }

    // Step `step` of a stage, whose operands are at `left` and `right`, from the places of the warp
    // in them on.
    static __device__ __forceinline__ void load(Fragment &to, SharedAddress left,
                                                SharedAddress right, uint32_t in_left,
                                                uint32_t in_right, int step) {
#pragma unroll
        for (int q = 0; q < STEP_K / 4; q++) {
            const int four = step * (STEP_K / 4) + q;
#pragma unroll
            for (int i = 0; i < THREAD_M; i++) {
                left.behind(Left::behind(in_left, i / 2, i % 2, four))
                    .load(to.rows[i / 2][2 * q + i % 2]);
            }
#pragma unroll
            for (int n = 0; n < THREAD_N / 2; n++)
                right.behind(Right::behind(in_right, n / 2, n % 2, four)).load(to.columns[n][q]);
        }
    }

    // Walks to and fro, so that neighbouring products share an operand.
    static __device__ __forceinline__ void add(double (&sums)[THREAD_M][THREAD_N],
                                               const Fragment &of) {
#pragma unroll
        for (int i = 0; i < THREAD_M; i += 2) {
#pragma unroll
            for (int walked = 0; walked < THREAD_N / 2; walked++) {
                const int n = i % 4 ? THREAD_N / 2 - 1 - walked : walked, j = sum(n);
                double c[4] = {sums[i][j], sums[i][j + NEXT], sums[i + 1][j],
                               sums[i + 1][j + NEXT]};
                warp_multiply_add(c, of.rows[i / 2], of.columns[n]);
                sums[i][j] = c[0], sums[i][j + NEXT] = c[1];
                sums[i + 1][j] = c[2], sums[i + 1][j + NEXT] = c[3];
            }
        }
    }
};

// The stages of a tile, each with a tile of a and one of b.
template <class T, class Tile> struct BoxTile {
    static constexpr int CLUSTER = 1;
    static constexpr int ROW_BYTES = 128, PANEL = ROW_BYTES / int(sizeof(T)), PARTS = 1;
    static constexpr int BLOCK_K = Tile::BLOCK_K, UNITS = int(sizeof(T) / sizeof(double));
    static constexpr int STAGES = Tile::STAGES, BOXES_K = BLOCK_K / PANEL;
    static constexpr int LEFT_BYTES = Tile::BLOCK_M * BOXES_K * ROW_BYTES;
    static constexpr int STAGE_BYTES = LEFT_BYTES + Tile::BLOCK_N * BOXES_K * ROW_BYTES;
    static constexpr int SHARED_BYTES = STAGES * STAGE_BYTES + 1024;
    // Threads that multiply. The others are one warp; or a warpgroup, which can give its registers
    // to them.
    static constexpr int MULTIPLYING =
        Tile::BLOCK_M / (8 * Tile::THREAD_M) * (Tile::BLOCK_N / (4 * Tile::THREAD_N)) * 32;
    static constexpr bool GIVES_REGISTERS = Tile::THREAD_M * Tile::THREAD_N * sizeof(T) > 256;
    static constexpr int THREADS = MULTIPLYING + (GIVES_REGISTERS ? 128 : 32);
};

// The values along k of a part of the problem.
struct ShareOfK {
    int first, count; // coordinates of boxes are int

    template <class Params>
    __device__ __forceinline__ ShareOfK(const Params &params, uint32_t block) {
        const int share = int(params.k_per_split), k = int(params.k);
        first = params.splits > 1 ? int(block % params.splits) * share : 0;
        count = k - first < share ? k - first : share;
    }
};

// Copies an operand of a stage: BLOCK elements across k from `first` on, and BLOCK_K along k, with
// AT_ONCE boxes an iteration.
template <class Boxes, int BLOCK, uint32_t BOXES, int AT_ONCE>
__device__ __forceinline__ void copy_boxes(unsigned char *to, const TensorMap &map, int first,
                                           int k, int matrix, CopyBarrier &arrived) {
    constexpr bool IS_ALONG = BOXES == ALONG_K_BOXES;
    constexpr int COUNT = IS_ALONG ? Boxes::BOXES_K : BLOCK / Boxes::PANEL;
    constexpr int BYTES = (IS_ALONG ? BLOCK : Boxes::BLOCK_K) * Boxes::ROW_BYTES;
    int x = (IS_ALONG ? k : first) * Boxes::UNITS;
#pragma unroll AT_ONCE
    for (int box = 0; box < COUNT; box++) {
        copy_box(to, map, x, IS_ALONG ? first : k, matrix, arrived);
        to += BYTES, x += Boxes::PANEL * Boxes::UNITS;
    }
}

// Copies the stages of a part of the problem, by one thread. Up to 10 boxes are copied unrolled, as
// those of f64 with a along k: 19.0 ms in place of 20.0 at 8192, 7.4 us in place of 7.7 at 512
// (H200). More of them spill from a thread of 24 registers: with a transposed 4096 takes 3.05 ms,
// and 2.31 in a loop.
template <class Tile, class Boxes, uint32_t LEFT, uint32_t RIGHT>
__device__ __forceinline__ void copy_part(Stages<Boxes> &stages, const TensorMap &left,
                                          const TensorMap &right, const BlockPart &part,
                                          const ShareOfK &share) {
    constexpr int OF_RIGHT = RIGHT == ALONG_K_BOXES ? Boxes::BOXES_K : Tile::BLOCK_N / Boxes::PANEL;
    constexpr int AT_ONCE = LEFT == ALONG_K_BOXES && Boxes::BOXES_K + OF_RIGHT <= 10 ? 8 : 1;
#pragma unroll 1
    for (int k = 0; k < share.count; k += Tile::BLOCK_K) {
        // The first round finds the stages free.
        stages.released[stages.at].wait(stages.parity ^ 1);
        CopyBarrier &arrived = stages.arrived[stages.at];
        arrived.expect(Boxes::STAGE_BYTES);
        copy_boxes<Boxes, Tile::BLOCK_M, LEFT, AT_ONCE>(
            stages.left(), left, int(part.row), share.first + k, int(part.offsets[1]), arrived);
        copy_boxes<Boxes, Tile::BLOCK_N, RIGHT, AT_ONCE>(stages.right(), right, int(part.column),
                                                         share.first + k, int(part.offsets[2]),
                                                         arrived);
        stages.advance();
    }
}

// Multiplies the stages of a part of the problem. The fragment of the next step is read while one
// is multiplied, across stages too. A stage is released behind products of all that was read of it:
// copies come to shared memory on another way, which reads that are in flight do not hold up.
template <class Tile, class Boxes, class BlockSums> __device__ __forceinline__ void
multiply_part(Stages<Boxes> &stages, BlockSums &sums, const ShareOfK &share) {
    typedef typename BlockSums::Unit Unit;
    constexpr int STEPS = Boxes::BLOCK_K / Unit::STEP_K;
    static_assert(STEPS % 2 == 0, "fragment 0 belongs to the first step of each stage");
    const uint32_t in_left = opaque(Unit::Left::first(sums.warp_row)),
                   in_right = opaque(Unit::Right::first(sums.warp_column));
    const SharedAddress memory(stages.memory);
    // The fragment of step `step` of the present stage.
    const auto load = [&](typename Unit::Fragment &to, int step) {
        const SharedAddress tiles = memory.behind(stages.at * Boxes::STAGE_BYTES);
        Unit::load(to, tiles, tiles.behind(Boxes::LEFT_BYTES), in_left, in_right, step);
    };
    typename Unit::Fragment fragments[2];
    if (share.count > 0) {
        stages.arrived[stages.at].wait(stages.parity);
        load(fragments[0], 0);
    }
#pragma unroll 1
    for (int left = share.count; left > 0; left -= Tile::BLOCK_K) {
        const int here = stages.at;
#pragma unroll
        for (int step = 0; step < STEPS; step++) {
            bool is_there = true;
            if (step == STEPS - 1) {
                stages.advance();
                is_there = left > Tile::BLOCK_K;
                if (is_there) stages.arrived[stages.at].wait(stages.parity);
            }
            if (is_there) load(fragments[(step + 1) % 2], (step + 1) % STEPS);
            Unit::add(sums.at, fragments[step % 2]);
        }
        stages.release(here);
    }
}

// Stores the sums of a part that has all of its tile. The plain case, a whole tile in packs without
// c, is code of its own: code that runs once waits for its instructions.
template <class T, class Tile, class BlockSums, class Params> __device__ __forceinline__ void
store_tile(BlockSums &sums, const Params &params, const BlockPart &part) {
    const Factors<T> factors(params);
    const bool is_plain = !EpilogueOf<Params>::type::IS_FUSED && params.is_c_packed &&
                          factors.beta == T(0) && part.row + Tile::BLOCK_M <= int64_t(params.m) &&
                          part.column + Tile::BLOCK_N <= int64_t(params.n);
    if (!is_plain) {
        sums.store(params, part);
        return;
    }
    T *c = reinterpret_cast<T *>(params.c) + part.offsets[0] +
           (part.row + sums.first_row) * params.c_row + part.column + sums.first_column;
#pragma unroll
    for (int i = 0; i < Tile::THREAD_M; i++) {
        T *row = c + sums.row(i) * params.c_row;
#pragma unroll
        for (int j = 0; j < Tile::THREAD_N; j += sums.VECTOR_SIZE) {
            Pack<T, BlockSums::VECTOR_SIZE> pack;
#pragma unroll
            for (int lane = 0; lane < sums.VECTOR_SIZE; lane++)
                pack.lane[lane] = factors.scaled(sums.at[i][j + lane]);
            store_pack<StoreMode::WHOLE>(row + sums.column(j), pack);
        }
    }
}

// Stores the results of a part; where several blocks share its tile, the last of these to arrive.
// The threads that multiply call it, and have the barrier `met` to themselves: those that copy are
// at other places of the kernel.
template <class T, class Tile, class BlockSums, class Params>
__device__ __forceinline__ void finish_part(BlockSums &sums, const Params &params,
                                            const BlockPart &part, CopyBarrier &met,
                                            bool &is_last) {
    if (params.splits == 1) {
        store_tile<T, Tile>(sums, params, part);
        return;
    }
    T *partials = reinterpret_cast<T *>(params.scratch + COUNTER_BYTES) +
                  uint64_t(part.tile) * params.splits * sums.AREA;
    sums.leave(partials, part.split);
    uint32_t *counter = reinterpret_cast<uint32_t *>(params.scratch) + part.tile;
    // The threads that multiply meet twice, so that the phases of their barrier are 0 and 1 again.
    const auto meet = [&](int phase) {
        met.arrive();
        met.wait(phase);
    };
    if (is_last_block(counter, params.splits, is_last, meet))
        sums.store_combined(params, part, params.splits, partials);
}

template <class T, class Tile, uint32_t LEFT, uint32_t RIGHT, class Params = MatmulParams<MAX_AXES>>
__global__ void __launch_bounds__(BoxTile<T, Tile>::THREADS, Tile::RESIDENT)
    matmul_boxes(const __grid_constant__ TensorMap left, const __grid_constant__ TensorMap right,
                 const __grid_constant__ Params params) {
    typedef BoxTile<T, Tile> Boxes;
    typedef Sums<T, Tile, OnBoxes<T, Tile, LEFT, RIGHT>> BlockSums;
    static_assert(BlockSums::THREADS == Boxes::MULTIPLYING, "the others copy");
    SHARED_DYNAMIC(unsigned char, memory);
    SHARED(CopyBarrier, arrived, [Boxes::STAGES]);
    SHARED(CopyBarrier, released, [Boxes::STAGES]);
    SHARED(CopyBarrier, met, [1]);
    SHARED(bool, is_last, [1]);
    if (threadIdx.x == 0) {
        prefetch_map(left);
        prefetch_map(right);
        for (int stage = 0; stage < Boxes::STAGES; stage++) {
            arrived[stage].init(1);
            released[stage].init(Boxes::MULTIPLYING / 32);
        }
        met[0].init(Boxes::MULTIPLYING);
        publish_barriers();
    }
    __syncthreads();
    grid_dependency_wait();
    Stages<Boxes> stages = {swizzle_base(memory), arrived, released, 0, 0};
    uint32_t blocks = params.splits * params.tiles_m * params.tiles_n;
    for (uint32_t d = 0; d < params.batch_rank; d++) blocks *= uint32_t(params.batch[d].length);

    if (threadIdx.x >= Boxes::MULTIPLYING) {
        if constexpr (Boxes::GIVES_REGISTERS) fewer_registers<24>();
        for (uint32_t block = blockIdx.x; block < blocks; block += gridDim.x) {
            const BlockPart part(params, block, Tile::BLOCK_M, Tile::BLOCK_N);
            const ShareOfK share(params, block);
            if (threadIdx.x == Boxes::MULTIPLYING)
                copy_part<Tile, Boxes, LEFT, RIGHT>(stages, left, right, part, share);
        }
        return;
    }
    if constexpr (Boxes::GIVES_REGISTERS) more_registers<240>();
    for (uint32_t block = blockIdx.x; block < blocks; block += gridDim.x) {
        BlockSums sums;
        if constexpr (Boxes::GIVES_REGISTERS) {
            // Registers are spare only behind the loop.
            multiply_part<Tile>(stages, sums, ShareOfK(params, block));
            const BlockPart part(params, block, Tile::BLOCK_M, Tile::BLOCK_N);
            finish_part<T, Tile>(sums, params, part, met[0], is_last[0]);
        } else {
            const BlockPart part(params, block, Tile::BLOCK_M, Tile::BLOCK_N);
            multiply_part<Tile>(stages, sums, ShareOfK(params, block));
            finish_part<T, Tile>(sums, params, part, met[0], is_last[0]);
        }
    }
}

} // namespace gpu::algos::matmul
