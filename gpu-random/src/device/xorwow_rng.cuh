// A generator for a thread of a kernel, equal to cuRAND's device API for curandStateXORWOW.
#pragma once
#include "xorwow.cuh"
#include "xorwow_jumps.cuh"

namespace gpu_random {

// init is as curand_init, and the numbers are those of curand, curand_uniform, ... A jump takes
// some 2 us per set bit of subsequence and offset: if kernels follow one another, keep the
// generators in memory.
class Xorwow : public Numbers<Xorwow> {
    XorwowState state;

    __device__ void jump_powers(uint64_t count, int first) {
        for (int power = first; count != 0; power++, count >>= 1) {
            if (count & 1) jump(state.v, [&](int w) { return xorwow_jump(power, w); });
        }
    }

  public:
    __device__ void init(uint64_t seed, uint64_t subsequence, uint64_t offset) {
        state = seeded(seed);
        jump_powers(subsequence, 64);
        skip(offset);
    }

    // Advances the generator by `draws` draws.
    __device__ void skip(uint64_t draws) {
        jump_powers(draws, 0);
        state.d += WEYL * uint32_t(draws);
        this->forget();
    }

    __device__ uint32_t next() { return draw(state); }
};

} // namespace gpu_random
