// Operators that search: least and greatest values, and their places.
#pragma once
#include "operators/plain.cuh"

namespace gpu::algos::reduce {

// Whether x comes before y in a search for the least, or the greatest. False if one is NaN.
template <bool GREATEST, class V> __device__ __forceinline__ bool beats(V x, V y) {
    return GREATEST ? x > y : x < y;
}

// The value that is worse than none.
template <bool GREATEST, class V> __device__ __forceinline__ V worst() {
    return GREATEST ? Bounds<V>::least() : Bounds<V>::most();
}

// The winner of such a search: a NaN if there is one, or with IGNORE if there is nothing else.
template <bool GREATEST, bool IGNORE, class V> __device__ __forceinline__ V better(V best, V x) {
    return beats<GREATEST>(x, best) || is_nan(IGNORE ? best : x) ? x : best;
}
template <bool GREATEST, bool IGNORE> __device__ __forceinline__ float better(float best, float x) {
    if constexpr (IGNORE) {
        return GREATEST ? fmaxf(best, x) : fminf(best, x);
    } else {
        // This is one instruction, for which CUDA has no function. Its NaN is always the same one.
#ifdef GPU_EMULATED
        return better<GREATEST, false, float>(best, x);
#else
        float won;
        if constexpr (GREATEST) {
            asm("max.NaN.f32 %0, %1, %2;" : "=f"(won) : "f"(best), "f"(x));
        } else {
            asm("min.NaN.f32 %0, %1, %2;" : "=f"(won) : "f"(best), "f"(x));
        }
        return won;
#endif
    }
}

// The least or greatest value; a NaN if there is one, or with IGNORE if there is nothing else.
template <class V, bool GREATEST, bool IGNORE> struct Extreme : Plain<V> {
    static __device__ __forceinline__ V identity() {
        if constexpr (IGNORE) {
            return Bounds<V>::nan();
        } else {
            return worst<GREATEST, V>();
        }
    }
    static __device__ __forceinline__ void take(V &best, V x, int64_t) {
        best = better<GREATEST, IGNORE>(best, x);
    }
    static __device__ __forceinline__ V make_state(V x) { return x; }
    static __device__ __forceinline__ V combine(V a, V b) {
        take(a, b, 0);
        return a;
    }
    static __device__ __forceinline__ Tuple<V> finalize(V best, int64_t) { return {best}; }
};

template <class V> struct Both {
    V least, greatest;
};
template <class V, bool IGNORE> struct MinMax : Plain<Both<V>> {
    typedef Extreme<V, false, IGNORE> Min;
    typedef Extreme<V, true, IGNORE> Max;
    static __device__ __forceinline__ Both<V> identity() {
        return {Min::identity(), Max::identity()};
    }
    static __device__ __forceinline__ void take(Both<V> &both, V x, int64_t) {
        Min::take(both.least, x, 0);
        Max::take(both.greatest, x, 0);
    }
    static __device__ __forceinline__ Both<V> combine(Both<V> a, Both<V> b) {
        return {Min::combine(a.least, b.least), Max::combine(a.greatest, b.greatest)};
    }
    static __device__ __forceinline__ Tuple<V, V> finalize(Both<V> both, int64_t) {
        Tuple<V, V> results;
        get<0>(results) = both.least;
        get<1>(results) = both.greatest;
        return results;
    }
};

// The place of the first least, or greatest, value; of the first NaN if there is one; with IGNORE
// -1 if there is no other value.
template <class V> struct Found {
    V value;
    int64_t place;
};
template <class V, bool GREATEST, bool IGNORE> struct ArgExtreme : Plain<Found<V>> {
    static constexpr bool NEEDS_INDEX = true;
    static constexpr int64_t NOWHERE = 9223372036854775807LL;
    static __device__ __forceinline__ Found<V> identity() {
        return {worst<GREATEST, V>(), NOWHERE};
    }
    static __device__ __forceinline__ void take(Found<V> &best, V x, int64_t place) {
        if (skipped<IGNORE>(x)) return;
        const bool wins = beats<GREATEST>(x, best.value) || (is_nan(x) && !is_nan(best.value));
        const bool ties = x == best.value || (is_nan(x) && is_nan(best.value));
        if (wins || (ties && place < best.place)) best = {x, place};
    }
    struct Seen {
        V value;
        uint32_t iteration;
    };
    static __device__ __forceinline__ Seen unseen() {
        if constexpr (IGNORE) {
            return {Bounds<V>::nan(), 0};
        } else {
            return {worst<GREATEST, V>(), 0};
        }
    }
    static __device__ __forceinline__ void see(Seen &best, V x, uint32_t iteration) {
        // An equal value comes later, and all values lose to an earlier NaN. If nothing beats the
        // worst, the first iteration stands.
        bool wins;
        if constexpr (IGNORE) {
            wins = beats<GREATEST>(x, best.value) || (is_nan(best.value) && !is_nan(x));
        } else {
            wins = !(GREATEST ? x <= best.value : x >= best.value) && !is_nan(best.value);
        }
        best.value = wins ? x : best.value;
        best.iteration = wins ? iteration : best.iteration;
    }
    static __device__ __forceinline__ void take_seen(Found<V> &best, const Seen &seen,
                                                     int64_t place) {
        take(best, seen.value, place);
    }
    static __device__ __forceinline__ Found<V> combine(Found<V> a, Found<V> b) {
        if (b.place != NOWHERE) take(a, b.value, b.place);
        return a;
    }
    static __device__ __forceinline__ Tuple<int64_t> finalize(Found<V> best, int64_t) {
        return {best.place == NOWHERE ? int64_t(-1) : best.place};
    }
};

// Bits in the order of the values, with NaN above all.
template <class V> __device__ __forceinline__ uint32_t ordered_bits(V x) {
    // The least value maps to 0.
    return uint32_t(x) - uint32_t(Bounds<V>::least());
}
template <> __device__ __forceinline__ uint32_t ordered_bits<float>(float x) {
    if (is_nan(x)) return 0xffffffffu;
    // Zeros of both signs map to the same bits.
    const uint32_t bits = x == 0 ? 0u : uint32_t(__float_as_int(x));
    return (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
}

// ArgExtreme for values of up to 32 bits and fewer than 2^31 places, as one number. The greater
// number wins: the value's bits are in its upper half, the inverted bits of the place in its lower
// half. 0 stands for no place.
template <class V, bool GREATEST, bool IGNORE> struct ArgExtremeNarrow : Plain<uint64_t> {
    static constexpr bool NEEDS_INDEX = true;
    typedef ArgExtreme<V, GREATEST, IGNORE> Wide;
    typedef typename Wide::Seen Seen;
    static __device__ __forceinline__ uint64_t identity() { return 0; }
    static __device__ __forceinline__ void take(uint64_t &best, V x, int64_t place) {
        if (skipped<IGNORE>(x)) return;
        const uint32_t bits = ordered_bits(x);
        best =
            combine(best, uint64_t(GREATEST || is_nan(x) ? bits : ~bits) << 32 | ~uint32_t(place));
    }
    static __device__ __forceinline__ Seen unseen() { return Wide::unseen(); }
    static __device__ __forceinline__ void see(Seen &best, V x, uint32_t iteration) {
        Wide::see(best, x, iteration);
    }
    static __device__ __forceinline__ void take_seen(uint64_t &best, const Seen &seen,
                                                     int64_t place) {
        take(best, seen.value, place);
    }
    static __device__ __forceinline__ uint64_t combine(uint64_t a, uint64_t b) {
        return a > b ? a : b;
    }
    static __device__ __forceinline__ Tuple<int64_t> finalize(uint64_t best, int64_t) {
        return {best == 0 ? int64_t(-1) : int64_t(uint32_t(~uint32_t(best)))};
    }
};

} // namespace gpu::algos::reduce
