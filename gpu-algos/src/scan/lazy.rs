//! Scans as values: the expression, the mode, the destination, and the places that compute them.

use std::{fmt, marker::PhantomData};

use gpu_array::{
    ArrayError, Element,
    expression::{Assembled, Backend, Expr, Gpu, IntoExpr, Scope},
    gpu_driver::Stream,
};
use ndarray::{Axis, Dimension, Ix1};

use super::{
    epilogue,
    families::{HostHeads, HostScan, OnHost, of_flags, of_keys},
    launch::Heads,
    options::{OP, ScanOptions},
};
use crate::{
    Result,
    common::{
        operator::{DeviceOperator, OperatorKind},
        shape::{dim_of, same_shape},
        source::checked,
    },
};

/// A scan that has not been computed.
///
/// The methods of [`Scans`](super::Scans) make it; [`Scan::eval`] or [`Scan::write_into`] computes it. It is an operand of expressions too, as its
/// result would be: `x.cumsum() / x.sum()` ([more](crate::reduce#reductions-within-expressions)).
///
/// `O` is the element type of the results, `D` the rank of the scanned expression, `K` that of the result: 1 for all values in C order, `D` along an
/// axis, `P` the place.
#[must_use = "it is computed by `eval`"]
pub struct Scan<'a, O: Element, D: Dimension, K = Ix1, P: Backend = Gpu> {
    pub(super) values: Result<Assembled<'a>, ArrayError>,
    pub(super) heads: Option<(Result<Assembled<'a>, ArrayError>, Segments)>,
    /// The epilogue, an expression of the results.
    pub(super) epilogue: Option<ScanMap<'a, O, D, P>>,
    pub(super) operator: DeviceOperator,
    pub(super) options: ScanOptions,
    pub(super) home: Option<Stream>,
    /// The computation on the host.
    pub(super) host: Option<OnHost<O>>,
    _types: PhantomData<fn() -> (K, P)>,
}

/// An expression of the results of a scan, and their scope.
pub(super) struct ScanMap<'a, O: Element, D: Dimension, P: Backend> {
    values: Result<Expr<'a, O, D, P>, ArrayError>,
    scope: Scope,
}

impl<'a, O: Element, D: Dimension, P: Backend> ScanMap<'a, O, D, P> {
    /// The expression, which alone may read the results.
    pub(super) fn assembled(&self) -> Result<Assembled<'a>, ArrayError> {
        let values = self.values.as_ref().map_err(Clone::clone)?;
        Ok(values.lower_deferred()?.in_scope(self.scope))
    }
}

/// The kind of the heads of segments, and the function that finds them on the host.
pub(super) type Segments = (Heads, HostHeads);

/// The parts of a scan that is an operand.
pub(super) struct ScanInputs<'a, O, K> {
    pub(super) operands: Vec<Assembled<'a>>,
    pub(super) operator: DeviceOperator,
    pub(super) options: ScanOptions,
    pub(super) segments: Option<Segments>,
    pub(super) has_epilogue: bool,
    pub(super) dim: K,
    pub(super) home: Option<Stream>,
    pub(super) host: Option<OnHost<O>>,
}

/// A place that computes scans: [`Gpu`] or [`Host`](gpu_array::expression::Host).
pub trait ScanBackend: Backend {
    #[doc(hidden)]
    fn scan<O: Element, D: Dimension, K: Dimension>(scan: &Scan<'_, O, D, K, Self>) -> Result<Self::Owned<O, K>>;
    #[doc(hidden)]
    fn scan_into<O: Element, D: Dimension, K: Dimension>(
        scan: &Scan<'_, O, D, K, Self>,
        target: Self::ViewMut<'_, O, K>,
    ) -> Result<()>;
    /// The results of a scan of this shape, for an expression of them.
    #[doc(hidden)]
    fn results<'a, O: Element, D: Dimension>(dim: D, scope: Scope) -> Expr<'a, O, D, Self>;
    #[doc(hidden)]
    fn scan_in_place<T: Element, D: Dimension>(scan: InPlace<'_, T, D, Self>) -> Result<()>;
}

impl<'a, O: Element, D: Dimension, P: ScanBackend> Scan<'a, O, D, Ix1, P> {
    /// A scan by an operator on a GPU, or by a function of the host.
    pub(crate) fn new(
        values: Result<Assembled<'a>, ArrayError>,
        operator: DeviceOperator,
        host: Option<HostScan<O>>,
    ) -> Self {
        let (heads, epilogue, options, home) = (None, None, ScanOptions::default(), None);
        let host = host.map(OnHost::Results);
        Self { values, heads, epilogue, operator, options, home, host, _types: PhantomData }
    }

    /// Scans along one axis, each line by itself: the result has the shape of the array.
    pub fn axis(self, axis: Axis) -> Scan<'a, O, D, D, P> {
        let options = ScanOptions { axis: Some(axis.index()), ..self.options };
        let Self { values, heads, epilogue, operator, home, host, .. } = self;
        Scan { values, heads, epilogue, operator, options, home, host, _types: PhantomData }
    }
}

impl<'a, O: Element, D: Dimension, K: Dimension, P: ScanBackend> Scan<'a, O, D, K, P> {
    /// Makes the scan exclusive: each result is that of all values before it.
    ///
    /// The first result of a line or segment is the identity of the operator: 0 or 1, or for the greatest and least so far the bound that every value
    /// passes, which is infinite for floats.
    pub fn exclusive(mut self) -> Self {
        self.options.exclusive = true;
        self
    }

    /// Scans from the last value to the first: result i is that of value i and of all values after it.
    ///
    /// The walk through segments is reversed too: a set flag begins a segment of the reversed walk, so that the segment ends there in C order.
    pub fn reverse(mut self) -> Self {
        self.options.reverse = true;
        self
    }

    /// Restarts the scan at each set flag. Flags have the shape of the values.
    pub fn segments(mut self, flags: impl IntoExpr<'a, Elem = bool, Dim = D, Backend = P>) -> Self {
        self.heads = Some((flags.into_expr().lower_deferred(), (Heads::Flags, of_flags)));
        self
    }

    /// Restarts the scan at each key that differs from the key before it. Keys have the shape of the values; a NaN equals no key.
    pub fn by_key<T: Element>(mut self, keys: impl IntoExpr<'a, Elem = T, Dim = D, Backend = P>) -> Self {
        self.heads = Some((keys.into_expr().lower_deferred(), (Heads::Keys, of_keys::<T>)));
        self
    }

    /// Carries a sum or product of f32 in f64, and rounds each result once. The host always does.
    pub fn accumulate_f64(mut self) -> Self {
        self.operator.kind.carry_in_f64();
        self
    }

    /// Applies `map` to each result before it is written: `x.cumsum().map(|sum| sum / &weights)` is one kernel. The host computes the results, and
    /// then the expression of them.
    ///
    /// The expression that `map` receives has the shape of the scanned values, and has values only within the result of `map`, element by element. A
    /// reduction, a scan or a product of it would be computed before the results are there, so the evaluation returns the error `OutOfScope`:
    /// [`IntoExpr::into_expr`] in place of `map` computes the scan first, once for all places at which the expression stands.
    ///
    /// ```
    /// use gpu_algos::{gpu_array::expression::host, prelude::*};
    /// let (x, weights) = (ndarray::array![1.0, 2.0, 3.0], ndarray::array![1.0, 3.0, 2.0]);
    /// let means = host(&x).cumsum().map(|sum| sum / host(&weights)).eval()?;
    /// assert_eq!(means, ndarray::array![1.0, 1.0, 3.0]);
    ///
    /// assert!(host(&x).cumsum().map(|sum| &sum / sum.max()).eval().is_err());
    /// let sum = host(&x).cumsum().into_expr();
    /// assert_eq!((&sum / sum.max()).eval()?, ndarray::array![1.0 / 6.0, 0.5, 1.0]);
    /// # Ok::<(), gpu_algos::AlgoError>(())
    /// ```
    pub fn map<Q: Element>(self, map: impl FnOnce(Expr<'a, O, D, P>) -> Expr<'a, Q, D, P>) -> Scan<'a, Q, D, K, P> {
        let Self { values, heads, epilogue: earlier, operator, options, home, host, .. } = self;
        let host = host.map(OnHost::mapped);
        let scope = earlier.as_ref().map_or_else(epilogue::scope, |earlier| earlier.scope);
        let results = match (earlier, &values) {
            (Some(earlier), _) => earlier.values,
            (None, Ok(values)) => dim_of(OP, values.shape()).map(|dim| P::results(dim, scope)),
            (None, Err(error)) => Err(error.clone()),
        };
        let epilogue = Some(ScanMap { values: results.map(map), scope });
        Scan { values, heads, epilogue, operator, options, home, host, _types: PhantomData }
    }

    /// The parts of an operand: the scanned expression and those of segments and epilogue, the operation, the shape of the result, the stream.
    pub(super) fn into_parts(self) -> Result<ScanInputs<'a, O, K>> {
        let Self { values, heads, epilogue, operator, options, home, host, .. } = self;
        let values = values?;
        let dim = options.dim(values.shape())?;
        let (mut operands, mut segments, has_epilogue) = (vec![values], None, epilogue.is_some());
        if let Some((heads, kind)) = heads {
            let heads = heads?;
            same_shape("the segments of a scan", operands[0].shape(), heads.shape())?;
            operands.push(heads);
            segments = Some(kind);
        }
        if let Some(epilogue) = epilogue {
            operands.push(epilogue.assembled()?);
        }
        Ok(ScanInputs { operands, operator, options, segments, has_epilogue, dim, home, host })
    }

    /// The scanned expression, and the shape of the result.
    pub(super) fn prepare(&self) -> Result<(&Assembled<'a>, K)> {
        let values = checked(&self.values)?;
        let shape = values.shape();
        if let Some((heads, _)) = &self.heads {
            same_shape("the segments of a scan", shape, checked(heads)?.shape())?;
        }
        Ok((values, self.options.dim(shape)?))
    }

    /// Computes the results as a new array in C order. Does not wait.
    ///
    /// The home of the first array is the home of the result, and orders the work.
    ///
    /// # Cost
    /// One kernel, which reads each value once; only the result is allocated. The first scan of this form compiles or loads its kernel, as the first
    /// expression of a form does.
    ///
    /// # Errors
    /// `Array` with the errors of [`gpu_array::expression::Expr::eval`] for shapes, devices and limits, and for an axis that does not exist; `Shape`
    /// for segments or a map of another shape; `TooManyAxes`; `TooLarge`; `Array` with `OutOfScope` as [`Scan::map`] says; the driver's errors.
    pub fn eval(&self) -> Result<P::Owned<O, K>> {
        P::scan(self)
    }

    /// Computes the results into an existing array or view, which has their shape: `&mut y` or `y.view_mut()` of the scan's place. Does not wait.
    ///
    /// [`ScansInPlace`](super::ScansInPlace) writes over the scanned array itself.
    ///
    /// # Cost
    /// That of [`Scan::eval`], and on a GPU nothing is allocated.
    ///
    /// # Errors
    /// As [`Scan::eval`]; `OutShape`. After an error the array is unchanged, unless the stream of the scan and that of the array could not be joined
    /// after the launch: then it may have been written.
    pub fn write_into<'t>(&self, target: impl Into<P::ViewMut<'t, O, K>>) -> Result<()>
    where
        O: 't,
        K: 't,
    {
        P::scan_into(self, target.into())
    }
}

impl<'a, O: Element, D: Dimension, K: Dimension> Scan<'a, O, D, K> {
    /// Runs the scan on this stream, or on a device's main stream, which is then the home of a new result.
    /// It is needed if no array is scanned.
    #[doc(alias = "eval_on")]
    pub fn on(mut self, home: impl Into<Stream>) -> Self {
        self.home = Some(home.into());
        self
    }
}

impl<O: Element, D: Dimension, K, P: Backend> fmt::Debug for Scan<'_, O, D, K, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scan({}, {:?})", self.operator.text(), self.options)
    }
}

/// A scan of an array in its own memory that has not run; `P` is the place.
///
/// The methods of [`ScansInPlace`](super::ScansInPlace) make it; [`InPlace::run`] runs it.
#[must_use = "it is computed by `run`"]
pub struct InPlace<'t, T: Element + 't, D: Dimension + 't, P: Backend = Gpu> {
    pub(super) target: P::ViewMut<'t, T, D>,
    pub(super) operator: DeviceOperator,
    pub(super) options: ScanOptions,
    /// The function that computes it on the host.
    pub(super) host: Option<HostScan<T>>,
}

impl<'t, T: Element, D: Dimension, P: Backend> InPlace<'t, T, D, P> {
    pub(super) fn new(target: P::ViewMut<'t, T, D>, kind: OperatorKind, host: Option<HostScan<T>>) -> Self {
        let operator = DeviceOperator::new(kind, T::DTYPE, false);
        Self { target, operator, options: ScanOptions::default(), host }
    }

    /// Scans along one axis, each line by itself. Without an axis all values are scanned in C order.
    pub fn axis(mut self, axis: Axis) -> Self {
        self.options.axis = Some(axis.index());
        self
    }

    /// Makes the scan exclusive, as [`Scan::exclusive`](super::Scan::exclusive) does.
    pub fn exclusive(mut self) -> Self {
        self.options.exclusive = true;
        self
    }

    /// Scans from the last value to the first, as [`Scan::reverse`](super::Scan::reverse) does.
    pub fn reverse(mut self) -> Self {
        self.options.reverse = true;
        self
    }

    /// Runs the scan. On a GPU it does so in the order of the array's stream, does not wait, and allocates nothing; on the host it takes a copy.
    ///
    /// # Errors
    /// As [`Scan::write_into`](super::Scan::write_into). After an error the array is unchanged.
    pub fn run(self) -> Result<()>
    where
        P: ScanBackend,
    {
        P::scan_in_place(self)
    }
}

impl<T: Element, D: Dimension, P: Backend> fmt::Debug for InPlace<'_, T, D, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InPlace({}, {:?})", self.operator.text(), self.options)
    }
}
