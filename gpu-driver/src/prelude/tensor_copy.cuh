// Bulk copies of boxes of a tensor into shared memory, and the barriers in shared memory that tell
// when they have arrived.
//
// One thread begins a copy; no other thread takes part, and no register holds the data. The tensor,
// the box and its arrangement in shared memory are in a TensorMap, which the host makes
// (`gpu_driver::TensorMap`) and a kernel takes as `const __grid_constant__ gpu::TensorMap map`.
// Elements of a box that lie outside the tensor arrive as zeros.
//
//     SHARED_DYNAMIC(unsigned char, memory);       // 1024 bytes more than the stages
//     SHARED(gpu::CopyBarrier, arrived, [1]);
//     if (threadIdx.x == 0) arrived[0].init(1);
//     gpu::publish_barriers();
//     __syncthreads();
//     if (threadIdx.x == 0) {
//         arrived[0].expect(BYTES);                // all bytes of the copies that follow
//         gpu::copy_box(stage, map, x, y, z, arrived[0]);
//     }
//     arrived[0].wait(0);                          // every thread that reads the box
//
// A copy overwrites a stage that other threads have read: these threads arrive at a second barrier,
// and the thread that copies waits for it. Architectures before 9.0 have no such copies. There, and
// on the emulated device, barriers are words that atomic operations change, and the thread itself
// copies.
//
// Neighbouring blocks whose boxes are the same can share the copies (Cluster): each copies a share
// of a box into the shared memory of all of them.
//
// Sources: PTX ISA, mbarrier and cp.async.bulk.tensor.
#pragma once
#include "prelude.cuh"

namespace gpu {

struct alignas(64) TensorMap {
    uint64_t opaque[16];
};

// The place of a byte in shared memory whose rows of SWIZZLED bytes (128, 64, or 0 for none) are
// swizzled: 16-byte chunks change places within 8 rows of 128 bytes, so that the chunks of a column
// lie in different banks. The memory begins at a multiple of 1024 bytes.
template <int SWIZZLED> __device__ __forceinline__ uint32_t swizzled(uint32_t offset) {
    static_assert(SWIZZLED == 128 || SWIZZLED == 64 || SWIZZLED == 0, "modes of tensor maps");
    constexpr uint32_t MASK = SWIZZLED == 128 ? 7 : SWIZZLED == 64 ? 3 : 0;
    return offset ^ ((offset >> 7 & MASK) << 4);
}

// The first multiple of 1024 bytes of dynamic shared memory, where swizzled stages begin.
__device__ __forceinline__ unsigned char *swizzle_base(unsigned char *memory) {
#if !defined(GPU_EMULATED)
    const uint32_t at = uint32_t(__cvta_generic_to_shared(memory));
#else
    const uint64_t at = reinterpret_cast<uint64_t>(memory);
#endif
    return memory + uint32_t(-at & 1023);
}

// A barrier of phases 0, 1, 2, …: a phase ends when as many threads have arrived as `init` said,
// and all bytes have come that were expected.
struct CopyBarrier {
    uint64_t word;

    // By one thread, before `publish_barriers`.
    __device__ __forceinline__ void init(uint32_t arrivals) {
#if !defined(GPU_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(arrivals)
                     : "memory");
#else
        word = uint64_t(arrivals) | uint64_t(arrivals) << 16;
#endif
    }

    // Arrives. Earlier accesses of this thread come before the end of the phase.
    __device__ __forceinline__ void arrive() {
#if !defined(GPU_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(address())
                     : "memory");
#else
        change(1, 0);
#endif
    }

    // Arrives, and lets the phase wait for so many bytes.
    __device__ __forceinline__ void expect(uint32_t bytes) {
#if !defined(GPU_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        asm volatile(
            "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(address()),
            "r"(bytes)
            : "memory");
#else
        change(1, bytes);
#endif
    }

    // Waits for the end of the present phase if its number has this parity. So a thread that waits
    // for each phase in turn passes 0, 1, 0, …, and a wait with 1 at the start does not wait.
    __device__ __forceinline__ void wait(uint32_t parity) {
#if !defined(GPU_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        asm volatile("{\n.reg .pred done;\n"
                     "AGAIN: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1;\n"
                     "@!done bra AGAIN;\n}" ::"r"(address()),
                     "r"(parity)
                     : "memory");
#else
        while (__nv_atomic_load_n(&word, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_BLOCK) >> 63 ==
               parity)
            __nanosleep(32);
        __threadfence_block();
#endif
    }

#if !defined(GPU_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    __device__ __forceinline__ uint32_t address() const {
        return uint32_t(__cvta_generic_to_shared(&word));
    }
#else
    // Threads that have not arrived (16 bits), those of a phase (16), bytes that are missing (31),
    // and the parity of the phase.
    __device__ void change(uint32_t arrivals, int32_t bytes) {
        uint64_t before = __nv_atomic_load_n(&word, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK);
        for (;;) {
            uint64_t after = before - arrivals + (uint64_t(int64_t(bytes)) << 32);
            if ((after & 0xffff) == 0 && (after << 1 >> 33) == 0)
                after = (after ^ uint64_t(1) << 63) | (after >> 16 & 0xffff);
            if (__nv_atomic_compare_exchange_n(&word, &before, after, false, __NV_ATOMIC_ACQ_REL,
                                               __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK))
                return;
        }
    }
#endif
};

// Makes the barriers that this thread initialised known to the copies. A barrier of the block's
// threads follows.
__device__ __forceinline__ void publish_barriers() {
#if !defined(GPU_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

// Begins to read a tensor map, so that the first copy finds it.
__device__ __forceinline__ void prefetch_map(const TensorMap &map) {
#if !defined(GPU_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
#endif
}

#if defined(GPU_EMULATED) || !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 900
// The map of the emulated device: address, lengths of three axes, bytes from one index to the next
// of the second and third, lengths of the box, bytes of an element, and those of a swizzled row.
struct BoxCopy {
    uint64_t address, length[3], stride[2], box[3], element_bytes, swizzle_bytes;
};

// The copy of a box in chunks of 16 bytes, of which all or none lie before the tensor.
__device__ inline void copy_box_by_thread(unsigned char *to, const BoxCopy &map,
                                          const int (&at)[3]) {
    const uint64_t row = map.box[0] * map.element_bytes;
    if (at[0] * int64_t(map.element_bytes) % 16 != 0) __trap();
    for (uint64_t z = 0; z < map.box[2]; z++) {
        for (uint64_t y = 0; y < map.box[1]; y++) {
            const int64_t row_y = at[1] + int64_t(y), row_z = at[2] + int64_t(z);
            const bool is_there = row_y >= 0 && uint64_t(row_y) < map.length[1] && row_z >= 0 &&
                                  uint64_t(row_z) < map.length[2];
            for (uint64_t byte = 0; byte < row; byte += 16) {
                const uint32_t offset = uint32_t((z * map.box[1] + y) * row + byte);
                const uint32_t place = map.swizzle_bytes == 128  ? swizzled<128>(offset)
                                       : map.swizzle_bytes == 64 ? swizzled<64>(offset)
                                                                 : offset;
                uint4 chunk = make_uint4(0, 0, 0, 0);
                const int64_t first = at[0] * int64_t(map.element_bytes) + int64_t(byte);
                const int64_t left = int64_t(map.length[0] * map.element_bytes) - first;
                if (is_there && first >= 0 && left > 0) {
                    const unsigned char *from =
                        reinterpret_cast<const unsigned char *>(map.address) +
                        row_z * int64_t(map.stride[1]) + row_y * int64_t(map.stride[0]) + first;
                    if (left >= 16) {
                        chunk = *reinterpret_cast<const uint4 *>(from);
                    } else {
                        for (int k = 0; k < left; k++)
                            reinterpret_cast<unsigned char *>(&chunk)[k] = from[k];
                    }
                }
                *reinterpret_cast<uint4 *>(to + place) = chunk;
            }
        }
    }
}
#endif

// Begins the copy of the box at (x, y, z) of a tensor with three axes, of which the first has its
// elements side by side. Its bytes come to `arrived`, which expects them. `to` is a multiple of
// 1024 bytes for a swizzled box, else of 128. The elements before x are a multiple of 16 bytes;
// others are an illegal instruction (H100), and a trap on the emulated device.
__device__ __forceinline__ void copy_box(void *to, const TensorMap &map, int x, int y, int z,
                                         CopyBarrier &arrived) {
#if !defined(GPU_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(uint32_t(__cvta_generic_to_shared(to))),
                 "l"(&map), "r"(arrived.address()), "r"(x), "r"(y), "r"(z)
                 : "memory");
#else
    const BoxCopy &box = *reinterpret_cast<const BoxCopy *>(&map);
    const int at[3] = {x, y, z};
    copy_box_by_thread(static_cast<unsigned char *>(to), box, at);
    arrived.change(0, -int32_t(box.box[0] * box.box[1] * box.box[2] * box.element_bytes));
#endif
}

// The number of blocks of a cluster, between __launch_bounds__ and the name of a kernel whose
// blocks use Cluster<BLOCKS>. Blocks of a cluster follow each other in a grid of whole clusters.
#if !defined(GPU_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define GPU_CLUSTER(BLOCKS) __cluster_dims__(BLOCKS, 1, 1)
#else
#define GPU_CLUSTER(BLOCKS)
#endif

// BLOCKS neighbouring blocks that copy for each other. Where the device has no clusters each block
// copies all shares for itself: REACHED is the number of blocks that a copy and an arrival reach.
//
//     SHARED(gpu::CopyBarrier, released, [1]);
//     if (threadIdx.x == 0) released[0].init(THREADS * Cluster::REACHED);
//     gpu::publish_barriers();
//     Cluster::meet();                             // in place of __syncthreads
//     if (threadIdx.x == 0) {
//         released[0].wait(parity);                // the stage is free in all blocks
//         arrived[0].expect(BYTES);                // of all shares
//         for (int share = 0; share < BLOCKS; share++)
//             if (Cluster::copies(share))
//                 Cluster::copy_box(stage + share * SHARE_BYTES, map, x + share * SHARE, y, z,
//                                   arrived[0]);
//     }
//     arrived[0].wait(0);
//     Cluster::arrive(released[0]);                // every thread that has read the stage
//     Cluster::meet();                             // no block ends before the others' last arrival
template <int BLOCKS> struct Cluster {
    static_assert(BLOCKS >= 1 && BLOCKS <= 8, "clusters that every device with clusters forms");
#if !defined(GPU_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    static constexpr int REACHED = BLOCKS;
#else
    static constexpr int REACHED = 1;
#endif

    // The number of this block in its cluster.
    static __device__ __forceinline__ uint32_t rank() { return blockIdx.x % BLOCKS; }
    // Whether this block copies share `share`.
    static __device__ __forceinline__ bool copies(int share) {
        return REACHED < BLOCKS || uint32_t(share) == rank();
    }

    // Waits for all threads of the cluster that have not ended. Their writes are known then.
    static __device__ __forceinline__ void meet() {
#if !defined(GPU_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        if constexpr (BLOCKS > 1) {
            asm volatile("barrier.cluster.arrive.release;\n"
                         "barrier.cluster.wait.acquire;" ::
                             : "memory");
            return;
        }
#endif
        __syncthreads();
    }

    // Arrives at the barrier that has this place in each block. Earlier reads of this thread come
    // before; its writes are not made known to the other blocks, for which the compiler would wait
    // for all of memory: products of 8192 x 8192 took 1.6 times as long (bf16, H200).
    static __device__ __forceinline__ void arrive(CopyBarrier &barrier) {
#if !defined(GPU_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        if constexpr (BLOCKS > 1) {
#pragma unroll
            for (int block = 0; block < BLOCKS; block++)
                asm volatile("{\n.reg .b32 there;\n"
                             "mapa.shared::cluster.u32 there, %0, %1;\n"
                             "mbarrier.arrive.release.cta.shared::cluster.b64 _, [there];\n}" ::"r"(
                                 barrier.address()),
                             "r"(block)
                             : "memory");
            return;
        }
#endif
        barrier.arrive();
    }

    // As gpu::copy_box, into the memory and to the barrier that have these places in each block.
    static __device__ __forceinline__ void copy_box(void *to, const TensorMap &map, int x, int y,
                                                    int z, CopyBarrier &arrived) {
#if !defined(GPU_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        if constexpr (BLOCKS > 1) {
            asm volatile(
                "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                ".multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(
                    uint32_t(__cvta_generic_to_shared(to))),
                "l"(&map), "r"(arrived.address()), "r"(x), "r"(y), "r"(z),
                "h"(uint16_t((1 << BLOCKS) - 1))
                : "memory");
            return;
        }
#endif
        gpu::copy_box(to, map, x, y, z, arrived);
    }
};

} // namespace gpu
