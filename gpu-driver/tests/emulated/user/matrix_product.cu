// C = A B for row-major matrices: A has `rows` rows and `inner` columns, B has `inner` rows and `columns` columns. Blocks of
// 16 x 16 threads, one per element of C; the grid covers C. Tiles that stick out are filled with zeros.
#define TILE 16

extern "C" __global__ void matrix_product(const float *a, const float *b, float *c, int rows, int inner, int columns) {
    __shared__ float a_tile[TILE][TILE];
    __shared__ float b_tile[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    float sum = 0;
    for (int start = 0; start < inner; start += TILE) {
        a_tile[y][x] = row < rows && start + x < inner ? a[row * inner + start + x] : 0;
        b_tile[y][x] = start + y < inner && column < columns ? b[(start + y) * columns + column] : 0;
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += a_tile[y][k] * b_tile[k][x];
        __syncthreads();
    }
    if (row < rows && column < columns) c[row * columns + column] = sum;
}
