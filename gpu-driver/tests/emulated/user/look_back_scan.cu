// y = the inclusive sums of the n elements of x in one pass, by decoupled look-back (Merrill and Garland 2016). Tiles are
// handed out by a ticket, so that a tile waits only for tiles that run already. ticket and flags start as zeros.
#define NOTHING 0
#define SUM 1
#define PREFIX 2

__device__ unsigned warp_scan(unsigned value, unsigned lane) {
    for (unsigned distance = 1; distance < 32; distance *= 2) {
        unsigned before = __shfl_up_sync(0xffffffff, value, distance);
        if (lane >= distance) value += before;
    }
    return value;
}

// Tells the sum of this tile, and returns the sum of all tiles before it. One thread.
__device__ unsigned look_back(unsigned tile, unsigned sum, volatile unsigned *flags, volatile unsigned *sums,
                              volatile unsigned *prefixes) {
    if (tile > 0) {
        sums[tile] = sum;
        __threadfence();
        flags[tile] = SUM;
    }
    unsigned before = 0;
    for (unsigned at = tile; at > 0; at--) {
        unsigned flag;
        do { flag = flags[at - 1]; } while (flag == NOTHING);
        __threadfence();
        before += flag == PREFIX ? prefixes[at - 1] : sums[at - 1];
        if (flag == PREFIX) break;
    }
    prefixes[tile] = before + sum;
    __threadfence();
    flags[tile] = PREFIX;
    return before;
}

extern "C" __global__ void look_back_scan(const unsigned *x, unsigned *y, unsigned n, unsigned *ticket, unsigned *flags,
                                          unsigned *sums, unsigned *prefixes) {
    __shared__ unsigned tile, before;
    __shared__ unsigned of_warp[32];
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    if (threadIdx.x == 0) tile = atomicAdd(ticket, 1u);
    __syncthreads();
    unsigned i = tile * blockDim.x + threadIdx.x;
    unsigned value = warp_scan(i < n ? x[i] : 0, lane);
    if (lane == 31) of_warp[warp] = value;
    __syncthreads();
    if (warp == 0) {
        unsigned sum = warp_scan(lane < warps ? of_warp[lane] : 0, lane);
        if (lane < warps) of_warp[lane] = sum;
    }
    __syncthreads();
    if (warp > 0) value += of_warp[warp - 1];
    if (threadIdx.x == blockDim.x - 1) before = look_back(tile, value, flags, sums, prefixes);
    __syncthreads();
    if (i < n) y[i] = before + value;
}
