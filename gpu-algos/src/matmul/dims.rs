//! The ranks of products.

use ndarray::{Dimension, Ix0, Ix1, Ix2, Ix3, Ix4, Ix5, Ix6, IxDyn};

/// The rank of the product with an array of rank `R`, by NumPy's rules: two vectors give a scalar, a vector loses its axis, and stacks
/// of matrices are broadcast.
#[diagnostic::on_unimplemented(
    message = "arrays of the ranks `{Self}` and `{R}` have no matrix product",
    note = "both have 1 to 6 axes, or `IxDyn`; `*` multiplies by a scalar"
)]
pub trait MatmulDim<R: Dimension>: Dimension {
    /// The rank of the product.
    type Product: Dimension;
}

/// A row for each left rank; the columns are the right ranks in the order of the head.
macro_rules! table {
    ($head:tt $($left:ident => $($output:ident)*;)*) => {
        $(table!(@row $left $head $($output)*);)*
    };
    (@row $left:ident ($($right:ident)*) $($output:ident)*) => {
        $(impl MatmulDim<$right> for $left {
            type Product = $output;
        })*
    };
}

#[rustfmt::skip]
table! {
    (Ix1 Ix2 Ix3 Ix4 Ix5 Ix6 IxDyn)
    Ix1 => Ix0 Ix1 Ix2 Ix3 Ix4 Ix5 IxDyn;
    Ix2 => Ix1 Ix2 Ix3 Ix4 Ix5 Ix6 IxDyn;
    Ix3 => Ix2 Ix3 Ix3 Ix4 Ix5 Ix6 IxDyn;
    Ix4 => Ix3 Ix4 Ix4 Ix4 Ix5 Ix6 IxDyn;
    Ix5 => Ix4 Ix5 Ix5 Ix5 Ix5 Ix6 IxDyn;
    Ix6 => Ix5 Ix6 Ix6 Ix6 Ix6 Ix6 IxDyn;
    IxDyn => IxDyn IxDyn IxDyn IxDyn IxDyn IxDyn IxDyn;
}
