// Kernels that make arrays.
//
// Contract of both: grid any one-dimensional, block THREADS, no shared memory; out[0..n) is writable and aligned for T;
// each element is written once, nothing else is touched. Bytes moved: sizeof(T) per element.
#include "prelude.cuh"

// out[i] = value. Stores of 16 bytes between the first and the last 16-byte boundary, single elements around them.
template <class T, int THREADS> __global__ void __launch_bounds__(THREADS) fill(T value, T *out, uint64_t n) {
    constexpr uint64_t WIDTH = 16 / sizeof(T);
    struct alignas(16) Pack { T lane[WIDTH]; };
    Pack pack;
    for (uint64_t k = 0; k < WIDTH; k++) pack.lane[k] = value;

    // Elements before the first boundary: the address is a multiple of sizeof(T), so this is a whole number of them.
    uint64_t misaligned = reinterpret_cast<uint64_t>(out) % 16;
    uint64_t head = misaligned == 0 ? 0 : (16 - misaligned) / sizeof(T);
    if (head > n) head = n;
    uint64_t packs = (n - head) / WIDTH;
    uint64_t tail = head + packs * WIDTH;

    Pack *body = reinterpret_cast<Pack *>(out + head);
    for (uint64_t i = gpu::first_index(); i < packs; i += gpu::index_step()) body[i] = pack;
    for (uint64_t i = gpu::first_index(); i < head; i += gpu::index_step()) out[i] = value;
    for (uint64_t i = tail + gpu::first_index(); i < n; i += gpu::index_step()) out[i] = value;
}
