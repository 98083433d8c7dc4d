// Determinants from the pivots of an elimination, and their signs and logarithms.
#pragma once
#include "team.cuh"

namespace gpu::algos::linalg {

// The facts of an elimination beside the factors: the status, and whether rows were exchanged an
// odd number of times.
struct Elimination {
    int status;
    bool is_odd;
};

// A number as a mantissa in [0.5, 1) and a power of two; 0 and numbers that are not finite stay as
// they are.
template <class T> __device__ __forceinline__ T split(T x, int &exponent) {
    if (x == T(0) || x - x != T(0)) return x;
    int own;
    const T mantissa = frexp(x, &own);
    exponent += own;
    return mantissa;
}

// The product of pivots, as `split` gives it. Its exponent is carried beside it, so that it
// overflows or underflows only if the result does.
template <class T> struct SignedProduct {
    T mantissa;
    int exponent;

    __device__ __forceinline__ explicit SignedProduct(bool is_odd) {
        mantissa = is_odd ? T(-1) : T(1);
        exponent = 0;
    }
    __device__ __forceinline__ void take(T pivot) {
        mantissa = split(mantissa * split(pivot, exponent), exponent);
    }
};

// The logarithm of |x| 2^exponent, for x as `split` gives it. The mantissa is turned to one near 1,
// so that nothing cancels where the number is near 1.
template <class T> __device__ __forceinline__ T log_of_size(T x, int exponent) {
    T size = x < T(0) ? -x : x;
    if (size < T(0.70710678118654752)) size *= T(2), exponent--;
    return multiply_add(T(exponent), T(0.69314718055994531), natural_logarithm(size));
}

// Stores the determinant of a matrix to c, or in the mode LOG_DETERMINANT its sign to c and the
// logarithm of its size to d.
template <class T, class Params> __device__ __forceinline__ void
store_determinant(const Params &params, const TeamMatrix &matrix, const SignedProduct<T> &of) {
    T *const c = reinterpret_cast<T *>(params.c) + matrix.offsets[0];
    const T product = of.mantissa;
    if (params.mode == DETERMINANT) {
        *c = product - product != T(0) ? product : ldexp(product, of.exponent);
    } else {
        // Of 0 and NaN the sign is 0 and NaN.
        *c = product > T(0) ? T(1) : product < T(0) ? T(-1) : product + T(0);
        reinterpret_cast<T *>(params.d)[matrix.number] = log_of_size(product, of.exponent);
    }
}

} // namespace gpu::algos::linalg
