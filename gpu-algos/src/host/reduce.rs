//! Reductions of whole arrays and of some of their axes.

use ndarray::{ArrayD, ArrayView, ArrayViewD, Axis, Dimension, IxDyn};

use super::{
    columns,
    parallel::{self, REDUCED_AT_ONCE},
    walk::{Part, Walk},
};
use crate::{
    Result,
    operators::{
        Operator,
        checks::{finalize, outer_axes},
        take_run,
    },
};

/// The result of [`reference::reduce`](fn@crate::reference::reduce), computed on all threads, for an array of any rank and layout, or for anything
/// that views as one, such as `&array` or a slice.
///
/// Determinism: bitwise the same for any number of threads, since blocks of a fixed size are combined in order. Results that do not round, such as
/// those of integers, extremes and places, are those of the definition; sums of floats may differ from it within rounding, and between layouts.
/// Cost: one pass over the elements, in the order in which they are in memory where the operator is commutative; a state of scratch per
/// 32768 elements. Fewer than these stay on the calling thread.
///
/// # Errors
/// `Empty` where the operator has no result of no values.
///
/// ```
/// use gpu_algos::host::{ArgMax, reduce};
/// use ndarray::{array, s};
///
/// let x = array![[1.0_f32, 5.0, 2.0], [7.0, 0.0, 7.0]];
/// assert_eq!(reduce(&ArgMax::new(), &x)?, 3);
/// assert_eq!(reduce(&ArgMax::new(), x.slice(s![.., ..;-1]))?, 3); // of [[2, 5, 1], [7, 0, 7]]
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn reduce<'a, O: Operator<Value: 'a>, D: Dimension>(
    op: &O,
    view: impl Into<ArrayView<'a, O::Value, D>>,
) -> Result<O::Output> {
    let view = view.into().into_dyn();
    if view.is_empty() {
        return finalize(op, op.identity(), 0);
    }
    let walk = Walk::new(view, 0, O::COMMUTATIVE);
    let part = walk.part(0);
    finalize(op, state_of(op, &part), part.len())
}

/// The reduction over any set of axes: for each position of the others, in order, the result of [`reduce`] for the elements there.
///
/// Shapes: the result has the axes that are not in `axes`, as they stand in `view`; with no axes each element is reduced alone. Places count in
/// C order of the reduced axes, in the order of the array, whatever the order of `axes`.
/// Determinism and cost: as [`reduce`]. Where an outer axis is the fastest in memory, rows are taken by a row of states; scratch is then a
/// few rows of states per thread.
///
/// # Errors
/// `Array` for an axis that the array does not have, `RepeatedAxis` for one that is given twice, `Empty` where there are results, all of no
/// values, and the operator has none for that.
///
/// ```
/// use gpu_algos::host::{Max, Mean, reduce_axes};
/// use ndarray::{Axis, array};
///
/// let x = array![[1.0_f32, 5.0, 3.0], [7.0, 0.0, 7.0]];
/// assert_eq!(reduce_axes(&Max::new(), &x, &[Axis(0)])?, array![7.0, 5.0, 7.0].into_dyn());
/// assert_eq!(reduce_axes(&Mean::new(), &x, &[Axis(1)])?[0], 3.0);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn reduce_axes<'a, O: Operator<Value: 'a>, D: Dimension>(
    op: &O,
    view: impl Into<ArrayView<'a, O::Value, D>>,
    axes: &[Axis],
) -> Result<ArrayD<O::Output>> {
    let plan = Plan::new(view.into().into_dyn(), axes, O::NAME, O::COMMUTATIVE)?;
    let states = match &plan.walk {
        None => vec![op.identity(); plan.results],
        Some(walk) if plan.fastest.is_some() => columns::states(op, walk),
        Some(walk) => states(op, walk, plan.results),
    };
    let outputs = states.into_iter().map(|state| finalize(op, state, plan.count)).collect::<Result<Vec<_>>>()?;
    let array = ArrayD::from_shape_vec(IxDyn(&plan.shape), outputs).expect("a result for each position");
    Ok(match plan.fastest {
        Some(fastest) => in_order(array, fastest),
        None => array,
    })
}

/// A reduction made ready, for any operator: there are many, and this is compiled once for an element type.
struct Plan<'a, T> {
    /// None where there is nothing to read.
    walk: Option<Walk<'a, T>>,
    /// The shape of the results, in the order in which they are computed.
    shape: Vec<usize>,
    results: usize,
    /// Elements of each result.
    count: usize,
    /// The position that the last axis of `shape` belongs at, if it is one of columns.
    fastest: Option<usize>,
}

impl<'a, T: Copy> Plan<'a, T> {
    #[inline(never)]
    fn new(view: ArrayViewD<'a, T>, axes: &[Axis], op: &'static str, commutative: bool) -> Result<Self> {
        let mut outer = outer_axes(op, view.ndim(), axes)?;
        let reduced: Vec<usize> = (0..view.ndim()).filter(|axis| !outer.contains(axis)).collect();
        let fastest = columns::fastest_outer(&view, &outer, &reduced);
        if let Some(fastest) = fastest {
            let axis = outer.remove(fastest);
            outer.push(axis);
        }
        let shape: Vec<usize> = outer.iter().map(|&axis| view.shape()[axis]).collect();
        let count = reduced.iter().map(|&axis| view.shape()[axis]).product();
        let order: Vec<usize> = outer.iter().chain(&reduced).copied().collect();
        let view = view.permuted_axes(order);
        let walk = (!view.is_empty()).then(|| match fastest {
            Some(_) => Walk::over_rows(view, outer.len(), commutative),
            None => Walk::new(view, outer.len(), commutative),
        });
        Ok(Self { walk, results: shape.iter().product(), shape, count, fastest })
    }
}

/// Moves the last axis to where it belongs.
#[inline(never)]
fn in_order<T: Clone>(array: ArrayD<T>, to: usize) -> ArrayD<T> {
    let last = array.ndim() - 1;
    let mut axes: Vec<usize> = (0..last).collect();
    axes.insert(to, last);
    array.permuted_axes(axes).as_standard_layout().into_owned()
}

/// The states of all results, where the reduced axes are the faster ones.
fn states<O: Operator>(op: &O, walk: &Walk<'_, O::Value>, results: usize) -> Vec<O::State> {
    if let Some(states) = states_of_rows(op, walk) {
        return states;
    }
    parallel::collect(results, &|result| state_of(op, &walk.part(result)))
}

/// The states of all results where the array has become a matrix whose rows are reduced, and these are not cut into blocks.
fn states_of_rows<O: Operator>(op: &O, walk: &Walk<'_, O::Value>) -> Option<Vec<O::State>> {
    let rows = walk.as_rows().filter(|rows| rows.ncols() <= REDUCED_AT_ONCE)?;
    let at_once = REDUCED_AT_ONCE / rows.ncols();
    let mut states = vec![op.identity(); rows.nrows()];
    parallel::fill(&mut states, at_once, &|first, states| {
        for (i, state) in states.iter_mut().enumerate() {
            let row = rows.row(first + i);
            *state = take_run(op, *state, row.to_slice().unwrap_or_default(), walk.places());
        }
    });
    Some(states)
}

/// The state of one result: blocks of a fixed size, combined in order.
fn state_of<O: Operator>(op: &O, part: &Part<'_, O::Value>) -> O::State {
    let n = part.len();
    let block = |block: usize| {
        let from = block * REDUCED_AT_ONCE;
        part.fold(op, from..n.min(from + REDUCED_AT_ONCE))
    };
    let blocks = n.div_ceil(REDUCED_AT_ONCE);
    if blocks == 1 {
        return block(0);
    }
    let states = parallel::collect(blocks, &block);
    states[1..].iter().fold(states[0], |earlier, &later| op.combine(earlier, later))
}
