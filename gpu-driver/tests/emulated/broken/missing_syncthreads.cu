// Nothing orders the write of an element with its read by another thread.
extern "C" __global__ void missing_syncthreads(unsigned *x) {
    __shared__ unsigned tile[64];
    unsigned t = threadIdx.x;
    tile[t] = 0;
    __syncthreads();
    tile[t] = x[t]; // BROKEN
#ifdef FIXED
    __syncthreads();
#endif
    x[t] = tile[63 - t]; // BROKEN
}
