// Loads and stores of vector types; n counts groups of four floats.
extern "C" __global__ void vector_types(const float4 *x, float2 *halves, double2 *sums, uchar4 *bytes, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 four = x[i];
    halves[2 * i] = make_float2(four.w, four.z);
    halves[2 * i + 1] = {four.y, four.x};
    sums[i] = make_double2(four.x + four.y, double(four.z) * four.w);
    int3 rounded = make_int3(int(four.x), int(four.y), int(four.z));
    uchar4 packed;
    packed.x = rounded.x;
    packed.y = rounded.y;
    packed.z = rounded.z;
    packed.w = sizeof(float4) + alignof(float4);
    bytes[i] = packed;
}
