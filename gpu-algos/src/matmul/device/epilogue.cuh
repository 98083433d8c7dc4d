// The epilogue of a kernel of products, by the type of its parameters: none, or an expression of
// the sums that is evaluated before they are stored (fused_epilogue.cuh).
#pragma once
#include "prelude.cuh"

namespace gpu::algos::matmul {

struct NoEpilogue {
    static constexpr bool IS_FUSED = false;
    template <class Params> __device__ __forceinline__ NoEpilogue(const Params &, uint32_t) {}
};

template <class Params> struct EpilogueOf {
    typedef NoEpilogue type;
};

} // namespace gpu::algos::matmul
