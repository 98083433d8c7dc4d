// One thread per block takes a lock, changes two words that belong together, and gives it back. x[0] is the lock.
extern "C" __global__ void global_lock(unsigned *x) {
    volatile unsigned *pair = x + 1;
    if (threadIdx.x == 0) {
        while (atomicCAS(&x[0], 0u, 1u) != 0) {}
        __threadfence();
        unsigned before = pair[0];
        pair[0] = before + 1;
        pair[1] = pair[1] + before;
        __threadfence();
        atomicExch(&x[0], 0u);
    }
}
