// Asserts what does not hold for the last thread.
extern "C" __global__ void failed_assert(unsigned *x) {
    unsigned t = threadIdx.x;
#ifdef FIXED
    assert(x[t] < 32);
#else
    assert(x[t] < 31); // BROKEN
#endif
    x[t] += 1;
}
