// XORWOW into device memory, in the order of a stream: see ../turns.rs.
//
// Counted from the cursor, generator r is the one of turns r, r + generators, ...: its turns in a
// fill are a column of a matrix whose rows are written one after another. A fill is cut into chunks
// of rows, to which the states jump, so that there are more threads than generators. The last chunk
// stores the states after the fill in `next`.
#include "prelude.cuh"
#include "constants.cuh"
#include "distributions.cuh"
#include "xorwow.cuh"
#include "xorwow_states.cuh"

namespace gpu_random {

static_assert(sizeof(SeedSequence) == SEED_SEQUENCE_BYTES, "as the host passes it");
static_assert(WEYL == XORWOW_WEYL, "the host takes the same steps");

namespace {

// Generators of cuRAND's order.
constexpr uint32_t GENERATORS = XORWOW_GENERATORS;

// Chooses field by field: a choice between two structures as such would put both into memory.
__device__ __forceinline__ XorwowState choose(bool first, const XorwowState &a,
                                              const XorwowState &b) {
    XorwowState chosen;
#pragma unroll
    for (int i = 0; i < 5; i++) chosen.v[i] = first ? a.v[i] : b.v[i];
    chosen.d = first ? a.d : b.d;
    return chosen;
}

// Advances the state by `draws` draws, one after another.
__device__ __forceinline__ void skip_draws(XorwowState &state, uint32_t draws) {
    state.d += WEYL * draws;
#pragma unroll 1
    for (; draws >= 20; draws -= 20) {
#pragma unroll
        for (int i = 0; i < 20; i++) linear_step<true>(state.v);
    }
#pragma unroll 1
    for (; draws >= 5; draws -= 5) {
#pragma unroll
        for (int i = 0; i < 5; i++) linear_step<true>(state.v);
    }
#pragma unroll 1
    for (; draws > 0; draws--) linear_step<true>(state.v);
}

// Computes the values of a turn; APART as of `linear_step`.
template <class D, bool APART = false> __device__ __forceinline__ void
turn(const D &distribution, XorwowState &state, typename D::Value *out) {
    uint32_t words[D::WORDS];
#pragma unroll
    for (int i = 0; i < D::WORDS; i++) words[i] = draw<APART>(state);
    distribution(words, out);
}

// Writes the wanted values of a turn: value j of turn t stands at place VALUES t + j - skip.
template <class D>
__device__ __forceinline__ void store_some(typename D::Value *out, const typename D::Value *values,
                                           uint64_t number, uint64_t skip, uint64_t n) {
#pragma unroll
    for (int j = 0; j < D::VALUES; j++) {
        uint64_t place = number * D::VALUES + j - skip;
        if (place < n) out[place] = values[j];
    }
}

} // namespace

namespace {

// Applies the jump of a table to a state.
__device__ __forceinline__ void jump_by_table(XorwowState &state, const uint32_t *table) {
    uint32_t sum[5] = {0, 0, 0, 0, 0};
#pragma unroll
    for (int window = 0; window < 32; window++) {
        constexpr uint32_t MASK = 31;
        int bit = 5 * window, word = bit / 32, shift = bit % 32;
        uint32_t digit = state.v[word] >> shift;
        if (shift > 27) digit |= state.v[word < 4 ? word + 1 : 4] << (32 - shift);
        const uint32_t *entry = table + (32 * window + (digit & MASK)) * 5;
#pragma unroll
        for (int i = 0; i < 5; i++) sum[i] ^= entry[i];
    }
#pragma unroll
    for (int i = 0; i < 5; i++) state.v[i] = sum[i];
}

// Two generators of a thread. They are neighbours if a turn gives 8 bytes in two values, so that 16
// bytes are stored at a time. Else they are 32 apart, so that the threads of a warp store side by
// side.
template <class D> struct Two {
    typedef typename D::Value Value;
    static constexpr bool NEIGHBOURS = D::VALUES == 2 && sizeof(Value) == 4;
    static constexpr uint32_t APART = NEIGHBOURS ? 1 : 32;

    static __device__ __forceinline__ uint32_t first(uint32_t thread) {
        return NEIGHBOURS ? 2 * thread : thread / 32 * 64 + thread % 32;
    }

    // `out` is the address of the first generator's values.
    static __device__ __forceinline__ void store(Value *out, const Value *a, const Value *b) {
        if constexpr (NEIGHBOURS) {
            float4 four = {a[0], a[1], b[0], b[1]};
            __stcs(reinterpret_cast<float4 *>(out), four);
        } else if constexpr (D::VALUES == 2) {
            double2 of_a = {a[0], a[1]}, of_b = {b[0], b[1]};
            __stcs(reinterpret_cast<double2 *>(out), of_a);
            __stcs(reinterpret_cast<double2 *>(out + 2 * APART), of_b);
        } else {
            __stcs(out, a[0]);
            __stcs(out + APART, b[0]);
        }
    }
    // Draws a turn of each generator, and stores both.
    static __device__ __forceinline__ void turns(const D &distribution, XorwowState (&state)[2],
                                                 Value *out) {
        Value values[2][2];
        turn(distribution, state[0], values[0]);
        turn(distribution, state[1], values[1]);
        store(out, values[0], values[1]);
    }
};

// Loads the states of a thread's two generators, the first of which has rank `first`. The generator
// before the cursor drops its first draws. Any thread calls it; it does not synchronise.
template <class D> __device__ __forceinline__ void load_two(XorwowState (&state)[2],
                                                            const uint32_t *states,
                                                            uint32_t generators, uint32_t first,
                                                            uint32_t cursor, uint32_t dropped) {
#pragma unroll
    for (int k = 0; k < 2; k++) {
        uint32_t rank = first + k * Two<D>::APART;
        state[k] = load_state(states, generators, (cursor + rank) % generators);
        if (rank == generators - 1) {
            for (uint32_t i = 0; i < dropped; i++) draw(state[k]);
        }
    }
}

// Writes `rows` whole turns of a thread's two generators; `row` values stand from one to the next.
// Any thread calls it; it does not synchronise.
template <class D>
__device__ __forceinline__ void fill_rows(const D &distribution, XorwowState (&state)[2],
                                          typename D::Value *at, uint64_t rows, uint64_t row) {
    for (; rows >= D::UNROLL; rows -= D::UNROLL) {
#pragma unroll
        for (int i = 0; i < D::UNROLL; i++) Two<D>::turns(distribution, state, at + i * row);
        at += D::UNROLL * row;
    }
#pragma unroll 1
    for (; rows > 0; rows--) {
        Two<D>::turns(distribution, state, at);
        at += row;
    }
}

} // namespace

// A fill from the 4096 generators of cuRAND's order.
//   grid          8 blocks for each chunk
//   block         256; a thread has two generators
//   shared        20480 bytes
//   states, next  before and after; not the same memory
//   tables        one for each chunk but the first
//   out           n values; aligned to 16 bytes, skip 0 and n a multiple of VALUES where EXACT
//   turns         turns that give values; `complete` of them, all or all but the last, give all of
//                 theirs
//   dropped       words that the generator before the cursor draws first
//   chunk_rows    rows of a chunk; chunks * chunk_rows is at least complete / 4096
//   bytes         n values written, 24 read and 24 written for each generator, and 20480 read for
//                 each block
template <class D, bool EXACT> __global__ void __launch_bounds__(FILL_THREADS)
    xorwow_fill(const uint32_t *states, uint32_t *next, const uint32_t *tables,
                typename D::Value *out, uint64_t n, uint64_t turns, uint64_t complete,
                uint32_t cursor, uint32_t skip, uint32_t dropped, uint64_t chunk_rows,
                uint32_t chunks, uint64_t a, uint64_t b, uint64_t c) {
    typedef typename D::Value Value;
    constexpr uint32_t THREADS = FILL_THREADS, BLOCKS = GENERATORS / 2 / THREADS;
    constexpr uint64_t ROW = uint64_t(GENERATORS) * D::VALUES;
    SHARED(uint4, table, [JUMP_TABLE_WORDS / 4]);
    uint32_t chunk = blockIdx.x / BLOCKS;
    uint32_t first = Two<D>::first(blockIdx.x % BLOCKS * THREADS + threadIdx.x);
    D distribution(Parameters{a, b, c});
    gpu::grid_dependency_wait();
    prepare(distribution);

    if (chunk > 0) {
        const uint4 *own =
            reinterpret_cast<const uint4 *>(tables + uint64_t(chunk - 1) * JUMP_TABLE_WORDS);
#pragma unroll
        for (uint32_t i = 0; i < 5; i++)
            table[i * THREADS + threadIdx.x] = own[i * THREADS + threadIdx.x];
    }
    XorwowState state[2];
    load_two<D>(state, states, GENERATORS, first, cursor, dropped);
    if (chunk > 0) {
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 2; k++) {
            jump_by_table(state[k], reinterpret_cast<const uint32_t *>(table));
            state[k].d += WEYL * uint32_t(chunk * chunk_rows * D::WORDS);
        }
    }

    uint64_t full = complete / GENERATORS, row = chunk * chunk_rows;
    uint64_t end = chunk == chunks - 1 ? full : row + chunk_rows;
    if constexpr (EXACT) {
        Value *at = out + row * ROW + uint64_t(first) * D::VALUES;
        fill_rows(distribution, state, at, end - row, ROW);
    } else {
#pragma unroll 1
        for (; row < end; row++) {
#pragma unroll
            for (int k = 0; k < 2; k++) {
                Value values[2];
                turn(distribution, state[k], values);
                store_some<D>(out, values, row * GENERATORS + first + k * Two<D>::APART, skip, n);
            }
        }
    }
    if (chunk != chunks - 1) return;

    // The last row may have fewer turns, and its last turn may leave values for the next fill.
#pragma unroll
    for (int k = 0; k < 2; k++) {
        uint32_t rank = first + k * Two<D>::APART;
        uint64_t number = full * GENERATORS + rank;
        XorwowState after = state[k];
        if (number < turns) {
            Value values[2];
            turn(distribution, after, values);
            store_some<D>(out, values, number, skip, n);
        }
        store_state(next, GENERATORS, (cursor + rank) % GENERATORS,
                    choose(number < complete, after, state[k]));
    }
}

namespace {

// Writes rows of a short fill of `turns` turns, those of the generator of that rank from row
// `before` on: so many, or, if that is 0, all up to the last. Any thread calls it; it does not
// synchronise.
template <class D>
__device__ __forceinline__ void fill_column(const D &distribution, XorwowState &state,
                                            typename D::Value *out, uint32_t turns, uint32_t rank,
                                            uint32_t before, uint32_t rows) {
    typedef typename D::Value Value;
    constexpr uint64_t ROW = uint64_t(GENERATORS) * D::VALUES;
    struct alignas(D::VALUES * sizeof(Value)) Turn {
        Value value[D::VALUES];
    };
    skip_draws(state, before * D::WORDS);
    if (rows == 0) rows = (turns + GENERATORS - 1 - rank) / GENERATORS - before;
    Value *at = out + before * ROW + uint64_t(rank) * D::VALUES;
#pragma unroll 5
    for (; rows > 0; rows--) {
        Turn values;
        turn<D, true>(distribution, state, values.value);
        *reinterpret_cast<Turn *>(at) = values;
        at += ROW;
    }
}

} // namespace

// A short fill from the 4096 generators of cuRAND's order. Each generator has a thread, or a few
// that step to their first row, since a jump by a table takes longer than that.
//   grid          64 blocks for each part
//   block         64
//   states, next  before and after; not the same memory
//   out           VALUES * turns values, aligned to VALUES of them
//   part_rows     rows of a part; (parts - 1) * part_rows is at most turns / 4096
//   bytes         n values written, 24 read and 24 written for each generator
template <class D> __global__ void __launch_bounds__(FEW_THREADS)
    xorwow_fill_few(const uint32_t *states, uint32_t *next, typename D::Value *out, uint32_t turns,
                    uint32_t cursor, uint32_t part_rows, uint32_t parts, uint64_t a, uint64_t b,
                    uint64_t c) {
    constexpr uint32_t THREADS = FEW_THREADS, BLOCKS = GENERATORS / THREADS;
    const uint32_t part = blockIdx.x / BLOCKS, rank = blockIdx.x % BLOCKS * THREADS + threadIdx.x;
    const uint32_t generator = (cursor + rank) % GENERATORS;
    D distribution(Parameters{a, b, c});
    gpu::grid_dependency_wait();
    prepare(distribution);
    gpu::trigger_dependents();
    XorwowState state = load_state(states, GENERATORS, generator);
    fill_column(distribution, state, out, turns, rank, part * part_rows,
                part + 1 == parts ? 0 : part_rows);
    if (part + 1 == parts) store_state(next, GENERATORS, generator, state);
}

// The first fill of a seed's stream, if it is a short one: as `xorwow_fill_few`, but a block makes
// the states of its generators itself. A jump by a polynomial from the seed's state is the sum of
// those words of its sequence that the coefficients choose.
//   grid          a block for each 32 generators
//   block         256; eight threads add up a state, then a warp writes each part
//   shared        1296 bytes
//   subsequences  a polynomial of 8 words for each generator
//   next          the states behind the fill
//   out, turns    as in `xorwow_fill_few`; so are the others, and there are at most 8 parts
//   bytes         n values written, 32 read and 24 written for each generator
template <class D> __global__ void __launch_bounds__(256)
    xorwow_fill_first(SeedSequence seed, const uint32_t *subsequences, uint32_t *next,
                      typename D::Value *out, uint32_t turns, uint32_t part_rows, uint32_t parts,
                      uint64_t a, uint64_t b, uint64_t c) {
    SHARED(uint32_t, sequence, [SeedSequence::LENGTH]);
    SHARED(uint32_t, states, [5][FIRST_GENERATORS]);
    D distribution(Parameters{a, b, c});
    if (threadIdx.x < SeedSequence::LENGTH) sequence[threadIdx.x] = seed.words[threadIdx.x];
    gpu::grid_dependency_wait();
    prepare(distribution);
    gpu::trigger_dependents();
    const uint32_t digits = subsequences[blockIdx.x * 256 + threadIdx.x];
    __syncthreads();

    uint32_t sum[5] = {0, 0, 0, 0, 0};
    const uint32_t eighth = threadIdx.x % 8, *own = sequence + 20 * eighth;
#pragma unroll
    for (int k = 0; k < 20; k++) {
        const uint32_t mask = 0u - (digits >> (8 * (k / 5) + k % 5) & 1u);
#pragma unroll
        for (int i = 0; i < 5; i++) sum[i] ^= own[k + i] & mask;
    }
#pragma unroll
    for (int i = 0; i < 5; i++) {
        // By hand, since this crate does not use gpu-algos and its `reduce_lanes`.
#pragma unroll
        for (uint32_t lanes = 1; lanes < 8; lanes *= 2)
            sum[i] ^= __shfl_xor_sync(0xffffffffu, sum[i], lanes);
        if (eighth == 0) states[i][threadIdx.x / 8] = sum[i];
    }
    __syncthreads();

    const uint32_t part = threadIdx.x / 32, of_block = threadIdx.x % 32;
    if (part >= parts) return;
    XorwowState state;
#pragma unroll
    for (int i = 0; i < 5; i++) state.v[i] = states[i][of_block];
    state.d = seed.d;
    const uint32_t rank = blockIdx.x * FIRST_GENERATORS + of_block;
    fill_column(distribution, state, out, turns, rank, part * part_rows,
                part + 1 == parts ? 0 : part_rows);
    if (part + 1 == parts) store_state(next, GENERATORS, rank, state);
}

// A fill from any number of generators.
//   grid, block   a thread for each chunk of each generator
//   jumps         polynomials of 8 words, for chunk c: number c mod 256, then number 256 + c / 256
//   others        as in `xorwow_fill`
//   bytes         as there; stores of neighbouring threads lie side by side if there are many
//                 generators, and are of 16 bytes if there is one
template <class D> __global__ void __launch_bounds__(ANY_THREADS)
    xorwow_fill_any(const uint32_t *states, uint32_t *next, const uint32_t *jumps,
                    typename D::Value *out, uint64_t n, uint64_t turns, uint64_t complete,
                    uint32_t cursor, uint32_t skip, uint32_t dropped, uint64_t chunk_rows,
                    uint32_t generators, uint32_t chunks, uint64_t a, uint64_t b, uint64_t c) {
    typedef typename D::Value Value;
    uint64_t thread = gpu::first_index();
    uint32_t chunk = uint32_t(thread / generators), rank = uint32_t(thread % generators);
    uint32_t generator = uint32_t((uint64_t(cursor) + rank) % generators);
    D distribution(Parameters{a, b, c});
    gpu::grid_dependency_wait();
    prepare(distribution);
    if (thread >= uint64_t(generators) * chunks) return;

    XorwowState state = load_state(states, generators, generator);
    if (rank == generators - 1) {
        for (uint32_t i = 0; i < dropped; i++) draw(state);
    }
    const uint32_t *low = jumps + chunk % 256 * 8, *high = jumps + (256 + chunk / 256) * 8;
    if (chunk % 256 != 0) jump(state.v, [&](int w) { return low[w]; });
    if (chunk / 256 != 0) jump(state.v, [&](int w) { return high[w]; });
    state.d += WEYL * uint32_t(chunk * chunk_rows * D::WORDS);

    uint64_t number = chunk * chunk_rows * generators + rank;
    uint64_t full = complete / generators;
    uint64_t rows = chunk == chunks - 1 ? full - chunk * chunk_rows : chunk_rows;
    // The values of a single generator lie side by side, so that a thread stores 16 bytes at a
    // time.
    constexpr int PACK = 16 / sizeof(Value), TURNS = PACK / D::VALUES;
    if (generators == 1 && skip == 0 &&
        reinterpret_cast<uint64_t>(out + number * D::VALUES) % 16 == 0) {
#pragma unroll 1
        for (; rows >= TURNS; rows -= TURNS) {
            struct alignas(16) Pack {
                Value value[PACK];
            } pack;
#pragma unroll
            for (int i = 0; i < TURNS; i++) turn(distribution, state, pack.value + i * D::VALUES);
            *reinterpret_cast<uint4 *>(out + number * D::VALUES) =
                *reinterpret_cast<const uint4 *>(&pack);
            number += TURNS;
        }
    }
#pragma unroll 1
    for (; rows > 0; rows--) {
        Value values[2];
        turn(distribution, state, values);
        store_some<D>(out, values, number, skip, n);
        number += generators;
    }
    if (chunk != chunks - 1) return;
    XorwowState after = state;
    if (number < turns) {
        Value values[2];
        turn(distribution, after, values);
        store_some<D>(out, values, number, skip, n);
    }
    store_state(next, generators, generator, choose(number < complete, after, state));
}

} // namespace gpu_random
