//! The arguments of an einsum: arrays of one element type and of any ranks.

use gpu_array::{Element, GpuArray, GpuView, GpuViewMut};
use ndarray::{ArrayBase, ArrayView, ArrayViewD, Data, Dimension, IxDyn};

/// One operand of an einsum: `&GpuArray` or a view of one, `&Array` or a view of one on the host.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no operand of an einsum",
    note = "operands are `&array` and views, on a GPU or on the host"
)]
pub trait EinsumOperand {
    /// The view of it: [`GpuView`] or [`ArrayViewD`].
    type View;
    /// The operand as a view with any number of axes.
    fn into_view(self) -> Self::View;
}

impl<'a, T: Element, D: Dimension> EinsumOperand for &'a GpuArray<T, D> {
    type View = GpuView<'a, T, IxDyn>;
    fn into_view(self) -> Self::View {
        self.view().into_dyn()
    }
}

impl<'a, T: Element, D: Dimension> EinsumOperand for GpuView<'a, T, D> {
    type View = GpuView<'a, T, IxDyn>;
    fn into_view(self) -> Self::View {
        self.into_dyn()
    }
}

impl<'a, T: Element, D: Dimension> EinsumOperand for &GpuView<'a, T, D> {
    type View = GpuView<'a, T, IxDyn>;
    fn into_view(self) -> Self::View {
        self.clone().into_dyn()
    }
}

impl<'a, T: Element, D: Dimension> EinsumOperand for &'a GpuViewMut<'_, T, D> {
    type View = GpuView<'a, T, IxDyn>;
    fn into_view(self) -> Self::View {
        self.view().into_dyn()
    }
}

impl<'a, T, S: Data<Elem = T>, D: Dimension> EinsumOperand for &'a ArrayBase<S, D> {
    type View = ArrayViewD<'a, T>;
    fn into_view(self) -> Self::View {
        self.view().into_dyn()
    }
}

impl<'a, T, D: Dimension> EinsumOperand for ArrayView<'a, T, D> {
    type View = ArrayViewD<'a, T>;
    fn into_view(self) -> Self::View {
        self.into_dyn()
    }
}

/// The operands of an einsum: an array, a slice or a `Vec` of operands of one type, or a tuple of up to eight of any ranks.
#[diagnostic::on_unimplemented(
    message = "`{Self}` are no operands of an einsum",
    note = "operands are `[&a, &b]` for arrays of one rank, and `(&a, &b)` for arrays of any ranks; all have one element type"
)]
pub trait EinsumOperands<V> {
    /// The operands as views.
    fn into_views(self) -> Vec<V>;
}

impl<O: EinsumOperand, const N: usize> EinsumOperands<O::View> for [O; N] {
    fn into_views(self) -> Vec<O::View> {
        self.into_iter().map(O::into_view).collect()
    }
}

impl<O: EinsumOperand> EinsumOperands<O::View> for Vec<O> {
    fn into_views(self) -> Vec<O::View> {
        self.into_iter().map(O::into_view).collect()
    }
}

impl<O: EinsumOperand + Clone> EinsumOperands<O::View> for &[O] {
    fn into_views(self) -> Vec<O::View> {
        self.iter().cloned().map(O::into_view).collect()
    }
}

macro_rules! tuples {
    ($($($operand:ident)*;)*) => {$(
        impl<V, $($operand: EinsumOperand<View = V>),*> EinsumOperands<V> for ($($operand,)*) {
            #[expect(non_snake_case, reason = "a name for each type")]
            fn into_views(self) -> Vec<V> {
                let ($($operand,)*) = self;
                vec![$($operand.into_view()),*]
            }
        }
    )*};
}
tuples! { A; A B; A B C; A B C D; A B C D E; A B C D E F; A B C D E F G; A B C D E F G H; }
