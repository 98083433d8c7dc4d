// The second warp waits once more than the first.
extern "C" __global__ void barrier_count(unsigned *x) {
    unsigned t = threadIdx.x;
#ifdef FIXED
    unsigned rounds = 2;
#else
    unsigned rounds = 1 + t / 32;
#endif
    for (unsigned round = 0; round < rounds; round++) {
        x[t] += 1;
        __syncthreads(); // BROKEN
    }
}
