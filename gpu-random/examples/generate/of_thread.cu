// The numbers of one subsequence, drawn by one thread.
//   grid, block   1
//   out           n numbers
#include "philox.cuh"
#include "xorwow_rng.cuh"

#define DRAW(NAME, METHOD)                                                                         \
    struct NAME {                                                                                  \
        template <class Rng> static __device__ auto draw(Rng &rng) { return rng.METHOD(); }        \
    };
DRAW(Bits, next)
DRAW(UniformFloat, uniform)
DRAW(UniformDouble, uniform_double)
DRAW(NormalFloat, normal)
DRAW(NormalDouble, normal_double)

template <class Rng, class D, class T>
__global__ void numbers(uint64_t seed, uint64_t subsequence, uint64_t offset, T *out, uint64_t n) {
    Rng rng;
    rng.init(seed, subsequence, offset);
    for (uint64_t i = 0; i < n; i++) out[i] = D::draw(rng);
}
