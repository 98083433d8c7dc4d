// The last thread writes behind the end of the tile.
extern "C" __global__ void shared_past_the_end(unsigned *x) {
#ifdef FIXED
    __shared__ unsigned tile[33];
#else
    __shared__ unsigned tile[32];
#endif
    __shared__ unsigned next[32];
    unsigned t = threadIdx.x;
    next[t] = 1000;
    if (t == 0) tile[0] = 0;
    tile[t + 1] = x[t]; // BROKEN
    __syncthreads();
    x[t] = tile[t] + next[t];
}
