// Lists of values of different types, and the packs of neighbours that threads load and store.
#pragma once
#include "prelude.cuh"

namespace gpu {

// Values of the types T.
template <class... T> struct Tuple;
template <> struct Tuple<> {
    static constexpr int SIZE = 0;
};
template <class First, class... Rest> struct Tuple<First, Rest...> {
    static constexpr int SIZE = 1 + sizeof...(Rest);
    First first;
    Tuple<Rest...> rest;
};

template <int K, class First, class... Rest> __device__ __forceinline__ auto &get(Tuple<First, Rest...> &tuple) {
    if constexpr (K == 0) {
        return tuple.first;
    } else {
        return get<K - 1>(tuple.rest);
    }
}
template <int K, class First, class... Rest> __device__ __forceinline__ const auto &get(const Tuple<First, Rest...> &tuple) {
    if constexpr (K == 0) {
        return tuple.first;
    } else {
        return get<K - 1>(tuple.rest);
    }
}

// A type without reference.
template <class T> struct plain { typedef T type; };
template <class T> struct plain<T &> { typedef T type; };

// A number as a type, so that it can be a template argument of what is called with it.
template <int K> struct Number { static constexpr int value = K; };

// f(Number<0>, element 0), f(Number<1>, element 1), ...
template <int K = 0, class F, class... T> __device__ __forceinline__ void each(Tuple<T...> &tuple, const F &f) {
    if constexpr (K < int(sizeof...(T))) {
        f(Number<K>{}, get<K>(tuple));
        each<K + 1>(tuple, f);
    }
}

// The value of an Index leaf: the place itself, which is not read from memory.
struct Place { int64_t value; };

// How a type stands in memory: bool as a byte of 0 or anything else.
template <class T> struct Stored { typedef T type; };
template <> struct Stored<bool> { typedef uint8_t type; };
template <class T> __device__ __forceinline__ T from_stored(typename Stored<T>::type x) { return T(x); }
template <> __device__ __forceinline__ bool from_stored<bool>(uint8_t x) { return x != 0; }

// Neighbours in memory that a thread moves at once: in accesses of up to 16 bytes.
constexpr int pack_alignment(int bytes) { return bytes < 16 ? bytes : 16; }
template <class T, int WIDTH> struct alignas(pack_alignment(WIDTH * int(sizeof(T)))) Pack { T lane[WIDTH]; };

// WIDTH values of each type.
template <int WIDTH, class T> struct Wide;
template <int WIDTH, class... T> struct Wide<WIDTH, Tuple<T...>> { typedef Tuple<Pack<T, WIDTH>...> type; };

// The parameter of a kernel.
template <int N> struct Words { uint64_t word[N]; };

// A scalar from the low bits of a word.
template <class T> __device__ __forceinline__ T word_as(uint64_t word) { return T(word); }
template <> __device__ __forceinline__ bool word_as<bool>(uint64_t word) { return word != 0; }
template <> __device__ __forceinline__ float word_as<float>(uint64_t word) { return __uint_as_float(uint32_t(word)); }
template <> __device__ __forceinline__ double word_as<double>(uint64_t word) { return __longlong_as_double(int64_t(word)); }

} // namespace gpu
