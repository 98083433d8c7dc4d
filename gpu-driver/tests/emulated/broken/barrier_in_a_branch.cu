// Only the even threads wait at the barrier; the others go on to the end.
extern "C" __global__ void barrier_in_a_branch(unsigned *x) {
    unsigned t = threadIdx.x;
    if (t % 2 == 0) {
        x[t] += 1;
#ifndef FIXED
        __syncthreads(); // BROKEN
#endif
    }
#ifdef FIXED
    __syncthreads();
#endif
    x[t] *= 2;
}
