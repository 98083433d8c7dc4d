//! Headers of types that kernels have and C++ does not: complex numbers, and numbers of 16 bits.

use crate::Header;

/// The C++ template `gpu::Complex<T>` for `float` and `double`: complex numbers with `+ - * /`, `==` and `!=`, for kernels of one's own.
///
/// With the feature `num-complex`, `Complex<f32>` and `Complex<f64>` of that crate are [`DevicePod`](crate::DevicePod) under these names. A program that
/// names them has this header and includes it; [`Definitions`](crate::Definitions) of structures with such fields do that by themselves.
/// ```
/// use gpu_driver::{COMPLEX, Program};
/// let text = "#include \"complex.cuh\"\n__global__ void square(gpu::Complex<float> *z) { z[threadIdx.x] *= z[threadIdx.x]; }";
/// let program = Program::new("square.cu", text).header(COMPLEX.name, COMPLEX.text);
/// ```
pub const COMPLEX: Header = Header { name: "complex.cuh", text: include_str!("../prelude/complex.cuh") };

/// The C++ types `gpu::f16` (half precision) and `gpu::bf16` (bfloat16): numbers of 16 bits, for kernels of one's own.
///
/// Conversions round once, to nearest even, from integers of any length and from `double` too. `+ - * /` of two numbers of one type round once to
/// that type, as NumPy's `float16` does; beside another number, and in comparisons, they are numbers of `float`.
///
/// With the feature `half`, `f16` and `bf16` of that crate are [`DevicePod`](crate::DevicePod) under these names. A program that names them has this
/// header and includes it; [`Definitions`](crate::Definitions) of structures with such fields do that by themselves.
/// ```
/// use gpu_driver::{HALF, Program};
/// let text = "#include \"half.cuh\"\n__global__ void square(gpu::f16 *x) { x[threadIdx.x] *= x[threadIdx.x]; }";
/// let program = Program::new("square.cu", text).header(HALF.name, HALF.text);
/// ```
pub const HALF: Header = Header { name: "half.cuh", text: include_str!("../prelude/half.cuh") };
