// The operators of reductions and scans, a structure for each, by subject as in `src/operators`:
// operators/sums.cuh, extremes.cuh, moments.cuh and norms.cuh.
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
//   Seen, unseen()                    a value with the iteration that read it, and the Seen of no
//                                     value
//   see(seen, value, iteration)       adds one value, behind all that were seen
//   take_seen(local, seen, place)     adds the seen value with its place, once something was seen
#pragma once
#include "operators/extremes.cuh"
#include "operators/moments.cuh"
#include "operators/norms.cuh"
#include "operators/sums.cuh"

namespace gpu::algos::reduce {

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

} // namespace gpu::algos::reduce
