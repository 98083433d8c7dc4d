// Shared memory handed over by an atomic flag in global memory.
extern "C" __global__ void global_flag(unsigned *x) {
    __shared__ unsigned data;
    unsigned t = threadIdx.x;
    if (t == 0) {
        data = 5;
        __threadfence_block();
        atomicExch(&x[0], 1u);
    }
    if (t == 32) {
        while (atomicAdd(&x[0], 0u) == 0) {}
        __threadfence_block();
        x[1] = data + 1;
    }
}
