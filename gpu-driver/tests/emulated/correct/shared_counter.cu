// Atomic operations of all threads, then plain reads behind a barrier; several rounds over the same word.
extern "C" __global__ void shared_counter(unsigned *x) {
    __shared__ unsigned count;
    unsigned t = threadIdx.x, sum = 0;
    for (unsigned round = 0; round < 3; round++) {
        if (t == 0) count = round;
        __syncthreads();
        atomicAdd(&count, 1u);
        __syncthreads();
        sum += count;
        __syncthreads();
    }
    x[t] += sum;
}
