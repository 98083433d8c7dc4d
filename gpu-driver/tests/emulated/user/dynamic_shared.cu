// Two arrays of different types in one piece of dynamic shared memory: 8 bytes per double, then 2 per short.
extern "C" __global__ void dynamic_shared(const double *x, double *reversed, short *ranks) {
    extern __shared__ __align__(16) unsigned char memory[];
    double *values = reinterpret_cast<double *>(memory);
    short *smaller = reinterpret_cast<short *>(values + blockDim.x);
    unsigned t = threadIdx.x, n = blockDim.x, i = blockIdx.x * n + t;
    values[t] = x[i];
    __syncthreads();
    short count = 0;
    for (unsigned other = 0; other < n; other++) count += values[other] < values[t];
    smaller[n - 1 - t] = count;
    __syncthreads();
    reversed[i] = values[n - 1 - t];
    ranks[i] = smaller[t];
}
