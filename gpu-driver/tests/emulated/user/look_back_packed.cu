// As look_back_scan, with flag and value in one 64-bit word that is exchanged atomically, and a whole warp that looks back
// over 32 tiles at a time. 128 threads. ticket and states start as zeros.
typedef unsigned long long State; // the flag in the upper half: 0 nothing, 1 the tile's sum, 2 the sum up to its end

__device__ State state_of(unsigned flag, unsigned value) { return State(flag) << 32 | value; }

extern "C" __global__ void look_back_packed(const unsigned *x, unsigned *y, unsigned n, unsigned *ticket, State *states) {
    __shared__ unsigned tile, before;
    __shared__ unsigned scanned[128];
    unsigned t = threadIdx.x;
    if (t == 0) tile = atomicAdd(ticket, 1u);
    __syncthreads();
    unsigned i = tile * 128 + t;
    scanned[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (unsigned distance = 1; distance < 128; distance *= 2) {
        unsigned left = t >= distance ? scanned[t - distance] : 0;
        __syncthreads();
        scanned[t] += left;
        __syncthreads();
    }
    if (t < 32) {
        unsigned sum = scanned[127], total = 0;
        if (t == 0) atomicExch(&states[tile], state_of(tile == 0 ? 2 : 1, sum));
        for (int last = int(tile) - 1; last >= 0; last -= 32) {
            int at = last - int(t);
            State state = state_of(2, 0); // before the first tile there is nothing
            if (at >= 0) {
                do { state = atomicAdd(&states[at], 0ull); } while (state >> 32 == 0);
            }
            unsigned ends = __ballot_sync(0xffffffff, state >> 32 == 2);
            unsigned nearest = ends == 0 ? 31 : __ffs(ends) - 1;
            unsigned part = t <= nearest ? unsigned(state) : 0;
            for (int distance = 16; distance > 0; distance /= 2) part += __shfl_xor_sync(0xffffffff, part, distance);
            total += part;
            if (ends != 0) break;
        }
        if (t == 0) {
            if (tile > 0) atomicExch(&states[tile], state_of(2, total + sum));
            before = total;
        }
    }
    __syncthreads();
    if (i < n) y[i] = before + scanned[t];
}
