// Philox4x32-10 in kernels: the function, and a generator equal to cuRAND's device API for
// curandStatePhilox4_32_10.
//
// Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#pragma once
#include "prelude.cuh"
#include "numbers.cuh"

namespace gpu_random {

struct Four {
    uint32_t at[4];
};

// Ten rounds on a counter of four words under a key of two.
__device__ __forceinline__ Four philox4x32(Four counter, uint32_t key0, uint32_t key1) {
    uint32_t c0 = counter.at[0], c1 = counter.at[1], c2 = counter.at[2], c3 = counter.at[3];
#pragma unroll
    for (int round = 0; round < 10; round++) {
        uint32_t low_high = __umulhi(0xd2511f53u, c0), low = 0xd2511f53u * c0;
        uint32_t high_high = __umulhi(0xcd9e8d57u, c2), high = 0xcd9e8d57u * c2;
        c0 = high_high ^ c1 ^ key0;
        c1 = high;
        c2 = low_high ^ c3 ^ key1;
        c3 = low;
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    return Four{{c0, c1, c2, c3}};
}

// Block `block` of a subsequence.
__device__ __forceinline__ Four philox_block(uint64_t seed, uint64_t subsequence, uint64_t block) {
    Four counter = {{uint32_t(block), uint32_t(block >> 32), uint32_t(subsequence),
                     uint32_t(subsequence >> 32)}};
    return philox4x32(counter, uint32_t(seed), uint32_t(seed >> 32));
}

// A generator for a thread of a kernel: init as curand_init, then the numbers of curand,
// curand_uniform, ... A subsequence has 2^64 blocks.
class Philox : public Numbers<Philox> {
    uint64_t seed, subsequence, block;
    Four words;
    uint32_t used;

  public:
    __device__ void init(uint64_t seed, uint64_t subsequence, uint64_t offset) {
        this->seed = seed;
        this->subsequence = subsequence;
        block = offset / 4;
        used = uint32_t(offset % 4);
        words = philox_block(seed, subsequence, block);
        this->forget();
    }

    __device__ uint32_t next() {
        uint32_t word = used == 0   ? words.at[0]
                        : used == 1 ? words.at[1]
                        : used == 2 ? words.at[2]
                                    : words.at[3];
        if (++used == 4) {
            used = 0;
            block++;
            if (block == 0) subsequence++;
            words = philox_block(seed, subsequence, block);
        }
        return word;
    }

    // As curand_uniform_double: made of one word, in (0, 1].
    __device__ double uniform_double() {
        return next() * 2.3283064365386963e-10 + 2.3283064365386963e-10;
    }
};

} // namespace gpu_random
