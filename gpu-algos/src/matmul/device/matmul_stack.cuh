// Products of stacks of small matrices, c = alpha a b + beta c, several of them in a block.
//
// A block copies whole matrices a and b into shared memory, each as it lies, with zeros around it
// up to a tile of SIZE rows and columns. A thread has ROWS * COLUMNS sums of one c, in packs of 16
// bytes; the threads of a matrix have every (SIZE / ROWS)th row. A thread adds the products of a
// sum in the order of k.
//
// Contract: grid matrices of the stack / MATRICES, rounded up; block Tile::THREADS; dynamic shared
// memory MATRICES * (A_SIZE + B_SIZE) elements. m, n and k are at most SIZE; the stack has one
// axis. Strides are in elements and may be negative or 0; those of c lead to each element once.
// With IS_A_PACKED, rows of a are whole, aligned packs of 16 bytes, and with IS_B_PACKED those of
// b; of narrow elements (stack_narrow.cuh) packs have NARROW_PACK elements. Bytes moved: a, b and c
// once. Parameters: MatmulParams (params.rs), of which tiles, splits and scratch are not read; with
// ListedParams (listed.cuh) the matrices lie anywhere.
#pragma once
#include "multiply.cuh"

namespace gpu::algos::matmul {

template <int SIZE_, int ROWS_, int COLUMNS_, int MATRICES_, int RESIDENT_> struct StackTile {
    static constexpr int SIZE = SIZE_, ROWS = ROWS_, COLUMNS = COLUMNS_, MATRICES = MATRICES_;
    static constexpr int RESIDENT = RESIDENT_; // blocks of a multiprocessor
    // Threads of a matrix along its rows and columns.
    static constexpr int DOWN = SIZE / ROWS, ACROSS = SIZE / COLUMNS;
    static constexpr int THREADS = DOWN * ACROSS * MATRICES;
    static_assert(DOWN * ACROSS >= 8, "8 threads, which read at once, are of one matrix");
};

// The types of sums, which elements have in shared memory, and of c, for elements T of a and b.
template <class T> struct StackElement {
    typedef T Sum;
    typedef T Result;
    static constexpr bool IS_NARROW = false;
};

// The places of the matrices of an operand in a stack, in elements.
struct StackPlaces {
    int64_t step;
    // That of number `first`, with which a block begins.
    __device__ __forceinline__ int64_t start(int64_t first) const { return first * step; }
    // That of a matrix of the block from there on; it is read if the matrix is there.
    __device__ __forceinline__ int64_t in_block(int64_t, int matrix, bool) const {
        return matrix * step;
    }
};
// Operand 0 is c, 1 is a, 2 is b.
template <class Params>
__device__ __forceinline__ StackPlaces places_of(const Params &params, int operand) {
    return {params.batch[0].strides[operand]};
}

// Copies a pack of narrow elements through registers, as sums have them; zeros if it is not there.
template <int PACK, class Sum, class T>
__device__ __forceinline__ void copy_widened(Sum *to, const T *from, bool is_there) {
    Pack<Sum, PACK> wide = {};
    if (is_there) {
        const auto narrow = load_pack<T, PACK>(from);
#pragma unroll
        for (int lane = 0; lane < PACK; lane++) wide.lane[lane] = Sum(narrow.lane[lane]);
    }
    store_pack(to, wide);
}

// Stores alpha * sum + beta * c as `store_part` does, rounded to the type of c once.
template <int COUNT, class Params, class Sum, class Result> __device__ __forceinline__ void
store_rounded(const Params &params, Result *c, int columns, const Sum *sums) {
    if (columns <= 0) return;
    const Factors<Sum> factors(params);
    Pack<Result, COUNT> values;
#pragma unroll
    for (int lane = 0; lane < COUNT; lane++) {
        Sum value = factors.scaled(sums[lane]);
        if (factors.beta != Sum(0) && lane < columns)
            value = multiply_add(factors.beta, Sum(c[lane * params.c_column]), value);
        values.lane[lane] = Result(value);
    }
    store_values(params, c, columns, values);
}

// Copies MATRICES matrices, of which `matrices` exist from number `first` on, to SIZE x SIZE
// elements each, rows PITCH apart. Elements that are not there become 0.
template <class T, class Tile, int PITCH, bool IS_PACKED, class Sum, class Places> __device__
__forceinline__ void
copy_matrices(Sum *to, const T *from, const Places &places, int64_t first, int64_t matrices,
              const int64_t (&strides)[2], const int (&lengths)[2]) {
    constexpr bool IS_NARROW = StackElement<T>::IS_NARROW;
    constexpr int WHOLE_PACK = IS_NARROW ? NARROW_PACK : 16 / int(sizeof(T));
    constexpr int PACK = IS_PACKED ? WHOLE_PACK : 1, PER_ROW = Tile::SIZE / PACK;
    constexpr int ITEMS = Tile::SIZE * PER_ROW, STEPS = ITEMS * Tile::MATRICES / Tile::THREADS;
    static_assert(STEPS * Tile::THREADS == ITEMS * Tile::MATRICES, "threads copy as much each");
    // Of a number of steps that it does not know the compiler makes a loop with one load at a time.
#pragma unroll(STEPS < 8 ? STEPS : 8)
    for (int step = 0; step < STEPS; step++) {
        const int item = step * Tile::THREADS + threadIdx.x;
        const int matrix = item / ITEMS, row = item % ITEMS / PER_ROW,
                  column = item % PER_ROW * PACK;
        const bool is_there = matrix < matrices && row < lengths[0] && column < lengths[1];
        Sum *const here = to + (matrix * Tile::SIZE + row) * PITCH + column;
        const T *const there = from + places.in_block(first, matrix, is_there) + row * strides[0] +
                               column * strides[1];
        if constexpr (IS_NARROW) {
            copy_widened<PACK>(here, there, is_there);
        } else {
            copy_to_shared_if<PACK *int(sizeof(T))>(here, there, is_there);
        }
    }
}

template <class T, class Tile, bool IS_A_PACKED, bool IS_B_PACKED,
          class Params = MatmulParams<MAX_AXES>>
__global__ void __launch_bounds__(Tile::THREADS, Tile::RESIDENT)
    matmul_stack(const __grid_constant__ Params params) {
    typedef typename StackElement<T>::Sum Sum;
    typedef typename StackElement<T>::Result Result;
    // The pad behind rows of a spreads rows that threads read at once over the banks.
    constexpr int VECTOR_SIZE = 16 / int(sizeof(Sum)), SIZE = Tile::SIZE,
                  A_PITCH = SIZE + VECTOR_SIZE;
    constexpr int A_SIZE = SIZE * A_PITCH, B_SIZE = SIZE * SIZE;
    SHARED_DYNAMIC(Sum, a);
    Sum *const b = a + Tile::MATRICES * A_SIZE;
    const int m = int(params.m), n = int(params.n), k = int(params.k);
    const int64_t first = int64_t(blockIdx.x) * Tile::MATRICES;
    const int64_t count = int64_t(params.batch[0].length) - first;
    const auto of_c = places_of(params, 0), of_a = places_of(params, 1),
               of_b = places_of(params, 2);
    gpu::grid_dependency_wait();
    copy_matrices<T, Tile, A_PITCH, IS_A_PACKED>(
        a, reinterpret_cast<const T *>(params.a) + of_a.start(first), of_a, first, count,
        {params.a_outer, params.a_inner}, {m, k});
    copy_matrices<T, Tile, SIZE, IS_B_PACKED>(
        b, reinterpret_cast<const T *>(params.b) + of_b.start(first), of_b, first, count,
        {params.b_inner, params.b_outer}, {k, n});
    end_batch_of_copies();
    wait_for_copies<0>();
    __syncthreads();

    const int matrix = threadIdx.x / (Tile::DOWN * Tile::ACROSS);
    const int down = threadIdx.x / Tile::ACROSS % Tile::DOWN;
    const int across = threadIdx.x % Tile::ACROSS * VECTOR_SIZE;
    const Sum *rows = a + matrix * A_SIZE + down * A_PITCH, *columns = b + matrix * B_SIZE + across;
    Sum sums[Tile::ROWS][Tile::COLUMNS];
#pragma unroll
    for (int i = 0; i < Tile::ROWS; i++) {
#pragma unroll
        for (int j = 0; j < Tile::COLUMNS; j++) sums[i][j] = Sum(0);
    }
    // With more steps at once the compiler reads all elements first: 255 registers and 432 bytes of
    // spills of f64, 168 registers of f16, in place of 134 and 92 (sm_90).
#pragma unroll 4
    for (int at = 0; at < SIZE; at += VECTOR_SIZE) {
        Pack<Sum, VECTOR_SIZE> left[Tile::ROWS];
#pragma unroll
        for (int i = 0; i < Tile::ROWS; i++)
            left[i] = load_pack<Sum, VECTOR_SIZE>(rows + i * Tile::DOWN * A_PITCH + at);
#pragma unroll
        for (int step = 0; step < VECTOR_SIZE; step++) {
            Sum right[Tile::COLUMNS];
            load_fragment<Tile::ACROSS>(right, columns + (at + step) * SIZE);
#pragma unroll
            for (int i = 0; i < Tile::ROWS; i++) {
#pragma unroll
                for (int j = 0; j < Tile::COLUMNS; j++)
                    sums[i][j] = multiply_add(left[i].lane[step], right[j], sums[i][j]);
            }
        }
    }

    if (matrix >= count) return;
    Result *c = reinterpret_cast<Result *>(params.c) + of_c.start(first) +
                of_c.in_block(first, matrix, true);
#pragma unroll
    for (int i = 0; i < Tile::ROWS; i++) {
        const int row = down + i * Tile::DOWN;
        if (row >= m) break;
#pragma unroll
        for (int j = 0; j < Tile::COLUMNS; j += VECTOR_SIZE) {
            const int column = across + j * Tile::ACROSS;
            Result *const to = c + row * params.c_row + column * params.c_column;
            if constexpr (StackElement<T>::IS_NARROW) {
                store_rounded<VECTOR_SIZE>(params, to, n - column, &sums[i][j]);
            } else {
                store_part<T, VECTOR_SIZE>(params, to, n - column, &sums[i][j]);
            }
        }
    }
}

} // namespace gpu::algos::matmul
