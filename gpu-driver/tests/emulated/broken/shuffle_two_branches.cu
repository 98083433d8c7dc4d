// Each half names the whole warp, and they meet in different functions.
extern "C" __global__ void shuffle_two_branches(unsigned *x) {
    unsigned t = threadIdx.x, value = x[t];
#ifdef FIXED
    unsigned low = 0x0000ffff, high = 0xffff0000;
#else
    unsigned low = 0xffffffff, high = 0xffffffff;
#endif
    if (t < 16) {
        value += __shfl_down_sync(low, value, 8, 16); // BROKEN
    } else {
        value += __shfl_up_sync(high, value, 8, 16); // BROKEN
    }
    x[t] = value;
}
