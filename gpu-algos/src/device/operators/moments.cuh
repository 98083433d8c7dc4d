// Means, variances and standard deviations, carried in f64, of real and of complex numbers.
#pragma once
#include "operators/plain.cuh"

namespace gpu::algos::reduce {

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
// combined by means and squares around them (Chan, Golub, LeVeque: Updating Formulae, 1979). Means
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

} // namespace gpu::algos::reduce
