// Shared memory. The driver lays out each block's variables in an arena; a variable is a reference into the arena of the block
// that runs, found through a slot that is numbered at the first use.
#pragma once

namespace gpu_emulated {

GPU_EMULATED_QUIET inline void *shared_place(unsigned *slot, unsigned long bytes, unsigned long alignment, const char *name,
                                             const char *file, unsigned line) {
    return gpu_emulated_runtime->shared_static(slot, bytes, alignment, name, file, line);
}

template <class T> GPU_EMULATED_INLINE T &shared(unsigned *slot, const char *name, const char *file, unsigned line) {
    return *static_cast<T *>(shared_place(slot, sizeof(T), alignof(T), name, file, line));
}

GPU_EMULATED_QUIET inline void *dynamic_shared() { return gpu_emulated_runtime->shared_dynamic(); }
GPU_EMULATED_QUIET inline unsigned dynamic_shared_bytes() { return gpu_emulated_runtime->shared_dynamic_bytes(); }

// What an array decays to: T[] and T[N] to T *, anything else to itself.
template <class T> struct element { using type = T; };
template <class T> struct element<T[]> { using type = T; };
template <class T, unsigned long N> struct element<T[N]> { using type = T; };

// `extern __shared__ T name[];` at namespace scope.
template <class A> struct DynamicShared {
    using T = typename element<A>::type;
    GPU_EMULATED_INLINE T *get() const { return static_cast<T *>(dynamic_shared()); }
    GPU_EMULATED_INLINE operator T *() const { return get(); }
    template <class U> explicit GPU_EMULATED_INLINE operator U *() const { return reinterpret_cast<U *>(get()); }
    template <class U> explicit GPU_EMULATED_INLINE operator U() const { return reinterpret_cast<U>(get()); }
    template <class I> GPU_EMULATED_INLINE enable_if<is_integer<I>, T &> operator[](I i) const { return get()[i]; }
    template <class I> GPU_EMULATED_INLINE enable_if<is_integer<I>, T *> operator+(I i) const { return get() + i; }
    GPU_EMULATED_INLINE T &operator*() const { return *get(); }
    // The address of an array of unknown bound is of little use, so a pointer to its first element stands for it.
    GPU_EMULATED_INLINE T *operator&() const { return get(); }
};

// `__shared__ T name;` at namespace scope: one variable per block.
template <class A> struct GlobalShared {
    unsigned *slot;
    unsigned long alignment;
    const char *name, *file;
    unsigned line;
    using T = typename element<A>::type;
    GPU_EMULATED_INLINE A &get() const { return *static_cast<A *>(shared_place(slot, sizeof(A), alignment, name, file, line)); }
    GPU_EMULATED_INLINE operator A &() const { return get(); }
    GPU_EMULATED_INLINE A *operator&() const { return &get(); }
    GPU_EMULATED_INLINE A *operator->() const { return &get(); }
    template <class V> GPU_EMULATED_INLINE A &operator=(const V &value) const { return get() = value; }
    // The same function serves a second variable as the source, which would otherwise copy the proxy.
    GPU_EMULATED_INLINE A &operator=(const GlobalShared &other) const { return get() = other.get(); }
    GPU_EMULATED_INLINE auto operator++() const { return ++get(); }
    GPU_EMULATED_INLINE auto operator++(int) const { return get()++; }
    GPU_EMULATED_INLINE auto operator--() const { return --get(); }
    GPU_EMULATED_INLINE auto operator--(int) const { return get()--; }
#define GPU_EMULATED_ASSIGN(op)                                                                                              \
    template <class V> GPU_EMULATED_INLINE A &operator op(const V &value) const { return get() op value; }
    GPU_EMULATED_ASSIGN(+=)
    GPU_EMULATED_ASSIGN(-=)
    GPU_EMULATED_ASSIGN(*=)
    GPU_EMULATED_ASSIGN(/=)
    GPU_EMULATED_ASSIGN(%=)
    GPU_EMULATED_ASSIGN(&=)
    GPU_EMULATED_ASSIGN(|=)
    GPU_EMULATED_ASSIGN(^=)
    GPU_EMULATED_ASSIGN(<<=)
    GPU_EMULATED_ASSIGN(>>=)
#undef GPU_EMULATED_ASSIGN
};

template <class T, unsigned long N> struct GlobalShared<T[N]> {
    using A = T[N];
    unsigned *slot;
    unsigned long alignment;
    const char *name, *file;
    unsigned line;
    GPU_EMULATED_INLINE A &get() const { return *static_cast<A *>(shared_place(slot, sizeof(A), alignment, name, file, line)); }
    GPU_EMULATED_INLINE operator T *() const { return get(); }
    template <class U> explicit GPU_EMULATED_INLINE operator U *() const { return reinterpret_cast<U *>(&get()); }
    template <class I> GPU_EMULATED_INLINE enable_if<is_integer<I>, T &> operator[](I i) const { return get()[i]; }
    template <class I> GPU_EMULATED_INLINE enable_if<is_integer<I>, T *> operator+(I i) const { return get() + i; }
    GPU_EMULATED_INLINE T &operator*() const { return *get(); }
    GPU_EMULATED_INLINE A *operator&() const { return &get(); }
};

} // namespace gpu_emulated

// TYPE is a local typedef, so that a type with commas, template arguments and array bounds arrives in one piece. The alignment
// is read from it here: an alignment attribute would be lost on a template argument.
#define GPU_EMULATED_SHARED(TYPE, name)                                                                                      \
    static unsigned gpu_emulated_slot_of_##name = 0;                                                                         \
    TYPE &name = *static_cast<TYPE *>(gpu_emulated::shared_place(&gpu_emulated_slot_of_##name, sizeof(TYPE), alignof(TYPE),  \
                                                                 #name, __FILE__, __LINE__))

// Inside a function. TYPE is an array of unknown bound.
#define GPU_EMULATED_SHARED_DYNAMIC(TYPE, name) TYPE &name = *static_cast<TYPE *>(gpu_emulated::dynamic_shared())

// At namespace scope.
#define GPU_EMULATED_SHARED_DYNAMIC_GLOBAL(TYPE, name) static constexpr gpu_emulated::DynamicShared<TYPE> name = {}
#define GPU_EMULATED_SHARED_GLOBAL(TYPE, name)                                                                               \
    static unsigned gpu_emulated_slot_of_##name = 0;                                                                         \
    static constexpr gpu_emulated::GlobalShared<TYPE> name = {&gpu_emulated_slot_of_##name, alignof(TYPE), #name, __FILE__,  \
                                                              __LINE__}
