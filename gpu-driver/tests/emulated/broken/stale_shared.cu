// The last element of the tile is read, and nobody has written it.
extern "C" __global__ void stale_shared(unsigned *x) {
    __shared__ unsigned tile[32];
    unsigned t = threadIdx.x;
    if (t < 31) tile[t] = x[t];
#ifdef FIXED
    if (t == 31) tile[t] = 0;
#endif
    __syncthreads();
    x[t] = tile[t] + 1; // BROKEN
}
