// Parts that the loops of this crate share: places on axes, and packs of an expression's values.
#pragma once
#include "block/state.cuh"
#include "loop.cuh"

namespace gpu {

// Offsets of all operands: number 0 is that of the operation itself, number k + 1 that of leaf k.
template <int N> struct Offsets {
    int64_t of[N];
};

// Adds the offsets of a linear place on axes, from axis `first` on.
template <int OPERANDS> __device__ __forceinline__ void add_place(Offsets<OPERANDS> &offsets,
                                                                  const AxisParams<OPERANDS> *axes,
                                                                  int first, int rank,
                                                                  uint64_t place, bool wide) {
    // Copies of the loop's body would be most of the code of kernels of strided operands.
#pragma unroll 1
    for (int d = first; d < rank; d++) {
        const AxisParams<OPERANDS> &axis = axes[d];
        uint64_t c = place;
        if (d + 1 < rank) {
            const uint64_t next = quotient(place, axis.length, axis.divisor, wide);
            c = place - next * axis.length;
            place = next;
        }
#pragma unroll
        for (int k = 0; k < OPERANDS; k++) offsets.of[k] += int64_t(c) * axis.strides[k];
    }
}

// The values of an expression with one output at the places of a pack.
template <class E, int VECTOR_SIZE> __device__ __forceinline__
Pack<typename plain<decltype(get<0>(*static_cast<typename E::Outputs *>(nullptr)))>::type,
     VECTOR_SIZE>
values_of(const uint64_t *scalars, const uint64_t *extra,
          const typename Wide<VECTOR_SIZE, typename E::Leaves>::type &in) {
    typename Wide<VECTOR_SIZE, typename E::Outputs>::type out;
    apply<E, VECTOR_SIZE>(scalars, extra, in, out);
    return get<0>(out);
}

// Loads the whole pack of a PACKED leaf, whose first value is `offset` elements from its address.
// Places begin at `offset` and go in steps from there.
template <class T, int VECTOR_SIZE> __device__ __forceinline__ void
load_whole(Pack<T, VECTOR_SIZE> &values, uint64_t address, int64_t offset, int64_t) {
    typedef typename Stored<T>::type S;
    const Pack<S, VECTOR_SIZE> stored =
        load_pack<S, VECTOR_SIZE>(reinterpret_cast<const S *>(address) + offset);
#pragma unroll
    for (int lane = 0; lane < VECTOR_SIZE; lane++)
        values.lane[lane] = from_stored<T>(stored.lane[lane]);
}
template <int VECTOR_SIZE> __device__ __forceinline__ void
load_whole(Pack<Index, VECTOR_SIZE> &values, uint64_t start, int64_t offset, int64_t step) {
#pragma unroll
    for (int lane = 0; lane < VECTOR_SIZE; lane++)
        values.lane[lane].value = int64_t(start) + offset + lane * step;
}

// Loads the first value alone of a pack of a CONSTANT leaf. Places have no such leaf.
template <class T, int VECTOR_SIZE> __device__ __forceinline__ void
load_first(Pack<T, VECTOR_SIZE> &values, uint64_t address, int64_t offset) {
    typedef typename Stored<T>::type S;
    values.lane[0] = from_stored<T>(reinterpret_cast<const S *>(address)[offset]);
}
template <int VECTOR_SIZE>
__device__ __forceinline__ void load_first(Pack<Index, VECTOR_SIZE> &, uint64_t, int64_t) {}

} // namespace gpu
