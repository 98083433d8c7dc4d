// cupy/complex.cuh: the name of CuPy for gpu::Complex.
#pragma once
// In quotes this would be the file itself.
#include <complex.cuh>

template <class T> using complex = gpu::Complex<T>;
