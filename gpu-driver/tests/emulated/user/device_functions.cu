// Recursion, arrays of a thread's own, pointers to functions, and a function that is not inlined.
__device__ unsigned fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__device__ __noinline__ void sort(int *values, int n) {
    for (int i = 1; i < n; i++) {
        for (int j = i; j > 0 && values[j - 1] > values[j]; j--) {
            int swapped = values[j];
            values[j] = values[j - 1];
            values[j - 1] = swapped;
        }
    }
}

__device__ int twice(int x) { return 2 * x; }
__device__ int squared(int x) { return x * x; }

extern "C" __global__ void __launch_bounds__(64) device_functions(const int *__restrict__ x, int *__restrict__ medians,
                                                                 unsigned *__restrict__ numbers, int *__restrict__ mapped) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    int own[9];
    for (int k = 0; k < 9; k++) own[k] = x[9 * i + k];
    sort(own, 9);
    medians[i] = own[4];
    numbers[i] = fibonacci(i % 12);
    int (*function)(int) = i % 2 ? twice : squared;
    mapped[i] = function(own[8]);
}
