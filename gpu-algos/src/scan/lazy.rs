//! Scans as values: the expression, the mode, the destination.

use std::{fmt, marker::PhantomData};

use gpu_array::{
    ArrayError, Element, GpuArray, GpuViewMut,
    expression::{Assembled, Expr, Gpu, Host, IntoExpr, Lowered},
    gpu_driver::Stream,
};
use ndarray::{Array, ArrayD, Axis, Dimension, Ix1};
use smallvec::SmallVec;

use super::{
    epilogue::{placeholders, results},
    launch::{Heads, ScanJob},
    place::{self, HostHeads, HostScan},
    plan::OP,
};
use crate::{
    AlgoError, Result,
    common::{
        launch::allocate,
        operator::DeviceOperator,
        shape::{dim_of, in_order, same_shape},
        source::{ValueSource, checked},
    },
    device::params::EXCLUSIVE,
    reduce::{ReduceBackend, Results},
    tiles::layout::TileTarget,
};

/// A scan that has not been computed.
///
/// The methods of [`Scans`](super::Scans) make it; [`Scan::eval`] or [`Scan::write_into`] computes it. It is an operand of expressions too, as its
/// result would be: `x.cumsum() / x.sum()` ([more](crate::reduce#reductions-within-expressions)).
///
/// `O` is the element type of the results, `D` the rank of the scanned expression, `K` that of the result: 1 for all values in C order, `D` along an
/// axis, `P` the place.
#[must_use = "it is computed by `eval`"]
pub struct Scan<'a, O: Element, D: Dimension, K = Ix1, P = Gpu> {
    values: Result<Assembled<'a>, ArrayError>,
    heads: Option<(Result<Assembled<'a>, ArrayError>, Segments)>,
    /// The epilogue, an expression of the results.
    epilogue: Option<Result<Expr<'a, O, D>, ArrayError>>,
    operator: DeviceOperator,
    options: ScanOptions,
    home: Option<Stream>,
    /// The function that computes it on the host.
    host: Option<HostScan<O>>,
    _types: PhantomData<fn() -> (K, P)>,
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
    pub(super) host: Option<HostScan<O>>,
}

/// The axis, the kind and the direction of a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ScanOptions {
    pub(crate) axis: Option<usize>,
    pub(crate) exclusive: bool,
    pub(crate) reverse: bool,
}

impl<'a, O: Element, D: Dimension, P: ReduceBackend> Scan<'a, O, D, Ix1, P> {
    /// A scan by an operator on a GPU, or by a function of the host.
    pub(crate) fn new(
        values: Result<Assembled<'a>, ArrayError>,
        operator: DeviceOperator,
        host: Option<HostScan<O>>,
    ) -> Self {
        let (heads, epilogue, options, home) = (None, None, ScanOptions::default(), None);
        Self { values, heads, epilogue, operator, options, home, host, _types: PhantomData }
    }

    /// Scans along one axis, each line by itself: the result has the shape of the array.
    pub fn axis(self, axis: Axis) -> Scan<'a, O, D, D, P> {
        let options = ScanOptions { axis: Some(axis.index()), ..self.options };
        let Self { values, heads, epilogue, operator, home, host, .. } = self;
        Scan { values, heads, epilogue, operator, options, home, host, _types: PhantomData }
    }
}

impl<'a, O: Element, D: Dimension, K: Dimension, P: ReduceBackend> Scan<'a, O, D, K, P> {
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
        self.heads = Some((flags.into_expr().lower_deferred(), (Heads::Flags, place::of_flags)));
        self
    }

    /// Restarts the scan at each key that differs from the key before it. Keys have the shape of the values; a NaN equals no key.
    pub fn by_key<T: Element>(mut self, keys: impl IntoExpr<'a, Elem = T, Dim = D, Backend = P>) -> Self {
        self.heads = Some((keys.into_expr().lower_deferred(), (Heads::Keys, place::of_keys::<T>)));
        self
    }

    /// Carries a sum or product of f32 in f64, and rounds each result once. The host always does.
    pub fn accumulate_f64(mut self) -> Self {
        self.operator.kind.carry_in_f64();
        self
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
            operands.push(epilogue?.lower_deferred()?);
        }
        Ok(ScanInputs { operands, operator, options, segments, has_epilogue, dim, home, host })
    }

    /// The scanned expression, and the shape of the result.
    fn prepare(&self) -> Result<(&Assembled<'a>, K)> {
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
    /// for segments or a map of another shape; `TooManyAxes`; `TooLarge`; the driver's errors.
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

impl<O: Element, D: Dimension, K: Dimension> Scan<'_, O, D, K, Host> {
    pub(crate) fn eval_on_host(&self) -> Result<Array<O, K>> {
        let (values, dim) = self.prepare()?;
        let heads = match &self.heads {
            Some((heads, segments)) => Some((checked(heads)?.ready(None)?, *segments)),
            None => None,
        };
        let heads = heads.as_ref().map(|(heads, segments)| (&**heads, *segments));
        O::on_host(self.options.on_host(self.host, &*values.ready(None)?, heads)?, dim)
    }
}

impl<'a, O: Element, D: Dimension, K: Dimension> Scan<'a, O, D, K> {
    /// Applies `map` to each result before it is written: `x.cumsum().map(|sum| sum / &weights)` is one kernel. On the host
    /// an expression of the scan does the same.
    ///
    /// The expression that `map` receives is valid only within the result of `map`.
    pub fn map<P: Element>(self, map: impl FnOnce(Expr<'a, O, D>) -> Expr<'a, P, D>) -> Scan<'a, P, D, K> {
        let Self { values, heads, epilogue: earlier, operator, options, home, .. } = self;
        let host = None;
        let results = match (earlier, &values) {
            (Some(earlier), _) => earlier,
            (None, Ok(values)) => dim_of(OP, values.shape()).map(results),
            (None, Err(error)) => Err(error.clone()),
        };
        Scan { values, heads, epilogue: Some(results.map(map)), operator, options, home, host, _types: PhantomData }
    }

    /// Runs the scan on this stream, or on a device's main stream, which is then the home of a new result.
    /// It is needed if no array is scanned.
    #[doc(alias = "eval_on")]
    pub fn on(mut self, home: impl Into<Stream>) -> Self {
        self.home = Some(home.into());
        self
    }

    fn run(
        &self,
        values: &Assembled<'a>,
        target: &TileTarget<'_>,
        home: Option<&Stream>,
        stream: &Stream,
    ) -> Result<()> {
        let values = &*values.ready(Some(stream))?;
        let heads = match &self.heads {
            Some((heads, (kind, _))) => Some((checked(heads)?.ready(Some(stream))?, *kind)),
            None => None,
        };
        let heads = heads.as_ref().map(|(heads, kind)| (&**heads as &dyn ValueSource, *kind));
        let epilogue = match &self.epilogue {
            Some(epilogue) => Some(epilogue.as_ref().map_err(Clone::clone)?.lower()?),
            None => None,
        };
        let operation = ScanOperation { operator: &self.operator, options: self.options };
        operation.run(values, heads, epilogue.as_ref(), target, home, stream)
    }

    pub(crate) fn eval_on_device(&self) -> Result<GpuArray<O, K>> {
        let (values, dim) = self.prepare()?;
        let stream = match &self.home {
            Some(home) => home,
            None => values.stream()?,
        };
        let array = allocate::<O, K>(stream, dim)?;
        let address = array.as_device_vec().as_raw();
        let strides = self.options.strides(values.shape(), array.strides());
        let target = TileTarget { address, dtype: O::DTYPE, strides: &strides };
        self.run(values, &target, None, stream)?;
        Ok(array)
    }

    pub(crate) fn write_on_device(&self, mut target: GpuViewMut<'_, O, K>) -> Result<()> {
        let (values, dim) = self.prepare()?;
        let target = target.lower_mut()?;
        if target.shape != dim.slice() {
            return Err(AlgoError::OutShape { expected: dim.slice().to_vec(), got: target.shape.to_vec() });
        }
        let stream = self.home.as_ref().unwrap_or(target.home);
        let strides = self.options.strides(values.shape(), target.strides);
        let place = TileTarget { address: target.address, dtype: O::DTYPE, strides: &strides };
        self.run(values, &place, Some(target.home), stream)
    }
}

/// A scan without its expressions.
#[derive(Clone, Copy)]
pub(super) struct ScanOperation<'o> {
    pub(super) operator: &'o DeviceOperator,
    pub(super) options: ScanOptions,
}

impl ScanOperation<'_> {
    /// Enqueues the scan of `values`, with segments by `heads`, mapped by `epilogue`.
    pub(super) fn run(
        self,
        values: &Lowered<'_>,
        heads: Option<(&dyn ValueSource, Heads)>,
        epilogue: Option<&Lowered<'_>>,
        target: &TileTarget<'_>,
        home: Option<&Stream>,
        stream: &Stream,
    ) -> Result<()> {
        if let Some(epilogue) = epilogue {
            same_shape("the map epilogue a scan", values.shape(), epilogue.shape())?;
        }
        let placeholders = epilogue.map(placeholders);
        let epilogue = epilogue.zip(placeholders.as_deref());
        let epilogue = epilogue.map(|(epilogue, placeholders)| (epilogue as &dyn ValueSource, placeholders));
        let (mode, ScanOptions { axis, reverse, .. }) = (self.options.mode(), self.options);
        let job = ScanJob { source: values, heads, epilogue, operator: self.operator, mode, axis, reverse };
        job.run(target, home, stream)
    }
}

impl ScanOptions {
    /// Computes the scan by a function of the host.
    pub(super) fn on_host<O>(
        self,
        scan: Option<HostScan<O>>,
        values: &Lowered<'_>,
        heads: Option<(&Lowered<'_>, Segments)>,
    ) -> Result<ArrayD<O>> {
        let scan = scan.ok_or(ArrayError::NoHome)?;
        let heads = heads.map(|(heads, (_, of))| of(heads, self)).transpose()?;
        scan(values, heads.as_ref(), self)
    }

    /// The shape of the result.
    pub(super) fn dim<K: Dimension>(&self, shape: &[usize]) -> Result<K> {
        self.check(shape)?;
        Ok(match self.axis {
            Some(_) => dim_of(OP, shape)?,
            None => dim_of(OP, &[shape.iter().product()])?,
        })
    }

    pub(crate) fn check(&self, shape: &[usize]) -> Result<()> {
        match self.axis {
            Some(axis) if axis >= shape.len() => Err(ArrayError::Axis { op: OP, axis, ndim: shape.len() }.into()),
            _ => Ok(()),
        }
    }

    pub(crate) fn mode(&self) -> u32 {
        if self.exclusive { EXCLUSIVE } else { 0 }
    }

    /// The strides of the target along each axis of the scanned expression.
    pub(crate) fn strides(&self, shape: &[usize], target: &[isize]) -> SmallVec<[isize; 4]> {
        if self.axis.is_some() {
            return target.into();
        }
        in_order(shape, target.first().copied().unwrap_or(1))
    }
}

impl<O: Element, D: Dimension, K, P> fmt::Debug for Scan<'_, O, D, K, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scan({}, {:?})", self.operator.text(), self.options)
    }
}
