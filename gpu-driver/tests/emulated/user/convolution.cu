// A 5 x 5 convolution; outside the picture everything is 0. Blocks of 16 x 16 threads, which load 20 x 20 pixels.
__constant__ float COEFFICIENTS[5][5] = {
    {1, 4, 6, 4, 1}, {4, 16, 24, 16, 4}, {6, 24, -476, 24, 6}, {4, 16, 24, 16, 4}, {1, 4, 6, 4, 2},
};

extern "C" __global__ void convolution(const float *from, float *to, int width, int height) {
    __shared__ float tile[20][20];
    int left = int(blockIdx.x) * 16 - 2, top = int(blockIdx.y) * 16 - 2;
    for (int y = threadIdx.y; y < 20; y += 16) {
        for (int x = threadIdx.x; x < 20; x += 16) {
            bool inside = left + x >= 0 && left + x < width && top + y >= 0 && top + y < height;
            tile[y][x] = inside ? from[(top + y) * width + left + x] : 0.0f;
        }
    }
    __syncthreads();
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0;
#pragma unroll
    for (int dy = 0; dy < 5; dy++) {
#pragma unroll
        for (int dx = 0; dx < 5; dx++) sum += COEFFICIENTS[4 - dy][4 - dx] * tile[threadIdx.y + dy][threadIdx.x + dx];
    }
    to[y * width + x] = sum;
}
