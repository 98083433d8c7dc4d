// The stores of a product's sums, of BLOCK_N columns and the 64 rows of a warpgroup or the 16 of a
// warp, from registers: c = alpha a b + beta c, or the values of an epilogue for alpha = 1.
//
// Sums lie as warpgroup.cuh has them, but with BY_ROWS, whose factor a passes through registers, in
// other rows. Threads exchange neighbours, so that they store whole sectors of 32 bytes.
#pragma once
#include "epilogue.cuh"
#include "tensor_core_params.cuh"

namespace gpu::algos::matmul {

// A factor, alpha or beta, of its bits; and sum + factor * value.
template <class Sum> __device__ __forceinline__ Sum factor_of(uint64_t bits) { return Sum(bits); }
template <> __device__ __forceinline__ float factor_of<float>(uint64_t bits) {
    return __uint_as_float(uint32_t(bits));
}
__device__ __forceinline__ float add_multiple(float sum, float factor, float value) {
    return __fmaf_rn(factor, value, sum);
}
__device__ __forceinline__ uint32_t add_multiple(uint32_t sum, uint32_t factor, uint32_t value) {
    return sum + factor * value;
}

// The threads that have the sums: warpgroups behind the first one of a block, or one warp.
struct ByWarpgroups {
    static constexpr int ROWS = 64;
    static __device__ __forceinline__ int first_row() { return (threadIdx.x / 128 - 1) * 64; }
    static __device__ __forceinline__ int first_row_of_warp() {
        return threadIdx.x % 128 / 32 * 16;
    }
};
struct ByWarp {
    static constexpr int ROWS = 16;
    static __device__ __forceinline__ int first_row() { return 0; }
    static __device__ __forceinline__ int first_row_of_warp() { return 0; }
};

// Sum is float, or uint32_t for integers, which wrap.
template <class Sum, int BLOCK_N, bool BY_ROWS, class Threads = ByWarpgroups> struct StoreOfSums {
    static constexpr int COUNT = BLOCK_N / 2;
    const Sum (&at)[COUNT];

    // The row of sum 4 j + 2 half + e of this thread, of ROWS. Read through registers, rows are
    // exchanged so that the threads of a warp find their elements in different banks.
    static __device__ __forceinline__ int row(int half) {
        const int warp = threadIdx.x % 128 / 32, group = threadIdx.x % 32 / 4;
        if constexpr (!BY_ROWS) return Threads::first_row_of_warp() + group + half * 8;
        return warp / 2 * 32 + group / 4 * 16 + (warp % 2 * 2 + half) * 4 + group % 4;
    }

    // Where rows were exchanged, the row of half `half` of the sums that a thread then has.
    static __device__ __forceinline__ int exchanged_row(int half) {
        const int warp = threadIdx.x % 128 / 32, group = threadIdx.x % 32 / 4;
        return warp / 2 * 32 + half * 16 + (warp % 2 * 2 + group / 4) * 4 + group % 4;
    }
    // Between two threads: the lower one keeps `low` and gets the other's, the upper one `high`.
    template <class V>
    static __device__ __forceinline__ void exchange(V &low, V &high, int distance) {
        const bool is_upper = threadIdx.x & distance;
        const V other = __shfl_xor_sync(0xffffffffu, is_upper ? low : high, distance);
        if (is_upper)
            low = other;
        else
            high = other;
    }

    // Stores alpha * sum + beta * c, as far as the tile lies in c. c is not read if beta is 0, and
    // has whole packs besides where IS_PLAIN. The other case in a kernel of its own spares the
    // plain one half the time of compilation, and code that is jumped over: code that runs once
    // waits for its instructions.
    template <class T, bool IS_PLAIN, class Params, class Part>
    __device__ __forceinline__ void store(const Params &params, const Part &part) const {
        if constexpr (sizeof(T) == 4) {
            store_words<T, IS_PLAIN>(params, part);
        } else {
            store_halves<T, IS_PLAIN>(params, part);
        }
    }

    // Two pairs of each of two rows, from sum `first` on, times alpha. These are copies: sums that
    // are exchanged themselves make the compiler wait for each product alone (ptxas C7514; 512 x
    // 512 in TF32 10.7 us in place of 8.1).
    __device__ __forceinline__ void scale_pairs(Sum (&values)[2][4], Sum alpha, int first) const {
#pragma unroll
        for (int at_value = 0; at_value < 8; at_value++) {
            const int half = at_value / 4, i = at_value % 4;
            values[half][i] = alpha * at[first + i / 2 * 4 + half * 2 + i % 2];
        }
    }

    // Where c has rows as neighbours and rows are read through registers, a thread gets rows 16
    // apart in place of 4 apart, so that the threads of a column store 8 neighbours of it at once.
    // Else it gets four neighbours of a row in place of two pairs, and stores 16 bytes at once.
    template <class T, bool IS_PLAIN, class Params, class Part>
    __device__ __forceinline__ void store_words(const Params &params, const Part &part) const {
        const Sum alpha = factor_of<Sum>(params.alpha), beta = factor_of<Sum>(params.beta);
        const int lane = threadIdx.x % 4;
        const bool is_by_rows = BY_ROWS && (IS_PLAIN || params.c_row == 1);
        const int first_column = is_by_rows ? lane * 2 : lane % 2 * 8 + lane / 2 * 4;
        const int far = is_by_rows ? 6 : 0; // from the first pair to the second, beside 2
#pragma unroll
        for (int pack = 0; pack < COUNT / 8; pack++) {
            Sum values[2][4];
            scale_pairs(values, alpha, 8 * pack);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                if (is_by_rows)
                    exchange(values[0][k], values[1][k], 16);
                else
                    exchange(values[k / 2][k % 2], values[k / 2][2 + k % 2], 1);
            }
            const int64_t column = part.column + 16 * pack + first_column;
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int64_t r = part.row + Threads::first_row() +
                                  (is_by_rows ? exchanged_row(half) : row(half));
                if (r >= int64_t(params.m)) continue;
                T *c = reinterpret_cast<T *>(params.c) + part.c + r * params.c_row +
                       column * params.c_column;
                store_row<T, IS_PLAIN>(params, c, int64_t(params.n) - column, far, beta,
                                       values[half]);
            }
        }
    }

    // Adds beta * c to the values of a row, of which `columns` are left, and stores them.
    template <class T, bool IS_PLAIN, class Params>
    static __device__ __forceinline__ void store_row(const Params &params, T *c, int64_t columns,
                                                     int far, Sum beta, const Sum (&values)[4]) {
        Pack<T, 4> pack;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const int column = k + k / 2 * far;
            pack.lane[k] = values[k];
            if (!IS_PLAIN && beta != Sum(0) && column < columns)
                pack.lane[k] = add_multiple(values[k], beta, Sum(c[column * params.c_column]));
        }
        if (!BY_ROWS && (IS_PLAIN || params.c_pack >= 4)) {
            if (columns > 0) store_pack<StoreMode::WHOLE>(c, pack);
            return;
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const int column = k + k / 2 * far;
            if (column < columns) c[column * params.c_column] = pack.lane[k];
        }
    }

    // A thread has pairs of neighbours of each 8 of a row. Four are stored together.
    template <class T, bool IS_PLAIN, class Params, class Part>
    __device__ __forceinline__ void store_halves(const Params &params, const Part &part) const {
        constexpr int GROUP = 4;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int64_t r = part.row + Threads::first_row() + row(half);
            const int64_t columns = r < int64_t(params.m) ? int64_t(params.n) - part.column : 0;
            T *c = reinterpret_cast<T *>(params.c) + part.c + r * params.c_row +
                   part.column * params.c_column;
#pragma unroll
            for (int first = 0; first < COUNT / 4; first += GROUP) {
                Pack<T, 2> pairs[GROUP];
#pragma unroll
                for (int p = 0; p < GROUP; p++) {
                    const int column = 8 * (first + p) + threadIdx.x % 4 * 2;
                    scale_pair<T, IS_PLAIN>(pairs[p], params, c + column * params.c_column,
                                            columns - column, at + 4 * (first + p) + 2 * half);
                }
                if constexpr (IS_PLAIN) {
                    store_exchanged(c + 8 * first, columns - 8 * first, pairs);
                } else {
                    store_pairs(params, c, columns, pairs, first);
                }
            }
        }
    }

    // alpha * sum + beta * c for a pair, of which `columns` exist.
    template <class T, bool IS_PLAIN, class Params>
    static __device__ __forceinline__ void scale_pair(Pack<T, 2> &pair, const Params &params,
                                                      const T *c, int64_t columns,
                                                      const float *sums) {
        const float alpha = __uint_as_float(uint32_t(params.alpha)),
                    beta = __uint_as_float(uint32_t(params.beta));
#pragma unroll
        for (int e = 0; e < 2; e++) {
            float value = alpha * sums[e];
            if (!IS_PLAIN && beta != 0.0f && e < columns)
                value = __fmaf_rn(beta, float(c[e * params.c_column]), value);
            pair.lane[e] = T(value);
        }
    }

    // Stores pairs `first` and those behind it of a row.
    template <class T, int GROUP, class Params>
    static __device__ __forceinline__ void store_pairs(const Params &params, T *c, int64_t columns,
                                                       const Pack<T, 2> (&pairs)[GROUP],
                                                       int first) {
        if (params.c_pack == 8) return store_exchanged(c + 8 * first, columns - 8 * first, pairs);
#pragma unroll
        for (int p = 0; p < GROUP; p++) {
            const int column = 8 * (first + p) + threadIdx.x % 4 * 2;
            if (params.c_pack >= 2) {
                if (column < columns) store_pack<StoreMode::WHOLE>(c + column, pairs[p]);
                continue;
            }
#pragma unroll
            for (int e = 0; e < 2; e++) {
                if (column + e < columns) c[(column + e) * params.c_column] = pairs[p].lane[e];
            }
        }
    }

    // Stores 32 neighbours of a row. Each of its four threads has a pair of each 8 of them; after
    // an exchange it stores 8 neighbours, and the four 64 bytes at once. Pairs alone are halves of
    // sectors: 724 TFLOP/s in place of 797 (bf16, 4096, H100).
    template <class T> static __device__ __forceinline__ void
    store_exchanged(T *c, int64_t columns, const Pack<T, 2> (&pairs)[4]) {
        const Pack<uint32_t, 4> pack = neighbours_of(pairs);
        const int first = threadIdx.x % 4 * 8;
        if (first < columns)
            store_pack<StoreMode::WHOLE>(reinterpret_cast<uint32_t *>(c + first), pack);
    }
    template <class T> static __device__ __forceinline__ Pack<uint32_t, 4>
    neighbours_of(const Pack<T, 2> (&pairs)[4]) {
        Pack<uint32_t, 4> pack;
#pragma unroll
        for (int p = 0; p < 4; p++) pack.lane[p] = reinterpret_cast<const uint32_t &>(pairs[p]);
        exchange(pack.lane[0], pack.lane[1], 1);
        exchange(pack.lane[2], pack.lane[3], 1);
        exchange(pack.lane[0], pack.lane[2], 2);
        exchange(pack.lane[1], pack.lane[3], 2);
        return pack;
    }

    // Stores the values that an epilogue makes of the sums. Before a thread waits for leaves, it
    // loads all that it needs for several packs; between loads and stores that may be of one array
    // there is no order but that of the program. Rows that lie in c with all columns of the tile,
    // stored in whole packs, are code of their own, without a branch; where IS_PLAIN all are such.
    template <class T, bool IS_PLAIN, class Params, class Part, class Epilogue>
    __device__ __forceinline__ void store_applied(const Params &params, const Part &part,
                                                  const Epilogue &epilogue) const {
        const int64_t row = part.row + Threads::first_row();
        const bool is_packed = BY_ROWS ? params.c_row == 1 : params.c_pack >= 16 / sizeof(T);
        const bool is_whole = is_packed && row + Threads::ROWS <= int64_t(params.m) &&
                              part.column + BLOCK_N <= int64_t(params.n);
        if (IS_PLAIN || is_whole) {
            if constexpr (sizeof(T) == 4)
                store_applied_words<T, true>(params, part, epilogue);
            else
                store_whole_halves<T>(params, part, epilogue);
        } else {
            if constexpr (sizeof(T) == 4)
                store_applied_words<T, false>(params, part, epilogue);
            else
                store_applied_halves<T>(params, part, epilogue);
        }
    }

    // As store_words. Leaves are read where values are stored: four neighbours, or two pairs.
    template <class T, bool IS_WHOLE, class Params, class Part, class Epilogue>
    __device__ __forceinline__ void store_applied_words(const Params &params, const Part &part,
                                                        const Epilogue &epilogue) const {
        constexpr int VECTOR_SIZE = BY_ROWS ? 2 : 4, PARTS = 4 / VECTOR_SIZE;
        // Packs of two rows each.
        constexpr int MOST = IS_WHOLE ? Epilogue::PACKS_AT_ONCE / 2 : 1;
        constexpr int PACKS = MOST < COUNT / 8 ? MOST : COUNT / 8;
        const int lane = threadIdx.x % 4, first_row = Threads::first_row();
        const bool is_by_rows = BY_ROWS && (IS_WHOLE || params.c_row == 1);
        const int first_column = is_by_rows ? lane * 2 : lane % 2 * 8 + lane / 2 * 4;
        const int far = is_by_rows ? 6 : 0;
        const int64_t m = int64_t(params.m);
        const int64_t n = IS_WHOLE ? part.column + BLOCK_N : int64_t(params.n);
        const int64_t rows[2] = {part.row + first_row + (is_by_rows ? exchanged_row(0) : row(0)),
                                 part.row + first_row + (is_by_rows ? exchanged_row(1) : row(1))};
#pragma unroll
        for (int pack = 0; pack < COUNT / 8; pack += PACKS) {
            typename Epilogue::template LeafPacks<VECTOR_SIZE> leaves[PACKS][2][PARTS];
            const int64_t first = part.column + 16 * pack + first_column;
#pragma unroll
            for (int at = 0; at < PACKS * 2 * PARTS; at++) {
                const int p = at / PARTS / 2, half = at / PARTS % 2, k = at % PARTS;
                const int64_t column = first + 16 * p + k * (2 + far);
                if (IS_WHOLE || (rows[half] < m && column < n))
                    epilogue.template load_leaves<VECTOR_SIZE>(leaves[p][half][k], rows[half],
                                                               column,
                                                               IS_WHOLE ? VECTOR_SIZE : n - column);
            }
#pragma unroll
            for (int p = 0; p < PACKS; p++) {
                Sum values[2][4];
                exchange_pairs(values, pack + p, is_by_rows, params);
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    if (!IS_WHOLE && rows[half] >= m) continue;
                    const int64_t column = first + 16 * p;
#pragma unroll
                    for (int k = 0; k < PARTS; k++) {
                        if (!IS_WHOLE && column + k * (2 + far) >= n) continue;
                        const auto applied = epilogue.template applied<VECTOR_SIZE>(
                            leaves[p][half][k], values[half] + k * VECTOR_SIZE);
#pragma unroll
                        for (int e = 0; e < VECTOR_SIZE; e++)
                            values[half][k * VECTOR_SIZE + e] = applied.lane[e];
                    }
                    store_row<T, IS_WHOLE>(params,
                                           reinterpret_cast<T *>(params.c) + part.c +
                                               rows[half] * params.c_row + column * params.c_column,
                                           IS_WHOLE ? BLOCK_N : n - column, far, Sum(0),
                                           values[half]);
                }
            }
        }
    }

    // The values of pack `pack` as store_words stores them.
    template <class Params> __device__ __forceinline__ void
    exchange_pairs(Sum (&values)[2][4], int pack, bool is_by_rows, const Params &params) const {
        scale_pairs(values, factor_of<Sum>(params.alpha), 8 * pack);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (is_by_rows)
                exchange(values[0][k], values[1][k], 16);
            else
                exchange(values[k / 2][k % 2], values[k / 2][2 + k % 2], 1);
        }
    }

    // As store_halves. Leaves are read where values are stored: 8 neighbours of a row.
    template <class T, class Params, class Part, class Epilogue> __device__ __forceinline__ void
    store_whole_halves(const Params &params, const Part &part, const Epilogue &epilogue) const {
        constexpr int MOST = Epilogue::PACKS_AT_ONCE / 2; // packs of two rows each
        constexpr int PACKS = MOST < BLOCK_N / 32 ? MOST : BLOCK_N / 32;
        const int64_t first_row = part.row + Threads::first_row();
        const int64_t first_column = part.column + threadIdx.x % 4 * 8;
#pragma unroll
        for (int pack = 0; pack < BLOCK_N / 32; pack += PACKS) {
            typename Epilogue::template LeafPacks<8> leaves[PACKS][2];
#pragma unroll
            for (int at = 0; at < 2 * PACKS; at++)
                epilogue.template load_leaves<8>(leaves[at / 2][at % 2], first_row + row(at % 2),
                                                 first_column + 32 * (pack + at / 2), 8);
#pragma unroll
            for (int at = 0; at < 2 * PACKS; at++) {
                const int p = at / 2, half = at % 2;
                Pack<T, 2> pairs[4];
#pragma unroll
                for (int k = 0; k < 4; k++)
                    scale_pair<T, true>(pairs[k], params, static_cast<const T *>(nullptr), 2,
                                        this->at + 16 * (pack + p) + 4 * k + 2 * half);
                const Pack<uint32_t, 4> products = neighbours_of(pairs);
                const int64_t r = first_row + row(half);
                T *c = reinterpret_cast<T *>(params.c) + part.c + r * params.c_row;
                store_pack<StoreMode::WHOLE>(
                    c + first_column + 32 * (pack + p),
                    epilogue.template applied<8>(leaves[p][half],
                                                 reinterpret_cast<const T *>(products.lane)));
            }
        }
    }

    // Leaves are read where the pairs are, before these are exchanged: a thread that stores has the
    // values of the others, so these have read their leaves.
    template <class T, class Params, class Part, class Epilogue> __device__ __forceinline__ void
    store_applied_halves(const Params &params, const Part &part, const Epilogue &epilogue) const {
        constexpr int PAIRS = 4;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int64_t r = part.row + Threads::first_row() + row(half);
            const int64_t columns = r < int64_t(params.m) ? int64_t(params.n) - part.column : 0;
            T *c = reinterpret_cast<T *>(params.c) + part.c + r * params.c_row +
                   part.column * params.c_column;
#pragma unroll
            for (int first = 0; first < COUNT / 4; first += PAIRS) {
                typename Epilogue::template LeafPacks<2> leaves[PAIRS];
#pragma unroll
                for (int p = 0; p < PAIRS; p++) {
                    const int column = 8 * (first + p) + threadIdx.x % 4 * 2;
                    if (column < columns)
                        epilogue.template load_leaves<2>(leaves[p], r, part.column + column,
                                                         columns - column);
                }
                Pack<T, 2> pairs[PAIRS];
#pragma unroll
                for (int p = 0; p < PAIRS; p++) {
                    const int column = 8 * (first + p) + threadIdx.x % 4 * 2;
                    scale_pair<T, true>(pairs[p], params, c, columns - column,
                                        at + 4 * (first + p) + 2 * half);
                    if (column < columns)
                        pairs[p] = epilogue.template applied<2>(leaves[p], pairs[p].lane);
                }
                store_pairs(params, c, columns, pairs, first);
            }
        }
    }
};

} // namespace gpu::algos::matmul
