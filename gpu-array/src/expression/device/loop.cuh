// Parts that the loops over the places of an expression share.
//
// An expression E is a structure, generated from the user's operations:
//   Leaves, Outputs       Tuples of the types that it reads and gives; Index for a leaf whose
//                         values are the places themselves
//   SCALARS, EXTRA        numbers of words: scalars; addresses of tables and words of sources
//   apply(scalars, extra, leaves, outputs)   the operations, on the values of one place
//   apply_packs<VECTOR_SIZE, PACKS>(…)       the same on PACKS packs of them, where elements of
//                                            tables are taken
//   SAME                                     a bit for each leaf that has one value along a row:
//                                            apply_packs reads one value of its first pack
#pragma once
#include "expression_params.cuh"
#include "operations.cuh"

namespace gpu {

// The quotient by `length`. `divisor` makes it a multiplication and a shift where 31 bits are
// enough (Granlund and Montgomery 1994).
__device__ __forceinline__ uint64_t quotient(uint64_t n, uint64_t length, uint64_t divisor,
                                             bool wide) {
    if (wide) return n / length;
    return (__umulhi(uint32_t(n), uint32_t(divisor)) + uint32_t(n)) >> uint32_t(divisor >> 32);
}

// Loads VECTOR_SIZE values of a leaf: at `offset` elements from its address and at multiples of
// `step` from there. Only the values with the numbers `first` to `last` are read; these two stand
// for the ones beyond.
template <class T, int VECTOR_SIZE>
__device__ __forceinline__ void load(Pack<T, VECTOR_SIZE> &values, uint64_t address, uint64_t kind,
                                     int64_t offset, int64_t step, int first = 0,
                                     int last = VECTOR_SIZE - 1) {
    typedef typename Stored<T>::type S;
    const S *at = reinterpret_cast<const S *>(address) + offset;
    Pack<S, VECTOR_SIZE> stored;
    if (kind == PACKED && last - first == VECTOR_SIZE - 1) {
        stored = load_pack<S, VECTOR_SIZE>(at);
    } else if (kind == CONSTANT) {
        S one = *at;
#pragma unroll
        for (int lane = 0; lane < VECTOR_SIZE; lane++) stored.lane[lane] = one;
    } else {
#pragma unroll
        for (int lane = 0; lane < VECTOR_SIZE; lane++)
            stored.lane[lane] = at[(lane < first ? first : lane < last ? lane : last) * step];
    }
#pragma unroll
    for (int lane = 0; lane < VECTOR_SIZE; lane++)
        values.lane[lane] = from_stored<T>(stored.lane[lane]);
}
template <int VECTOR_SIZE>
__device__ __forceinline__ void load(Pack<Index, VECTOR_SIZE> &values, uint64_t start, uint64_t,
                                     int64_t offset, int64_t step, int first = 0,
                                     int last = VECTOR_SIZE - 1) {
#pragma unroll
    for (int lane = 0; lane < VECTOR_SIZE; lane++) {
        values.lane[lane].value = int64_t(start) + offset +
                                  (lane < first  ? first
                                   : lane < last ? lane
                                                 : last) *
                                      step;
    }
}

// Stores the values with the numbers `first` to `last`, at the addresses that `load` would read.
template <StoreMode MODE = StoreMode::PLAINLY, class T, int VECTOR_SIZE>
__device__ __forceinline__ void store(const Pack<T, VECTOR_SIZE> &values, uint64_t address,
                                      bool packed, int64_t offset, int64_t step, int first = 0,
                                      int last = VECTOR_SIZE - 1) {
    typedef typename Stored<T>::type S;
    S *at = reinterpret_cast<S *>(address) + offset;
    Pack<S, VECTOR_SIZE> stored;
#pragma unroll
    for (int lane = 0; lane < VECTOR_SIZE; lane++) stored.lane[lane] = S(values.lane[lane]);
    if (packed && last - first == VECTOR_SIZE - 1) {
        store_pack<MODE>(at, stored);
    } else {
#pragma unroll
        for (int lane = 0; lane < VECTOR_SIZE; lane++) {
            if (lane >= first && lane <= last) at[lane * step] = stored.lane[lane];
        }
    }
}
// Whether the expression has `apply_packs`.
template <class E> constexpr auto has_packs(int) -> decltype(&E::template apply_packs<1, 1>, true) {
    return true;
}
template <class E> constexpr bool has_packs(long) { return false; }

// Applies the expression to each lane.
template <class E, int VECTOR_SIZE> __device__ __forceinline__ void
apply(const uint64_t *scalars, const uint64_t *extra,
      const typename Wide<VECTOR_SIZE, typename E::Leaves>::type &in,
      typename Wide<VECTOR_SIZE, typename E::Outputs>::type &out) {
    if constexpr (VECTOR_SIZE > 1 && has_packs<E>(0)) {
        E::template apply_packs<VECTOR_SIZE, 1>(scalars, extra, &in, &out);
    } else {
#pragma unroll
        for (int lane = 0; lane < VECTOR_SIZE; lane++) {
            typename E::Leaves x;
            typename E::Outputs y;
            each(x, [&](auto k, auto &value) { value = get<decltype(k)::value>(in).lane[lane]; });
            E::apply(scalars, extra, x, y);
            each(y, [&](auto k, auto &value) { get<decltype(k)::value>(out).lane[lane] = value; });
        }
    }
}

} // namespace gpu
