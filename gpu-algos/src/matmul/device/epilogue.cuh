// What a kernel of products makes of its sums before it stores them: by its type of parameters
// nothing, or an expression (fused_epilogue.cuh).
#pragma once
#include "prelude.cuh"

namespace gpu {
namespace matmul {

struct NoEpilogue {
    static constexpr bool IS_FUSED = false;
    template <class Params> __device__ __forceinline__ NoEpilogue(const Params &, uint32_t) {}
};

template <class Params> struct EpilogueOf {
    typedef NoEpilogue type;
};

} // namespace matmul
} // namespace gpu
