// The number of steps z -> z^2 + c, at most `limit`, until |z| > 2, for c on a grid of points. The arithmetic is spelled out so
// that no compiler fuses a multiplication with an addition: the counts are the same on every machine.
extern "C" __global__ void mandelbrot(unsigned *steps, int width, int height, float left, float top, float spacing,
                                      unsigned limit) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height) return;
    float real = __fadd_rn(left, __fmul_rn(float(column), spacing)), imaginary = __fsub_rn(top, __fmul_rn(float(row), spacing));
    float x = 0, y = 0;
    unsigned count = 0;
    while (count < limit) {
        float xx = __fmul_rn(x, x), yy = __fmul_rn(y, y);
        if (__fadd_rn(xx, yy) > 4.0f) break;
        y = __fadd_rn(__fmul_rn(__fmul_rn(2.0f, x), y), imaginary);
        x = __fadd_rn(__fsub_rn(xx, yy), real);
        count++;
    }
    steps[row * width + column] = count;
}
