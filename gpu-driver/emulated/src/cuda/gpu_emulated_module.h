// The list of kernels that a module exports.
//
// The compile step appends, for example:
//   GPU_EMULATED_MODULE_BEGIN
//   GPU_EMULATED_KERNEL("gpu_kernel_0", (axpy<float, 256>))
//   GPU_EMULATED_KERNEL("double_all", (double_all))
//   GPU_EMULATED_MODULE_END(1)
// The kernel stands in parentheses because its template arguments may hold commas; the argument of END is whether every kernel
// begins with GPU_EMULATED_ENTER.
#pragma once

namespace gpu_emulated {

// The copy of an argument that a kernel works on. The driver's may be aligned less than the type wants.
template <class P> struct Argument {
    union {
        P value;
    };
    GPU_EMULATED_INLINE explicit Argument(const void *from) { __builtin_memcpy((void *)&value, from, sizeof(P)); }
    GPU_EMULATED_INLINE ~Argument() {}
};

template <unsigned long... I> struct Indices {};
template <unsigned long N, unsigned long... I> struct MakeIndices : MakeIndices<N - 1, N - 1, I...> {};
template <unsigned long... I> struct MakeIndices<0, I...> { using type = Indices<I...>; };

template <auto KERNEL> struct Trampoline;
template <class... P, void (*KERNEL)(P...)> struct Trampoline<KERNEL> {
    // One more than there are parameters, because an array cannot be empty.
    static constexpr unsigned long sizes[] = {sizeof(P)..., 0};
    static constexpr unsigned count = sizeof...(P);

    template <unsigned long... I>
    static GPU_EMULATED_INLINE void call(void (*kernel)(P...), void **arguments, Indices<I...>) {
        kernel(Argument<typename plain<P>::type>(arguments[I]).value...);
    }
    // The driver's memory is read without checks. The kernel must not become a part of this function, or it would lose its
    // own: the compiler does not see which function the pointer names.
    GPU_EMULATED_QUIET static void run(void **arguments) {
        void (*kernel)(P...) = KERNEL;
        __asm__ volatile("" : "+r"(kernel));
        (void)arguments;
        call(kernel, arguments, typename MakeIndices<sizeof...(P)>::type());
    }
};

template <auto KERNEL> constexpr Kernel kernel(const char *name) {
    return {name, Trampoline<KERNEL>::run, Trampoline<KERNEL>::sizes, Trampoline<KERNEL>::count};
}

} // namespace gpu_emulated

#define GPU_EMULATED_UNWRAP(...) __VA_ARGS__
#define GPU_EMULATED_MODULE_BEGIN static constexpr gpu_emulated::Kernel gpu_emulated_kernels[] = {
#define GPU_EMULATED_KERNEL(name, KERNEL) gpu_emulated::kernel<&GPU_EMULATED_UNWRAP KERNEL>(name),
// The entry behind the last kernel keeps the array from being empty.
#define GPU_EMULATED_MODULE_END(kernels_enter)                                                                               \
    { nullptr, nullptr, nullptr, 0 }                                                                                         \
    }                                                                                                                        \
    ;                                                                                                                        \
    extern "C" __attribute__((visibility("default"), used)) const gpu_emulated::Module gpu_emulated_module = {               \
        gpu_emulated::VERSION,                                                                                               \
        kernels_enter,                                                                                                       \
        &gpu_emulated_runtime,                                                                                               \
        reinterpret_cast<gpu_emulated::Index *>(&threadIdx),                                                                 \
        reinterpret_cast<gpu_emulated::Index *>(&blockIdx),                                                                  \
        reinterpret_cast<gpu_emulated::Index *>(&blockDim),                                                                  \
        reinterpret_cast<gpu_emulated::Index *>(&gridDim),                                                                   \
        &gpu_emulated_budget,                                                                                                \
        gpu_emulated_kernels,                                                                                                \
        sizeof gpu_emulated_kernels / sizeof *gpu_emulated_kernels - 1};
