// The compiler's built-in atomics with an order and a scope. Every order is the strongest here: threads run one at a time.
#pragma once

#define __NV_ATOMIC_RELAXED 0
#define __NV_ATOMIC_CONSUME 1
#define __NV_ATOMIC_ACQUIRE 2
#define __NV_ATOMIC_RELEASE 3
#define __NV_ATOMIC_ACQ_REL 4
#define __NV_ATOMIC_SEQ_CST 5

#define __NV_THREAD_SCOPE_THREAD 0
#define __NV_THREAD_SCOPE_BLOCK 1
#define __NV_THREAD_SCOPE_CLUSTER 2
#define __NV_THREAD_SCOPE_DEVICE 3
#define __NV_THREAD_SCOPE_SYSTEM 4

namespace gpu_emulated {

template <class T> GPU_EMULATED_QUIET T atomic_load(const T *address, const char *file, unsigned line) {
    gpu_emulated_runtime->atomic(address, sizeof(T), file, line);
    return *address;
}
template <class T> GPU_EMULATED_QUIET void atomic_store(T *address, T value, const char *file, unsigned line) {
    gpu_emulated_runtime->atomic(address, sizeof(T), file, line);
    *address = value;
}
// Any type of 1, 2, 4, 8 or 16 bytes: compared by its bytes, as the hardware does.
template <class T> GPU_EMULATED_QUIET T atomic_exchange(T *address, T value, const char *file, unsigned line) {
    gpu_emulated_runtime->atomic(address, sizeof(T), file, line);
    Undisturbed undisturbed;
    T old = *address;
    *address = value;
    return old;
}
template <class T>
GPU_EMULATED_QUIET T atomic_compare_exchange(T *address, T expected, T desired, const char *file, unsigned line) {
    gpu_emulated_runtime->atomic(address, sizeof(T), file, line);
    Undisturbed undisturbed;
    T old = *address;
    if (__builtin_memcmp(&old, &expected, sizeof(T)) == 0) *address = desired;
    return old;
}

} // namespace gpu_emulated

template <class T>
GPU_EMULATED_INLINE typename gpu_emulated::plain<T>::type
__nv_atomic_load_n(T *address, int, int = __NV_THREAD_SCOPE_SYSTEM, GPU_EMULATED_PLACE) {
    using V = typename gpu_emulated::plain<T>::type;
    return gpu_emulated::atomic_load(const_cast<const V *>(address), file, line);
}
template <class T>
GPU_EMULATED_INLINE void __nv_atomic_load(const T *address, T *result, int, int = __NV_THREAD_SCOPE_SYSTEM,
                                          GPU_EMULATED_PLACE) {
    *result = gpu_emulated::atomic_load(address, file, line);
}
template <class T>
GPU_EMULATED_INLINE void __nv_atomic_store_n(T *address, typename gpu_emulated::same_as<T>::type value, int,
                                             int = __NV_THREAD_SCOPE_SYSTEM, GPU_EMULATED_PLACE) {
    gpu_emulated::atomic_store(address, value, file, line);
}
template <class T>
GPU_EMULATED_INLINE void __nv_atomic_store(T *address, T *value, int, int = __NV_THREAD_SCOPE_SYSTEM, GPU_EMULATED_PLACE) {
    gpu_emulated::atomic_store(address, *value, file, line);
}
template <class T>
GPU_EMULATED_INLINE T __nv_atomic_exchange_n(T *address, typename gpu_emulated::same_as<T>::type value, int,
                                             int = __NV_THREAD_SCOPE_SYSTEM, GPU_EMULATED_PLACE) {
    return gpu_emulated::atomic_exchange(address, value, file, line);
}
template <class T>
GPU_EMULATED_INLINE void __nv_atomic_exchange(T *address, T *value, T *result, int, int = __NV_THREAD_SCOPE_SYSTEM,
                                              GPU_EMULATED_PLACE) {
    *result = gpu_emulated::atomic_exchange(address, *value, file, line);
}
template <class T>
GPU_EMULATED_INLINE bool __nv_atomic_compare_exchange_n(T *address, T *expected, typename gpu_emulated::same_as<T>::type desired,
                                                        bool, int, int, int = __NV_THREAD_SCOPE_SYSTEM, GPU_EMULATED_PLACE) {
    T wanted = *expected;
    T old = gpu_emulated::atomic_compare_exchange(address, wanted, desired, file, line);
    bool equal = __builtin_memcmp(&old, &wanted, sizeof(T)) == 0;
    if (!equal) *expected = old;
    return equal;
}
template <class T>
GPU_EMULATED_INLINE bool __nv_atomic_compare_exchange(T *address, T *expected, T *desired, bool weak, int success, int failure,
                                                      int scope = __NV_THREAD_SCOPE_SYSTEM, GPU_EMULATED_PLACE) {
    return __nv_atomic_compare_exchange_n(address, expected, *desired, weak, success, failure, scope, file, line);
}

#define GPU_EMULATED_NV_ATOMIC(name, operation)                                                                              \
    template <class T>                                                                                                       \
    GPU_EMULATED_INLINE T __nv_atomic_fetch_##name(T *address, typename gpu_emulated::same_as<T>::type value, int,           \
                                                   int = __NV_THREAD_SCOPE_SYSTEM, GPU_EMULATED_PLACE) {                     \
        return gpu_emulated::update<gpu_emulated::Update::operation, T>(address, value, file, line);                         \
    }                                                                                                                        \
    template <class T>                                                                                                       \
    GPU_EMULATED_INLINE void __nv_atomic_##name(T *address, typename gpu_emulated::same_as<T>::type value, int,              \
                                                int = __NV_THREAD_SCOPE_SYSTEM, GPU_EMULATED_PLACE) {                        \
        gpu_emulated::update<gpu_emulated::Update::operation, T>(address, value, file, line);                                \
    }
GPU_EMULATED_NV_ATOMIC(add, Add)
GPU_EMULATED_NV_ATOMIC(sub, Subtract)
GPU_EMULATED_NV_ATOMIC(min, Min)
GPU_EMULATED_NV_ATOMIC(max, Max)
GPU_EMULATED_NV_ATOMIC(and, And)
GPU_EMULATED_NV_ATOMIC(or, Or)
GPU_EMULATED_NV_ATOMIC(xor, Xor)
#undef GPU_EMULATED_NV_ATOMIC

GPU_EMULATED_INLINE void __nv_atomic_thread_fence(int, int scope = __NV_THREAD_SCOPE_SYSTEM, GPU_EMULATED_PLACE) {
    if (scope <= __NV_THREAD_SCOPE_BLOCK) __threadfence_block(file, line);
    else if (scope <= __NV_THREAD_SCOPE_DEVICE) __threadfence(file, line);
    else __threadfence_system(file, line);
}
