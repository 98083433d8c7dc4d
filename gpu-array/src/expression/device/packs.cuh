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
// Stores a pack. With STREAM written data leaves the caches first, which helps where reads meet the
// same lines again (tiled.cuh).
template <bool STREAM, class T, int VECTOR_SIZE>
__device__ __forceinline__ void store_pack(T *at, const Pack<T, VECTOR_SIZE> &pack) {
    constexpr int BYTES = VECTOR_SIZE * int(sizeof(T));
    if constexpr (BYTES % 16 == 0) {
        uint4 *to = reinterpret_cast<uint4 *>(at);
        const uint4 *from = reinterpret_cast<const uint4 *>(&pack);
#pragma unroll
        for (int part = 0; part < BYTES / 16; part++) {
            if constexpr (STREAM) {
                __stcs(to + part, from[part]);
            } else {
                to[part] = from[part];
            }
        }
    } else {
        *reinterpret_cast<Pack<T, VECTOR_SIZE> *>(at) = pack;
    }
}

} // namespace gpu
