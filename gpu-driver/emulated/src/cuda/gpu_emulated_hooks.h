// The functions that the compiler's instrumentation calls: accesses (GCC: -fsanitize=thread, clang: -fsanitize=kernel-address),
// steps (-fsanitize-coverage=trace-pc) and undefined behaviour (-fsanitize=undefined). Hidden, so that each module has its own
// and no sanitizer library is needed. Every kernel is compiled with all of them, so only those of the compiler in use are there:
// with the other's and all handlers of undefined behaviour a small kernel took GCC 12 a third longer.
#pragma once

#define GPU_EMULATED_HOOK extern "C" __attribute__((visibility("hidden"), used)) GPU_EMULATED_QUIET

// Accesses. The names without _noabort are those of compilers told to stop at the first error. A hook hands the address, its
// bytes, the kind and the place behind the call on to the driver; there is none yet while the module's start-up code runs.
//
// Where the processor is a known one, the hooks are assembly that ends in a jump: no pass of the compiler sees them. As the
// functions that follow, which mean the same, the 42 of them took GCC 12 50 of the 380 ms of a scan.
#if defined(GPU_EMULATED_TEST_PORTABLE_HOOKS) || !(defined(__x86_64__) || defined(__aarch64__))
#define GPU_EMULATED_ACCESS_HOOK(name, bytes, kind)                                                                          \
    GPU_EMULATED_HOOK void name(const void *address) {                                                                       \
        if (__builtin_expect(!gpu_emulated_runtime, 0)) return;                                                              \
        gpu_emulated_runtime->access(address, bytes, kind, __builtin_return_address(0));                                     \
    }
#define GPU_EMULATED_RANGE_HOOK(name, kind)                                                                                  \
    GPU_EMULATED_HOOK void name(const void *address, unsigned long bytes) {                                                  \
        if (__builtin_expect(!gpu_emulated_runtime, 0)) return;                                                              \
        gpu_emulated_runtime->access(address, bytes, kind, __builtin_return_address(0));                                     \
    }
#else
// `access` stands first in the driver's table.
#if defined(__x86_64__)
#define GPU_EMULATED_SET_BYTES(bytes) "  movl $" #bytes ", %esi\n"
#define GPU_EMULATED_CALL_ACCESS(kind)                                                                                       \
    "  movq gpu_emulated_runtime(%rip), %rax\n"                                                                              \
    "  testq %rax, %rax\n"                                                                                                   \
    "  je 1f\n"                                                                                                              \
    "  movl $" #kind ", %edx\n"                                                                                              \
    "  movq (%rsp), %rcx\n"                                                                                                  \
    "  jmp *(%rax)\n"                                                                                                        \
    "1: ret\n"
#else
#define GPU_EMULATED_SET_BYTES(bytes) "  mov x1, #" #bytes "\n"
#define GPU_EMULATED_CALL_ACCESS(kind)                                                                                       \
    "  adrp x16, gpu_emulated_runtime\n"                                                                                     \
    "  ldr x16, [x16, :lo12:gpu_emulated_runtime]\n"                                                                         \
    "  cbz x16, 1f\n"                                                                                                        \
    "  mov w2, #" #kind "\n"                                                                                                 \
    "  mov x3, x30\n"                                                                                                        \
    "  ldr x16, [x16]\n"                                                                                                     \
    "  br x16\n"                                                                                                             \
    "1: ret\n"
#endif
#define GPU_EMULATED_ASSEMBLED_HOOK(name, body)                                                                              \
    __asm__(".text\n"                                                                                                        \
            ".globl " #name "\n"                                                                                             \
            ".hidden " #name "\n"                                                                                            \
            ".type " #name ", %function\n" #name ":\n" body ".size " #name ", . - " #name "\n");
#define GPU_EMULATED_ACCESS_HOOK(name, bytes, kind)                                                                          \
    GPU_EMULATED_ASSEMBLED_HOOK(name, GPU_EMULATED_SET_BYTES(bytes) GPU_EMULATED_CALL_ACCESS(kind))
#define GPU_EMULATED_RANGE_HOOK(name, kind) GPU_EMULATED_ASSEMBLED_HOOK(name, GPU_EMULATED_CALL_ACCESS(kind))
static_assert(__builtin_offsetof(gpu_emulated::Runtime, access) == 0, "a hook calls another function of the table");
#endif

// Assembly takes numbers alone.
#define GPU_EMULATED_READ 0
#define GPU_EMULATED_WRITE 1
#define GPU_EMULATED_VOLATILE_READ 4
#define GPU_EMULATED_VOLATILE_WRITE 5
static_assert(GPU_EMULATED_READ == gpu_emulated::READ && GPU_EMULATED_WRITE == gpu_emulated::WRITE, "the driver's numbers differ");
static_assert(GPU_EMULATED_VOLATILE_READ == (gpu_emulated::READ | gpu_emulated::VOLATILE), "the driver's number differs");
static_assert(GPU_EMULATED_VOLATILE_WRITE == (gpu_emulated::WRITE | gpu_emulated::VOLATILE), "the driver's number differs");

#ifdef __clang__
#define GPU_EMULATED_ACCESS_HOOKS(bytes)                                                                                     \
    GPU_EMULATED_ACCESS_HOOK(__asan_load##bytes, bytes, GPU_EMULATED_READ)                                                   \
    GPU_EMULATED_ACCESS_HOOK(__asan_load##bytes##_noabort, bytes, GPU_EMULATED_READ)                                         \
    GPU_EMULATED_ACCESS_HOOK(__asan_store##bytes, bytes, GPU_EMULATED_WRITE)                                                 \
    GPU_EMULATED_ACCESS_HOOK(__asan_store##bytes##_noabort, bytes, GPU_EMULATED_WRITE)
#elif !defined(__SANITIZE_THREAD__)
#define GPU_EMULATED_ACCESS_HOOKS(bytes)
#else
#define GPU_EMULATED_ACCESS_HOOKS(bytes)                                                                                     \
    GPU_EMULATED_ACCESS_HOOK(__tsan_read##bytes, bytes, GPU_EMULATED_READ)                                                   \
    GPU_EMULATED_ACCESS_HOOK(__tsan_write##bytes, bytes, GPU_EMULATED_WRITE)                                                 \
    GPU_EMULATED_ACCESS_HOOK(__tsan_unaligned_read##bytes, bytes, GPU_EMULATED_READ)                                         \
    GPU_EMULATED_ACCESS_HOOK(__tsan_unaligned_write##bytes, bytes, GPU_EMULATED_WRITE)                                       \
    GPU_EMULATED_ACCESS_HOOK(__tsan_volatile_read##bytes, bytes, GPU_EMULATED_VOLATILE_READ)                                 \
    GPU_EMULATED_ACCESS_HOOK(__tsan_volatile_write##bytes, bytes, GPU_EMULATED_VOLATILE_WRITE)                               \
    GPU_EMULATED_ACCESS_HOOK(__tsan_unaligned_volatile_read##bytes, bytes, GPU_EMULATED_VOLATILE_READ)                       \
    GPU_EMULATED_ACCESS_HOOK(__tsan_unaligned_volatile_write##bytes, bytes, GPU_EMULATED_VOLATILE_WRITE)
#endif
GPU_EMULATED_ACCESS_HOOKS(1)
GPU_EMULATED_ACCESS_HOOKS(2)
GPU_EMULATED_ACCESS_HOOKS(4)
GPU_EMULATED_ACCESS_HOOKS(8)
GPU_EMULATED_ACCESS_HOOKS(16)
#undef GPU_EMULATED_ACCESS_HOOKS
#undef GPU_EMULATED_ACCESS_HOOK
#ifdef __clang__
GPU_EMULATED_RANGE_HOOK(__asan_loadN, GPU_EMULATED_READ)
GPU_EMULATED_RANGE_HOOK(__asan_loadN_noabort, GPU_EMULATED_READ)
GPU_EMULATED_RANGE_HOOK(__asan_storeN, GPU_EMULATED_WRITE)
GPU_EMULATED_RANGE_HOOK(__asan_storeN_noabort, GPU_EMULATED_WRITE)
#else
GPU_EMULATED_RANGE_HOOK(__tsan_read_range, GPU_EMULATED_READ)
GPU_EMULATED_RANGE_HOOK(__tsan_write_range, GPU_EMULATED_WRITE)
#endif
#undef GPU_EMULATED_RANGE_HOOK

#ifdef __clang__
// Names for copies that the compiler makes itself.
GPU_EMULATED_HOOK void *__asan_memcpy(void *to, const void *from, unsigned long bytes) {
    gpu_emulated_runtime->access(from, bytes, gpu_emulated::READ, __builtin_return_address(0));
    gpu_emulated_runtime->access(to, bytes, gpu_emulated::WRITE, __builtin_return_address(0));
    return __builtin_memcpy(to, from, bytes);
}
GPU_EMULATED_HOOK void *__asan_memmove(void *to, const void *from, unsigned long bytes) {
    gpu_emulated_runtime->access(from, bytes, gpu_emulated::READ, __builtin_return_address(0));
    gpu_emulated_runtime->access(to, bytes, gpu_emulated::WRITE, __builtin_return_address(0));
    return __builtin_memmove(to, from, bytes);
}
GPU_EMULATED_HOOK void *__asan_memset(void *to, int value, unsigned long bytes) {
    gpu_emulated_runtime->access(to, bytes, gpu_emulated::WRITE, __builtin_return_address(0));
    return __builtin_memset(to, value, bytes);
}
#endif

// What the driver has no use for.
#ifdef __clang__
GPU_EMULATED_HOOK void __asan_handle_no_return() {}
GPU_EMULATED_HOOK void __asan_poison_stack_memory(const void *, unsigned long) {}
GPU_EMULATED_HOOK void __asan_unpoison_stack_memory(const void *, unsigned long) {}
GPU_EMULATED_HOOK void __asan_alloca_poison(const void *, unsigned long) {}
GPU_EMULATED_HOOK void __asan_allocas_unpoison(const void *, const void *) {}
#else
GPU_EMULATED_HOOK void __tsan_init() {}
GPU_EMULATED_HOOK void __tsan_vptr_update(void **, void *) {}
GPU_EMULATED_HOOK void __tsan_vptr_read(void **) {}
GPU_EMULATED_HOOK void __tsan_func_entry(void *) {}
GPU_EMULATED_HOOK void __tsan_func_exit() {}
#endif

// One step: a basic block.
#ifdef GPU_EMULATED_NO_STEPS
GPU_EMULATED_HOOK void __sanitizer_cov_trace_pc() {
    if (__builtin_expect(--gpu_emulated_budget <= 0, 0)) gpu_emulated_runtime->tick(__builtin_return_address(0));
}
#else
// Here every function counts steps, so the hook is no function: in C++ it would call itself without end. Before it goes on to
// one, it grants steps enough for that one.
GPU_EMULATED_HOOK void gpu_emulated_tick(const void *pc) { gpu_emulated_runtime->tick(pc); }
__asm__(".text\n"
        ".globl __sanitizer_cov_trace_pc\n"
        ".hidden __sanitizer_cov_trace_pc\n"
        ".type __sanitizer_cov_trace_pc, %function\n"
        "__sanitizer_cov_trace_pc:\n"
#if defined(__x86_64__)
        "  subq $1, gpu_emulated_budget(%rip)\n"
        "  jle 1f\n"
        "  ret\n"
        "1: movq $0x40000000, gpu_emulated_budget(%rip)\n"
        "  movq (%rsp), %rdi\n"
        "  jmp gpu_emulated_tick\n"
#else
        "  adrp x16, gpu_emulated_budget\n"
        "  ldr x17, [x16, :lo12:gpu_emulated_budget]\n"
        "  subs x17, x17, #1\n"
        "  str x17, [x16, :lo12:gpu_emulated_budget]\n"
        "  b.le 1f\n"
        "  ret\n"
        "1: mov x17, #0x40000000\n"
        "  str x17, [x16, :lo12:gpu_emulated_budget]\n"
        "  mov x0, x30\n"
        "  b gpu_emulated_tick\n"
#endif
        ".size __sanitizer_cov_trace_pc, . - __sanitizer_cov_trace_pc\n");
#endif
