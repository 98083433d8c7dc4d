// Elements of 16 and 8 bits in stacks of small matrices: a block widens them on the way to shared
// memory. Sums of f16 and bf16 are floats, which are rounded once; those of integers are of 32 bits
// and wrap, as c has them.
#pragma once
#include "half.cuh"
#include "matmul_stack.cuh"

namespace gpu::algos::matmul {

template <class F> struct StackElement<SmallFloat<F>> {
    typedef float Sum;
    typedef SmallFloat<F> Result;
    static constexpr bool IS_NARROW = true;
};
template <> struct StackElement<int8_t> {
    typedef uint32_t Sum;
    typedef uint32_t Result;
    static constexpr bool IS_NARROW = true;
};
template <> struct StackElement<uint8_t> : StackElement<int8_t> {};

} // namespace gpu::algos::matmul
