// Integer functions of pairs of numbers, one row of 20 results per pair.
extern "C" __global__ void intrinsics(const unsigned *a, const unsigned *b, unsigned *out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned x = a[i], y = b[i], *row = out + 20 * i;
    unsigned long long wide = (unsigned long long)(x) << 32 | y;
    row[0] = __popc(x);
    row[1] = __clz(int(x));
    row[2] = __ffs(int(x));
    row[3] = __brev(x);
    row[4] = __umulhi(x, y);
    row[5] = unsigned(__mulhi(int(x), int(y)));
    row[6] = __byte_perm(x, y, 0x7531);
    row[7] = __funnelshift_l(x, y, 7);
    row[8] = __funnelshift_r(x, y, 7);
    row[9] = __popcll(wide);
    row[10] = __clzll((long long)(wide));
    row[11] = __ffsll((long long)(wide));
    row[12] = unsigned(__brevll(wide) >> 32);
    row[13] = unsigned(__umul64hi(wide, wide) >> 32);
    row[14] = min(x, y) ^ max(int(x), int(y));
    row[15] = __float_as_uint(__uint_as_float(x));
    row[16] = __float_as_uint(__fadd_rn(float(x >> 8), float(y >> 8)));
    row[17] = __float_as_uint(__fdiv_rn(float(x), float(y | 1)));
    row[18] = __float_as_uint(__fsqrt_rn(float(x)));
    row[19] = __float_as_uint(__fmaf_rn(float(x), float(y), -1.0f));
}
