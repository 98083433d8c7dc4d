// Barriers in branches and loops that are the same for a whole block, and in a function called from two places.
__device__ unsigned left_neighbour(unsigned *tile, unsigned value) {
    tile[threadIdx.x] = value;
    __syncthreads();
    unsigned left = tile[(threadIdx.x + blockDim.x - 1) % blockDim.x];
    __syncthreads();
    return left;
}

extern "C" __global__ void uniform_branches(unsigned *x) {
    __shared__ unsigned tile[64];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, value = x[i];
    if (blockIdx.x == 3) return;
    if (blockIdx.x % 2 == 0) {
        value = left_neighbour(tile, value);
    } else {
        for (unsigned round = 0; round <= blockIdx.x; round++) value = left_neighbour(tile, value);
    }
    x[i] = value;
}
