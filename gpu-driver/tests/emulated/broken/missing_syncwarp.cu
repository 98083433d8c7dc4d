// Counts on the lanes of a warp to move in step, which they need not.
extern "C" __global__ void missing_syncwarp(unsigned *x) {
    __shared__ unsigned sums[32];
    unsigned t = threadIdx.x;
    sums[t] = x[t];
    __syncthreads();
    for (unsigned half = 16; half > 0; half /= 2) {
        if (t < half) sums[t] += sums[t + half]; // BROKEN
#ifdef FIXED
        __syncwarp();
#endif
    }
    if (t == 0) x[0] = sums[0];
}
