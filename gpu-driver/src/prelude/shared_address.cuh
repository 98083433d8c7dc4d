// Addresses in shared memory, of the 32 bits that its loads take.
//
// NVRTC computes pointers into shared memory with 64 bits, where nvcc takes 32 (13.0). It rarely
// shows. But a loop that reads at many distances from several places, which no load can add by
// itself, then has the high halves besides: 263 in place of 164 instructions for 32 of the tensor
// cores in matmul_boxes.cuh.
//
//     const gpu::SharedAddress first(tile + threadIdx.x);
//     double value;
//     first.behind(at * 1024).load(value);
//
// Contract: the address is that of shared memory of the block, and a value is aligned to its size.
// A load comes behind the barriers and waits before it, and before those behind it.
#pragma once
#include "prelude.cuh"

namespace gpu {

#if !defined(GPU_EMULATED) && defined(__CUDA_ARCH__)
struct SharedAddress {
    uint32_t at;

    __device__ __forceinline__ explicit SharedAddress(const void *place)
        : at(uint32_t(__cvta_generic_to_shared(place))) {}
    __device__ __forceinline__ SharedAddress behind(uint32_t bytes) const {
        SharedAddress other = *this;
        other.at += bytes;
        return other;
    }
    __device__ __forceinline__ void load(float &to) const {
        asm volatile("ld.shared.f32 %0, [%1];" : "=f"(to) : "r"(at) : "memory");
    }
    __device__ __forceinline__ void load(double &to) const {
        asm volatile("ld.shared.f64 %0, [%1];" : "=d"(to) : "r"(at) : "memory");
    }
    __device__ __forceinline__ void load(double (&to)[2]) const {
        asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];"
                     : "=d"(to[0]), "=d"(to[1])
                     : "r"(at)
                     : "memory");
    }
    __device__ __forceinline__ void load(uint32_t &to) const {
        asm volatile("ld.shared.b32 %0, [%1];" : "=r"(to) : "r"(at) : "memory");
    }
    __device__ __forceinline__ void load(uint64_t &to) const {
        asm volatile("ld.shared.b64 %0, [%1];" : "=l"(to) : "r"(at) : "memory");
    }
};
#else
struct SharedAddress {
    const unsigned char *at;

    __device__ __forceinline__ explicit SharedAddress(const void *place)
        : at(static_cast<const unsigned char *>(place)) {}
    __device__ __forceinline__ SharedAddress behind(uint32_t bytes) const {
        return SharedAddress(at + bytes);
    }
    template <class T> __device__ __forceinline__ void load(T &to) const {
        to = *reinterpret_cast<const T *>(at);
    }
    __device__ __forceinline__ void load(double (&to)[2]) const {
        behind(0).load(to[0]);
        behind(sizeof(double)).load(to[1]);
    }
};
#endif

} // namespace gpu
