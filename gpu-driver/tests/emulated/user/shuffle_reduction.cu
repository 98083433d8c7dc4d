// As tree_reduction, by shuffles within the warps and one value of shared memory per warp. Any number of whole warps.
template <class T> __device__ T warp_sum(T value) {
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(0xffffffff, value, distance);
    return value;
}

template <class T> __global__ void shuffle_reduction(const T *x, T *sums, unsigned n) {
    __shared__ T of_warp[32];
    unsigned lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    T sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    sum = warp_sum(sum);
    if (lane == 0) of_warp[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = warp_sum(lane < blockDim.x / warpSize ? of_warp[lane] : T(0));
        if (lane == 0) sums[blockIdx.x] = sum;
    }
}
