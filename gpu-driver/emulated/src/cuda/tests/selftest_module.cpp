// The kernels of the self-test as the compile step would list them.
#include "../emulated.h"

#include "../../../../src/prelude/prelude.cuh"

#include "../cuda_runtime.h"
#include "../device_launch_parameters.h"
#include "../math_constants.h"
#include "../vector_types.h"

#include "digests.cu"
#include "selftest.cu"

GPU_EMULATED_MODULE_BEGIN
GPU_EMULATED_KERNEL("digests", (digests))
GPU_EMULATED_KERNEL("check_shared", (check_shared))
GPU_EMULATED_KERNEL("check_atomics", (check_atomics))
GPU_EMULATED_KERNEL("check_memory", (check_memory))
GPU_EMULATED_KERNEL("check_warp", (check_warp))
GPU_EMULATED_KERNEL("check_math", (check_math))
GPU_EMULATED_KERNEL("nothing", (nothing))
GPU_EMULATED_KERNEL("arguments", (arguments))
GPU_EMULATED_KERNEL("accesses", (accesses))
GPU_EMULATED_KERNEL("copy", (copy))
GPU_EMULATED_KERNEL("fault", (fault))
GPU_EMULATED_MODULE_END(0)
