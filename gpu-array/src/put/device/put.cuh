// Writes at computed places: x[indices[k]] = values[k], of which the last one counts for each
// place, and sums, minima and maxima of x[indices[k]] and values[k] for integers.
//
// 1. put_claim checks each index. The first wrong one goes into the report, as the complement of
//    its number: the greatest complement is the first index. With CLAIMS each right index claims a
//    slot for its place: the slot's word is 1 more than the number of the last index of the place,
//    or 0. Places share slots by a hash with linear probing, unless each place has its own slot.
// 2. put_write writes the value of each slot's index, or put_combine combines the element of each
//    index with its value. After a wrong index they write nothing but that index, into the report.
// Sums, minima and maxima of integers do not depend on the order of threads, so the result has the
// same bits each time.
// Contract: grid of put_claim and put_combine ceil(count / THREADS) blocks, of put_write
// ceil(slots / THREADS), and at least one each; block THREADS, no shared memory. Parameters:
// PutParams (params.rs); the report and the slots are zero before put_claim. No two elements of the
// target have the same place, and none is an index or a value. The aligned halfword of each
// element that put_combine combines is memory of the target's buffer.
// Bytes moved: put_claim reads an index and a slot (and another index, where places share a slot)
// and writes a slot; put_write reads each slot once, and an index and a value for each element that
// it writes; put_combine reads an index, a value and an element, and writes that.
#pragma once
#include "put_params.cuh"

namespace gpu::array {

// The place of an index, counted in C order; -1 for an index outside.
template <int RANK>
__device__ __forceinline__ int64_t place_of(const PutParams<RANK> &params, uint64_t number) {
    const int64_t length = int64_t(params.length);
    const int64_t index = reinterpret_cast<const int64_t *>(params.indices)[number];
    const int64_t place = index < 0 ? index + length : index;
    return place >= 0 && place < length ? place : -1;
}

// The offset of a place from the target's first element.
template <int RANK>
__device__ __forceinline__ int64_t offset_of(const PutParams<RANK> &params, int64_t place) {
    uint64_t rest = uint64_t(place);
    int64_t offset = 0;
    const int last = int(params.rank) - 1;
    for (int axis = 0; axis < last; axis++) {
        const uint64_t next = rest / params.lengths[axis];
        offset += int64_t(rest - next * params.lengths[axis]) * params.strides[axis];
        rest = next;
    }
    return offset + int64_t(rest) * params.strides[last];
}

// The first slot in which a place is looked for: the finalizer of MurmurHash3 (Appleby, 2011),
// so that neighbouring places, or places at a stride, do not fill neighbouring slots.
__device__ __forceinline__ uint64_t hashed(uint64_t place) {
    place = (place ^ place >> 33) * 0xff51afd7ed558ccdull;
    place = (place ^ place >> 33) * 0xc4ceb9fe1a85ec53ull;
    return place ^ place >> 33;
}

// Makes `number` the last index of its place, unless a later one is already.
template <int RANK> __device__ __forceinline__ void claim(const PutParams<RANK> &params,
                                                          int64_t place, uint64_t number) {
    unsigned long long *slots = reinterpret_cast<unsigned long long *>(params.report) + 2;
    const bool own_slots = params.slots == params.length;
    uint64_t slot = own_slots ? uint64_t(place) : hashed(uint64_t(place)) & (params.slots - 1);
    for (;;) {
        // A slot that is taken is taken for one place, whatever later indices write there.
        const unsigned long long seen = atomicCAS(slots + slot, 0ull, number + 1);
        if (seen == 0) return;
        if (own_slots || place_of(params, seen - 1) == place) {
            if (seen < number + 1) atomicMax(slots + slot, number + 1);
            return;
        }
        slot = (slot + 1) & (params.slots - 1);
    }
}

template <bool CLAIMS, int RANK, int THREADS> __global__ void __launch_bounds__(THREADS)
    put_claim(const __grid_constant__ PutParams<RANK> params) {
    grid_dependency_wait();
    const uint64_t number = uint64_t(blockIdx.x) * THREADS + threadIdx.x;
    if (number >= params.count) return;
    const int64_t place = place_of(params, number);
    if (place < 0) {
        atomicMax(reinterpret_cast<unsigned long long *>(params.report),
                  ~(unsigned long long)(number));
    } else if (CLAIMS) {
        claim(params, place, number);
    }
}

// Whether all indices are right. One thread of the grid reports the first that is not.
template <int RANK> __device__ __forceinline__ bool all_right(const PutParams<RANK> &params) {
    uint64_t *report = reinterpret_cast<uint64_t *>(params.report);
    const uint64_t wrong = report[0];
    if (wrong != 0 && blockIdx.x == 0 && threadIdx.x == 0) {
        report[1] = reinterpret_cast<const uint64_t *>(params.indices)[~wrong];
    }
    return wrong == 0;
}

// An element of 16 bytes, which may be aligned to 8 alone: a complex number.
struct PutPair {
    uint64_t parts[2];
};

template <class T, int RANK, int THREADS> __global__ void __launch_bounds__(THREADS)
    put_write(const __grid_constant__ PutParams<RANK> params) {
    grid_dependency_wait();
    if (!all_right(params)) return;
    const uint64_t slot = uint64_t(blockIdx.x) * THREADS + threadIdx.x;
    if (slot >= params.slots) return;
    const uint64_t taken = reinterpret_cast<const uint64_t *>(params.report)[2 + slot];
    if (taken == 0) return;
    const T value = reinterpret_cast<const T *>(params.values)[(taken - 1) * params.value_step];
    reinterpret_cast<T *>(params.target)[offset_of(params, place_of(params, taken - 1))] = value;
}

// Combines an element of 8 or 16 bits within the aligned halfword that holds it, whose other byte
// stays as it is.
template <class Operation, class T>
__device__ __forceinline__ void combine_in_halfword(T *element, T value) {
    const size_t address = reinterpret_cast<size_t>(element);
    unsigned short *halfword = reinterpret_cast<unsigned short *>(address & ~size_t(1));
    const unsigned shift = unsigned(address & 1) * 8;
    const unsigned mask = (sizeof(T) == 1 ? 0xffu : 0xffffu) << shift;
    unsigned short seen = *(volatile unsigned short *)halfword, before;
    do {
        before = seen;
        const T combined = Operation::of(T(before >> shift), value);
        const unsigned after = (before & ~mask) | (unsigned(combined) << shift & mask);
        seen = atomicCAS(halfword, before, (unsigned short)after);
    } while (seen != before);
}

// The operations of put_combine: an element and a value become the element, at once.
struct PutSum {
    template <class T> static __device__ __forceinline__ T of(T a, T b) { return T(a + b); }
    template <class T> static __device__ __forceinline__ void combine(T *element, T value) {
        atomicAdd(element, value);
    }
};
struct PutMinimum {
    template <class T> static __device__ __forceinline__ T of(T a, T b) { return b < a ? b : a; }
    template <class T> static __device__ __forceinline__ void combine(T *element, T value) {
        atomicMin(element, value);
    }
};
struct PutMaximum {
    template <class T> static __device__ __forceinline__ T of(T a, T b) { return b > a ? b : a; }
    template <class T> static __device__ __forceinline__ void combine(T *element, T value) {
        atomicMax(element, value);
    }
};

template <class Operation, class T, int RANK, int THREADS>
__global__ void __launch_bounds__(THREADS)
    put_combine(const __grid_constant__ PutParams<RANK> params) {
    grid_dependency_wait();
    if (!all_right(params)) return;
    const uint64_t number = uint64_t(blockIdx.x) * THREADS + threadIdx.x;
    if (number >= params.count) return;
    const T value = reinterpret_cast<const T *>(params.values)[number * params.value_step];
    T *element = reinterpret_cast<T *>(params.target) + offset_of(params, place_of(params, number));
    if constexpr (sizeof(T) >= 4) {
        Operation::combine(element, value);
    } else {
        combine_in_halfword<Operation>(element, value);
    }
}

} // namespace gpu::array
