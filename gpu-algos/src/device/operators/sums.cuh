// Operators that add, multiply or count: sums, products, counts, `any` and `all`.
#pragma once
#include "operators/plain.cuh"

namespace gpu::algos::reduce {

// The sum of values V, carried in A, returned as R.
template <class V, class A, class R, bool IGNORE> struct Sum : Plain<A> {
    static __device__ __forceinline__ A identity() { return A(0); }
    static __device__ __forceinline__ void take(A &sum, V x, int64_t) {
        sum += skipped<IGNORE>(x) ? A(0) : A(x);
    }
    static __device__ __forceinline__ A make_state(V x) { return skipped<IGNORE>(x) ? A(0) : A(x); }
    static __device__ __forceinline__ A combine(A a, A b) { return a + b; }
    static __device__ __forceinline__ Tuple<R> finalize(A sum, int64_t) { return {R(sum)}; }
};

template <class V, class A, class R, bool IGNORE> struct Product : Plain<A> {
    static __device__ __forceinline__ A identity() { return A(1); }
    static __device__ __forceinline__ void take(A &product, V x, int64_t) {
        product *= skipped<IGNORE>(x) ? A(1) : A(x);
    }
    static __device__ __forceinline__ A make_state(V x) { return skipped<IGNORE>(x) ? A(1) : A(x); }
    static __device__ __forceinline__ A combine(A a, A b) { return a * b; }
    static __device__ __forceinline__ Tuple<R> finalize(A product, int64_t) { return {R(product)}; }
};

// The number of values that are neither 0 nor false.
template <class V> struct Count : Plain<int64_t> {
    static __device__ __forceinline__ int64_t identity() { return 0; }
    static __device__ __forceinline__ void take(int64_t &count, V x, int64_t) {
        count += x != V(0);
    }
    static __device__ __forceinline__ int64_t combine(int64_t a, int64_t b) { return a + b; }
    static __device__ __forceinline__ Tuple<int64_t> finalize(int64_t count, int64_t) {
        return {count};
    }
};

template <class V, bool ALL> struct Logical : Plain<int32_t> {
    static __device__ __forceinline__ int32_t identity() { return ALL; }
    static __device__ __forceinline__ void take(int32_t &holds, V x, int64_t) {
        int32_t one = x != V(0);
        holds = ALL ? holds & one : holds | one;
    }
    static __device__ __forceinline__ int32_t combine(int32_t a, int32_t b) {
        return ALL ? a & b : a | b;
    }
    static __device__ __forceinline__ Tuple<bool> finalize(int32_t holds, int64_t) {
        return {holds != 0};
    }
};

} // namespace gpu::algos::reduce
