// The last thread writes behind the 128 bytes that the launch gives.
extern "C" __global__ void dynamic_shared_past_the_end(unsigned *x) {
    extern __shared__ unsigned tile[];
    unsigned t = threadIdx.x;
    if (t == 0) tile[0] = 0;
#ifdef FIXED
    if (t < 31)
#endif
        tile[t + 1] = x[t]; // BROKEN
    __syncthreads();
    x[t] = tile[t];
}
