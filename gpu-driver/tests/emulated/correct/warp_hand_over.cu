// One lane of a warp hands over what all of its lanes wrote, to one lane of another warp, whose lanes all read it: the
// warp-wide operations carry the order from lane to lane.
extern "C" __global__ void warp_hand_over(unsigned *x) {
    __shared__ unsigned data[32], flag;
    unsigned t = threadIdx.x, lane = t % 32;
    if (t == 0) flag = 0;
    __syncthreads();
    if (t < 32) {
        data[lane] = x[lane];
        __syncwarp();
        if (lane == 0) {
            __threadfence_block();
            atomicExch(&flag, 1u);
        }
    } else {
        if (lane == 0) {
            while (atomicAdd(&flag, 0u) == 0) {}
            __threadfence_block();
        }
        __syncwarp();
        x[t] = data[31 - lane];
    }
}
