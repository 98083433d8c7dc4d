// Digests of what functions return for random arguments, one per group. driver.cpp holds those that an H200 gives, compiled by
// nvcc 13.0; the host's must be the same. One thread; out[0..COUNT).
#include "cuda_fp16.h"
#include "cuda_bf16.h"

constexpr int COUNT = 24, ROUNDS = 20000;

struct Digest {
    unsigned long long state = 1469598103934665603ull;
    __device__ void add(unsigned long long x) { state = (state ^ x) * 1099511628211ull; }
    // Not-a-numbers count as one, because their bits depend on the order of operands.
    __device__ void add(float x) { add(x != x ? 1ull : (unsigned long long)__float_as_uint(x)); }
    __device__ void add(double x) { add(x != x ? 1ull : (unsigned long long)__double_as_longlong(x)); }
    __device__ void add(__half x) { add((unsigned long long)__half_as_ushort(x)); }
    __device__ void add(__nv_bfloat16 x) { add((unsigned long long)__bfloat16_as_ushort(x)); }
};

struct Random {
    unsigned long long state;
    __device__ unsigned long long bits() {
        unsigned long long z = state += 0x9e3779b97f4a7c15ull;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        return z ^ (z >> 31);
    }
    // Any bits, or an exponent near that of 1; then operands of one operation matter to each other.
    __device__ float single() {
        unsigned long long r = bits();
        unsigned x = (unsigned)r;
        return __uint_as_float(r >> 62 ? (x & 0x807fffffu) | (unsigned)(115 + (r >> 40) % 50) << 23 : x);
    }
    __device__ double twice() {
        unsigned long long r = bits();
        unsigned long long x = bits();
        return __longlong_as_double((long long)(r >> 62 ? (x & 0x800fffffffffffffull) | (1000 + r % 110) << 52 : x));
    }
    __device__ __half half() { return __ushort_as_half((unsigned short)bits()); }
    __device__ __nv_bfloat16 brain() {
        unsigned long long r = bits();
        unsigned x = (unsigned)r & 0xffff;
        return __ushort_as_bfloat16((unsigned short)(r >> 62 ? (x & 0x807f) | (unsigned)(117 + (r >> 40) % 20) << 7 : x));
    }
};

#define MODES(name, ...) d.add(name##z(__VA_ARGS__)), d.add(name##u(__VA_ARGS__)), d.add(name##d(__VA_ARGS__)), d.add(name##n(__VA_ARGS__))
#define U64(...) d.add((unsigned long long)(__VA_ARGS__))
#define TO_INTEGERS(from, x)                                                                                                 \
    U64(__##from##2int_rz(x)), U64(__##from##2uint_rz(x)), U64(__##from##2ll_rz(x)), U64(__##from##2ull_rz(x));              \
    U64(__##from##2int_rn(x)), U64(__##from##2uint_ru(x)), U64(__##from##2ll_rd(x)), U64(__##from##2ull_rn(x))
#define ARITHMETIC(T, a, b, c)                                                                                               \
    d.add(__hadd(a, b)), d.add(__hsub(a, b)), d.add(__hmul(a, b)), d.add(__hneg(a)), d.add(__habs(b));                       \
    d.add(__hadd_sat(a, b)), d.add(__hmul_sat(a, b)), d.add(__hfma_sat(a, b, c)), d.add(__hfma_relu(a, b, c))
#define COMPARISONS(a, b)                                                                                                    \
    U64(__heq(a, b) | __hne(a, b) << 1 | __hlt(a, b) << 2 | __hle(a, b) << 3 | __hgt(a, b) << 4 | __hge(a, b) << 5 |         \
        __hequ(a, b) << 6 | __hneu(a, b) << 7 | __hltu(a, b) << 8 | __hleu(a, b) << 9 | __hgtu(a, b) << 10 |                 \
        __hgeu(a, b) << 11 | __hisnan(a) << 12);                                                                             \
    U64(__hisinf(a)), d.add(__hmin(a, b)), d.add(__hmax(a, b)), d.add(__hmin_nan(a, b)), d.add(__hmax_nan(a, b))

__global__ void digests(unsigned long long *out) {
    for (int group = 0; group < COUNT; group++) {
        Digest d;
        Random r{(unsigned long long)group};
        for (int i = 0; i < 65536; i++) {
            if (group == 0) d.add(__half2float(__ushort_as_half((unsigned short)i)));
            if (group == 1) d.add(__bfloat162float(__ushort_as_bfloat16((unsigned short)i)));
        }
        for (int i = 0; i < ROUNDS; i++) {
            float x = r.single(), y = r.single(), z = r.single();
            double u = r.twice(), v = r.twice(), w = r.twice();
            __half a = r.half(), b = r.half(), c = r.half();
            __nv_bfloat16 e = r.brain(), f = r.brain(), g = r.brain();
            unsigned long long p = r.bits(), q = r.bits();
            p >>= q & 63;
            unsigned m = (unsigned)p, n = (unsigned)q;
            if (group == 2) MODES(__float2half_r, x), d.add(__double2half(u));
            if (group == 3) MODES(__float2bfloat16_r, x), d.add(__double2bfloat16(u));
            if (group == 4) { ARITHMETIC(__half, a, b, c); }
            if (group == 5) d.add(__hfma(a, b, c));
            if (group == 6) { ARITHMETIC(__nv_bfloat16, e, f, g); }
            if (group == 7) d.add(__hfma(e, f, g));
            if (group == 8) { COMPARISONS(a, b); }
            if (group == 9) { COMPARISONS(e, f); }
            if (group == 10) MODES(__fadd_r, x, y), MODES(__fsub_r, x, y), MODES(__fmul_r, x, y);
            if (group == 11) MODES(__fdiv_r, x, y), MODES(__fsqrt_r, x), MODES(__frcp_r, y), d.add(__frsqrt_rn(x));
            if (group == 12) MODES(__fmaf_r, x, y, z);
            if (group == 13) MODES(__dadd_r, u, v), MODES(__dsub_r, u, v), MODES(__dmul_r, u, v);
            if (group == 14) MODES(__ddiv_r, u, v), MODES(__dsqrt_r, u), MODES(__drcp_r, v);
            if (group == 15) MODES(__fma_r, u, v, w);
            if (group == 16) { TO_INTEGERS(float, x); }
            if (group == 17) { TO_INTEGERS(double, u); }
            if (group == 18) { TO_INTEGERS(half, a); U64(__half2short_rz(a)), U64(__half2ushort_ru(a)); }
            if (group == 19) { TO_INTEGERS(bfloat16, e); }
            if (group == 20) {
                MODES(__int2float_r, (int)m), MODES(__uint2float_r, m), MODES(__ll2float_r, (long long)p);
                MODES(__ull2float_r, p), MODES(__ll2double_r, (long long)p), MODES(__ull2double_r, p);
                MODES(__double2float_r, u);
            }
            if (group == 21) {
                MODES(__int2half_r, (int)m), MODES(__ull2half_r, p), MODES(__ll2bfloat16_r, (long long)p);
                MODES(__uint2bfloat16_r, m), MODES(__short2half_r, (short)m);
            }
            if (group == 22) {
                U64(__popc(m)), U64(__popcll(p)), U64(__clz((int)m)), U64(__clzll((long long)p)), U64(__ffs((int)m));
                U64(__ffsll((long long)p)), U64(__brev(m)), U64(__brevll(p)), U64(__byte_perm(m, n, (unsigned)(q >> 32)));
                U64(__funnelshift_l(m, n, m)), U64(__funnelshift_r(m, n, m)), U64(__funnelshift_lc(m, n, m & 63));
                U64(__funnelshift_rc(m, n, m & 63)), U64(__mulhi((int)m, (int)n)), U64(__umulhi(m, n));
                U64(__mul64hi((long long)p, (long long)q)), U64(__umul64hi(p, q)), U64(__mul24((int)m, (int)n));
                U64(__umul24(m, n)), U64(__sad((int)m, (int)n, m)), U64(__usad(m, n, m)), U64(__hadd((int)m, (int)n));
                U64(__rhadd((int)m, (int)n)), U64(__uhadd(m, n)), U64(__urhadd(m, n)), U64(__dp4a((int)m, (int)n, (int)m));
                U64(__dp4a(m, n, m)), U64(__dp2a_lo((int)m, (int)n, 1)), U64(__dp2a_hi((int)m, (int)n, 1));
                U64(__dp2a_lo(m, n, 1u)), U64(__dp2a_hi(m, n, 1u));
            }
            if (group == 23) {
                d.add(fminf(x, y)), d.add(fmax(u, v)), d.add(min(x, -x)), d.add(fmaxf(0 * x, 0 * y)), d.add(fmin(0 * u, 0 * v));
                d.add(__saturatef(x)), d.add(rintf(y)), d.add(round(v)), d.add(nextafterf(x, y)), d.add(fmod(u, v));
                d.add(remainderf(x, y)), d.add(ldexp(u, (int)m % 3000)), U64(ilogb(u)), d.add(fdim(x, y)), d.add(trunc(w));
                U64(min((int)m, n)), U64(max(p, (long long)q)), U64(llrint(ldexp(v, -9))), d.add(logbf(z));
            }
        }
        out[group] = d.state;
    }
}
