// Loads and stores of tiles, several neighbours at an access.
//
// #include "block/vector_io.cuh"
//
// A tile is THREADS * VECTOR_SIZE * VECTORS_PER_THREAD neighbouring values of an array. Each warp
// has a part of it to itself; a thread has vectors of VECTOR_SIZE neighbours, 32 vectors apart, so
// that the accesses of a warp are contiguous. Tiles may be cut at either end of the array.
//
// Accesses of whole vectors need addresses that are multiples of a vector's bytes (16 at most). So
// the first tile begins `unaligned_before(array)` values before the array. There are at most
// ceil((count + VECTOR_SIZE - 1) / SIZE) tiles. A value has 1, 2, 4, 8 or 16 bytes, and a vector at
// most 16 or a multiple of that:
//
//   typedef gpu::block::VectorTile<float, 256, 4, 2> Tile;   // 2048 values
//   const int64_t start = int64_t(tile) * Tile::SIZE - Tile::unaligned_before(x);
//   Tile values;
//   values.load(x, start, count, 0.0f);
//   ...
//   values.store(out, start, count);
//
// Cost: an access of up to 16 bytes for each part of a vector; no register beside the values.
#pragma once
#include "packs.cuh"

namespace gpu {
namespace block {

// The values of a thread of a tile, for arrays of T. THREADS is a multiple of 32.
template <class T, int THREADS, int VECTOR_SIZE, int VECTORS_PER_THREAD> struct VectorTile {
    static constexpr int SIZE = THREADS * VECTOR_SIZE * VECTORS_PER_THREAD;
    static_assert(THREADS % 32 == 0, "whole warps");
    static_assert((sizeof(T) & (sizeof(T) - 1)) == 0 &&
                      sizeof(Pack<T, VECTOR_SIZE>) == VECTOR_SIZE * sizeof(T),
                  "values whose bytes are a power of 2, in vectors without padding");
    Pack<T, VECTOR_SIZE> vectors[VECTORS_PER_THREAD];

    // Number of values between the last aligned vector that begins at or before `array`, and it.
    static __device__ __forceinline__ int64_t unaligned_before(const T *array) {
        return int64_t(reinterpret_cast<uint64_t>(array) % alignof(Pack<T, VECTOR_SIZE>) /
                       sizeof(T));
    }
    // The number in the array of value `k` of vector `u`, in a tile that begins at value `start`.
    static __device__ __forceinline__ int64_t index(int64_t start, int u, int k) {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        return start + int64_t((warp * VECTORS_PER_THREAD + u) * 32 + lane) * VECTOR_SIZE + k;
    }
    // Loads the tile that begins at value `start` of an array of `count`; values that do not exist
    // are `other`. Any thread calls it; it does not synchronise. All loads precede their first use.
    __device__ __forceinline__ void load(const T *array, int64_t start, int64_t count,
                                         const T &other) {
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            const int64_t i = index(start, u, 0);
            if (is_whole(array, i, count)) {
                vectors[u] = load_pack<T, VECTOR_SIZE>(array + i);
                continue;
            }
#pragma unroll
            for (int k = 0; k < VECTOR_SIZE; k++)
                vectors[u].lane[k] = i + k >= 0 && i + k < count ? array[i + k] : other;
        }
    }
    // Stores the tile; values that do not exist are left out. Any thread calls it; it does not
    // synchronise.
    __device__ __forceinline__ void store(T *array, int64_t start, int64_t count) const {
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            const int64_t i = index(start, u, 0);
            if (is_whole(array, i, count)) {
                store_pack(array + i, vectors[u]);
                continue;
            }
#pragma unroll
            for (int k = 0; k < VECTOR_SIZE; k++) {
                if (i + k >= 0 && i + k < count) array[i + k] = vectors[u].lane[k];
            }
        }
    }

  private:
    // Whether the vector at value i exists as a whole, at an aligned address.
    static __device__ __forceinline__ bool is_whole(const T *array, int64_t i, int64_t count) {
        const uint64_t address = reinterpret_cast<uint64_t>(array) + uint64_t(i) * sizeof(T);
        return i >= 0 && i + VECTOR_SIZE <= count && address % alignof(Pack<T, VECTOR_SIZE>) == 0;
    }
};

} // namespace block
} // namespace gpu
