//! The triangles of matrices.

/// The triangle of a matrix that `solve_triangular` reads; the rest of the matrix is not looked at.
///
/// The transposed system is that of the transposed view: `a.t()` of a lower triangle is an upper one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Triangle {
    /// On and below the diagonal.
    Lower,
    /// On and above the diagonal.
    Upper,
    /// Below the diagonal, whose elements are taken to be 1 and not read: SciPy's `unit_diagonal`.
    UnitLower,
    /// Above the diagonal, whose elements are taken to be 1 and not read.
    UnitUpper,
}

impl Triangle {
    pub(crate) fn is_lower(self) -> bool {
        matches!(self, Self::Lower | Self::UnitLower)
    }

    pub(crate) fn is_unit(self) -> bool {
        matches!(self, Self::UnitLower | Self::UnitUpper)
    }
}
