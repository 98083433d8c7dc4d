// Arithmetic with a chosen rounding: nearest even (rn), towards zero (rz), up (ru), down (rd).
//
// Nearest is what the host does anyway. The others set the rounding mode of the processor around one operation. The operands
// pass through an empty assembly statement on both sides, which keeps the compiler from computing elsewhere or beforehand.
#pragma once

namespace gpu_emulated {

#if defined(__x86_64__)
enum Rounding : unsigned { NEAREST = 0x0000, DOWN = 0x2000, UP = 0x4000, TOWARDS_ZERO = 0x6000 };
constexpr unsigned ROUNDING_BITS = 0x6000;
using RoundingRegister = unsigned;
GPU_EMULATED_INLINE RoundingRegister get_rounding() { return __builtin_ia32_stmxcsr(); }
GPU_EMULATED_INLINE void set_rounding(RoundingRegister value) { __builtin_ia32_ldmxcsr(value); }
#define GPU_EMULATED_KEEP(x) __asm__ volatile("" : "+x"(x) : : "memory")
#elif defined(__aarch64__)
enum Rounding : unsigned { NEAREST = 0x000000, UP = 0x400000, DOWN = 0x800000, TOWARDS_ZERO = 0xc00000 };
constexpr unsigned ROUNDING_BITS = 0xc00000;
using RoundingRegister = unsigned long;
GPU_EMULATED_INLINE RoundingRegister get_rounding() {
    RoundingRegister value;
    __asm__ volatile("mrs %0, fpcr" : "=r"(value));
    return value;
}
GPU_EMULATED_INLINE void set_rounding(RoundingRegister value) { __asm__ volatile("msr fpcr, %0" : : "r"(value) : "memory"); }
#define GPU_EMULATED_KEEP(x) __asm__ volatile("" : "+w"(x) : : "memory")
#else
#error "the emulated device runs on x86-64 and aarch64"
#endif

enum class Operation { Add, Subtract, Multiply, Divide, SquareRoot, FusedMultiplyAdd };

// Quiet, so that no other thread runs while the mode is changed. The C library's fma, which stands in where the processor has
// no such instruction, keeps to the mode too.
template <Operation OPERATION, Rounding ROUNDING, class T> GPU_EMULATED_QUIET T rounded(T a, T b, T c) {
    Undisturbed undisturbed;
    RoundingRegister before = get_rounding();
    set_rounding((before & ~RoundingRegister(ROUNDING_BITS)) | ROUNDING);
    GPU_EMULATED_KEEP(a);
    GPU_EMULATED_KEEP(b);
    GPU_EMULATED_KEEP(c);
    T result;
    if constexpr (OPERATION == Operation::Add) result = a + b;
    if constexpr (OPERATION == Operation::Subtract) result = a - b;
    if constexpr (OPERATION == Operation::Multiply) result = a * b;
    if constexpr (OPERATION == Operation::Divide) result = a / b;
    if constexpr (OPERATION == Operation::SquareRoot && sizeof(T) == 4) result = __builtin_sqrtf(a);
    if constexpr (OPERATION == Operation::SquareRoot && sizeof(T) == 8) result = __builtin_sqrt(a);
    if constexpr (OPERATION == Operation::FusedMultiplyAdd && sizeof(T) == 4) result = __builtin_fmaf(a, b, c);
    if constexpr (OPERATION == Operation::FusedMultiplyAdd && sizeof(T) == 8) result = __builtin_fma(a, b, c);
    GPU_EMULATED_KEEP(result);
    set_rounding(before);
    return result;
}

} // namespace gpu_emulated

#define GPU_EMULATED_ROUNDED(T, prefix, suffix, mode)                                                                        \
    GPU_EMULATED_INLINE T prefix##add_##suffix(T a, T b) {                                                                   \
        return gpu_emulated::rounded<gpu_emulated::Operation::Add, gpu_emulated::mode, T>(a, b, 0);                          \
    }                                                                                                                        \
    GPU_EMULATED_INLINE T prefix##sub_##suffix(T a, T b) {                                                                   \
        return gpu_emulated::rounded<gpu_emulated::Operation::Subtract, gpu_emulated::mode, T>(a, b, 0);                     \
    }                                                                                                                        \
    GPU_EMULATED_INLINE T prefix##mul_##suffix(T a, T b) {                                                                   \
        return gpu_emulated::rounded<gpu_emulated::Operation::Multiply, gpu_emulated::mode, T>(a, b, 0);                     \
    }                                                                                                                        \
    GPU_EMULATED_INLINE T prefix##div_##suffix(T a, T b) {                                                                   \
        return gpu_emulated::rounded<gpu_emulated::Operation::Divide, gpu_emulated::mode, T>(a, b, 0);                       \
    }                                                                                                                        \
    GPU_EMULATED_INLINE T prefix##rcp_##suffix(T a) {                                                                        \
        return gpu_emulated::rounded<gpu_emulated::Operation::Divide, gpu_emulated::mode, T>(1, a, 0);                       \
    }                                                                                                                        \
    GPU_EMULATED_INLINE T prefix##sqrt_##suffix(T a) {                                                                       \
        return gpu_emulated::rounded<gpu_emulated::Operation::SquareRoot, gpu_emulated::mode, T>(a, 0, 0);                   \
    }
#define GPU_EMULATED_ROUNDED_FMA(T, name, mode)                                                                              \
    GPU_EMULATED_INLINE T name(T a, T b, T c) {                                                                              \
        return gpu_emulated::rounded<gpu_emulated::Operation::FusedMultiplyAdd, gpu_emulated::mode, T>(a, b, c);             \
    }
GPU_EMULATED_ROUNDED(float, __f, rz, TOWARDS_ZERO)
GPU_EMULATED_ROUNDED(float, __f, ru, UP)
GPU_EMULATED_ROUNDED(float, __f, rd, DOWN)
GPU_EMULATED_ROUNDED(double, __d, rz, TOWARDS_ZERO)
GPU_EMULATED_ROUNDED(double, __d, ru, UP)
GPU_EMULATED_ROUNDED(double, __d, rd, DOWN)
GPU_EMULATED_ROUNDED_FMA(float, __fmaf_rz, TOWARDS_ZERO)
GPU_EMULATED_ROUNDED_FMA(float, __fmaf_ru, UP)
GPU_EMULATED_ROUNDED_FMA(float, __fmaf_rd, DOWN)
GPU_EMULATED_ROUNDED_FMA(double, __fma_rz, TOWARDS_ZERO)
GPU_EMULATED_ROUNDED_FMA(double, __fma_ru, UP)
GPU_EMULATED_ROUNDED_FMA(double, __fma_rd, DOWN)
#undef GPU_EMULATED_ROUNDED
#undef GPU_EMULATED_ROUNDED_FMA

GPU_EMULATED_INLINE float __fadd_rn(float a, float b) { return a + b; }
GPU_EMULATED_INLINE float __fsub_rn(float a, float b) { return a - b; }
GPU_EMULATED_INLINE float __fmul_rn(float a, float b) { return a * b; }
GPU_EMULATED_INLINE float __fdiv_rn(float a, float b) { return a / b; }
GPU_EMULATED_INLINE float __frcp_rn(float a) { return 1.0f / a; }
GPU_EMULATED_INLINE float __fsqrt_rn(float a) { return __builtin_sqrtf(a); }
GPU_EMULATED_INLINE float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
// Twice rounded, and yet the nearest: no reciprocal square root of a float lies that close to the middle of two floats.
GPU_EMULATED_INLINE float __frsqrt_rn(float a) { return (float)(1.0 / __builtin_sqrt((double)a)); }
GPU_EMULATED_INLINE double __dadd_rn(double a, double b) { return a + b; }
GPU_EMULATED_INLINE double __dsub_rn(double a, double b) { return a - b; }
GPU_EMULATED_INLINE double __dmul_rn(double a, double b) { return a * b; }
GPU_EMULATED_INLINE double __ddiv_rn(double a, double b) { return a / b; }
GPU_EMULATED_INLINE double __drcp_rn(double a) { return 1.0 / a; }
GPU_EMULATED_INLINE double __dsqrt_rn(double a) { return __builtin_sqrt(a); }
GPU_EMULATED_INLINE double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
