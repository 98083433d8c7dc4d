// Products of tiles in shared memory by the tensor cores of Hopper: a warpgroup, four neighbouring
// warps of which the first is a multiple of four, multiplies 64 rows of `a` by N columns of `b` and
// adds them to sums in its registers, asynchronously (wgmma).
//
//     gpu::warpgroup_begin();                      // sums and shared memory are as written so far
//     // sums = a b, of 16 columns of a, and then of 16 more
//     gpu::multiply_add<gpu::BF16, false, false>(sums, a, b, false);
//     gpu::multiply_add<gpu::BF16, false, false>(sums, a.behind(32), b.behind(32), true);
//     gpu::warpgroup_commit();
//     gpu::warpgroup_wait<0>();                    // all groups but the last 0 are done
//
// Sum 4 j + 2 h + e of a thread is that of row 16 w + l / 4 + 8 h and column 8 j + l % 4 * 2 + e,
// with w the number of its warp in the warpgroup and l of its lane. Products are exact. They are
// added with the sum in an order of the hardware's, which keeps fewer bits of small terms and
// rounds towards zero; elsewhere, from the first to the last k with fused multiply-adds.
//
// Tiles lie in shared memory as `copy_box` brings them: rows of 128 or 64 bytes that are swizzled.
// With BF16 and F16 a step has 16 values along k, with TF32 8 of f32, whose 13 low bits are
// ignored.
//
// With S8 and U8, integers of 8 bits, a step has 32 values along k, and both tiles are `along_k`.
// Sums are uint32_t, the bits of int32_t: exact, modulo 2^32, in any order.
//
// Code for architecture 9.0 that is compiled with `Program::architecture_specific` has these
// instructions. Everywhere else, each thread reads the tiles and multiplies by itself.
//
// Source: PTX ISA, wgmma.mma_async; the layouts of its operands after CUTLASS's
// mma_sm90_desc.hpp (NVIDIA).
#pragma once
#include "tensor_copy.cuh"

namespace gpu {

// Types of the elements of tiles.
constexpr uint32_t BF16 = 0, F16 = 1, TF32 = 2, S8 = 3, U8 = 4;

// Bytes of an element, and the type of sums.
constexpr __host__ __device__ int bytes_of(uint32_t type) {
    return type == TF32 ? 4 : type == BF16 || type == F16 ? 2 : 1;
}
template <uint32_t TYPE> struct SumOf {
    typedef float type;
};
template <> struct SumOf<S8> {
    typedef uint32_t type;
};
template <> struct SumOf<U8> {
    typedef uint32_t type;
};

#if !defined(GPU_EMULATED) && defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define GPU_WARPGROUPS
#endif

// The place of a tile in shared memory. Elements along k are neighbours in a tile of `along_k`, and
// those along rows of a, or columns of b, in a tile of `across_k`.
struct TilePlace {
#ifdef GPU_WARPGROUPS
    uint64_t word;

    __device__ __forceinline__ TilePlace behind(int bytes) const {
        return {word + uint64_t(bytes >> 4)};
    }
#else
    const unsigned char *first;
    int row_bytes, panel_bytes;

    __device__ __forceinline__ TilePlace behind(int bytes) const {
        return {first + bytes, row_bytes, panel_bytes};
    }
    // The chunk of 16 bytes that holds the byte `offset` behind the first, and the byte in it.
    __device__ __forceinline__ uint4 chunk(uint32_t offset) const {
        const uint64_t at = reinterpret_cast<uint64_t>(first) + offset;
        const uint64_t mask = row_bytes == 128 ? 7 : 3;
        return *reinterpret_cast<const uint4 *>((at ^ ((at >> 7 & mask) << 4)) & ~uint64_t(15));
    }
    // Bytes to the row, or the column of b, at `place`: where elements across k are neighbours they
    // have 2 bytes, and a panel has 64 of them.
    template <bool ACROSS> __device__ __forceinline__ uint32_t across(int place) const {
        return ACROSS ? place / 64 * panel_bytes + place % 64 * 2 : place * row_bytes;
    }
#endif
};

// A tile of rows of ROW_BYTES, 128 or 64, along k. 32 bytes behind it are the values of the next
// step along k; 8 ROW_BYTES behind it is the eighth row.
template <int ROW_BYTES> __device__ __forceinline__ TilePlace along_k(const void *tile) {
    static_assert(ROW_BYTES == 128 || ROW_BYTES == 64, "swizzled rows");
#ifdef GPU_WARPGROUPS
    const uint64_t at = uint32_t(__cvta_generic_to_shared(tile)) >> 4 & 0x3fff;
    return {at | uint64_t(1) << 16 | uint64_t(8 * ROW_BYTES >> 4) << 32 |
            uint64_t(ROW_BYTES == 128 ? 1 : 2) << 62};
#else
    return {static_cast<const unsigned char *>(tile), ROW_BYTES, 0};
#endif
}

// A tile of elements of 2 bytes in panels of 64 across k: a panel has a row of 128 bytes for each
// value along k. 2048 bytes behind it are the values of the next step along k; `panel_bytes` lie
// between two panels.
__device__ __forceinline__ TilePlace across_k(const void *tile, int panel_bytes) {
#ifdef GPU_WARPGROUPS
    const uint64_t at = uint32_t(__cvta_generic_to_shared(tile)) >> 4 & 0x3fff;
    return {at | uint64_t(panel_bytes >> 4) << 16 | uint64_t(1024 >> 4) << 32 | uint64_t(1) << 62};
#else
    return {static_cast<const unsigned char *>(tile), 128, panel_bytes};
#endif
}

// Earlier writes of this thread to sums, and to registers that are factors, come before the
// products that follow.
__device__ __forceinline__ void warpgroup_begin() {
#ifdef GPU_WARPGROUPS
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

// The products since the last call are one group.
__device__ __forceinline__ void warpgroup_commit() {
#ifdef GPU_WARPGROUPS
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

// Waits for all groups but the last LEFT. Sums, and the tiles that were read, are free then.
template <int LEFT> __device__ __forceinline__ void warpgroup_wait() {
#ifdef GPU_WARPGROUPS
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
#endif
}

// Gives registers of the warpgroup's threads to others of the block, or takes such: each thread has
// COUNT then, a multiple of 8. The kernel has launch bounds.
template <int COUNT> __device__ __forceinline__ void fewer_registers() {
#ifdef GPU_WARPGROUPS
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
#endif
}
template <int COUNT> __device__ __forceinline__ void more_registers() {
#ifdef GPU_WARPGROUPS
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
#endif
}

// An f32 rounded to the 11 bits of TF32, ties away from zero; its low bits are 0. NaN stays NaN,
// and numbers that round beyond the largest one become infinite.
__device__ __forceinline__ uint32_t round_to_tf32(float x) {
#if !defined(GPU_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    uint32_t rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
    return rounded;
#else
    const uint32_t bits = __float_as_uint(x);
    if ((bits & 0x7f800000) == 0x7f800000) return bits & 0x7fffff ? 0x7fffe000 : bits;
    return (bits + 0x1000) & 0xffffe000;
#endif
}

// As round_to_tf32, but for the low bits, which tensor cores ignore: they are any.
__device__ __forceinline__ uint32_t nearest_tf32(float x) {
    const uint32_t bits = __float_as_uint(x);
    // A comparison of floats is one instruction, that of their bits two.
    return fabsf(x) < __uint_as_float(0x7f800000) ? bits + 0x1000 : bits;
}

#ifdef GPU_WARPGROUPS

#define GPU_PLACES_32                                                                              \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                       \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define GPU_PLACES_64                                                                              \
    GPU_PLACES_32                                                                                  \
    ", "                                                                                           \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "             \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define GPU_PLACES_128                                                                             \
    GPU_PLACES_64                                                                                  \
    ", "                                                                                           \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "             \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "             \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, "       \
    "%111, "                                                                                       \
    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, "         \
    "%126, %127"
// KIND is the constraint of a sum: "+f", or "+r" for integers.
#define GPU_SUMS_8(KIND, i)                                                                        \
    KIND(sums[i]), KIND(sums[i + 1]), KIND(sums[i + 2]), KIND(sums[i + 3]), KIND(sums[i + 4]),     \
        KIND(sums[i + 5]), KIND(sums[i + 6]), KIND(sums[i + 7])
#define GPU_SUMS_32(KIND, i)                                                                       \
    GPU_SUMS_8(KIND, i), GPU_SUMS_8(KIND, i + 8), GPU_SUMS_8(KIND, i + 16), GPU_SUMS_8(KIND, i + 24)
#define GPU_SUMS_64(KIND, i) GPU_SUMS_32(KIND, i), GPU_SUMS_32(KIND, i + 32)
#define GPU_SUMS_128(KIND, i) GPU_SUMS_64(KIND, i), GPU_SUMS_64(KIND, i + 64)

// N columns with COUNT sums of a thread; P0 and the next are the places behind those of the sums.
#define GPU_MULTIPLY_16(COUNT, N, TYPE, P0, P1, P2, P3, P4)                                        \
    asm volatile("{\n.reg .pred adds;\nsetp.ne.b32 adds, %" P2 ", 0;\n"                            \
                 "wgmma.mma_async.sync.aligned.m64n" N "k16.f32." TYPE "." TYPE                    \
                 " {" GPU_PLACES_##COUNT "}, %" P0 ", %" P1 ", adds, 1, 1, %" P3 ", %" P4 ";\n}"   \
                 : GPU_SUMS_##COUNT("+f", 0)                                                       \
                 : "l"(a.word), "l"(b.word), "r"(int(accumulate)), "n"(int(A_ACROSS)),             \
                   "n"(int(B_ACROSS)))
#define GPU_MULTIPLY_TF32(COUNT, N, P0, P1, P2)                                                    \
    asm volatile("{\n.reg .pred adds;\nsetp.ne.b32 adds, %" P2 ", 0;\n"                            \
                 "wgmma.mma_async.sync.aligned.m64n" N "k8.f32.tf32.tf32 {" GPU_PLACES_##COUNT     \
                 "}, %" P0 ", %" P1 ", adds, 1, 1;\n}"                                             \
                 : GPU_SUMS_##COUNT("+f", 0)                                                       \
                 : "l"(a.word), "l"(b.word), "r"(int(accumulate)))
#define GPU_MULTIPLY_ROWS(COUNT, N, P0, P1, P2, P3, P4, P5)                                        \
    asm volatile("{\n.reg .pred adds;\nsetp.ne.b32 adds, %" P5 ", 0;\n"                            \
                 "wgmma.mma_async.sync.aligned.m64n" N "k8.f32.tf32.tf32 {" GPU_PLACES_##COUNT     \
                 "}, {%" P0 ", %" P1 ", %" P2 ", %" P3 "}, %" P4 ", adds, 1, 1;\n}"                \
                 : GPU_SUMS_##COUNT("+f", 0)                                                       \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.word), "r"(int(accumulate)))
#define GPU_MULTIPLY_8(COUNT, N, TYPE, P0, P1, P2)                                                 \
    asm volatile("{\n.reg .pred adds;\nsetp.ne.b32 adds, %" P2 ", 0;\n"                            \
                 "wgmma.mma_async.sync.aligned.m64n" N "k32.s32." TYPE "." TYPE                    \
                 " {" GPU_PLACES_##COUNT "}, %" P0 ", %" P1 ", adds;\n}"                           \
                 : GPU_SUMS_##COUNT("+r", 0)                                                       \
                 : "l"(a.word), "l"(b.word), "r"(int(accumulate)))

#else

// Reads by a thread of the elements that it multiplies, in chunks of 16 bytes.
template <uint32_t TYPE, bool ACROSS> struct TileReader {
    static constexpr int BYTES = bytes_of(TYPE), STEP = 32 / BYTES;
    typedef typename SumOf<TYPE>::type Value;

    static __device__ __forceinline__ Value value(const uint4 &chunk, int byte) {
        const uint32_t words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
        const uint32_t word = words[byte >> 2];
        if constexpr (BYTES == 1) {
            const uint32_t bits = word >> byte % 4 * 8 & 255;
            return TYPE == S8 ? (bits ^ 128) - 128 : bits;
        } else {
            return float_value(word, byte);
        }
    }
    static __device__ __forceinline__ float float_value(uint32_t word, int byte) {
        if constexpr (TYPE == TF32) return __uint_as_float(word & 0xffffe000);
        const uint32_t half = byte & 2 ? word >> 16 : word & 0xffff;
        if constexpr (TYPE == BF16) return __uint_as_float(half << 16);
        // A half of exponent 0 is a multiple of 2^-24.
        const uint32_t exponent = half >> 10 & 31, bits = half & 1023, sign = half >> 15 << 31;
        if (exponent == 0) return __uint_as_float(sign | __float_as_uint(float(bits) * 0x1p-24f));
        return __uint_as_float(sign | (exponent == 31 ? 255 : exponent + 112) << 23 | bits << 13);
    }
    // The values along k of a row of a.
    static __device__ __forceinline__ void line(const TilePlace &tile, int at,
                                                Value (&values)[STEP]) {
        if constexpr (ACROSS) {
            for (int k = 0; k < STEP; k++) {
                const int offset = tile.template across<true>(at) + k * 128;
                values[k] = value(tile.chunk(offset), offset & 15);
            }
        } else {
            const int first = tile.template across<false>(at);
            for (int byte = 0; byte < STEP * BYTES; byte += 16) {
                const uint4 chunk = tile.chunk(first + byte);
                for (int k = 0; k < 16 / BYTES; k++)
                    values[byte / BYTES + k] = value(chunk, k * BYTES);
            }
        }
    }
    // The values along k of two neighbouring columns of b, the first of them even.
    static __device__ __forceinline__ void lines(const TilePlace &tile, int at,
                                                 Value (&values)[2][STEP]) {
        if constexpr (ACROSS) {
            for (int k = 0; k < STEP; k++) {
                const int offset = tile.template across<true>(at) + k * 128;
                const uint4 chunk = tile.chunk(offset);
                for (int e = 0; e < 2; e++) values[e][k] = value(chunk, (offset & 15) + 2 * e);
            }
        } else {
            for (int e = 0; e < 2; e++) line(tile, at + e, values[e]);
        }
    }
};

__device__ __forceinline__ float add_product(float sum, float a, float b) {
    return __fmaf_rn(a, b, sum);
}
__device__ __forceinline__ uint32_t add_product(uint32_t sum, uint32_t a, uint32_t b) {
    return sum + a * b;
}

// sums (+)= a b by each thread, with the rows of a given.
template <uint32_t TYPE, bool B_ACROSS, class Sum, int COUNT, int STEP>
__device__ __forceinline__ void multiply_by_thread(Sum (&sums)[COUNT], const Sum (&a)[2][STEP],
                                                   const TilePlace &b, bool accumulate) {
    const int lane = threadIdx.x % 32;
    for (int j = 0; j < COUNT / 4; j++) {
        Sum columns[2][STEP];
        TileReader<TYPE, B_ACROSS>::lines(b, 8 * j + lane % 4 * 2, columns);
        for (int at = 0; at < 4; at++) {
            Sum &sum = sums[4 * j + at];
            if (!accumulate) sum = Sum(0);
            for (int k = 0; k < STEP; k++) sum = add_product(sum, a[at / 2][k], columns[at % 2][k]);
        }
    }
}

#endif

// sums = a b, or sums += a b, for 2 COUNT columns: 64, 128 or 256. All threads of a warpgroup call
// it. With TF32, S8 and U8 both tiles are `along_k`.
template <uint32_t TYPE, bool A_ACROSS, bool B_ACROSS, int COUNT>
__device__ __forceinline__ void multiply_add(typename SumOf<TYPE>::type (&sums)[COUNT],
                                             const TilePlace &a, const TilePlace &b,
                                             bool accumulate) {
    static_assert(COUNT == 32 || COUNT == 64 || COUNT == 128, "columns of a product");
    static_assert(bytes_of(TYPE) == 2 || (!A_ACROSS && !B_ACROSS), "tiles of f32, s8, u8: along k");
#ifdef GPU_WARPGROUPS
    if constexpr (TYPE == S8) {
        if constexpr (COUNT == 32) GPU_MULTIPLY_8(32, "64", "s8", "32", "33", "34");
        if constexpr (COUNT == 64) GPU_MULTIPLY_8(64, "128", "s8", "64", "65", "66");
        if constexpr (COUNT == 128) GPU_MULTIPLY_8(128, "256", "s8", "128", "129", "130");
    } else if constexpr (TYPE == U8) {
        if constexpr (COUNT == 32) GPU_MULTIPLY_8(32, "64", "u8", "32", "33", "34");
        if constexpr (COUNT == 64) GPU_MULTIPLY_8(64, "128", "u8", "64", "65", "66");
        if constexpr (COUNT == 128) GPU_MULTIPLY_8(128, "256", "u8", "128", "129", "130");
    } else if constexpr (TYPE == TF32) {
        if constexpr (COUNT == 32) GPU_MULTIPLY_TF32(32, "64", "32", "33", "34");
        if constexpr (COUNT == 64) GPU_MULTIPLY_TF32(64, "128", "64", "65", "66");
        if constexpr (COUNT == 128) GPU_MULTIPLY_TF32(128, "256", "128", "129", "130");
    } else if constexpr (TYPE == BF16) {
        if constexpr (COUNT == 32) GPU_MULTIPLY_16(32, "64", "bf16", "32", "33", "34", "35", "36");
        if constexpr (COUNT == 64) GPU_MULTIPLY_16(64, "128", "bf16", "64", "65", "66", "67", "68");
        if constexpr (COUNT == 128)
            GPU_MULTIPLY_16(128, "256", "bf16", "128", "129", "130", "131", "132");
    } else {
        if constexpr (COUNT == 32) GPU_MULTIPLY_16(32, "64", "f16", "32", "33", "34", "35", "36");
        if constexpr (COUNT == 64) GPU_MULTIPLY_16(64, "128", "f16", "64", "65", "66", "67", "68");
        if constexpr (COUNT == 128)
            GPU_MULTIPLY_16(128, "256", "f16", "128", "129", "130", "131", "132");
    }
#else
    typedef TileReader<TYPE, A_ACROSS> Reader;
    typename Reader::Value rows[2][Reader::STEP];
    const int row = threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
    Reader::line(a, row, rows[0]);
    Reader::line(a, row + 8, rows[1]);
    multiply_by_thread<TYPE, B_ACROSS>(sums, rows, b, accumulate);
#endif
}

// The same in TF32, with the rows of a in registers: a[h + 2 g] is that of the row 16 w + l / 4 + 8
// h at k = l % 4 + 4 g, an f32 whose low bits are ignored.
template <int COUNT>
__device__ __forceinline__ void multiply_add_rows(float (&sums)[COUNT], const uint32_t (&a)[4],
                                                  const TilePlace &b, bool accumulate) {
    static_assert(COUNT == 32 || COUNT == 64 || COUNT == 128, "columns of a product");
#ifdef GPU_WARPGROUPS
    if constexpr (COUNT == 32) GPU_MULTIPLY_ROWS(32, "64", "32", "33", "34", "35", "36", "37");
    if constexpr (COUNT == 64) GPU_MULTIPLY_ROWS(64, "128", "64", "65", "66", "67", "68", "69");
    if constexpr (COUNT == 128)
        GPU_MULTIPLY_ROWS(128, "256", "128", "129", "130", "131", "132", "133");
#else
    float rows[2][8];
    const int first = threadIdx.x % 32 / 4 * 4;
    for (int k = 0; k < 8; k++) {
        for (int h = 0; h < 2; h++) {
            const uint32_t word = __shfl_sync(0xffffffffu, a[h + k / 4 * 2], first + k % 4);
            rows[h][k] = __uint_as_float(word & 0xffffe000);
        }
    }
    multiply_by_thread<TF32, false>(sums, rows, b, accumulate);
#endif
}

} // namespace gpu
