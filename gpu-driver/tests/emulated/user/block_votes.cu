// The variants of __syncthreads that join a predicate: one row of three numbers per block.
extern "C" __global__ void block_votes(const int *x, int *out) {
    int value = x[blockIdx.x * blockDim.x + threadIdx.x];
    int count = __syncthreads_count(value > 0);
    int all = __syncthreads_and(value > 0);
    int any = __syncthreads_or(value > 0);
    if (threadIdx.x == blockDim.x - 1) {
        out[3 * blockIdx.x] = count;
        out[3 * blockIdx.x + 1] = all != 0;
        out[3 * blockIdx.x + 2] = any != 0;
    }
}
