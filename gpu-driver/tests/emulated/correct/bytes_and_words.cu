// Shared memory written as words and read as bytes, and the other way round; neighbouring bytes are different threads' own.
extern "C" __global__ void bytes_and_words(unsigned *x) {
    __shared__ unsigned words[32];
    unsigned t = threadIdx.x;
    unsigned char *bytes = reinterpret_cast<unsigned char *>(words);
    if (t < 32) words[t] = 0x01010101u * (x[t] % 16);
    __syncthreads();
    unsigned char own = bytes[t];
    __syncthreads();
    bytes[127 - t] = own + t % 4;
    __syncthreads();
    if (t < 32) x[t] = words[t];
}
