// A variable of one thread's own is read by the others; on a GPU the same address is their own variable there.
extern "C" __global__ void local_of_another_thread(unsigned *x) {
    __shared__ unsigned *published;
#ifdef FIXED
    __shared__ unsigned mine;
    if (threadIdx.x == 0) mine = x[0] + 7;
#else
    unsigned mine = x[threadIdx.x] + 7;
#endif
    if (threadIdx.x == 0) published = &mine;
    __syncthreads();
    unsigned got = *published; // BROKEN
    __syncthreads();
    x[threadIdx.x] += got;
}
