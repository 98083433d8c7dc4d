// Both halves of the block wait, at different barriers.
extern "C" __global__ void two_barriers(unsigned *x) {
    unsigned t = threadIdx.x;
    if (t < 32) {
        x[t] += 1;
#ifndef FIXED
        __syncthreads(); // BROKEN
#endif
    } else {
        x[t] += 2;
#ifndef FIXED
        __syncthreads(); // BROKEN
#endif
    }
#ifdef FIXED
    __syncthreads();
#endif
    x[t] *= 2;
}
