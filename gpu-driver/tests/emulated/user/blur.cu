// Each pixel becomes the mean of the 3 x 3 pixels around it, rounded down; beyond the border the border's pixels count.
__device__ int clamp(int value, int last) { return min(max(value, 0), last); }

extern "C" __global__ void blur(const unsigned char *from, unsigned char *to, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int sum = 0;
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) sum += from[clamp(y + dy, height - 1) * width + clamp(x + dx, width - 1)];
    }
    to[y * width + x] = sum / 9;
}
