// The last thread waits for the block; the rest of its warp waits for it.
extern "C" __global__ void deadlock(unsigned *x) {
    unsigned t = threadIdx.x;
#ifdef FIXED
    __syncwarp();
#else
    if (t != 63) __syncwarp(); // BROKEN
#endif
    __syncthreads(); // BROKEN
    x[t] += 1;
}
