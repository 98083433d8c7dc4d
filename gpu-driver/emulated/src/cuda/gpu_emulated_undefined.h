// The handlers of undefined behaviour that the compiler's checks call, under their names for going on and for stopping; either
// way the driver ends the launch.
#pragma once

namespace gpu_emulated {

// Layouts that GCC and clang share. Every handler's data begins with the place; where a check has two, it is the first.
struct SourcePlace {
    const char *file;
    unsigned line, column;
};
struct TypeDescription {
    unsigned short kind, details;
    char name[1]; // in quotes, and ends with 0
};
struct TypeMismatch {
    SourcePlace place;
    const TypeDescription *type;
    unsigned char alignment_log2, access;
};

constexpr const char *MISMATCH_OF_NULL[] = {"load through a null pointer",
                                            "store through a null pointer",
                                            "reference bound to a null pointer",
                                            "member access through a null pointer",
                                            "member call on a null pointer",
                                            "constructor called on a null pointer",
                                            "downcast of a null pointer",
                                            "downcast of a null pointer",
                                            "upcast of a null pointer",
                                            "cast of a null pointer to a virtual base",
                                            "null where a value must not be null",
                                            "dynamic operation on a null pointer"};
constexpr unsigned STORE = 1;

GPU_EMULATED_QUIET inline void report_undefined(const char *what, const SourcePlace *place, const void *address) {
    const char *file = place && place->file ? place->file : "";
    unsigned line = place ? place->line : 0, column = place ? place->column : 0;
    gpu_emulated_runtime->undefined(what, file, line, column, address);
    __builtin_unreachable();
}

GPU_EMULATED_QUIET inline void report_mismatch(const TypeMismatch *data, unsigned long address) {
    const void *pointer = (const void *)address;
    unsigned kinds = sizeof MISMATCH_OF_NULL / sizeof *MISMATCH_OF_NULL;
    if (address == 0) {
        const char *what = data->access < kinds ? MISMATCH_OF_NULL[data->access] : "use of a null pointer";
        report_undefined(what, &data->place, pointer);
    }
    unsigned long alignment = 1ul << data->alignment_log2;
    if (address % alignment == 0) report_undefined("access to an object that is too small for the type", &data->place, pointer);
    static char name[256];
    unsigned n = 0;
    for (const char *from = data->type->name; *from && n < sizeof name - 1; from++) {
        if (*from != '\'') name[n++] = *from;
    }
    name[n] = 0;
    gpu_emulated_runtime->misaligned(pointer, alignment, data->access == STORE ? WRITE : READ, name,
                                     data->place.file ? data->place.file : "", data->place.line);
    __builtin_unreachable();
}

} // namespace gpu_emulated

GPU_EMULATED_HOOK void __ubsan_handle_type_mismatch_v1(const gpu_emulated::TypeMismatch *data, unsigned long address) {
    gpu_emulated::report_mismatch(data, address);
}
GPU_EMULATED_HOOK void __ubsan_handle_type_mismatch_v1_abort(const gpu_emulated::TypeMismatch *data, unsigned long address) {
    gpu_emulated::report_mismatch(data, address);
}

// Of the other checks there is a handler only where they are asked for.
#ifdef GPU_EMULATED_CHECKS_UNDEFINED

// The further arguments of a handler (operands, an index) are left where the caller put them.
#define GPU_EMULATED_UNDEFINED_ONCE(name, what)                                                                              \
    GPU_EMULATED_HOOK void __ubsan_handle_##name(const gpu_emulated::SourcePlace *place) {                                   \
        gpu_emulated::report_undefined(what, place, nullptr);                                                                \
    }
#define GPU_EMULATED_UNDEFINED(name, what)                                                                                   \
    GPU_EMULATED_UNDEFINED_ONCE(name, what)                                                                                  \
    GPU_EMULATED_UNDEFINED_ONCE(name##_abort, what)
GPU_EMULATED_UNDEFINED(add_overflow, "overflow of a signed addition")
GPU_EMULATED_UNDEFINED(sub_overflow, "overflow of a signed subtraction")
GPU_EMULATED_UNDEFINED(mul_overflow, "overflow of a signed multiplication")
GPU_EMULATED_UNDEFINED(negate_overflow, "overflow of a signed negation")
GPU_EMULATED_UNDEFINED(divrem_overflow, "integer division by zero, or overflow of a signed division")
GPU_EMULATED_UNDEFINED(shift_out_of_bounds, "shift by a negative count or by the width of the type or more")
GPU_EMULATED_UNDEFINED(out_of_bounds, "array index out of bounds")
GPU_EMULATED_UNDEFINED(local_out_of_bounds, "access out of the bounds of a local variable")
GPU_EMULATED_UNDEFINED(load_invalid_value, "load of a value that is none of a bool or an enumeration")
GPU_EMULATED_UNDEFINED_ONCE(builtin_unreachable, "a place that cannot be reached was reached, or an assumption failed")
GPU_EMULATED_UNDEFINED_ONCE(missing_return, "end of a function without the value that it must return")
GPU_EMULATED_UNDEFINED(vla_bound_not_positive, "array of variable length with no elements or fewer")
GPU_EMULATED_UNDEFINED(float_cast_overflow, "conversion of a floating-point value that the type cannot hold")
GPU_EMULATED_UNDEFINED(pointer_overflow, "pointer arithmetic beyond the address space or on a null pointer")
GPU_EMULATED_UNDEFINED(nonnull_arg, "null passed for a parameter that must not be null")
GPU_EMULATED_UNDEFINED(nullability_arg, "null passed for a parameter that must not be null")
GPU_EMULATED_UNDEFINED(invalid_builtin, "built-in function called with zero, for which it is not defined")
GPU_EMULATED_UNDEFINED(alignment_assumption, "pointer that is not aligned as was assumed")
GPU_EMULATED_UNDEFINED(function_type_mismatch, "call of a function through a pointer to another type of function")
GPU_EMULATED_UNDEFINED(function_type_mismatch_v1, "call of a function through a pointer to another type of function")
GPU_EMULATED_UNDEFINED(implicit_conversion, "implicit conversion that changes the value")
#undef GPU_EMULATED_UNDEFINED
#undef GPU_EMULATED_UNDEFINED_ONCE

// These two have the place as a second argument: the first describes the function's declaration.
#define GPU_EMULATED_UNDEFINED_RETURN(name)                                                                                  \
    GPU_EMULATED_HOOK void __ubsan_handle_##name(const void *, const gpu_emulated::SourcePlace *place) {                     \
        gpu_emulated::report_undefined("null returned where a function must not return null", place, nullptr);               \
    }
GPU_EMULATED_UNDEFINED_RETURN(nonnull_return_v1)
GPU_EMULATED_UNDEFINED_RETURN(nonnull_return_v1_abort)
GPU_EMULATED_UNDEFINED_RETURN(nullability_return_v1)
GPU_EMULATED_UNDEFINED_RETURN(nullability_return_v1_abort)
#undef GPU_EMULATED_UNDEFINED_RETURN

#endif
