// Right by itself; wrong when x is no memory of the device, or no longer.
extern "C" __global__ void store(unsigned *x) {
    x[threadIdx.x] = 2 * threadIdx.x; // BROKEN
}
