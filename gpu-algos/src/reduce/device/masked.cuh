// Reductions of the values that a mask selects.
//
// WithMask makes one output of a value and its mask, and Masked<O> gives the operator O
// (operators.cuh) the values that take part. So values that do not take part are read, and are
// written nowhere. An operator without a result of no values is in MaskedOrNan or
// MaskedWithAny.
#pragma once
#include "operators.cuh"

namespace gpu::algos::reduce {

// A value, and whether it takes part.
template <class V> struct Maskable {
    V value;
    bool takes_part;
};

// The expression E, whose outputs are a value and a mask, with both in one output.
template <class E> struct WithMask {
    typedef typename E::Leaves Leaves;
    typedef typename E::Outputs Both;
    typedef typename plain<decltype(get<0>(*static_cast<Both *>(nullptr)))>::type V;
    typedef Tuple<Maskable<V>> Outputs;
    static constexpr int SCALARS = E::SCALARS, EXTRA = E::EXTRA;
    static __device__ __forceinline__ void apply(const uint64_t *scalars, const uint64_t *extra,
                                                 const Leaves &x, Outputs &y) {
        Both both;
        E::apply(scalars, extra, x, both);
        get<0>(y) = {get<0>(both), get<1>(both)};
    }
};

// The operator O over the values that take part.
template <class O> struct Masked : O {
    template <class V> static __device__ __forceinline__ void
    take(typename O::Local &local, const Maskable<V> &x, int64_t place) {
        if (x.takes_part) O::take(local, x.value, place);
    }
};

// The means that count their values.
template <class V, class R> struct CountedMean : Mean<V, R, true> {
    typedef typename Mean<V, R, true>::State State;
    static __device__ __forceinline__ void take(State &state, V x, int64_t) {
        state.sum += double(x);
        state.count++;
    }
};
template <class V, class R> struct CountedComplexMean : ComplexMean<V, R, true> {
    static __device__ __forceinline__ void take(CountedPartSums &sums, V x, int64_t) {
        sums.re += double(x.re);
        sums.im += double(x.im);
        sums.count++;
    }
};

// Masked<O>, and whether any value takes part.
template <class O> struct MaskedOrNone {
    struct Local {
        typename O::Local local;
        int32_t any;
    };
    struct State {
        typename O::State state;
        int32_t any;
    };
    static constexpr bool COMMUTATIVE = O::COMMUTATIVE, LANES = false, NEEDS_INDEX = false,
                          TOTAL = O::TOTAL;
    static __device__ __forceinline__ Local identity() { return {O::identity(), 0}; }
    template <class V>
    static __device__ __forceinline__ void take(Local &local, const Maskable<V> &x, int64_t place) {
        if (x.takes_part) O::take(local.local, x.value, place);
        local.any |= x.takes_part;
    }
    static __device__ __forceinline__ State to_partial(const Local &local) {
        return {O::to_partial(local.local), local.any};
    }
    static __device__ __forceinline__ State combine(const State &a, const State &b) {
        return {O::combine(a.state, b.state), a.any | b.any};
    }
};

// NaN of no values.
template <class O> struct MaskedOrNan : MaskedOrNone<O> {
    typedef typename MaskedOrNone<O>::State State;
    static __device__ __forceinline__ auto finalize(const State &state, int64_t count) {
        auto results = O::finalize(state.state, count);
        each(results, [&](auto, auto &value) {
            typedef typename plain<decltype(value)>::type R;
            if (state.any == 0) value = Bounds<R>::nan();
        });
        return results;
    }
};

// The last result is whether any value takes part. Without one the others mean nothing.
template <class R>
__device__ __forceinline__ Tuple<R, bool> with_any(const Tuple<R> &results, bool any) {
    Tuple<R, bool> all;
    get<0>(all) = get<0>(results);
    get<1>(all) = any;
    return all;
}
template <class R>
__device__ __forceinline__ Tuple<R, R, bool> with_any(const Tuple<R, R> &results, bool any) {
    Tuple<R, R, bool> all;
    get<0>(all) = get<0>(results);
    get<1>(all) = get<1>(results);
    get<2>(all) = any;
    return all;
}
template <class O> struct MaskedWithAny : MaskedOrNone<O> {
    typedef typename MaskedOrNone<O>::State State;
    static __device__ __forceinline__ auto finalize(const State &state, int64_t count) {
        return with_any(O::finalize(state.state, count), state.any != 0);
    }
};

} // namespace gpu::algos::reduce
