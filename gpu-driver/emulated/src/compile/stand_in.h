// In place of the emulated headers, for tests of the compile step: just enough that kernels compile, link and run with one
// thread, without checks.
#pragma once

#define __global__
#define __device__
#define __host__
#define __restrict__ __restrict
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...) launch bounds are left here
#define __shared__ shared memory is left here

struct StandInIndex { unsigned x, y, z; };
static StandInIndex threadIdx, blockIdx, blockDim = {1, 1, 1}, gridDim = {1, 1, 1};
static unsigned stand_in_bounds[2];
static void stand_in_enter(unsigned threads, unsigned blocks = 0) { stand_in_bounds[0] = threads, stand_in_bounds[1] = blocks; }
static inline void __syncthreads() {}

alignas(128) inline unsigned char stand_in_memory[4096];
template <class T> inline T &stand_in_shared() { return *reinterpret_cast<T *>(stand_in_memory); }

#define GPU_EMULATED_SHARED(type, name) type &name = stand_in_shared<type>()
#define GPU_EMULATED_SHARED_GLOBAL(type, name) static type &name = stand_in_shared<type>()
#define GPU_EMULATED_SHARED_DYNAMIC(type, name) type &name = stand_in_shared<type>()
#define GPU_EMULATED_SHARED_DYNAMIC_GLOBAL(type, name) static type &name = stand_in_shared<type>()
#define GPU_EMULATED_ENTER(...) stand_in_enter(__VA_ARGS__)

struct StandInKernel { const char *name; const void *run; };
struct StandInModule { const StandInKernel *kernels; unsigned count, enter; const unsigned *bounds; };
#define STAND_IN_UNWRAP(...) __VA_ARGS__
#define GPU_EMULATED_MODULE_BEGIN static const StandInKernel stand_in_kernels[] = {
#define GPU_EMULATED_KERNEL(name, kernel) {name, reinterpret_cast<const void *>(&STAND_IN_UNWRAP kernel)},
#define GPU_EMULATED_MODULE_END(enter)                                                                                \
    {"", nullptr} };                                                                                                  \
    extern "C" __attribute__((visibility("default"))) const StandInModule gpu_emulated_module;                        \
    const StandInModule gpu_emulated_module = {stand_in_kernels, sizeof stand_in_kernels / sizeof *stand_in_kernels - 1,  \
                                               enter, stand_in_bounds};

// The checks that the compiler inserts.
#ifdef __clang__
#define STAND_IN_HOOK extern "C" __attribute__((used, weak, no_sanitize("address", "kernel-address", "undefined", "coverage")))
#else
#define STAND_IN_HOOK extern "C" __attribute__((used, weak, no_sanitize("kernel-address"), no_sanitize("thread"), no_sanitize_undefined, no_sanitize_coverage))
#endif
STAND_IN_HOOK void __sanitizer_cov_trace_pc() {}
#define STAND_IN_ACCESS(size)                                                                                         \
    STAND_IN_HOOK void __asan_load##size##_noabort(unsigned long) {}                                                  \
    STAND_IN_HOOK void __asan_store##size##_noabort(unsigned long) {}                                                 \
    STAND_IN_HOOK void __tsan_read##size(unsigned long) {}                                                            \
    STAND_IN_HOOK void __tsan_write##size(unsigned long) {}                                                           \
    STAND_IN_HOOK void __tsan_volatile_read##size(unsigned long) {}                                                   \
    STAND_IN_HOOK void __tsan_volatile_write##size(unsigned long) {}
STAND_IN_ACCESS(1)
STAND_IN_ACCESS(2)
STAND_IN_ACCESS(4)
STAND_IN_ACCESS(8)
STAND_IN_ACCESS(16)
STAND_IN_HOOK void __asan_loadN_noabort(unsigned long, unsigned long) {}
STAND_IN_HOOK void __asan_storeN_noabort(unsigned long, unsigned long) {}
STAND_IN_HOOK void __asan_handle_no_return() {}
STAND_IN_HOOK void __tsan_init() {}
STAND_IN_HOOK void __tsan_func_entry(void *) {}
STAND_IN_HOOK void __tsan_func_exit() {}
#define STAND_IN_UNDEFINED(name) STAND_IN_HOOK void __ubsan_handle_##name() {}
STAND_IN_UNDEFINED(type_mismatch_v1)
STAND_IN_UNDEFINED(add_overflow)
STAND_IN_UNDEFINED(sub_overflow)
STAND_IN_UNDEFINED(mul_overflow)
STAND_IN_UNDEFINED(negate_overflow)
STAND_IN_UNDEFINED(divrem_overflow)
STAND_IN_UNDEFINED(shift_out_of_bounds)
STAND_IN_UNDEFINED(out_of_bounds)
STAND_IN_UNDEFINED(pointer_overflow)
STAND_IN_UNDEFINED(load_invalid_value)
STAND_IN_UNDEFINED(builtin_unreachable)
STAND_IN_UNDEFINED(missing_return)
STAND_IN_UNDEFINED(invalid_builtin)
