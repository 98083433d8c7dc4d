// The operators of reductions and scans, a structure for each.
//
// An operator O has
//   Local, State                      the state that a thread carries along its values, and the
//                                     state that threads exchange; plain data
//   identity()                        the Local of no value
//   take(local, value, place)         adds one value; places count the reduced axes in C order
//   to_partial(local)                 the State of a Local
//   combine(earlier, later)           the State of both, associative; with COMMUTATIVE values and
//                                     states come in any order
//   finalize(state, count)            a Tuple of results, of count values
//   make_state(value)                 the State of one value, in operators that are scanned
//   TOTAL                             whether combine may be called on States of any bits, not of
//                                     values alone (its result is then discarded)
//   LANES                             whether a thread carries a Local for each lane of its packs,
//                                     or one for all (large ones)
//   NEEDS_INDEX                       whether places matter; the operator then has besides, for a
//                                     thread that walks in even steps:
//   Seen, unseen()                    a value with the turn that it was seen at, and the Seen of no
//                                     value
//   see(seen, value, turn)            adds one value, behind all that were seen
//   take_seen(local, seen, place)     adds the seen value with its place, once something was seen
#pragma once
#include "tuple.cuh"

namespace gpu {
namespace reduce {

// The members that most operators have.
template <class L> struct Plain {
    typedef L Local;
    typedef L State;
    static constexpr bool COMMUTATIVE = true, LANES = true, NEEDS_INDEX = false, TOTAL = true;
    static __device__ __forceinline__ State to_partial(const Local &local) { return local; }
};

template <class T> struct Bounds;
template <> struct Bounds<bool> {
    static __device__ constexpr bool least() { return false; }
    static __device__ constexpr bool most() { return true; }
};
#define GPU_BOUNDS(T, LEAST, MOST)                                                                 \
    template <> struct Bounds<T> {                                                                 \
        static __device__ constexpr T least() { return LEAST; }                                    \
        static __device__ constexpr T most() { return MOST; }                                      \
    }
GPU_BOUNDS(int8_t, -128, 127);
GPU_BOUNDS(int16_t, -32768, 32767);
GPU_BOUNDS(int32_t, -2147483647 - 1, 2147483647);
GPU_BOUNDS(int64_t, -9223372036854775807LL - 1, 9223372036854775807LL);
GPU_BOUNDS(uint8_t, 0, 255);
GPU_BOUNDS(uint16_t, 0, 65535);
GPU_BOUNDS(uint32_t, 0, 4294967295u);
GPU_BOUNDS(uint64_t, 0, 18446744073709551615ULL);
#undef GPU_BOUNDS
template <> struct Bounds<float> {
    static __device__ __forceinline__ float least() { return __int_as_float(int(0xff800000)); }
    static __device__ __forceinline__ float most() { return __int_as_float(0x7f800000); }
    static __device__ __forceinline__ float nan() { return __int_as_float(0x7fc00000); }
};
template <> struct Bounds<double> {
    static __device__ __forceinline__ double least() { return -most(); }
    static __device__ __forceinline__ double most() {
        return __longlong_as_double(0x7ff0000000000000LL);
    }
    static __device__ __forceinline__ double nan() {
        return __longlong_as_double(0x7ff8000000000000LL);
    }
};

template <class T> __device__ __forceinline__ bool is_nan(T x) { return x != x; }
template <> __device__ __forceinline__ bool is_nan<bool>(bool) { return false; }

// Whether a value is left out: a NaN with IGNORE.
template <bool IGNORE, class T> __device__ __forceinline__ bool skipped(T x) {
    return IGNORE && is_nan(x);
}

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

// The greatest of values that are not below 0; 0 for no values.
template <class V> struct NormMax : Extreme<V, true, false> {
    static __device__ __forceinline__ V identity() { return V(0); }
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
        uint32_t turn;
    };
    static __device__ __forceinline__ Seen unseen() {
        if constexpr (IGNORE) {
            return {Bounds<V>::nan(), 0};
        } else {
            return {worst<GREATEST, V>(), 0};
        }
    }
    static __device__ __forceinline__ void see(Seen &best, V x, uint32_t turn) {
        // An equal value comes later, and all values lose to an earlier NaN. If nothing beats the
        // worst, the first turn stands.
        bool wins;
        if constexpr (IGNORE) {
            wins = beats<GREATEST>(x, best.value) || (is_nan(best.value) && !is_nan(x));
        } else {
            wins = !(GREATEST ? x <= best.value : x >= best.value) && !is_nan(best.value);
        }
        best.value = wins ? x : best.value;
        best.turn = wins ? turn : best.turn;
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
    static __device__ __forceinline__ void see(Seen &best, V x, uint32_t turn) {
        Wide::see(best, x, turn);
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

// The mean, carried in f64.
template <class V, class R, bool IGNORE> struct Mean {
    struct State {
        double sum;
        int64_t count;
    };
    typedef State Local;
    static constexpr bool COMMUTATIVE = true, LANES = !IGNORE, NEEDS_INDEX = false, TOTAL = true;
    static __device__ __forceinline__ State identity() { return {0, 0}; }
    static __device__ __forceinline__ void take(State &state, V x, int64_t) {
        if constexpr (IGNORE) {
            state.sum += is_nan(x) ? 0.0 : double(x);
            state.count += !is_nan(x);
        } else {
            state.sum += double(x);
        }
    }
    static __device__ __forceinline__ State to_partial(const Local &local) { return local; }
    static __device__ __forceinline__ State combine(const State &a, const State &b) {
        return {a.sum + b.sum, a.count + b.count};
    }
    static __device__ __forceinline__ Tuple<R> finalize(const State &state, int64_t count) {
        return {R(state.sum / double(IGNORE ? state.count : count))};
    }
};

// The mean R of complex numbers V, whose parts are carried in f64; with IGNORE they are counted.
struct PartSums {
    double re, im;
};
struct CountedPartSums {
    double re, im;
    int64_t count;
};
template <class R>
__device__ __forceinline__ Tuple<R> mean_of_parts(double re, double im, int64_t count) {
    typedef decltype(R().re) Part;
    return {R(Part(re / double(count)), Part(im / double(count)))};
}
template <class V, class R, bool IGNORE> struct ComplexMean : Plain<PartSums> {
    static __device__ __forceinline__ PartSums identity() { return {0, 0}; }
    static __device__ __forceinline__ void take(PartSums &sums, V x, int64_t) {
        sums.re += double(x.re);
        sums.im += double(x.im);
    }
    static __device__ __forceinline__ PartSums combine(PartSums a, PartSums b) {
        return {a.re + b.re, a.im + b.im};
    }
    static __device__ __forceinline__ Tuple<R> finalize(PartSums sums, int64_t count) {
        return mean_of_parts<R>(sums.re, sums.im, count);
    }
};
template <class V, class R> struct ComplexMean<V, R, true> : Plain<CountedPartSums> {
    static constexpr bool LANES = false;
    static __device__ __forceinline__ CountedPartSums identity() { return {0, 0, 0}; }
    static __device__ __forceinline__ void take(CountedPartSums &sums, V x, int64_t) {
        if (is_nan(x)) return;
        sums.re += double(x.re);
        sums.im += double(x.im);
        sums.count++;
    }
    static __device__ __forceinline__ CountedPartSums combine(const CountedPartSums &a,
                                                              const CountedPartSums &b) {
        return {a.re + b.re, a.im + b.im, a.count + b.count};
    }
    static __device__ __forceinline__ Tuple<R> finalize(const CountedPartSums &sums, int64_t) {
        return mean_of_parts<R>(sums.re, sums.im, sums.count);
    }
};

// Mean and variance in one pass, in f64. Each thread adds up distances from its first value, and
// their squares. This loses nothing that matters, since that value is one of its own. Threads are
// joined by means and squares around them (Chan, Golub, LeVeque: Updating Formulae, 1979). Means
// stay distances from a value too, since far from 0 their difference would lose its leading digits.
// All are halves of distances, since the distance between two finite values may be infinite. The
// origin is always finite, so that an infinite value makes the offset infinite and not NaN.
struct Moments {
    double count, origin, offset, squares;
    __device__ __forceinline__ double mean() const { return 2 * (origin + offset); }
};
__device__ __forceinline__ bool is_finite(double x) { return fabs(x) <= 1.7976931348623157e308; }
// x / count, for counts from 1 up, correctly rounded but for rare cases. A division with its
// branches takes a microsecond where threads meet one after another. The result means nothing for a
// count of 0.
__device__ __forceinline__ double over_count(double x, double count) {
#ifdef GPU_EMULATED
    return x / count;
#else
    double one;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(one) : "d"(count));
#pragma unroll
    for (int step = 0; step < 2; step++) one = fma(one, fma(-count, one, 1.0), one);
    const double quotient = x * one;
    return fma(fma(-count, quotient, x), one, quotient);
#endif
}
template <class V, bool IGNORE> struct WithMoments {
    struct Local {
        double origin, sum, squares;
        int64_t count;
    };
    typedef Moments State;
    static constexpr bool COMMUTATIVE = true, LANES = false, NEEDS_INDEX = false, TOTAL = true;
    static __device__ __forceinline__ Local identity() { return {0, 0, 0, 0}; }
    static __device__ __forceinline__ void take(Local &local, V value, int64_t) {
        if (skipped<IGNORE>(value)) return;
        const double x = double(value);
        if (local.count == 0) local.origin = is_finite(x) ? 0.5 * x : 0;
        const double distance = fma(0.5, x, -local.origin);
        local.sum += distance;
        local.squares = fma(distance, distance, local.squares);
        local.count++;
    }
    static __device__ __forceinline__ State to_partial(const Local &local) {
        if (local.count == 0) return {0, 0, 0, 0};
        const double count = double(local.count);
        // An infinite or NaN mean is the sum's, and the variance is NaN. Values so far apart that
        // squares overflow have an infinite variance.
        if (!is_finite(local.sum)) return {count, local.origin, local.sum, Bounds<double>::nan()};
        const double mean = over_count(local.sum, count);
        double squares = local.squares;
        if (is_finite(squares)) squares -= local.sum * mean;
        return {count, local.origin, mean, squares < 0 ? 0 : squares};
    }
    // This has no branch, so that no lane waits for one side and then for the other.
    static __device__ __forceinline__ State combine(const State &a, const State &b) {
        const double count = a.count + b.count, share = over_count(b.count, count);
        const double distance = (b.origin - a.origin) + (b.offset - a.offset);
        const double squares = a.squares + b.squares + distance * distance * a.count * share;
        // The mean stays a distance from the nearer value. An infinite mean stays so, unless the
        // other infinity comes, or NaN.
        const bool finite = is_finite(a.offset) && is_finite(b.offset);
        const double from_a = finite ? a.offset + distance * share : a.offset + b.offset;
        const double from_b = b.offset - distance * over_count(a.count, count);
        const bool only_a = b.count == 0, only_b = a.count == 0;
        const bool is_near_a = !finite || fabs(from_a) <= fabs(from_b);
        return {count, only_b || !(only_a || is_near_a) ? b.origin : a.origin,
                only_b      ? b.offset
                : only_a    ? a.offset
                : is_near_a ? from_a
                            : from_b,
                only_b   ? b.squares
                : only_a ? a.squares
                         : squares};
    }
};
template <int DDOF> __device__ __forceinline__ double variance(const Moments &moments) {
    const double freedom = moments.count - DDOF;
    return freedom > 0 ? 4 * (moments.squares / freedom) : Bounds<double>::nan();
}
template <class V, class R, int DDOF, bool IGNORE> struct Variance : WithMoments<V, IGNORE> {
    static __device__ __forceinline__ Tuple<R> finalize(const Moments &moments, int64_t) {
        return {R(variance<DDOF>(moments))};
    }
};
template <class V, class R, int DDOF, bool IGNORE> struct Deviation : WithMoments<V, IGNORE> {
    static __device__ __forceinline__ Tuple<R> finalize(const Moments &moments, int64_t) {
        return {R(sqrt(variance<DDOF>(moments)))};
    }
};
template <class V, class R, int DDOF, bool IGNORE> struct MeanVariance : WithMoments<V, IGNORE> {
    static __device__ __forceinline__ Tuple<R, R> finalize(const Moments &moments, int64_t) {
        Tuple<R, R> results;
        get<0>(results) = moments.count > 0 ? R(moments.mean()) : R(Bounds<double>::nan());
        get<1>(results) = R(variance<DDOF>(moments));
        return results;
    }
};

template <class V, class R, int DDOF, bool IGNORE> struct MeanDeviation : WithMoments<V, IGNORE> {
    static __device__ __forceinline__ Tuple<R, R> finalize(const Moments &moments, int64_t) {
        Tuple<R, R> results;
        get<0>(results) = moments.count > 0 ? R(moments.mean()) : R(Bounds<double>::nan());
        get<1>(results) = R(sqrt(variance<DDOF>(moments)));
        return results;
    }
};

// Moments of the parts of complex numbers, whose variance is the sum of both.
struct PartMoments {
    Moments re, im;
};
template <class V, bool IGNORE> struct WithPartMoments {
    typedef WithMoments<double, false> Part;
    struct Local {
        Part::Local re, im;
    };
    typedef PartMoments State;
    static constexpr bool COMMUTATIVE = true, LANES = false, NEEDS_INDEX = false, TOTAL = true;
    static __device__ __forceinline__ Local identity() {
        return {Part::identity(), Part::identity()};
    }
    static __device__ __forceinline__ void take(Local &local, V x, int64_t) {
        if (skipped<IGNORE>(x)) return;
        Part::take(local.re, double(x.re), 0);
        Part::take(local.im, double(x.im), 0);
    }
    static __device__ __forceinline__ State to_partial(const Local &local) {
        return {Part::to_partial(local.re), Part::to_partial(local.im)};
    }
    static __device__ __forceinline__ State combine(const State &a, const State &b) {
        return {Part::combine(a.re, b.re), Part::combine(a.im, b.im)};
    }
};
template <int DDOF> __device__ __forceinline__ double variance(const PartMoments &moments) {
    Moments both = moments.re;
    both.squares += moments.im.squares;
    return variance<DDOF>(both);
}
template <class V, class R, int DDOF, bool IGNORE> struct ComplexVariance
    : WithPartMoments<V, IGNORE> {
    static __device__ __forceinline__ Tuple<R> finalize(const PartMoments &moments, int64_t) {
        return {R(variance<DDOF>(moments))};
    }
};
template <class V, class R, int DDOF, bool IGNORE> struct ComplexDeviation
    : WithPartMoments<V, IGNORE> {
    static __device__ __forceinline__ Tuple<R> finalize(const PartMoments &moments, int64_t) {
        return {R(sqrt(variance<DDOF>(moments)))};
    }
};
template <class V, class R, int DDOF, bool IGNORE> struct ComplexMeanVariance
    : WithPartMoments<V, IGNORE> {
    typedef decltype(R().re) Part;
    static __device__ __forceinline__ Tuple<R, Part> finalize(const PartMoments &moments, int64_t) {
        Tuple<R, Part> results;
        const bool any = moments.re.count > 0;
        const Part none = Part(Bounds<double>::nan());
        get<0>(results) =
            R(any ? Part(moments.re.mean()) : none, any ? Part(moments.im.mean()) : none);
        get<1>(results) = Part(variance<DDOF>(moments));
        return results;
    }
};

// The root of the sum of squares of f64, right wherever it is a finite f64. Squares are added up in
// three classes; those that would overflow and those that would underflow are scaled by powers of 2
// (Blue: A Portable Fortran Program to Find the Euclidean Norm, 1978).
struct Squares {
    double small, middle, large;
};
struct NormL2 : Plain<Squares> {
    static constexpr bool LANES = false;
    static constexpr double BELOW = 0x1p-480, ABOVE = 0x1p480, UP = 0x1p600, DOWN = 0x1p-600;
    static __device__ __forceinline__ Squares identity() { return {0, 0, 0}; }
    static __device__ __forceinline__ void take(Squares &sums, double x, int64_t) {
        const double size = fabs(x);
        // NaN goes to the middle.
        if (size < BELOW) {
            sums.small = fma(x * UP, x * UP, sums.small);
        } else if (size > ABOVE) {
            sums.large = fma(x * DOWN, x * DOWN, sums.large);
        } else {
            sums.middle = fma(x, x, sums.middle);
        }
    }
    static __device__ __forceinline__ Squares combine(Squares a, Squares b) {
        return {a.small + b.small, a.middle + b.middle, a.large + b.large};
    }
    static __device__ __forceinline__ Tuple<double> finalize(Squares sums, int64_t) {
        if (is_nan(sums.middle)) return {sums.middle};
        if (sums.large > 0) return {sqrt(sums.large + sums.middle * DOWN * DOWN) / DOWN};
        if (sums.middle > 0) return {sqrt(sums.middle + sums.small / UP / UP)};
        return {sqrt(sums.small) / UP};
    }
};
template <class V> struct NormL2Of : Plain<double> {
    static __device__ __forceinline__ double identity() { return 0; }
    static __device__ __forceinline__ void take(double &sum, V x, int64_t) {
        sum = fma(double(x), double(x), sum);
    }
    static __device__ __forceinline__ double combine(double a, double b) { return a + b; }
    static __device__ __forceinline__ Tuple<V> finalize(double sum, int64_t) {
        return {V(sqrt(sum))};
    }
};

// The operator O, whose results are rounded to the type R.
template <class R, class V> __device__ __forceinline__ Tuple<R> rounded(const Tuple<V> &results) {
    return {R(get<0>(results))};
}
template <class R, class V>
__device__ __forceinline__ Tuple<R, R> rounded(const Tuple<V, V> &results) {
    Tuple<R, R> both;
    get<0>(both) = R(get<0>(results));
    get<1>(both) = R(get<1>(results));
    return both;
}
template <class O, class R> struct Rounded : O {
    static __device__ __forceinline__ auto finalize(const typename O::State &state, int64_t count) {
        return rounded<R>(O::finalize(state, count));
    }
};

} // namespace reduce
} // namespace gpu
