// One array serves three different patterns, a barrier between each two.
extern "C" __global__ void reuse(unsigned *x) {
    __shared__ unsigned tile[64];
    unsigned t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    unsigned mirrored = tile[63 - t];
    __syncthreads();
    tile[(t + 1) % 64] = mirrored;
    __syncthreads();
    unsigned shifted = tile[t];
    __syncthreads();
    if (t % 2 == 0) tile[t / 2] = shifted;
    __syncthreads();
    x[t] = tile[t / 2];
}
