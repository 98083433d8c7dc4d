// Conversions between numbers with a chosen rounding, and the bits of floating-point numbers.
//
// To integers they saturate. What is not a number becomes 0 when a float goes to 32 bits or fewer, and otherwise the integer
// with only its top bit set, as the PTX manual says of `cvt` and as an H200 does.
#pragma once

namespace gpu_emulated {

enum class Toward { Nearest, Zero, Up, Down };

template <Toward TOWARD, class F> GPU_EMULATED_INLINE F to_whole(F x) {
    if constexpr (sizeof(F) == 4) {
        if constexpr (TOWARD == Toward::Nearest) return __builtin_rintf(x);
        if constexpr (TOWARD == Toward::Zero) return __builtin_truncf(x);
        if constexpr (TOWARD == Toward::Up) return __builtin_ceilf(x);
        if constexpr (TOWARD == Toward::Down) return __builtin_floorf(x);
    } else {
        if constexpr (TOWARD == Toward::Nearest) return __builtin_rint(x);
        if constexpr (TOWARD == Toward::Zero) return __builtin_trunc(x);
        if constexpr (TOWARD == Toward::Up) return __builtin_ceil(x);
        if constexpr (TOWARD == Toward::Down) return __builtin_floor(x);
    }
}

template <class I, Toward TOWARD, class F> GPU_EMULATED_QUIET I to_integer(F x) {
    constexpr int BITS = 8 * sizeof(I);
    constexpr bool SIGNED = I(-1) < I(0);
    constexpr I TOP = I(1ull << (BITS - 1));
    if (x != x) return sizeof(F) == 4 && BITS <= 32 ? I(0) : TOP;
    F whole = to_whole<TOWARD>(x);
    // Both bounds are powers of two, so they are exact as F.
    constexpr F ABOVE = F(1ull << (BITS - 1)) * (SIGNED ? 1 : 2), LOWEST = SIGNED ? -ABOVE : F(0);
    if (whole >= ABOVE) return SIGNED ? I(~TOP) : I(-1);
    if (whole < LOWEST) return SIGNED ? TOP : I(0);
    return I(whole);
}

// A sign and a magnitude as a floating-point number of at most 64 bits.
template <class F, Toward TOWARD> GPU_EMULATED_QUIET F from_magnitude(bool negative, unsigned long long magnitude) {
    constexpr int DIGITS = sizeof(F) == 4 ? 24 : 53;
    int length = magnitude == 0 ? 0 : 64 - __builtin_clzll(magnitude);
    if (length > DIGITS) {
        int dropped = length - DIGITS;
        unsigned long long rest = magnitude & ((1ull << dropped) - 1), half = 1ull << (dropped - 1);
        magnitude >>= dropped;
        bool away = false;
        if constexpr (TOWARD == Toward::Nearest) away = rest > half || (rest == half && (magnitude & 1) != 0);
        if constexpr (TOWARD == Toward::Up) away = rest != 0 && !negative;
        if constexpr (TOWARD == Toward::Down) away = rest != 0 && negative;
        magnitude = (magnitude + away) << dropped;
        // Only rounding up from the longest magnitudes loses the top bit.
        if (magnitude == 0) return (negative ? F(-1) : F(1)) * F(18446744073709551616.0);
    }
    F result = F(magnitude);
    return negative ? -result : result;
}
template <class F, Toward TOWARD, class I> GPU_EMULATED_INLINE F from_integer(I x) {
    bool negative = false;
    if constexpr (I(-1) < I(0)) negative = x < 0;
    return from_magnitude<F, TOWARD>(negative, negative ? 0ull - (unsigned long long)x : (unsigned long long)x);
}

// The nearest float, moved one step where it lies on the wrong side. Neighbours of one sign have neighbouring bits.
template <Toward TOWARD> GPU_EMULATED_QUIET float to_float(double x) {
    float nearest = (float)x;
    if (TOWARD == Toward::Nearest || (double)nearest == x || x != x) return nearest;
    bool is_above = (double)nearest > x;
    bool must_fall = TOWARD == Toward::Down || (TOWARD == Toward::Zero && x > 0);
    if (is_above != must_fall) return nearest;
    unsigned bits = bit_cast<unsigned>(nearest);
    if (nearest == 0) return bit_cast<float>(must_fall ? 0x80000001u : 0x00000001u);
    return bit_cast<float>((bits >> 31 != 0) == must_fall ? bits + 1 : bits - 1);
}

} // namespace gpu_emulated

#define GPU_EMULATED_CASTS(F, from, I, to, suffix, toward)                                                                   \
    GPU_EMULATED_INLINE I __##from##2##to##_##suffix(F x) {                                                                  \
        return gpu_emulated::to_integer<I, gpu_emulated::Toward::toward>(x);                                                 \
    }                                                                                                                        \
    GPU_EMULATED_INLINE F __##to##2##from##_##suffix(I x) {                                                                  \
        return gpu_emulated::from_integer<F, gpu_emulated::Toward::toward>(x);                                               \
    }
#define GPU_EMULATED_CASTS_OF(F, from, suffix, toward)                                                                       \
    GPU_EMULATED_CASTS(F, from, int, int, suffix, toward)                                                                    \
    GPU_EMULATED_CASTS(F, from, unsigned, uint, suffix, toward)                                                              \
    GPU_EMULATED_CASTS(F, from, long long, ll, suffix, toward)                                                               \
    GPU_EMULATED_CASTS(F, from, unsigned long long, ull, suffix, toward)
GPU_EMULATED_CASTS_OF(float, float, rn, Nearest)
GPU_EMULATED_CASTS_OF(float, float, rz, Zero)
GPU_EMULATED_CASTS_OF(float, float, ru, Up)
GPU_EMULATED_CASTS_OF(float, float, rd, Down)
GPU_EMULATED_CASTS_OF(double, double, rn, Nearest)
GPU_EMULATED_CASTS_OF(double, double, rz, Zero)
GPU_EMULATED_CASTS_OF(double, double, ru, Up)
GPU_EMULATED_CASTS_OF(double, double, rd, Down)
#undef GPU_EMULATED_CASTS_OF
#undef GPU_EMULATED_CASTS

GPU_EMULATED_INLINE float __double2float_rn(double x) { return (float)x; }
GPU_EMULATED_INLINE float __double2float_rz(double x) { return gpu_emulated::to_float<gpu_emulated::Toward::Zero>(x); }
GPU_EMULATED_INLINE float __double2float_ru(double x) { return gpu_emulated::to_float<gpu_emulated::Toward::Up>(x); }
GPU_EMULATED_INLINE float __double2float_rd(double x) { return gpu_emulated::to_float<gpu_emulated::Toward::Down>(x); }

GPU_EMULATED_INLINE int __float_as_int(float x) { return gpu_emulated::bit_cast<int>(x); }
GPU_EMULATED_INLINE unsigned __float_as_uint(float x) { return gpu_emulated::bit_cast<unsigned>(x); }
GPU_EMULATED_INLINE float __int_as_float(int x) { return gpu_emulated::bit_cast<float>(x); }
GPU_EMULATED_INLINE float __uint_as_float(unsigned x) { return gpu_emulated::bit_cast<float>(x); }
GPU_EMULATED_INLINE long long __double_as_longlong(double x) { return gpu_emulated::bit_cast<long long>(x); }
GPU_EMULATED_INLINE double __longlong_as_double(long long x) { return gpu_emulated::bit_cast<double>(x); }
GPU_EMULATED_INLINE int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
GPU_EMULATED_INLINE int __double2loint(double x) { return (int)__double_as_longlong(x); }
GPU_EMULATED_INLINE double __hiloint2double(int high, int low) {
    return gpu_emulated::bit_cast<double>((unsigned long long)(unsigned)high << 32 | (unsigned)low);
}
