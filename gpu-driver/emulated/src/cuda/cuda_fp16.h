// Half precision: 1 sign, 5 exponent and 10 fraction bits.
#pragma once

#include "gpu_emulated_small_float.h"
#include "gpu_emulated_small_functions.h"

GPU_EMULATED_SMALL_TYPE(__half, __half_raw, 5, 10)
GPU_EMULATED_SMALL_PAIR(__half, __half2)
GPU_EMULATED_SMALL_NAMED(__half, __half2, __half_raw, half)
GPU_EMULATED_SMALL_ARITHMETIC(__half, __half2)
GPU_EMULATED_SMALL_MATH(__half, __half2)
GPU_EMULATED_SMALL_THREADS(__half, __half2)

typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;
