//! The element types of sparse matrices.

/// An element of a sparse matrix, on the host and on a device: `f32` or `f64`.
///
/// Sums over many elements (dot products, norms) are carried in f64 for both, which costs nothing where memory is the limit.
pub trait Scalar:
    gpu_array::Element<Storage = Self>
    + gpu_array::gpu_driver::DevicePod
    + num_traits::Float
    + num_traits::NumAssign
    + Into<f64>
    + std::fmt::LowerExp
    + std::str::FromStr
    + std::iter::Sum
{
    /// The nearest value of this type.
    fn from_f64(value: f64) -> Self;
    /// The value in f64 (exact).
    fn to_f64(self) -> f64;
}

impl Scalar for f32 {
    fn from_f64(value: f64) -> Self {
        value as f32
    }
    fn to_f64(self) -> f64 {
        self.into()
    }
}

impl Scalar for f64 {
    fn from_f64(value: f64) -> Self {
        value
    }
    fn to_f64(self) -> f64 {
        self
    }
}
