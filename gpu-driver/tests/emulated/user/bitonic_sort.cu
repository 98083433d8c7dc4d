// Sorts n <= 2 blockDim.x numbers, n a power of two; one block, 4 n bytes of dynamic shared memory.
extern "C" __global__ void bitonic_sort(int *x, unsigned n) {
    extern __shared__ int keys[];
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) keys[i] = x[i];
    for (unsigned size = 2; size <= n; size *= 2) {
        for (unsigned stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            for (unsigned pair = threadIdx.x; pair < n / 2; pair += blockDim.x) {
                unsigned low = 2 * pair - (pair & (stride - 1)), high = low + stride;
                int a = keys[low], b = keys[high];
                bool ascending = (low & size) == 0;
                if ((a > b) == ascending) {
                    keys[low] = b;
                    keys[high] = a;
                }
            }
        }
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) x[i] = keys[i];
}
