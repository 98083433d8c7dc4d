//! The values that a mask selects, of which nothing has been computed.

use std::fmt;

use gpu_array::{
    Element,
    expression::{Backend, Expr, Gpu, Host},
    gpu_driver::Stream,
};
use ndarray::{Array1, Dimension, Ix0, Ix1};

use super::{
    launch::{FLAGS, VALUES},
    results::Selected,
    selection::{Selection, Selects},
};
use crate::Result;

/// The values where a mask is true: NumPy's `x[mask]`, not computed.
///
/// [`Select::select`](super::Select::select) makes it. `eval` and `write_into` move the values, which then lie in C order and contiguous; reductions,
/// such as [`Masked::mean`], read them where they are.
#[must_use = "it is computed by `eval` or `to_array`, or by a reduction"]
pub struct Masked<'a, T: Element, D: Dimension, P: Backend = Gpu> {
    values: Expr<'a, T, D, P>,
    mask: Expr<'a, bool, D, P>,
    home: Option<Stream>,
}

impl<'a, T: Element, D: Dimension, P: Backend> Masked<'a, T, D, P> {
    pub(super) fn new(values: Expr<'a, T, D, P>, mask: Expr<'a, bool, D, P>) -> Self {
        Self { values, mask, home: None }
    }

    pub(crate) fn values(&self) -> &Expr<'a, T, D, P> {
        &self.values
    }

    pub(crate) fn mask(&self) -> &Expr<'a, bool, D, P> {
        &self.mask
    }

    /// The stream that was given to compute on.
    pub(crate) fn home(&self) -> Option<&Stream> {
        self.home.as_ref()
    }

    fn selection(&self) -> Selection<'a, T, P> {
        let (values, mask) = (self.values.lower_deferred(), self.mask.lower_deferred());
        Selection::new(Some(values), mask, FLAGS | VALUES).with_home(self.home.clone())
    }
}

impl<T: Element, D: Dimension, P: Selects> Masked<'_, T, D, P> {
    /// The selected values as an array of their own, at either place, as [`Selection::to_array`] gives them. On a GPU it waits.
    ///
    /// # Errors
    /// As [`Selection::to_array`].
    pub fn to_array(&self) -> Result<P::Owned<T, Ix1>> {
        self.selection().to_array()
    }

    /// Computes the selected values into the first elements of an existing array or view, and their number into `count`, as
    /// [`Selection::write_into`] does. On a GPU it does not wait, and allocates nothing.
    ///
    /// # Errors
    /// As [`Selection::write_into`].
    pub fn write_into<'t>(
        &self,
        target: impl Into<P::ViewMut<'t, T, Ix1>>,
        count: impl Into<P::ViewMut<'t, i64, Ix0>>,
    ) -> Result<()>
    where
        T: 't,
    {
        self.selection().write_into(target, count)
    }
}

impl<'a, T: Element, D: Dimension> Masked<'a, T, D> {
    /// Runs the selection, or a reduction of it, on this stream, or on a device's main stream, which is then the home of a new result.
    /// It is needed if no array takes part.
    #[doc(alias = "eval_on")]
    pub fn on(mut self, home: impl Into<Stream>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// Computes the selected values as a new array with room for all values, and their number on the device, as [`Selection::eval`] does. Does not
    /// wait.
    ///
    /// # Errors
    /// As [`Selection::eval`].
    pub fn eval(&self) -> Result<Selected<T>> {
        self.selection().eval()
    }
}

impl<T: Element, D: Dimension> Masked<'_, T, D, Host> {
    /// The selected values, as [`host::select`](crate::host::select()) gives them.
    ///
    /// # Errors
    /// `Array` with the errors of [`Expr::eval`]; `Shape` for a mask of another shape.
    pub fn eval(&self) -> Result<Array1<T>> {
        self.selection().eval()
    }
}

impl<T: Element, D: Dimension, P: Backend> fmt::Debug for Masked<'_, T, D, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Masked")
    }
}
