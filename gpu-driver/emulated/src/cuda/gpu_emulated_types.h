// The vector types, with CUDA's alignments, and the built-in variables.
#pragma once

// The members must lie as CUDA lays them out, because arrays of these types are shared with the host.
#define GPU_EMULATED_VECTORS(name, scalar, align1, align2, align3, align4)                                                   \
    struct alignas(align1) name##1 {                                                                                         \
        scalar x;                                                                                                            \
    };                                                                                                                       \
    struct alignas(align2) name##2 {                                                                                         \
        scalar x, y;                                                                                                         \
    };                                                                                                                       \
    struct alignas(align3) name##3 {                                                                                         \
        scalar x, y, z;                                                                                                      \
    };                                                                                                                       \
    struct alignas(align4) name##4 {                                                                                         \
        scalar x, y, z, w;                                                                                                   \
    };                                                                                                                       \
    GPU_EMULATED_INLINE constexpr name##1 make_##name##1(scalar x) { return {x}; }                                           \
    GPU_EMULATED_INLINE constexpr name##2 make_##name##2(scalar x, scalar y) { return {x, y}; }                              \
    GPU_EMULATED_INLINE constexpr name##3 make_##name##3(scalar x, scalar y, scalar z) { return {x, y, z}; }                 \
    GPU_EMULATED_INLINE constexpr name##4 make_##name##4(scalar x, scalar y, scalar z, scalar w) { return {x, y, z, w}; }
GPU_EMULATED_VECTORS(char, signed char, 1, 2, 1, 4)
GPU_EMULATED_VECTORS(uchar, unsigned char, 1, 2, 1, 4)
GPU_EMULATED_VECTORS(short, short, 2, 4, 2, 8)
GPU_EMULATED_VECTORS(ushort, unsigned short, 2, 4, 2, 8)
GPU_EMULATED_VECTORS(int, int, 4, 8, 4, 16)
GPU_EMULATED_VECTORS(uint, unsigned, 4, 8, 4, 16)
GPU_EMULATED_VECTORS(long, long, 8, 16, 8, 16)
GPU_EMULATED_VECTORS(ulong, unsigned long, 8, 16, 8, 16)
GPU_EMULATED_VECTORS(longlong, long long, 8, 16, 8, 16)
GPU_EMULATED_VECTORS(ulonglong, unsigned long long, 8, 16, 8, 16)
GPU_EMULATED_VECTORS(float, float, 4, 8, 4, 16)
GPU_EMULATED_VECTORS(double, double, 8, 16, 8, 16)
#undef GPU_EMULATED_VECTORS

// CUDA 13's names for four eight-byte numbers with the alignment spelled out.
#define GPU_EMULATED_VECTORS_OF_8(name, scalar, alignment)                                                                   \
    struct alignas(alignment) name##4_##alignment##a {                                                                       \
        scalar x, y, z, w;                                                                                                   \
    };                                                                                                                       \
    GPU_EMULATED_INLINE constexpr name##4_##alignment##a make_##name##4_##alignment##a(scalar x, scalar y, scalar z,         \
                                                                                       scalar w) {                           \
        return {x, y, z, w};                                                                                                 \
    }
GPU_EMULATED_VECTORS_OF_8(long, long, 16)
GPU_EMULATED_VECTORS_OF_8(long, long, 32)
GPU_EMULATED_VECTORS_OF_8(ulong, unsigned long, 16)
GPU_EMULATED_VECTORS_OF_8(ulong, unsigned long, 32)
GPU_EMULATED_VECTORS_OF_8(longlong, long long, 16)
GPU_EMULATED_VECTORS_OF_8(longlong, long long, 32)
GPU_EMULATED_VECTORS_OF_8(ulonglong, unsigned long long, 16)
GPU_EMULATED_VECTORS_OF_8(ulonglong, unsigned long long, 32)
GPU_EMULATED_VECTORS_OF_8(double, double, 16)
GPU_EMULATED_VECTORS_OF_8(double, double, 32)
#undef GPU_EMULATED_VECTORS_OF_8

struct dim3 {
    unsigned x, y, z;
    GPU_EMULATED_INLINE constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    GPU_EMULATED_INLINE constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    GPU_EMULATED_INLINE constexpr operator uint3() const { return {x, y, z}; }
};

// Written by the driver before it resumes a thread; to the thread itself they are constant.
uint3 threadIdx = {0, 0, 0}, blockIdx = {0, 0, 0};
dim3 blockDim, gridDim;
constexpr int warpSize = 32;

static_assert(sizeof(uint3) == sizeof(gpu_emulated::Index) && sizeof(dim3) == sizeof(gpu_emulated::Index), "one layout");
