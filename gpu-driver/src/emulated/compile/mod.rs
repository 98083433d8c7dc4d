//! Compiles a program of the run-time compiler's language with the machine's C++ compiler.

mod kernels;
mod lexer;
mod rewrite;
mod shared;
mod source;

/// Stands before the emulated headers: what the rewritten text names itself.
const PREAMBLE: &str = "\
template <class T> constexpr unsigned long gpu_emulated_alignment() { return alignof(T); }
template <unsigned long N> constexpr unsigned long gpu_emulated_alignment() { return N; }
";
