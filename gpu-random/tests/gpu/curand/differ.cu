// How many of n elements differ in any bit, added to *count.
//   grid, block   any, one-dimensional
#include "prelude.cuh"

template <class T> __global__ void differ(const T *a, const T *b, uint64_t n, uint32_t *count) {
    constexpr int WORDS = sizeof(T) / 4;
    uint32_t found = 0;
    for (uint64_t i = gpu::first_index(); i < n; i += gpu::index_step()) {
        const uint32_t *left = reinterpret_cast<const uint32_t *>(a + i),
                       *right = reinterpret_cast<const uint32_t *>(b + i);
        bool same = true;
        for (int word = 0; word < WORDS; word++) same = same && left[word] == right[word];
        found += same ? 0 : 1;
    }
    if (found > 0) atomicAdd(count, found);
}
