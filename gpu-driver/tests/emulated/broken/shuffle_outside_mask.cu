// The upper lanes take part in a shuffle whose mask does not name them.
extern "C" __global__ void shuffle_outside_mask(unsigned *x) {
    unsigned t = threadIdx.x;
#ifdef FIXED
    unsigned mask = 0xffffffff;
#else
    unsigned mask = 0x0000ffff;
#endif
    x[t] = 100 + __shfl_sync(mask, x[t], 5); // BROKEN
}
