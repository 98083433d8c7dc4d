// Scans in one launch.
//
// Values stand in lines, one behind the other: value i is at place i % LENGTH of line i / LENGTH. Each is read as the expression E of arrays, joined with all before it of its
// line or segment by the operator O (operators.cuh), passed through the expression M and written once.
//
// A tile is what a block has in registers: each warp has neighbouring rows of packs to itself. Tiles are drawn by a ticket, so all before a block's tile
// belong to blocks that run: a block may wait for them. It leaves the sum of its tile in a slot (handover.cuh), and adds up the slots of all tiles by
// itself, from where it was at its last tile to the one that it has now. Only sums of single tiles are handed on, so nobody waits for what somebody else
// still adds up, unlike for the prefixes of a look-back (Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016), and what
// is added to what depends on the number of values alone.
//
// Measured on an H200, 2^28 f32: 620 us; with four groups of slots read at once 656, with eight 676, since more that look disturb those that write; with sums
// of groups handed on too, which are fewer to look at but come later, 720; with a ticket that is drawn before the tile in hand is written 980.
//
// Contract: grid of at most TILES blocks of THREADS, no dynamic shared memory. Where there are several tiles SCRATCH is as `Stream::with_cleared_scratch` gives it
// and has a Desk and a slot for each tile. The target is one of the leaves or overlaps none.
// Words: see below. An axis: length, divisor, stride of the target, of each leaf of E, F and M; the scanned axes and those of the lines, the innermost first.
#pragma once
#include "operators.cuh"
#include "scanned.cuh"
#include "walk.cuh"

namespace gpu {
namespace scan {

constexpr int COUNT = 0, LENGTH = 1, DIVISOR = 2, TILES = 3, SCRATCH = 4, SHIFT = 5, WIDE = 6;
// The address of the target; whether its packs, and those of the leaves, are whole in memory.
constexpr int TARGET = 7, TARGET_PACKED = 8, SCANNED_RANK = 9, LINES_RANK = 10, LEAVES_PACKED = 11;
constexpr int LEAVES = 12;

// How a scan goes, as a set.
constexpr int EXCLUSIVE = 1; // without the value itself
constexpr int BACKWARD = 2;  // all leaves and the target are walked from the last element to the first
constexpr int PLAIN = 4;     // all leaves are, along all lines, neighbours in memory
constexpr int LINES = 8;     // there are several
constexpr int FLAGS = 16;    // F is true where a segment begins
constexpr int KEYS = 32;     // a segment begins where F differs from what it was before

// No expression.
struct Nothing {
    typedef Tuple<> Leaves;
    static constexpr int SCALARS = 0, EXTRA = 0;
};

// Where E's, F's and M's leaves, scalars and extra words begin.
template <class E, class F, class M> struct At {
    static constexpr int E_LEAVES = 0, F_LEAVES = E::Leaves::SIZE, M_LEAVES = F_LEAVES + F::Leaves::SIZE, LEAF_COUNT = M_LEAVES + M::Leaves::SIZE;
    static constexpr int AXIS_WORDS = 3 + LEAF_COUNT;
    static constexpr int SCANNED = LEAVES + 2 * LEAF_COUNT, LINE_AXES = SCANNED + AXES * AXIS_WORDS;
    static constexpr int E_SCALARS = LINE_AXES + AXES * AXIS_WORDS, F_SCALARS = E_SCALARS + E::SCALARS, M_SCALARS = F_SCALARS + F::SCALARS;
    static constexpr int E_EXTRA = M_SCALARS + M::SCALARS, F_EXTRA = E_EXTRA + E::EXTRA, M_EXTRA = F_EXTRA + F::EXTRA, ALL = M_EXTRA + M::EXTRA;
};

// A state with whether a segment begins in what it stands for, where there are segments.
template <class O, bool SEGMENTS> struct Runs;
template <class O> struct Runs<O, false> {
    typedef typename O::State State;
    static __device__ __forceinline__ State make(const typename O::State &value, bool) { return value; }
    static __device__ __forceinline__ State join(const State &a, const State &b) { return O::join(a, b); }
    static __device__ __forceinline__ bool begins(const State &) { return false; }
    static __device__ __forceinline__ const typename O::State &value(const State &run) { return run; }
};
template <class O> struct Runs<O, true> {
    struct State {
        typename O::State value;
        uint32_t begins;
    };
    static __device__ __forceinline__ State make(const typename O::State &value, bool begins) { return {value, begins}; }
    static __device__ __forceinline__ State join(const State &a, const State &b) {
        return b.begins ? b : State{O::join(a.value, b.value), a.begins};
    }
    static __device__ __forceinline__ bool begins(const State &run) { return run.begins != 0; }
    static __device__ __forceinline__ const typename O::State &value(const State &run) { return run.value; }
};

// Tiles that are added up together: one for each lane of a warp.
constexpr uint32_t GROUP = 32;

// At the head of the scratch memory: how many tiles have been drawn, and how many blocks look at slots no more.
struct Desk {
    uint32_t drawn, left, unused[2];
};

// The sum of all tiles up to some group, for a warp that goes on from group to group. Lane 0 has it.
template <class R, class S> struct Sums {
    Slot<S> *of_tiles;
    S sum;
    uint32_t groups;

    __device__ __forceinline__ explicit Sums(uint64_t scratch) : of_tiles(reinterpret_cast<Slot<S> *>(scratch + sizeof(Desk))), groups(0) {}

    __device__ __forceinline__ void add(const S &group) {
        sum = groups > 0 ? R::join(sum, group) : group;
        groups++;
    }
    // The sum of the first `count` lanes' states, in lane 0.
    static __device__ __forceinline__ S of_lanes(S state, uint32_t count) {
        const uint32_t lane = threadIdx.x % 32;
#pragma unroll
        for (uint32_t delta = 1; delta < 32; delta *= 2) {
            const S later = shuffled_down(state, int(delta), 32);
            if (lane % (2 * delta) == 0 && lane + delta < count) state = R::join(state, later);
        }
        return state;
    }
    // On to `group`, several at a time.
    __device__ __forceinline__ void advance(uint32_t group) {
        constexpr uint32_t AT_ONCE = Slot<S>::WORDS > 1 ? 1 : 2;
        const uint32_t lane = threadIdx.x % 32;
        while (groups < group) {
            S states[AT_ONCE];
            bool here[AT_ONCE];
#pragma unroll
            for (uint32_t k = 0; k < AT_ONCE; k++) here[k] = groups + k >= group || of_tiles[(groups + k) * GROUP + lane].look(states[k]);
            const uint32_t end = group - groups < AT_ONCE ? group - groups : AT_ONCE;
#pragma unroll
            for (uint32_t k = 0; k < AT_ONCE; k++) {
                if (k >= end) continue;
                if (!here[k]) states[k] = of_tiles[groups * GROUP + lane].wait();
                __syncwarp();
                add(of_lanes(states[k], GROUP));
            }
        }
    }
    // The sum of all tiles before `tile`, which is not the first; of all lanes.
    __device__ __forceinline__ S before(uint32_t tile) {
        const uint32_t group = tile / GROUP, count = tile % GROUP, lane = threadIdx.x % 32;
        advance(group);
        S all = sum;
        if (count > 0) {
            S state;
            if (lane < count) state = of_tiles[group * GROUP + lane].wait();
            __syncwarp();
            state = of_lanes(state, count);
            all = group > 0 ? R::join(sum, state) : state;
        }
        return shuffled(all, 0);
    }
};

// Offsets of all operands at value i.
template <class A> __device__ __forceinline__ Offsets<A::LEAF_COUNT + 1> offsets_at(const uint64_t *word, int64_t i) {
    Offsets<A::LEAF_COUNT + 1> offsets;
#pragma unroll
    for (int k = 0; k <= A::LEAF_COUNT; k++) offsets.of[k] = 0;
    const bool wide = word[WIDE];
    const uint64_t line = quotient(uint64_t(i), word[LENGTH], word[DIVISOR], wide);
    add_place<A>(offsets, word + A::SCANNED, 0, int(word[SCANNED_RANK]), uint64_t(i) - line * word[LENGTH], wide);
    add_place<A>(offsets, word + A::LINE_AXES, 0, int(word[LINES_RANK]), line, wide);
    return offsets;
}

// Those leaves of X at value i that begin with number FIRST.
template <class X, class A, int FIRST, bool ALONG> __device__ __forceinline__ typename Wide<1, typename X::Leaves>::type read_at(const uint64_t *word, int64_t i) {
    typename Wide<1, typename X::Leaves>::type in;
    Offsets<A::LEAF_COUNT + 1> offsets;
    if constexpr (!ALONG) offsets = offsets_at<A>(word, i);
    each(in, [&](auto k, auto &values) {
        constexpr int K = FIRST + decltype(k)::value;
        const int64_t step = int64_t(word[A::SCANNED + 3 + K]);
        load(values, word[LEAVES + 2 * K], SPACED, ALONG ? i * step : offsets.of[1 + K], step);
    });
    return in;
}

// The same for a pack of values that begins with number i, all there in memory; BACK takes it from the last to the first.
template <class X, class A, int FIRST, int WIDTH, bool BACK>
__device__ __forceinline__ typename Wide<WIDTH, typename X::Leaves>::type read_whole(const uint64_t *word, int64_t i) {
    typename Wide<WIDTH, typename X::Leaves>::type in;
    each(in, [&](auto k, auto &values) {
        constexpr int K = FIRST + decltype(k)::value;
        typedef typename plain<decltype(values.lane[0])>::type T;
        const int64_t step = int64_t(word[A::SCANNED + 3 + K]);
        if constexpr (same<T, Place>::value) {
            load_whole(values, word[LEAVES + 2 * K], i * step, step);
        } else if constexpr (BACK) {
            typename plain<decltype(values)>::type turned;
            load_whole(turned, word[LEAVES + 2 * K], -(i + WIDTH - 1), 1);
#pragma unroll
            for (int lane = 0; lane < WIDTH; lane++) values.lane[lane] = turned.lane[WIDTH - 1 - lane];
        } else {
            load_whole(values, word[LEAVES + 2 * K], i, 1);
        }
    });
    return in;
}

// A pack that may be cut at either end, value by value.
template <class X, class A, int FIRST, int WIDTH, bool ALONG>
__device__ __forceinline__ typename Wide<WIDTH, typename X::Leaves>::type read_cut(const uint64_t *word, int64_t i) {
    typename Wide<WIDTH, typename X::Leaves>::type in;
    const int64_t count = int64_t(word[COUNT]);
#pragma unroll
    for (int lane = 0; lane < WIDTH; lane++) {
        if (i + lane < 0 || i + lane >= count) continue;
        auto one = read_at<X, A, FIRST, ALONG>(word, i + lane);
        each(in, [&](auto k, auto &values) { values.lane[lane] = get<decltype(k)::value>(one).lane[0]; });
    }
    return in;
}

template <class X, class A, int FIRST, int WIDTH, int HOW>
__device__ __forceinline__ typename Wide<WIDTH, typename X::Leaves>::type read(const uint64_t *word, int64_t i, bool whole) {
    constexpr bool ALONG = (HOW & PLAIN) != 0;
    if constexpr (ALONG) {
        if (whole && word[LEAVES_PACKED]) return read_whole<X, A, FIRST, WIDTH, (HOW & BACKWARD) != 0>(word, i);
    }
    return read_cut<X, A, FIRST, WIDTH, ALONG>(word, i);
}

template <class T> struct FirstOf {
    typedef typename plain<decltype(get<0>(*static_cast<T *>(nullptr)))>::type type;
};

// What M makes of the results of a pack, with what else it reads: they stand in those of its extra words that is_result tells.
template <class M, class A, class R, int WIDTH>
__device__ __forceinline__ Pack<typename FirstOf<typename M::Outputs>::type, WIDTH> computed(const uint64_t *word, const Pack<R, WIDTH> &results,
                                                                                             const typename Wide<WIDTH, typename M::Leaves>::type &in) {
    Pack<typename FirstOf<typename M::Outputs>::type, WIDTH> out;
#pragma unroll
    for (int lane = 0; lane < WIDTH; lane++) {
        uint64_t extra[M::EXTRA + 1];
#pragma unroll
        for (int k = 0; k < M::EXTRA; k++) extra[k] = M::is_result(k) ? as_word(results.lane[lane]) : word[A::M_EXTRA + k];
        typename M::Leaves x;
        typename M::Outputs y;
        each(x, [&](auto k, auto &value) { value = get<decltype(k)::value>(in).lane[lane]; });
        M::apply(word + A::M_SCALARS, extra, x, y);
        out.lane[lane] = get<0>(y);
    }
    return out;
}

// The same for the results from number i on. Nothing leaves them as they are.
template <class M, class A, class R, int WIDTH, int HOW> struct Behind {
    typedef typename FirstOf<typename M::Outputs>::type Out;
    static __device__ __forceinline__ Pack<Out, WIDTH> of(const uint64_t *word, const Pack<R, WIDTH> &results, int64_t i, bool whole) {
        return computed<M, A>(word, results, read<M, A, A::M_LEAVES, WIDTH, HOW>(word, i, whole));
    }
};
template <class A, class R, int WIDTH, int HOW> struct Behind<Nothing, A, R, WIDTH, HOW> {
    typedef R Out;
    static __device__ __forceinline__ const Pack<R, WIDTH> &of(const uint64_t *, const Pack<R, WIDTH> &results, int64_t, bool) { return results; }
};

// A pack of results to the target.
template <class A, int HOW, class T, int WIDTH>
__device__ __forceinline__ void write(const uint64_t *word, const Pack<T, WIDTH> &out, int64_t i, bool whole) {
    if constexpr ((HOW & PLAIN) != 0) {
        if (whole && word[TARGET_PACKED]) {
            if constexpr ((HOW & BACKWARD) != 0) {
                Pack<T, WIDTH> turned;
#pragma unroll
                for (int k = 0; k < WIDTH; k++) turned.lane[k] = out.lane[WIDTH - 1 - k];
                store<true>(turned, word[TARGET], true, -(i + WIDTH - 1), 1);
            } else {
                store<true>(out, word[TARGET], true, i, 1);
            }
            return;
        }
    }
#pragma unroll
    for (int k = 0; k < WIDTH; k++) {
        if (i + k < 0 || i + k >= int64_t(word[COUNT])) continue;
        int64_t offset = (i + k) * int64_t(word[A::SCANNED + 2]);
        if constexpr ((HOW & PLAIN) == 0) offset = offsets_at<A>(word, i + k).of[0];
        Pack<T, 1> one;
        one.lane[0] = out.lane[k];
        store(one, word[TARGET], false, offset, 1);
    }
}

// What a thread reads of a tile: nothing is computed from it here, so that all loads are under way before the first use.
template <class E, class F, class A, int HOW, int WIDTH, int UNROLL> struct Tile {
    typename Wide<WIDTH, typename E::Leaves>::type values[UNROLL];
    typename Wide<WIDTH, typename F::Leaves>::type heads[UNROLL];
    // What is before the warp's first pack.
    typename Wide<1, typename F::Leaves>::type key_before;

    __device__ __forceinline__ void read_pack(const uint64_t *word, int64_t start, int u) {
        const int64_t i = start + u * 32 * WIDTH, count = int64_t(word[COUNT]);
        const bool whole = i >= 0 && i + WIDTH <= count;
        values[u] = read<E, A, A::E_LEAVES, WIDTH, HOW>(word, i, whole);
        if constexpr ((HOW & (FLAGS | KEYS)) != 0) heads[u] = read<F, A, A::F_LEAVES, WIDTH, HOW>(word, i, whole);
        if constexpr ((HOW & KEYS) != 0) {
            if (u == 0 && threadIdx.x % 32 == 0 && i > 0 && i <= count) {
                key_before = read_at<F, A, A::F_LEAVES, (HOW & PLAIN) != 0>(word, i - 1);
            }
        }
    }

    // Which of the values begin a segment, as bits for each pack.
    __device__ __forceinline__ void begins(const uint64_t *word, int64_t start, uint32_t (&bits)[UNROLL]) const {
#pragma unroll
        for (int u = 0; u < UNROLL; u++) bits[u] = 0;
        if constexpr ((HOW & FLAGS) != 0) {
#pragma unroll
            for (int u = 0; u < UNROLL; u++) {
                const auto flags = values_of<F, WIDTH>(word + A::F_SCALARS, word + A::F_EXTRA, heads[u]);
#pragma unroll
                for (int k = 0; k < WIDTH; k++) bits[u] |= uint32_t(bool(flags.lane[k])) << k;
            }
        } else if constexpr ((HOW & KEYS) != 0) {
            auto earlier = values_of<F, 1>(word + A::F_SCALARS, word + A::F_EXTRA, key_before).lane[0];
#pragma unroll
            for (int u = 0; u < UNROLL; u++) {
                const auto keys = values_of<F, WIDTH>(word + A::F_SCALARS, word + A::F_EXTRA, heads[u]);
                const auto neighbour = shuffled_up(keys.lane[WIDTH - 1], 1);
                if (threadIdx.x % 32 != 0) earlier = neighbour;
                bits[u] = start + u * 32 * WIDTH > 0 && keys.lane[0] != earlier;
#pragma unroll
                for (int k = 1; k < WIDTH; k++) bits[u] |= uint32_t(keys.lane[k] != keys.lane[k - 1]) << k;
                earlier = shuffled(keys.lane[WIDTH - 1], 31);
            }
        }
        if constexpr ((HOW & LINES) != 0) {
            const int64_t length = int64_t(word[LENGTH]);
#pragma unroll
            for (int u = 0; u < UNROLL; u++) {
                const int64_t i = start + u * 32 * WIDTH, last = i + WIDTH - 1;
                // The first value of a line at or behind i.
                const int64_t line = i <= 0 ? 0 : int64_t(quotient(uint64_t(i + length - 1), uint64_t(length), word[DIVISOR], word[WIDE]));
                for (int64_t head = line * length; head <= last; head += length) bits[u] |= 1u << uint32_t(head - i);
            }
        }
    }
};

// Blocks that are to fit a multiprocessor, where each thread has so many values.
template <class O, int HOW, int THREADS, int VALUES> struct Resident {
    typedef Runs<O, ((HOW & (LINES | FLAGS | KEYS)) != 0)> R;
    static constexpr int BLOCKS = (VALUES * WordsOf<typename R::State>::COUNT > 32 ? 512 : 1024) / THREADS;
};

template <class E, class F, class M, class O, int HOW, int THREADS, int WIDTH, int UNROLL>
__global__ void __launch_bounds__(THREADS, (Resident<O, HOW, THREADS, WIDTH * UNROLL>::BLOCKS)) lines(const __grid_constant__ Words<At<E, F, M>::ALL> words) {
    typedef At<E, F, M> A;
    constexpr bool SEGMENTS = (HOW & (LINES | FLAGS | KEYS)) != 0;
    constexpr int WARPS = THREADS / 32, TILE = THREADS * WIDTH * UNROLL;
    typedef Runs<O, SEGMENTS> R;
    typedef typename R::State S;
    typedef typename FirstOf<decltype(O::finish(O::settle(O::neutral()), 0))>::type Result;
    typedef Behind<M, A, Result, WIDTH, HOW> Last;
    typedef Room<S, WARPS + 1> Shared;
    SHARED(Shared, room, [1]);
    SHARED(uint32_t, ticket, [1]);
    SHARED(bool, is_last, [1]);
    S *shared = reinterpret_cast<S *>(room[0].bytes);
    const uint64_t *word = words.word;
    const uint32_t tiles = uint32_t(word[TILES]);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64_t count = int64_t(word[COUNT]);

    Desk *desk = reinterpret_cast<Desk *>(word[SCRATCH]);
    Sums<R, S> sums(word[SCRATCH]);
    // Blocks that have more than one tile come here again for the next. It is drawn late: all behind it wait until its sum is there.
    const bool once = gridDim.x == tiles;
    uint32_t place = 0;

    gpu::wait_for_stream();
    do {
        uint32_t tile = 0;
        if (tiles > 1) {
            if (threadIdx.x == 0) ticket[0] = atomicAdd(&desk->drawn, 1u);
            __syncthreads();
            tile = ticket[0];
            if (tile >= tiles) break;
        }
        const int64_t start = int64_t(tile) * TILE + int64_t(warp * UNROLL * 32 + lane) * WIDTH - int64_t(word[SHIFT]);
        Tile<E, F, A, HOW, WIDTH, UNROLL> in;
#pragma unroll
        for (int u = 0; u < UNROLL; u++) in.read_pack(word, start, u);
        uint32_t heads[UNROLL];
        if constexpr (SEGMENTS) in.begins(word, start, heads);

        // Each pack by itself, then the packs of a row, then the rows of the warp.
        typename O::State values[UNROLL][WIDTH];
        S before[UNROLL];
        S rows;
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            const int64_t i = start + u * 32 * WIDTH;
            const auto lifted = values_of<E, WIDTH>(word + A::E_SCALARS, word + A::E_EXTRA, in.values[u]);
#pragma unroll
            for (int k = 0; k < WIDTH; k++) {
                const bool exists = i + k >= 0 && i + k < count;
                values[u][k] = exists ? O::lift(lifted.lane[k]) : O::settle(O::neutral());
                if (k > 0 && !(SEGMENTS && (heads[u] >> k & 1) != 0)) values[u][k] = O::join(values[u][k - 1], values[u][k]);
            }
            S sum = R::make(values[u][WIDTH - 1], SEGMENTS && heads[u] != 0);
#pragma unroll
            for (int delta = 1; delta < 32; delta *= 2) {
                const S earlier = shuffled_up(sum, delta);
                if (lane >= delta) sum = R::join(earlier, sum);
            }
            const S row = shuffled(sum, 31), packs = shuffled_up(sum, 1);
            if (u == 0) {
                before[u] = packs;
                rows = row;
            } else {
                before[u] = lane > 0 ? R::join(rows, packs) : rows;
                rows = R::join(rows, row);
            }
        }
        if (lane == 0) shared[warp] = rows;
        __syncthreads();

        // The warps of the block, and the tiles.
        S base = shared[0];
        if (warp == 0) {
#pragma unroll
            for (int k = 1; k < WARPS; k++) base = R::join(base, shared[k]);
            if (tiles > 1) {
                if (lane == 0) sums.of_tiles[tile].put(base);
                // Of what is before only the first segment of the tile hears.
                const bool is_needed = __shfl_sync(0xffffffffu, !SEGMENTS || (heads[0] & 1) == 0, 0);
                if (tile > 0 && is_needed) base = sums.before(tile);
                if (lane == 0) {
                    shared[WARPS] = base;
                    if (once) place = arrive(&desk->left);
                }
            }
        } else {
#pragma unroll
            for (int k = 1; k < WARPS; k++) {
                if (k < warp) base = R::join(base, shared[k]);
            }
        }
        gpu::let_next_start();
        if (tiles > 1) {
            __syncthreads();
            if (tile > 0) base = warp == 0 ? shared[WARPS] : R::join(shared[WARPS], base);
        }
        const bool has_base = tile > 0 || warp > 0;

#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            const int64_t i = start + u * 32 * WIDTH;
            const bool is_first = u == 0 && lane == 0;
            S all = is_first ? base : has_base ? R::join(base, before[u]) : before[u];
            const bool has_all = has_base || !is_first;
            Pack<Result, WIDTH> results;
#pragma unroll
            for (int k = 0; k < WIDTH; k++) {
                const bool begun = SEGMENTS && (heads[u] & ((2u << k) - 1)) != 0, begins_here = SEGMENTS && (heads[u] >> k & 1) != 0;
                typename O::State state;
                if constexpr ((HOW & EXCLUSIVE) != 0) {
                    const bool begun_before = SEGMENTS && (heads[u] & ((1u << k) - 1)) != 0;
                    if (begins_here || (k == 0 && !has_all)) {
                        state = O::settle(O::neutral());
                    } else if (k == 0) {
                        state = R::value(all);
                    } else {
                        const typename O::State &here = values[u][k > 0 ? k - 1 : 0];
                        state = begun_before || !has_all ? here : O::join(R::value(all), here);
                    }
                    // The place of the first value, where packs begin before it.
                    if (i + k == 0) state = O::settle(O::neutral());
                } else {
                    state = begun || !has_all ? values[u][k] : O::join(R::value(all), values[u][k]);
                }
                results.lane[k] = get<0>(O::finish(state, 0));
            }
            const bool whole = i >= 0 && i + WIDTH <= count;
            const Pack<typename Last::Out, WIDTH> &out = Last::of(word, results, i, whole);
            write<A, HOW>(word, out, i, whole);
        }
        // The next tile's states take the place of this one's.
        __syncthreads();
    } while (!once);
    if (tiles == 1) return;

    // The last block to have looked at slots makes them zero for the next launch.
    if (threadIdx.x == 0) {
        if (!once) place = arrive(&desk->left);
        is_last[0] = place == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last[0]) return;
    for (uint32_t k = threadIdx.x; k < tiles; k += THREADS) sums.of_tiles[k].clear();
    if (threadIdx.x == 0) desk->drawn = desk->left = 0;
}

} // namespace scan
} // namespace gpu
