// The first thread reads the element before the first.
extern "C" __global__ void out_of_bounds_read(unsigned *x) {
    int t = threadIdx.x;
#ifdef FIXED
    unsigned left = t == 0 ? 0 : x[t - 1];
#else
    unsigned left = x[t - 1]; // BROKEN
#endif
    __syncthreads();
    x[t] = left;
}
