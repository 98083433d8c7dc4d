// 100 elements, blocks of 64: the last threads have none. Votes are taken by all, then by those that have one; shuffles read
// lanes of the mask alone.
extern "C" __global__ void partial_block(unsigned *x) {
    const unsigned n = 100;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    unsigned mask = __ballot_sync(0xffffffff, i < n);
    if (i >= n) return;
    unsigned value = x[i], count = __popc(mask);
    for (unsigned distance = 1; distance < count; distance *= 2) {
        unsigned from = lane >= distance ? lane - distance : lane;
        unsigned left = __shfl_sync(mask, value, from);
        if (lane >= distance) value += left;
    }
    unsigned odd = __popc(__ballot_sync(mask, value % 2));
    x[i] = value + 10000 * odd + 1000000 * __reduce_add_sync(mask, 1u);
}
