// Loads four elements at once; the last two of the eighth load lie behind the 30 there are.
extern "C" __global__ void out_of_bounds_vector(unsigned *x) {
    unsigned t = threadIdx.x;
#ifdef FIXED
    if (t == 7) return;
#endif
    uint4 four = reinterpret_cast<const uint4 *>(x)[t]; // BROKEN
    __syncwarp(0x7f);
    x[t] = four.x + four.y + four.z + four.w;
}
