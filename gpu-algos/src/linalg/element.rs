//! Element types of linear algebra.

use gpu_array::Float;

/// An element type of matrices of linear algebra: f32 or f64.
#[diagnostic::on_unimplemented(
    message = "linear algebra of matrices of `{Self}` is not there",
    note = "it is defined for f32 and f64; `.cast::<f32>()` makes one of them"
)]
pub trait LinalgElement: Float + Into<f64> + sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

impl LinalgElement for f32 {}
impl LinalgElement for f64 {}
