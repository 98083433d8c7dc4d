// Elements of tables, at computed places. Only programs that have one include them.
#pragma once
#include "operations.cuh"

namespace gpu {

// The element at an offset from the first; 0 if it is not inside.
template <class T>
__device__ __forceinline__ T take(uint64_t address, int64_t offset, bool inside) {
    typedef typename Stored<T>::type S;
    return inside ? from_stored<T>(reinterpret_cast<const S *>(address)[offset]) : T(0);
}
// The elements of a pack of places. Neighbours that lie in whole, aligned packs are loaded at once,
// as those of rows that are taken as they are.
template <class T, int VECTOR_SIZE>
__device__ __forceinline__ void take_pack(Pack<T, VECTOR_SIZE> &to, uint64_t address,
                                          const Pack<int64_t, VECTOR_SIZE> &offsets,
                                          const Pack<bool, VECTOR_SIZE> &inside) {
    typedef typename Stored<T>::type S;
    const S *at = reinterpret_cast<const S *>(address) + offsets.lane[0];
    bool is_whole = reinterpret_cast<uint64_t>(at) % alignof(Pack<S, VECTOR_SIZE>) == 0;
#pragma unroll
    for (int lane = 0; lane < VECTOR_SIZE; lane++)
        is_whole &= inside.lane[lane] && offsets.lane[lane] == offsets.lane[0] + lane;
    if (is_whole) {
        const auto stored = load_pack<S, VECTOR_SIZE>(at);
#pragma unroll
        for (int lane = 0; lane < VECTOR_SIZE; lane++)
            to.lane[lane] = from_stored<T>(stored.lane[lane]);
    } else {
#pragma unroll
        for (int lane = 0; lane < VECTOR_SIZE; lane++)
            to.lane[lane] = take<T>(address, offsets.lane[lane], inside.lane[lane]);
    }
}
// The elements of packs of a row, which are inside together. `offsets` are those of the first
// elements, `step` leads from each to the next, modulo 2^64. All packs are loaded before one is
// looked at.
template <class T, int VECTOR_SIZE, int PACKS>
__device__ __forceinline__ void take_row(Pack<T, VECTOR_SIZE> (&to)[PACKS], uint64_t address,
                                         const int64_t (&offsets)[PACKS], int64_t step,
                                         bool inside) {
    typedef typename Stored<T>::type S;
    bool is_whole = inside && step == 1;
#pragma unroll
    for (int p = 0; p < PACKS; p++)
        is_whole &=
            (address + uint64_t(offsets[p]) * sizeof(S)) % alignof(Pack<S, VECTOR_SIZE>) == 0;
    if (is_whole) {
        Pack<S, VECTOR_SIZE> stored[PACKS];
#pragma unroll
        for (int p = 0; p < PACKS; p++)
            stored[p] =
                load_pack<S, VECTOR_SIZE>(reinterpret_cast<const S *>(address) + offsets[p]);
#pragma unroll
        for (int p = 0; p < PACKS; p++) {
#pragma unroll
            for (int lane = 0; lane < VECTOR_SIZE; lane++)
                to[p].lane[lane] = from_stored<T>(stored[p].lane[lane]);
        }
    } else {
#pragma unroll
        for (int p = 0; p < PACKS; p++) {
#pragma unroll
            for (int lane = 0; lane < VECTOR_SIZE; lane++)
                to[p].lane[lane] =
                    take<T>(address, add(offsets[p], multiply(int64_t(lane), step)), inside);
        }
    }
}
// The remainder of a division that rounds down. One of 64 bits takes about a hundred instructions,
// and most places are within the axis, or before its start by less than its length.
__device__ __forceinline__ int64_t wrap(int64_t i, int64_t length) {
    if (length <= 0) return 0;
    const int64_t from_end = i < 0 ? i + length : i;
    if (uint64_t(from_end) < uint64_t(length)) return from_end;
    int64_t rest = i % length;
    return rest < 0 ? rest + length : rest;
}
__device__ __forceinline__ int64_t clip(int64_t i, int64_t length) {
    if (i >= length) i = length - 1;
    return i < 0 ? 0 : i;
}
__device__ __forceinline__ bool inside(int64_t i, int64_t length) { return i >= 0 && i < length; }

} // namespace gpu
