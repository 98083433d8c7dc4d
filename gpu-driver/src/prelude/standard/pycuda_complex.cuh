// pycuda-complex.hpp: the name of PyCUDA for gpu::Complex.
#pragma once
#include "complex.cuh"

namespace pycuda {
template <class T> using complex = gpu::Complex<T>;
} // namespace pycuda
