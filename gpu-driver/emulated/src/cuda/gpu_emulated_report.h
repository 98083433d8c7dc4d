// assert and printf.
#pragma once

namespace gpu_emulated {

[[noreturn]] GPU_EMULATED_QUIET inline void assert_failed(const char *expression, const char *function, const char *file,
                                                          unsigned line) {
    gpu_emulated_runtime->assert_failed(expression, function, file, line);
    __builtin_unreachable();
}

// The arguments that a format takes: one per conversion and one per `*`. Returns -1 for %n, which would write to memory behind
// the driver's back.
GPU_EMULATED_QUIET inline int count_arguments(const char *format) {
    int count = 0;
    for (const char *at = format; *at; at++) {
        if (*at != '%') continue;
        at++;
        for (; *at; at++) {
            bool is_flag = *at == '-' || *at == '+' || *at == ' ' || *at == '#' || *at == '.' || (*at >= '0' && *at <= '9');
            bool is_size = *at == 'h' || *at == 'l' || *at == 'j' || *at == 'z' || *at == 't' || *at == 'L' || *at == 'q';
            if (*at == '*') count++;
            else if (!is_flag && !is_size) break;
        }
        if (*at == 'n') return -1;
        if (*at == 0) break;
        if (*at != '%') count++;
    }
    return count;
}

} // namespace gpu_emulated

// Returns the number of arguments, -1 without a format, -2 where the text could not be made, as CUDA's does.
__attribute__((format(printf, 1, 2))) GPU_EMULATED_QUIET inline int printf(const char *format, ...) {
    if (!format) return -1;
    int count = gpu_emulated::count_arguments(format);
    if (count < 0) return -2;
    // Not on the stack, which is small; nothing else runs between here and the end of print(). What is longer is cut.
    static char text[8192];
    __builtin_va_list arguments;
    __builtin_va_start(arguments, format);
    int length = __builtin_vsnprintf(text, sizeof text, format, arguments);
    __builtin_va_end(arguments);
    if (length < 0) return -2;
    unsigned long bytes = (unsigned long)length < sizeof text ? (unsigned long)length : sizeof text - 1;
    gpu_emulated_runtime->print(text, bytes);
    return count;
}

#ifdef NDEBUG
#define assert(expression) ((void)0)
#else
#define assert(...)                                                                                                          \
    ((__VA_ARGS__) ? (void)0 : gpu_emulated::assert_failed(#__VA_ARGS__, __PRETTY_FUNCTION__, __FILE__, __LINE__))
#endif
