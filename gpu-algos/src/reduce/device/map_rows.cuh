// Expressions of rows and of reductions of these rows, in one launch: the kernel `map_rows`.
//
// A stage reduces an expression along each row by an operator (operators.cuh). The leaves of
// expressions are arrays, places, and results of earlier stages for the row; so are those of the
// map, the expression whose values are written. Softmax has two stages, the greatest of x and the
// sum of exp(x - greatest), and the map exp(x - greatest) / sum. The threads of a row, 1 << LOG of
// a block, go along it once for each stage and once for the map. Only the first time it comes from
// the device's memory, while it fits into the caches.
//
// Contract: grid ceil(rows / (THREADS >> LOG)), block THREADS, no dynamic shared memory; no scratch
// memory. LOG <= 10. Where IS_WHOLE the length of rows is a multiple of VECTOR_SIZE. An element
// that the target and a leaf have in common stands at the same place of both: all threads have read
// a row for the stages before one writes it. Bytes moved: the leaves and the target once.
// Parameters: RowParams (map_rows/params.rs).
#pragma once
#include "block/reduce.cuh"
#include "map_rows_params.cuh"
#include "operators.cuh"
#include "reduce.cuh"

namespace gpu::algos::reduce {

// The number at an index of a list.
template <int INDEX, int FIRST, int... REST> struct NumberAt {
    static constexpr int value = NumberAt<INDEX - 1, REST...>::value;
};
template <int FIRST, int... REST> struct NumberAt<0, FIRST, REST...> {
    static constexpr int value = FIRST;
};

// Where an expression has its operands: the numbers of its first leaf and of its first scalar among
// those of the kernel; and for each leaf its stage, or one of the kinds that are no stage.
template <class Expression, int FIRST_LEAF, int FIRST_SCALAR, int... STAGES> struct RowExpression {
    typedef Expression E;
    static constexpr int LEAF = FIRST_LEAF, SCALAR = FIRST_SCALAR;
    template <int K> static constexpr int stage() { return NumberAt<K, STAGES...>::value; }
};

// A stage: the reduction of an expression by an operator.
template <class Operator, class Source> struct RowStage {
    typedef Operator O;
    typedef Source Values;
    typedef decltype(O::finalize(O::to_partial(O::identity()), 0)) Results;
    typedef typename plain<decltype(get<0>(*static_cast<Results *>(nullptr)))>::type Result;
};

template <class... Stages> struct RowStages {
    static constexpr int SIZE = sizeof...(Stages);
};

// How a block goes along its rows.
template <int BLOCK_THREADS, int LOG_THREADS, int PACK, int PACKS_AT_ONCE, bool WHOLE>
struct RowTile {
    static constexpr int THREADS = BLOCK_THREADS, LOG = LOG_THREADS, VECTOR_SIZE = PACK,
                         VECTORS_PER_THREAD = PACKS_AT_ONCE;
    static constexpr bool IS_WHOLE = WHOLE;
    static constexpr int GROUP = 1 << LOG, ROWS = THREADS >> LOG;
};

// All that the kernel depends on: the tile, the map's expression, the stages, and the numbers of
// leaves and of scalars of all expressions.
template <class BlockTile, class MapExpression, class AllStages, int ALL_LEAVES, int ALL_SCALARS>
struct RowProgram {
    typedef BlockTile Tile;
    typedef MapExpression Map;
    typedef AllStages Stages;
    static constexpr int LEAVES = ALL_LEAVES, SCALARS = ALL_SCALARS;
};

// Shared memory: a state for each warp, and results of up to 16 bytes of each stage for each row.
template <int THREADS, int ROWS, int STAGES> struct RowStorage {
    TempStorage<uint4, THREADS / 32 * (MOST_STATE_BYTES / 16)> states;
    TempStorage<uint4, ROWS> results[STAGES];
};

// The row of a thread.
template <class R> struct Row {
    typedef typename R::Tile Tile;
    static constexpr int OPERANDS = 1 + R::LEAVES, VECTOR_SIZE = Tile::VECTOR_SIZE;
    const RowParams<R> &params;
    // The offsets of the row's first element.
    Offsets<OPERANDS> base;
    // Packs of the row; 0 for a row that is not there.
    int64_t packs;

    __device__ __forceinline__ explicit Row(const RowParams<R> &of) : params(of) {
        const uint64_t row = uint64_t(blockIdx.x) * Tile::ROWS + (threadIdx.x >> Tile::LOG);
        const bool is_there = row < params.rows;
#pragma unroll
        for (int k = 0; k < OPERANDS; k++) base.of[k] = 0;
        if (is_there)
            add_place(base, params.outer.at, 0, int(params.rank), row, params.is_wide != 0);
        packs = is_there ? (int64_t(params.length) + VECTOR_SIZE - 1) / VECTOR_SIZE : 0;
    }

    // The number of the last value of a pack.
    __device__ __forceinline__ int last_of(int64_t pack) const {
        if constexpr (Tile::IS_WHOLE) return VECTOR_SIZE - 1;
        const int64_t left = int64_t(params.length) - pack * VECTOR_SIZE;
        return left < VECTOR_SIZE ? int(left) - 1 : VECTOR_SIZE - 1;
    }

    // Loads the leaves of an expression for a pack. `results` are those of the stages before.
    template <class X, class Results> __device__ __forceinline__ void
    load_leaves(typename Wide<VECTOR_SIZE, typename X::E::Leaves>::type &in, int64_t pack,
                const Results &results) const {
        each(in, [&](auto k, auto &values) {
            constexpr int K = decltype(k)::value, STAGE = X::template stage<K>(),
                          LEAF = X::LEAF + K;
            typedef typename plain<decltype(values.lane[0])>::type T;
            if constexpr (STAGE >= 0) {
                const T value = T(get<STAGE>(results));
#pragma unroll
                for (int lane = 0; lane < VECTOR_SIZE; lane++) values.lane[lane] = value;
            } else {
                const int64_t step = params.row[0].strides[1 + LEAF],
                              offset = base.of[1 + LEAF] + pack * VECTOR_SIZE * step;
                const LeafParams &leaf = params.leaves[LEAF];
                const uint64_t kind = STAGE == PACKED_LEAF     ? PACKED
                                      : STAGE == CONSTANT_LEAF ? CONSTANT
                                                               : STRIDED;
                load(values, leaf.address, kind, offset, step, 0, last_of(pack));
            }
        });
    }

    // Calls `take(pack, values of its leaves)` for each pack of this thread, whose loads are in
    // flight at once.
    template <class X, class Results, class Take>
    __device__ __forceinline__ void for_each_pack(const Results &results, const Take &take) const {
        constexpr int AT_ONCE = Tile::VECTORS_PER_THREAD;
        for (int64_t i = threadIdx.x % Tile::GROUP; i < packs; i += Tile::GROUP * AT_ONCE) {
            typename Wide<VECTOR_SIZE, typename X::E::Leaves>::type in[AT_ONCE];
#pragma unroll
            for (int u = 0; u < AT_ONCE; u++) {
                if (i + u * Tile::GROUP < packs)
                    load_leaves<X>(in[u], i + u * Tile::GROUP, results);
            }
#pragma unroll
            for (int u = 0; u < AT_ONCE; u++) {
                if (i + u * Tile::GROUP < packs) take(i + u * Tile::GROUP, in[u]);
            }
        }
    }

    // The result of a stage for the row, in all threads of the row. All threads of the block call
    // it. If rows have more threads than a warp, it synchronises them.
    template <class Stage, class Results> __device__ __forceinline__ typename Stage::Result
    reduced(const Results &results, TempStorage<uint4, Tile::ROWS> &shared_results,
            void *shared_states) const {
        typedef typename Stage::O O;
        typedef typename Stage::Values X;
        typedef typename Stage::Result Result;
        static_assert(O::COMMUTATIVE, "threads take values out of order");
        static_assert(sizeof(typename O::State) <= MOST_STATE_BYTES && sizeof(Result) <= 16,
                      "the room of states and results");
        constexpr int LOCALS = O::LANES ? VECTOR_SIZE : 1;
        typename O::Local locals[LOCALS];
#pragma unroll
        for (int k = 0; k < LOCALS; k++) locals[k] = O::identity();
        for_each_pack<X>(results, [&](int64_t pack, const auto &in) {
            const auto values =
                values_of<typename X::E, VECTOR_SIZE>(params.scalars.at + X::SCALAR, nullptr, in);
            take_pack<O>(locals, values, 0, last_of(pack), pack * VECTOR_SIZE, 1);
        });
        const typename O::State state = reduce_groups<O>(
            combine_locals<O>(locals), Tile::LOG, static_cast<typename O::State *>(shared_states));
        const Result result = get<0>(O::finalize(state, int64_t(params.length)));
        if constexpr (Tile::LOG <= 5) {
            return shuffled(result, int(threadIdx.x % 32) & ~(Tile::GROUP - 1));
        } else {
            Result *all = reinterpret_cast<Result *>(shared_results.bytes);
            const int row = threadIdx.x >> Tile::LOG;
            if (threadIdx.x % Tile::GROUP == 0) all[row] = result;
            __syncthreads();
            return all[row];
        }
    }

    // Writes the values of the map.
    template <class X, class Results>
    __device__ __forceinline__ void write(const Results &results) const {
        for_each_pack<X>(results, [&](int64_t pack, const auto &in) {
            const auto values =
                values_of<typename X::E, VECTOR_SIZE>(params.scalars.at + X::SCALAR, nullptr, in);
            const int64_t step = params.row[0].strides[0];
            store<StoreMode::WHOLE>(values, params.target, params.is_packed != 0,
                                    base.of[0] + pack * VECTOR_SIZE * step, step, 0, last_of(pack));
        });
    }
};

// The tuple with one element more.
template <class R, int... I, class... T> __device__ __forceinline__ Tuple<T..., R>
appended(const Items<IndexList<I...>, T...> &from, const R &last) {
    Tuple<T..., R> all;
    ((get<I>(all) = get<I>(from)), ...);
    get<sizeof...(T)>(all) = last;
    return all;
}

// Computes the stages that are left, then the map.
template <class R, class Storage, class Results> __device__ __forceinline__ void
map_row(const Row<R> &row, Storage &, const Results &results, RowStages<>) {
    // Shuffles are no barrier: a warp's other lanes may still read elements of the row.
    if constexpr (R::Tile::LOG <= 5) __syncwarp();
    row.template write<typename R::Map>(results);
}
template <class R, class Storage, class Results, class Stage, class... Rest>
__device__ __forceinline__ void map_row(const Row<R> &row, Storage &storage, const Results &results,
                                        RowStages<Stage, Rest...>) {
    constexpr int NUMBER = R::Stages::SIZE - 1 - int(sizeof...(Rest));
    const auto result = row.template reduced<Stage>(results, storage.results[NUMBER],
                                                    static_cast<void *>(storage.states.bytes));
    map_row(row, storage, appended(results, result), RowStages<Rest...>{});
}

template <class R> __global__ void __launch_bounds__(R::Tile::THREADS)
    map_rows(const __grid_constant__ RowParams<R> params) {
    typedef RowStorage<R::Tile::THREADS, R::Tile::ROWS, R::Stages::SIZE> Storage;
    SHARED(Storage, storage, [1]);
    const Row<R> row(params);
    gpu::grid_dependency_wait();
    map_row(row, storage[0], Tuple<>{}, typename R::Stages{});
}

} // namespace gpu::algos::reduce
