// Prints one line per thread.
extern "C" __global__ void print(const char *word, float scale) {
    printf("thread %u of block %d: %s %5.2f|%-4d|%04x %c %lld 100%%\n", threadIdx.x, int(blockIdx.x), word, scale * threadIdx.x,
           -int(threadIdx.x), 255 + threadIdx.x, 'a' + int(threadIdx.x), 1ll << (40 + threadIdx.x));
}
