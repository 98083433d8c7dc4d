// What every warp-wide function gives for the 32 values of x, in rows of 32 numbers. One warp.
#define ALL 0xffffffffu

extern "C" __global__ void warp_functions(const int *x, unsigned *out) {
    unsigned lane = threadIdx.x, row = 0;
    int value = x[lane];
    auto put = [&](unsigned result) { out[32 * row++ + lane] = result; };
    put(__ballot_sync(ALL, value > 0));
    put(__all_sync(ALL, value > -100));
    put(__all_sync(ALL, value > 0));
    put(__any_sync(ALL, value > 0));
    put(__any_sync(ALL, value > 100));
    put(__match_any_sync(ALL, value));
    int agree;
    put(__match_all_sync(ALL, value, &agree));
    put(agree);
    put(__match_all_sync(ALL, 7, &agree));
    put(agree);
    put(__reduce_add_sync(ALL, value));
    put(__reduce_min_sync(ALL, value));
    put(__reduce_max_sync(ALL, value));
    put(__reduce_min_sync(ALL, unsigned(value)));
    put(__reduce_max_sync(ALL, unsigned(value)));
    put(__reduce_and_sync(ALL, unsigned(value)));
    put(__reduce_or_sync(ALL, unsigned(value)));
    put(__reduce_xor_sync(ALL, unsigned(value)));
    put(__shfl_sync(ALL, value, 5));
    put(__shfl_sync(ALL, value, lane + 1));     // wraps round
    put(__shfl_sync(ALL, value, 3, 8));         // lane 3 of each eight
    put(__shfl_up_sync(ALL, value, 3));         // the first three keep their own
    put(__shfl_up_sync(ALL, value, 1, 4));
    put(__shfl_down_sync(ALL, value, 9));
    put(__shfl_down_sync(ALL, value, 2, 16));
    put(__shfl_xor_sync(ALL, value, 21));
    put(__shfl_xor_sync(ALL, value, 1, 2));
    long long wide = (long long)(value) * 0x100000001ll;
    put(__shfl_down_sync(ALL, wide, 1) >> 32);
    put(__double2int_rn(__shfl_xor_sync(ALL, double(value) + 0.25, 4) * 4));
    put(__float_as_uint(__shfl_up_sync(ALL, float(value), 1)));
    // The halves of the warp by themselves, each with its own mask.
    if (lane < 16) {
        put(__ballot_sync(0x0000ffff, value > 0));
    } else {
        put(__ballot_sync(0xffff0000, value < 0));
    }
}
