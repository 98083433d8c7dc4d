// Waits for a value that is never written.
extern "C" __global__ void infinite_loop(unsigned *x) {
    volatile unsigned *first = x;
#ifdef FIXED
    unsigned awaited = 0;
#else
    unsigned awaited = 1;
#endif
    while (*first != awaited) {} // BROKEN
}
