// Tuples of values of different types.
#pragma once
#include "packs.cuh"

namespace gpu {

// A number as a type, so that it can be a template argument of a function that is called with it;
// and the numbers below N.
template <int K> struct Number {
    static constexpr int value = K;
};
template <int... I> struct IndexList {};
template <int N, int... I> struct Below : Below<N - 1, N - 1, I...> {};
template <int... I> struct Below<0, I...> {
    typedef IndexList<I...> type;
};

// Values of the types T. Each is a base of its own, found by its number: finding one is one step,
// however many there are.
template <int K, class T> struct Item {
    T value;
};
template <class I, class... T> struct Items;
template <int... I, class... T> struct Items<IndexList<I...>, T...> : Item<I, T>... {};
template <class... T> struct Tuple : Items<typename Below<int(sizeof...(T))>::type, T...> {
    static constexpr int SIZE = sizeof...(T);
};

template <int K, class T> __device__ __forceinline__ T &get(Item<K, T> &item) { return item.value; }
template <int K, class T> __device__ __forceinline__ const T &get(const Item<K, T> &item) {
    return item.value;
}

// f(Number<0>, element 0), f(Number<1>, element 1), ...
template <class F, int... I, class... T>
__device__ __forceinline__ void each(Items<IndexList<I...>, T...> &tuple, const F &f) {
    (f(Number<I>{}, static_cast<Item<I, T> &>(tuple).value), ...);
}

// A type without its reference.
template <class T> struct plain {
    typedef T type;
};
template <class T> struct plain<T &> {
    typedef T type;
};

// The value of an Index leaf: the place itself, which is not read from memory.
struct Index {
    int64_t value;
};

// The type of a value in memory: a bool is a byte of 0 or anything else.
template <class T> struct Stored {
    typedef T type;
};
template <> struct Stored<bool> {
    typedef uint8_t type;
};
template <class T> __device__ __forceinline__ T from_stored(typename Stored<T>::type x) {
    return T(x);
}
template <> __device__ __forceinline__ bool from_stored<bool>(uint8_t x) { return x != 0; }

// VECTOR_SIZE values of each type.
template <int VECTOR_SIZE, class T> struct Wide;
template <int VECTOR_SIZE, class... T> struct Wide<VECTOR_SIZE, Tuple<T...>> {
    typedef Tuple<Pack<T, VECTOR_SIZE>...> type;
};

// The parameter of a user's kernel around a lowered expression (`GeneratedKernel::launch`), as
// words. Kernels of these crates have structures with named fields instead.
template <int N> struct Words {
    uint64_t word[N];
};

// A scalar from the low bits of a word.
template <class T> __device__ __forceinline__ T word_as(uint64_t word) { return T(word); }
template <> __device__ __forceinline__ bool word_as<bool>(uint64_t word) { return word != 0; }
template <> __device__ __forceinline__ float word_as<float>(uint64_t word) {
    return __uint_as_float(uint32_t(word));
}
template <> __device__ __forceinline__ double word_as<double>(uint64_t word) {
    return __longlong_as_double(int64_t(word));
}

} // namespace gpu
