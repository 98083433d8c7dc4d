// Neighbouring fields of one structure in shared memory are written by different threads at once.
struct Cell {
    unsigned short low, high;
    double weight;
};

extern "C" __global__ void tile_of_structs(unsigned *x) {
    __shared__ Cell cells[2][16];
    unsigned t = threadIdx.x, which = t / 32, at = t % 32 / 2;
    if (t % 2 == 0) {
        cells[which][at].low = x[t];
    } else {
        cells[which][at].high = x[t];
        cells[which][at].weight = 0.5 * x[t];
    }
    __syncthreads();
    Cell other = cells[1 - which][15 - at];
    x[t] = other.low * 1000 + other.high + unsigned(2 * other.weight);
}
