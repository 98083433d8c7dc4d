// Two threads use different bytes of a word that one of them has read whole.
extern "C" __global__ void bytes_of_one_word(unsigned *x) {
    __shared__ unsigned word;
    unsigned t = threadIdx.x;
    if (t == 0) word = 0x04030201;
    __syncthreads();
    unsigned char *bytes = reinterpret_cast<unsigned char *>(&word);
    unsigned whole = t == 0 ? word & 0xff : 0;
    __syncwarp();
    if (t == 33) x[t] = bytes[3];
    if (t == 0) {
        bytes[0] = 9;
        x[t] = whole;
    }
}
