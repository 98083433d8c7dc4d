// States: the values that the operations of this folder move between threads.
//
// #include "block/state.cuh"
//
// A state is plain data of any size: a number, a pair, a structure. It has no constructor that must
// run, since shared memory and slots hold it as bytes. All lanes of a warp call the shuffles, each
// of which takes a shuffle for every 32 bits of a state.
//
//   const float2 before = gpu::shuffled_up(sum, 1);   // the sum of the lane before
//
// Blocks and grids of this folder have one dimension.
#pragma once
#include "prelude.cuh"

namespace gpu {

// A value as 32-bit words.
template <class S> struct WordsOf {
    static constexpr int COUNT = int((sizeof(S) + 3) / 4);
    union {
        S value;
        uint32_t part[COUNT];
    };
    __device__ __forceinline__ WordsOf() {}
    explicit __device__ __forceinline__ WordsOf(const S &from) {
        if constexpr (sizeof(S) % 4 != 0) part[COUNT - 1] = 0;
        value = from;
    }
};

// The state that lane `lane + delta` of the group of `width` lanes passes; behind the group's end
// the lane's own. A shuffle for each 32 bits of a state.
template <class S>
__device__ __forceinline__ S shuffled_down(const S &state, int delta, int width) {
    const WordsOf<S> words(state);
    WordsOf<S> other;
#pragma unroll
    for (int k = 0; k < WordsOf<S>::COUNT; k++)
        other.part[k] = __shfl_down_sync(0xffffffffu, words.part[k], delta, width);
    return other.value;
}
// The state that lane `lane - delta` of the warp passes; before the first lane the lane's own.
template <class S> __device__ __forceinline__ S shuffled_up(const S &state, int delta) {
    const WordsOf<S> words(state);
    WordsOf<S> other;
#pragma unroll
    for (int k = 0; k < WordsOf<S>::COUNT; k++)
        other.part[k] = __shfl_up_sync(0xffffffffu, words.part[k], delta);
    return other.value;
}
// The state that lane `lane` of the warp passes.
template <class S> __device__ __forceinline__ S shuffled(const S &state, int lane) {
    const WordsOf<S> words(state);
    WordsOf<S> other;
#pragma unroll
    for (int k = 0; k < WordsOf<S>::COUNT; k++)
        other.part[k] = __shfl_sync(0xffffffffu, words.part[k], lane);
    return other.value;
}

// Shared memory for states, which have no constructors there.
template <class S, int N> struct TempStorage {
    alignas(16) unsigned char bytes[N * sizeof(S)];
    __device__ __forceinline__ S *states() { return reinterpret_cast<S *>(bytes); }
};

namespace block {

// The state of no value: `identity()` of the operator O. Operators whose threads carry a state of
// another kind along their values turn that into one that threads exchange (`to_partial`).
template <class O> __device__ __forceinline__ auto identity_of(int)
    -> decltype(O::to_partial(O::identity())) {
    return O::to_partial(O::identity());
}
template <class O> __device__ __forceinline__ auto identity_of(long) -> decltype(O::identity()) {
    return O::identity();
}
template <class O> __device__ __forceinline__ typename O::State identity_of() {
    return identity_of<O>(0);
}

} // namespace block

} // namespace gpu
