// A length that wrapped: nearly all of the address space is to be cleared.
extern "C" __global__ void memset_past_the_end(unsigned *x) {
    __shared__ unsigned tile[32];
    unsigned t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
#ifdef FIXED
    if (t == 31) memset(tile + 1, 0, 4);
#else
    if (t == 31) memset(tile + 1, 0, size_t(-3)); // BROKEN
#endif
    __syncthreads();
    x[t] = tile[t];
}
