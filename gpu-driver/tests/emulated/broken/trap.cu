// Stops itself.
extern "C" __global__ void trap(unsigned *x) {
#ifdef FIXED
    if (x[threadIdx.x] > 31) __trap();
#else
    if (x[threadIdx.x] == 5) __trap(); // BROKEN
#endif
    x[threadIdx.x] += 1;
}
