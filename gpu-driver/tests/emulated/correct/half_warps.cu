// The halves of a warp go different ways, each in step by a mask of its own, and meet again.
extern "C" __global__ void half_warps(unsigned *x) {
    __shared__ unsigned tile[32];
    unsigned t = threadIdx.x;
    tile[t] = x[t];
    if (t < 16) {
        __syncwarp(0x0000ffff);
        unsigned got = tile[15 - t];
        __syncwarp(0x0000ffff);
        tile[t] = got;
    } else {
        __syncwarp(0xffff0000);
        unsigned got = tile[47 - t];
        __syncwarp(0xffff0000);
        tile[t] = got;
    }
    __syncwarp();
    x[t] = tile[31 - t];
}
