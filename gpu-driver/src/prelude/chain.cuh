// Chains of operations, each of which waits for the one before.
#pragma once
#include "prelude.cuh"

namespace gpu {

// The value, computed as it is written: the compiler joins no operation of it with later ones in
// another order. For a chain of steps, of which each is to wait for as little as possible of the
// last one: `y ^ computed_apart(a ^ b)` waits for y in one operation, where a and b were known
// before.
__device__ __forceinline__ uint32_t computed_apart(uint32_t x) {
#ifndef GPU_EMULATED
    asm("" : "+r"(x));
#endif
    return x;
}

} // namespace gpu
