// Each thread: a generator of its own, and some numbers of every kind in an order that keeps and
// drops second normal numbers.
//   grid    one block
//   words   4 for each thread; single 8, wide 7
#include "philox.cuh"
#include "xorwow_rng.cuh"

template <class Rng> __global__ void numbers(uint64_t seed, uint64_t offset, uint32_t *words,
                                             float *single, double *wide) {
    Rng rng;
    rng.init(seed, uint64_t(threadIdx.x) * 0x100000001ull, offset);
    uint32_t *w = words + threadIdx.x * 4;
    float *s = single + threadIdx.x * 8;
    double *d = wide + threadIdx.x * 7;
    w[0] = rng.next();
    s[0] = rng.uniform();
    d[0] = rng.uniform_double();
    s[1] = rng.normal();
    d[1] = rng.normal_double();
    w[1] = rng.next();
    s[2] = rng.normal();
    d[2] = rng.normal_double();
    s[3] = rng.normal();
    d[3] = rng.normal_double();
    s[4] = rng.log_normal(0.5f, 0.25f);
    d[4] = rng.log_normal_double(0.5, 0.25);
    s[5] = rng.log_normal(0.5f, 0.25f);
    d[5] = rng.log_normal_double(0.5, 0.25);
    w[2] = rng.next();
    s[6] = rng.normal();
    d[6] = rng.normal_double();
    s[7] = rng.log_normal(0.5f, 0.25f);
    w[3] = rng.next();
}
