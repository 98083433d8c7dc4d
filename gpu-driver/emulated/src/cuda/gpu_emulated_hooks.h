// The functions that the compiler's instrumentation calls: accesses (GCC: -fsanitize=thread, clang: -fsanitize=kernel-address),
// steps (-fsanitize-coverage=trace-pc) and undefined behaviour (-fsanitize=undefined). Hidden, so that each module has its own
// and no sanitizer library is needed. Every kernel is compiled with all of them, so only those of the compiler in use are there:
// with the other's and all handlers of undefined behaviour a small kernel took GCC 12 a third longer.
#pragma once

#define GPU_EMULATED_HOOK extern "C" __attribute__((visibility("hidden"), used)) GPU_EMULATED_QUIET

// Accesses. The names without _noabort are those of compilers told to stop at the first error.
#define GPU_EMULATED_ACCESS_HOOK(name, bytes, kind)                                                                          \
    GPU_EMULATED_HOOK void name(const void *address) {                                                                       \
        if (__builtin_expect(!gpu_emulated_runtime, 0)) return; /* start-up code of the module */                            \
        gpu_emulated_runtime->access(address, bytes, gpu_emulated::kind, __builtin_return_address(0));                       \
    }
#ifdef __clang__
#define GPU_EMULATED_ACCESS_HOOKS(bytes)                                                                                     \
    GPU_EMULATED_ACCESS_HOOK(__asan_load##bytes, bytes, READ)                                                                \
    GPU_EMULATED_ACCESS_HOOK(__asan_load##bytes##_noabort, bytes, READ)                                                      \
    GPU_EMULATED_ACCESS_HOOK(__asan_store##bytes, bytes, WRITE)                                                              \
    GPU_EMULATED_ACCESS_HOOK(__asan_store##bytes##_noabort, bytes, WRITE)
#elif !defined(__SANITIZE_THREAD__)
#define GPU_EMULATED_ACCESS_HOOKS(bytes)
#else
#define GPU_EMULATED_ACCESS_HOOKS(bytes)                                                                                     \
    GPU_EMULATED_ACCESS_HOOK(__tsan_read##bytes, bytes, READ)                                                                \
    GPU_EMULATED_ACCESS_HOOK(__tsan_write##bytes, bytes, WRITE)                                                              \
    GPU_EMULATED_ACCESS_HOOK(__tsan_unaligned_read##bytes, bytes, READ)                                                      \
    GPU_EMULATED_ACCESS_HOOK(__tsan_unaligned_write##bytes, bytes, WRITE)                                                    \
    GPU_EMULATED_ACCESS_HOOK(__tsan_volatile_read##bytes, bytes, READ | gpu_emulated::VOLATILE)                              \
    GPU_EMULATED_ACCESS_HOOK(__tsan_volatile_write##bytes, bytes, WRITE | gpu_emulated::VOLATILE)                            \
    GPU_EMULATED_ACCESS_HOOK(__tsan_unaligned_volatile_read##bytes, bytes, READ | gpu_emulated::VOLATILE)                    \
    GPU_EMULATED_ACCESS_HOOK(__tsan_unaligned_volatile_write##bytes, bytes, WRITE | gpu_emulated::VOLATILE)
#endif
GPU_EMULATED_ACCESS_HOOKS(1)
GPU_EMULATED_ACCESS_HOOKS(2)
GPU_EMULATED_ACCESS_HOOKS(4)
GPU_EMULATED_ACCESS_HOOKS(8)
GPU_EMULATED_ACCESS_HOOKS(16)
#undef GPU_EMULATED_ACCESS_HOOKS
#undef GPU_EMULATED_ACCESS_HOOK
#define GPU_EMULATED_RANGE_HOOK(name, kind)                                                                                  \
    GPU_EMULATED_HOOK void name(const void *address, unsigned long bytes) {                                                  \
        if (__builtin_expect(!gpu_emulated_runtime, 0)) return;                                                              \
        gpu_emulated_runtime->access(address, bytes, gpu_emulated::kind, __builtin_return_address(0));                       \
    }
#ifdef __clang__
GPU_EMULATED_RANGE_HOOK(__asan_loadN, READ)
GPU_EMULATED_RANGE_HOOK(__asan_loadN_noabort, READ)
GPU_EMULATED_RANGE_HOOK(__asan_storeN, WRITE)
GPU_EMULATED_RANGE_HOOK(__asan_storeN_noabort, WRITE)
#else
GPU_EMULATED_RANGE_HOOK(__tsan_read_range, READ)
GPU_EMULATED_RANGE_HOOK(__tsan_write_range, WRITE)
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
