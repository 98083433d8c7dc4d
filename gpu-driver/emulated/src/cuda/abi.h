// What a kernel compiled for the emulated device and the emulated driver say to each other.
//
// The Rust side of this file is abi.rs; both carry VERSION and change together. All functions of `Runtime` are called on
// the stack of the emulated thread that executes, and may switch to another one before they return. Those marked noreturn
// end the launch. A `file` is a string that lives as long as the module.
#pragma once

namespace gpu_emulated {

constexpr unsigned VERSION = 3;

enum AccessKind : unsigned { READ = 0, WRITE = 1, ATOMIC = 2, VOLATILE = 4 /* with READ or WRITE */ };

// barrier(): what the threads' predicates are joined to.
enum BarrierKind : unsigned { BARRIER = 0, BARRIER_COUNT = 1, BARRIER_AND = 2, BARRIER_OR = 3 };

enum WarpKind : unsigned {
    SYNC = 0,         // __syncwarp
    SHUFFLE = 1,      // argument: source lane         (__shfl_sync)
    SHUFFLE_UP = 2,   // argument: delta
    SHUFFLE_DOWN = 3, // argument: delta
    SHUFFLE_XOR = 4,  // argument: lane mask
    BALLOT = 5,       // value: predicate; result: bit per lane
    ALL = 6,
    ANY = 7,
    MATCH_ANY = 8,    // value compared as 64 bits; result: mask of the lanes with the same value
    MATCH_ALL = 9,    // result: mask if all agree, else 0
    REDUCE_ADD = 10,  // 32-bit from here on; the result's low 32 bits count
    REDUCE_MIN = 11,
    REDUCE_MAX = 12,
    REDUCE_MIN_SIGNED = 13,
    REDUCE_MAX_SIGNED = 14,
    REDUCE_AND = 15,
    REDUCE_OR = 16,
    REDUCE_XOR = 17,
};

enum FenceKind : unsigned { FENCE_BLOCK = 0, FENCE_DEVICE = 1, FENCE_SYSTEM = 2 };

enum ClockKind : unsigned { CLOCK = 0 /* cycles */, GLOBAL_TIMER = 1 /* nanoseconds */ };

// The form of a texture or surface.
enum TexelForm : unsigned {
    TEXEL_MEMORY = 0,
    TEXEL_LINE = 1,
    TEXEL_PLANE = 2,
    TEXEL_VOLUME = 3,
    TEXEL_LAYERED_LINE = 4,
    TEXEL_LAYERED_PLANE = 5,
    TEXEL_CUBEMAP = 6,
    TEXEL_LAYERED_CUBEMAP = 7,
};

// texture(): with the number of channels that are wanted.
constexpr unsigned TEXEL_FLOATS = 8;
constexpr unsigned TEXEL_GATHER = 16;

// surface(): the AccessKind, and this for each step of the boundary mode from 1 (zero) to 3 (trap).
constexpr unsigned SURFACE_MODE = 16;

struct Runtime {
    // Before each access that the compiler instruments. `pc` is the address behind the access, from which the line is found.
    void (*access)(const void *address, unsigned long bytes, unsigned kind, const void *pc);
    // Before an atomic operation: checks the access (bounds, alignment to `bytes`) and may switch to another thread; the
    // operation itself then runs undisturbed until the next call.
    void (*atomic)(const void *address, unsigned long bytes, const char *file, unsigned line);
    // __syncthreads and its variants; `name` is the CUDA name.
    int (*barrier)(unsigned kind, int predicate, const char *name, const char *file, unsigned line);
    // Warp-wide operations over the lanes of `mask`. `value` holds at most 8 bytes, zero-extended. For shuffles `width` is
    // 1, 2, 4, 8, 16 or 32 and the result is the chosen lane's value (the own one where the source lies outside the segment).
    unsigned long long (*warp)(unsigned kind, unsigned mask, unsigned long long value, unsigned argument, unsigned width,
                               const char *name, const char *file, unsigned line);
    // The lanes of the calling thread's warp that come to this line together.
    unsigned (*active_mask)(const char *file, unsigned line);
    // The place of a static shared variable in the block's arena. `slot` is a static of the variable, 0 at load.
    void *(*shared_static)(unsigned *slot, unsigned long bytes, unsigned long alignment, const char *name, const char *file,
                           unsigned line);
    // The dynamic shared memory of the block.
    void *(*shared_dynamic)();
    unsigned (*shared_dynamic_bytes)();
    void (*fence)(unsigned kind, const char *file, unsigned line);
    unsigned long long (*clock)(unsigned kind);
    void (*nanosleep)(unsigned nanoseconds);
    // griddepcontrol.wait: from here on the thread may touch memory, where the launch overlaps with earlier ones.
    void (*grid_dependency_wait)();
    // The step budget is used up (see Module::budget): may switch to another thread, and refills it.
    void (*tick)(const void *pc);
    // First statement of every kernel: the values of __launch_bounds__, 0 where there are none.
    void (*enter)(unsigned max_threads, unsigned min_blocks);
    __attribute__((noreturn)) void (*trap)(const char *file, unsigned line);
    __attribute__((noreturn)) void (*assert_failed)(const char *expression, const char *function, const char *file, unsigned line);
    // Undefined behaviour that the compiler's checks found; `address` is 0 unless the kind is a bad pointer.
    __attribute__((noreturn)) void (*undefined)(const char *what, const char *file, unsigned line, unsigned column, const void *address);
    // A misaligned access of `type`.
    __attribute__((noreturn)) void (*misaligned)(const void *address, unsigned long alignment, unsigned kind, const char *type, const char *file,
                                    unsigned line);
    // printf: text that is formatted already.
    void (*print)(const char *text, unsigned long bytes);
    // A filtered read of a texture: up to four channels, each in 32 bits. The layer is the index for memory without a form,
    // the detail a level of mipmaps.
    void (*texture)(unsigned long long object, unsigned form, float x, float y, float z, int layer, float detail, unsigned wanted,
                    unsigned *bits, const char *name, const char *file, unsigned line);
    // A read or write of a surface, of a value of 1, 2, 4, 8 or 16 bytes. `x` counts bytes, `z` layers or faces.
    void (*surface)(unsigned long long object, unsigned form, int x, int y, int z, unsigned access, void *value, unsigned bytes,
                    const char *name, const char *file, unsigned line);
};

// One kernel: `run` takes the addresses of the argument values.
struct Kernel {
    const char *name;
    void (*run)(void **arguments);
    const unsigned long *sizes;
    unsigned count;
};

struct Index {
    unsigned x, y, z;
};

// The one symbol that a module exports: `extern "C" const gpu_emulated::Module gpu_emulated_module`.
struct Module {
    unsigned version;
    // Whether every kernel begins with `enter`, so that its launch bounds can be asked for without running it.
    unsigned kernels_enter;
    const Runtime **runtime;
    // threadIdx, blockIdx, blockDim, gridDim: written by the driver before it resumes a thread.
    Index *thread, *block, *block_size, *grid_size;
    // Counted down at each basic block; at 0 `tick` is called.
    long *budget;
    const Kernel *kernels;
    unsigned kernel_count;
};

} // namespace gpu_emulated
