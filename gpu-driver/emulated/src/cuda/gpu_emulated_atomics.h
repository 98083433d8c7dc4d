// Atomic functions. The driver checks the address and may let other threads run first; the operation itself is then a plain
// one, because only one thread runs at a time and nothing here asks the driver between the read and the write.
#pragma once

namespace gpu_emulated {

enum class Update { Add, Subtract, Exchange, Min, Max, Increment, Decrement, And, Or, Xor };

// Replaces the value at `address` and returns the one before.
template <Update UPDATE, class T> GPU_EMULATED_QUIET T update(T *address, T operand, const char *file, unsigned line) {
    gpu_emulated_runtime->atomic(address, sizeof(T), file, line);
    Undisturbed undisturbed;
    T old = *address;
    if constexpr (UPDATE == Update::Add) *address = old + operand;
    if constexpr (UPDATE == Update::Subtract) *address = old - operand;
    if constexpr (UPDATE == Update::Exchange) *address = operand;
    if constexpr (UPDATE == Update::Min) *address = operand < old ? operand : old;
    if constexpr (UPDATE == Update::Max) *address = operand > old ? operand : old;
    if constexpr (UPDATE == Update::Increment) *address = old >= operand ? 0 : old + 1;
    if constexpr (UPDATE == Update::Decrement) *address = old == 0 || old > operand ? operand : old - 1;
    if constexpr (UPDATE == Update::And) *address = old & operand;
    if constexpr (UPDATE == Update::Or) *address = old | operand;
    if constexpr (UPDATE == Update::Xor) *address = old ^ operand;
    return old;
}

template <class T>
GPU_EMULATED_QUIET T compare_and_swap(T *address, T expected, T desired, const char *file, unsigned line) {
    gpu_emulated_runtime->atomic(address, sizeof(T), file, line);
    Undisturbed undisturbed;
    T old = *address;
    if (old == expected) *address = desired;
    return old;
}

// Adds a vector of floats: each member atomically, as CUDA promises, though here all at once.
GPU_EMULATED_QUIET inline float2 add_vector(float2 *address, float2 operand, const char *file, unsigned line) {
    gpu_emulated_runtime->atomic(address, sizeof(float2), file, line);
    Undisturbed undisturbed;
    float2 old = *address;
    *address = {old.x + operand.x, old.y + operand.y};
    return old;
}
GPU_EMULATED_QUIET inline float4 add_vector(float4 *address, float4 operand, const char *file, unsigned line) {
    gpu_emulated_runtime->atomic(address, sizeof(float4), file, line);
    Undisturbed undisturbed;
    float4 old = *address;
    *address = {old.x + operand.x, old.y + operand.y, old.z + operand.z, old.w + operand.w};
    return old;
}

} // namespace gpu_emulated

// One function in the three scopes, which are the same here.
#define GPU_EMULATED_ATOMIC_SCOPE(T, name, operation)                                                                        \
    GPU_EMULATED_INLINE T name(T *address, T value, GPU_EMULATED_PLACE) {                                                    \
        return gpu_emulated::update<gpu_emulated::Update::operation>(address, value, file, line);                            \
    }
#define GPU_EMULATED_ATOMIC(T, name, operation)                                                                              \
    GPU_EMULATED_ATOMIC_SCOPE(T, name, operation)                                                                            \
    GPU_EMULATED_ATOMIC_SCOPE(T, name##_block, operation)                                                                    \
    GPU_EMULATED_ATOMIC_SCOPE(T, name##_system, operation)
GPU_EMULATED_ATOMIC(int, atomicAdd, Add)
GPU_EMULATED_ATOMIC(unsigned, atomicAdd, Add)
GPU_EMULATED_ATOMIC(unsigned long long, atomicAdd, Add)
GPU_EMULATED_ATOMIC(float, atomicAdd, Add)
GPU_EMULATED_ATOMIC(double, atomicAdd, Add)
GPU_EMULATED_ATOMIC(int, atomicSub, Subtract)
GPU_EMULATED_ATOMIC(unsigned, atomicSub, Subtract)
GPU_EMULATED_ATOMIC(int, atomicExch, Exchange)
GPU_EMULATED_ATOMIC(unsigned, atomicExch, Exchange)
GPU_EMULATED_ATOMIC(unsigned long long, atomicExch, Exchange)
GPU_EMULATED_ATOMIC(float, atomicExch, Exchange)
GPU_EMULATED_ATOMIC(int, atomicMin, Min)
GPU_EMULATED_ATOMIC(unsigned, atomicMin, Min)
GPU_EMULATED_ATOMIC(long long, atomicMin, Min)
GPU_EMULATED_ATOMIC(unsigned long long, atomicMin, Min)
GPU_EMULATED_ATOMIC(int, atomicMax, Max)
GPU_EMULATED_ATOMIC(unsigned, atomicMax, Max)
GPU_EMULATED_ATOMIC(long long, atomicMax, Max)
GPU_EMULATED_ATOMIC(unsigned long long, atomicMax, Max)
GPU_EMULATED_ATOMIC(unsigned, atomicInc, Increment)
GPU_EMULATED_ATOMIC(unsigned, atomicDec, Decrement)
GPU_EMULATED_ATOMIC(int, atomicAnd, And)
GPU_EMULATED_ATOMIC(unsigned, atomicAnd, And)
GPU_EMULATED_ATOMIC(unsigned long long, atomicAnd, And)
GPU_EMULATED_ATOMIC(int, atomicOr, Or)
GPU_EMULATED_ATOMIC(unsigned, atomicOr, Or)
GPU_EMULATED_ATOMIC(unsigned long long, atomicOr, Or)
GPU_EMULATED_ATOMIC(int, atomicXor, Xor)
GPU_EMULATED_ATOMIC(unsigned, atomicXor, Xor)
GPU_EMULATED_ATOMIC(unsigned long long, atomicXor, Xor)
#undef GPU_EMULATED_ATOMIC
#undef GPU_EMULATED_ATOMIC_SCOPE

#define GPU_EMULATED_ATOMIC_CAS_SCOPE(T, name)                                                                               \
    GPU_EMULATED_INLINE T name(T *address, T expected, T desired, GPU_EMULATED_PLACE) {                                      \
        return gpu_emulated::compare_and_swap(address, expected, desired, file, line);                                       \
    }
#define GPU_EMULATED_ATOMIC_CAS(T)                                                                                           \
    GPU_EMULATED_ATOMIC_CAS_SCOPE(T, atomicCAS)                                                                              \
    GPU_EMULATED_ATOMIC_CAS_SCOPE(T, atomicCAS_block)                                                                        \
    GPU_EMULATED_ATOMIC_CAS_SCOPE(T, atomicCAS_system)
GPU_EMULATED_ATOMIC_CAS(unsigned short)
GPU_EMULATED_ATOMIC_CAS(int)
GPU_EMULATED_ATOMIC_CAS(unsigned)
GPU_EMULATED_ATOMIC_CAS(unsigned long long)
#undef GPU_EMULATED_ATOMIC_CAS
#undef GPU_EMULATED_ATOMIC_CAS_SCOPE

#define GPU_EMULATED_ATOMIC_VECTOR(T, name)                                                                                  \
    GPU_EMULATED_INLINE T name(T *address, T value, GPU_EMULATED_PLACE) {                                                    \
        return gpu_emulated::add_vector(address, value, file, line);                                                         \
    }
GPU_EMULATED_ATOMIC_VECTOR(float2, atomicAdd)
GPU_EMULATED_ATOMIC_VECTOR(float2, atomicAdd_block)
GPU_EMULATED_ATOMIC_VECTOR(float2, atomicAdd_system)
GPU_EMULATED_ATOMIC_VECTOR(float4, atomicAdd)
GPU_EMULATED_ATOMIC_VECTOR(float4, atomicAdd_block)
GPU_EMULATED_ATOMIC_VECTOR(float4, atomicAdd_system)
#undef GPU_EMULATED_ATOMIC_VECTOR
