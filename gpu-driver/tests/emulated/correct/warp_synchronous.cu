// Each warp reduces its own part of shared memory, in step by __syncwarp alone.
extern "C" __global__ void warp_synchronous(unsigned *x) {
    __shared__ unsigned sums[128];
    unsigned t = threadIdx.x, lane = t % 32;
    sums[t] = x[t];
    __syncwarp();
    for (unsigned half = 16; half > 0; half /= 2) {
        unsigned other = lane < half ? sums[t + half] : 0;
        __syncwarp();
        sums[t] += other;
        __syncwarp();
    }
    x[t] = sums[t - lane];
}
