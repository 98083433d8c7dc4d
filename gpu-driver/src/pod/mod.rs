//! The element types that host and device share.

use std::{fmt::Debug, slice};

use crate::{DriverError, Result};

mod definitions;
mod headers;

pub use definitions::Definitions;
pub use gpu_driver_derive::DevicePod;
pub use headers::{COMPLEX, HALF};

/// A type whose bytes mean the same on host and device, and that any bytes are a valid value of.
///
/// Derived, it makes a structure of plain types one:
/// ```
/// use gpu_driver::{Definitions, DevicePod};
///
/// #[repr(C)]
/// #[derive(Clone, Copy, Debug, DevicePod)]
/// struct Extrema {
///     least: i32,
///     greatest: i32,
/// }
/// assert_eq!(Extrema::CUDA_NAME, "Extrema");
/// let text = Definitions::of::<Extrema>()?.text();
/// assert!(text.contains("int32_t least;"));
/// # Ok::<(), gpu_driver::DriverError>(())
/// ```
/// The structure is `#[repr(C)]` or `#[repr(C, align(N))]`, and its fields, whose types are `DevicePod` themselves, fill it: anything
/// else is an error of the compiler. No padding:
/// ```compile_fail,E0080
/// #[repr(C)]
/// #[derive(Clone, Copy, Debug, gpu_driver::DevicePod)]
/// struct Padded {
///     a: u8,
///     b: u32,
/// }
/// ```
/// `#[repr(C)]`, since Rust's own order of fields is not C++'s:
/// ```compile_fail
/// #[derive(Clone, Copy, Debug, gpu_driver::DevicePod)]
/// struct InAnyOrder {
///     a: u32,
///     b: u32,
/// }
/// ```
/// Plain types only; a `bool` is none, since not every byte is one:
/// ```compile_fail,E0277
/// #[repr(C)]
/// #[derive(Clone, Copy, Debug, gpu_driver::DevicePod)]
/// struct WithFlag {
///     a: u32,
///     b: [bool; 4],
/// }
/// ```
/// The names are those of C++ too:
/// ```compile_fail
/// #[repr(C)]
/// #[derive(Clone, Copy, Debug, gpu_driver::DevicePod)]
/// struct Named {
///     class: u32,
/// }
/// ```
/// A crate that has `gpu_driver` through another one says so: `#[device_pod(crate = gpu_array::gpu_driver)]`. One without unsafe code of its own can
/// derive it, too:
/// ```
/// #![forbid(unsafe_code)]
///
/// #[repr(C)]
/// #[derive(Clone, Copy, Debug, gpu_driver::DevicePod)]
/// struct Point {
///     x: f32,
///     y: f32,
/// }
/// ```
///
/// # Safety
/// The type has no padding, no pointer and no invalid bit pattern; its size is that of the CUDA C++ type named by [`DevicePod::CUDA_NAME`], whose
/// alignment is [`DevicePod::CUDA_ALIGN`]: at least that in Rust, and a divisor of the size.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither plain data of a device nor memory that a kernel takes",
    note = "elements are numbers and `#[repr(C)]` structures with `#[derive(DevicePod)]`",
    note = "a launch takes such values, `&x` and `&mut x` of `DeviceVec`, `GpuArray` and memory of the host, and of parts and views \
            `x.slice(..)?.input()` and `view.as_device_slice()?.input()`"
)]
pub unsafe trait DevicePod: Copy + Send + Sync + Debug + 'static {
    /// How the type is written in CUDA C++ (after the prelude and the structures of [`DevicePod::define`]).
    const CUDA_NAME: &'static str;

    /// The alignment of the type in CUDA C++, in bytes. Elements of device memory have it, since their size is a multiple of it.
    const CUDA_ALIGN: usize = align_of::<Self>();

    /// Adds the structures that the name stands for, inner ones first, and the headers that they need. Numbers of C need none.
    ///
    /// # Errors
    /// `TypeName` where another structure has the name.
    fn define(_definitions: &mut Definitions) -> Result<()> {
        Ok(())
    }
}

macro_rules! pods {
    ($($rust:ty => $cuda:literal),* $(,)?) => {$(
        // SAFETY: a plain number, of the size and alignment of its CUDA C++ twin (the prelude asserts the sizes).
        unsafe impl DevicePod for $rust {
            const CUDA_NAME: &'static str = $cuda;
        }
    )*};
}

pods! {
    f32 => "float", f64 => "double",
    i8 => "int8_t", i16 => "int16_t", i32 => "int32_t", i64 => "int64_t",
    u8 => "uint8_t", u16 => "uint16_t", u32 => "uint32_t", u64 => "uint64_t",
}

#[cfg(feature = "num-complex")]
mod complex {
    use num_complex::Complex;

    use super::{COMPLEX, Definitions, DevicePod};
    use crate::Result;

    macro_rules! complex {
        ($($part:ty => $cuda:literal),*) => {$(
            // SAFETY: `repr(C)`, two plain numbers without padding; complex.cuh asserts the size, and aligns the pair as a whole.
            unsafe impl DevicePod for Complex<$part> {
                const CUDA_NAME: &'static str = $cuda;
                const CUDA_ALIGN: usize = size_of::<Self>();
                fn define(definitions: &mut Definitions) -> Result<()> {
                    definitions.include(COMPLEX);
                    Ok(())
                }
            }
        )*};
    }

    complex! { f32 => "gpu::Complex<float>", f64 => "gpu::Complex<double>" }
}

#[cfg(feature = "half")]
mod half {
    use half::{bf16, f16};

    use super::{Definitions, DevicePod, HALF};
    use crate::Result;

    macro_rules! half {
        ($($rust:ty => $cuda:literal),*) => {$(
            // SAFETY: 16 bits, each of which is a number's; half.cuh asserts size and alignment.
            unsafe impl DevicePod for $rust {
                const CUDA_NAME: &'static str = $cuda;
                fn define(definitions: &mut Definitions) -> Result<()> {
                    definitions.include(HALF);
                    Ok(())
                }
            }
        )*};
    }

    half! { f16 => "gpu::f16", bf16 => "gpu::bf16" }
}

/// A type that the text of a kernel can name: each [`DevicePod`], and `bool`.
pub trait KernelType: Copy + Send + Sync + Debug + 'static + sealed::Sealed {
    /// How a value's type is written in CUDA C++.
    const CUDA_TYPE: &'static str;

    /// Adds the structures that the name needs, as [`DevicePod::define`] does.
    ///
    /// # Errors
    /// Those of [`DevicePod::define`].
    fn define_type(definitions: &mut Definitions) -> Result<()>;

    /// Calls `each` with the value's bytes in 64-bit words, the last of them filled up: as a kernel's parameter is passed.
    fn for_each_word(self, each: impl FnMut(u64));
}

/// The bytes of plain values.
pub(crate) fn bytes_of<T: DevicePod>(values: &[T]) -> &[u8] {
    // SAFETY: plain values have no padding, so all of their bytes are there to be read.
    unsafe { slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

impl<T: DevicePod> KernelType for T {
    const CUDA_TYPE: &'static str = T::CUDA_NAME;

    fn define_type(definitions: &mut Definitions) -> Result<()> {
        T::define(definitions)
    }

    #[inline]
    fn for_each_word(self, mut each: impl FnMut(u64)) {
        let (whole, rest) = bytes_of(slice::from_ref(&self)).as_chunks();
        whole.iter().for_each(|&bytes| each(u64::from_ne_bytes(bytes)));
        if !rest.is_empty() {
            each(word(rest));
        }
    }
}

impl KernelType for bool {
    const CUDA_TYPE: &'static str = "bool";

    fn define_type(_definitions: &mut Definitions) -> Result<()> {
        Ok(())
    }

    fn for_each_word(self, mut each: impl FnMut(u64)) {
        each(word(&[self.into()]));
    }
}

/// Up to 8 bytes as they stand in memory.
fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; size_of::<u64>()];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_ne_bytes(word)
}

mod sealed {
    pub trait Sealed {}
    impl<T: super::DevicePod> Sealed for T {}
    impl Sealed for bool {}
}

/// Bytes of `len` elements, where they can be addressed.
pub(crate) fn byte_len<T>(len: usize) -> Result<usize> {
    let bytes = len.checked_mul(size_of::<T>()).filter(|&bytes| isize::try_from(bytes).is_ok());
    bytes.ok_or(DriverError::TooLarge { elements: len, element_bytes: size_of::<T>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_words_as_they_stand_in_memory() {
        fn words(value: impl KernelType) -> Vec<u64> {
            let mut words = Vec::new();
            value.for_each_word(|word| words.push(word));
            words
        }
        let first = |words: Vec<u64>| words[0].to_ne_bytes();
        assert_eq!(first(words(-2i8))[..2], [0xfe, 0]);
        assert_eq!(first(words(1.5f32))[..4], 1.5f32.to_ne_bytes());
        assert_eq!(words(-1i64), [u64::MAX]);
        assert_eq!((first(words(true))[0], words(false)), (1, vec![0]));
    }
}
