// The first warp hands data to the second by a flag in shared memory, with atomic operations and fences.
extern "C" __global__ void shared_flag(unsigned *x) {
    __shared__ unsigned flag, data;
    unsigned t = threadIdx.x;
    if (t == 0) flag = 0;
    __syncthreads();
    if (t == 0) {
        data = 1000;
        __threadfence_block();
        atomicExch(&flag, 1u);
    } else if (t >= 32) {
        while (atomicAdd(&flag, 0u) == 0) {}
        __threadfence_block();
        x[t] += data;
    }
}
