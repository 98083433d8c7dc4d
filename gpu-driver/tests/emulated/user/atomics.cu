// Every atomic function once per thread on words of its own kind; out starts as the host sets it. old[i] = what thread i of
// the grid got from the counter.
extern "C" __global__ void atomics(unsigned *out, unsigned long long *wide, float *single, double *twice, unsigned *old) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    old[i] = atomicAdd(&out[0], 1u);
    atomicSub(&out[1], 2u);
    atomicMin(&out[2], 1000 - i);
    atomicMax(&out[3], i);
    atomicMin(reinterpret_cast<int *>(&out[4]), -int(i));
    atomicMax(reinterpret_cast<int *>(&out[5]), int(i) - 500);
    atomicAnd(&out[6], ~(1u << i % 8));
    atomicOr(&out[7], 1u << i % 32);
    atomicXor(&out[8], i);
    atomicInc(&out[9], 6);
    atomicDec(&out[10], 6);
    atomicExch(&out[11], 77);
    // A maximum by compare-and-swap, as one writes it for types that have none.
    unsigned seen = out[12];
    while (seen < i * 3) {
        unsigned before = atomicCAS(&out[12], seen, i * 3);
        if (before == seen) break;
        seen = before;
    }
    atomicAdd(&wide[0], 0x100000000ull + i);
    atomicMax(&wide[1], (unsigned long long)(i) << 33);
    atomicCAS(&wide[2], 5ull, 6ull);
    atomicAdd(single, 0.5f);
    atomicAdd(twice, 0.25);
    __shared__ int own;
    if (threadIdx.x == 0) own = 0;
    __syncthreads();
    atomicAdd(&own, int(i));
    atomicMax_block(&own, -1);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd_system(reinterpret_cast<int *>(&out[13]), own);
}
