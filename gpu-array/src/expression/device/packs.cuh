// Packs: neighbours in memory that a thread loads and stores at once.
#pragma once
#include "prelude.cuh"

namespace gpu {

// Neighbours in memory that a thread moves at once, in accesses of up to 16 bytes.
constexpr int pack_alignment(int bytes) { return bytes < 16 ? bytes : 16; }
template <class T, int VECTOR_SIZE> struct alignas(pack_alignment(VECTOR_SIZE *int(sizeof(T))))
    Pack {
    T lane[VECTOR_SIZE];
};

// Loads a pack, in accesses of up to 16 bytes.
template <class T, int VECTOR_SIZE>
__device__ __forceinline__ Pack<T, VECTOR_SIZE> load_pack(const T *at) {
    constexpr int BYTES = VECTOR_SIZE * int(sizeof(T));
    Pack<T, VECTOR_SIZE> pack;
    if constexpr (BYTES % 16 == 0) {
        const uint4 *from = reinterpret_cast<const uint4 *>(at);
        uint4 *to = reinterpret_cast<uint4 *>(&pack);
#pragma unroll
        for (int part = 0; part < BYTES / 16; part++) to[part] = from[part];
    } else {
        pack = *reinterpret_cast<const Pack<T, VECTOR_SIZE> *>(at);
    }
    return pack;
}
// How a pack is stored.
enum class StoreMode {
    // In any memory, as the compiler sees fit.
    PLAINLY,
    // In global memory; written data leaves the caches first, which helps where reads meet the same
    // lines again (tiled.cuh).
    STREAMED,
    // In global memory, and in one access for each 16 bytes. The compiler splits plain stores
    // beside a branch that stores single values: fills of 2^30 bytes ran at 0.58 to 0.94 of the
    // memory's speed on an H200, and of these at 0.99.
    WHOLE
};

// Stores up to 16 bytes of a pack.
template <StoreMode MODE, class Part>
__device__ __forceinline__ void store_access(Part *to, Part from) {
    if constexpr (MODE == StoreMode::STREAMED) {
        __stcs(to, from);
    } else if constexpr (MODE == StoreMode::WHOLE) {
        __stwb(to, from);
    } else {
        *to = from;
    }
}

// Stores a pack, in accesses of up to 16 bytes.
template <StoreMode MODE = StoreMode::PLAINLY, class T, int VECTOR_SIZE>
__device__ __forceinline__ void store_pack(T *at, const Pack<T, VECTOR_SIZE> &pack) {
    constexpr int BYTES = VECTOR_SIZE * int(sizeof(T));
    if constexpr (BYTES % 16 == 0) {
        uint4 *to = reinterpret_cast<uint4 *>(at);
        const uint4 *from = reinterpret_cast<const uint4 *>(&pack);
#pragma unroll
        for (int part = 0; part < BYTES / 16; part++) store_access<MODE>(to + part, from[part]);
    } else if constexpr (BYTES == 8 && MODE == StoreMode::WHOLE) {
        store_access<MODE>(reinterpret_cast<uint2 *>(at), *reinterpret_cast<const uint2 *>(&pack));
    } else if constexpr (BYTES == 4 && MODE == StoreMode::WHOLE) {
        store_access<MODE>(reinterpret_cast<uint32_t *>(at),
                           *reinterpret_cast<const uint32_t *>(&pack));
    } else {
        *reinterpret_cast<Pack<T, VECTOR_SIZE> *>(at) = pack;
    }
}

} // namespace gpu
