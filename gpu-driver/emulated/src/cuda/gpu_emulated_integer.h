// Integer intrinsics, minimum, maximum and absolute value.
#pragma once

GPU_EMULATED_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
GPU_EMULATED_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
// The host's instructions leave the result for 0 open; the device's is the width.
GPU_EMULATED_INLINE int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned)x); }
GPU_EMULATED_INLINE int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
GPU_EMULATED_INLINE int __ffs(int x) { return __builtin_ffs(x); }
GPU_EMULATED_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }

GPU_EMULATED_INLINE unsigned __brev(unsigned x) {
    x = ((x >> 1) & 0x55555555u) | ((x & 0x55555555u) << 1);
    x = ((x >> 2) & 0x33333333u) | ((x & 0x33333333u) << 2);
    x = ((x >> 4) & 0x0f0f0f0fu) | ((x & 0x0f0f0f0fu) << 4);
    return __builtin_bswap32(x);
}
GPU_EMULATED_INLINE unsigned long long __brevll(unsigned long long x) {
    return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}

// Four bytes out of the eight of y:x, one per hexadecimal digit of the selector.
GPU_EMULATED_INLINE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    unsigned long long bytes = (unsigned long long)y << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; i++) {
        unsigned from = selector >> 4 * i & 7;
        result |= (unsigned)(bytes >> 8 * from & 0xff) << 8 * i;
    }
    return result;
}

// The upper or lower word of high:low after a shift by 0 to 31; the forms with c stop at 32 instead of wrapping around.
GPU_EMULATED_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((unsigned long long)high << 32 | low) << (shift & 31) >> 32);
}
GPU_EMULATED_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> (shift & 31));
}
GPU_EMULATED_INLINE unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((unsigned long long)high << 32 | low) << (shift < 32 ? shift : 32) >> 32);
}
GPU_EMULATED_INLINE unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> (shift < 32 ? shift : 32));
}

GPU_EMULATED_INLINE int __mulhi(int x, int y) { return (int)((long long)x * y >> 32); }
GPU_EMULATED_INLINE unsigned __umulhi(unsigned x, unsigned y) { return (unsigned)((unsigned long long)x * y >> 32); }
// __extension__: 128-bit integers are no part of the standard.
__extension__ typedef __int128 gpu_emulated_int128;
__extension__ typedef unsigned __int128 gpu_emulated_uint128;
GPU_EMULATED_INLINE long long __mul64hi(long long x, long long y) { return (long long)((gpu_emulated_int128)x * y >> 64); }
GPU_EMULATED_INLINE unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    return (unsigned long long)((gpu_emulated_uint128)x * y >> 64);
}
GPU_EMULATED_INLINE int __mul24(int x, int y) {
    return (int)((unsigned)((int)((unsigned)x << 8) >> 8) * (unsigned)((int)((unsigned)y << 8) >> 8));
}
GPU_EMULATED_INLINE unsigned __umul24(unsigned x, unsigned y) { return (x & 0xffffffu) * (y & 0xffffffu); }

GPU_EMULATED_INLINE unsigned __sad(int x, int y, unsigned z) {
    return z + (x < y ? (unsigned)y - (unsigned)x : (unsigned)x - (unsigned)y);
}
GPU_EMULATED_INLINE unsigned __usad(unsigned x, unsigned y, unsigned z) { return z + (x < y ? y - x : x - y); }
GPU_EMULATED_INLINE int __hadd(int x, int y) { return (int)(((long long)x + y) >> 1); }
GPU_EMULATED_INLINE int __rhadd(int x, int y) { return (int)(((long long)x + y + 1) >> 1); }
GPU_EMULATED_INLINE unsigned __uhadd(unsigned x, unsigned y) { return (unsigned)(((unsigned long long)x + y) >> 1); }
GPU_EMULATED_INLINE unsigned __urhadd(unsigned x, unsigned y) { return (unsigned)(((unsigned long long)x + y + 1) >> 1); }

// c plus the dot product of four bytes, or of two halves of `a` with two bytes of `b`.
GPU_EMULATED_INLINE int __dp4a(int a, int b, int c) {
    unsigned sum = (unsigned)c;
    for (int i = 0; i < 4; i++) sum += (unsigned)((int)(signed char)(a >> 8 * i) * (int)(signed char)(b >> 8 * i));
    return (int)sum;
}
GPU_EMULATED_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    for (int i = 0; i < 4; i++) c += (a >> 8 * i & 0xff) * (b >> 8 * i & 0xff);
    return c;
}
GPU_EMULATED_INLINE int __dp4a(char4 a, char4 b, int c) {
    return (int)((unsigned)c + (unsigned)(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w));
}
GPU_EMULATED_INLINE unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) {
    return c + unsigned(a.x) * b.x + unsigned(a.y) * b.y + unsigned(a.z) * b.z + unsigned(a.w) * b.w;
}
GPU_EMULATED_INLINE int __dp2a_lo(int a, int b, int c) {
    return (int)((unsigned)c + (unsigned)((short)a * (signed char)b + (short)(a >> 16) * (signed char)(b >> 8)));
}
GPU_EMULATED_INLINE int __dp2a_hi(int a, int b, int c) { return __dp2a_lo(a, b >> 16, c); }
GPU_EMULATED_INLINE unsigned __dp2a_lo(unsigned a, unsigned b, unsigned c) {
    return c + (a & 0xffff) * (b & 0xff) + (a >> 16) * (b >> 8 & 0xff);
}
GPU_EMULATED_INLINE unsigned __dp2a_hi(unsigned a, unsigned b, unsigned c) { return __dp2a_lo(a, b >> 16, c); }

extern "C" int abs(int) noexcept;
extern "C" long labs(long) noexcept;
extern "C" long long llabs(long long) noexcept;
GPU_EMULATED_INLINE long abs(long x) { return __builtin_labs(x); }
GPU_EMULATED_INLINE long long abs(long long x) { return __builtin_llabs(x); }
GPU_EMULATED_INLINE float abs(float x) { return __builtin_fabsf(x); }
GPU_EMULATED_INLINE double abs(double x) { return __builtin_fabs(x); }

// A pair of a signed and an unsigned number of one width is compared as unsigned, and so are the results.
#define GPU_EMULATED_MIN_MAX(R, A, B)                                                                                        \
    GPU_EMULATED_INLINE constexpr R min(A a, B b) { return (R)b < (R)a ? (R)b : (R)a; }                                      \
    GPU_EMULATED_INLINE constexpr R max(A a, B b) { return (R)a < (R)b ? (R)b : (R)a; }
#define GPU_EMULATED_MIN_MAX_OF_WIDTH(T)                                                                                     \
    GPU_EMULATED_MIN_MAX(T, T, T)                                                                                            \
    GPU_EMULATED_MIN_MAX(unsigned T, unsigned T, unsigned T)                                                                 \
    GPU_EMULATED_MIN_MAX(unsigned T, unsigned T, T)                                                                          \
    GPU_EMULATED_MIN_MAX(unsigned T, T, unsigned T)
GPU_EMULATED_MIN_MAX_OF_WIDTH(int)
GPU_EMULATED_MIN_MAX_OF_WIDTH(long)
GPU_EMULATED_MIN_MAX_OF_WIDTH(long long)
#undef GPU_EMULATED_MIN_MAX_OF_WIDTH
#undef GPU_EMULATED_MIN_MAX
