// Threads without work return before the barrier that the others wait at.
extern "C" __global__ void early_return(unsigned *x) {
    __shared__ unsigned tile[64];
    unsigned t = threadIdx.x;
#ifdef FIXED
    if (t < 48) tile[t] = x[t];
    __syncthreads();
    if (t >= 48) return;
#else
    if (t >= 48) return;
    tile[t] = x[t];
    __syncthreads(); // BROKEN
#endif
    x[t] = tile[47 - t];
}
