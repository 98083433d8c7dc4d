// Two kernels for two streams: the second must wait for the first.
extern "C" __global__ void produce(unsigned *x, unsigned n) {
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) x[i] = i + 1;
}

extern "C" __global__ void consume(const unsigned *x, unsigned *y, unsigned n) {
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) y[i] = 3 * x[i];
}
