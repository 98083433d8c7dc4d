// The mask names 32 lanes; 16 of them wait for the other half at the barrier instead.
extern "C" __global__ void shuffle_absent_half(unsigned *x) {
    unsigned t = threadIdx.x, value = x[t];
#ifdef FIXED
    unsigned mask = 0x0000ffff;
#else
    unsigned mask = 0xffffffff;
#endif
    if (t < 16) value += __shfl_down_sync(mask, value, 8, 16); // BROKEN
    __syncthreads(); // BROKEN
    x[t] = value;
}
