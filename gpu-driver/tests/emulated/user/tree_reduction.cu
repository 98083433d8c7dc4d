// sums[b] = the sum of the n elements of x that block b sees in its grid-stride loop. 256 threads.
extern "C" __global__ void tree_reduction(const unsigned *x, unsigned *sums, unsigned n) {
    __shared__ unsigned partial[256];
    unsigned t = threadIdx.x, sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    partial[t] = sum;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) partial[t] += partial[t + half];
        __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = partial[0];
}
