// The inclusive sums of each block's elements by themselves, after Hillis and Steele; the block needs two numbers of dynamic
// shared memory per thread.
extern __shared__ unsigned buffers[];

extern "C" __global__ void hillis_steele(const unsigned *x, unsigned *y, unsigned n) {
    unsigned *now = buffers, *next = buffers + blockDim.x;
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    now[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (unsigned distance = 1; distance < blockDim.x; distance *= 2) {
        next[t] = t < distance ? now[t] : now[t] + now[t - distance];
        __syncthreads();
        unsigned *other = now;
        now = next;
        next = other;
    }
    if (i < n) y[i] = now[t];
}
