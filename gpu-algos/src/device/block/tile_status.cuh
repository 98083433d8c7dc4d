// Slots, by which blocks of one launch exchange values without waiting at a counter. Their memory
// is zero before and after a launch (`Stream::with_cleared_scratch`).
//
// A slot has a 64-bit word for each 32 bits of a value, with a mark beside them; the first word
// also has a flag. So each word tells by itself whether it has been written: no fence is needed,
// and words may arrive separately. A slot orders no other memory: other writes of the block need
// not be visible to a thread that finds the value. Half of the moved bits are marks, which is
// nothing beside the tiles that are summed up here.
#pragma once
#include "block/state.cuh"

namespace gpu {

// The parts of an S in a slot: a value, and a flag beside the first mark. Most types have no flag.
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
    alignas(WORDS == 2 ? 16 : 8) uint64_t marked[WORDS];

    // Publishes a value, once before the slot is cleared. One thread calls it.
    __device__ __forceinline__ void publish(const S &value) {
        const WordsOf<Value> from(Parts<S>::value(value));
        const uint64_t flag = Parts<S>::flag(value) ? FLAG : 0;
#pragma unroll
        for (int k = 0; k < WORDS; k++) {
            const uint64_t bits = (k == 0 ? flag : 0) | MARK | from.part[k];
            __nv_atomic_store_n(marked + k, bits, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
        }
    }
    // Polls the slot: whether a value has been published there, and the value.
    __device__ __forceinline__ bool poll(S &value) {
        uint64_t seen[WORDS];
        poll_words(marked, seen);
        return decode(seen, value);
    }
    static __device__ __forceinline__ bool decode(const uint64_t (&seen)[WORDS], S &value) {
        WordsOf<Value> to;
        bool all = true;
#pragma unroll
        for (int k = 0; k < WORDS; k++) {
            all = all && (seen[k] & MARK) != 0;
            to.part[k] = uint32_t(seen[k]);
        }
        value = Parts<S>::make(to.value, (seen[0] & FLAG) != 0);
        return all;
    }
    // Waits for the value. The thread that publishes it must not wait for this thread.
    __device__ __forceinline__ S wait() {
        S value;
        // Polls without a pause would be in the way of writers.
        while (!poll(value)) __nanosleep(40);
        return value;
    }
    // Clears the slot for the next launch, when nobody polls it any more.
    __device__ __forceinline__ void clear() {
#pragma unroll
        for (int k = 0; k < WORDS; k++) marked[k] = 0;
    }
};

// Number of slots behind the last one that are memory too. They are polled and not used, so that
// all loads of a poll differ by a constant and are in flight at once. When each load had an address
// of its own, the compiler put uses of the first between them (H200: a microsecond more for the sum
// of 2^20 values).
constexpr int BEHIND = 256;

// Polls `slots[0]`, `slots[32]`, ...: whether all values that any lane of the warp wants are here,
// and the values. All lanes of a warp call it, each for its own slots.
template <class S, int COUNT> __device__ __forceinline__ bool
poll_all(Slot<S> *slots, const bool (&wanted)[COUNT], S (&values)[COUNT]) {
    static_assert(COUNT * 32 <= BEHIND, "polls go too far behind the last slot");
    uint64_t seen[COUNT][Slot<S>::WORDS];
#pragma unroll
    for (int k = 0; k < COUNT; k++) poll_words(slots[k * 32].marked, seen[k]);
    bool all = true;
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        const bool here = Slot<S>::decode(seen[k], values[k]);
        all = all && (here || !wanted[k]);
    }
    return __all_sync(0xffffffffu, all);
}
// A poll of slots whose result is asked for later: the work in between does not wait for memory.
template <class S, int COUNT> struct TileStatusPoll {
    uint64_t seen[COUNT][Slot<S>::WORDS];

    // Polls the wanted slots alone: others may be written just now, and polls are in the way of
    // writes. In place of an unwanted slot it polls `other`, a slot that exists.
    __device__ __forceinline__ void start(Slot<S> *slots, Slot<S> *other,
                                          const bool (&wanted)[COUNT]) {
#pragma unroll
        for (int k = 0; k < COUNT; k++)
            poll_words((wanted[k] ? slots + k * 32 : other)->marked, seen[k]);
    }
    // Whether the wanted values were there, and the values.
    __device__ __forceinline__ bool are_here(const bool (&wanted)[COUNT],
                                             S (&values)[COUNT]) const {
        bool all = true;
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            const bool here = Slot<S>::decode(seen[k], values[k]);
            all = all && (here || !wanted[k]);
        }
        return all;
    }
};
// Waits until the wanted values are there. Any thread calls it.
template <class S, int COUNT> __device__ __forceinline__ void
wait_for_all(Slot<S> *slots, Slot<S> *other, const bool (&wanted)[COUNT], S (&values)[COUNT]) {
    TileStatusPoll<S, COUNT> poll;
    while (true) {
        poll.start(slots, other, wanted);
        if (poll.are_here(wanted, values)) return;
        __nanosleep(20);
    }
}

} // namespace gpu
