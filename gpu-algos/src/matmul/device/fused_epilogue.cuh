// Expressions around a product, which its kernel evaluates where it stores a pack of a row of c.
//
// E is the structure of an expression with one output (loop.cuh). Its leaf PRODUCT is the product,
// rounded to its type; the others are arrays, or places. A thread reads the elements of a leaf at
// the places that it stores, or that the threads of its warp store after it gave them the values,
// so a leaf may have the elements of c.
//
// KINDS has two bits for each leaf, the first leaf's lowest: how it lies along the rows of c
// (PACKED, STRIDED or CONSTANT). They are the kernel's, so that a whole tile loads without a
// branch, and the loads of several packs are on their way together.
//
// Contract: alpha is 1 and beta 0. Leaves are in the order of E::Leaves, that of the product is not
// read. Strides are in elements, `batch` has those along the axes of the stack, each axis with all
// leaves. Packs of PACKED leaves are aligned at every place that is a multiple of their width.
#pragma once
#include "epilogue.cuh"
#include "epilogue_params.cuh"
#include "loop.cuh"

namespace gpu::algos::matmul {

// The parameters Base of a kernel, and those of the expression around the product.
template <class Base, class E, int PRODUCT, uint32_t KINDS> struct FusedParams : Base {
    EpilogueParams<E> epilogue;
};

template <class E, int PRODUCT, uint32_t KINDS> struct FusedEpilogue {
    static constexpr bool IS_FUSED = true;
    static constexpr int LEAVES = E::Leaves::SIZE;
    static_assert(2 * LEAVES <= 32, "two bits for each leaf");

    const EpilogueParams<E> &params;
    int64_t first[LEAVES]; // the offsets of a matrix in the leaves

    // `tile` is a number among the tiles of all matrices.
    template <class Params>
    __device__ __forceinline__ FusedEpilogue(const Params &of, uint32_t tile)
        : params(of.epilogue) {
        uint32_t matrix = tile / (of.tiles_m * of.tiles_n);
#pragma unroll
        for (int k = 0; k < LEAVES; k++) first[k] = 0;
        for (uint32_t d = 0; d < of.batch_rank; d++) {
            const uint32_t length = uint32_t(of.batch[d].length);
            const int64_t at = matrix % length;
            matrix /= length;
#pragma unroll
            for (int k = 0; k < LEAVES; k++) first[k] += at * params.batch[d * LEAVES + k];
        }
    }

    // Packs that a thread loads of each leaf before it waits for them: one wait for several packs
    // that are not in the caches. It was not measured.
    static constexpr int PACKS_AT_ONCE = LEAVES <= 2 ? 8 : LEAVES == 3 ? 4 : 2;

    // The values of all leaves at a pack of a row.
    template <int VECTOR_SIZE> using LeafPacks =
        typename Wide<VECTOR_SIZE, typename E::Leaves>::type;

    // Loads the leaves at a pack of a row, of which `columns` are left, at least one.
    template <int VECTOR_SIZE> __device__ __forceinline__ void
    load_leaves(LeafPacks<VECTOR_SIZE> &in, int64_t row, int64_t column, int64_t columns) const {
        const int last = columns < VECTOR_SIZE ? int(columns) - 1 : VECTOR_SIZE - 1;
        each(in, [&](auto k, auto &values) {
            constexpr int K = decltype(k)::value;
            if constexpr (K != PRODUCT) {
                const EpilogueLeaf &leaf = params.leaves[K];
                load(values, leaf.address, (KINDS >> (2 * K)) & 3,
                     first[K] + row * leaf.row + column * leaf.column, leaf.column, 0, last);
            }
        });
    }

    // The values that a pack of products becomes.
    template <int VECTOR_SIZE, class T> __device__ __forceinline__ Pack<T, VECTOR_SIZE>
    applied(LeafPacks<VECTOR_SIZE> &in, const T *products) const {
        auto &own = get<PRODUCT>(in);
        typedef typename plain<decltype(own.lane[0])>::type Product;
#pragma unroll
        for (int lane = 0; lane < VECTOR_SIZE; lane++) own.lane[lane] = Product(products[lane]);
        typename Wide<VECTOR_SIZE, typename E::Outputs>::type out;
        gpu::apply<E, VECTOR_SIZE>(params.scalars.at, params.extra.at, in, out);
        Pack<T, VECTOR_SIZE> values;
#pragma unroll
        for (int lane = 0; lane < VECTOR_SIZE; lane++)
            values.lane[lane] = T(get<0>(out).lane[lane]);
        return values;
    }
};

template <class Base, class E, int PRODUCT, uint32_t KINDS>
struct EpilogueOf<FusedParams<Base, E, PRODUCT, KINDS>> {
    typedef FusedEpilogue<E, PRODUCT, KINDS> type;
};

} // namespace gpu::algos::matmul
