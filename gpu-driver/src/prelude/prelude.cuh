// The prelude of every kernel of this workspace: definitions that NVRTC does not bring by itself.
//
// NVRTC from the pip wheel has no headers, so the fixed-width integers are defined here, and
// kernels include nothing else unless their crate passes it along.
#pragma once

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;

static_assert(sizeof(int16_t) == 2 && sizeof(int32_t) == 4 && sizeof(int64_t) == 8,
              "integer widths");
static_assert(sizeof(float) == 4 && sizeof(double) == 8 && sizeof(void *) == 8,
              "the host's layout");

// Shared memory is always declared through this macro: SHARED(float, tile, [32][33]);
// Dynamic shared memory, whose size the launch gives: SHARED_DYNAMIC(float, tile); then tile[i].
// It begins at a multiple of 128 bytes: two neighbouring copies of 16 bytes to shared memory
// (`copy_to_shared`) read their sector of 32 bytes once only if they go to one sector there.
#ifdef GPU_EMULATED
// On the emulated device both name a place in the arena of the block that runs.
#define SHARED(type, name, dims)                                                                   \
    typedef type gpu_shared_type_##name dims;                                                      \
    GPU_EMULATED_SHARED(gpu_shared_type_##name, name)
#define SHARED_DYNAMIC(type, name) type *name = static_cast<type *>(gpu_emulated::dynamic_shared())
#else
#define SHARED(type, name, dims) __shared__ type name dims
#define SHARED_DYNAMIC(type, name)                                                                 \
    extern __shared__ __align__(128) unsigned char gpu_dynamic_shared[];                           \
    type *name = reinterpret_cast<type *>(gpu_dynamic_shared)
#endif

namespace gpu {

// Whether two types are one.
template <class A, class B> struct same {
    static constexpr bool value = false;
};
template <class A> struct same<A, A> {
    static constexpr bool value = true;
};

// The number of this thread in a one-dimensional grid, and the number of threads: the grid-stride
// loop's start and step.
__device__ inline uint64_t first_index() { return uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ inline uint64_t index_step() { return uint64_t(gridDim.x) * blockDim.x; }

// Waits until the work that the stream held before this launch has run and its writes are visible.
// A kernel that is launched to overlap with that work (programmatic dependent launch:
// `Entry::OVERLAPS`, `Program::overlapping`) calls it in every thread, before it touches memory; in
// any other launch it does nothing. Between two small kernels it saves about a microsecond (H200).
// Such a kernel does not read through restricted pointers to constants: the compiler may put those
// loads before the wait.
__device__ inline void grid_dependency_wait() {
#ifdef GPU_EMULATED
    gpu_emulated::grid_dependency_wait();
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Lets the next kernel of the stream be started, if it is one that overlaps: it still waits for the
// end of this one, but its blocks are there by then. Called behind `grid_dependency_wait`, when
// every block of this kernel is running and little is left to do, since the blocks of the next one
// take their place beside it. The next kernel starts when one thread of each block has called this,
// or all have ended.
__device__ inline void trigger_dependents() {
#if !defined(GPU_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// Claims a number for a block, from 0 to `last`, each once in a launch. `scratch` is the address
// that `Stream::with_cleared_scratch` gives. Called before `grid_dependency_wait`, so that it takes
// no time of its own where the kernel before this one is still at work (H200: 0.6 us of a launch).
// The counter stands before the scratch memory, where only this function finds it, and is 0 again
// when the last number is claimed. A kernel that calls this function claims every number in each
// launch, before any thread calls `trigger_dependents`; a barrier behind the call ensures that. So
// no two kernels claim at once.
__device__ inline uint32_t claim_before_dependency(uint64_t scratch, uint32_t last) {
#ifdef GPU_EMULATED
    // There one launch comes after the other.
    gpu_emulated::grid_dependency_wait();
#endif
    return atomicInc(reinterpret_cast<uint32_t *>(scratch) - 1, last);
}

// sqrtf(x), the same bits, for x that is 0 or between 1e-30 and 1e30: without the branch for values
// beyond. Newton's step from the approximate reciprocal root is exact to rounding there.
__device__ __forceinline__ float sqrt_of_moderate(float x) {
#ifdef GPU_EMULATED
    return sqrtf(x);
#else
    float inverse;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
    float root = __fmul_rn(x, inverse);
    root = __fmaf_rn(__fmaf_rn(-root, root, x), __fmul_rn(inverse, 0.5f), root);
    return x == 0.0f ? x : root;
#endif
}

// sqrt(x), the same bits, for x that is 0 or from 1e-290 up: the arithmetic of sqrt there, from the
// same first approximation, without the branch for values below, behind which nothing else can be
// begun.
__device__ __forceinline__ double sqrt_of_moderate(double x) {
#ifdef GPU_EMULATED
    return sqrt(x);
#else
    const int high = __double2hiint(x);
    double inverse;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(inverse) : "d"(x));
    inverse = __hiloint2double(__double2hiint(inverse), high - 0x03500000);
    const double error = __fma_rn(x, -__dmul_rn(inverse, inverse), 1.0);
    inverse = __fma_rn(__fma_rn(error, 0.375, 0.5), __dmul_rn(inverse, error), inverse);
    const double root = __dmul_rn(x, inverse);
    const double half =
        __hiloint2double(__double2hiint(inverse) - 0x00100000, __double2loint(inverse));
    const double exact = __fma_rn(__fma_rn(-root, root, x), half, root);
    return high <= 0 ? x : exact;
#endif
}

// Adds 1 to a counter in device memory and returns its value before. This thread's earlier writes
// are seen by every thread that sees the addition, in any block. Writes of other threads before
// their additions to the counter up to this one are seen by this thread after it.
//
// In PTX because an atomic operation with both orders costs half of one between two fences
// (H200: 1.6 us of a pass with a sum).
__device__ inline uint32_t arrive(uint32_t *counter) {
#ifdef GPU_EMULATED
    __threadfence();
    uint32_t before = atomicAdd(counter, 1u);
    __threadfence();
    return before;
#else
    uint32_t before;
    asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;"
                 : "=r"(before)
                 : "l"(counter)
                 : "memory");
    return before;
#endif
}

// Arrives at a counter that is 0 before a launch. `is_last` tells whether this is the last of
// `count` arrivals: the caller then sees the earlier writes of all that arrived, and the counter is
// 0 again. One thread of a block calls it, once in a launch. No block waits for another, so that
// they need not be resident at once (the pattern of CUDA's sample threadFenceReduction):
//
//   SHARED(bool, is_last, [1]);
//   if (threadIdx.x == 0) {
//       sums[blockIdx.x] = sum;
//       gpu::arrive(counter, gridDim.x, is_last[0]);
//   }
//   __syncthreads();
//   if (is_last[0]) ...                              // all sums are there
//
// If other threads of the block wrote too, a barrier stands before the call.
__device__ inline void arrive(uint32_t *counter, uint32_t count, bool &is_last) {
    is_last = arrive(counter) == count - 1;
    if (is_last) *counter = 0;
}

// Polls words that other blocks write meanwhile; each by itself is old or new.
template <int COUNT> __device__ inline void poll_words(uint64_t *from, uint64_t (&words)[COUNT]) {
#if !defined(GPU_EMULATED)
    if constexpr (COUNT == 2) {
        // One access: a poll takes as long as it has accesses.
        asm volatile("ld.relaxed.gpu.v2.b64 {%0, %1}, [%2];"
                     : "=l"(words[0]), "=l"(words[1])
                     : "l"(from)
                     : "memory");
    } else
#endif
        for (int k = 0; k < COUNT; k++)
            words[k] = __nv_atomic_load_n(from + k, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
}

// Copies BYTES, which are 4, 8 or 16 and to which both addresses are aligned, from device memory to
// shared memory while the thread goes on: no register holds them on the way. They are there for
// this thread behind `wait_for_copies`, and for the block's others behind a barrier after that.
template <int BYTES> __device__ inline void copy_to_shared(void *shared, const void *global) {
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "cp.async copies 4, 8 or 16 bytes");
#if !defined(GPU_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const uint32_t to = uint32_t(__cvta_generic_to_shared(shared));
    if (BYTES == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(global), "n"(BYTES)
                     : "memory");
    }
#else
    // One access, which the alignment of all BYTES is asked of.
    if (BYTES == 16) {
        *static_cast<uint4 *>(shared) = *static_cast<const uint4 *>(global);
    } else if (BYTES == 8) {
        *static_cast<uint64_t *>(shared) = *static_cast<const uint64_t *>(global);
    } else {
        *static_cast<uint32_t *>(shared) = *static_cast<const uint32_t *>(global);
    }
#endif
}

// A value of which the compiler knows nothing: it neither computes it anew wherever it is used, nor
// keeps values that depend on it in registers from before a loop. In the loop of products of f64
// along k it did the one: 8.9 us in place of 8.4 (512 x 512, H200).
__device__ inline uint32_t opaque(uint32_t value) {
#if !defined(GPU_EMULATED) && defined(__CUDA_ARCH__)
    asm volatile("" : "+r"(value));
#endif
    return value;
}

// `copy_to_shared` if `is_there`; else the BYTES of shared memory become 0 and `global` is not
// read. Without a branch, so that the copy can stand among other instructions.
template <int BYTES>
__device__ inline void copy_to_shared_if(void *shared, const void *global, bool is_there) {
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "cp.async copies 4, 8 or 16 bytes");
#if !defined(GPU_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const uint32_t to = uint32_t(__cvta_generic_to_shared(shared)), bytes = is_there ? BYTES : 0;
    if (BYTES == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global),
                     "r"(bytes)
                     : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(global),
                     "n"(BYTES), "r"(bytes)
                     : "memory");
    }
#else
    if (is_there) {
        copy_to_shared<BYTES>(shared, global);
    } else {
        for (int k = 0; k < BYTES / 4; k++) static_cast<uint32_t *>(shared)[k] = 0;
    }
#endif
}

// The copies of this thread since the last call are one batch, which may be empty.
__device__ inline void end_batch_of_copies() {
#if !defined(GPU_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits for all of this thread's batches but the last `LEFT`.
template <int LEFT> __device__ inline void wait_for_copies() {
#if !defined(GPU_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
#endif
}

// Adds a product of small matrices of doubles, c += a b, by a whole warp: a has 16 rows and 4
// columns, b 8 columns. With lane = 4 g + t, the lane holds a[g][t] and a[g + 8][t], b[t][g], and
// c[g][2 t], c[g][2 t + 1], c[g + 8][2 t], c[g + 8][2 t + 1]. Each sum is a chain of fused
// multiply-adds in the order of k, whatever carries it out: tensor cores where they know doubles.
__device__ inline void warp_multiply_add(double (&c)[4], const double (&a)[2], double b) {
#if !defined(GPU_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 "
                 "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(a[0]), "d"(a[1]), "d"(b));
#elif !defined(GPU_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    for (int half = 0; half < 2; half++) {
        asm volatile(
            "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(c[2 * half]), "+d"(c[2 * half + 1])
            : "d"(a[half]), "d"(b));
    }
#else
    const int row = threadIdx.x % 32 / 4 * 4, column = threadIdx.x % 4 * 8;
    for (int k = 0; k < 4; k++) {
        double left[2], right[2];
        for (int half = 0; half < 2; half++) {
            left[half] = __shfl_sync(0xffffffffu, a[half], row + k);
            right[half] = __shfl_sync(0xffffffffu, b, column + 4 * half + k);
        }
        for (int i = 0; i < 4; i++) c[i] = __fma_rn(left[i / 2], right[i % 2], c[i]);
    }
#endif
}

// The same for 4 COUNT columns of a, 4 at a time.
template <int TWICE, int COUNT> __device__ inline void
warp_multiply_add_by_fours(double (&c)[4], const double (&a)[TWICE], const double (&b)[COUNT]) {
    static_assert(TWICE == 2 * COUNT, "two rows of a for each column of b");
    for (int q = 0; q < COUNT; q++) {
        const double rows[2] = {a[2 * q], a[2 * q + 1]};
        warp_multiply_add(c, rows, b[q]);
    }
}

// The same for 8 and 16 columns of a: with q = 0, 1, …, the lane also holds a[g][t + 4 q] and
// a[g + 8][t + 4 q], in this order, and b[t + 4 q][g]. The order of the sums is that of k too, bit
// for bit (measured: H200). Larger products keep the tensor cores busy with fewer warps: 16 cycles
// for each 4 columns, of which one product of 4 columns alone takes 17, and waits 34 for its sums.
__device__ inline void warp_multiply_add(double (&c)[4], const double (&a)[4],
                                         const double (&b)[2]) {
#if !defined(GPU_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
    warp_multiply_add_by_fours(c, a, b);
#endif
}
__device__ inline void warp_multiply_add(double (&c)[4], const double (&a)[8],
                                         const double (&b)[4]) {
#if !defined(GPU_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
                 : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]),
                   "d"(a[7]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
#else
    warp_multiply_add_by_fours(c, a, b);
#endif
}

} // namespace gpu

// Checks that a kernel instantiation has the parameter types that the Rust side passes; one line
// per instantiation is appended to its program. KERNEL is in parentheses because it may hold
// commas.
#define GPU_UNWRAP(...) __VA_ARGS__
#define GPU_CHECK_SIGNATURE(KERNEL, TYPES)                                                         \
    static_assert(gpu::same<decltype(&GPU_UNWRAP KERNEL), void(*) TYPES>::value,                   \
                  "the kernel's parameters are not those that Rust passes: " #TYPES)
