// to[column][row] = from[row][column]; blocks of 32 x 8 threads move tiles of 32 x 32. The tile has a column more than it
// needs, which spreads a column over the banks of shared memory.
template <class T> __global__ void transpose(const T *from, T *to, int rows, int columns) {
    __shared__ T tile[32][33];
    int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    for (int down = 0; down < 32; down += 8) {
        if (column < columns && row + down < rows) tile[threadIdx.y + down][threadIdx.x] = from[(row + down) * columns + column];
    }
    __syncthreads();
    column = blockIdx.y * 32 + threadIdx.x;
    row = blockIdx.x * 32 + threadIdx.y;
    for (int down = 0; down < 32; down += 8) {
        if (column < rows && row + down < columns) to[(row + down) * rows + column] = tile[threadIdx.x][threadIdx.y + down];
    }
}
