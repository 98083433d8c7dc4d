// One generation of Conway's game of life on a torus. A cell is a byte, 0 or 1.
extern "C" __global__ void life(const unsigned char *now, unsigned char *next, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int alive = 0;
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            if (dx != 0 || dy != 0) alive += now[(y + dy + height) % height * width + (x + dx + width) % width];
        }
    }
    next[y * width + x] = alive == 3 || (alive == 2 && now[y * width + x]);
}
