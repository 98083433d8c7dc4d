// Checks of the emulated device's headers, for one thread. A kernel check_* adds to failures[0] the number of its checks that
// failed and leaves the line of the last one in failures[1].
#define CHECK(...)                                                                                                           \
    do {                                                                                                                     \
        if (!(__VA_ARGS__)) failures[0]++, failures[1] = __LINE__;                                                           \
    } while (0)

#define LAYOUT(type, bytes, alignment) static_assert(sizeof(type) == bytes && alignof(type) == alignment, #type)
LAYOUT(char2, 2, 2);
LAYOUT(char3, 3, 1);
LAYOUT(uchar4, 4, 4);
LAYOUT(short3, 6, 2);
LAYOUT(ushort4, 8, 8);
LAYOUT(int2, 8, 8);
LAYOUT(uint3, 12, 4);
LAYOUT(int4, 16, 16);
LAYOUT(long3, 24, 8);
LAYOUT(ulong4, 32, 16);
LAYOUT(longlong2, 16, 16);
LAYOUT(ulonglong4_32a, 32, 32);
LAYOUT(float1, 4, 4);
LAYOUT(float2, 8, 8);
LAYOUT(float3, 12, 4);
LAYOUT(float4, 16, 16);
LAYOUT(double2, 16, 16);
LAYOUT(double3, 24, 8);
LAYOUT(double4, 32, 16);
LAYOUT(double4_32a, 32, 32);
LAYOUT(dim3, 12, 4);
LAYOUT(half, 2, 2);
LAYOUT(half2, 4, 4);
LAYOUT(nv_bfloat162, 4, 4);

typedef float shared_type_scratch[];
GPU_EMULATED_SHARED_DYNAMIC_GLOBAL(shared_type_scratch, scratch);
typedef int shared_type_counter;
GPU_EMULATED_SHARED_GLOBAL(shared_type_counter, counter);
typedef double shared_type_table[4][2];
GPU_EMULATED_SHARED_GLOBAL(shared_type_table, table);

template <class T, int N> __device__ T *shared_of() {
    typedef T shared_type_tile[N] __align__(32);
    GPU_EMULATED_SHARED(shared_type_tile, tile);
    return tile;
}
__device__ void increment(int *x) { ++*x; }

__global__ void check_shared(unsigned long long *failures) {
    GPU_EMULATED_ENTER();
    CHECK((void *)shared_of<float, 8>() != (void *)shared_of<float, 9>());
    CHECK((shared_of<float, 8>() == shared_of<float, 8>()));
    CHECK((size_t)shared_of<char, 3>() % 32 == 0);
    SHARED(int, grid, [3][5]);
    static_assert(sizeof(grid) == 60, "a reference to the array");
    grid[2][4] = 7;
    CHECK(*(&grid[0][0] + 14) == 7);
    SHARED_DYNAMIC(float, floats);
    floats[1] = 3;
    typedef int shared_type_ints[];
    GPU_EMULATED_SHARED_DYNAMIC(shared_type_ints, ints);
    CHECK(ints[1] == __float_as_int(3));
    CHECK(scratch[1] == 3 && *(scratch + 1) == 3 && &scratch[1] == floats + 1);
    float *first = scratch;
    double *aliased = (double *)scratch;
    CHECK(first == floats && (void *)aliased == (void *)floats && reinterpret_cast<unsigned char *>(&scratch) != nullptr);
    counter = 3;
    counter += 4;
    counter++;
    atomicAdd(&counter, 1);
    increment(&counter);
    CHECK(counter == 10);
    table[3][1] = 2.5;
    CHECK(*(&(*table)[0] + 7) == 2.5);
}

__global__ void check_atomics(unsigned long long *failures, void *memory) {
    GPU_EMULATED_ENTER(1);
    int *i = (int *)memory;
    unsigned *u = (unsigned *)memory;
    unsigned long long *l = (unsigned long long *)memory;
    float *f = (float *)memory;
    *l = 0;
    CHECK(atomicAdd(i, 5) == 0 && atomicSub(i, 7) == 5 && *i == -2);
    CHECK(atomicMax(i, 1) == -2 && atomicMin(i, -3) == 1 && atomicMax(u, 1u) == 0xfffffffdu);
    CHECK(atomicExch(u, 4u) == 4294967293u && atomicInc(u, 4u) == 4 && atomicInc(u, 4u) == 0 && *u == 1);
    CHECK(atomicDec(u, 9u) == 1 && atomicDec(u, 9u) == 0 && *u == 9 && atomicDec(u, 5u) == 9 && *u == 5);
    CHECK(atomicAnd(u, 6u) == 5 && atomicOr_system(u, 3u) == 4 && atomicXor_block(u, 1u) == 7 && *u == 6);
    CHECK(atomicCAS(u, 5u, 1u) == 6 && atomicCAS(u, 6u, 1u) == 6 && *u == 1);
    CHECK(atomicExch(l, 1ull << 40) == 1 && atomicAdd(l, 1) == 1ull << 40 && atomicMax((long long *)l, -1ll) == (1ll << 40) + 1);
    *f = 1;
    CHECK(atomicAdd(f, 0.5f) == 1 && atomicExch(f, 2.0f) == 1.5f && atomicCAS((unsigned short *)f, 0, 1) == 0);
    float4 *v = (float4 *)memory;
    *v = make_float4(1, 2, 3, 4);
    CHECK(atomicAdd(v, make_float4(1, 1, 1, 1)).y == 2 && v->w == 5);
    half2 *h = (half2 *)memory;
    *h = __floats2half2_rn(1, 2);
    CHECK(float(atomicAdd(h, __floats2half2_rn(1, 0.5f)).y) == 2 && float(h->y) == 2.5f && float(atomicAdd(&h->x, half(1))) == 2);
    *l = 7;
    CHECK(__nv_atomic_fetch_add(l, 1, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE) == 7);
    unsigned long long expected = 7;
    CHECK(!__nv_atomic_compare_exchange_n(l, &expected, 3, false, __NV_ATOMIC_ACQ_REL, __NV_ATOMIC_ACQUIRE) && expected == 8);
    CHECK(__nv_atomic_compare_exchange_n(l, &expected, 3, false, __NV_ATOMIC_ACQ_REL, __NV_ATOMIC_ACQUIRE));
    __nv_atomic_store_n(l, 9, __NV_ATOMIC_RELEASE);
    CHECK(__nv_atomic_load_n(l, __NV_ATOMIC_ACQUIRE) == 9);
}

__global__ void check_memory(unsigned long long *failures, void *memory) {
    GPU_EMULATED_ENTER(1, 2);
    unsigned char *bytes = (unsigned char *)memory;
    memset(bytes, 1, 32);
    CHECK(bytes[31] == 1 && memcmp(bytes, bytes + 16, 16) == 0);
    bytes[3] = 9;
    memcpy(bytes + 16, bytes, 8);
    memmove(bytes + 1, bytes, 8);
    CHECK(bytes[19] == 9 && bytes[4] == 9 && memcmp(bytes, bytes + 16, 4) < 0);
    __stcs((float2 *)memory, make_float2(1, 2));
    CHECK(__ldg((const float *)memory + 1) == 2 && __ldcg((const float2 *)memory).x == 1);
    int exponent = 0, quotient = 0;
    float whole = 0;
    CHECK(frexpf(6, &exponent) == 0.75f && exponent == 3 && modf(2.5f, &whole) == 0.5f && whole == 2);
    CHECK(remquo(7.0, 2.0, &quotient) == -1 && (quotient & 7) == 4);
    CHECK(printf("%d %s%%\n", 1, "x") == 2 && printf("hi\n") == 0);
    CHECK(new (memory) int(3) == memory);
}

__global__ void check_warp(unsigned long long *failures) {
    GPU_EMULATED_ENTER(128);
    unsigned mask = __activemask();
    CHECK(mask == 1 && __shfl_sync(mask, -5, 0) == -5 && __shfl_up_sync(mask, 2.5, 1) == 2.5 && __shfl_down_sync(mask, 7ull, 1, 4) == 7);
    CHECK(__shfl_xor_sync(mask, -1.5f, 0) == -1.5f && float(__shfl_sync(mask, half(3), 0)) == 3 && __shfl_sync(mask, -1l, 0) == -1);
    CHECK(__all_sync(mask, 4) == 1 && __any_sync(mask, 0) == 0 && __ballot_sync(mask, 8) == 1);
    int same = 0;
    CHECK(__match_any_sync(mask, 1.0) == 1 && __match_all_sync(mask, -3, &same) == 1 && same == 1);
    CHECK(__reduce_add_sync(mask, -3) == -3 && __reduce_max_sync(mask, 5u) == 5 && __reduce_min_sync(mask, -7) == -7);
    __syncwarp();
    __syncthreads();
    CHECK(__syncthreads_count(5) == 1 && __syncthreads_and(5) == 1 && __syncthreads_or(0) == 0);
    __threadfence();
    CHECK(clock64() > 0 && clock() != 0 && __globaltimer() > 0 && warpSize == 32 && threadIdx.x == 0 && gridDim.z == 1);
}

__device__ bool close(double got, double want, double ulps) {
    return got == want || fabs(got - want) <= ulps * 2.220446049250313e-16 * fabs(want);
}
__global__ void check_math(unsigned long long *failures) {
    GPU_EMULATED_ENTER();
    CHECK(sinpi(1.0) == 0 && signbit(sinpi(-1.0)) && sinpi(0.5) == 1 && sinpi(-2.5) == -1 && cospi(0.5) == 0 && cospi(3.0) == -1);
    CHECK(close(sinpi(1.0 / 6), 0.5, 2) && close(cospi(1.0 / 3), 0.5, 2) && close(sinpi(1e15 + 0.25), sqrt(0.5), 2));
    for (int i = -500; i <= 500; i++) {
        double x = i / 100.0;
        if (fabs(x) < 3) CHECK(close(erfinv(erf(x)), x, 4 + 8 * exp(x * x)));
        // The argument's own rounding is magnified by (1/y) dy/dx x.
        CHECK(close(erfcinv(erfc(x)), x, 16 + (x < 0 ? 4 * exp(x * x) : x == 0 ? 0 : 4 / x)));
        CHECK(close(normcdfinv(normcdf(x)), x, 64 + (x > 0 ? 8 * exp(x * x / 2) : x == 0 ? 0 : 8 / -x)));
        CHECK(close(erfcx(x), exp(x * x) * erfc(x), 4 + 2 * x * x));
    }
    CHECK(close(erfcx(25.0), 0.022549572432641359, 16) && close(erfcx(26.0), 0.021683584850562907, 2) && erfcx(-30.0) == CUDART_INF);
    CHECK(close(erfcinv(1e-300), 26.209469960516124, 4) && erfcinv(0.0) == CUDART_INF && isnan(erfinv(2.0)) && erfinv(1.0) == CUDART_INF);
    CHECK(norm3d(2, 3, 6) == 7 && close(norm3d(2e300, 3e300, 6e300), 7e300, 2) && rnorm3df(2, 3, 6) == 1.0f / 7);
    CHECK(rhypot(3.0, 4.0) == 0.2 && rsqrt(4.0) == 0.5 && rsqrtf(4) == 0.5f && close(rcbrt(8.0), 0.5, 2));
    CHECK(__saturatef(CUDART_NAN_F) == 0 && close(exp10(3.0), 1000, 2));
    CHECK(isnan(__powf(-1, 2)) && __fdividef(1, ldexpf(1, 127)) == 0 && pow(2, 10) == 1024 && sqrt(4) == 2 && fabs(-3) == 3);
    double s = 0, c = 0;
    sincos(1.0, &s, &c);
    CHECK(s == sin(1.0) && c == cos(1.0) && abs(-2.5f) == 2.5f && abs(-3l) == 3 && min(3u, -1) == 3 && max(2.0, 3.0f) == 3);
    // All pairs of neighbours: their middle goes to the even one, and what is beside the middle to the nearer one.
    for (unsigned i = 0; i < 0x7bff; i++) {
        float low = __half2float(__ushort_as_half((unsigned short)i)), high = __half2float(__ushort_as_half((unsigned short)(i + 1)));
        float middle = (low + high) / 2;
        unsigned even = i + (i & 1);
        CHECK(__half_as_ushort(__float2half(low)) == i && __half_as_ushort(__float2half(-low)) == (i | 0x8000));
        CHECK(__half_as_ushort(__float2half(middle)) == even && __half_as_ushort(__double2half((double)-middle)) == (even | 0x8000));
        CHECK(__half_as_ushort(__float2half(nextafterf(middle, 1e9f))) == i + 1);
        CHECK(__half_as_ushort(__float2half(nextafterf(middle, -1))) == i);
    }
    for (unsigned i = 0; i < 0x7f7f; i++) {
        float low = __uint_as_float(i << 16), middle = __uint_as_float(i << 16 | 0x8000);
        CHECK(__bfloat162float(__ushort_as_bfloat16((unsigned short)i)) == low && __bfloat16_as_ushort(__float2bfloat16(low)) == i);
        CHECK(__bfloat16_as_ushort(__float2bfloat16(middle)) == i + (i & 1));
        CHECK(__bfloat16_as_ushort(__float2bfloat16(__uint_as_float(i << 16 | 0x8001))) == i + 1);
        CHECK(__bfloat16_as_ushort(__float2bfloat16(__uint_as_float(i << 16 | 0x7fff))) == i);
    }
    half h = 1;
    h += half(2);
    h++;
    CHECK(float(h) == 4 && h > half(3) && int(h) == 4 && float(-h) == -4 && bool(h) && double(h) == 4);
}

struct Mixed {
    char tag;
    double value;
};
__global__ void nothing() {}
__global__ void arguments(char a, double b, float4 c, const Mixed d, unsigned long long *failures) {
    CHECK(a == 'a' && b == 2.5 && c.z == 3 && d.tag == 'd' && d.value == 4.5);
}

// One load of x[0], one store to x[1]; a copy of two.
__global__ void accesses(float *x) { x[1] = x[0] + 1; }
__global__ void copy(const float2 *x, float2 *y) { *y = *x; }

// Ends by undefined behaviour or a trap on the line that it writes before.
__global__ void fault(unsigned kind, int *memory, unsigned *line, int shift, int zero) {
    GPU_EMULATED_ENTER();
    const int *null = nullptr;
    switch (kind) {
    case 0: *line = __LINE__; *(int *)((char *)memory + 1) = 1; break;
    case 1: *line = __LINE__; __ldg((const int *)((char *)memory + 2)); break;
    case 2: *line = __LINE__; __trap(); break;
    case 3: *line = __LINE__; assert(zero == 1); break;
    case 4: *line = __LINE__; __shfl_sync(1, 1, 0, 3); break;
    case 5: *line = __LINE__; memory[0] = 1 << shift; break;
    case 6: *line = __LINE__; memory[0] = memory[1] / zero; break;
    case 7: *line = __LINE__; memory[0] = null[zero]; break;
    case 8: {
        int few[3] = {1, 2, 3};
        *line = __LINE__; memory[0] = few[shift];
    }
    }
}
