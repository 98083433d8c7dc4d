// Kernels that only a name expression can name: in a namespace, with types, values and functors as arguments.
#include "prelude.cuh"

namespace user {

struct Plus {
    static constexpr int NEUTRAL = 0;
    template <class T> __device__ T operator()(T a, T b) const { return a + b; }
};
struct Largest {
    static constexpr int NEUTRAL = -1000;
    template <class T> __device__ T operator()(T a, T b) const { return a < b ? b : a; }
};

// out[i] = the combination of x[i * WIDTH..][..WIDTH].
template <class T, class Op, int WIDTH, bool NEGATE = false> __global__ void combine(const T *x, T *out, uint64_t n) {
    Op op;
    for (uint64_t i = gpu::first_index(); i < n; i += gpu::index_step()) {
        T all = T(Op::NEUTRAL);
#pragma unroll
        for (int k = 0; k < WIDTH; k++) all = op(all, x[i * WIDTH + k]);
        if constexpr (NEGATE) all = -all;
        out[i] = all;
    }
}

__global__ void fill(uint8_t *out, uint8_t value) { out[threadIdx.x] = value; }

} // namespace user
