// What blocks of one launch hand to each other without waiting at a counter: slots, in memory that is zero before and after a launch
// (`Stream::with_cleared_scratch`).
//
// A slot has a 64-bit word for each 32 bits of a value, with a mark beside them. So each word tells by itself whether it has been written: no fence is
// needed, and words that come apart do no harm. Half of what is moved are marks, which is nothing beside the tiles that are summed up here.
#pragma once
#include "tuple.cuh"

namespace gpu {

// A value as words.
template <class S> struct WordsOf {
    static constexpr int COUNT = int((sizeof(S) + 3) / 4);
    union {
        S value;
        uint32_t word[COUNT];
    };
    __device__ __forceinline__ WordsOf() {}
    explicit __device__ __forceinline__ WordsOf(const S &from) {
        if constexpr (sizeof(S) % 4 != 0) word[COUNT - 1] = 0;
        value = from;
    }
};

template <class S> struct Slot {
    static constexpr int WORDS = WordsOf<S>::COUNT;
    static constexpr uint64_t MARK = uint64_t(1) << 32;
    uint64_t word[WORDS];

    __device__ __forceinline__ void put(const S &value) {
        const WordsOf<S> from(value);
#pragma unroll
        for (int k = 0; k < WORDS; k++) __nv_atomic_store_n(word + k, MARK | from.word[k], __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    }
    // Whether it has been put there, and what.
    __device__ __forceinline__ bool look(S &value) {
        WordsOf<S> to;
        bool all = true;
#pragma unroll
        for (int k = 0; k < WORDS; k++) {
            const uint64_t seen = __nv_atomic_load_n(word + k, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
            all = all && (seen & MARK) != 0;
            to.word[k] = uint32_t(seen);
        }
        value = to.value;
        return all;
    }
    // Waits for it. Whoever puts it must not wait for this thread.
    __device__ __forceinline__ S wait() {
        S value;
        // Who looks again at once is in the way of those who write.
        while (!look(value)) __nanosleep(40);
        return value;
    }
    // For the next launch, when nobody looks any more.
    __device__ __forceinline__ void clear() {
#pragma unroll
        for (int k = 0; k < WORDS; k++) word[k] = 0;
    }
};

} // namespace gpu
