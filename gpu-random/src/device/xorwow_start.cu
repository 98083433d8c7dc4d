// The states that a fill from XORWOW begins with, and the tables of the jumps within it.
#include "prelude.cuh"
#include "constants.cuh"
#include "xorwow.cuh"
#include "xorwow_states.cuh"

namespace gpu_random {

// Makes the states at some place of a stream.
//   grid, block   a thread for each generator
//   seeds         one for each generator if `each` is 1, else `seed` is that of all
//   jumps         polynomials, 8 words each: `own` for generators g mod own, then those for g / own
//   digits        the polynomial of `draws` draws, which all generators have made; those below
//                 `split` have made `more` besides, fewer than 64
//   bytes         24 written for each generator
__global__ void xorwow_start(uint64_t seed, const uint32_t *seeds, uint32_t each,
                             const uint32_t *jumps, uint32_t own, uint32_t *states,
                             uint32_t generators, uint64_t digits0, uint64_t digits1,
                             uint64_t digits2, uint64_t digits3, uint64_t draws, uint32_t split,
                             uint32_t more) {
    uint64_t generator = gpu::first_index();
    gpu::grid_dependency_wait();
    if (generator >= generators) return;
    XorwowState state = seeded(each ? seeds[generator] : seed);
    const uint32_t *low = jumps + generator % own * 8, *high = jumps + (own + generator / own) * 8;
    jump(state.v, [&](int w) { return low[w]; });
    if (generator >= own) jump(state.v, [&](int w) { return high[w]; });
    if (draws != 0) {
        jump(state.v, [&](int w) {
            uint64_t two = w < 2 ? digits0 : w < 4 ? digits1 : w < 6 ? digits2 : digits3;
            return uint32_t(two >> (w % 2 * 32));
        });
    }
    state.d += WEYL * uint32_t(draws);
    for (uint32_t draws_more = generator < split ? more : 0; draws_more > 0; draws_more--)
        draw(state);
    store_state(states, generators, uint32_t(generator), state);
}

// Makes tables of the contribution of each five bits of a state to the state after a jump: 32
// tables of 32 entries of five words.
//   grid          a block for each jump
//   block         256
//   jumps         a polynomial for each, 8 words
//   bytes         20480 written for each
__global__ void __launch_bounds__(256) xorwow_tables(const uint32_t *jumps, uint32_t *tables) {
    SHARED(uint32_t, columns, [160][5]);
    gpu::grid_dependency_wait();
    const uint32_t *digits = jumps + uint64_t(blockIdx.x) * 8;
    if (threadIdx.x < 160) {
        uint32_t v[5];
#pragma unroll
        for (int i = 0; i < 5; i++) v[i] = threadIdx.x / 32 == i ? 1u << (threadIdx.x % 32) : 0;
        jump(v, [&](int w) { return digits[w]; });
#pragma unroll
        for (int i = 0; i < 5; i++) columns[threadIdx.x][i] = v[i];
    }
    __syncthreads();
    uint32_t *own = tables + uint64_t(blockIdx.x) * JUMP_TABLE_WORDS;
    for (uint32_t entry = threadIdx.x; entry < 1024; entry += 256) {
        uint32_t sum[5] = {0, 0, 0, 0, 0};
        for (uint32_t bit = 0; bit < 5; bit++) {
            uint32_t mask = 0u - (entry >> bit & 1u);
#pragma unroll
            for (int i = 0; i < 5; i++) sum[i] ^= columns[entry / 32 * 5 + bit][i] & mask;
        }
#pragma unroll
        for (int i = 0; i < 5; i++) own[entry * 5 + i] = sum[i];
    }
}

} // namespace gpu_random
