// All threads add to one word without an atomic operation.
extern "C" __global__ void plain_counter(unsigned *x) {
    __shared__ unsigned count;
    unsigned t = threadIdx.x;
    if (t == 0) count = 0;
    __syncthreads();
#ifdef FIXED
    atomicAdd(&count, x[t]);
#else
    count += x[t]; // BROKEN
#endif
    __syncthreads();
    x[t] = count;
}
