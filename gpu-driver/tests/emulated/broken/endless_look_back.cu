// The tile that is first forgets to raise its flag; the next one waits for it for ever, and the rest of its block with it.
// x[0..4) are flags, x[4] is the ticket, which starts at 4.
extern "C" __global__ void endless_look_back(unsigned *x) {
    __shared__ unsigned tile;
    volatile unsigned *flags = x;
    if (threadIdx.x == 0) tile = atomicAdd(&x[4], 1u) - 4;
    __syncthreads();
    if (threadIdx.x == 0 && tile > 0) {
        while (flags[tile - 1] == 0) {} // BROKEN
    }
    __syncthreads(); // BROKEN
#ifndef FIXED
    if (tile == 0) return;
#endif
    __threadfence();
    if (threadIdx.x == 0) flags[tile] = 100 + tile;
}
