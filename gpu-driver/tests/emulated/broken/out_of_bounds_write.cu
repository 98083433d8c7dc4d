// Writes one element more than the 31 there are.
extern "C" __global__ void out_of_bounds_write(unsigned *x) {
#ifdef FIXED
    if (threadIdx.x >= 31) return;
#endif
    x[threadIdx.x] = 2 * threadIdx.x; // BROKEN
}
