//! Approximate inverses that make a solve shorter.

use std::fmt;

use super::LinearOperator;
use crate::product::check_length;
use crate::{Result, Scalar, SparseError};

/// SciPy's `M`: an approximation of `A^-1`, symmetric and positive definite for conjugate gradients.
///
/// [`Identity`], [`Jacobi`], and every [`LinearOperator`] (by value or by reference) are preconditioners.
pub trait Preconditioner<T: Scalar> {
    /// Gets ready for a solve with `a`, once per solve.
    ///
    /// # Errors
    /// Whatever makes the preconditioner impossible for this operator.
    fn prepare(&self, a: &dyn LinearOperator<T>) -> Result<Prepared<'_, T>>;
}

/// A preconditioner in the form in which the solver's loop applies it.
#[non_exhaustive]
pub enum Prepared<'m, T> {
    /// Nothing to do: `z = r`.
    Identity,
    /// `z_i = d_i r_i`, computed where it is used and never stored.
    Diagonal(Vec<T>),
    /// `z = M r`, by any operator.
    Operator(&'m dyn LinearOperator<T>),
}

impl<T> fmt::Debug for Prepared<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Identity => "Identity",
            Self::Diagonal(_) => "Diagonal",
            Self::Operator(_) => "Operator",
        })
    }
}

/// No preconditioner.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity;

impl<T: Scalar> Preconditioner<T> for Identity {
    fn prepare(&self, _: &dyn LinearOperator<T>) -> Result<Prepared<'_, T>> {
        Ok(Prepared::Identity)
    }
}

/// Division by the diagonal of `A` (Jacobi 1845): cheap, and a help wherever the rows of `A` are scaled differently.
///
/// Fused into the passes of the solver: it costs two more reads of a vector per iteration. A diagonal entry that is zero, not
/// finite, or too small to have a finite inverse is `Err(Diagonal)`, with its row; an operator without a known diagonal is
/// `Err(NoDiagonal)`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Jacobi;

impl<T: Scalar> Preconditioner<T> for Jacobi {
    fn prepare(&self, a: &dyn LinearOperator<T>) -> Result<Prepared<'_, T>> {
        let mut diagonal = a.diagonal().ok_or(SparseError::NoDiagonal)?;
        check_length("Jacobi", "a diagonal", diagonal.len(), a.shape().0)?;
        for (row, d) in diagonal.iter_mut().enumerate() {
            let inverse = d.recip();
            if !d.is_finite() || !inverse.is_finite() {
                return Err(SparseError::Diagonal { row, value: (*d).into() });
            }
            *d = inverse;
        }
        Ok(Prepared::Diagonal(diagonal))
    }
}

/// One implementation per element type: written for any `T` it could overlap with another crate's operators.
macro_rules! operators_are_preconditioners {
    ($($t:ty),*) => {$(
        impl<M: LinearOperator<$t>> Preconditioner<$t> for M {
            fn prepare(&self, a: &dyn LinearOperator<$t>) -> Result<Prepared<'_, $t>> {
                if self.shape() != a.shape() {
                    let ((rows, cols), (m_rows, m_cols)) = (a.shape(), self.shape());
                    return Err(SparseError::Shape {
                        op: "preconditioner",
                        expected: format!("{rows} x {cols}, as the matrix"),
                        got: format!("{m_rows} x {m_cols}"),
                    });
                }
                Ok(Prepared::Operator(self))
            }
        }
    )*};
}

operators_are_preconditioners!(f32, f64);
