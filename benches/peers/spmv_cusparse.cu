// Times cuSPARSE's product y = A x on a matrix that `sparse_device --export DIR` wrote, and prints one line of JSON each for CSR with
// algorithms 1 and 2, both preprocessed, and for sliced ELL with slices of 32 rows.
//
//     nvcc -O3 -std=c++17 -arch=sm_90 spmv_cusparse.cu -o spmv_cusparse -lcusparse
//     ./spmv_cusparse DIR
//
// Timing as sparse_device's: 50 ms of work first, then 25 batches of at least 1.25 ms between two events, the median. Each result is
// held against a product in double on the host. What fails is a line with "what": "error"; the rest goes on, the exit code is 1.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <cuda_runtime.h>
#include <cusparse.h>

static void check(cudaError_t code, const char* call) {
    if (code != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(code));
}

static void check(cusparseStatus_t code, const char* call) {
    if (code != CUSPARSE_STATUS_SUCCESS) throw std::runtime_error(std::string(call) + ": " + cusparseGetErrorString(code));
}

#define CHECK(call) check((call), #call)

struct Header {
    std::string text, matrix, dtype, row_starts;
    int64_t rows, cols, nnz;
};

// What follows `"name":` in a flat JSON object, up to the next comma or brace, without quotes.
static std::string field(const std::string& json, const std::string& name) {
    const std::string key = "\"" + name + "\":";
    const size_t at = json.find(key);
    if (at == std::string::npos) throw std::runtime_error("header.json: no " + name);
    size_t from = at + key.size();
    while (from < json.size() && json[from] == ' ') ++from;
    if (from < json.size() && json[from] == '"') return json.substr(from + 1, json.find('"', from + 1) - from - 1);
    return json.substr(from, json.find_first_of(",}", from) - from);
}

static Header read_header(const std::string& folder) {
    std::ifstream file(folder + "/header.json");
    if (!file) throw std::runtime_error(folder + "/header.json cannot be read");
    std::stringstream text;
    text << file.rdbuf();
    Header h;
    h.text = text.str();
    h.matrix = field(h.text, "matrix");
    h.dtype = field(h.text, "dtype");
    h.row_starts = field(h.text, "row_starts");
    h.rows = std::stoll(field(h.text, "rows"));
    h.cols = std::stoll(field(h.text, "cols"));
    h.nnz = std::stoll(field(h.text, "nnz"));
    return h;
}

template <class T>
static std::vector<T> read(const std::string& path, int64_t count) {
    std::vector<T> data(count);
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error(path + " cannot be read");
    file.read(reinterpret_cast<char*>(data.data()), count * sizeof(T));
    if (file.gcount() != std::streamsize(count * sizeof(T))) throw std::runtime_error(path + " is too short");
    return data;
}

// An array in device memory.
template <class T>
struct OnDevice {
    T* data = nullptr;
    OnDevice() = default;
    explicit OnDevice(size_t count) { CHECK(cudaMalloc(&data, std::max<size_t>(count, 1) * sizeof(T))); }
    explicit OnDevice(const std::vector<T>& host) : OnDevice(host.size()) {
        CHECK(cudaMemcpy(data, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    }
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;
    ~OnDevice() { cudaFree(data); }
};

// Does `work(first, last)` for the parts of [0, n) on all cores.
static void in_parallel(int64_t n, const std::function<void(int64_t, int64_t)>& work) {
    const int64_t threads = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> pool;
    for (int64_t t = 0; t < threads; ++t) pool.emplace_back(work, n * t / threads, n * (t + 1) / threads);
    for (auto& thread : pool) thread.join();
}

struct Timing {
    double median_ms, least_ms;
    int64_t runs;
};

static constexpr int BATCHES = 25;

static Timing device_ms(const std::function<void()>& work) {
    constexpr double WARM_UP_MS = 50, BATCH_MS = 1.25;
    cudaEvent_t start, end;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    auto batch = [&](int64_t runs) {
        CHECK(cudaEventRecord(start));
        for (int64_t i = 0; i < runs; ++i) work();
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float ms = 0;
        CHECK(cudaEventElapsedTime(&ms, start, end));
        return double(ms);
    };
    batch(1);
    int64_t runs = 1;
    double run_ms = 0;
    for (double warm = 0; warm < WARM_UP_MS;) {
        const double ms = batch(runs);
        warm += std::max(ms, 1e-3);
        run_ms = std::max(ms / runs, 1e-6);
        runs = std::max<int64_t>(1, std::min<int64_t>(2 * runs, std::ceil(WARM_UP_MS / 4 / run_ms)));
    }
    runs = std::max<int64_t>(1, std::ceil(BATCH_MS / run_ms));
    std::vector<double> times;
    for (int i = 0; i < BATCHES; ++i) times.push_back(batch(runs) / runs);
    std::sort(times.begin(), times.end());
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(end));
    return {times[BATCHES / 2], times[0], runs};
}

// The matrix, the vectors and the right answer.
template <class T>
struct Problem {
    Header h;
    std::vector<int32_t> row_starts, columns;
    std::vector<T> values, x;
    std::vector<double> reference, bound;  // A x and |A| |x|

    explicit Problem(const std::string& folder, const Header& header) : h(header) {
        row_starts = read<int32_t>(folder + "/row_starts.bin", h.rows + 1);
        columns = read<int32_t>(folder + "/columns.bin", h.nnz);
        values = read<T>(folder + "/values.bin", h.nnz);
        x = read<T>(folder + "/x.bin", h.cols);
        reference.resize(h.rows);
        bound.resize(h.rows);
        in_parallel(h.rows, [&](int64_t first, int64_t last) {
            for (int64_t row = first; row < last; ++row) {
                double sum = 0, size = 0;
                for (int32_t k = row_starts[row]; k < row_starts[row + 1]; ++k) {
                    const double term = double(values[k]) * double(x[columns[k]]);
                    sum += term;
                    size += std::fabs(term);
                }
                reference[row] = sum;
                bound[row] = size;
            }
        });
    }

    // The largest |y - A x| / (|A| |x|) over the rows; NaN when y holds one.
    double error(const std::vector<T>& y) const {
        double largest = 0;
        for (int64_t row = 0; row < h.rows; ++row) {
            const double difference = std::fabs(double(y[row]) - reference[row]);
            const double error = difference == 0 ? 0 : difference / bound[row];
            if (!(error <= largest)) largest = error;
            if (std::isnan(largest)) break;
        }
        return largest;
    }
};

// A number as JSON has it: null for what is none.
static std::string number(double value) {
    char text[64];
    std::snprintf(text, sizeof text, "%.9g", value);
    return std::isfinite(value) ? text : "null";
}

static bool failed = false;

static void report_error(const std::string& what, const std::string& matrix, const std::string& message) {
    std::string clean;
    for (char c : message) clean += c == '"' || c == '\\' ? '\'' : c < ' ' ? ' ' : c;
    std::printf("{\"what\": \"error\", \"peer\": \"cusparse\", \"matrix\": \"%s\", \"stage\": \"%s\", \"error\": \"%s\"}\n",
                matrix.c_str(), what.c_str(), clean.c_str());
    std::fflush(stdout);
    std::fprintf(stderr, "%s: %s\n", what.c_str(), clean.c_str());
    failed = true;
}

// Times y = A x and prints its line.
template <class T>
static void measure(const Problem<T>& problem, cusparseHandle_t handle, cusparseSpMatDescr_t a, cusparseSpMVAlg_t algorithm,
                    const char* format, const char* name, int64_t format_bytes, bool preprocess) {
    const cudaDataType type = sizeof(T) == 8 ? CUDA_R_64F : CUDA_R_32F;
    const Header& h = problem.h;
    OnDevice<T> x(problem.x), y(std::vector<T>(h.rows, std::numeric_limits<T>::quiet_NaN()));
    cusparseDnVecDescr_t vector_x, vector_y;
    CHECK(cusparseCreateDnVec(&vector_x, h.cols, x.data, type));
    CHECK(cusparseCreateDnVec(&vector_y, h.rows, y.data, type));
    const T one = 1, zero = 0;
    const auto n = CUSPARSE_OPERATION_NON_TRANSPOSE;
    size_t bytes = 0;
    CHECK(cusparseSpMV_bufferSize(handle, n, &one, a, vector_x, &zero, vector_y, type, algorithm, &bytes));
    OnDevice<char> buffer(bytes);
    if (preprocess) CHECK(cusparseSpMV_preprocess(handle, n, &one, a, vector_x, &zero, vector_y, type, algorithm, buffer.data));
    auto product = [&] {
        CHECK(cusparseSpMV(handle, n, &one, a, vector_x, &zero, vector_y, type, algorithm, buffer.data));
    };
    product();
    std::vector<T> got(h.rows);
    CHECK(cudaMemcpy(got.data(), y.data, h.rows * sizeof(T), cudaMemcpyDeviceToHost));
    const double error = problem.error(got);
    const Timing timing = device_ms(product);
    CHECK(cusparseDestroyDnVec(vector_x));
    CHECK(cusparseDestroyDnVec(vector_y));

    int version = 0;
    CHECK(cusparseGetVersion(handle, &version));
    const int64_t moved = format_bytes + int64_t(sizeof(T)) * (h.rows + h.cols);
    std::printf("{\"what\": \"spmv\", \"peer\": \"cusparse\", \"version\": %d, \"matrix\": \"%s\", \"rows\": %lld, \"nnz\": %lld, "
                "\"dtype\": \"%s\", \"format\": \"%s\", \"algorithm\": \"%s\", \"preprocess\": %s, \"ms\": %s, \"least_ms\": %s, "
                "\"gb_per_s\": %s, \"format_bytes\": %lld, \"bytes_per_nonzero\": %s, \"moved_bytes\": %lld, \"batches\": %d, "
                "\"runs_per_batch\": %lld, \"error\": %s}\n",
                version, h.matrix.c_str(), (long long)h.rows, (long long)h.nnz, h.dtype.c_str(), format, name,
                preprocess ? "true" : "false", number(timing.median_ms).c_str(), number(timing.least_ms).c_str(),
                number(moved / timing.median_ms / 1e6).c_str(), (long long)format_bytes,
                number(double(format_bytes) / std::max<int64_t>(h.nnz, 1)).c_str(), (long long)moved, BATCHES,
                (long long)timing.runs, number(error).c_str());
    std::fflush(stdout);
}

template <class T>
static void csr(const Problem<T>& problem, cusparseHandle_t handle) {
    const Header& h = problem.h;
    const cudaDataType type = sizeof(T) == 8 ? CUDA_R_64F : CUDA_R_32F;
    OnDevice<int32_t> row_starts(problem.row_starts), columns(problem.columns);
    OnDevice<T> values(problem.values);
    const int64_t bytes = h.nnz * int64_t(sizeof(T) + 4) + 4 * (h.rows + 1);
    for (auto [algorithm, name] : {std::pair{CUSPARSE_SPMV_CSR_ALG1, "alg1"}, std::pair{CUSPARSE_SPMV_CSR_ALG2, "alg2"}}) {
        try {
            // A descriptor of its own: preprocessing leaves its traces there.
            cusparseSpMatDescr_t a;
            CHECK(cusparseCreateCsr(&a, h.rows, h.cols, h.nnz, row_starts.data, columns.data, values.data, CUSPARSE_INDEX_32I,
                                    CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type));
            measure(problem, handle, a, algorithm, "csr", name, bytes, true);
            CHECK(cusparseDestroySpMat(a));
        } catch (const std::exception& error) {
            report_error(std::string("csr ") + name, h.matrix, error.what());
        }
    }
}

template <class T>
static void sliced(const Problem<T>& problem, cusparseHandle_t handle) {
    constexpr int64_t SLICE = 32;
    const Header& h = problem.h;
    const int64_t slices = (h.rows + SLICE - 1) / SLICE;
    auto length = [&](int64_t row) { return int64_t(problem.row_starts[row + 1]) - problem.row_starts[row]; };
    std::vector<int64_t> starts(slices + 1, 0);
    for (int64_t s = 0; s < slices; ++s) {
        int64_t width = 0;
        for (int64_t row = s * SLICE; row < std::min(h.rows, (s + 1) * SLICE); ++row) width = std::max(width, length(row));
        starts[s + 1] = starts[s] + width * SLICE;
    }
    const int64_t places = starts[slices];
    if (places > std::numeric_limits<int32_t>::max()) throw std::runtime_error("more places than int32 can count");
    if (places > 3 * h.nnz + SLICE * SLICE) throw std::runtime_error("padded to more than three times its entries");
    // Column by column within a slice; -1 where a row has ended.
    std::vector<int32_t> columns(places, -1), offsets(starts.begin(), starts.end());
    std::vector<T> values(places, T(0));
    in_parallel(slices, [&](int64_t first, int64_t last) {
        for (int64_t row = first * SLICE; row < std::min(h.rows, last * SLICE); ++row) {
            for (int64_t k = 0; k < length(row); ++k) {
                const int64_t place = starts[row / SLICE] + k * SLICE + row % SLICE;
                columns[place] = problem.columns[problem.row_starts[row] + k];
                values[place] = problem.values[problem.row_starts[row] + k];
            }
        }
    });
    OnDevice<int32_t> device_offsets(offsets), device_columns(columns);
    OnDevice<T> device_values(values);
    cusparseSpMatDescr_t a;
    CHECK(cusparseCreateSlicedEll(&a, h.rows, h.cols, h.nnz, places, SLICE, device_offsets.data, device_columns.data,
                                  device_values.data, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                                  sizeof(T) == 8 ? CUDA_R_64F : CUDA_R_32F));
    const int64_t bytes = places * int64_t(sizeof(T) + 4) + 4 * (slices + 1);
    measure(problem, handle, a, CUSPARSE_SPMV_SELL_ALG1, "sell32", "sell alg1", bytes, false);
    CHECK(cusparseDestroySpMat(a));
}

template <class T>
static void run(const std::string& folder, const Header& header) {
    const Problem<T> problem(folder, header);
    cusparseHandle_t handle;
    CHECK(cusparseCreate(&handle));
    try {
        csr(problem, handle);
    } catch (const std::exception& error) {
        report_error("csr", header.matrix, error.what());
    }
    try {
        sliced(problem, handle);
    } catch (const std::exception& error) {
        report_error("sell32", header.matrix, error.what());
    }
    CHECK(cusparseDestroy(handle));
}

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s DIR (what sparse_device --export wrote)\n", argv[0]);
        return 2;
    }
    std::string matrix;
    try {
        const Header header = read_header(argv[1]);
        matrix = header.matrix;
        if (header.row_starts != "int32") throw std::runtime_error("only int32 row starts are read");
        if (header.dtype == "f64") run<double>(argv[1], header);
        else if (header.dtype == "f32") run<float>(argv[1], header);
        else throw std::runtime_error("dtype " + header.dtype);
    } catch (const std::exception& error) {
        report_error("start", matrix, error.what());
    }
    return failed ? 1 : 0;
}
