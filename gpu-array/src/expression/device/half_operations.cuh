// The operations of expressions on numbers of 16 bits. Only programs that have one include them.
//
// All others are those of float between two casts: each casts its operands and rounds its result.
#pragma once
#include "half.cuh"
#include "operations.cuh"

namespace gpu {

// So a cast to them is a conversion, and not that to an integer.
template <class F> constexpr bool is_float<SmallFloat<F>> = true;

// A scalar from the low bits of a word.
template <> __device__ __forceinline__ f16 word_as<f16>(uint64_t word) {
    f16 x;
    x.bits = uint16_t(word);
    return x;
}
template <> __device__ __forceinline__ bf16 word_as<bf16>(uint64_t word) {
    bf16 x;
    x.bits = uint16_t(word);
    return x;
}

template <class F>
__device__ __forceinline__ SmallFloat<F> next_after(SmallFloat<F> a, SmallFloat<F> b) {
    const float from = float(a), to = float(b);
    SmallFloat<F> next;
    next.bits = is_nan(from) || is_nan(to)     ? uint16_t(0x7fff)
                : from == to                   ? b.bits
                : from == 0.0f                 ? uint16_t((b.bits & 0x8000) | 1)
                : (from < to) == (from > 0.0f) ? uint16_t(a.bits + 1)
                                               : uint16_t(a.bits - 1);
    return next;
}

} // namespace gpu
