// Tiles of an array that come into shared memory while the block does something else.
//
// #include "block/staged_tiles.cuh"
//
// The copies hold no registers on the way. A block has several stages: while it works on the tile
// of one, the tiles of others are in flight. A thread reads VECTORS_PER_THREAD neighbouring vectors
// of VECTOR_SIZE values, which scans want; with vectors of 16 bytes without conflicts of banks.
//
//   typedef gpu::block::StagedTiles<float, 256, 4, 2, 3> Tiles;   // 3 stages of 2048 values
//   SHARED_DYNAMIC(uint4, dynamic);                                // Tiles::BYTES bytes
//   const Tiles tiles = {reinterpret_cast<float *>(dynamic)};
//   tiles.start(x, first * Tiles::SIZE, count, 0);
//   tiles.start(x, (first + 1) * Tiles::SIZE, count, 1);
//   for (int number = 0; number < mine; number++) {
//       Tiles::wait<1>();                                          // all batches but the last one
//       const auto values = tiles.read(number % 3, 0);             // the thread's first vector
//       ...
//       tiles.start(x, (first + number + 2) * Tiles::SIZE, count, (number + 2) % 3);
//   }
//   Tiles::wait<0>();
//
// `StagedTile` is one tile by itself, for kernels with several arrays, or stages of other layouts.
//
// Cost: copies of 16 bytes, where the addresses are multiples of that; one barrier for each tile.
// On devices without asynchronous copies `start` waits for them.
#pragma once
#include "packs.cuh"

namespace gpu {
namespace block {

// Position of vector `vector` of a tile in its buffer, for threads that read VECTORS_PER_THREAD
// neighbours each. Neither neighbours nor every VECTORS_PER_THREAD-th vector of 16 bytes share a
// bank.
template <int VECTORS_PER_THREAD> __device__ __forceinline__ int swizzled(int vector) {
    static_assert(VECTORS_PER_THREAD <= 8 && (VECTORS_PER_THREAD & (VECTORS_PER_THREAD - 1)) == 0,
                  "vectors of a thread are told apart by the low bits of a position");
    return vector ^ ((vector >> 3) & (VECTORS_PER_THREAD - 1));
}

// A tile in shared memory, whose vectors stand at swizzled positions. Each thread calls the methods
// for vectors of its choice; none synchronises.
template <class T, int VECTOR_SIZE, int VECTORS_PER_THREAD> struct StagedTile {
    static constexpr int VECTOR_BYTES = VECTOR_SIZE * int(sizeof(T));

    // Shared memory, aligned to 16 bytes.
    T *values;

    // The address of a vector.
    __device__ __forceinline__ T *at(int vector) const {
        return values + swizzled<VECTORS_PER_THREAD>(vector) * VECTOR_SIZE;
    }
    __device__ __forceinline__ Pack<T, VECTOR_SIZE> read(int vector) const {
        return load_pack<T, VECTOR_SIZE>(at(vector));
    }
    __device__ __forceinline__ void write(int vector, const Pack<T, VECTOR_SIZE> &from) const {
        store_pack(at(vector), from);
    }
    // Starts the copy of a vector that begins with value `i` of an array of `count`; values that do
    // not exist are T(). The address of a whole vector is a multiple of its bytes, unless
    // `is_aligned` is false: then nothing is copied asynchronously. With BACKWARD value i is
    // `array[-i]`, and the values of a vector stand in the order of memory. The caller ends the
    // batch of copies with `end_batch_of_copies`, which waits are for.
    template <bool BACKWARD = false> __device__ __forceinline__ void
    start_copy(int vector, const T *array, int64_t i, int64_t count, bool is_aligned = true) const {
        static_assert(VECTOR_BYTES == 4 || VECTOR_BYTES == 8 || VECTOR_BYTES == 16,
                      "a copy has 4, 8 or 16 bytes");
        T *to = at(vector);
        if (i >= 0 && i + VECTOR_SIZE <= count && is_aligned) {
            copy_to_shared<VECTOR_BYTES>(to, BACKWARD ? array - (i + VECTOR_SIZE - 1) : array + i);
            return;
        }
#pragma unroll
        for (int k = 0; k < VECTOR_SIZE; k++) {
            const bool exists = i + k >= 0 && i + k < count;
            to[BACKWARD ? VECTOR_SIZE - 1 - k : k] =
                exists ? array[BACKWARD ? -(i + k) : i + k] : T();
        }
    }
};

// The layout of the tiles of several arrays in shared memory. Array 0 has STAGES buffers, since
// results replace its values; each other one has LOADING, for the tiles in flight and the one that
// is read. Buffers tells the bytes of a buffer of array K, `bytes<K>()`.
template <class Buffers, int STAGES, int LOADING> struct StageLayout {
    // Bytes before the buffers of array K; before the end, if there are K arrays.
    template <int K> static constexpr int start() {
        if constexpr (K == 0) {
            return 0;
        } else {
            return start<K - 1>() + (K == 1 ? STAGES : LOADING) * Buffers::template bytes<K - 1>();
        }
    }
};

// STAGES tiles of THREADS * VECTOR_SIZE * VECTORS_PER_THREAD values each, for a block of THREADS.
// VECTORS_PER_THREAD is a power of 2, at most 8; a vector has 4, 8 or 16 bytes.
template <class T, int THREADS, int VECTOR_SIZE, int VECTORS_PER_THREAD, int STAGES>
struct StagedTiles {
    typedef StagedTile<T, VECTOR_SIZE, VECTORS_PER_THREAD> Tile;
    static constexpr int SIZE = THREADS * VECTOR_SIZE * VECTORS_PER_THREAD;
    static_assert(Tile::VECTOR_BYTES == 4 || Tile::VECTOR_BYTES == 8 || Tile::VECTOR_BYTES == 16,
                  "a vector has 4, 8 or 16 bytes");
    // Bytes of shared memory.
    static constexpr int BYTES = STAGES * SIZE * int(sizeof(T));

    // Shared memory, aligned to 16 bytes.
    T *storage;

    // The tile in a stage.
    __device__ __forceinline__ Tile tile(int stage) const { return {storage + stage * SIZE}; }
    // Starts the copies of the tile that begins at value `start` of an array of `count`, as one
    // batch; values that do not exist are T(). All threads call it, when the block has read the
    // stage's tile before; it does not synchronise.
    __device__ __forceinline__ void start(const T *array, int64_t start, int64_t count,
                                          int stage) const {
#pragma unroll
        for (int u = 0; u < VECTORS_PER_THREAD; u++) {
            const int vector = u * THREADS + int(threadIdx.x);
            const int64_t i = start + int64_t(vector) * VECTOR_SIZE;
            const uint64_t address = reinterpret_cast<uint64_t>(array) + uint64_t(i) * sizeof(T);
            tile(stage).start_copy(vector, array, i, count, address % Tile::VECTOR_BYTES == 0);
        }
        end_batch_of_copies();
    }
    // Waits until all batches but the last LEFT have arrived. All threads call it, and it
    // synchronises them.
    template <int LEFT> static __device__ __forceinline__ void wait() {
        wait_for_copies<LEFT>();
        __syncthreads();
    }
    // Vector `u` of the thread's neighbouring ones.
    __device__ __forceinline__ Pack<T, VECTOR_SIZE> read(int stage, int u) const {
        return tile(stage).read(int(threadIdx.x) * VECTORS_PER_THREAD + u);
    }
    // Replaces vector `u` of the thread's neighbouring ones.
    __device__ __forceinline__ void write(int stage, int u,
                                          const Pack<T, VECTOR_SIZE> &values) const {
        tile(stage).write(int(threadIdx.x) * VECTORS_PER_THREAD + u, values);
    }
};

} // namespace block
} // namespace gpu
