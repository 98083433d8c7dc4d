// A flag of volatile accesses in shared memory, with fences on both sides.
extern "C" __global__ void volatile_flag(unsigned *x) {
    __shared__ unsigned data;
    __shared__ volatile unsigned flag;
    unsigned t = threadIdx.x;
    if (t == 0) flag = 0;
    __syncthreads();
    if (t == 0) {
        data = 7;
        __threadfence_block();
        flag = 1;
    }
    if (t == 32) {
        while (flag == 0) {}
        __threadfence_block();
        x[0] = data;
    }
}
