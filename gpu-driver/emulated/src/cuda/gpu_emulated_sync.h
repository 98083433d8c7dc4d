// Barriers, fences, clocks, and what ends a launch.
#pragma once

GPU_EMULATED_QUIET inline void __syncthreads(GPU_EMULATED_PLACE) {
    gpu_emulated_runtime->barrier(gpu_emulated::BARRIER, 0, "__syncthreads", file, line);
}
GPU_EMULATED_QUIET inline int __syncthreads_count(int predicate, GPU_EMULATED_PLACE) {
    return gpu_emulated_runtime->barrier(gpu_emulated::BARRIER_COUNT, predicate != 0, "__syncthreads_count", file, line);
}
GPU_EMULATED_QUIET inline int __syncthreads_and(int predicate, GPU_EMULATED_PLACE) {
    return gpu_emulated_runtime->barrier(gpu_emulated::BARRIER_AND, predicate != 0, "__syncthreads_and", file, line);
}
GPU_EMULATED_QUIET inline int __syncthreads_or(int predicate, GPU_EMULATED_PLACE) {
    return gpu_emulated_runtime->barrier(gpu_emulated::BARRIER_OR, predicate != 0, "__syncthreads_or", file, line);
}

GPU_EMULATED_QUIET inline void __threadfence_block(GPU_EMULATED_PLACE) {
    gpu_emulated_runtime->fence(gpu_emulated::FENCE_BLOCK, file, line);
}
GPU_EMULATED_QUIET inline void __threadfence(GPU_EMULATED_PLACE) {
    gpu_emulated_runtime->fence(gpu_emulated::FENCE_DEVICE, file, line);
}
GPU_EMULATED_QUIET inline void __threadfence_system(GPU_EMULATED_PLACE) {
    gpu_emulated_runtime->fence(gpu_emulated::FENCE_SYSTEM, file, line);
}

GPU_EMULATED_QUIET inline long long clock64() { return (long long)gpu_emulated_runtime->clock(gpu_emulated::CLOCK); }
GPU_EMULATED_QUIET inline clock_t clock() {
    // 32 bits of the counter, as on the device.
    return (clock_t)(int)gpu_emulated_runtime->clock(gpu_emulated::CLOCK);
}
GPU_EMULATED_QUIET inline unsigned long long __globaltimer() {
    return gpu_emulated_runtime->clock(gpu_emulated::GLOBAL_TIMER);
}
GPU_EMULATED_QUIET inline void __nanosleep(unsigned nanoseconds) { gpu_emulated_runtime->nanosleep(nanoseconds); }

[[noreturn]] GPU_EMULATED_QUIET inline void __trap(GPU_EMULATED_PLACE) {
    gpu_emulated_runtime->trap(file, line);
    __builtin_unreachable();
}
// Without a debugger a breakpoint ends the launch, as it does on the device.
[[noreturn]] GPU_EMULATED_QUIET inline void __brkpt(GPU_EMULATED_PLACE) {
    gpu_emulated_runtime->trap(file, line);
    __builtin_unreachable();
}

namespace gpu_emulated {

[[noreturn]] GPU_EMULATED_QUIET inline void undefined(const char *what, const char *file, unsigned line) {
    gpu_emulated_runtime->undefined(what, file, line, 0, nullptr);
    __builtin_unreachable();
}

GPU_EMULATED_QUIET inline void grid_dependency_wait() { gpu_emulated_runtime->grid_dependency_wait(); }

// The first statement of a kernel; what __launch_bounds__ leaves out is 0. A third bound is the blocks of a cluster.
GPU_EMULATED_QUIET inline void enter(unsigned max_threads = 0, unsigned min_blocks = 0, unsigned = 0) {
    gpu_emulated_runtime->enter(max_threads, min_blocks);
}

} // namespace gpu_emulated

#define GPU_EMULATED_ENTER(...) gpu_emulated::enter(__VA_ARGS__)
