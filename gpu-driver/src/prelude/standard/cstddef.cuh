// <cstddef> and <stddef.h>: size_t and ptrdiff_t are known to every compiler of device code.
#pragma once

#ifndef NULL
#define NULL 0
#endif
#ifndef offsetof
#ifdef GPU_EMULATED
#define offsetof(type, member) __builtin_offsetof(type, member)
#else
#define offsetof(type, member) (reinterpret_cast<decltype(sizeof(0))>(&((type *)0)->member))
#endif
#endif

namespace std {
typedef decltype(sizeof(0)) size_t;
typedef decltype((char *)0 - (char *)0) ptrdiff_t;
typedef decltype(nullptr) nullptr_t;
} // namespace std
