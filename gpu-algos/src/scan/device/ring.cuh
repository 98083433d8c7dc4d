// Scans of many values that are neighbours in memory, in one launch, with tiles in shared memory.
//
// Values, the operator, segments and what is made of results: as in `lines` (scan.cuh). A tile comes into shared memory by copies that hold no registers, is scanned
// there by itself when it has come, and its sum is left in a slot at once; the sums of all tiles before are joined to it AHEAD tiles of its block later,
// when they are known as a rule. So a block that waits for a sum keeps nobody else waiting, and reads and writes meanwhile. Two warps do nothing but
// hand on: one draws tickets and leaves sums, the other adds up what others left.
//
// Measured on an H200: 2^28 f32 570 us (CUB 3.0.1 705, `lines` 600, a copy of as many bytes 512), 2^27 f64 606 us (CUB 672), by key 2^28 f32 900 us (CUB 1070). A prototype
// with sums of one type alone took 540, 562 and 800. With two blocks to a multiprocessor, which have twice as many slots to look at each, 580 and
// more; with AHEAD 1 1000 and more; slots looked at before they are likely to be there 600. Four warps that only write: f32 680, f64 650; each warp with values of its
// own, and one barrier to a tile: 610 and 635; smaller tiles, more of them ahead: 640 to 780; twice as many threads with half as many values: 563 and 660.
//
// Contract: that of `lines`, with tiles of THREADS * VALUES, but for: several tiles, PLAIN and not LINES; packs of all leaves of E and F whole in memory, and
// those of M none; block THREADS + 64, as many bytes of dynamic shared memory as Rooms::ALL. VALUES is a power of 2, at most 32 and eight packs.
// Words: those of `lines`.
#pragma once
#include "staged.cuh"

namespace gpu {
namespace scan {

// Tiles of a block that are scanned and wait for the sum before them; those that are on their way.
constexpr int AHEAD = 2, LOADING = 2, STAGES = AHEAD + LOADING;

// The sum of all tiles before one, for a warp that goes on from tile to tile: it looks at several groups of slots at once.
template <class R, class S> struct Lookback {
    // There are little more than four groups between a block's tiles on an H200. With 5 at once f32 takes 2 % longer than with 6, and f64 15; segments 7 % less.
    static constexpr int AT_ONCE = same<S, typename Parts<S>::Value>::value ? 6 : 5;
    Sums<R, S> sums;

    // The sum of all tiles before `tile`, which is not the first; in lane 0.
    __device__ __forceinline__ S before(uint32_t tile) {
        const uint32_t group = tile / GROUP, count = tile % GROUP, lane = threadIdx.x % 32;
        while (true) {
            const uint32_t first = sums.groups * GROUP + lane;
            S states[AT_ONCE];
            bool wanted[AT_ONCE];
#pragma unroll
            for (int g = 0; g < AT_ONCE; g++) wanted[g] = first + g * GROUP < tile;
            wait_for_all(sums.of_tiles + first, sums.of_tiles, wanted, states);
            __syncwarp();
            const uint32_t full = group - sums.groups;
            S all = sums.sum;
#pragma unroll
            for (int g = 0; g < AT_ONCE; g++) {
                const S of_group = Sums<R, S>::of_lanes(states[g], uint32_t(g) < full ? GROUP : count);
                if (uint32_t(g) < full) {
                    sums.add(of_group);
                    all = sums.sum;
                } else if (uint32_t(g) == full && count > 0) {
                    all = sums.groups > 0 ? R::join(sums.sum, of_group) : of_group;
                }
            }
            if (full < AT_ONCE) return all;
        }
    }
};

template <class E, class F, class M, class O, int HOW, int THREADS, int WIDTH, int CHUNKS>
__global__ void __launch_bounds__(THREADS + 64, 1) ring(const __grid_constant__ Words<At<E, F, M>::ALL> words) {
    typedef At<E, F, M> A;
    constexpr bool SEGMENTS = (HOW & (FLAGS | KEYS)) != 0;
    constexpr int WARPS = THREADS / 32, VALUES = WIDTH * CHUNKS, TILE = THREADS * VALUES;
    static_assert(WARPS <= 32 && VALUES <= 32, "sums of warps by a warp, heads of a thread in a word");
    typedef Runs<O, SEGMENTS> R;
    typedef typename R::State S;
    typedef typename O::State State;
    typedef typename FirstOf<decltype(O::finish(O::settle(O::neutral()), 0))>::type Result;
    typedef Behind<M, A, Result, WIDTH, HOW> Last;
    typedef Rooms<E, F, State, TILE, STAGES, LOADING> Staged;
    typedef Room<S, 2 * WARPS + 2> Shared;
    SHARED_DYNAMIC(uint4, dynamic);
    SHARED(Shared, room, [1]);
    // By the number of the block's tile: which one it is; where its first segment begins. By that and the warp: where the warp's does.
    SHARED(uint32_t, drawn, [STAGES + 1]);
    SHARED(int, first_head, [STAGES]);
    SHARED(int, heads_of_warps, [2][WARPS]);
    SHARED(bool, is_last, [1]);
    const Staged staged = {reinterpret_cast<unsigned char *>(dynamic)};
    S *sums_of_warps = reinterpret_cast<S *>(room[0].bytes), *sums_before = sums_of_warps + 2 * WARPS;
    const uint64_t *word = words.word;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const bool is_worker = warp < WARPS, is_drawer = warp == WARPS;
    const int64_t count = int64_t(word[COUNT]), shift = int64_t(word[SHIFT]);
    const uint32_t tiles = uint32_t(word[TILES]);
    Desk *desk = reinterpret_cast<Desk *>(word[SCRATCH]);
    Lookback<R, S> lookback = {Sums<R, S>(word[SCRATCH])};

    Offsets<A::LEAF_COUNT + 1> nothing;
#pragma unroll
    for (int k = 0; k <= A::LEAF_COUNT; k++) nothing.of[k] = 0;
    // What is before a tile's first value: thread 0 has it for the next tile that comes.
    typename Wide<1, typename F::Leaves>::type key_before, next_key_before;
    auto start_of = [&](uint32_t tile) { return int64_t(tile) * TILE - shift; };
    auto is_whole = [&](uint32_t tile) { return start_of(tile) >= 0 && start_of(tile) + TILE <= count; };
    auto start_loading = [&](uint32_t tile, int number) {
        if (is_worker && tile < tiles) {
#pragma unroll
            for (int u = 0; u < CHUNKS; u++) {
                const int pack = u * THREADS + int(threadIdx.x);
                start_copies<0, E, F, A, HOW, WIDTH, CHUNKS>(word, nothing, staged, number, pack, start_of(tile) + pack * WIDTH, count);
            }
            if constexpr ((HOW & KEYS) != 0) {
                if (threadIdx.x == 0 && start_of(tile) > 0) next_key_before = read_at<F, A, A::F_LEAVES, true>(word, start_of(tile) - 1);
            }
        }
        end_batch_of_copies();
    };

    gpu::wait_for_stream();
    // One behind the other, so that the first tiles of all blocks come before their second ones.
    for (int number = 0; number < STAGES; number++) {
        if (is_drawer && lane == 0) drawn[number] = atomicAdd(&desk->drawn, 1u);
        __syncthreads();
        if (number < LOADING - 1) start_loading(drawn[number], number);
    }

    uint32_t ticket = 0;
    // Tile `number` is written while tile `number + AHEAD` is scanned.
    for (int number = -AHEAD;; number++) {
        const int coming = number + AHEAD, loading = coming + LOADING - 1, parity = number & 1;
        wait_for_copies<LOADING - 2>();
        if (is_drawer && lane == 0 && loading >= STAGES) drawn[loading % (STAGES + 1)] = ticket;
        __syncthreads();
        const uint32_t written_tile = number >= 0 ? drawn[number % (STAGES + 1)] : 0, coming_tile = drawn[coming % (STAGES + 1)];
        if (written_tile >= tiles) break;
        key_before = next_key_before;
        start_loading(drawn[loading % (STAGES + 1)], loading);

        State values[VALUES], earlier;
        uint32_t heads = 0, begun = 0;
        const int64_t start = start_of(coming_tile) + int64_t(threadIdx.x) * VALUES;
        const int pack = int(threadIdx.x) * CHUNKS;
        if (is_drawer && lane == 0 && loading + 1 >= STAGES) ticket = atomicAdd(&desk->drawn, 1u);
        if (is_worker && coming_tile < tiles) {
            if constexpr ((HOW & FLAGS) != 0) {
#pragma unroll
                for (int u = 0; u < CHUNKS; u++) {
                    const auto in = read_staged<F, E, F, A, A::F_LEAVES, HOW, WIDTH, CHUNKS>(word, nothing, staged, coming, pack + u, start + u * WIDTH);
                    const auto flags = values_of<F, WIDTH>(word + A::F_SCALARS, word + A::F_EXTRA, in);
#pragma unroll
                    for (int k = 0; k < WIDTH; k++) heads |= uint32_t(bool(flags.lane[k])) << (u * WIDTH + k);
                }
                if (start < 0) heads = start > -32 ? heads >> uint32_t(-start) << uint32_t(-start) : 0;
            } else if constexpr ((HOW & KEYS) != 0) {
                typename FirstOf<typename F::Outputs>::type key;
                if (threadIdx.x == 0) {
                    key = values_of<F, 1>(word + A::F_SCALARS, word + A::F_EXTRA, key_before).lane[0];
                } else {
                    const auto in = read_staged<F, E, F, A, A::F_LEAVES, HOW, WIDTH, CHUNKS>(word, nothing, staged, coming, pack - 1, start - WIDTH);
                    key = values_of<F, WIDTH>(word + A::F_SCALARS, word + A::F_EXTRA, in).lane[WIDTH - 1];
                }
#pragma unroll
                for (int u = 0; u < CHUNKS; u++) {
                    const auto in = read_staged<F, E, F, A, A::F_LEAVES, HOW, WIDTH, CHUNKS>(word, nothing, staged, coming, pack + u, start + u * WIDTH);
                    const auto keys = values_of<F, WIDTH>(word + A::F_SCALARS, word + A::F_EXTRA, in);
#pragma unroll
                    for (int k = 0; k < WIDTH; k++) {
                        heads |= uint32_t(keys.lane[k] != key) << (u * WIDTH + k);
                        key = keys.lane[k];
                    }
                }
                // Neither the first value of all nor what is before it begins one.
                if (start <= 0) heads = start > -31 ? heads >> uint32_t(1 - start) << uint32_t(1 - start) : 0;
            }
#pragma unroll
            for (int u = 0; u < CHUNKS; u++) {
                const int64_t i = start + u * WIDTH;
                const auto in = read_staged<E, E, F, A, A::E_LEAVES, HOW, WIDTH, CHUNKS>(word, nothing, staged, coming, pack + u, i);
                const auto lifted = values_of<E, WIDTH>(word + A::E_SCALARS, word + A::E_EXTRA, in);
#pragma unroll
                for (int k = 0; k < WIDTH; k++) values[u * WIDTH + k] = O::lift(lifted.lane[k]);
            }
            if (!is_whole(coming_tile)) {
#pragma unroll
                for (int k = 0; k < VALUES; k++) {
                    if (start + k < 0 || start + k >= count) values[k] = O::settle(O::neutral());
                }
            }
            scan_thread<O>(values, heads);
            // Lanes with a head, and the last of them up to this one.
            uint32_t with_head = 0;
            int since = -1;
            if constexpr (SEGMENTS) {
                with_head = __ballot_sync(0xffffffffu, heads != 0);
                since = 31 - __clz(int(with_head & (0xffffffffu >> (31 - lane))));
                begun = with_head & ((1u << lane) - 1);
                const int first = int(threadIdx.x) * VALUES + __ffs(int(heads)) - 1;
                const int of_warp = __shfl_sync(0xffffffffu, first, with_head != 0 ? __ffs(int(with_head)) - 1 : 0);
                if (lane == 0) heads_of_warps[parity][warp] = with_head != 0 ? of_warp : TILE;
            }
            const State sum = scan_lanes<O>(values[VALUES - 1], since);
            earlier = shuffled_up(sum, 1);
            if (lane == 31) sums_of_warps[parity * WARPS + warp] = R::make(sum, with_head != 0);
        }
        __syncthreads();

        if (is_drawer) {
            if (coming_tile < tiles) {
                S sum = sums_of_warps[parity * WARPS + (lane < WARPS ? lane : 0)];
                sum = Sums<R, S>::of_lanes(sum, WARPS);
                if (lane == 0) lookback.sums.of_tiles[coming_tile].put(sum);
                if constexpr (SEGMENTS) {
                    const int head = lane < WARPS ? heads_of_warps[parity][lane] : TILE;
                    const uint32_t with_head = __ballot_sync(0xffffffffu, head < TILE);
                    const int first = __shfl_sync(0xffffffffu, head, with_head != 0 ? __ffs(int(with_head)) - 1 : 0);
                    if (lane == 0) first_head[coming % STAGES] = first;
                }
            }
        } else if (!is_worker) {
            const uint32_t next = number + 1 >= 0 ? drawn[(number + 1) % (STAGES + 1)] : 0;
            if (next > 0 && next < tiles) {
                const S before = lookback.before(next);
                if (lane == 0) sums_before[(number + 1) & 1] = before;
            }
        } else {
            if (coming_tile < tiles) {
                // The warps before, then the lanes; both only as far as the segment goes.
                S of_warps = sums_of_warps[parity * WARPS];
#pragma unroll
                for (int k = 1; k < WARPS; k++) {
                    const S of_warp = sums_of_warps[parity * WARPS + k];
                    if (k < warp) of_warps = R::join(of_warps, of_warp);
                }
                const bool has_base = warp > 0 || lane > 0;
                State base = R::value(of_warps);
                if (lane > 0) base = warp > 0 && begun == 0 ? O::join(base, earlier) : earlier;
                if (has_base) join_base<O>(values, base, heads);
                put_states<O, HOW, WIDTH, CHUNKS>(staged.states(coming), values, base, has_base, heads, pack);
            }
            if (number >= 0) {
                const bool has_before = written_tile > 0;
                State before;
                if (has_before) before = R::value(sums_before[parity]);
                const int head = SEGMENTS ? first_head[number % STAGES] : TILE;
                const State *from = staged.states(number);
#pragma unroll
                for (int u = 0; u < CHUNKS; u++) {
                    const int pack = u * THREADS + int(threadIdx.x);
                    const int64_t i = start_of(written_tile) + pack * WIDTH;
                    const Pack<State, WIDTH> states = load_pack<State, WIDTH>(from + placed<CHUNKS>(pack) * WIDTH);
                    Pack<Result, WIDTH> results;
#pragma unroll
                    for (int k = 0; k < WIDTH; k++) {
                        const int place = pack * WIDTH + k;
                        State state = states.lane[k];
                        if (has_before && place < head) state = (HOW & EXCLUSIVE) != 0 && place == 0 ? before : O::join(before, state);
                        results.lane[k] = get<0>(O::finish(state, 0));
                    }
                    const Pack<typename Last::Out, WIDTH> &out = Last::of(word, results, i, i >= 0 && i + WIDTH <= count);
                    write_staged<A, HOW>(word, out, 0, i, count);
                }
            }
        }
    }
    wait_for_copies<0>();
    gpu::let_next_start();

    // The last block to have looked at slots makes them zero for the next launch.
    if (threadIdx.x == 0) is_last[0] = arrive(&desk->left) == gridDim.x - 1;
    __syncthreads();
    if (!is_last[0]) return;
    lookback.sums.clear(tiles, THREADS + 64);
    if (threadIdx.x == 0) desk->drawn = desk->left = 0;
}

} // namespace scan
} // namespace gpu
