// Twelve lanes have returned when the vote asks for all.
extern "C" __global__ void vote_after_return(unsigned *x) {
    unsigned t = threadIdx.x;
    if (t >= 20) return;
#ifdef FIXED
    unsigned mask = 0x000fffff;
#else
    unsigned mask = 0xffffffff;
#endif
    x[t] = __ballot_sync(mask, x[t] % 2 == 0); // BROKEN
}
