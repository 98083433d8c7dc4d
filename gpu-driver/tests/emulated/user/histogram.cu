// bins[v] += how often the byte v occurs in x; 256 bins, any block. Counts in shared memory first.
extern "C" __global__ void histogram(const unsigned char *x, unsigned n, unsigned *bins) {
    __shared__ unsigned own[256];
    for (unsigned bin = threadIdx.x; bin < 256; bin += blockDim.x) own[bin] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[x[i]], 1u);
    __syncthreads();
    for (unsigned bin = threadIdx.x; bin < 256; bin += blockDim.x) {
        if (own[bin] != 0) atomicAdd(&bins[bin], own[bin]);
    }
}
