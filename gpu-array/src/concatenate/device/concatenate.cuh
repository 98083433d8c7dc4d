// Copies of several arrays to their places in one array, in one launch.
//
// A part is an array that is copied. The axes are in the order of the result, contiguous ones
// joined, and axis 0 is contiguous in the result. All lengths but that of axis `along` are common
// to the parts. Threads go along axis 0: by packs of 16 bytes in a part whose rows lie alike in
// both memories, else by elements.
// Contract: grid the blocks of all parts; a part has ceil(items / (THREADS * ITEMS)) of them, from
// its first_block on, and at least one. An item is a pack or an element. Block THREADS, no shared
// memory. Parameters: ConcatenateParams (params.rs); with PARTS 0 the parts lie at `table`. Of a
// part that goes by packs both addresses lie `peel` elements before the first and are aligned to 16
// bytes; so are all strides but those of axis 0, which are 1. No two parts have a place in common,
// and no part is read where it is written. Bytes moved: each element is read once and written once.
#pragma once
#include "concatenate_params.cuh"
#include "packs.cuh"

namespace gpu::array {

// The part to which this block belongs: the last one that begins at it or before.
template <int RANK, int PARTS> __device__ __forceinline__ const PartParams<RANK> &
part_of_block(const ConcatenateParams<RANK, PARTS> &params) {
    const PartParams<RANK> *parts =
        PARTS > 0 ? params.parts.at : reinterpret_cast<const PartParams<RANK> *>(params.table);
    int first = 0, end = int(params.count);
    while (end - first > 1) {
        const int middle = (first + end) / 2;
        if (parts[middle].first_block <= blockIdx.x) {
            first = middle;
        } else {
            end = middle;
        }
    }
    return parts[first];
}

// The offsets of an item from the addresses of its part, and the lanes of it that exist.
struct CopyItem {
    int64_t from, to;
    int first, end;
};

template <int VECTOR_SIZE, int RANK, int PARTS>
__device__ __forceinline__ CopyItem locate(const ConcatenateParams<RANK, PARTS> &params,
                                           const PartParams<RANK> &part, uint64_t item) {
    const auto length = [&](int axis) {
        return axis == int(params.along) ? part.length : params.lengths[axis];
    };
    const auto divide = [&](uint64_t n, uint64_t by) {
        return params.is_wide ? n / by : uint64_t(uint32_t(n) / uint32_t(by));
    };
    const int64_t peel = VECTOR_SIZE > 1 ? part.peel : 0, columns = int64_t(length(0)) + peel;
    const uint64_t row_items = uint64_t(columns + VECTOR_SIZE - 1) / VECTOR_SIZE;
    uint64_t row = divide(item, row_items);
    const int64_t column = int64_t(item - row * row_items) * VECTOR_SIZE;
    CopyItem found = {column * part.strides[0], column, 0, VECTOR_SIZE};
    if (VECTOR_SIZE > 1) {
        if (column < peel) found.first = int(peel - column);
        if (columns - column < VECTOR_SIZE) found.end = int(columns - column);
    }
    const int rank = RANK < 3 ? RANK : int(params.rank);
    // More copies of the loop's body would take NVRTC two seconds.
    constexpr int COPIES = RANK < 3 ? 2 : 1;
#pragma unroll COPIES
    for (int axis = 1; axis < rank; axis++) {
        const uint64_t next = divide(row, length(axis));
        const int64_t c = int64_t(row - next * length(axis));
        row = next;
        found.from += c * part.strides[axis];
        found.to += c * params.strides[axis];
    }
    // Beyond the last axis: the part has no such item.
    if (row > 0) found.end = 0;
    return found;
}

template <class T, int VECTOR_SIZE, int THREADS, int ITEMS, int RANK, int PARTS>
__device__ __forceinline__ void copy_part(const ConcatenateParams<RANK, PARTS> &params,
                                          const PartParams<RANK> &part) {
    const uint64_t block = blockIdx.x - part.first_block;
    const T *from = reinterpret_cast<const T *>(part.from);
    T *to = reinterpret_cast<T *>(part.to);
    CopyItem items[ITEMS];
    Pack<T, VECTOR_SIZE> packs[ITEMS];

    // All loads precede the first store.
#pragma unroll
    for (int u = 0; u < ITEMS; u++) {
        items[u] = locate<VECTOR_SIZE>(params, part, (block * ITEMS + u) * THREADS + threadIdx.x);
        const CopyItem &item = items[u];
        if (item.first == 0 && item.end == VECTOR_SIZE) {
            packs[u] = load_pack<T, VECTOR_SIZE>(from + item.from);
        } else {
#pragma unroll
            for (int lane = 0; lane < VECTOR_SIZE; lane++) {
                if (lane >= item.first && lane < item.end)
                    packs[u].lane[lane] = from[item.from + lane];
            }
        }
    }
#pragma unroll
    for (int u = 0; u < ITEMS; u++) {
        const CopyItem &item = items[u];
        if (item.first == 0 && item.end == VECTOR_SIZE) {
            store_pack<StoreMode::WHOLE>(to + item.to, packs[u]);
        } else {
#pragma unroll
            for (int lane = 0; lane < VECTOR_SIZE; lane++) {
                if (lane >= item.first && lane < item.end) to[item.to + lane] = packs[u].lane[lane];
            }
        }
    }
}

template <class T, int RANK, int PARTS, int THREADS, int ITEMS>
__global__ void __launch_bounds__(THREADS)
    concatenate(const __grid_constant__ ConcatenateParams<RANK, PARTS> params) {
    grid_dependency_wait();
    const PartParams<RANK> &part = part_of_block(params);
    if (part.peel == BY_ELEMENTS) {
        copy_part<T, 1, THREADS, ITEMS>(params, part);
    } else {
        copy_part<T, 16 / int(sizeof(T)), THREADS, ITEMS>(params, part);
    }
}

} // namespace gpu::array
