// Each thread of a three-dimensional grid of three-dimensional blocks counts itself, and writes down where it is.
extern "C" __global__ void three_dimensions(unsigned *out) {
    dim3 size(gridDim.x * blockDim.x, gridDim.y * blockDim.y, gridDim.z * blockDim.z);
    uint3 at = make_uint3(blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y,
                          blockIdx.z * blockDim.z + threadIdx.z);
    unsigned lane = (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % warpSize;
    // The lanes of a warp are numbered along x, then y, then z.
    unsigned from_first = __shfl_sync(0xffffffff, threadIdx.x + 16 * threadIdx.y + 256 * threadIdx.z, 0);
    out[at.x + size.x * (at.y + size.y * at.z)] += at.x + 100 * at.y + 10000 * at.z + 1000000 * lane + 100000000 * (from_first % 16);
}
