// A mask may name lanes that have returned: the vote is among those that have not.
extern "C" __global__ void vote_after_return(unsigned *x) {
    unsigned t = threadIdx.x;
    if (t >= 20) return;
    x[t] = __ballot_sync(0xffffffff, x[t] % 2 == 0);
}
