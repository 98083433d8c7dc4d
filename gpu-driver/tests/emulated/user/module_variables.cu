// Variables of the module: they keep their values from launch to launch.
__device__ unsigned launches;
__device__ unsigned long long total = 1000;
__constant__ int POWERS[4] = {1, 10, 100, 1000};
__device__ const char *const WORDS[2] = {"even", "odd"};

extern "C" __global__ void module_variables(unsigned *out) {
    unsigned t = threadIdx.x;
    if (t == 0) launches++;
    atomicAdd(&total, (unsigned long long)(POWERS[t % 4]));
    __syncthreads();
    out[t] = launches * 100000 + POWERS[t % 4] + WORDS[t % 2][0];
    if (t == 0) out[blockDim.x] = unsigned(total);
}
