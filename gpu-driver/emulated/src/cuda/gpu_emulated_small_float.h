// Numbers of 16 bits: what cuda_fp16.h and cuda_bf16.h share. Each operation is computed in double and rounded once, to the
// nearest or to even; results that are no number are 0x7fff, as on the device.
#pragma once

namespace gpu_emulated {

// EXPONENT and FRACTION: bits of the two fields.
template <int EXPONENT, int FRACTION> struct Small {
    static constexpr unsigned INFINITE = ((1u << EXPONENT) - 1) << FRACTION;
    static constexpr int LOWEST = 2 - (1 << (EXPONENT - 1)); // the exponent of the smallest normal number

    template <Toward TOWARD = Toward::Nearest> GPU_EMULATED_QUIET static unsigned short encode(double x) {
        unsigned long long bits = bit_cast<unsigned long long>(x);
        unsigned sign = (unsigned)(bits >> 63) << 15;
        int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
        unsigned long long fraction = bits & ((1ull << 52) - 1);
        if (exponent == 1024) return (unsigned short)(fraction != 0 ? 0x7fff : sign | INFINITE);
        // Doubles below their own normal range differ from 0 only in the direction of rounding.
        unsigned long long digits = exponent == -1023 ? fraction : fraction | 1ull << 52;
        int shift = 52 - FRACTION + (exponent < LOWEST ? LOWEST - exponent : 0);
        if (shift > 54) shift = 54;
        unsigned long long kept = digits >> shift, rest = digits & ((1ull << shift) - 1), half = 1ull << (shift - 1);
        bool away = false;
        if constexpr (TOWARD == Toward::Nearest) away = rest > half || (rest == half && (kept & 1) != 0);
        if constexpr (TOWARD == Toward::Up) away = rest != 0 && sign == 0;
        if constexpr (TOWARD == Toward::Down) away = rest != 0 && sign != 0;
        // The leading digit adds one to the exponent's field, and so does a carry.
        unsigned long long result = kept + away + (exponent > LOWEST ? (unsigned long long)(exponent - LOWEST) << FRACTION : 0);
        if (result >= INFINITE) {
            constexpr Toward AWAY_IF_NEGATIVE = Toward::Down, AWAY_IF_POSITIVE = Toward::Up;
            bool infinite = TOWARD == Toward::Nearest || TOWARD == (sign ? AWAY_IF_NEGATIVE : AWAY_IF_POSITIVE);
            result = infinite ? INFINITE : INFINITE - 1;
        }
        return (unsigned short)(sign | result);
    }
    // From double itself, what is no number keeps its sign and leading digits.
    GPU_EMULATED_QUIET static unsigned short encode_double(double x) {
        if (x == x) return encode(x);
        unsigned long long bits = bit_cast<unsigned long long>(x);
        unsigned fraction = (unsigned)(bits >> (52 - FRACTION)) & ((1u << FRACTION) - 1);
        return (unsigned short)((unsigned)(bits >> 63) << 15 | INFINITE | 1u << (FRACTION - 1) | fraction);
    }
    GPU_EMULATED_QUIET static float decode(unsigned short bits) {
        unsigned sign = (unsigned)(bits >> 15) << 31, magnitude = bits & 0x7fffu;
        if (magnitude > INFINITE) return bit_cast<float>(0x7fffffffu);
        if (magnitude == INFINITE) return bit_cast<float>(sign | 0x7f800000u);
        // Subnormal numbers of 8 exponent bits are subnormal floats; fewer bits make them normal.
        if (EXPONENT == 8) return bit_cast<float>((unsigned)bits << 16);
        if (magnitude < 1u << FRACTION) {
            float value = (float)magnitude * bit_cast<float>((unsigned)(LOWEST - FRACTION + 127) << 23);
            return sign ? -value : value;
        }
        return bit_cast<float>(sign | ((magnitude << (23 - FRACTION)) + ((unsigned)(LOWEST - 1 + 127) << 23)));
    }
    // a b + c. The product is exact in double; the sum is rounded to odd, so that the second rounding sees whether anything
    // was lost.
    GPU_EMULATED_QUIET static unsigned short fused(float a, float b, float c) {
        double product = (double)a * (double)b, sum = product + (double)c;
        double part = sum - product, error = (product - (sum - part)) + ((double)c - part);
        long long bits = bit_cast<long long>(sum);
        if (error != 0 && error == error && !__builtin_isinf(sum) && (bits & 1) == 0) {
            bits += (error > 0) == (sum > 0) ? 1 : -1;
        }
        return encode(bit_cast<double>(bits));
    }
};

// The lesser and the greater of two; what is no number loses, or wins where WINS.
template <class T, bool GREATER, bool WINS> GPU_EMULATED_INLINE T extreme(T a, T b) {
    float x = (float)a, y = (float)b;
    if (x != x || y != y) return T(WINS || (x != x && y != y) ? __builtin_nanf("") : x != x ? y : x);
    return T(GREATER ? maximum(x, y) : minimum(x, y));
}
// Into [0, 1]; what is no number becomes 0.
template <class T> GPU_EMULATED_INLINE T saturate(T a) {
    float x = (float)a;
    return T(x > 0 ? (x < 1 ? x : 1.0f) : 0.0f);
}
template <class T> GPU_EMULATED_INLINE T at_least_zero(T a) {
    float x = (float)a;
    return x < 0 ? T(0.0f) : a;
}

} // namespace gpu_emulated

#define GPU_EMULATED_SMALL_INTEGERS(T)                                                                                       \
    GPU_EMULATED_SMALL_INTEGER(T, char)                                                                                      \
    GPU_EMULATED_SMALL_INTEGER(T, signed char)                                                                               \
    GPU_EMULATED_SMALL_INTEGER(T, unsigned char)                                                                             \
    GPU_EMULATED_SMALL_INTEGER(T, short)                                                                                     \
    GPU_EMULATED_SMALL_INTEGER(T, unsigned short)                                                                            \
    GPU_EMULATED_SMALL_INTEGER(T, int)                                                                                       \
    GPU_EMULATED_SMALL_INTEGER(T, unsigned)                                                                                  \
    GPU_EMULATED_SMALL_INTEGER(T, long)                                                                                      \
    GPU_EMULATED_SMALL_INTEGER(T, unsigned long)                                                                             \
    GPU_EMULATED_SMALL_INTEGER(T, long long)                                                                                 \
    GPU_EMULATED_SMALL_INTEGER(T, unsigned long long)
// An integer of up to 64 bits rounds to odd on its way through double; those that small numbers can tell apart are exact.
#define GPU_EMULATED_SMALL_INTEGER(T, I)                                                                                     \
    GPU_EMULATED_INLINE T(I x)    : bits(Format::encode(gpu_emulated::to_odd(x))) {}                                         \
    GPU_EMULATED_INLINE operator I() const {                                                                                 \
        return gpu_emulated::to_integer<I, gpu_emulated::Toward::Zero>(Format::decode(bits));                                \
    }

namespace gpu_emulated {

// An integer as a double, with the last digit set where digits were lost.
template <class I> GPU_EMULATED_INLINE double to_odd(I x) {
    double down = from_integer<double, Toward::Zero>(x);
    double up = from_integer<double, Toward::Up>(x), low = from_integer<double, Toward::Down>(x);
    return bit_cast<double>(bit_cast<unsigned long long>(down) | (up != low));
}

} // namespace gpu_emulated

// The scalar type with its conversions and operators.
#define GPU_EMULATED_SMALL_TYPE(T, Raw, EXPONENT, FRACTION)                                                                  \
    struct Raw {                                                                                                             \
        unsigned short x;                                                                                                    \
    };                                                                                                                       \
    struct T {                                                                                                               \
        using Format = gpu_emulated::Small<EXPONENT, FRACTION>;                                                              \
        unsigned short bits;                                                                                                 \
        T() = default;                                                                                                       \
        GPU_EMULATED_INLINE constexpr T(Raw raw) : bits(raw.x) {}                                                            \
        GPU_EMULATED_INLINE T(float x) : bits(Format::encode((double)x)) {}                                                  \
        GPU_EMULATED_INLINE T(double x) : bits(Format::encode_double(x)) {}                                                  \
        GPU_EMULATED_SMALL_INTEGERS(T)                                                                                       \
        GPU_EMULATED_INLINE operator float() const { return Format::decode(bits); }                                          \
        GPU_EMULATED_INLINE constexpr operator Raw() const { return {bits}; }                                                \
        GPU_EMULATED_INLINE constexpr operator bool() const { return (bits & 0x7fff) != 0; }                                 \
    };                                                                                                                       \
    GPU_EMULATED_INLINE T operator+(T a, T b) { return T(Raw{T::Format::encode((double)(float)a + (double)(float)b)}); }     \
    GPU_EMULATED_INLINE T operator-(T a, T b) { return T(Raw{T::Format::encode((double)(float)a - (double)(float)b)}); }     \
    GPU_EMULATED_INLINE T operator*(T a, T b) { return T(Raw{T::Format::encode((double)(float)a * (double)(float)b)}); }     \
    GPU_EMULATED_INLINE T operator/(T a, T b) { return T(Raw{T::Format::encode((double)(float)a / (double)(float)b)}); }     \
    GPU_EMULATED_INLINE T operator+(T a) { return a; }                                                                       \
    GPU_EMULATED_INLINE T operator-(T a) {                                                                                   \
        bool number = (a.bits & 0x7fffu) <= T::Format::INFINITE;                                                             \
        return T(Raw{(unsigned short)(number ? a.bits ^ 0x8000u : 0x7fffu)});                                                \
    }                                                                                                                        \
    GPU_EMULATED_INLINE T __habs(T a) {                                                                                      \
        bool number = (a.bits & 0x7fffu) <= T::Format::INFINITE;                                                             \
        return T(Raw{(unsigned short)(number ? a.bits & 0x7fffu : 0x7fffu)});                                                \
    }                                                                                                                        \
    GPU_EMULATED_INLINE T __hfma(T a, T b, T c) { return T(Raw{T::Format::fused((float)a, (float)b, (float)c)}); }           \
    GPU_EMULATED_INLINE T &operator+=(T &a, T b) { return a = a + b; }                                                       \
    GPU_EMULATED_INLINE T &operator-=(T &a, T b) { return a = a - b; }                                                       \
    GPU_EMULATED_INLINE T &operator*=(T &a, T b) { return a = a * b; }                                                       \
    GPU_EMULATED_INLINE T &operator/=(T &a, T b) { return a = a / b; }                                                       \
    GPU_EMULATED_INLINE T &operator++(T &a) { return a = a + T(1.0f); }                                                      \
    GPU_EMULATED_INLINE T &operator--(T &a) { return a = a - T(1.0f); }                                                      \
    GPU_EMULATED_INLINE T operator++(T &a, int) {                                                                            \
        T old = a;                                                                                                           \
        ++a;                                                                                                                 \
        return old;                                                                                                          \
    }                                                                                                                        \
    GPU_EMULATED_INLINE T operator--(T &a, int) {                                                                            \
        T old = a;                                                                                                           \
        --a;                                                                                                                 \
        return old;                                                                                                          \
    }                                                                                                                        \
    GPU_EMULATED_INLINE bool operator==(T a, T b) { return (float)a == (float)b; }                                           \
    GPU_EMULATED_INLINE bool operator!=(T a, T b) { return (float)a != (float)b; }                                           \
    GPU_EMULATED_INLINE bool operator<(T a, T b) { return (float)a < (float)b; }                                             \
    GPU_EMULATED_INLINE bool operator>(T a, T b) { return (float)a > (float)b; }                                             \
    GPU_EMULATED_INLINE bool operator<=(T a, T b) { return (float)a <= (float)b; }                                           \
    GPU_EMULATED_INLINE bool operator>=(T a, T b) { return (float)a >= (float)b; }

// The vector of two.
#define GPU_EMULATED_SMALL_PAIR(T, T2)                                                                                       \
    struct alignas(4) T2 {                                                                                                   \
        T x, y;                                                                                                              \
        T2() = default;                                                                                                      \
        GPU_EMULATED_INLINE T2(T x, T y) : x(x), y(y) {}                                                                     \
    };                                                                                                                       \
    GPU_EMULATED_INLINE T2 operator+(T2 a, T2 b) { return T2(a.x + b.x, a.y + b.y); }                                        \
    GPU_EMULATED_INLINE T2 operator-(T2 a, T2 b) { return T2(a.x - b.x, a.y - b.y); }                                        \
    GPU_EMULATED_INLINE T2 operator*(T2 a, T2 b) { return T2(a.x * b.x, a.y * b.y); }                                        \
    GPU_EMULATED_INLINE T2 operator/(T2 a, T2 b) { return T2(a.x / b.x, a.y / b.y); }                                        \
    GPU_EMULATED_INLINE T2 operator+(T2 a) { return a; }                                                                     \
    GPU_EMULATED_INLINE T2 operator-(T2 a) { return T2(-a.x, -a.y); }                                                        \
    GPU_EMULATED_INLINE T2 &operator+=(T2 &a, T2 b) { return a = a + b; }                                                    \
    GPU_EMULATED_INLINE T2 &operator-=(T2 &a, T2 b) { return a = a - b; }                                                    \
    GPU_EMULATED_INLINE T2 &operator*=(T2 &a, T2 b) { return a = a * b; }                                                    \
    GPU_EMULATED_INLINE T2 &operator/=(T2 &a, T2 b) { return a = a / b; }                                                    \
    GPU_EMULATED_INLINE bool operator==(T2 a, T2 b) { return a.x == b.x && a.y == b.y; }                                     \
    GPU_EMULATED_INLINE bool operator!=(T2 a, T2 b) { return a.x != b.x && a.y != b.y; }                                     \
    GPU_EMULATED_INLINE bool operator<(T2 a, T2 b) { return a.x < b.x && a.y < b.y; }                                        \
    GPU_EMULATED_INLINE bool operator>(T2 a, T2 b) { return a.x > b.x && a.y > b.y; }                                        \
    GPU_EMULATED_INLINE bool operator<=(T2 a, T2 b) { return a.x <= b.x && a.y <= b.y; }                                     \
    GPU_EMULATED_INLINE bool operator>=(T2 a, T2 b) { return a.x >= b.x && a.y >= b.y; }
