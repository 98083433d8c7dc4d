// What blocks of one launch hand to each other without waiting at a counter: slots, in memory that is zero before and after a launch
// (`Stream::with_cleared_scratch`).
//
// A slot has a 64-bit word for each 32 bits of a value, with a mark beside them, and beside the first a flag. So each word tells by itself whether it has been written: no fence is
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

// What is handed on of an S: a value, and a flag that finds room beside the first mark. Most have none.
template <class S> struct Parts {
    typedef S Value;
    static __device__ __forceinline__ const S &value(const S &all) { return all; }
    static __device__ __forceinline__ bool flag(const S &) { return false; }
    static __device__ __forceinline__ S make(const S &value, bool) { return value; }
};

template <class S> struct Slot {
    typedef typename Parts<S>::Value Value;
    static constexpr int WORDS = WordsOf<Value>::COUNT;
    static constexpr uint64_t MARK = uint64_t(1) << 32, FLAG = uint64_t(1) << 33;
    alignas(WORDS == 2 ? 16 : 8) uint64_t word[WORDS];

    __device__ __forceinline__ void put(const S &value) {
        const WordsOf<Value> from(Parts<S>::value(value));
        const uint64_t flag = Parts<S>::flag(value) ? FLAG : 0;
#pragma unroll
        for (int k = 0; k < WORDS; k++) {
            const uint64_t marked = (k == 0 ? flag : 0) | MARK | from.word[k];
            __nv_atomic_store_n(word + k, marked, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
        }
    }
    // Whether it has been put there, and what.
    __device__ __forceinline__ bool look(S &value) {
        uint64_t seen[WORDS];
        look_at_words(word, seen);
        return decode(seen, value);
    }
    static __device__ __forceinline__ bool decode(const uint64_t (&seen)[WORDS], S &value) {
        WordsOf<Value> to;
        bool all = true;
#pragma unroll
        for (int k = 0; k < WORDS; k++) {
            all = all && (seen[k] & MARK) != 0;
            to.word[k] = uint32_t(seen[k]);
        }
        value = Parts<S>::make(to.value, (seen[0] & FLAG) != 0);
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

// Slots behind the last one that are memory too, which is looked at and not used: so all loads of a look differ by a constant, and are under way at once. Where
// each had an address of its own the compiler put uses of the first between them (H200: a microsecond more for the sum of 2^20 values).
constexpr int BEHIND = 256;

// Whether those of the values in `slots[0]`, `slots[32]`, ... that are wanted by any lane of the warp are here, and what they are.
template <class S, int COUNT>
__device__ __forceinline__ bool look_at_all(Slot<S> *slots, const bool (&wanted)[COUNT], S (&values)[COUNT]) {
    static_assert(COUNT * 32 <= BEHIND, "looks go too far behind the last slot");
    uint64_t seen[COUNT][Slot<S>::WORDS];
#pragma unroll
    for (int k = 0; k < COUNT; k++) look_at_words(slots[k * 32].word, seen[k]);
    bool all = true;
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        const bool here = Slot<S>::decode(seen[k], values[k]);
        all = all && (here || !wanted[k]);
    }
    return __all_sync(0xffffffffu, all);
}
// Slots that are looked at now and asked for later: what is done meanwhile does not wait for memory.
template <class S, int COUNT> struct Looks {
    uint64_t seen[COUNT][Slot<S>::WORDS];

    // At those that are wanted alone: others may be written just now, and those that look are in the way of those that write. In place of what is not wanted
    // `other` is looked at, a slot that is there.
    __device__ __forceinline__ void look(Slot<S> *slots, Slot<S> *other, const bool (&wanted)[COUNT]) {
#pragma unroll
        for (int k = 0; k < COUNT; k++) look_at_words((wanted[k] ? slots + k * 32 : other)->word, seen[k]);
    }
    // Whether those that are wanted were there, and what they are.
    __device__ __forceinline__ bool are_here(const bool (&wanted)[COUNT], S (&values)[COUNT]) const {
        bool all = true;
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            const bool here = Slot<S>::decode(seen[k], values[k]);
            all = all && (here || !wanted[k]);
        }
        return all;
    }
};
// Waits until those are there that are wanted.
template <class S, int COUNT>
__device__ __forceinline__ void wait_for_all(Slot<S> *slots, Slot<S> *other, const bool (&wanted)[COUNT], S (&values)[COUNT]) {
    Looks<S, COUNT> looks;
    while (true) {
        looks.look(slots, other, wanted);
        if (looks.are_here(wanted, values)) return;
        __nanosleep(20);
    }
}

} // namespace gpu
