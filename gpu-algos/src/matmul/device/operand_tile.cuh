// Tiles of an operand of a matrix product in shared memory, and the copies that bring them there.
//
// A tile has LENGTH rows of a, or columns of b, which are called x here, and BLOCK_K values along k
// of each. Element (x, k) stands at k * PITCH + x: a thread reads neighbours along x at once, and
// the pad behind each k spreads neighbours along k over the banks.
#pragma once
#include "matmul_params.cuh"
#include "packs.cuh"

namespace gpu::algos::matmul {

// The copies of a thread. LOAD says which elements neighbouring threads copy: PACKS of 16 bytes or
// single elements along x, packs along k (PACKS_ALONG_K), or 8 elements along k and the rest along
// x. Packs along k pass through registers, since their elements part in shared memory. UNIT names
// the reader of the tile.
template <class T, int LENGTH, int BLOCK_K, int THREADS, uint32_t LOAD, uint32_t UNIT>
struct OperandTile {
    static constexpr int VECTOR_SIZE = 16 / int(sizeof(T));
    static constexpr bool THROUGH_REGISTERS = LOAD == PACKS_ALONG_K;
    static constexpr int PAD = UNIT == TENSOR_CORES         ? (sizeof(T) == 16 ? 1 : 4)
                               : UNIT == CUDA_CORES_ALONG_K ? 2 * VECTOR_SIZE
                                                            : VECTOR_SIZE;
    static constexpr int PITCH = LENGTH + PAD;
    static constexpr int SIZE = BLOCK_K * PITCH;
    // Elements of a copy, along x and along k.
    static constexpr int X_PACK = LOAD == PACKS ? VECTOR_SIZE : 1;
    static constexpr int K_PACK = LOAD == PACKS_ALONG_K ? VECTOR_SIZE : 1;
    static constexpr int PACK = X_PACK * K_PACK, BYTES = PACK * int(sizeof(T));
    static constexpr int ITEMS = LENGTH / X_PACK, ITEMS_K = BLOCK_K / K_PACK;
    // Neighbouring copies along k.
    static constexpr int ALONG = LOAD == ALONG_K ? 8 : THROUGH_REGISTERS ? 2 : 1;
    static constexpr int COPIES = ITEMS * ITEMS_K / THREADS;
    static_assert(COPIES * THREADS == ITEMS * ITEMS_K && ITEMS_K % ALONG == 0, "equal shares");
    static_assert(THREADS / ALONG % ITEMS == 0 || ITEMS % (THREADS / ALONG) == 0,
                  "the place of copy j is that of copy 0, moved");

    const T *from[COPIES];
    int64_t step; // from one tile to the next
    int64_t left; // values along k from the next tile on, or fewer than 1
    Pack<T, PACK> held[THROUGH_REGISTERS ? COPIES : 1];

    static __device__ __forceinline__ constexpr int x_of(int item) {
        return item / ALONG % ITEMS * X_PACK;
    }
    static __device__ __forceinline__ constexpr int k_of(int item) {
        return (item / ALONG / ITEMS * ALONG + item % ALONG) * K_PACK;
    }
    // The offset of an element.
    static __device__ __forceinline__ constexpr int offset(int x, int k) { return k * PITCH + x; }
    // From copy 0 of a thread to copy j, in shared memory.
    static __device__ __forceinline__ constexpr int moved(int j) {
        return offset(x_of(j * THREADS), k_of(j * THREADS));
    }

    // `first` is the operand's element at x = 0 and the first k of the block, `length` - `x` the
    // number of elements along x that exist from the tile on. Those beyond repeat the last one;
    // only sums that are not stored are made of them.
    __device__ __forceinline__ OperandTile(const T *first, int64_t outer, int64_t inner, int64_t x,
                                           int64_t length, int64_t count) {
        step = BLOCK_K * inner;
        left = count;
#pragma unroll
        for (int j = 0; j < COPIES; j++) {
            const int64_t here = x + x_of(threadIdx.x) + x_of(j * THREADS);
            const int64_t last = length - X_PACK;
            const int k = k_of(threadIdx.x) + k_of(j * THREADS);
            from[j] = first + (here < last ? here : last) * outer + k * inner;
        }
    }

    // Begins the part of the copies of the next tile that belongs to step STEP of STEPS. Values
    // behind the end of k are 0.
    template <int STEP, int STEPS> __device__ __forceinline__ void begin(T *tile) {
        if constexpr (THROUGH_REGISTERS) {
            // All at once, since they take long.
            if (STEP == 0) read();
        } else {
            T *to = tile + offset(x_of(threadIdx.x), k_of(threadIdx.x));
            const int whole = left < BLOCK_K ? int(left) : BLOCK_K;
#pragma unroll
            for (int j = COPIES * STEP / STEPS; j < COPIES * (STEP + 1) / STEPS; j++) {
                const bool is_there = k_of(threadIdx.x) + k_of(j * THREADS) < whole;
                copy_to_shared_if<BYTES>(to + moved(j), from[j], is_there);
                from[j] += step;
            }
        }
        if (STEP == STEPS - 1) left -= BLOCK_K;
    }
    __device__ __forceinline__ void read() {
        if (left >= BLOCK_K) {
#pragma unroll
            for (int j = 0; j < COPIES; j++) {
                held[j] = load_pack<T, PACK>(from[j]);
                from[j] += step;
            }
        } else {
#pragma unroll
            for (int j = 0; j < COPIES; j++) {
#pragma unroll
                for (int lane = 0; lane < PACK; lane++) held[j].lane[lane] = T(0);
                if (k_of(threadIdx.x) + k_of(j * THREADS) < left)
                    held[j] = load_pack<T, PACK>(from[j]);
            }
        }
    }

    // Stores the values that `begin` holds in registers. Before the next `begin`.
    __device__ __forceinline__ void finish(T *tile) {
        if constexpr (THROUGH_REGISTERS) {
            T *to = tile + offset(x_of(threadIdx.x), k_of(threadIdx.x));
#pragma unroll
            for (int j = 0; j < COPIES; j++) {
#pragma unroll
                for (int lane = 0; lane < PACK; lane++)
                    to[moved(j) + lane * PITCH] = held[j].lane[lane];
            }
        }
    }
};

} // namespace gpu::algos::matmul
