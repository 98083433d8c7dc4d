// The loop's next round overwrites the tile while slower threads still read it.
extern "C" __global__ void missing_second_barrier(unsigned *x) {
    __shared__ unsigned tile[64];
    unsigned t = threadIdx.x, sum = 0;
    for (unsigned round = 0; round < 4; round++) {
        tile[t] = x[t] + round; // BROKEN
        __syncthreads();
        sum += tile[63 - t]; // BROKEN
#ifdef FIXED
        __syncthreads();
#endif
    }
    x[t] = sum;
}
