// Operations of a warp: the driver lets the lanes of the mask meet and gives each its result.
#pragma once

namespace gpu_emulated {

GPU_EMULATED_QUIET inline unsigned long long warp(WarpKind kind, unsigned mask, unsigned long long value, const char *name,
                                                  const char *file, unsigned line) {
    return gpu_emulated_runtime->warp(kind, mask, value, 0, 32, name, file, line);
}

GPU_EMULATED_QUIET inline unsigned long long shuffle_bits(WarpKind kind, unsigned mask, unsigned long long value,
                                                          unsigned argument, int width, const char *name, const char *file,
                                                          unsigned line) {
    if (width < 1 || width > 32 || (width & (width - 1)) != 0) {
        undefined("the width of a shuffle is no power of two from 1 to 32", file, line);
    }
    return gpu_emulated_runtime->warp(kind, mask, value, argument, (unsigned)width, name, file, line);
}

// A value of 2, 4 or 8 bytes as an integer, zero-extended, and back.
template <unsigned long BYTES> struct unsigned_of;
template <> struct unsigned_of<1> { using type = unsigned char; };
template <> struct unsigned_of<2> { using type = unsigned short; };
template <> struct unsigned_of<4> { using type = unsigned; };
template <> struct unsigned_of<8> { using type = unsigned long long; };
template <class T> GPU_EMULATED_INLINE unsigned long long to_bits(T value) {
    return bit_cast<typename unsigned_of<sizeof(T)>::type>(value);
}
template <class T> GPU_EMULATED_INLINE T from_bits(unsigned long long bits) {
    return bit_cast<T>((typename unsigned_of<sizeof(T)>::type)bits);
}

template <class T>
GPU_EMULATED_INLINE T shuffle(WarpKind kind, unsigned mask, T value, unsigned argument, int width, const char *name,
                              const char *file, unsigned line) {
    return from_bits<T>(shuffle_bits(kind, mask, to_bits(value), argument, width, name, file, line));
}

} // namespace gpu_emulated

GPU_EMULATED_QUIET inline void __syncwarp(unsigned mask = 0xffffffffu, GPU_EMULATED_PLACE) {
    gpu_emulated::warp(gpu_emulated::SYNC, mask, 0, "__syncwarp", file, line);
}

#define GPU_EMULATED_SHUFFLES(T)                                                                                             \
    GPU_EMULATED_INLINE T __shfl_sync(unsigned mask, T value, int lane, int width = 32, GPU_EMULATED_PLACE) {                \
        return gpu_emulated::shuffle<T>(gpu_emulated::SHUFFLE, mask, value, (unsigned)lane, width, "__shfl_sync", file,      \
                                        line);                                                                               \
    }                                                                                                                        \
    GPU_EMULATED_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, GPU_EMULATED_PLACE) {       \
        return gpu_emulated::shuffle<T>(gpu_emulated::SHUFFLE_UP, mask, value, delta, width, "__shfl_up_sync", file, line);  \
    }                                                                                                                        \
    GPU_EMULATED_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, GPU_EMULATED_PLACE) {     \
        return gpu_emulated::shuffle<T>(gpu_emulated::SHUFFLE_DOWN, mask, value, delta, width, "__shfl_down_sync", file,     \
                                        line);                                                                               \
    }                                                                                                                        \
    GPU_EMULATED_INLINE T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, GPU_EMULATED_PLACE) {           \
        return gpu_emulated::shuffle<T>(gpu_emulated::SHUFFLE_XOR, mask, value, (unsigned)lanes, width, "__shfl_xor_sync",   \
                                        file, line);                                                                         \
    }
GPU_EMULATED_SHUFFLES(int)
GPU_EMULATED_SHUFFLES(unsigned)
GPU_EMULATED_SHUFFLES(long)
GPU_EMULATED_SHUFFLES(unsigned long)
GPU_EMULATED_SHUFFLES(long long)
GPU_EMULATED_SHUFFLES(unsigned long long)
GPU_EMULATED_SHUFFLES(float)
GPU_EMULATED_SHUFFLES(double)

GPU_EMULATED_INLINE int __all_sync(unsigned mask, int predicate, GPU_EMULATED_PLACE) {
    return gpu_emulated::warp(gpu_emulated::ALL, mask, predicate != 0, "__all_sync", file, line) != 0;
}
GPU_EMULATED_INLINE int __any_sync(unsigned mask, int predicate, GPU_EMULATED_PLACE) {
    return gpu_emulated::warp(gpu_emulated::ANY, mask, predicate != 0, "__any_sync", file, line) != 0;
}
GPU_EMULATED_INLINE unsigned __ballot_sync(unsigned mask, int predicate, GPU_EMULATED_PLACE) {
    return (unsigned)gpu_emulated::warp(gpu_emulated::BALLOT, mask, predicate != 0, "__ballot_sync", file, line);
}
GPU_EMULATED_QUIET inline unsigned __activemask(GPU_EMULATED_PLACE) { return gpu_emulated_runtime->active_mask(file, line); }

#define GPU_EMULATED_MATCHES(T)                                                                                              \
    GPU_EMULATED_INLINE unsigned __match_any_sync(unsigned mask, T value, GPU_EMULATED_PLACE) {                              \
        return (unsigned)gpu_emulated::warp(gpu_emulated::MATCH_ANY, mask, gpu_emulated::to_bits(value),                     \
                                            "__match_any_sync", file, line);                                                 \
    }                                                                                                                        \
    GPU_EMULATED_INLINE unsigned __match_all_sync(unsigned mask, T value, int *predicate, GPU_EMULATED_PLACE) {              \
        unsigned result = (unsigned)gpu_emulated::warp(gpu_emulated::MATCH_ALL, mask, gpu_emulated::to_bits(value),          \
                                                       "__match_all_sync", file, line);                                      \
        *predicate = result != 0;                                                                                            \
        return result;                                                                                                       \
    }
GPU_EMULATED_MATCHES(int)
GPU_EMULATED_MATCHES(unsigned)
GPU_EMULATED_MATCHES(long)
GPU_EMULATED_MATCHES(unsigned long)
GPU_EMULATED_MATCHES(long long)
GPU_EMULATED_MATCHES(unsigned long long)
GPU_EMULATED_MATCHES(float)
GPU_EMULATED_MATCHES(double)
#undef GPU_EMULATED_MATCHES

#define GPU_EMULATED_REDUCE(T, name, kind)                                                                                   \
    GPU_EMULATED_INLINE T name(unsigned mask, T value, GPU_EMULATED_PLACE) {                                                 \
        return (T)(unsigned)gpu_emulated::warp(gpu_emulated::kind, mask, (unsigned)value, #name, file, line);                \
    }
GPU_EMULATED_REDUCE(unsigned, __reduce_add_sync, REDUCE_ADD)
GPU_EMULATED_REDUCE(int, __reduce_add_sync, REDUCE_ADD)
GPU_EMULATED_REDUCE(unsigned, __reduce_min_sync, REDUCE_MIN)
GPU_EMULATED_REDUCE(int, __reduce_min_sync, REDUCE_MIN_SIGNED)
GPU_EMULATED_REDUCE(unsigned, __reduce_max_sync, REDUCE_MAX)
GPU_EMULATED_REDUCE(int, __reduce_max_sync, REDUCE_MAX_SIGNED)
GPU_EMULATED_REDUCE(unsigned, __reduce_and_sync, REDUCE_AND)
GPU_EMULATED_REDUCE(unsigned, __reduce_or_sync, REDUCE_OR)
GPU_EMULATED_REDUCE(unsigned, __reduce_xor_sync, REDUCE_XOR)
#undef GPU_EMULATED_REDUCE
