// Loads and stores with cache hints, and the memory functions of the C library.
#pragma once

namespace gpu_emulated {

// The name of T as the compiler writes it, cut out of this function's own name.
template <class T> GPU_EMULATED_QUIET const char *type_name() {
    static char name[128];
    const char *from = __PRETTY_FUNCTION__;
    while (*from && !(from[0] == 'T' && from[1] == ' ' && from[2] == '=' && from[3] == ' ')) from++;
    if (*from) from += 4;
    unsigned long n = 0;
    for (; from[n] && from[n] != ']' && from[n] != ';' && n < sizeof name - 1; n++) name[n] = from[n];
    name[n] = 0;
    return name;
}

// The compiler's own check of alignment would name a line of this header, so the kernel's is passed along here.
template <class T> GPU_EMULATED_QUIET void misaligned(const void *address, AccessKind kind, const char *file, unsigned line) {
    gpu_emulated_runtime->misaligned(address, alignof(T), kind, type_name<T>(), file, line);
}
template <class T> GPU_EMULATED_INLINE T load(const T *address, const char *file, unsigned line) {
    if ((unsigned long)address % alignof(T) != 0) misaligned<T>(address, READ, file, line);
    return *address;
}
template <class T> GPU_EMULATED_INLINE void store(T *address, const T &value, const char *file, unsigned line) {
    if ((unsigned long)address % alignof(T) != 0) misaligned<T>(address, WRITE, file, line);
    *address = value;
}
template <class T> struct same_as { using type = T; };

} // namespace gpu_emulated

#define GPU_EMULATED_LOAD(name)                                                                                              \
    template <class T> GPU_EMULATED_INLINE T name(const T *address, GPU_EMULATED_PLACE) {                                    \
        return gpu_emulated::load(address, file, line);                                                                      \
    }
GPU_EMULATED_LOAD(__ldg)
GPU_EMULATED_LOAD(__ldca)
GPU_EMULATED_LOAD(__ldcg)
GPU_EMULATED_LOAD(__ldcs)
GPU_EMULATED_LOAD(__ldlu)
GPU_EMULATED_LOAD(__ldcv)
#undef GPU_EMULATED_LOAD

#define GPU_EMULATED_STORE(name)                                                                                             \
    template <class T>                                                                                                       \
    GPU_EMULATED_INLINE void name(T *address, typename gpu_emulated::same_as<T>::type value, GPU_EMULATED_PLACE) {           \
        gpu_emulated::store(address, value, file, line);                                                                     \
    }
GPU_EMULATED_STORE(__stwb)
GPU_EMULATED_STORE(__stcg)
GPU_EMULATED_STORE(__stcs)
GPU_EMULATED_STORE(__stwt)
#undef GPU_EMULATED_STORE

// The compiler's checks do not look into the C library, so the whole ranges are checked first.
GPU_EMULATED_QUIET inline void *memcpy(void *to, const void *from, size_t bytes) {
    if (bytes == 0) return to;
    gpu_emulated_runtime->access(from, bytes, gpu_emulated::READ, __builtin_return_address(0));
    gpu_emulated_runtime->access(to, bytes, gpu_emulated::WRITE, __builtin_return_address(0));
    return __builtin_memcpy(to, from, bytes);
}
GPU_EMULATED_QUIET inline void *memmove(void *to, const void *from, size_t bytes) {
    if (bytes == 0) return to;
    gpu_emulated_runtime->access(from, bytes, gpu_emulated::READ, __builtin_return_address(0));
    gpu_emulated_runtime->access(to, bytes, gpu_emulated::WRITE, __builtin_return_address(0));
    return __builtin_memmove(to, from, bytes);
}
GPU_EMULATED_QUIET inline void *memset(void *to, int value, size_t bytes) {
    if (bytes == 0) return to;
    gpu_emulated_runtime->access(to, bytes, gpu_emulated::WRITE, __builtin_return_address(0));
    return __builtin_memset(to, value, bytes);
}
GPU_EMULATED_QUIET inline int memcmp(const void *a, const void *b, size_t bytes) {
    if (bytes == 0) return 0;
    gpu_emulated_runtime->access(a, bytes, gpu_emulated::READ, __builtin_return_address(0));
    gpu_emulated_runtime->access(b, bytes, gpu_emulated::READ, __builtin_return_address(0));
    return __builtin_memcmp(a, b, bytes);
}

// NVRTC knows placement new without a header.
GPU_EMULATED_INLINE void *operator new(size_t, void *place) noexcept { return place; }
GPU_EMULATED_INLINE void *operator new[](size_t, void *place) noexcept { return place; }
