// The prelude of every kernel of this workspace: what NVRTC does not bring by itself.
//
// NVRTC from the pip wheel has no headers, so the fixed-width integers are defined here, and kernels include nothing else
// unless their crate passes it along.
#pragma once

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;

static_assert(sizeof(int16_t) == 2 && sizeof(int32_t) == 4 && sizeof(int64_t) == 8, "integer widths");
static_assert(sizeof(float) == 4 && sizeof(double) == 8 && sizeof(void *) == 8, "the host's layout");

// Shared memory is always declared through this macro: SHARED(float, tile, [32][33]);
// Dynamic shared memory, whose size the launch gives: SHARED_DYNAMIC(float, tile); then tile[i].
#ifdef GPU_EMULATED
// On the emulated device both name a place in the arena of the block that runs.
#define SHARED(type, name, dims)                                                                                      \
    typedef type gpu_shared_type_##name dims;                                                                         \
    GPU_EMULATED_SHARED(gpu_shared_type_##name, name)
#define SHARED_DYNAMIC(type, name) type *name = static_cast<type *>(gpu_emulated::dynamic_shared())
#else
#define SHARED(type, name, dims) __shared__ type name dims
#define SHARED_DYNAMIC(type, name)                                                                                    \
    extern __shared__ __align__(16) unsigned char gpu_dynamic_shared[];                                               \
    type *name = reinterpret_cast<type *>(gpu_dynamic_shared)
#endif

namespace gpu {

// Whether two types are one.
template <class A, class B> struct same { static constexpr bool value = false; };
template <class A> struct same<A, A> { static constexpr bool value = true; };

// The number of this thread in a one-dimensional grid, and the number of threads: the grid-stride loop's start and step.
__device__ inline uint64_t first_index() { return uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ inline uint64_t index_step() { return uint64_t(gridDim.x) * blockDim.x; }

// Waits until what the stream held before this launch has run and its writes are visible. A kernel that is launched to overlap with that (programmatic
// dependent launch: `Entry::OVERLAPS`, `Program::overlapping`) calls it in every thread, before it touches memory; in any other launch it does
// nothing. Between two small kernels it saves about a microsecond (H200). What it then reads it does not read through restricted pointers to constants:
// those loads the compiler may put before the wait.
__device__ inline void wait_for_stream() {
#ifdef GPU_EMULATED
    gpu_emulated::wait_for_stream();
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Lets the next kernel of the stream be started, if it is one that overlaps: it still waits for the end of this one, but its blocks are there by then. Called
// behind `wait_for_stream`, when every block of this kernel is running and little is left to do, since the blocks of the next one take their place
// beside it. It happens when all threads have called it or ended.
__device__ inline void let_next_start() {
#if !defined(GPU_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// Adds 1 to a counter in device memory and returns what it was. What this thread wrote before is seen by whoever sees the addition, in any
// block, and what threads wrote before their additions to the counter up to this one is seen by this thread after it.
//
// In PTX because an atomic operation with both orders costs half of one between two fences (H200: 1.6 us of a pass with a sum).
__device__ inline uint32_t arrive(uint32_t *counter) {
#ifdef GPU_EMULATED
    __threadfence();
    uint32_t before = atomicAdd(counter, 1u);
    __threadfence();
    return before;
#else
    uint32_t before;
    asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
    return before;
#endif
}

} // namespace gpu

// Checks that a kernel instantiation has the parameter types that the Rust side passes; one line per instantiation is
// appended to its program. KERNEL is in parentheses because it may hold commas.
#define GPU_UNWRAP(...) __VA_ARGS__
#define GPU_CHECK_SIGNATURE(KERNEL, TYPES)                                                                            \
    static_assert(gpu::same<decltype(&GPU_UNWRAP KERNEL), void (*)TYPES>::value,                                      \
                  "the kernel's parameters are not those that Rust passes: " #TYPES)
