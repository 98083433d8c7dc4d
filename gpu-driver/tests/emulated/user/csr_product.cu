// y = A x for a matrix in compressed sparse rows. A warp per row.
extern "C" __global__ void csr_product(const unsigned *starts, const unsigned *columns, const float *values, const float *x,
                                       float *y, unsigned rows) {
    unsigned lane = threadIdx.x % 32, row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (row >= rows) return;
    float sum = 0;
    for (unsigned at = starts[row] + lane; at < starts[row + 1]; at += 32) sum += values[at] * __ldg(&x[columns[at]]);
    for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffff, sum, mask);
    if (lane == 0) y[row] = sum;
}
