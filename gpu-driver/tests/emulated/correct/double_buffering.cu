// Two buffers in turn need one barrier per round.
extern "C" __global__ void double_buffering(unsigned *x) {
    __shared__ unsigned buffers[2][64];
    unsigned t = threadIdx.x, sum = 0;
    for (unsigned round = 0; round < 5; round++) {
        unsigned *buffer = buffers[round % 2];
        buffer[t] = x[t] + round;
        __syncthreads();
        sum += buffer[(t + round) % 64];
    }
    x[t] = sum;
}
