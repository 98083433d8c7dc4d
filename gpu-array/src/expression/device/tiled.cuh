// An expression some of whose leaves lie along another axis than its outputs. A transposed array is
// read in rows and written in rows, by way of a tile in shared memory (Ruetsch and Micikevicius,
// Optimizing Matrix Transpose in CUDA, 2009).
//
// The outputs lie along axis 0, the TRANSPOSED leaves along axis 1 (stride 1); the other axes
// follow. Contract: grid tiles along axis 0 * tiles along axis 1 * lengths of the other axes, block
// THREADS. Shared memory: a tile of TILE * PITCH elements for each TRANSPOSED leaf, where its
// SharedTile says. Parameters: TiledParams (params.rs). PACKED leaves and outputs are aligned as in
// strided.cuh. Bytes moved: those of outputs and leaves, in rows of TILE elements.
#pragma once
#include "loop.cuh"

namespace gpu::array {

// Copies the part of a leaf that a block needs to its tile. The element of (i, j) stands at j *
// PITCH + i.
template <int THREADS, int TILE, int PITCH, int VECTOR_SIZE, class T>
__device__ __forceinline__ void stage(T, unsigned char *shared, uint64_t address, bool aligned,
                                      int64_t offset, int64_t step, int64_t rows, int64_t columns) {
    typedef typename Stored<T>::type S;
    constexpr int PACKS = TILE / VECTOR_SIZE, STEPS = TILE * PACKS / THREADS;
    const S *from = reinterpret_cast<const S *>(address) + offset;
    S *tile = reinterpret_cast<S *>(shared);
    const int i = threadIdx.x / PACKS, j = threadIdx.x % PACKS * VECTOR_SIZE;
    constexpr int ROWS = THREADS / PACKS;
    if (aligned && rows >= TILE && columns >= TILE) {
        Pack<S, VECTOR_SIZE> pack[STEPS];
#pragma unroll
        for (int s = 0; s < STEPS; s++)
            pack[s] = load_pack<S, VECTOR_SIZE>(from + (i + s * ROWS) * step + j);
#pragma unroll
        for (int s = 0; s < STEPS; s++) {
#pragma unroll
            for (int lane = 0; lane < VECTOR_SIZE; lane++)
                tile[(j + lane) * PITCH + i + s * ROWS] = pack[s].lane[lane];
        }
    } else {
        // Neighbouring threads read neighbours here.
        for (int at = threadIdx.x; at < TILE * TILE; at += THREADS) {
            const int row = at / TILE, column = at % TILE;
            if (row < rows && column < columns)
                tile[column * PITCH + row] = from[row * step + column];
        }
    }
}
template <int THREADS, int TILE, int PITCH, int VECTOR_SIZE> __device__ __forceinline__ void
stage(Index, unsigned char *, uint64_t, bool, int64_t, int64_t, int64_t, int64_t) {}

template <int PITCH, class T, int VECTOR_SIZE> __device__ __forceinline__ void
load_staged(Pack<T, VECTOR_SIZE> &values, const unsigned char *shared, int i, int j, int last) {
    typedef typename Stored<T>::type S;
    const S *at = reinterpret_cast<const S *>(shared) + j * PITCH + i;
#pragma unroll
    for (int lane = 0; lane < VECTOR_SIZE; lane++)
        values.lane[lane] = from_stored<T>(at[lane < last ? lane : last]);
}
template <int PITCH, int VECTOR_SIZE> __device__ __forceinline__ void
load_staged(Pack<Index, VECTOR_SIZE> &, const unsigned char *, int, int, int) {}

// Tiles of bytes alone: without a bound NVRTC 13.0 takes 64 registers for a copy, in place of 48.
template <class E, int TILE> constexpr int blocks_of_tiles() {
    return E::Leaves::SIZE == 1 && TILE > 64 ? 5 : 0;
}

template <class E, int THREADS, int TILE, int VECTOR_SIZE>
__global__ void __launch_bounds__(THREADS, (blocks_of_tiles<E, TILE>()))
    tiled(const __grid_constant__ TiledParams<E> params) {
    constexpr int LEAVES = E::Leaves::SIZE, PITCH = TILE + 1, PACKS = TILE / VECTOR_SIZE;
    static_assert(TILE * PACKS % THREADS == 0 && THREADS % PACKS == 0, "whole rows of packs");
    SHARED_DYNAMIC(unsigned char, shared);
    grid_dependency_wait();
    const int rank = int(params.rank);
    const bool packed = params.is_packed;
    const auto &axes = params.axes;

    // Offsets of the tile's first element, for the outputs and for each leaf.
    uint32_t rest = blockIdx.x;
    uint32_t next = rest / params.tiles_0;
    const int64_t i0 = int64_t(rest - next * params.tiles_0) * TILE;
    rest = next;
    next = rest / params.tiles_1;
    const int64_t j0 = int64_t(rest - next * params.tiles_1) * TILE;
    rest = next;
    int64_t offset[LEAVES + 1];
#pragma unroll
    for (int k = 0; k <= LEAVES; k++) offset[k] = i0 * axes[0].strides[k] + j0 * axes[1].strides[k];
    for (int d = 2; d < rank; d++) {
        const uint32_t length = uint32_t(axes[d].length);
        next = rest / length;
        const int64_t c = rest - next * length;
        rest = next;
#pragma unroll
        for (int k = 0; k <= LEAVES; k++) offset[k] += c * axes[d].strides[k];
    }
    const int64_t rows = int64_t(axes[0].length) - i0, columns = int64_t(axes[1].length) - j0;

    typename E::Leaves types;
    each(types, [&](auto k, auto &type) {
        constexpr int K = decltype(k)::value;
        const LeafParams &leaf = params.leaves[K];
        if (leaf.kind == TRANSPOSED) {
            stage<THREADS, TILE, PITCH, VECTOR_SIZE>(
                type, shared + params.tiles[K].offset, leaf.address, params.tiles[K].is_packed,
                offset[K + 1], axes[0].strides[K + 1], rows, columns);
        }
    });
    __syncthreads();

    const int i = threadIdx.x % PACKS * VECTOR_SIZE;
    const int count = rows - i < VECTOR_SIZE ? int(rows - i) : VECTOR_SIZE;
    if (count <= 0) return;
#pragma unroll
    for (int j = threadIdx.x / PACKS; j < TILE; j += THREADS / PACKS) {
        if (j >= columns) return;
        typename Wide<VECTOR_SIZE, typename E::Leaves>::type in;
        each(in, [&](auto k, auto &values) {
            constexpr int K = decltype(k)::value;
            const LeafParams &leaf = params.leaves[K];
            if (leaf.kind == TRANSPOSED) {
                load_staged<PITCH>(values, shared + params.tiles[K].offset, i, j, count - 1);
            } else {
                const int64_t step = axes[0].strides[K + 1];
                load(values, leaf.address, leaf.kind,
                     offset[K + 1] + i * step + j * axes[1].strides[K + 1], step, 0, count - 1);
            }
        });
        typename Wide<VECTOR_SIZE, typename E::Outputs>::type out;
        apply<E, VECTOR_SIZE>(params.scalars.at, params.extra.at, in, out);
        each(out, [&](auto k, auto &values) {
            const int64_t step = axes[0].strides[0];
            store<StoreMode::STREAMED>(values, params.outputs[decltype(k)::value], packed,
                                       offset[0] + i * step + j * axes[1].strides[0], step, 0,
                                       count - 1);
        });
    }
}

} // namespace gpu::array
