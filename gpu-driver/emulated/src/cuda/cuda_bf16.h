// bfloat16: 1 sign, 8 exponent and 7 fraction bits, the upper half of a float.
#pragma once

#include "gpu_emulated_small_float.h"
#include "gpu_emulated_small_functions.h"

GPU_EMULATED_SMALL_TYPE(__nv_bfloat16, __nv_bfloat16_raw, 8, 7)
GPU_EMULATED_SMALL_PAIR(__nv_bfloat16, __nv_bfloat162)
GPU_EMULATED_SMALL_NAMED(__nv_bfloat16, __nv_bfloat162, __nv_bfloat16_raw, bfloat16)
GPU_EMULATED_SMALL_ARITHMETIC(__nv_bfloat16, __nv_bfloat162)
GPU_EMULATED_SMALL_MATH(__nv_bfloat16, __nv_bfloat162)
GPU_EMULATED_SMALL_THREADS(__nv_bfloat16, __nv_bfloat162)

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
