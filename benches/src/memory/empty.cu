// A kernel that does nothing, by which the cost of a launch to the host is measured.
//
// Contract: any grid, block THREADS, no dynamic shared memory. Nothing is read or written.
#include "prelude.cuh"

template <int THREADS> __global__ void __launch_bounds__(THREADS) empty(const float *, uint64_t) {}
