// One lane waits with atomic reads for a flag that nobody raises.
extern "C" __global__ void poll_for_ever(unsigned *x) {
    unsigned t = threadIdx.x;
#ifdef FIXED
    if (t == 0) atomicExch(&x[0], 1u);
#endif
    if (t == 1) {
        while (atomicAdd(&x[0], 0u) == 0) {} // BROKEN
        x[1] = 7;
    }
}
