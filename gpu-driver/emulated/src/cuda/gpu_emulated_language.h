// The words of CUDA C++, the built-in variables, and the attributes that the other headers need.
#pragma once

#define GPU_EMULATED 1

#ifndef __CUDACC__
#define __CUDACC__ 1
#endif
#ifndef __CUDACC_RTC__
#define __CUDACC_RTC__ 1
#endif
#ifndef __CUDA_ARCH__
#define __CUDA_ARCH__ 900
#endif

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
// As in CUDA: `inline` is part of it, so a function that is not called is not compiled.
#define __forceinline__ inline
#define __noinline__
#define __grid_constant__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __align__(n) __attribute__((aligned(n)))
// A declaration that was not rewritten stands inside a macro: the compiler's message then shows this name.
#define __shared__ declare_shared_memory_outside_macros_or_through_SHARED

// Small functions of these headers: part of the function that calls them, so that an access is found at the kernel's line.
#define GPU_EMULATED_INLINE inline __attribute__((always_inline))

// Functions that talk to the driver: no accesses of theirs are checked, no step is counted, and they are not merged into
// functions where that would happen. GCC learned to leave out the step count in version 12, clang in 13.
#if defined(__clang__)
#if __clang_major__ >= 13
#define GPU_EMULATED_NO_STEPS no_sanitize("coverage")
#endif
#elif __GNUC__ >= 12 && !defined(GPU_EMULATED_TEST_OLD_COMPILER)
#define GPU_EMULATED_NO_STEPS no_sanitize_coverage
#endif
#ifdef GPU_EMULATED_NO_STEPS
#define GPU_EMULATED_QUIET                                                                                                   \
    __attribute__((noinline, no_sanitize("address"), no_sanitize("kernel-address"), no_sanitize("thread"), no_sanitize("undefined"),                \
                   GPU_EMULATED_NO_STEPS))
#else
#define GPU_EMULATED_QUIET                                                                                                   \
    __attribute__((noinline, no_sanitize("address"), no_sanitize("kernel-address"), no_sanitize("thread"), no_sanitize("undefined")))
#endif

// GCC has no assumptions; an assumption that fails is then reported like any other undefined behaviour.
#ifndef __clang__
#define __builtin_assume(expression) ((expression) ? (void)0 : __builtin_unreachable())
#endif

// Where a call stands: the last two parameters of what the driver reports with a line.
#define GPU_EMULATED_PLACE const char *file = __builtin_FILE(), unsigned line = __builtin_LINE()

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef long clock_t;
#ifndef NULL
#define NULL __null
#endif

// The driver's table, and the steps until it wants to be asked: never before it has set both, as when a module's own start-up
// code runs. C names, because the hooks use them from assembly.
extern "C" {
__attribute__((visibility("hidden"))) const gpu_emulated::Runtime *gpu_emulated_runtime = nullptr;
__attribute__((visibility("hidden"))) long gpu_emulated_budget = __LONG_MAX__;
}

namespace gpu_emulated {

// What the headers need of type traits.
template <class A, class B> constexpr bool is_same = false;
template <class A> constexpr bool is_same<A, A> = true;
template <class T> struct plain { using type = T; };
template <class T> struct plain<const T> { using type = T; };
template <class T> struct plain<volatile T> { using type = T; };
template <class T> struct plain<const volatile T> { using type = T; };
template <class T> constexpr bool is_integer = false;
template <> inline constexpr bool is_integer<bool> = true;
template <> inline constexpr bool is_integer<char> = true;
template <> inline constexpr bool is_integer<signed char> = true;
template <> inline constexpr bool is_integer<unsigned char> = true;
template <> inline constexpr bool is_integer<short> = true;
template <> inline constexpr bool is_integer<unsigned short> = true;
template <> inline constexpr bool is_integer<int> = true;
template <> inline constexpr bool is_integer<unsigned> = true;
template <> inline constexpr bool is_integer<long> = true;
template <> inline constexpr bool is_integer<unsigned long> = true;
template <> inline constexpr bool is_integer<long long> = true;
template <> inline constexpr bool is_integer<unsigned long long> = true;
template <class T> constexpr bool is_number = is_integer<T> || is_same<T, float> || is_same<T, double>;
template <bool CONDITION, class T> struct enable {};
template <class T> struct enable<true, T> { using type = T; };
template <bool CONDITION, class T> using enable_if = typename enable<CONDITION, T>::type;

// The same bits as another type of the same size.
template <class To, class From> GPU_EMULATED_INLINE To bit_cast(From from) {
    static_assert(sizeof(To) == sizeof(From), "the sizes differ");
    To to;
    __builtin_memcpy(&to, &from, sizeof(To));
    return to;
}

// Keeps the driver from being asked between an atomic operation's read and its write, where the compiler cannot leave out
// the step count.
struct Undisturbed {
#ifdef GPU_EMULATED_NO_STEPS
    GPU_EMULATED_INLINE Undisturbed() {}
#else
    long budget;
    GPU_EMULATED_INLINE Undisturbed() : budget(gpu_emulated_budget) { gpu_emulated_budget = __LONG_MAX__; }
    GPU_EMULATED_INLINE ~Undisturbed() { gpu_emulated_budget = budget; }
#endif
};

} // namespace gpu_emulated
