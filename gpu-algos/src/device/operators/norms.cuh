// The Euclidean norm, and the norm of the greatest absolute value.
#pragma once
#include "operators/plain.cuh"
#include "operators/extremes.cuh"

namespace gpu::algos::reduce {

// The greatest of values that are not below 0; 0 for no values.
template <class V> struct NormMax : Extreme<V, true, false> {
    static __device__ __forceinline__ V identity() { return V(0); }
};

// The root of the sum of squares of f64, right wherever it is a finite f64. Squares are added up in
// three classes; those that would overflow and those that would underflow are scaled by powers of 2
// (Blue: A Portable Fortran Program to Find the Euclidean Norm, 1978).
struct Squares {
    double small, middle, large;
};
struct NormL2 : Plain<Squares> {
    static constexpr bool LANES = false;
    static constexpr double BELOW = 0x1p-480, ABOVE = 0x1p480, UP = 0x1p600, DOWN = 0x1p-600;
    static __device__ __forceinline__ Squares identity() { return {0, 0, 0}; }
    static __device__ __forceinline__ void take(Squares &sums, double x, int64_t) {
        const double size = fabs(x);
        // NaN goes to the middle.
        if (size < BELOW) {
            sums.small = fma(x * UP, x * UP, sums.small);
        } else if (size > ABOVE) {
            sums.large = fma(x * DOWN, x * DOWN, sums.large);
        } else {
            sums.middle = fma(x, x, sums.middle);
        }
    }
    static __device__ __forceinline__ Squares combine(Squares a, Squares b) {
        return {a.small + b.small, a.middle + b.middle, a.large + b.large};
    }
    static __device__ __forceinline__ Tuple<double> finalize(Squares sums, int64_t) {
        if (is_nan(sums.middle)) return {sums.middle};
        if (sums.large > 0) return {sqrt(sums.large + sums.middle * DOWN * DOWN) / DOWN};
        if (sums.middle > 0) return {sqrt(sums.middle + sums.small / UP / UP)};
        return {sqrt(sums.small) / UP};
    }
};
template <class V> struct NormL2Of : Plain<double> {
    static __device__ __forceinline__ double identity() { return 0; }
    static __device__ __forceinline__ void take(double &sum, V x, int64_t) {
        sum = fma(double(x), double(x), sum);
    }
    static __device__ __forceinline__ double combine(double a, double b) { return a + b; }
    static __device__ __forceinline__ Tuple<V> finalize(double sum, int64_t) {
        return {V(sqrt(sum))};
    }
};

} // namespace gpu::algos::reduce
