// The special functions of expressions. Only programs that have one include them.
#pragma once
#include "operations.cuh"

namespace gpu {

#define GPU_FUNCTION(name, function)                                                               \
    __device__ __forceinline__ float name(float x) { return ::function##f(x); }                    \
    __device__ __forceinline__ double name(double x) { return ::function(x); }
GPU_FUNCTION(asinh, asinh)
GPU_FUNCTION(acosh, acosh)
GPU_FUNCTION(atanh, atanh)
GPU_FUNCTION(erf, erf)
GPU_FUNCTION(erfc, erfc)
GPU_FUNCTION(log_gamma, lgamma)
GPU_FUNCTION(gamma, tgamma)
#undef GPU_FUNCTION

__device__ __forceinline__ float copy_sign(float a, float b) { return ::copysignf(a, b); }
__device__ __forceinline__ double copy_sign(double a, double b) { return ::copysign(a, b); }
__device__ __forceinline__ float next_after(float a, float b) { return ::nextafterf(a, b); }
__device__ __forceinline__ double next_after(double a, double b) { return ::nextafter(a, b); }

} // namespace gpu
