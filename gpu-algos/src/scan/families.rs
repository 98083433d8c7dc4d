//! Scans on the host: a family of functions, one for each element type, by the name of each operator.

use std::{any::Any, fmt, sync::Arc};

use gpu_array::{ArrayError, Element, expression::Lowered};
use ndarray::{ArrayD, ArrayViewD, Axis};

use super::{
    epilogue::{MAP, Scanned},
    options::{OP, ScanOptions},
};
use crate::{
    Result,
    common::{
        on_host::{in_c_order, with_values},
        shape::same_shape,
    },
    host,
    operators::{self, Associative, Cumulative, Operand, Summand, WithoutNan},
};

/// The scan of a host expression, with the places where segments begin if there are any.
pub(crate) type HostScan<O> = fn(&Lowered<'_>, Option<&ArrayD<bool>>, ScanOptions) -> Result<ArrayD<O>>;

/// The computation of a scan on the host.
#[derive(Clone)]
pub(super) enum OnHost<O> {
    /// A function gives the results.
    Results(HostScan<O>),
    /// An expression of the results of a scan, which may be of another type: the function puts them into the expression.
    Mapped(Arc<Mapped>),
}

/// The function that scans values and puts the results into an expression.
pub(super) type Mapped =
    dyn for<'l> Fn(&Lowered<'_>, Option<&ArrayD<bool>>, ScanOptions, &Lowered<'l>) -> Result<Lowered<'l>> + Send + Sync;

impl<O> fmt::Debug for OnHost<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Results(_) => "a scan",
            Self::Mapped(_) => "a mapped scan",
        })
    }
}

impl<O: Element> OnHost<O> {
    /// Turns the scan into an expression of its results.
    pub(super) fn mapped<Q>(self) -> OnHost<Q> {
        match self {
            Self::Results(scan) => OnHost::Mapped(Arc::new(move |values, heads, options, epilogue| {
                let results = scan(values, heads, options)?;
                same_shape(MAP, values.shape(), epilogue.shape())?;
                Ok(epilogue.with_source(Scanned::of_results(results)))
            })),
            Self::Mapped(of) => OnHost::Mapped(of),
        }
    }
}

/// Whether each value begins a segment, of a host expression of flags or keys. The shape is that of the lanes.
pub(super) type HostHeads = fn(&Lowered<'_>, ScanOptions) -> Result<ArrayD<bool>>;

/// The lanes of a scan, and their kind.
#[derive(Debug)]
pub struct Lanes<'l> {
    heads: Option<ArrayViewD<'l, bool>>,
    axis: Axis,
    kind: operators::ScanKind,
}

/// The scans of one name, for every element type of the host.
pub trait ScansOnHost: 'static {
    /// The results, as an `ArrayD` of the operator's output.
    ///
    /// # Errors
    /// Those of [`segmented_scan`](host::segmented_scan).
    fn scan<T: Operand>(view: ArrayViewD<'_, T>, lanes: Lanes<'_>) -> Result<Box<dyn Any>>;

    /// The results for values that need no order.
    ///
    /// # Errors
    /// Those of [`segmented_scan`](host::segmented_scan); `Array` with `Operation` where they need one.
    fn scan_summands<T: Summand>(_: ArrayViewD<'_, T>, _: Lanes<'_>) -> Result<Box<dyn Any>> {
        Err(ArrayError::Operation { name: "a scan of values with an order", dtype: T::DTYPE }.into())
    }
}

/// A family's function for one element type.
pub(crate) type OfLanes<T> = fn(ArrayViewD<'_, T>, Lanes<'_>) -> Result<Box<dyn Any>>;

/// Scans a host expression of values of the type `T`.
pub(crate) fn scan_on_host<T: Element, O: 'static>(
    scan: OfLanes<T>,
    lowered: &Lowered<'_>,
    heads: Option<&ArrayD<bool>>,
    options: ScanOptions,
) -> Result<ArrayD<O>> {
    let kind = operators::ScanKind { exclusive: options.exclusive, reversed: options.reverse };
    let of = |view: ArrayViewD<'_, T>, axis| scan(view, Lanes { heads: heads.map(|heads| heads.view()), axis, kind });
    let results = in_lanes(lowered, options.axis, of)??;
    let unknown = |_| ArrayError::Operation { name: OP, dtype: T::DTYPE };
    Ok(*results.downcast::<ArrayD<O>>().map_err(unknown)?)
}

/// The results of a scan on the host, if it is computed there; `heads` are an expression and the function that finds the heads of segments in it,
/// `epilogue` is the expression of the results.
pub(super) fn results_on_host<O: Element>(
    scan: Option<&OnHost<O>>,
    values: &Lowered<'_>,
    heads: Option<(&Lowered<'_>, HostHeads)>,
    epilogue: Option<&Lowered<'_>>,
    options: ScanOptions,
) -> Result<ArrayD<O>> {
    let scan = scan.ok_or(ArrayError::NoHome)?;
    let heads = heads.map(|(heads, of)| of(heads, options)).transpose()?;
    match scan {
        OnHost::Results(scan) => scan(values, heads.as_ref(), options),
        OnHost::Mapped(of) => {
            let epilogue = epilogue.ok_or(ArrayError::NoArrays { op: OP })?;
            Ok(of(values, heads.as_ref(), options, epilogue)?.eval_on_host()?)
        }
    }
}

/// Gives the values of a host expression to a function, with the axis of the lanes: without one the values are one lane in C order.
fn in_lanes<T: Element, R>(
    lowered: &Lowered<'_>,
    axis: Option<usize>,
    of: impl FnOnce(ArrayViewD<'_, T>, Axis) -> R,
) -> Result<R> {
    with_values(lowered, |view: ArrayViewD<'_, T>| match axis {
        Some(axis) => of(view, Axis(axis)),
        None => in_c_order(&view, |lane| of(lane.into_dyn(), Axis(0))),
    })
}

/// A flag begins a segment of the walk: of a reversed one the segment ends there in C order, and the next value begins another.
pub(super) fn of_flags(lowered: &Lowered<'_>, options: ScanOptions) -> Result<ArrayD<bool>> {
    in_lanes(lowered, options.axis, |flags: ArrayViewD<'_, bool>, axis| {
        if !options.reverse || flags.is_empty() {
            return flags.to_owned();
        }
        let mut heads = ArrayD::from_elem(flags.raw_dim(), true);
        heads.slice_axis_mut(axis, (1..).into()).assign(&flags.slice_axis(axis, (..-1).into()));
        heads
    })
}

pub(super) fn of_keys<T: Element>(lowered: &Lowered<'_>, options: ScanOptions) -> Result<ArrayD<bool>> {
    in_lanes(lowered, options.axis, |keys: ArrayViewD<'_, T>, axis| host::changes(&keys, axis))
}

fn by<O: Cumulative<Output: Default + 'static>>(
    op: &O,
    view: ArrayViewD<'_, O::Value>,
    lanes: Lanes<'_>,
) -> Result<Box<dyn Any>> {
    let Lanes { heads, axis, kind } = lanes;
    Ok(Box::new(match heads {
        Some(heads) => host::segmented_scan(op, view, heads, axis, kind)?,
        None => host::scan(op, view, axis, kind)?,
    }))
}

/// Families of an operator each, `$op` for values of `T`.
macro_rules! summed {
    ($($name:ident => $op:expr;)*) => {$(
        pub(crate) struct $name;

        impl ScansOnHost for $name {
            fn scan<T: Operand>(view: ArrayViewD<'_, T>, lanes: Lanes<'_>) -> Result<Box<dyn Any>> {
                Self::scan_summands(view, lanes)
            }
            fn scan_summands<T: Summand>(view: ArrayViewD<'_, T>, lanes: Lanes<'_>) -> Result<Box<dyn Any>> {
                by(&$op, view, lanes)
            }
        }
    )*};
}

/// Families of the least and the greatest, with NaN and without.
macro_rules! extremes {
    ($($name:ident, $without_nan:ident, $better:ident;)*) => {$(
        pub(crate) struct $name;

        impl ScansOnHost for $name {
            fn scan<T: Operand>(view: ArrayViewD<'_, T>, lanes: Lanes<'_>) -> Result<Box<dyn Any>> {
                by(&operators::$name::<T>::new(), view, lanes)
            }
        }

        pub(crate) struct $without_nan;

        impl ScansOnHost for $without_nan {
            fn scan<T: Operand>(view: ArrayViewD<'_, T>, lanes: Lanes<'_>) -> Result<Box<dyn Any>> {
                if !T::FLOAT {
                    return $name::scan(view, lanes);
                }
                let better = |earlier: T, later: T| match (earlier.is_nan(), later.is_nan()) {
                    (true, _) => later,
                    (false, true) => earlier,
                    (false, false) => earlier.$better(later),
                };
                by(&Associative::new(T::NAN, better), view, lanes)
            }
        }
    )*};
}

summed! {
    Sum => operators::Sum::<T>::new();
    Product => operators::Product::<T>::new();
    NanSum => WithoutNan(operators::Sum::<T>::new());
    NanProduct => WithoutNan(operators::Product::<T>::new());
}
extremes! {
    Max, NanMax, larger;
    Min, NanMin, smaller;
}
