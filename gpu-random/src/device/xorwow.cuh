// XORWOW in kernels: a step, jumps, and a generator equal to cuRAND's device API for
// curandStateXORWOW.
//
// Marsaglia: "Xorshift RNGs", Journal of Statistical Software 8(14), 2003, page 5; seeding and
// subsequences are cuRAND's.
#pragma once
#include "prelude.cuh"
#include "chain.cuh"
#include "numbers.cuh"

namespace gpu_random {

constexpr uint32_t WEYL = 362437;

struct XorwowState {
    uint32_t v[5], d;
};

// The linear part of a step. APART: for a chain of steps that nothing else fills. All that the
// first word adds to the new one is known five steps before; computed apart, a step waits for a
// shift and one exclusive or, not for two. It takes some registers more.
template <bool APART = false> __device__ __forceinline__ void linear_step(uint32_t (&v)[5]) {
    uint32_t t = v[0] ^ (v[0] >> 2);
    uint32_t first = t ^ (t << 1);
    if (APART) first = gpu::computed_apart(first);
    uint32_t last = (v[4] ^ (v[4] << 4)) ^ first;
    v[0] = v[1], v[1] = v[2], v[2] = v[3], v[3] = v[4], v[4] = last;
}

template <bool APART = false> __device__ __forceinline__ uint32_t draw(XorwowState &state) {
    linear_step<APART>(state.v);
    state.d += WEYL;
    return state.v[4] + state.d;
}

// The state of curand_init(seed, 0, 0).
__device__ __forceinline__ XorwowState seeded(uint64_t seed) {
    uint32_t t0 = (uint32_t(seed) ^ 0xaad26b49u) * 1099087573u,
             t1 = (uint32_t(seed >> 32) ^ 0xf7dcefddu) * 2591861531u;
    return {{123456789u + t0, 362436069u ^ t0, 521288629u + t1, 88675123u ^ t1, 5783321u + t0},
            6615241u + t1 + t0};
}

// The linear parts of a seed's state and of those up to 159 steps behind it: words k to k + 4 are
// that of k steps.
struct SeedSequence {
    static constexpr uint32_t LENGTH = 164;
    uint32_t words[LENGTH], d;
};

// Computes the state p(A) v, where A is the linear step. The polynomial p, below degree 160, stands
// in digits of five bits, lowest first: digit(w) gives digits 4 w to 4 w + 3 in the bytes of a
// word. Horner's rule takes 160 steps.
template <class Digit> __device__ void jump(uint32_t (&v)[5], Digit digit) {
    uint32_t sum[5] = {0, 0, 0, 0, 0};
#pragma unroll 1
    for (int w = 7; w >= 0; w--) {
        uint32_t four = digit(w);
#pragma unroll
        for (int k = 3; k >= 0; k--) {
#pragma unroll
            for (int bit = 4; bit >= 0; bit--) {
                linear_step(sum);
                uint32_t mask = 0u - (four >> (8 * k + bit) & 1u);
#pragma unroll
                for (int i = 0; i < 5; i++) sum[i] ^= v[i] & mask;
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 5; i++) v[i] = sum[i];
}

} // namespace gpu_random
