// The functions of half and bfloat16 numbers, for one of the two types at a time.
#pragma once

// Functions whose name says the type; `word` is half or bfloat16.
#define GPU_EMULATED_SMALL_NAMED(T, T2, Raw, word)                                                                           \
    GPU_EMULATED_INLINE T __ushort_as_##word(unsigned short bits) { return T(Raw{bits}); }                                   \
    GPU_EMULATED_INLINE T __short_as_##word(short bits) { return T(Raw{(unsigned short)bits}); }                             \
    GPU_EMULATED_INLINE unsigned short __##word##_as_ushort(T a) { return a.bits; }                                          \
    GPU_EMULATED_INLINE short __##word##_as_short(T a) { return (short)a.bits; }                                             \
    GPU_EMULATED_INLINE T __float2##word(float x) { return T(x); }                                                           \
    GPU_EMULATED_INLINE T __double2##word(double x) { return T(x); }                                                         \
    GPU_EMULATED_INLINE float __##word##2float(T a) { return (float)a; }                                                     \
    GPU_EMULATED_INLINE T2 make_##word##2(T x, T y) { return T2(x, y); }                                                     \
    GPU_EMULATED_INLINE T2 __halves2##word##2(T x, T y) { return T2(x, y); }                                                 \
    GPU_EMULATED_INLINE T2 __##word##2##word##2(T a) { return T2(a, a); }                                                    \
    GPU_EMULATED_INLINE T2 __float2##word##2_rn(float x) { return T2(T(x), T(x)); }                                          \
    GPU_EMULATED_INLINE T2 __floats2##word##2_rn(float x, float y) { return T2(T(x), T(y)); }                                \
    GPU_EMULATED_INLINE T2 __float22##word##2_rn(float2 a) { return T2(T(a.x), T(a.y)); }                                    \
    GPU_EMULATED_INLINE float2 __##word##22float2(T2 a) { return {(float)a.x, (float)a.y}; }                                 \
    GPU_EMULATED_INLINE T __low2##word(T2 a) { return a.x; }                                                                 \
    GPU_EMULATED_INLINE T __high2##word(T2 a) { return a.y; }                                                                \
    GPU_EMULATED_INLINE T2 __low2##word##2(T2 a) { return T2(a.x, a.x); }                                                    \
    GPU_EMULATED_INLINE T2 __high2##word##2(T2 a) { return T2(a.y, a.y); }                                                   \
    GPU_EMULATED_INLINE T2 __lows2##word##2(T2 a, T2 b) { return T2(a.x, b.x); }                                             \
    GPU_EMULATED_INLINE T2 __highs2##word##2(T2 a, T2 b) { return T2(a.y, b.y); }                                            \
    GPU_EMULATED_SMALL_ROUNDED(T, Raw, word, rn, Nearest)                                                                    \
    GPU_EMULATED_SMALL_ROUNDED(T, Raw, word, rz, Zero)                                                                       \
    GPU_EMULATED_SMALL_ROUNDED(T, Raw, word, ru, Up)                                                                         \
    GPU_EMULATED_SMALL_ROUNDED(T, Raw, word, rd, Down)
#define GPU_EMULATED_SMALL_ROUNDED(T, Raw, word, suffix, toward)                                                             \
    GPU_EMULATED_INLINE T __float2##word##_##suffix(float x) {                                                               \
        return T(Raw{T::Format::encode<gpu_emulated::Toward::toward>((double)x)});                                           \
    }                                                                                                                        \
    GPU_EMULATED_SMALL_CAST(T, Raw, word, short, short, suffix, toward)                                                      \
    GPU_EMULATED_SMALL_CAST(T, Raw, word, unsigned short, ushort, suffix, toward)                                            \
    GPU_EMULATED_SMALL_CAST(T, Raw, word, int, int, suffix, toward)                                                          \
    GPU_EMULATED_SMALL_CAST(T, Raw, word, unsigned, uint, suffix, toward)                                                    \
    GPU_EMULATED_SMALL_CAST(T, Raw, word, long long, ll, suffix, toward)                                                     \
    GPU_EMULATED_SMALL_CAST(T, Raw, word, unsigned long long, ull, suffix, toward)
#define GPU_EMULATED_SMALL_CAST(T, Raw, word, I, integer, suffix, toward)                                                    \
    GPU_EMULATED_INLINE I __##word##2##integer##_##suffix(T a) {                                                             \
        return gpu_emulated::to_integer<I, gpu_emulated::Toward::toward>((float)a);                                          \
    }                                                                                                                        \
    GPU_EMULATED_INLINE T __##integer##2##word##_##suffix(I x) {                                                             \
        return T(Raw{T::Format::encode<gpu_emulated::Toward::toward>(gpu_emulated::to_odd(x))});                             \
    }

// Functions of one name for both types, on one number and on two.
#define GPU_EMULATED_SMALL_ARITHMETIC(T, T2)                                                                                 \
    GPU_EMULATED_INLINE float __low2float(T2 a) { return (float)a.x; }                                                       \
    GPU_EMULATED_INLINE float __high2float(T2 a) { return (float)a.y; }                                                      \
    GPU_EMULATED_INLINE T2 __lowhigh2highlow(T2 a) { return T2(a.y, a.x); }                                                  \
    GPU_EMULATED_INLINE T __hneg(T a) { return -a; }                                                                         \
    GPU_EMULATED_INLINE T2 __hneg2(T2 a) { return -a; }                                                                      \
    GPU_EMULATED_INLINE T2 __habs2(T2 a) { return T2(__habs(a.x), __habs(a.y)); }                                            \
    GPU_EMULATED_SMALL_OPERATION(T, T2, __hadd, +)                                                                           \
    GPU_EMULATED_SMALL_OPERATION(T, T2, __hsub, -)                                                                           \
    GPU_EMULATED_SMALL_OPERATION(T, T2, __hmul, *)                                                                           \
    GPU_EMULATED_INLINE T __hdiv(T a, T b) { return a / b; }                                                                 \
    GPU_EMULATED_INLINE T2 __h2div(T2 a, T2 b) { return a / b; }                                                             \
    GPU_EMULATED_INLINE T __hfma_sat(T a, T b, T c) { return gpu_emulated::saturate(__hfma(a, b, c)); }                      \
    GPU_EMULATED_INLINE T __hfma_relu(T a, T b, T c) { return gpu_emulated::at_least_zero(__hfma(a, b, c)); }                \
    GPU_EMULATED_INLINE T2 __hfma2(T2 a, T2 b, T2 c) { return T2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)); }            \
    GPU_EMULATED_INLINE T2 __hfma2_sat(T2 a, T2 b, T2 c) {                                                                   \
        return T2(__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y));                                                     \
    }                                                                                                                        \
    GPU_EMULATED_INLINE T2 __hfma2_relu(T2 a, T2 b, T2 c) {                                                                  \
        return T2(__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y));                                                   \
    }                                                                                                                        \
    GPU_EMULATED_SMALL_EXTREME(T, T2, __hmin, false, false)                                                                  \
    GPU_EMULATED_SMALL_EXTREME(T, T2, __hmax, true, false)                                                                   \
    GPU_EMULATED_INLINE T __hmin_nan(T a, T b) { return gpu_emulated::extreme<T, false, true>(a, b); }                       \
    GPU_EMULATED_INLINE T __hmax_nan(T a, T b) { return gpu_emulated::extreme<T, true, true>(a, b); }                        \
    GPU_EMULATED_INLINE T2 __hmin2_nan(T2 a, T2 b) { return T2(__hmin_nan(a.x, b.x), __hmin_nan(a.y, b.y)); }                \
    GPU_EMULATED_INLINE T2 __hmax2_nan(T2 a, T2 b) { return T2(__hmax_nan(a.x, b.x), __hmax_nan(a.y, b.y)); }                \
    GPU_EMULATED_INLINE bool __hisnan(T a) { return (a.bits & 0x7fffu) > T::Format::INFINITE; }                              \
    GPU_EMULATED_INLINE T2 __hisnan2(T2 a) { return T2(T((float)__hisnan(a.x)), T((float)__hisnan(a.y))); }                  \
    GPU_EMULATED_INLINE int __hisinf(T a) {                                                                                  \
        return (a.bits & 0x7fffu) != T::Format::INFINITE ? 0 : a.bits >> 15 ? -1 : 1;                                        \
    }                                                                                                                        \
    GPU_EMULATED_SMALL_COMPARE(T, T2, eq, a == b)                                                                            \
    GPU_EMULATED_SMALL_COMPARE(T, T2, ne, a < b || a > b)                                                                    \
    GPU_EMULATED_SMALL_COMPARE(T, T2, lt, a < b)                                                                             \
    GPU_EMULATED_SMALL_COMPARE(T, T2, le, a <= b)                                                                            \
    GPU_EMULATED_SMALL_COMPARE(T, T2, gt, a > b)                                                                             \
    GPU_EMULATED_SMALL_COMPARE(T, T2, ge, a >= b)                                                                            \
    GPU_EMULATED_SMALL_COMPARE(T, T2, equ, !(a < b || a > b))                                                                \
    GPU_EMULATED_SMALL_COMPARE(T, T2, neu, a != b)                                                                           \
    GPU_EMULATED_SMALL_COMPARE(T, T2, ltu, !(a >= b))                                                                        \
    GPU_EMULATED_SMALL_COMPARE(T, T2, leu, !(a > b))                                                                         \
    GPU_EMULATED_SMALL_COMPARE(T, T2, gtu, !(a <= b))                                                                        \
    GPU_EMULATED_SMALL_COMPARE(T, T2, geu, !(a < b))
#define GPU_EMULATED_SMALL_OPERATION(T, T2, name, op)                                                                        \
    GPU_EMULATED_INLINE T name(T a, T b) { return a op b; }                                                                  \
    GPU_EMULATED_INLINE T name##_rn(T a, T b) { return a op b; }                                                             \
    GPU_EMULATED_INLINE T name##_sat(T a, T b) { return gpu_emulated::saturate(a op b); }                                    \
    GPU_EMULATED_INLINE T2 name##2(T2 a, T2 b) { return a op b; }                                                            \
    GPU_EMULATED_INLINE T2 name##2_rn(T2 a, T2 b) { return a op b; }                                                         \
    GPU_EMULATED_INLINE T2 name##2_sat(T2 a, T2 b) { return T2(name##_sat(a.x, b.x), name##_sat(a.y, b.y)); }
#define GPU_EMULATED_SMALL_EXTREME(T, T2, name, greater, wins)                                                               \
    GPU_EMULATED_INLINE T name(T a, T b) { return gpu_emulated::extreme<T, greater, wins>(a, b); }                           \
    GPU_EMULATED_INLINE T2 name##2(T2 a, T2 b) { return T2(name(a.x, b.x), name(a.y, b.y)); }
#define GPU_EMULATED_SMALL_COMPARE(T, T2, name, expression)                                                                  \
    GPU_EMULATED_INLINE bool __h##name(T small_a, T small_b) {                                                               \
        float a = (float)small_a, b = (float)small_b;                                                                        \
        return expression;                                                                                                   \
    }                                                                                                                        \
    GPU_EMULATED_INLINE T2 __h##name##2(T2 a, T2 b) {                                                                        \
        return T2(T((float)__h##name(a.x, b.x)), T((float)__h##name(a.y, b.y)));                                             \
    }                                                                                                                        \
    GPU_EMULATED_INLINE bool __hb##name##2(T2 a, T2 b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); }

#define GPU_EMULATED_SMALL_MATH(T, T2)                                                                                       \
    GPU_EMULATED_SMALL_FUNCTION(T, T2, ceil, __builtin_ceil(x))                                                              \
    GPU_EMULATED_SMALL_FUNCTION(T, T2, floor, __builtin_floor(x))                                                            \
    GPU_EMULATED_SMALL_FUNCTION(T, T2, trunc, __builtin_trunc(x))                                                            \
    GPU_EMULATED_SMALL_FUNCTION(T, T2, rint, __builtin_rint(x))                                                              \
    GPU_EMULATED_SMALL_FUNCTION(T, T2, sqrt, __builtin_sqrt(x))                                                              \
    GPU_EMULATED_SMALL_FUNCTION(T, T2, rsqrt, 1 / __builtin_sqrt(x))                                                         \
    GPU_EMULATED_SMALL_FUNCTION(T, T2, rcp, 1 / x)                                                                           \
    GPU_EMULATED_SMALL_FUNCTION(T, T2, exp, __builtin_exp(x))                                                                \
    GPU_EMULATED_SMALL_FUNCTION(T, T2, exp2, __builtin_exp2(x))                                                              \
    GPU_EMULATED_SMALL_FUNCTION(T, T2, exp10, __builtin_exp10(x))                                                            \
    GPU_EMULATED_SMALL_FUNCTION(T, T2, log, __builtin_log(x))                                                                \
    GPU_EMULATED_SMALL_FUNCTION(T, T2, log2, __builtin_log2(x))                                                              \
    GPU_EMULATED_SMALL_FUNCTION(T, T2, log10, __builtin_log10(x))                                                            \
    GPU_EMULATED_SMALL_FUNCTION(T, T2, sin, __builtin_sin(x))                                                                \
    GPU_EMULATED_SMALL_FUNCTION(T, T2, cos, __builtin_cos(x))                                                                \
    GPU_EMULATED_SMALL_FUNCTION(T, T2, tanh, __builtin_tanh(x))
#define GPU_EMULATED_SMALL_FUNCTION(T, T2, name, expression)                                                                 \
    GPU_EMULATED_INLINE T h##name(T a) {                                                                                     \
        double x = (double)(float)a;                                                                                         \
        T result;                                                                                                            \
        result.bits = T::Format::encode(expression);                                                                         \
        return result;                                                                                                       \
    }                                                                                                                        \
    GPU_EMULATED_INLINE T2 h2##name(T2 a) { return T2(h##name(a.x), h##name(a.y)); }

// Shuffles, and atomic addition of one number and of two.
#define GPU_EMULATED_SMALL_THREADS(T, T2)                                                                                    \
    GPU_EMULATED_SHUFFLES(T)                                                                                                 \
    GPU_EMULATED_SHUFFLES(T2)                                                                                                \
    GPU_EMULATED_SMALL_ATOMIC(T, atomicAdd)                                                                                  \
    GPU_EMULATED_SMALL_ATOMIC(T, atomicAdd_block)                                                                            \
    GPU_EMULATED_SMALL_ATOMIC(T, atomicAdd_system)                                                                           \
    GPU_EMULATED_SMALL_ATOMIC(T2, atomicAdd)                                                                                 \
    GPU_EMULATED_SMALL_ATOMIC(T2, atomicAdd_block)                                                                           \
    GPU_EMULATED_SMALL_ATOMIC(T2, atomicAdd_system)
#define GPU_EMULATED_SMALL_ATOMIC(T, name)                                                                                   \
    GPU_EMULATED_INLINE T name(T *address, T value, GPU_EMULATED_PLACE) {                                                    \
        return gpu_emulated::update<gpu_emulated::Update::Add>(address, value, file, line);                                  \
    }
