// The operations of expressions on complex numbers. Only programs that have one include them.
#pragma once
#include "complex.cuh"
#include "operations.cuh"

namespace gpu {

template <class T> constexpr bool is_complex = false;
template <class T> constexpr bool is_complex<Complex<T>> = true;
template <class T> struct PartOf {
    typedef T type;
};
template <class T> struct PartOf<Complex<T>> {
    typedef T type;
};

// Casts of which one type is complex: a real number has the imaginary part 0, which a cast to a
// real type drops. To bool: whether a part is not 0.
template <class To, class From> __device__ __forceinline__ To complex_cast(From x) {
    typedef typename PartOf<To>::type Part;
    if constexpr (!is_complex<From>) {
        return To(cast<Part>(x));
    } else if constexpr (is_complex<To>) {
        return To(cast<Part>(x.re), cast<Part>(x.im));
    } else if constexpr (same<To, bool>::value) {
        return bool(x);
    } else {
        return cast<To>(x.re);
    }
}

#define GPU_COMPLEX(name, symbol)                                                                  \
    template <class T> __device__ __forceinline__ Complex<T> name(Complex<T> a, Complex<T> b) {    \
        return a symbol b;                                                                         \
    }
GPU_COMPLEX(add, +)
GPU_COMPLEX(subtract, -)
GPU_COMPLEX(multiply, *)
GPU_COMPLEX(divide, /)
#undef GPU_COMPLEX
template <class T> __device__ __forceinline__ Complex<T> negate(Complex<T> x) { return -x; }

template <class T> __device__ __forceinline__ Complex<T> complex(T re, T im) {
    return Complex<T>(re, im);
}
template <class T> __device__ __forceinline__ T real(Complex<T> x) { return x.re; }
template <class T> __device__ __forceinline__ T imag(Complex<T> x) { return x.im; }
template <class T> __device__ __forceinline__ Complex<T> conj(Complex<T> x) {
    return Complex<T>(x.re, -x.im);
}
template <class T> __device__ __forceinline__ T absolute(Complex<T> x) { return hypot(x.re, x.im); }
template <class T> __device__ __forceinline__ T arg(Complex<T> x) { return atan2(x.im, x.re); }
template <class T> __device__ __forceinline__ bool is_nan(Complex<T> x) {
    return is_nan(x.re) || is_nan(x.im);
}
template <class T> __device__ __forceinline__ bool is_finite(Complex<T> x) {
    return is_finite(x.re) && is_finite(x.im);
}

} // namespace gpu
