// Makes real numbers of random words, with the bits of cuRAND's functions. The compiler's options
// must be the defaults (no fast maths, exact square roots and divisions, multiply-adds contracted).
#pragma once
#include "prelude.cuh"

namespace gpu_random {

template <class T> struct NormalPair {
    T first, second;
};

// (0, 1]
__device__ __forceinline__ float uniform_f32(uint32_t x) {
    return x * 2.3283064e-10f + 2.3283064e-10f / 2.0f;
}
__device__ __forceinline__ double uniform_f64(uint32_t x, uint32_t y) {
    uint64_t bits = uint64_t(x) ^ (uint64_t(y) << 21);
    return bits * 1.1102230246251565e-16 + 1.1102230246251565e-16 / 2.0;
}
// [0, 1)
__device__ __forceinline__ float half_open_f32(uint32_t x) {
    return (x >> 8) * (1.0f / 16777216.0f);
}
__device__ __forceinline__ double half_open_f64(uint32_t x, uint32_t y) {
    uint64_t bits = uint64_t(x) ^ (uint64_t(y) << 21);
    return bits * 1.1102230246251565e-16;
}

// The transform of Box and Muller: sine first.
__device__ __forceinline__ NormalPair<float> normal_f32(uint32_t x, uint32_t y) {
    constexpr float TURN = 2.3283064e-10f * 6.2831855f;
    float u = uniform_f32(x);
    float w = y * TURN + TURN / 2.0f;
    // -2 ln u is 0 for u = 1, else at least 1e-7 and at most 46.
    float s = gpu::sqrt_of_moderate(-2.0f * logf(u));
    float sine, cosine;
    __sincosf(w, &sine, &cosine);
    return {sine * s, cosine * s};
}
__device__ __forceinline__ NormalPair<double> normal_f64(uint32_t x0, uint32_t x1, uint32_t y0,
                                                         uint32_t y1) {
    double u = uniform_f64(x0, x1);
    uint64_t bits = uint64_t(y0) ^ (uint64_t(y1) << 21);
    double w = bits * 2.2204460492503131e-16 + 2.2204460492503131e-16 / 2.0;
    // -2 ln u is 0 for u = 1, else at least 1e-16 and at most 75.
    double s = gpu::sqrt_of_moderate(-2.0 * log(u));
    double sine, cosine;
    sincospi(w, &sine, &cosine);
    return {sine * s, cosine * s};
}

} // namespace gpu_random
