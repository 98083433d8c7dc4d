// cuda_bf16.h for GPUs: bfloat16 under CUDA's names. small_float.cuh says how it computes.
#pragma once
#include "gpu/small_float.cuh"

GPU_SMALL_TYPE(__nv_bfloat16, __nv_bfloat162, __nv_bfloat16_raw, gpu::Bfloat16)
GPU_SMALL __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
#if __CUDA_ARCH__ >= 800
    __nv_bfloat16 sum;
    asm("fma.rn.bf16 %0, %1, %2, %3;" : "=h"(sum.bits) : "h"(a.bits), "h"(b.bits), "h"(c.bits));
    return sum;
#else
    return __nv_bfloat16(gpu::small::fused(float(a), float(b), float(c)));
#endif
}
GPU_SMALL_NAMED(__nv_bfloat16, __nv_bfloat162, __nv_bfloat16_raw, bfloat16)
GPU_SMALL_ARITHMETIC(__nv_bfloat16, __nv_bfloat162)

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
