//! Precisions of products of f32.

/// The arithmetic of a matrix product of f32, for [`MatrixProduct::precision`](super::MatrixProduct::precision) and
/// [`gemm_with_precision`](super::gemm_with_precision).
///
/// [`Precision::Tf32`] and [`Precision::Emulated`] say how much precision a product may give up, or how it may be reached. They are computed on tensor cores
/// (compute capability 8.0 and newer). A product that is not expected to be faster there is computed as [`Precision::Strict`]: a small one, for example, or
/// any on a device whose tensor cores multiply f32 no faster than its CUDA cores, as those of 8.6, 8.9 and 12.0 do. Products with vectors are
/// reductions for each precision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Precision {
    /// Fused multiply-adds in f32 on CUDA cores: |error| <= gamma_k |a| |b| with u = 2^-24. NaN and infinities propagate as IEEE 754 has it.
    #[default]
    Strict,
    /// Elements are rounded, or cut, to the 11 bits of TF32, and products are summed in f32, towards zero. |error| <= (2^-9 + k 2^-23) |a| |b| for
    /// elements below (2 - 2^-11) 2^127; larger ones may become infinite. NaN and infinities propagate; a NaN of which only the 13 lowest bits of the
    /// fraction are set, which no operation makes, may become an infinity.
    Tf32,
    /// Each element is the sum of three bf16, and a product the sum of the six greatest products of these; sums over 64 terms are rounded towards zero,
    /// others to nearest. |error| <= (2^-22 + (k / 64 + 16) 2^-24) |a| |b| for elements that are 0 or between 2^-100 and 2^100. That is below the error
    /// of [`Precision::Strict`] from a few hundred terms on, and about the same before.
    ///
    /// Smaller elements lose low bits: the error is at most 2^-126 of the other factor for each. An infinity makes the results that it takes part in
    /// infinite or NaN; a NaN makes them NaN.
    ///
    /// The bounds of both were measured on Hopper, whose tensor cores keep more bits of small terms than older ones.
    ///
    /// Source: Henry, Tang and Heinecke, *Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations*, 2019; sums
    /// outside of the tensor cores after Ootomo and Yokota, *Recovering single precision accuracy from Tensor Cores*, 2022.
    Emulated,
}

impl Precision {
    /// Keeps to the kernel of the precision where one is there, also if another is expected to be faster. For tests and measurements.
    #[doc(hidden)]
    pub fn forced(self) -> RequestedPrecision {
        RequestedPrecision { precision: self, is_forced: true }
    }
}

impl From<Precision> for RequestedPrecision {
    fn from(precision: Precision) -> Self {
        Self { precision, is_forced: false }
    }
}

/// A precision, and whether a product keeps to its kernel though another one is expected to be faster.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestedPrecision {
    pub(super) precision: Precision,
    pub(super) is_forced: bool,
}
