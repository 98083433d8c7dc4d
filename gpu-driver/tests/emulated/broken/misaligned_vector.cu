// A load of 16 bytes from an address that is no multiple of 16.
extern "C" __global__ void misaligned_vector(unsigned *x) {
    unsigned t = threadIdx.x;
#ifdef FIXED
    const uint4 *from = reinterpret_cast<const uint4 *>(x);
#else
    const uint4 *from = reinterpret_cast<const uint4 *>(x + 1);
#endif
    uint4 four = from[t]; // BROKEN
    __syncthreads();
    x[t] = four.x + four.y + four.z + four.w;
}
