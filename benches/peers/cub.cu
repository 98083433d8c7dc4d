// Times CUB's device-wide primitives, one round of them, and appends a line of JSON for each
// figure, gap and version.
//
//     nvcc -O3 -std=c++17 -arch=sm_90 cub.cu -o cub
//     ./cub [--filter REGEX] [--seconds 0.3]
//
// BENCH_SET (full, quick, tiny) chooses the sizes, BENCH_FACTS is the file that the lines go to
// (unset: the standard output); with BENCH_BACKEND other than cuda there is nothing to measure.
// REGEX is looked for anywhere in a figure's id,
// `<operation>/<dtype>/<n or side>/cub/device`. The exit code is 2 for wrong usage, else 0: what
// fails, or answers wrongly, is a line with "kind": "gap".
//
// Timing: 50 ms of work first, then batches of at least 1.25 ms between two events for the time
// asked for, the median over the batches. A call of less than 50 us is captured into a graph of
// many, so that the time between launches does not count. Scratch is allocated once. Numbers are
// random: a block of at most 2^20 of them, repeated, so that right answers follow from the block's
// in double; keys to sort never repeat that way, for equal neighbours would change the work.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cub/device/device_select.cuh>
#include <cub/version.cuh>

static void check(cudaError_t code, const char *call) {
    if (code != cudaSuccess)
        throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(code));
}
#define CHECK(call) check((call), #call)

static constexpr int64_t PERIOD = 1 << 20, PIECE = 1 << 16;

struct Options {
    std::regex filter{""};
    double seconds = 0.3;
};
static Options options;

// --- lines of facts
// ---------------------------------------------------------------------------------------------------------------

static void line(const std::string &text) {
    const char *path = std::getenv("BENCH_FACTS");
    FILE *file = path && *path ? std::fopen(path, "a") : stdout;
    if (!file) return std::perror(path);
    std::fprintf(file, "%s\n", text.c_str());
    file == stdout ? std::fflush(file) : std::fclose(file);
}

static void gap(const std::string &id, const std::string &reason) {
    std::string clean;
    for (char c : reason) clean += c == '"' || c == '\\' ? '\'' : c < ' ' ? ' ' : c;
    line("{\"kind\": \"gap\", \"peer\": \"cub\", " +
         (id.empty() ? "" : "\"id\": \"" + id + "\", ") + "\"reason\": \"" + clean + "\"}");
}

static std::string number(double value) {
    char text[64];
    std::snprintf(text, sizeof text, "%.9g", value);
    return text;
}

// --- data
// -------------------------------------------------------------------------------------------------------------------------

// 64 random bits that belong to `i`: one step of SplitMix64 (Steele, Lea & Flood 2014).
__host__ __device__ static uint64_t bits(uint64_t i) {
    uint64_t z = (i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

// Numbers in [-1, 1); keys of all 32 bits.
template <class T> __host__ __device__ static T element(uint64_t i) {
    return T(double(bits(i) >> 40) / double(1 << 23) - 1);
}
template <> __host__ __device__ uint32_t element<uint32_t>(uint64_t i) {
    return uint32_t(bits(i) >> 32);
}

template <class T> __global__ void make(T *x, int64_t n, int64_t period) {
    const int64_t step = int64_t(blockDim.x) * gridDim.x;
    for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step)
        x[i] = element<T>(i % period);
}

template <class T> struct OnDevice {
    T *data = nullptr;
    explicit OnDevice(size_t count) {
        CHECK(cudaMalloc(&data, std::max<size_t>(count, 1) * sizeof(T)));
    }
    OnDevice(const OnDevice &) = delete;
    OnDevice &operator=(const OnDevice &) = delete;
    ~OnDevice() { cudaFree(data); }

    std::vector<T> host(int64_t first, int64_t count) const {
        std::vector<T> values(count);
        CHECK(cudaMemcpy(values.data(), data + first, count * sizeof(T), cudaMemcpyDeviceToHost));
        return values;
    }
};

// What the operations of one type and size work on; allocated when the first of them is measured.
template <class T> struct Vectors {
    int64_t n, period, named; // `named`: what ids call the size
    std::optional<OnDevice<T>> x, out;
    std::vector<T> block;

    Vectors(int64_t n, int64_t period) : n(n), period(std::min(n, period)), named(n) {}

    void prepare() {
        if (x && out) return;
        x.emplace(n);
        out.emplace(n);
        make<<<1024, 256>>>(x->data, n, period);
        CHECK(cudaGetLastError());
        block.resize(std::min(period, PERIOD));
        for (size_t i = 0; i < block.size(); ++i) block[i] = element<T>(i);
    }

    // Of all n: the sum over the blocks of what `f` makes of an element.
    template <class F> double total(F f) const {
        double sum = 0;
        for (T value : block) sum += f(double(value));
        return sum * double(n / period);
    }
};

// --- timing
// -----------------------------------------------------------------------------------------------------------------------

using Call = std::function<void(cudaStream_t)>;

class Clock {
  public:
    Clock() {
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHECK(cudaEventCreate(&start));
        CHECK(cudaEventCreate(&end));
    }
    ~Clock() {
        if (replay) cudaGraphExecDestroy(replay);
        cudaEventDestroy(start);
        cudaEventDestroy(end);
        cudaStreamDestroy(stream);
    }

    cudaStream_t stream;
    const char *timed_by = "calls";
    double median = 0, spread = 0;

    void measure(const Call &call) {
        constexpr double BATCH_S = 1.25e-3, SHORT_S = 50e-6;
        Call timed = call;
        double each = warm(timed), calls = 1;
        if (each < SHORT_S) {
            calls = std::min(1000.0, std::ceil(BATCH_S / each));
            capture(call, int(calls));
            timed = [this](cudaStream_t on) { CHECK(cudaGraphLaunch(replay, on)); };
            timed_by = "graph";
            each = warm(timed);
        }
        const int runs = int(std::max(1.0, std::ceil(BATCH_S / each)));
        std::vector<double> times;
        const auto began = std::chrono::steady_clock::now();
        const auto passed = [&] {
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        };
        while (times.size() < 5 || passed() < options.seconds)
            times.push_back(batch(timed, runs) / (runs * calls));
        std::sort(times.begin(), times.end());
        const size_t half = times.size() / 2;
        median = times.size() % 2 ? times[half] : (times[half - 1] + times[half]) / 2;
        spread = (times.back() - times.front()) / median;
    }

  private:
    cudaEvent_t start, end;
    cudaGraphExec_t replay = nullptr;

    double batch(const Call &call, int runs) {
        CHECK(cudaEventRecord(start, stream));
        for (int i = 0; i < runs; ++i) call(stream);
        CHECK(cudaEventRecord(end, stream));
        CHECK(cudaEventSynchronize(end));
        float ms = 0;
        CHECK(cudaEventElapsedTime(&ms, start, end));
        return double(ms) / 1e3;
    }

    // Seconds of one run, once the device is warm.
    double warm(const Call &call) {
        constexpr double WARM_UP_S = 50e-3;
        batch(call, 1);
        double each = 0;
        int runs = 1;
        for (double passed = 0; passed < WARM_UP_S;) {
            const double seconds = batch(call, runs);
            passed += std::max(seconds, 1e-6);
            each = std::max(seconds / runs, 1e-9);
            runs = int(std::max(1.0, std::min(2.0 * runs, std::ceil(WARM_UP_S / 4 / each))));
        }
        return each;
    }

    void capture(const Call &call, int calls) {
        cudaGraph_t graph;
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        for (int i = 0; i < calls; ++i) call(stream);
        CHECK(cudaStreamEndCapture(stream, &graph));
        CHECK(cudaGraphInstantiate(&replay, graph, 0));
        CHECK(cudaGraphDestroy(graph));
    }
};

// --- figures
// ----------------------------------------------------------------------------------------------------------------------

static const char *dtype(float) { return "f32"; }
static const char *dtype(double) { return "f64"; }
static const char *dtype(uint32_t) { return "u32"; }

// Checks and times one primitive. `primitive` is CUB's call but for the scratch; `error` compares
// the answer with the right one.
template <class T, class Primitive, class Error>
static void figure(const std::string &operation, Vectors<T> &v, double bytes_per_element,
                   const char *ceiling, Primitive primitive, Error error) {
    const std::string id =
        operation + "/" + dtype(T()) + "/" + std::to_string(v.named) + "/cub/device";
    if (!std::regex_search(id, options.filter)) return;
    try {
        v.prepare();
        Clock clock;
        CHECK(cudaDeviceSynchronize());
        size_t bytes = 0;
        CHECK(primitive(nullptr, bytes, clock.stream));
        OnDevice<char> scratch(bytes);
        const Call call = [&](cudaStream_t stream) {
            CHECK(primitive(scratch.data, bytes, stream));
        };
        call(clock.stream);
        CHECK(cudaStreamSynchronize(clock.stream));
        const double wrong = error(), bound = sizeof(T) == 8 ? 1e-12 : 1e-4;
        if (!(wrong <= bound)) throw std::runtime_error("a wrong answer: error " + number(wrong));
        clock.measure(call);
        line("{\"kind\": \"figure\", \"id\": \"" + id + "\", \"peer\": true, \"bytes\": " +
             std::to_string(int64_t(bytes_per_element * double(v.n))) +
             ", \"flops\": null, \"ceiling\": \"" + ceiling + "\", \"error\": " + number(wrong) +
             ", \"seconds\": " + number(clock.median) + ", \"spread\": " + number(clock.spread) +
             ", \"timed_by\": \"" + clock.timed_by + "\"}");
    } catch (const std::exception &failure) {
        gap(id, failure.what());
    }
}

template <class T> struct Negative {
    __device__ bool operator()(T x) const { return x < T(0); }
};

// The largest error of a scan at its first, middle and last elements, relative to the scan of
// magnitudes.
template <class T> static double scan_error(const Vectors<T> &v, bool inclusive) {
    std::vector<double> sums(v.period + 1, 0), sizes(v.period + 1, 0);
    for (int64_t i = 0; i < v.period; ++i) {
        sums[i + 1] = sums[i] + double(v.block[i]);
        sizes[i + 1] = sizes[i] + std::fabs(double(v.block[i]));
    }
    const int64_t piece = std::min(v.n, PIECE);
    double largest = 0;
    for (int64_t first : {int64_t(0), (v.n - piece) / 2, v.n - piece}) {
        const std::vector<T> got = v.out->host(first, piece);
        for (int64_t i = 0; i < piece; ++i) {
            const int64_t count = first + i + inclusive, blocks = count / v.period,
                          rest = count % v.period;
            const double want = double(blocks) * sums[v.period] + sums[rest],
                         size = double(blocks) * sizes[v.period] + sizes[rest];
            const double difference = std::fabs(double(got[i]) - want),
                         error = difference == 0 ? 0 : difference / size;
            if (!(error <= largest)) largest = error;
            if (std::isnan(largest)) return largest;
        }
    }
    return largest;
}

template <class T> static void sums_and_scans(Vectors<T> &v) {
    const double size = sizeof(T);
    const int n = int(v.n);
    figure(
        "sum", v, size, "read",
        [&](void *scratch, size_t &bytes, cudaStream_t s) {
            return cub::DeviceReduce::Sum(scratch, bytes, v.x->data, v.out->data, n, s);
        },
        [&] {
            const double want = v.total([](double x) { return x; });
            return std::fabs(double(v.out->host(0, 1)[0]) - want) /
                   v.total([](double x) { return std::fabs(x); });
        });
    figure(
        "inclusive-scan", v, 2 * size, "copy",
        [&](void *scratch, size_t &bytes, cudaStream_t s) {
            return cub::DeviceScan::InclusiveSum(scratch, bytes, v.x->data, v.out->data, n, s);
        },
        [&] { return scan_error(v, true); });
    figure(
        "exclusive-scan", v, 2 * size, "copy",
        [&](void *scratch, size_t &bytes, cudaStream_t s) {
            return cub::DeviceScan::ExclusiveSum(scratch, bytes, v.x->data, v.out->data, n, s);
        },
        [&] { return scan_error(v, false); });
}

static constexpr int RUN = 100; // equal keys, one behind the other

static __global__ void number_runs(int *keys, int64_t n) {
    for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < n;
         i += int64_t(gridDim.x) * blockDim.x)
        keys[i] = int(i / RUN);
}

// Sums by key, in runs of equal keys.
static void by_key(Vectors<float> &v) {
    std::optional<OnDevice<int>> keys;
    const auto prepared = [&] {
        if (!keys) {
            keys.emplace(v.n);
            number_runs<<<1024, 256>>>(keys->data, v.n);
            CHECK(cudaDeviceSynchronize());
        }
        return keys->data;
    };
    figure(
        "scan-by-key", v, 3 * sizeof(float), "copy",
        [&](void *scratch, size_t &bytes, cudaStream_t s) {
            return cub::DeviceScan::InclusiveSumByKey(scratch, bytes, prepared(), v.x->data,
                                                      v.out->data, int(v.n),
                                                      cuda::std::equal_to<>{}, s);
        },
        [&] {
            double largest = 0;
            const int64_t piece = std::min(v.n, PIECE);
            for (int64_t first : {int64_t(0), v.n - piece}) {
                const std::vector<float> got = v.out->host(first, piece);
                for (int64_t i = first; i < first + piece; ++i) {
                    double want = 0, size = 0;
                    for (int64_t k = i / RUN * RUN; k <= i; ++k) {
                        want += double(v.block[k % v.period]);
                        size += std::fabs(double(v.block[k % v.period]));
                    }
                    const double error = std::fabs(double(got[i - first]) - want) / size;
                    if (!(error <= largest)) largest = error;
                    if (std::isnan(largest)) return largest;
                }
            }
            return largest;
        });
}

static void choices(Vectors<float> &v) {
    const double size = sizeof(float);
    const auto largest = [&] { return double(*std::max_element(v.block.begin(), v.block.end())); };
    figure(
        "max", v, size, "read",
        [&](void *scratch, size_t &bytes, cudaStream_t s) {
            return cub::DeviceReduce::Max(scratch, bytes, v.x->data, v.out->data, int(v.n), s);
        },
        [&] { return std::fabs(double(v.out->host(0, 1)[0]) - largest()); });
    std::optional<OnDevice<int64_t>> place; // an index, or a count
    const auto prepared = [&] {
        if (!place) place.emplace(1);
        return place->data;
    };
    figure(
        "argmax", v, size, "read",
        [&](void *scratch, size_t &bytes, cudaStream_t s) {
            return cub::DeviceReduce::ArgMax(scratch, bytes, v.x->data, v.out->data, prepared(),
                                             v.n, s);
        },
        [&] {
            const int64_t at = place->host(0, 1)[0];
            return at < 0 || at >= v.n ? INFINITY : largest() - double(v.block[at % v.period]);
        });
    figure(
        "select-half", v, 1.5 * size, "copy",
        [&](void *scratch, size_t &bytes, cudaStream_t s) {
            return cub::DeviceSelect::If(scratch, bytes, v.x->data, v.out->data, prepared(), v.n,
                                         Negative<float>(), s);
        },
        [&] {
            std::vector<float> want;
            std::copy_if(v.block.begin(), v.block.end(), std::back_inserter(want),
                         [](float x) { return x < 0; });
            const int64_t count = int64_t(want.size()), all = count * (v.n / v.period);
            if (place->host(0, 1)[0] != all) return double(INFINITY);
            return v.out->host(0, count) == want && v.out->host(all - count, count) == want
                       ? 0.0
                       : double(INFINITY);
        });
}

// The sum of each row of a square matrix, as CUB has it: segments between offsets.
static void rows(int64_t side) {
    Vectors<float> v(side * side, PERIOD);
    v.named = side;
    std::optional<OnDevice<int>> starts;
    const auto prepared = [&] {
        if (!starts) {
            std::vector<int> host(side + 1);
            for (int64_t row = 0; row <= side; ++row) host[row] = int(row * side);
            starts.emplace(host.size());
            CHECK(cudaMemcpy(starts->data, host.data(), host.size() * sizeof(int),
                             cudaMemcpyHostToDevice));
        }
        return starts->data;
    };
    figure(
        "reduce-axis1", v, sizeof(float) * (1 + 1 / double(side)), "read",
        [&](void *scratch, size_t &bytes, cudaStream_t s) {
            const int *first = prepared();
            return cub::DeviceSegmentedReduce::Sum(scratch, bytes, v.x->data, v.out->data,
                                                   int(side), first, first + 1, s);
        },
        [&] {
            const std::vector<float> got = v.out->host(0, side);
            double largest = 0;
            for (int64_t row = 0; row < side; ++row) {
                double want = 0, size = 0;
                for (int64_t i = row * side; i < (row + 1) * side; ++i) {
                    want += double(v.block[i % v.period]);
                    size += std::fabs(double(v.block[i % v.period]));
                }
                const double error = std::fabs(double(got[row]) - want) / size;
                if (!(error <= largest)) largest = error;
                if (std::isnan(largest)) break;
            }
            return largest;
        });
}

static void sort(Vectors<uint32_t> &v) {
    figure(
        "sort-keys", v, 2 * sizeof(uint32_t), "copy",
        [&](void *scratch, size_t &bytes, cudaStream_t s) {
            return cub::DeviceRadixSort::SortKeys(scratch, bytes, v.x->data, v.out->data, int(v.n),
                                                  0, 32, s);
        },
        // Ascending, and the same keys: as many, with the same sums of two functions of them.
        [&] {
            const std::vector<uint32_t> got = v.out->host(0, v.n);
            uint64_t sum = 0, mixed = 0;
            for (int64_t i = 0; i < v.n; ++i) {
                const uint32_t key = element<uint32_t>(i);
                sum += got[i] - uint64_t(key);
                mixed += bits(got[i]) - bits(key);
            }
            return sum == 0 && mixed == 0 && std::is_sorted(got.begin(), got.end())
                       ? 0.0
                       : double(INFINITY);
        });
}

static void all(int64_t n, int64_t n_double) {
    // One after the other, so that no more than two arrays and the scratch are allocated at a time.
    {
        Vectors<float> v(n, PERIOD);
        sums_and_scans(v);
        choices(v);
        by_key(v);
    }
    {
        Vectors<double> v(n_double, PERIOD);
        sums_and_scans(v);
    }
    Vectors<uint32_t> v(n, n);
    sort(v);
}

static int usage(const char *what) {
    std::fprintf(stderr, "%s\nusage: cub [--filter REGEX] [--seconds S]\n", what);
    return 2;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc) return usage("an option without its value");
        if (!std::strcmp(argv[i], "--filter")) {
            try {
                options.filter = std::regex(argv[i + 1]);
            } catch (const std::regex_error &error) {
                return usage(error.what());
            }
        } else if (!std::strcmp(argv[i], "--seconds")) {
            char *end = nullptr;
            options.seconds = std::strtod(argv[i + 1], &end);
            if (*end || !(options.seconds > 0) || std::isinf(options.seconds))
                return usage("--seconds: a positive number");
        } else {
            return usage(argv[i]);
        }
    }
    const auto variable = [](const char *name, const char *otherwise) {
        const char *value = std::getenv(name);
        return std::string(value && *value ? value : otherwise);
    };
    const std::string set = variable("BENCH_SET", "quick"),
                      backend = variable("BENCH_BACKEND", "cuda");
    if (set != "full" && set != "quick" && set != "tiny")
        return usage("BENCH_SET: one of full, quick, tiny");
    if (backend == "cpu" || variable("BENCH_PEERS", "1") == "0") return 0;
    int devices = 0;
    if (backend == "emulated") {
        gap("", "does not run on the emulated device");
    } else if (const cudaError_t code = cudaGetDeviceCount(&devices);
               code != cudaSuccess || devices == 0) {
        gap("", code == cudaSuccess ? "no CUDA device" : cudaGetErrorString(code));
    } else {
        const std::string version = std::to_string(CUB_MAJOR_VERSION) + "." +
                                    std::to_string(CUB_MINOR_VERSION) + "." +
                                    std::to_string(CUB_SUBMINOR_VERSION);
        line("{\"kind\": \"version\", \"peer\": \"cub\", \"version\": \"" + version + "\"}");
        rows(set == "full" ? 8192 : set == "quick" ? 1024 : 64);
        if (set == "full") all(1 << 28, 1 << 27);
        if (set != "tiny") all(1 << 20, 1 << 20);
        if (set == "full") all(1 << 14, 1 << 14);
        if (set == "tiny") all(1 << 12, 1 << 12);
    }
    return 0;
}
