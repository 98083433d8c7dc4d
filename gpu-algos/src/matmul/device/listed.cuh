// Products of matrices that lie anywhere in memory, in place of a stack with equal distances.
//
// Contract: that of the kernel, with a stack of one axis, whose length is the number of matrices
// and whose strides are not read. `table` has three numbers for each of them: the offsets of c, a
// and b from the addresses in the parameters, in elements.
#pragma once
#include "multiply.cuh"

namespace gpu::algos::matmul {

// The parameters of a kernel, and the table.
struct ListedParams : MatmulParams<MAX_AXES> {
    const int64_t *table;
};
static_assert(sizeof(ListedParams) == sizeof(MatmulParams<MAX_AXES>) + 8, "the table follows");

// In place of those of a stack (matmul.cuh and matmul_stack.cuh), which are templates.
__device__ __forceinline__ void offsets_in_stack(const ListedParams &params, uint32_t matrix,
                                                 int64_t (&offsets)[3]) {
    // The table is written in the order of the stream. The kernel waits for others behind this.
    grid_dependency_wait();
    for (int k = 0; k < 3; k++) offsets[k] = params.table[3 * uint64_t(matrix) + k];
}
struct ListedPlaces {
    const int64_t *table;
    __device__ __forceinline__ int64_t start(int64_t) const { return 0; }
    __device__ __forceinline__ int64_t in_block(int64_t first, int matrix, bool is_there) const {
        return is_there ? table[3 * (first + matrix)] : 0;
    }
};
__device__ __forceinline__ ListedPlaces places_of(const ListedParams &params, int operand) {
    return {params.table + operand};
}

} // namespace gpu::algos::matmul
