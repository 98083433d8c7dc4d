//! The element types that host and device share.

/// A type whose bytes mean the same on host and device, and that any bytes are a valid value of.
///
/// # Safety
/// The type has no padding, no pointer and no invalid bit pattern; its size and alignment are those of the CUDA C++ type
/// named by [`DevicePod::CUDA_NAME`].
pub unsafe trait DevicePod: Copy + Send + Sync + std::fmt::Debug + 'static {
    /// How the type is written in CUDA C++ (after the prelude).
    const CUDA_NAME: &'static str;
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
