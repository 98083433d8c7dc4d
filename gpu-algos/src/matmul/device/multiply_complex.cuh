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

// Products of matrices of complex f64 as real ones on tensor cores. The warp multiplies matrices of
// 16 x 8 and 8 x 8 (`warp_multiply_add`): rows 0 to 7 are the real parts of sums, 8 to 15 the
// imaginary ones. Columns of a are (re, im) for four values along k, then (-im, re) for the same
// four; rows of b are re, then im. So each part of a sum has two chains of four terms in turn, and
// a thread has both parts of whole elements everywhere.
//
// -x by its sign bit: the compiler's negation is an addition, of the units that multiply.
__device__ __forceinline__ double negated(double x) {
    return __longlong_as_double(__double_as_longlong(x) ^ (1ll << 63));
}

// Row or column g of 8 is `complex_element(g)` of them in the tile, so that 8 threads, which read
// at once, find their elements in different banks, and neighbours t store neighbours.
__device__ __forceinline__ int complex_element(int g) { return g / 2 + g % 2 * 4; }

template <int THREAD_M, int THREAD_N> struct ComplexProducts {
    static constexpr int WARP_ROWS = 8, WARP_COLUMNS = 4, GROUP_K = 4;
    static_assert(THREAD_N % 2 == 0, "groups of 8 columns");

    // Elements at k = t of rows and columns g, as pairs of parts.
    struct ComplexFragment {
        double rows[THREAD_M][2], columns[THREAD_N / 2][2];
    };

    static __device__ __forceinline__ int lane_row() {
        return complex_element(threadIdx.x % 32 / 4);
    }
    static __device__ __forceinline__ int lane_column() { return threadIdx.x % 4; }
    static __device__ __forceinline__ constexpr int row(int i) { return 8 * i; }
    static __device__ __forceinline__ constexpr int column(int j) { return j / 2 * 8 + j % 2 * 4; }

    // Adds products to rows FIRST to END - 1 of the sums. Walks to and fro, so that neighbouring
    // products share an operand.
    template <int FIRST, int END> static __device__ __forceinline__ void
    add_rows(Complex<double> (&sums)[THREAD_M][THREAD_N], const ComplexFragment &of) {
#pragma unroll
        for (int i = FIRST; i < END; i++) {
            const double re = of.rows[i][0], im = of.rows[i][1];
            const double row[4] = {re, im, negated(im), re};
#pragma unroll
            for (int step = 0; step < THREAD_N / 2; step++) {
                const int n = i % 2 ? THREAD_N / 2 - 1 - step : step;
                Complex<double> &one = sums[i][2 * n], &other = sums[i][2 * n + 1];
                double c[4] = {one.re, other.re, one.im, other.im};
                warp_multiply_add(c, row, of.columns[n]);
                one.re = c[0], other.re = c[1], one.im = c[2], other.im = c[3];
            }
        }
    }
};

// Those whose tiles the threads copy: 8 threads read four values along k of two rows, PITCH apart.
template <int THREAD_M, int THREAD_N> struct OnTensorCores<Complex<double>, THREAD_M, THREAD_N>
    : ComplexProducts<THREAD_M, THREAD_N> {
    typedef ComplexProducts<THREAD_M, THREAD_N> Products;
    typedef typename Products::ComplexFragment Fragment;
    // Rows that are added before the next fragment is read.
    static constexpr int BEFORE = THREAD_M / 2;

    static __device__ __forceinline__ void load_element(double (&to)[2],
                                                        const Complex<double> *from) {
        const auto parts = load_pack<double, 2>(reinterpret_cast<const double *>(from));
        to[0] = parts.lane[0], to[1] = parts.lane[1];
    }
    template <class ATile, class BTile> static __device__ __forceinline__ void
    load(Fragment &to, const Complex<double> *a, const Complex<double> *b, int k, int m, int n) {
        const int x = Products::lane_row(), t = threadIdx.x % 4;
        a += ATile::offset(m + x, k + t), b += BTile::offset(n + x, k + t);
#pragma unroll
        for (int i = 0; i < THREAD_M; i++) load_element(to.rows[i], a + ATile::offset(8 * i, 0));
#pragma unroll
        for (int j = 0; j < THREAD_N / 2; j++)
            load_element(to.columns[j], b + BTile::offset(8 * j, 0));
    }
    template <int FIRST, int END> static __device__ __forceinline__ void
    add(Complex<double> (&sums)[THREAD_M][THREAD_N], const Fragment &of) {
        Products::template add_rows<FIRST, END>(sums, of);
    }
};

} // namespace gpu::algos::matmul
