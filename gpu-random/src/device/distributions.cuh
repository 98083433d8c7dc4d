// Distributions, which make values of the words of a turn: the twins of the structures in
// ../distribution.
//
// A distribution is made of three words of parameters. WORDS words of a turn give VALUES values.
// UNROLL turns of a generator are written out one after another if that many follow.
#pragma once
#include "philox.cuh"
#include "real.cuh"

namespace gpu_random {

struct Parameters {
    uint64_t a, b, c;
};

// Without a fused multiply-add, so that the bits are the host's.
__device__ __forceinline__ float scaled(float low, float width, float u) {
    return __fadd_rn(low, __fmul_rn(width, u));
}
__device__ __forceinline__ double scaled(double low, double width, double u) {
    return __dadd_rn(low, __dmul_rn(width, u));
}

// The functions of a real type.
template <class T> struct Real;
template <> struct Real<float> {
    static constexpr int WORDS = 1;
    static __device__ __forceinline__ float uniform(const uint32_t *w) { return uniform_f32(w[0]); }
    static __device__ __forceinline__ float half_open(const uint32_t *w) {
        return half_open_f32(w[0]);
    }
    static __device__ __forceinline__ NormalPair<float> normal(const uint32_t *w) {
        return normal_f32(w[0], w[1]);
    }
    static __device__ __forceinline__ float exponential(float x) { return expf(x); }
    static __device__ __forceinline__ float logarithm(float x) { return logf(x); }
};
template <> struct Real<double> {
    static constexpr int WORDS = 2;
    static __device__ __forceinline__ double uniform(const uint32_t *w) {
        return uniform_f64(w[0], w[1]);
    }
    static __device__ __forceinline__ double half_open(const uint32_t *w) {
        return half_open_f64(w[0], w[1]);
    }
    static __device__ __forceinline__ NormalPair<double> normal(const uint32_t *w) {
        return normal_f64(w[0], w[1], w[2], w[3]);
    }
    static __device__ __forceinline__ double exponential(double x) { return exp(x); }
    static __device__ __forceinline__ double logarithm(double x) { return log(x); }
};

// Further words for a value that its own words did not decide.
__device__ __forceinline__ Four more_words(const uint32_t *w, int count, uint32_t attempt) {
    Four counter = {{count > 2 ? w[2] : 0, count > 2 ? w[3] : 0, attempt, 0x5eedu}};
    return philox4x32(counter, w[0], w[1]);
}

struct Bits {
    typedef uint32_t Value;
    static constexpr int WORDS = 1, VALUES = 1, UNROLL = 20;
    __device__ explicit Bits(Parameters) {}
    __device__ __forceinline__ void operator()(const uint32_t *w, uint32_t *out) const {
        out[0] = w[0];
    }
};

template <class T> struct Uniform {
    typedef T Value;
    static constexpr int WORDS = Real<T>::WORDS, VALUES = 1, UNROLL = 20 / WORDS;
    __device__ explicit Uniform(Parameters) {}
    __device__ __forceinline__ void operator()(const uint32_t *w, T *out) const {
        out[0] = Real<T>::uniform(w);
    }
};

template <class T> struct HalfOpen {
    typedef T Value;
    static constexpr int WORDS = Real<T>::WORDS, VALUES = 1, UNROLL = 20 / WORDS;
    T low, width, most;
    __device__ explicit HalfOpen(Parameters p)
        : low(T(__longlong_as_double(p.a))), width(T(__longlong_as_double(p.b))),
          most(T(__longlong_as_double(p.c))) {}
    __device__ __forceinline__ void operator()(const uint32_t *w, T *out) const {
        T value = scaled(low, width, Real<T>::half_open(w));
        out[0] = value > most ? most : value;
    }
};

template <class T> struct Exponential {
    typedef T Value;
    static constexpr int WORDS = Real<T>::WORDS, VALUES = 1, UNROLL = 5;
    T mean;
    __device__ explicit Exponential(Parameters p) : mean(T(__longlong_as_double(p.a))) {}
    __device__ __forceinline__ void operator()(const uint32_t *w, T *out) const {
        out[0] = (T(0) - Real<T>::logarithm(Real<T>::uniform(w))) * mean;
    }
};

template <class T> struct Normal {
    typedef T Value;
    static constexpr int WORDS = 2 * Real<T>::WORDS, VALUES = 2, UNROLL = 5;
    T mean, deviation;
    __device__ explicit Normal(Parameters p)
        : mean(T(__longlong_as_double(p.a))), deviation(T(__longlong_as_double(p.b))) {}
    __device__ __forceinline__ void operator()(const uint32_t *w, T *out) const {
        NormalPair<T> pair = Real<T>::normal(w);
        out[0] = mean + deviation * pair.first;
        out[1] = mean + deviation * pair.second;
    }
};

template <class T> struct LogNormal {
    typedef T Value;
    static constexpr int WORDS = 2 * Real<T>::WORDS, VALUES = 2, UNROLL = 5;
    Normal<T> normal;
    __device__ explicit LogNormal(Parameters p) : normal(p) {}
    __device__ __forceinline__ void operator()(const uint32_t *w, T *out) const {
        normal(w, out);
        out[0] = Real<T>::exponential(out[0]);
        out[1] = Real<T>::exponential(out[1]);
    }
};

// Integers without bias: Lemire, "Fast random integer generation in an interval", ACM TOMACS 29(1),
// 2019.
template <class T> struct Integers {
    typedef T Value;
    static constexpr int WORDS = sizeof(T) / 2, VALUES = 1, UNROLL = 5;
    uint64_t base, span, threshold;
    __device__ explicit Integers(Parameters p) : base(p.a), span(p.b), threshold(p.c) {}
    __device__ __forceinline__ void operator()(const uint32_t *w, T *out) const {
        uint64_t bits = uint64_t(w[1]) << 32 | w[0];
        for (uint32_t attempt = 0; bits * span < threshold; attempt++) {
            Four more = more_words(w, WORDS, attempt);
            bits = uint64_t(more.at[1]) << 32 | more.at[0];
        }
        out[0] = T(base + __umul64hi(bits, span));
    }
};

struct Bernoulli {
    typedef uint8_t Value;
    static constexpr int WORDS = 2, VALUES = 1, UNROLL = 10;
    double probability;
    __device__ explicit Bernoulli(Parameters p) : probability(__longlong_as_double(p.a)) {}
    __device__ __forceinline__ void operator()(const uint32_t *w, uint8_t *out) const {
        out[0] = half_open_f64(w[0], w[1]) < probability ? 1 : 0;
    }
};

// A table of 2^bits columns (distribution/table.rs): the highest bits of a word choose a column,
// and the other bits, compared with its number of words, the value. Kernels call `prepare` before
// the first value.
struct Discrete {
    typedef uint32_t Value;
    static constexpr int WORDS = 1, VALUES = 1, UNROLL = 10;
    // Tables of at most so many columns are read from shared memory.
    static constexpr uint32_t SHARED_COLUMNS = 4096;
    const uint32_t *table;
    uint32_t base, bits;
    __device__ explicit Discrete(Parameters p)
        : table(reinterpret_cast<const uint32_t *>(p.a)), base(uint32_t(p.b)), bits(uint32_t(p.c)) {
    }
    __device__ __forceinline__ void operator()(const uint32_t *w, uint32_t *out) const {
        const uint32_t column = w[0] >> (32 - bits), rest = w[0] << bits >> bits;
        const uint32_t entry = is_shared() ? columns()[column] : __ldg(table + column);
        out[0] = base + (rest < entry >> bits ? column : entry & ((1u << bits) - 1));
    }
    // Copies the table to shared memory. All threads of the block call it, behind the work of the
    // stream that writes the table; it synchronises them.
    __device__ __forceinline__ void load() const {
        if (!is_shared()) return;
        for (uint32_t i = threadIdx.x; i < 1u << bits; i += blockDim.x) columns()[i] = table[i];
        __syncthreads();
    }

  private:
    __device__ __forceinline__ bool is_shared() const { return 1u << bits <= SHARED_COLUMNS; }
    static __device__ __forceinline__ uint32_t *columns() {
        SHARED(uint32_t, shared, [SHARED_COLUMNS]);
        return shared;
    }
};

// Whether a distribution has a table.
template <class D> struct HasTable {
    static constexpr bool VALUE = false;
};
template <> struct HasTable<Discrete> {
    static constexpr bool VALUE = true;
};

// Makes a distribution ready: all threads of the block call it once, behind the work of the stream.
template <class D> __device__ __forceinline__ void prepare(const D &distribution) {
    if constexpr (HasTable<D>::VALUE) distribution.load();
}

// Hörmann's transformed rejection (PTRS, Insurance: Mathematics and Economics 12(1), 1993).
struct LargePoisson {
    typedef uint32_t Value;
    static constexpr int WORDS = 2, VALUES = 1, UNROLL = 1;
    double lambda, ln_lambda, root;
    __device__ explicit LargePoisson(Parameters p)
        : lambda(__longlong_as_double(p.a)), ln_lambda(__longlong_as_double(p.b)),
          root(__longlong_as_double(p.c)) {}
    __device__ void operator()(const uint32_t *w, uint32_t *out) const { out[0] = by_rejection(w); }

  private:
    __device__ uint32_t by_rejection(const uint32_t *w) const {
        double b = 0.931 + 2.53 * root;
        double a = -0.059 + 0.02483 * b;
        double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
        double squeeze = 0.9277 - 3.6224 / (b - 2.0);
        for (uint32_t attempt = 0;; attempt++) {
            Four more = more_words(w, WORDS, attempt);
            double u = uniform_f64(more.at[0], more.at[1]) - 0.5,
                   v = uniform_f64(more.at[2], more.at[3]);
            double from_edge = 0.5 - fabs(u);
            double count = floor((2.0 * a / from_edge + b) * u + lambda + 0.43);
            if (from_edge >= 0.07 && v <= squeeze) return uint32_t(count);
            if (count < 0.0 || (from_edge < 0.013 && v > from_edge)) continue;
            double height = log(v * inverse_alpha / (a / (from_edge * from_edge) + b));
            if (height <= count * ln_lambda - lambda - ln_factorial(count)) return uint32_t(count);
        }
    }

    static __device__ double ln_factorial(double k) {
        if (k < 10.0) {
            double product = 1.0;
            for (double factor = 2.0; factor <= k; factor += 1.0) product *= factor;
            return log(product);
        }
        double inverse = 1.0 / k, square = inverse * inverse;
        double series =
            inverse *
            (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)));
        return (k + 0.5) * log(k) - k + 0.9189385332046728 + series;
    }
};

} // namespace gpu_random
