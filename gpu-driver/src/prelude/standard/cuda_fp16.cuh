// cuda_fp16.h for GPUs: half precision under CUDA's names. small_float.cuh says how it computes.
#pragma once
#include "gpu/small_float.cuh"

GPU_SMALL_TYPE(__half, __half2, __half_raw, gpu::Binary16)
GPU_SMALL __half __hfma(__half a, __half b, __half c) {
    __half sum;
    asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(sum.bits) : "h"(a.bits), "h"(b.bits), "h"(c.bits));
    return sum;
}
GPU_SMALL_NAMED(__half, __half2, __half_raw, half)
GPU_SMALL_ARITHMETIC(__half, __half2)

typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;
