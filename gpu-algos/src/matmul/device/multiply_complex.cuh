// The arithmetic of products of matrices of complex numbers, which the templates of `multiply.cuh`
// find by the type of their operands.
#pragma once
#include "complex.cuh"
#include "multiply.cuh"

namespace gpu {

// a * b + c: four products, each added to its part with one rounding.
template <class T>
__device__ __forceinline__ Complex<T> multiply_add(Complex<T> a, Complex<T> b, Complex<T> c) {
    using algos::matmul::multiply_add;
    return Complex<T>(multiply_add(-a.im, b.im, multiply_add(a.re, b.re, c.re)),
                      multiply_add(a.im, b.re, multiply_add(a.re, b.im, c.im)));
}

} // namespace gpu

namespace gpu::algos::matmul {

template <class T> struct Factors<Complex<T>> {
    Complex<T> alpha, beta;
    template <class Params> __device__ __forceinline__ Factors(const Params &params)
        : alpha(from_word<T>(params.alpha), from_word<T>(params.alpha_imaginary)),
          beta(from_word<T>(params.beta), from_word<T>(params.beta_imaginary)) {}
    // 1 leaves infinities as they are, of which the product with 0 i would make NaN.
    __device__ __forceinline__ Complex<T> scaled(Complex<T> sum) const {
        return alpha == Complex<T>(T(1)) ? sum : alpha * sum;
    }
};

} // namespace gpu::algos::matmul
