// Philox into device memory, in the order of a stream: see ../turns.rs. There is no state: a block
// of four words is a function of the seed, the generator and the number of blocks before it.
#include "prelude.cuh"
#include "constants.cuh"
#include "distributions.cuh"

namespace gpu_random {

namespace {

// The values of a block of four words.
template <class D> struct OfBlock {
    static constexpr int VALUES = 4 * D::VALUES / D::WORDS;
    struct alignas(VALUES * sizeof(typename D::Value)) Values {
        typename D::Value value[VALUES];
    };
};

template <class V> __device__ __forceinline__ void store_whole(V *out, const V &values) {
    if constexpr (sizeof(V) == 16) {
        __stcs(reinterpret_cast<uint4 *>(out), *reinterpret_cast<const uint4 *>(&values));
    } else if constexpr (sizeof(V) == 8) {
        __stcs(reinterpret_cast<uint2 *>(out), *reinterpret_cast<const uint2 *>(&values));
    } else {
        *out = values;
    }
}

// Number of blocks that a generator has made before the fill: one of two numbers.
struct AtOne {
    uint64_t below, others;
    uint32_t split;
    __device__ __forceinline__ uint64_t operator()(uint32_t generator) const {
        return generator < split ? below : others;
    }
};

// The same number after fills of several kinds. For each piece of generators `pieces` has the first
// one and the number.
struct AtMany {
    const uint64_t *pieces;
    uint32_t count;
    __device__ uint64_t operator()(uint32_t generator) const {
        uint32_t low = 0, high = count;
        while (high - low > 1) {
            uint32_t middle = (low + high) / 2;
            if (pieces[2 * middle] <= generator)
                low = middle;
            else
                high = middle;
        }
        return pieces[2 * low + 1];
    }
};

constexpr int THREADS = PHILOX_THREADS, BLOCKS = PHILOX_BLOCKS;

// Makes BLOCKS blocks of words for each thread, THREADS apart. A turn gives four values, of DRAWS
// blocks.
template <class D, uint32_t GENERATORS, class Made>
__device__ __forceinline__ void fill_part(typename D::Value *out, uint64_t n, uint64_t seed,
                                          const uint32_t *seeds, uint32_t generators,
                                          uint32_t cursor, uint32_t skip, bool whole,
                                          const D &distribution, Made made) {
    typedef OfBlock<D> Of;
    constexpr uint32_t DRAWS = D::WORDS / D::VALUES;
    if (GENERATORS != 0) generators = GENERATORS;
    uint64_t first = uint64_t(blockIdx.x) * (THREADS * BLOCKS) + threadIdx.x;
    typename Of::Values values[BLOCKS];
    uint64_t place[BLOCKS];
#pragma unroll
    for (int i = 0; i < BLOCKS; i++) {
        uint64_t number = first + i * THREADS, turn = number / DRAWS;
        place[i] = number * Of::VALUES - skip;
        uint64_t round = turn / generators;
        uint64_t generator = cursor + (turn - round * generators);
        if (generator >= generators) generator -= generators;
        uint64_t block = made(uint32_t(generator)) + round * DRAWS + number % DRAWS;
        Four words = philox_block(seeds != nullptr ? seeds[generator] : seed, generator, block);
#pragma unroll
        for (int j = 0; j < Of::VALUES / D::VALUES; j++)
            distribution(words.at + j * D::WORDS, values[i].value + j * D::VALUES);
    }
    gpu::grid_dependency_wait();
#pragma unroll
    for (int i = 0; i < BLOCKS; i++) {
        if (whole && place[i] < n && n - place[i] >= Of::VALUES) {
            store_whole(reinterpret_cast<typename Of::Values *>(out + place[i]), values[i]);
        } else {
#pragma unroll
            for (int j = 0; j < Of::VALUES; j++) {
                if (place[i] + j < n) out[place[i] + j] = values[i].value[j];
            }
        }
    }
}

// Fills a part all of whose values are wanted, if whole blocks are aligned and the generators are
// those of cuRAND's order. A block of threads has them in one row, so little is left to compute for
// each. Returns false, and does nothing, if the part is cut.
template <class D>
__device__ __forceinline__ bool fill_whole_part(typename D::Value *out, uint64_t n, uint64_t seed,
                                                uint32_t cursor, uint32_t skip,
                                                const D &distribution, const AtOne &made) {
    typedef OfBlock<D> Of;
    constexpr uint32_t DRAWS = D::WORDS / D::VALUES, GENERATORS = PHILOX_GENERATORS,
                       OF_ALL = THREADS * BLOCKS;
    static_assert(GENERATORS * DRAWS % OF_ALL == 0, "a block of threads stays in a row");
    const uint64_t number = uint64_t(blockIdx.x) * OF_ALL, begin = number * Of::VALUES - skip;
    if (begin >= n || n - begin < OF_ALL * Of::VALUES) return false;
    const uint64_t turn = number / DRAWS,
                   drawn = turn / GENERATORS * DRAWS + (DRAWS > 1 ? threadIdx.x % DRAWS : 0);
    const uint32_t first = uint32_t(turn % GENERATORS) + cursor + threadIdx.x / DRAWS;
    typename Of::Values values[BLOCKS];
#pragma unroll
    for (int i = 0; i < BLOCKS; i++) {
        const uint32_t generator = (first + i * (THREADS / DRAWS)) % GENERATORS;
        const Four words = philox_block(seed, generator, made(generator) + drawn);
#pragma unroll
        for (int j = 0; j < Of::VALUES / D::VALUES; j++)
            distribution(words.at + j * D::WORDS, values[i].value + j * D::VALUES);
    }
    gpu::grid_dependency_wait();
    typename Of::Values *to = reinterpret_cast<typename Of::Values *>(out + begin) + threadIdx.x;
#pragma unroll
    for (int i = 0; i < BLOCKS; i++) store_whole(to + i * THREADS, values[i]);
    return true;
}

} // namespace

// A fill from the 65536 generators of cuRAND's order.
//   grid, block   256 threads, each of which makes 4 blocks of words
//   out           n values
//   skip          values of the first turn that were given before, below 4
//   whole         1 where out - skip is aligned to 16 bytes
//   below, others blocks that each generator below `split`, and each other one, has made
//   bytes         n values written
template <class D> __global__ void __launch_bounds__(PHILOX_THREADS)
    philox_fill(typename D::Value *out, uint64_t n, uint64_t seed, uint32_t cursor, uint32_t skip,
                uint32_t whole, uint64_t below, uint64_t others, uint32_t split, uint64_t a,
                uint64_t b, uint64_t c) {
    D distribution(Parameters{a, b, c});
    if constexpr (HasTable<D>::VALUE) {
        gpu::grid_dependency_wait();
        prepare(distribution);
    }
    const AtOne made = {below, others, split};
    if (whole != 0 && fill_whole_part(out, n, seed, cursor, skip, distribution, made)) return;
    fill_part<D, PHILOX_GENERATORS>(out, n, seed, nullptr, 0, cursor, skip, whole != 0,
                                    distribution, made);
}

// A fill from any number of generators, which may be at any places.
//   pieces        `count` pairs: the first generator of a piece, from 0 on, and the blocks that
//                 each generator of the piece has made
//   seeds         one for each generator if `each` is 1, else `seed` is that of all
//   others        as in `philox_fill`
template <class D> __global__ void __launch_bounds__(PHILOX_THREADS)
    philox_fill_any(typename D::Value *out, uint64_t n, uint64_t seed, const uint32_t *seeds,
                    uint32_t each, uint32_t generators, uint32_t cursor, uint32_t skip,
                    uint32_t whole, const uint64_t *pieces, uint32_t count, uint64_t a, uint64_t b,
                    uint64_t c) {
    D distribution(Parameters{a, b, c});
    gpu::grid_dependency_wait();
    prepare(distribution);
    fill_part<D, 0>(out, n, seed, each ? seeds : nullptr, generators, cursor, skip, whole != 0,
                    distribution, AtMany{pieces, count});
}

} // namespace gpu_random
