// The numbers of a generator in a kernel, as cuRAND's device API makes them of its words.
#pragma once
#include "real.cuh"

namespace gpu_random {

// Rng has next(). Normal numbers come in pairs, and the second is kept for the next call. There is
// one place for f32 and one for f64; a normal and a log-normal number of the same type drop the
// number that the other has kept.
template <class Rng> class Numbers {
    enum : uint32_t { NOTHING, NORMAL, LOG_NORMAL };
    uint32_t kept_float, kept_double;
    float other_float;
    double other_double;

    __device__ Rng &rng() { return *static_cast<Rng *>(this); }

  protected:
    __device__ void forget() { kept_float = kept_double = NOTHING; }

  public:
    // (0, 1]
    __device__ float uniform() { return uniform_f32(rng().next()); }
    __device__ double uniform_double() {
        uint32_t x = rng().next();
        return uniform_f64(x, rng().next());
    }

    __device__ float normal() {
        if (kept_float == NORMAL) {
            kept_float = NOTHING;
            return other_float;
        }
        NormalPair<float> pair = normal_pair();
        kept_float = NORMAL;
        other_float = pair.second;
        return pair.first;
    }
    __device__ double normal_double() {
        if (kept_double == NORMAL) {
            kept_double = NOTHING;
            return other_double;
        }
        NormalPair<double> pair = normal_pair_double();
        kept_double = NORMAL;
        other_double = pair.second;
        return pair.first;
    }

    __device__ float log_normal(float mean, float deviation) {
        if (kept_float == LOG_NORMAL) {
            kept_float = NOTHING;
            return other_float;
        }
        NormalPair<float> pair = normal_pair();
        kept_float = LOG_NORMAL;
        other_float = expf(mean + deviation * pair.second);
        return expf(mean + deviation * pair.first);
    }
    __device__ double log_normal_double(double mean, double deviation) {
        if (kept_double == LOG_NORMAL) {
            kept_double = NOTHING;
            return other_double;
        }
        NormalPair<double> pair = normal_pair_double();
        kept_double = LOG_NORMAL;
        other_double = exp(mean + deviation * pair.second);
        return exp(mean + deviation * pair.first);
    }

    // Both numbers of a pair; a kept number is not used.
    __device__ NormalPair<float> normal_pair() {
        uint32_t x = rng().next();
        return normal_f32(x, rng().next());
    }
    __device__ NormalPair<double> normal_pair_double() {
        uint32_t x0 = rng().next();
        uint32_t x1 = rng().next();
        uint32_t y0 = rng().next();
        return normal_f64(x0, x1, y0, rng().next());
    }
};

} // namespace gpu_random
