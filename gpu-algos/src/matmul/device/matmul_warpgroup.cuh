// Products of matrices on the tensor cores of Hopper, c = alpha a b + beta c, for all matrices of a
// stack in one launch.
//
// A block computes tiles of BLOCK_M rows and BLOCK_N columns of c, one behind the other. Its first
// warpgroup copies tiles of a and b into STAGES of shared memory, box by box; each other warpgroup
// multiplies 64 rows of a by all columns of b. Barriers say when a stage has arrived, and when all
// warps have multiplied it. With a CLUSTER of blocks, one below the other in c, each copies a share
// of the columns of b to all of them, so that less is read from L2.
//
// With FusedParams (fused_epilogue.cuh) the results are those of an expression of a b and arrays.
//
// PARTS is 1, or 3 for f32 by six products of bf16: an element is then the sum of three bf16, each
// the nearest to the remainder behind those before it (matmul_split.cuh), and a product the sum of
// the six greatest products of parts. The tensor cores round sums towards zero, so they add no more
// than BLOCK_K terms, small products first. These sums are added on CUDA cores, rounded to nearest.
//
// Contract: grid at most CLUSTER times the tiles, and a multiple of CLUSTER; block Tile::THREADS;
// dynamic shared memory Tile::SHARED_BYTES. A tile has CLUSTER times BLOCK_M rows. An operand is
// ALONG_K_BOXES with boxes of BLOCK_K elements along k, BLOCK_M or BLOCK_N / CLUSTER across and
// PARTS; or ACROSS_K_BOXES, with PANEL elements across k, BLOCK_K along k and PARTS. Of f32, only a
// may be that; it is then read through registers and rounded to TF32, the low bits of others are
// ignored. Integers of 8 bits lie along k; T is int32_t then, and alpha and beta are such. The
// third axis of a map has PARTS matrices for each matrix of its stack. Strides of c are in
// elements, may be negative or 0, and lead to each element once. Where IS_PLAIN beta is 0, and c
// has whole packs of 16 bytes along its rows, or is contiguous along its columns if f32 of a pass
// through registers; with FusedParams all tiles are whole besides. Bytes moved: a once for each
// column of tiles, b once for each row of tiles, less the hits in caches; c once. Parameters:
// TensorCoreParams (tensor_cores/params.rs).
//
// Sources: warp specialisation and tiles after CUTLASS (NVIDIA) and fast.cu (pranjalssh); f32 from
// bf16 after Henry, Tang and Heinecke, Leveraging the bfloat16 Artificial Intelligence Datatype For
// Higher-Precision Computations, 2019; sums outside of tensor cores after Ootomo and Yokota, 2022.
#pragma once
#include "box_stages.cuh"
#include "store_of_sums.cuh"
#include "tensor_core_tile.cuh"

namespace gpu::algos::matmul {

template <uint32_t TYPE, int PARTS, int M, int N, int STAGES, int CLUSTER_ = 1> struct WarpgroupTile
    : TensorCoreTile<TYPE, PARTS, M, N, STAGES> {
    static constexpr int CLUSTER = CLUSTER_;
    static constexpr int WARPGROUPS = M / 64, THREADS = 128 * (WARPGROUPS + 1);
    // Rows of tiles that blocks take side by side, so that they find the same columns of b in L2:
    // with so many, the tiles of 132 blocks are about a square. At 8192 in bf16 813 TFLOP/s with
    // 16, 758 to 798 with 8, 779 with 4 (H100).
    static constexpr uint32_t RASTER_ROWS = (N > M ? 16 : 8) / CLUSTER;
    static_assert(PARTS == 1 || CLUSTER == 1, "the parts of a share are not neighbours");
    static_assert(M % 64 == 0 && N % 64 == 0, "warpgroups have 64 rows, panels at most 64 columns");
};

// Bytes from one step along k to the next.
template <class Tile, uint32_t BOXES> __device__ __forceinline__ constexpr int step_bytes() {
    return BOXES == ALONG_K_BOXES ? 32 : Tile::STEP_K * Tile::ROW_BYTES;
}

// The sums of one warpgroup: 64 rows, all columns of the tile.
template <class Tile, uint32_t LEFT, uint32_t RIGHT> struct WarpgroupSums {
    static constexpr int COUNT = Tile::BLOCK_N / 2;
    static constexpr bool LEFT_ACROSS = LEFT == ACROSS_K_BOXES,
                          RIGHT_ACROSS = RIGHT == ACROSS_K_BOXES;
    static constexpr bool BY_ROWS = Tile::TYPE == TF32 && LEFT_ACROSS;
    typedef typename Tile::Sum Sum;
    typedef StoreOfSums<Sum, Tile::BLOCK_N, BY_ROWS> Store;
    Sum at[COUNT];

    // Begins the products of parts `left` and `right` of a stage.
    __device__ __forceinline__ void begin_products(Sum (&sums)[COUNT], const Stages<Tile> &stages,
                                                   int left, int right, bool accumulate) {
        const int rows = threadIdx.x / 128 - 1;
        const TilePlace a = place_of<Tile, Tile::BLOCK_M, LEFT>(stages.left(), left, rows);
        const TilePlace b = place_of<Tile, Tile::BLOCK_N, RIGHT>(stages.right(), right, 0);
#pragma unroll
        for (int step = 0; step < Tile::STEPS; step++) {
            multiply_add<Tile::TYPE, LEFT_ACROSS, RIGHT_ACROSS>(
                sums, a.behind(step * step_bytes<Tile, LEFT>()),
                b.behind(step * step_bytes<Tile, RIGHT>()), accumulate || step > 0);
        }
    }

    // The elements of a, of f32 across k, that this thread has of a stage. 8 values along k are 8
    // rows of 128 bytes, after which the swizzle repeats.
    struct RowElements {
        uint32_t at[Tile::STEPS][4];

        // Where the elements of the first step are in a stage, one for each register.
        static __device__ __forceinline__ void find(uint32_t (&places)[4]) {
            constexpr int PANEL_BYTES = Tile::BLOCK_K * Tile::ROW_BYTES;
            const int warpgroup = threadIdx.x / 128 - 1;
#pragma unroll
            for (int part = 0; part < 4; part++) {
                const int r = Store::row(part % 2), k = part / 2 * 4 + threadIdx.x % 4;
                const int place = r / 32 * PANEL_BYTES + k * Tile::ROW_BYTES + r % 32 * 4;
                places[part] = opaque(warpgroup * 2 * PANEL_BYTES + swizzled<128>(place));
            }
        }
        // Reads and rounds them.
        __device__ __forceinline__ void load(const unsigned char *tile,
                                             const uint32_t (&places)[4]) {
#pragma unroll
            for (int part = 0; part < 4; part++) {
                const unsigned char *from = tile + places[part];
#pragma unroll
                for (int step = 0; step < Tile::STEPS; step++)
                    at[step][part] = nearest_tf32(
                        *reinterpret_cast<const float *>(from + step * 8 * Tile::ROW_BYTES));
            }
        }
    };

    // Multiplies `count` stages with one part, whose a passes through registers. These are read
    // while the products of the stage before are still added, so two sets of them take turns.
    __device__ __forceinline__ void run_rows(Stages<Tile> &stages, int64_t count) {
        uint32_t places[4];
        RowElements::find(places);
        RowElements rows[2];
        int before = -1;
        for (int64_t left = count; left > 0; left -= 2) {
#pragma unroll
            for (int set = 0; set < 2; set++) {
                if (left <= set) break;
                stages.arrived[stages.at].wait(stages.parity);
                rows[set].load(stages.left(), places);
                const TilePlace b = place_of<Tile, Tile::BLOCK_N, RIGHT>(stages.right(), 0, 0);
                warpgroup_begin();
#pragma unroll
                for (int step = 0; step < Tile::STEPS; step++)
                    multiply_add_rows(at, rows[set].at[step], b.behind(step * 32),
                                      before >= 0 || step > 0);
                warpgroup_commit();
                warpgroup_wait<1>();
                if (before >= 0) stages.release(before);
                before = stages.at;
                stages.advance();
            }
        }
        warpgroup_wait<0>();
        if (before >= 0) stages.release(before);
    }

    // Multiplies `count` stages with one part. A stage is released while the next one is
    // multiplied.
    __device__ __forceinline__ void run(Stages<Tile> &stages, int64_t count) {
        int before = -1;
        for (int64_t done = 0; done < count; done++) {
            stages.arrived[stages.at].wait(stages.parity);
            warpgroup_begin();
            begin_products(at, stages, 0, 0, done > 0);
            warpgroup_commit();
            warpgroup_wait<1>();
            if (before >= 0) stages.release(before);
            before = stages.at;
            stages.advance();
        }
        warpgroup_wait<0>();
        if (before >= 0) stages.release(before);
    }

    // Multiplies `count` stages with three parts.
    __device__ __forceinline__ void run_parts(Stages<Tile> &stages, int64_t count) {
#pragma unroll
        for (int k = 0; k < COUNT; k++) at[k] = 0.0f;
        for (int64_t done = 0; done < count; done++) {
            float few[COUNT];
            stages.arrived[stages.at].wait(stages.parity);
            warpgroup_begin();
            begin_products(few, stages, 0, 2, false);
            begin_products(few, stages, 1, 1, true);
            begin_products(few, stages, 2, 0, true);
            begin_products(few, stages, 0, 1, true);
            begin_products(few, stages, 1, 0, true);
            begin_products(few, stages, 0, 0, true);
            warpgroup_commit();
            warpgroup_wait<0>();
            stages.release(stages.at);
#pragma unroll
            for (int k = 0; k < COUNT; k++) at[k] = __fadd_rn(at[k], few[k]);
            stages.advance();
        }
    }
};

// The tile of this block with number `tile`, or with clusters the part of it: a tile of a cluster
// has the rows of CLUSTER blocks.
template <class Tile, class Params>
__device__ __forceinline__ TilePart part_of(const Params &params, uint32_t tile) {
    TilePart part(params, tile, Tile::CLUSTER * Tile::BLOCK_M, Tile::BLOCK_N, Tile::RASTER_ROWS);
    part.row += Cluster<Tile::CLUSTER>::rank() * Tile::BLOCK_M;
    return part;
}

// The copies of a block, by one thread: its tiles of a, and its share of those of b.
template <class Tile, uint32_t LEFT, uint32_t RIGHT, class Params>
__device__ __forceinline__ void copy_tiles(Stages<Tile> &stages, const TensorMap &left,
                                           const TensorMap &right, const Params &params) {
    typedef Cluster<Tile::CLUSTER> Blocks;
    constexpr int SHARE = Tile::BLOCK_N / Tile::CLUSTER;
    for (uint32_t tile = blockIdx.x / Tile::CLUSTER; tile < params.tiles;
         tile += gridDim.x / Tile::CLUSTER) {
        const TilePart part = part_of<Tile>(params, tile);
        for (int64_t k = 0; k < int64_t(params.k); k += Tile::BLOCK_K) {
            // The first round finds the stages free.
            stages.released[stages.at].wait(stages.parity ^ 1);
            CopyBarrier &arrived = stages.arrived[stages.at];
            arrived.expect(Tile::STAGE_BYTES);
            copy_operand<Tile, Tile::BLOCK_M, LEFT>(stages.left(), left, int(part.row), int(k),
                                                    part.left, arrived);
#pragma unroll
            for (int share = 0; share < Tile::CLUSTER; share++) {
                if (!Blocks::copies(share)) continue;
                copy_operand<Tile, SHARE, RIGHT, Blocks>(
                    stages.right() + share * SHARE * Tile::ROW_BYTES, right,
                    int(part.column) + share * SHARE, int(k), part.right, arrived);
            }
            stages.advance();
        }
    }
}

// The sums of a block, and their stores, by its other warpgroups.
template <class T, class Tile, uint32_t LEFT, uint32_t RIGHT, bool IS_PLAIN, class Params>
__device__ __forceinline__ void multiply_tiles(Stages<Tile> &stages, const Params &params) {
    const int64_t count = (int64_t(params.k) + Tile::BLOCK_K - 1) / Tile::BLOCK_K;
    for (uint32_t tile = blockIdx.x / Tile::CLUSTER; tile < params.tiles;
         tile += gridDim.x / Tile::CLUSTER) {
        const TilePart part = part_of<Tile>(params, tile);
        WarpgroupSums<Tile, LEFT, RIGHT> sums;
        if constexpr (Tile::PARTS == 3) {
            sums.run_parts(stages, count);
        } else if constexpr (sums.BY_ROWS) {
            sums.run_rows(stages, count);
        } else {
            sums.run(stages, count);
        }
        typedef typename EpilogueOf<Params>::type Epilogue;
        const typename WarpgroupSums<Tile, LEFT, RIGHT>::Store store{sums.at};
        if constexpr (Epilogue::IS_FUSED) {
            store.template store_applied<T, IS_PLAIN>(params, part, Epilogue(params, tile));
        } else {
            store.template store<T, IS_PLAIN>(params, part);
        }
    }
}

// The product by warpgroups, with the kernel's shared memory.
template <class T, class Tile, uint32_t LEFT, uint32_t RIGHT, bool IS_PLAIN, class Params>
__device__ __forceinline__ void multiply_by_warpgroups(Stages<Tile> stages, const TensorMap &left,
                                                       const TensorMap &right,
                                                       const Params &params) {
    typedef Cluster<Tile::CLUSTER> Blocks;
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < Tile::STAGES; stage++) {
            stages.arrived[stage].init(1);
            stages.released[stage].init(4 * Tile::WARPGROUPS * Blocks::REACHED);
        }
        publish_barriers();
        prefetch_map(left);
        prefetch_map(right);
    }
    Blocks::meet();
    grid_dependency_wait();
    if (threadIdx.x < 128) {
        // Tiles that have enough registers are faster with it too: 8.3 us in place of 9.4 (TF32,
        // 1024 x 1024, 128 x 64, H200).
        if constexpr (Tile::WARPGROUPS == 2) fewer_registers<40>();
        if (threadIdx.x == 0) {
            copy_tiles<Tile, LEFT, RIGHT>(stages, left, right, params);
            // All blocks run, as there are at most as many as multiprocessors.
            trigger_dependents();
        }
    } else {
        if constexpr (Tile::WARPGROUPS == 2) more_registers<232>();
        multiply_tiles<T, Tile, LEFT, RIGHT, IS_PLAIN>(stages, params);
    }
    // The others of a cluster arrive at barriers of this block until they have multiplied all.
    if constexpr (Blocks::REACHED > 1) Blocks::meet();
}

template <class T, class Tile, uint32_t LEFT, uint32_t RIGHT, bool IS_PLAIN,
          class Params = TensorCoreParams<MAX_AXES>>
__global__ void __launch_bounds__(Tile::THREADS, 1)
    matmul_warpgroup(const __grid_constant__ TensorMap left,
                     const __grid_constant__ TensorMap right,
                     const __grid_constant__ Params params) {
    SHARED_DYNAMIC(unsigned char, memory);
    SHARED(CopyBarrier, arrived, [Tile::STAGES]);
    SHARED(CopyBarrier, released, [Tile::STAGES]);
    multiply_by_warpgroups<T, Tile, LEFT, RIGHT, IS_PLAIN>(
        Stages<Tile>{swizzle_base(memory), arrived, released, 0, 0}, left, right, params);
}

// The same with clusters of blocks.
template <class T, class Tile, uint32_t LEFT, uint32_t RIGHT, bool IS_PLAIN,
          class Params = TensorCoreParams<MAX_AXES>>
__global__ void __launch_bounds__(Tile::THREADS, 1) GPU_CLUSTER(Tile::CLUSTER)
    matmul_cluster(const __grid_constant__ TensorMap left, const __grid_constant__ TensorMap right,
                   const __grid_constant__ Params params) {
    SHARED_DYNAMIC(unsigned char, memory);
    SHARED(CopyBarrier, arrived, [Tile::STAGES]);
    SHARED(CopyBarrier, released, [Tile::STAGES]);
    multiply_by_warpgroups<T, Tile, LEFT, RIGHT, IS_PLAIN>(
        Stages<Tile>{swizzle_base(memory), arrived, released, 0, 0}, left, right, params);
}

} // namespace gpu::algos::matmul
