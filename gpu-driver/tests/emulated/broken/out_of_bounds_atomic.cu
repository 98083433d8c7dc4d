// The last thread counts in an element behind the last.
extern "C" __global__ void out_of_bounds_atomic(unsigned *x) {
#ifdef FIXED
    if (threadIdx.x >= 31) return;
#endif
    atomicAdd(&x[threadIdx.x], 5u); // BROKEN
}
