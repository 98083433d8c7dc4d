// One thread writes, all read, several times over.
extern "C" __global__ void broadcast(unsigned *x) {
    __shared__ struct { unsigned value; unsigned char from; } chosen;
    unsigned t = threadIdx.x, sum = 0;
    for (unsigned from = 0; from < 64; from += 9) {
        if (t == from) {
            chosen.value = x[t];
            chosen.from = from;
        }
        __syncthreads();
        sum += chosen.value + chosen.from;
        __syncthreads();
    }
    x[t] = sum;
}
