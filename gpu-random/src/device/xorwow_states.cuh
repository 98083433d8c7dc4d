// The states of a stream's generators in memory: six rows of `generators` words, v0 to v4, then d.
#pragma once
#include "prelude.cuh"
#include "xorwow.cuh"

namespace gpu_random {

__device__ __forceinline__ XorwowState load_state(const uint32_t *states, uint32_t generators,
                                                  uint32_t generator) {
    XorwowState state;
#pragma unroll
    for (int i = 0; i < 5; i++) state.v[i] = states[uint64_t(i) * generators + generator];
    state.d = states[uint64_t(5) * generators + generator];
    return state;
}
__device__ __forceinline__ void store_state(uint32_t *states, uint32_t generators,
                                            uint32_t generator, const XorwowState &state) {
#pragma unroll
    for (int i = 0; i < 5; i++) states[uint64_t(i) * generators + generator] = state.v[i];
    states[uint64_t(5) * generators + generator] = state.d;
}

} // namespace gpu_random
