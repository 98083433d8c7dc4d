// The units of matmul_boxes.cuh for complex f64, whose products are those of multiply_complex.cuh.
// An element is 16 bytes, so boxes have 8 of them in a row, and a thread reads both parts at once.
#pragma once
#include "matmul_boxes.cuh"
#include "multiply_complex.cuh"

namespace gpu::algos::matmul {

// The places of a thread's elements of one operand in a stage, as BoxPlace has them for f64. With
// lane = 4 g + t, the thread reads those at k = t, t + 4, … of `complex_element(g)` in each group
// of 8 across k. Of 8 threads, which read at once, those of one g have elements side by side, and
// those of the other the other four of the eight banks: the swizzle keeps them apart.
template <uint32_t BOXES, int BLOCK, int BLOCK_K> struct ComplexBoxPlace {
    static constexpr bool IS_ALONG = BOXES == ALONG_K_BOXES;
    static constexpr int GROUP_BYTES = (IS_ALONG ? 8 : BLOCK_K) * 128, BOX_BYTES = BLOCK * 128;

    // The place at k = t of `complex_element(g)` in the group from element `x` on, a multiple of 8.
    static __device__ __forceinline__ uint32_t first(int x) {
        const int at = complex_element(threadIdx.x % 32 / 4), t = threadIdx.x % 4;
        return swizzled<128>(IS_ALONG ? (x + at) * 128 + t * 16
                                      : x / 8 * GROUP_BYTES + t * 128 + at * 16);
    }
    // That at k = t + 4 `step` in group `group` behind.
    static __device__ __forceinline__ uint32_t behind(uint32_t first, int group, int step) {
        return (first ^ step % 2 << 6) + (IS_ALONG ? step / 2 * BOX_BYTES : step * 4 * 128) +
               group * GROUP_BYTES;
    }
};

template <class Tile, uint32_t LEFT, uint32_t RIGHT>
struct OnBoxes<Complex<double>, Tile, LEFT, RIGHT>
    : ComplexProducts<Tile::THREAD_M, Tile::THREAD_N> {
    typedef ComplexProducts<Tile::THREAD_M, Tile::THREAD_N> Products;
    typedef typename Products::ComplexFragment Fragment;
    static constexpr int STEP_K = Products::GROUP_K;
    typedef ComplexBoxPlace<LEFT, Tile::BLOCK_M, Tile::BLOCK_K> Left;
    typedef ComplexBoxPlace<RIGHT, Tile::BLOCK_N, Tile::BLOCK_K> Right;

    // Step `step` of a stage, as OnBoxes has it for f64.
    static __device__ __forceinline__ void load(Fragment &to, SharedAddress left,
                                                SharedAddress right, uint32_t in_left,
                                                uint32_t in_right, int step) {
#pragma unroll
        for (int i = 0; i < Tile::THREAD_M; i++)
            left.behind(Left::behind(in_left, i, step)).load(to.rows[i]);
#pragma unroll
        for (int n = 0; n < Tile::THREAD_N / 2; n++)
            right.behind(Right::behind(in_right, n, step)).load(to.columns[n]);
    }
    static __device__ __forceinline__ void
    add(Complex<double> (&sums)[Tile::THREAD_M][Tile::THREAD_N], const Fragment &of) {
        Products::template add_rows<0, Tile::THREAD_M>(sums, of);
    }
};

} // namespace gpu::algos::matmul
