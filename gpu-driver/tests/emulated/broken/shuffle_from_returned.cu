// The values come from lanes that have returned.
extern "C" __global__ void shuffle_from_returned(unsigned *x) {
    unsigned t = threadIdx.x, value = x[t];
#ifdef FIXED
    unsigned other = __shfl_down_sync(0xffffffff, value, 16);
    if (t >= 16) return;
#else
    if (t >= 16) return;
    unsigned other = __shfl_down_sync(0xffffffff, value, 16); // BROKEN
#endif
    x[t] = value + other;
}
