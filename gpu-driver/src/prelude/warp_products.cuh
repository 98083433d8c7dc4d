// Products of tiles in shared memory by the tensor cores of architectures from 8.0 on: a warp
// multiplies rows of `a` by columns of `b`, 32 bytes along k at a time, and adds them to sums in
// its registers (mma.sync).
//
//     // sums += a b, of rows 32 to 63 of a, columns 0 to 31 of b, and 2 x 16 values along k
//     float sums[2][16] = {};
//     gpu::WarpFactors<gpu::BF16, false, false, 2, 16> factors;
//     for (int step = 0; step < 2; step++) {
//         factors.load(a, 32, b, 0, step);
//         factors.add_products(sums);
//     }
//
// Sum [i][4 j + 2 h + e] of a thread is that of row 16 i + l / 4 + 8 h and column 8 j + l % 4 * 2 +
// e behind the first ones, with l the number of its lane. Tiles, types and steps are those of
// warpgroup.cuh, whose sums lie likewise; so do the words about rounding.
//
// All lanes of a warp call both. A program that is `Program::architecture_specific` for
// architecture 9.0 has places of tiles of another kind, and not this header.
//
// Source: PTX ISA, mma and ldmatrix.
#pragma once
#include "warpgroup.cuh"
#ifdef GPU_WARPGROUPS
#error "warp_products.cuh has no places of tiles in a program that is architecture_specific"
#endif

namespace gpu {

#if !defined(GPU_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define GPU_WARP_PRODUCTS

// Four matrices of 8 rows of 16 bytes: lane l gives the address of row l % 8 of matrix l / 8, and
// gets the word l % 4 of row l / 4 of each. With TRANSPOSED it gets the elements l / 4, of 2 bytes,
// of row l % 4 * 2 and the next.
template <bool TRANSPOSED>
__device__ __forceinline__ void load_matrices(uint32_t (&to)[4], uint32_t row) {
    if constexpr (TRANSPOSED) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(row));
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(row));
    }
}

// The addresses that this lane gives for groups of 16 rows of a, or columns of b, from `first` on.
// In step 0 of a tile that is along k it is the chunk `along` of 16 bytes of the row `across` of a
// group; of one across k it is the chunk of 8 rows from `across` on, at the k of this lane among
// the 8 values number `along`.
template <uint32_t TYPE, bool ACROSS> struct MatrixRows {
    uint32_t base, chunk; // bytes to the row, and in it to the chunk as it is swizzled
    int panel_bytes;

    __device__ __forceinline__ MatrixRows(const TilePlace &tile, int first, int across, int along)
        : panel_bytes(tile.panel_bytes) {
        const int swizzle = threadIdx.x % 8;
        base = uint32_t(__cvta_generic_to_shared(tile.first));
        if constexpr (ACROSS) {
            base += first / 64 * panel_bytes + (along * 8 + swizzle) * 128;
            chunk = ((first % 64 + across) / 8 ^ swizzle) * 16;
        } else {
            base += (first + across) * 128;
            chunk = (along ^ swizzle) * 16;
        }
    }
    __device__ __forceinline__ uint32_t at(int group, int step) const {
        if constexpr (ACROSS)
            return base + (chunk ^ group % 4 * 32) + group / 4 * panel_bytes +
                   step * (32 / bytes_of(TYPE)) * 128;
        return base + (chunk ^ step * 32) + group * 16 * 128;
    }
};

#define GPU_MULTIPLY_MATRICES(SHAPE, TYPES, KIND)                                                  \
    asm("mma.sync.aligned." SHAPE ".row.col." TYPES " {%0, %1, %2, %3}, "                          \
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                                            \
        : KIND(sums[0]), KIND(sums[1]), KIND(sums[2]), KIND(sums[3])                               \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
template <uint32_t TYPE> __device__
__forceinline__ void multiply_matrices(typename SumOf<TYPE>::type *sums, const uint32_t (&a)[4],
                                       const uint32_t *b) {
    if constexpr (TYPE == TF32)
        GPU_MULTIPLY_MATRICES("m16n8k8", "f32.tf32.tf32.f32", "+f");
    else if constexpr (TYPE == BF16)
        GPU_MULTIPLY_MATRICES("m16n8k16", "f32.bf16.bf16.f32", "+f");
    else if constexpr (TYPE == F16)
        GPU_MULTIPLY_MATRICES("m16n8k16", "f32.f16.f16.f32", "+f");
    else if constexpr (TYPE == S8)
        GPU_MULTIPLY_MATRICES("m16n8k32", "s32.s8.s8.s32", "+r");
    else
        GPU_MULTIPLY_MATRICES("m16n8k32", "s32.u8.u8.s32", "+r");
}

#endif

// The factors that a warp multiplies at once: of 16 ROWS rows of a and 2 COUNT columns of b, a step
// along k. A tile is `across_k` where ACROSS, with BF16 and F16 alone. Tiles begin at multiples of
// 1024 bytes and have rows of 128. The first row or column is a multiple of 8, and of 64 in a tile
// that is `across_k`; there also of 32 for 32 rows or columns, and of 16 for 16.
template <uint32_t TYPE, bool A_ACROSS, bool B_ACROSS, int ROWS, int COUNT> struct WarpFactors {
    static_assert(COUNT % 8 == 0, "pairs of matrices of 8 columns");
    static_assert(bytes_of(TYPE) == 2 || (!A_ACROSS && !B_ACROSS), "tiles of f32, s8, u8: along k");
    typedef typename SumOf<TYPE>::type Sum;
#ifdef GPU_WARP_PRODUCTS
    // Matrices of a: rows 0 to 7 and 8 to 15 of the first 16 bytes along k, and of the second; of
    // b: both 16 bytes of columns 0 to 7, and of 8 to 15.
    uint32_t left[ROWS][4], right[COUNT / 8][4];

    // Loads step number `step` of rows of a from `row` on and columns of b from `column` on.
    __device__ __forceinline__ void load(const TilePlace &a, int row, const TilePlace &b,
                                         int column, int step) {
        const int lane = threadIdx.x % 32, second = lane / 8 % 2, third = lane / 16;
        const int in_matrix_a = A_ACROSS ? second * 8 : lane % 16;
        const int in_matrix_b = B_ACROSS ? third * 8 : third * 8 + lane % 8;
        const MatrixRows<TYPE, A_ACROSS> rows(a, row, in_matrix_a, third);
        const MatrixRows<TYPE, B_ACROSS> columns(b, column, in_matrix_b, second);
#pragma unroll
        for (int i = 0; i < ROWS; i++) load_matrices<A_ACROSS>(left[i], rows.at(i, step));
#pragma unroll
        for (int j = 0; j < COUNT / 8; j++) load_matrices<B_ACROSS>(right[j], columns.at(j, step));
    }

    // sums += a b.
    __device__ __forceinline__ void add_products(Sum (&sums)[ROWS][COUNT]) const {
#pragma unroll
        for (int j = 0; j < COUNT / 8; j++) {
#pragma unroll
            for (int i = 0; i < ROWS; i++) {
                multiply_matrices<TYPE>(sums[i] + 8 * j, left[i], right[j]);
                multiply_matrices<TYPE>(sums[i] + 8 * j + 4, left[i], right[j] + 2);
            }
        }
    }
#else
    typedef TileReader<TYPE, A_ACROSS> Reader;
    Sum left[ROWS][2][Reader::STEP], right[COUNT / 4][2][Reader::STEP];

    __device__ __forceinline__ void load(const TilePlace &a, int row, const TilePlace &b,
                                         int column, int step) {
        const int lane = threadIdx.x % 32;
        const TilePlace rows = a.behind(step * (A_ACROSS ? Reader::STEP * 128 : 32)),
                        columns = b.behind(step * (B_ACROSS ? Reader::STEP * 128 : 32));
        // Rows or columns that are not those of one panel, or of whole panels.
        const auto is_apart = [](int first, int count) {
            return first % 64 != 0 && (first % count != 0 || count > 32);
        };
        if ((A_ACROSS && is_apart(row, 16 * ROWS)) || (B_ACROSS && is_apart(column, 2 * COUNT)))
            __trap();
        for (int i = 0; i < ROWS; i++) {
            for (int h = 0; h < 2; h++)
                Reader::line(rows, row + 16 * i + lane / 4 + 8 * h, left[i][h]);
        }
        for (int j = 0; j < COUNT / 4; j++)
            TileReader<TYPE, B_ACROSS>::lines(columns, column + 8 * j + lane % 4 * 2, right[j]);
    }
    __device__ __forceinline__ void add_products(Sum (&sums)[ROWS][COUNT]) const {
        for (int i = 0; i < ROWS; i++) {
            for (int at = 0; at < COUNT; at++) {
                for (int k = 0; k < Reader::STEP; k++)
                    sums[i][at] =
                        add_product(sums[i][at], left[i][at / 2 % 2][k], right[at / 4][at % 2][k]);
            }
        }
    }
#endif
};

} // namespace gpu
