// The arithmetic of matrix products: the elements that a thread reads of two tiles in shared
// memory, and the sums that it adds the products to, on CUDA cores and on tensor cores.
//
// Both have the same form. A `Fragment` has the elements that a thread reads for GROUP_K values
// along k. A thread has THREAD_M * THREAD_N sums; sum (i, j) is at `row(i)` and `column(j)` behind
// the thread's first row and column. Neighbours j along a pack of 16 bytes are neighbours in c.
#pragma once
#include "operand_tile.cuh"

namespace gpu::algos::matmul {

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

// The factors of a product. multiply_complex.cuh has those of complex numbers.
template <class T> struct Factors {
    T alpha, beta;
    template <class Params> __device__ __forceinline__ Factors(const Params &params)
        : alpha(from_word<T>(params.alpha)), beta(from_word<T>(params.beta)) {}
    __device__ __forceinline__ T scaled(T sum) const { return alpha * sum; }
};

// Stores alpha * sum + beta * c for a pack of a row, as far as it exists. c is not read if beta is
// 0.
template <class T, int COUNT, class Params>
__device__ __forceinline__ void store_part(const Params &params, T *c, int columns, const T *sums) {
    const Factors<T> factors(params);
    Pack<T, COUNT> values;
#pragma unroll
    for (int lane = 0; lane < COUNT; lane++) {
        values.lane[lane] = factors.scaled(sums[lane]);
        if (factors.beta != T(0) && lane < columns) {
            values.lane[lane] =
                multiply_add(factors.beta, c[lane * params.c_column], values.lane[lane]);
        }
    }
    if (params.is_c_packed) {
        if (columns > 0) store_pack<StoreMode::WHOLE>(c, values);
        return;
    }
#pragma unroll
    for (int lane = 0; lane < COUNT; lane++) {
        if (lane < columns) c[lane * params.c_column] = values.lane[lane];
    }
}

// Stores a pack of a row, of which `columns` are left, at least one.
template <class T, int COUNT, class Params> __device__ __forceinline__ void
store_values(const Params &params, T *c, int64_t columns, const Pack<T, COUNT> &values) {
    if (params.is_c_packed) return store_pack<StoreMode::WHOLE>(c, values);
#pragma unroll
    for (int lane = 0; lane < COUNT; lane++) {
        if (lane < columns) c[lane * params.c_column] = values.lane[lane];
    }
}

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

// The threads of a warp stand in 4 rows and 8 columns, or in 8 rows and 4 columns if BLOCK_N has no
// room for more.
template <class T, int BLOCK_N, int THREAD_M, int THREAD_N> struct OnCudaCores {
    static constexpr int WARP_COLUMNS = BLOCK_N < 8 * THREAD_N ? 4 : 8;
    static constexpr int WARP_ROWS = 32 / WARP_COLUMNS, GROUP_K = 1;
    // Rows that are added before the next fragment is read.
    static constexpr int BEFORE = 0;
    static constexpr int VECTOR_SIZE = 16 / int(sizeof(T));

    struct Fragment {
        T rows[THREAD_M], columns[THREAD_N];
    };

    // Lanes that read at once, the halves of a warp, have few different rows.
    static __device__ __forceinline__ int lane_row() {
        const int lane = threadIdx.x % 32, half = WARP_ROWS / 2;
        return (lane % half + lane / 16 * half) * VECTOR_SIZE;
    }
    static __device__ __forceinline__ int lane_column() {
        return threadIdx.x % 16 / (WARP_ROWS / 2) * VECTOR_SIZE;
    }
    static __device__ __forceinline__ constexpr int row(int i) {
        return i / VECTOR_SIZE * WARP_ROWS * VECTOR_SIZE + i % VECTOR_SIZE;
    }
    static __device__ __forceinline__ constexpr int column(int j) {
        return j / VECTOR_SIZE * WARP_COLUMNS * VECTOR_SIZE + j % VECTOR_SIZE;
    }

    // `m` and `n` are the first row and column of the warp in the tiles.
    template <class ATile, class BTile> static __device__ __forceinline__ void
    load(Fragment &to, const T *a, const T *b, int k, int m, int n) {
        load_fragment<WARP_ROWS>(to.rows, a + k * ATile::PITCH + m + lane_row());
        load_fragment<WARP_COLUMNS>(to.columns, b + k * BTile::PITCH + n + lane_column());
    }

    // Adds products to rows FIRST to END - 1 of the sums. Walks to and fro, so that neighbouring
    // instructions share operands: registers have two banks, and an instruction whose fresh
    // operands lie in one of them takes two cycles.
    template <int FIRST, int END>
    static __device__ __forceinline__ void add(T (&sums)[THREAD_M][THREAD_N], const Fragment &of) {
#pragma unroll
        for (int i = FIRST; i < END; i++) {
#pragma unroll
            for (int step = 0; step < THREAD_N; step++) {
                const int j = i % 2 ? THREAD_N - 1 - step : step;
                sums[i][j] = multiply_add(of.rows[i], of.columns[j], sums[i][j]);
            }
        }
    }
};

// The warp multiplies matrices of 16 x 4 and 4 x 8 (`warp_multiply_add`). Rows 2 g and 2 g + 1 of
// 16 play the parts of rows g and g + 8 there; columns 2 g and 2 g + 1 of 16 play those of column g
// of two matrices. So a thread reads pairs of neighbours, and its sums are pairs of neighbours too.
template <class T, int THREAD_M, int THREAD_N> struct OnTensorCores {
    static constexpr int WARP_ROWS = 8, WARP_COLUMNS = 4, GROUP_K = 4;
    static constexpr int BEFORE = THREAD_M / 4 * 2;
    static_assert(THREAD_M % 2 == 0 && THREAD_N % 4 == 0, "groups of 16 rows and of 16 columns");

    struct Fragment {
        T rows[THREAD_M / 2][2], columns[THREAD_N / 4][2];
    };

    static __device__ __forceinline__ int lane_row() { return threadIdx.x % 32 / 4 * 2; }
    static __device__ __forceinline__ int lane_column() { return threadIdx.x % 4 * 4; }
    static __device__ __forceinline__ constexpr int row(int i) { return i / 2 * 16 + i % 2; }
    static __device__ __forceinline__ constexpr int column(int j) { return j / 4 * 16 + j % 4; }

    // Elements 2 g and 2 g + 1 of the 16 from `from` on, at k + t.
    static __device__ __forceinline__ void load_pair(T (&to)[2], const T *from) {
        const auto pack = load_pack<T, 2>(from);
        to[0] = pack.lane[0];
        to[1] = pack.lane[1];
    }

    template <class ATile, class BTile> static __device__ __forceinline__ void
    load(Fragment &to, const T *a, const T *b, int k, int m, int n) {
        const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
        a += ATile::offset(m + 2 * g, t), b += BTile::offset(n + 2 * g, t);
#pragma unroll
        for (int i = 0; i < THREAD_M / 2; i++) load_pair(to.rows[i], a + ATile::offset(16 * i, k));
#pragma unroll
        for (int j = 0; j < THREAD_N / 4; j++)
            load_pair(to.columns[j], b + BTile::offset(16 * j, k));
    }

    template <int FIRST, int END>
    static __device__ __forceinline__ void add(T (&sums)[THREAD_M][THREAD_N], const Fragment &of) {
        static_assert(FIRST % 2 == 0 && END % 2 == 0, "whole matrices");
#pragma unroll
        for (int i = FIRST; i < END; i += 2) {
#pragma unroll
            for (int n = 0; n < THREAD_N / 2; n++) {
                const int j = n / 2 * 4 + n % 2;
                T c[4] = {sums[i][j], sums[i][j + 2], sums[i + 1][j], sums[i + 1][j + 2]};
                warp_multiply_add(c, of.rows[i / 2], of.columns[n / 2][n % 2]);
                sums[i][j] = c[0], sums[i][j + 2] = c[1];
                sums[i + 1][j] = c[2], sums[i + 1][j + 2] = c[3];
            }
        }
    }
};

template <bool HAS_TENSOR_CORES, class T, int BLOCK_N, int THREAD_M, int THREAD_N> struct UnitOf {
    typedef OnCudaCores<T, BLOCK_N, THREAD_M, THREAD_N> Unit;
};
template <class T, int BLOCK_N, int THREAD_M, int THREAD_N>
struct UnitOf<true, T, BLOCK_N, THREAD_M, THREAD_N> {
    typedef OnTensorCores<T, THREAD_M, THREAD_N> Unit;
};

} // namespace gpu::algos::matmul
