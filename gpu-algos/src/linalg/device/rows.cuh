// Matrices of which each lane has one row in its registers: loads, stores, and rows that all lanes
// of a matrix read.
#pragma once
#include "registers.cuh"

namespace gpu::algos::linalg {

// The matrices of a warp, 32 / SIZE of them, SIZE lanes to each. A lane beyond the rows of its
// matrix has zeros. The stage holds a row in each piece.
template <class T, int SIZE> struct RowMatrices {
    typedef WarpStage<T, SIZE> Stage;
    static constexpr int COUNT = 32 / SIZE;
    // Lists that all lanes of a matrix read: two for each, 16 bytes apart from those of others.
    static constexpr int LIST = SIZE + Stage::VECTOR_SIZE;
    const LinalgParams<MAX_AXES> &params;
    const Stage stage;
    const Team<1> team;
    const int n;
    const int row; // that of this lane
    const DenseLayout left, result;

    __device__ __forceinline__ RowMatrices(const LinalgParams<MAX_AXES> &params, T *shared,
                                           uint32_t thread = threadIdx.x)
        : params(params), stage(shared, thread), team(SIZE, thread), n(int(params.rows)),
          row(team.thread), left(params, LEFT, params.a, params.a_row, params.a_column, SIZE),
          result(params, RESULT, params.c, params.c_row, params.c_column, SIZE) {}

    // The first piece of this lane's matrix.
    __device__ __forceinline__ T *pieces() const { return stage.piece(stage.lane - row); }

    // The lanes of this lane's matrix, as the bits of a vote.
    __device__ __forceinline__ uint32_t lanes() const {
        return SIZE == 32 ? 0xffffffffu : ((1u << SIZE % 32) - 1) << (stage.lane - row);
    }

    // List number 0 or 1 of this lane's matrix, in the place of the stage.
    __device__ __forceinline__ T *list(int number) const {
        return stage.pieces + (number * COUNT + stage.lane / SIZE) * LIST;
    }

    // Elements of the warp's matrices in the stack, the first of which is number `first`.
    __device__ __forceinline__ int count(uint64_t first) const {
        const uint64_t rest = params.matrices - first;
        return int(rest < COUNT ? rest : COUNT) * n * n;
    }

    // Loads the rows. All lanes call it; the stage is free behind it.
    __device__ __forceinline__ void load(T (&a)[SIZE], uint64_t first,
                                         const TeamMatrix &matrix) const {
        const T *const from = reinterpret_cast<const T *>(params.a);
        if (left.has_vectors) {
            stage.fill(from + int64_t(first) * n * n, count(first));
            __syncwarp();
            stage.read(a, stage.piece(stage.lane));
            __syncwarp();
            return;
        }
        const T *const own = from + matrix.offsets[LEFT] + row * params.a_row;
#pragma unroll
        for (int j = 0; j < SIZE; j++) a[j] = row < n && j < n ? own[j * params.a_column] : T(0);
    }

    // Stores the matrices in the stage as the results. All lanes call it, and synchronise before.
    __device__ __forceinline__ void store(uint64_t first, const TeamMatrix &matrix) const {
        T *const to = reinterpret_cast<T *>(params.c);
        T *const of_warp = to + int64_t(first) * n * n;
        if (result.has_vectors) {
            stage.flush(of_warp, count(first));
        } else if (result.is_dense) {
            const StageSteps steps(SIZE * Stage::PITCH, Stage::PITCH, result.is_transposed);
            flush_places(of_warp, stage.pieces, steps, count(first), n, stage.lane);
        } else {
            store_matrix<ALL>(team, to + matrix.offsets[RESULT], pieces(), Stage::PITCH, n, n,
                              params.c_row, params.c_column, matrix.is_there, true);
        }
    }
};

// The greatest x of the lanes of a matrix, in all of them. All lanes call it. `reduce_lanes`
// (block/reduce.cuh) would have it in the first lane alone.
template <int SIZE> __device__ __forceinline__ int greatest(int x) {
#if defined(GPU_EMULATED) || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800)
    constexpr bool HAS_REDUCTION = SIZE == 32;
#else
    constexpr bool HAS_REDUCTION = false;
#endif
    if constexpr (HAS_REDUCTION) {
        return __reduce_max_sync(0xffffffffu, x);
    } else {
#pragma unroll
        for (int lanes = SIZE / 2; lanes > 0; lanes /= 2) {
            const int other = __shfl_xor_sync(0xffffffffu, x, lanes);
            x = other > x ? other : x;
        }
        return x;
    }
}

} // namespace gpu::algos::linalg
