// CUDA C++ on a CPU: what NVRTC knows by itself, for a C++17 compiler of the host.
//
// The compile step includes this file before a kernel's own text. It pulls in no header of the C library, because a kernel's
// prelude may define the fixed-width integers in its own way; what is needed of the library is declared here.
//
// How a kernel's text becomes a module:
//   - memory accesses reach the driver through the hooks of the compiler's sanitizers (gpu_emulated_hooks.h);
//   - barriers, warp operations, atomics and the rest call the driver's table, gpu_emulated::runtime (abi.h);
//   - `__shared__` declarations are rewritten into the macros of gpu_emulated_shared.h;
//   - kernels are listed by the macros of gpu_emulated_module.h, which end the text.
#pragma once

#include "abi.h"

#include "gpu_emulated_language.h"
#include "gpu_emulated_types.h"

#include "gpu_emulated_shared.h"
#include "gpu_emulated_sync.h"
#include "gpu_emulated_warp.h"
#include "gpu_emulated_report.h"
#include "gpu_emulated_memory.h"
#include "gpu_emulated_atomics.h"
#include "gpu_emulated_nv_atomics.h"

#include "gpu_emulated_integer.h"
#include "gpu_emulated_casts.h"
#include "gpu_emulated_math.h"
#include "gpu_emulated_special.h"
#include "gpu_emulated_rounding.h"
#include "gpu_emulated_textures.h"

#include "gpu_emulated_hooks.h"
#include "gpu_emulated_undefined.h"
#include "gpu_emulated_module.h"
