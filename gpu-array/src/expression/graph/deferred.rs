//! Computations whose results are operands of expressions: the seam for reductions and scans.
#![expect(unsafe_code, reason = "a trait whose implementations write device memory")]

use std::{any::Any, error::Error, fmt, sync::Arc};

use gpu_driver::Stream;
use smallvec::SmallVec;

use super::{
    around::{Around, Within},
    chain::{Chain, Stages},
    code::Code,
    leaf::{Leaf, LeafMemory},
    node::{NodeRef, Operands},
    value::{NodeKind, Value},
};
use crate::{
    ArrayError, Element, Result,
    expression::{
        device::{self, Assembled, Lowered, LoweredTarget},
        syntax::{Backend, Expr},
    },
    layout::{checked_len, dense_strides},
    shape::{Shape, Strides},
};

/// Deferred values in the operands of deferred values, and so on: the most levels.
pub(crate) const DEEPEST: u32 = 16;

/// A computation that gives an array, as an operand of expressions: [`deferred`](crate::expression::deferred) makes an expression of it.
///
/// An expression evaluates the computations in it before its own kernel or pass, on its own stream: each once, also if it was written twice. Two
/// computations are the same if their types, their keys and their operands are.
///
/// # Determinism
/// An expression gives the same bits as one of the computed arrays, except where [`Deferred::with`] or [`Deferred::evaluate_chain`] says otherwise.
///
/// # Safety
/// - Where [`Deferred::evaluate_around`] returns [`Within::Whole`], or [`Deferred::evaluate_chain`] true, work on `home` writes every element of the
///   target, and nothing else but memory of its own: nobody has written the target before.
/// - The methods are called by expressions alone. An implementation hands its arguments to the methods of another one as it got them, or not at all.
pub unsafe trait Deferred: fmt::Debug + Send + Sync + 'static {
    /// The name of the operation in messages and formulas.
    fn name(&self) -> &'static str;

    /// Everything that tells this computation from others of its type, beside the operands.
    fn key(&self) -> SmallVec<[u64; 8]>;

    /// Computes the results. The operands are in memory by now, but for their own expressions. `home` is the stream to compute on, None on the host.
    ///
    /// # Errors
    /// Any. The evaluation of the expression returns an [`ArrayError`] as it is, and others as `Deferred` with the name of the operation.
    fn evaluate(
        &self,
        operands: &[&Lowered<'_>],
        home: Option<&Stream>,
    ) -> Result<Vec<Evaluated>, Box<dyn Error + Send + Sync>>;

    /// Whether [`Deferred::evaluate_around`] may write the values of an expression around the result.
    fn may_evaluate_around(&self) -> bool {
        false
    }

    /// [`Deferred::evaluate`] of a computation that has one result, or the values of the whole expression around it, by one launch: their bits are those
    /// of the expression of the computed array. Called on a device alone, in place of `evaluate`, for results of the expression's shape.
    ///
    /// # Errors
    /// Those of [`Deferred::evaluate`].
    fn evaluate_around(
        &self,
        operands: &[&Lowered<'_>],
        around: &Around<'_, '_>,
        home: &Stream,
    ) -> Result<Within, Box<dyn Error + Send + Sync>> {
        let _ = around;
        Ok(Within::Alone(self.evaluate(operands, Some(home))?))
    }

    /// The reduction that [`Deferred::evaluate_chain`] takes, if this computation has one result for each row of its one operand: of the elements along
    /// the last of its `ndim` axes. None for all others.
    fn of_rows(&self, ndim: usize) -> Option<&dyn Any> {
        let _ = ndim;
        None
    }

    /// Writes the values of the expression of a chain by one launch, which computes this result, that of the last stage, and those before it too.
    /// Returns false, and has done nothing, where it has no such launch: each computation is evaluated apart then. Called on a device alone.
    ///
    /// # Determinism
    /// The bits may be others than those of [`Deferred::evaluate`] where values are added in another order; each launch gives the same.
    ///
    /// # Errors
    /// Those of [`Deferred::evaluate`].
    fn evaluate_chain(&self, chain: &Chain<'_, '_>, home: &Stream) -> Result<bool, Box<dyn Error + Send + Sync>> {
        let _ = (chain, home);
        Ok(false)
    }

    /// One computation with the results of both, first its own and then those of `other`, which has the same operands; None where there is none.
    fn with(&self, other: &dyn Deferred) -> Option<Arc<dyn Deferred>> {
        let _ = other;
        None
    }

    /// The computation for [`Any`], so that [`Deferred::with`] can look at it.
    fn as_any(&self) -> &dyn Any;
}

/// An array that a [`Deferred`] computation gave, of any type and place.
#[derive(Debug)]
pub struct Evaluated(Leaf<'static>);

impl Evaluated {
    /// The array, which the expressions that read it own from now on.
    ///
    /// # Errors
    /// `NotInCOrder` for an array that is not in C order and without gaps.
    pub fn new<T: Element, D: ndarray::Dimension, P: Backend>(array: P::Owned<T, D>) -> Result<Self> {
        let value = P::owned_expr::<T, D>(array).value;
        let leaf = value.as_array("a deferred value")?.clone();
        if !is_dense(&leaf) {
            return Err(ArrayError::NotInCOrder {
                op: "a deferred value",
                shape: leaf.shape.to_vec(),
                strides: leaf.strides.to_vec(),
            });
        }
        Ok(Self(leaf))
    }
}

fn is_dense(leaf: &Leaf<'_>) -> bool {
    let wanted = dense_strides(&leaf.shape, false);
    let mut axes = leaf.shape.iter().zip(&leaf.strides).zip(&wanted);
    leaf.shape.contains(&0) || axes.all(|((&length, stride), wanted)| length < 2 || stride == wanted)
}

/// A computation with its operands.
pub(crate) struct DeferredValue<'a> {
    pub(crate) operation: Arc<dyn Deferred>,
    pub(super) operands: Operands<'a>,
    /// The shape of the result.
    pub(crate) shape: Shape,
    /// The stream to compute on where no array of the expression has one.
    home: Option<Stream>,
    /// Levels of deferred values, from this one down.
    depth: u32,
}

impl<'a> DeferredValue<'a> {
    /// The result as a value of the graph.
    pub(crate) fn value<T: Element>(
        operation: Arc<dyn Deferred>,
        operands: Vec<Assembled<'a>>,
        shape: &[usize],
        home: Option<Stream>,
    ) -> Result<Value<'a>> {
        checked_len(shape)?;
        let inner = operands.iter().flat_map(|operand| operand.code().deferred()).map(|(_, inner)| inner.depth);
        let depth = inner.max().unwrap_or(0) + 1;
        if depth > DEEPEST {
            return Err(ArrayError::TooDeep { op: operation.name(), limit: DEEPEST as usize });
        }
        let value = Self { operation, operands: Operands::new(operands), shape: Shape::from_slice(shape), home, depth };
        Ok(Value::new(NodeKind::Deferred(Box::new(value)), T::DTYPE))
    }

    /// The stream to compute on.
    pub(crate) fn home(&self) -> Option<&Stream> {
        self.home.as_ref().or_else(|| self.operands.get().iter().find_map(|operand| operand.code().homes().next()))
    }

    /// Reports the error that an operator on an array of the operands could not return.
    pub(crate) fn check(&self) -> Result<()> {
        self.operands.get().iter().try_for_each(|operand| operand.code().check_pending())
    }

    /// Whether both have the same operands.
    fn has_operands_of(&self, other: &DeferredValue<'_>) -> bool {
        let (own, others) = (self.operands.get(), other.operands.get());
        own.len() == others.len() && own.iter().zip(others).all(|(a, b)| a.code().same_as(b.code()))
    }

    /// Whether both are the same computation.
    fn same_as(&self, other: &DeferredValue<'_>) -> bool {
        let (a, b) = (&*self.operation, &*other.operation);
        a.as_any().type_id() == b.as_any().type_id() && a.key() == b.key() && self.has_operands_of(other)
    }

    pub(super) fn failed(&self, error: Box<dyn Error + Send + Sync>) -> ArrayError {
        match error.downcast::<ArrayError>() {
            Ok(error) => *error,
            Err(error) => ArrayError::Deferred { op: self.operation.name(), source: Arc::from(error) },
        }
    }
}

impl<'a> NodeRef<'a> {
    /// The computation of a deferred value.
    pub(crate) fn deferred(&self) -> Option<&DeferredValue<'a>> {
        if let NodeKind::Deferred(value) = &self.kind { Some(value) } else { None }
    }

    /// Whether both are one deferred value, or the same computation.
    pub(crate) fn same_as(&self, other: &NodeRef<'_>) -> bool {
        self.address() == other.address()
            || matches!((self.deferred(), other.deferred()), (Some(a), Some(b)) if a.same_as(b))
    }
}

/// The results of deferred values, while one expression is evaluated.
#[derive(Default)]
struct Results<'a> {
    known: Vec<(NodeRef<'a>, LeafMemory<'static>)>,
}

impl<'a> Results<'a> {
    fn get(&self, node: &NodeRef<'a>) -> Option<&LeafMemory<'static>> {
        self.known.iter().find(|(known, _)| known.same_as(node)).map(|(_, memory)| memory)
    }

    /// Evaluates the deferred values of `code`, and puts the results in their places.
    fn resolve(&mut self, code: &mut Code<'a>, home: Option<&Stream>) -> Result<()> {
        let nodes: SmallVec<[NodeRef<'a>; 4]> = code.deferred().map(|(node, _)| node.clone()).collect();
        for (number, node) in nodes.iter().enumerate() {
            if self.get(node).is_none() {
                self.evaluate(node, &nodes[number + 1..], home)?;
            }
        }
        for leaf in &mut code.leaves {
            if let LeafMemory::Deferred(node) = &leaf.memory
                && let Some(memory) = self.get(node)
            {
                leaf.memory = memory.clone();
            }
        }
        Ok(())
    }

    /// Evaluates a deferred value, together with one of `later` if one computation has both results.
    fn evaluate(&mut self, node: &NodeRef<'a>, later: &[NodeRef<'a>], home: Option<&Stream>) -> Result<()> {
        let Some(value) = node.deferred() else { return Ok(()) };
        let both = later.iter().find_map(|other| {
            let with = other.deferred().filter(|other| value.has_operands_of(other) && !value.same_as(other))?;
            Some((value.operation.with(&*with.operation)?, other))
        });
        let mut operands: SmallVec<[Lowered<'a>; 1]> = SmallVec::new();
        for operand in value.operands.get() {
            let mut code = operand.code().clone();
            self.resolve(&mut code, home)?;
            operands.push(Lowered::resolved(code));
        }
        let operands: SmallVec<[&Lowered<'_>; 1]> = operands.iter().collect();
        let (operation, wanted): (&dyn Deferred, SmallVec<[&NodeRef<'a>; 2]>) = match &both {
            Some((operation, other)) => (&**operation, SmallVec::from_slice(&[node, *other])),
            None => (&*value.operation, SmallVec::from_slice(&[node])),
        };
        let results = operation.evaluate(&operands, home).map_err(|error| value.failed(error))?;
        if results.len() != wanted.len() {
            let (expected, got) = (wanted.len(), results.len());
            return Err(value.failed(format!("{got} results in place of {expected}").into()));
        }
        for (node, result) in wanted.into_iter().zip(results) {
            self.known.push((node.clone(), announced(node, result, home)?));
        }
        Ok(())
    }
}

/// The memory of a result, which has the shape and the type that its node announces.
fn announced(node: &NodeRef<'_>, Evaluated(leaf): Evaluated, home: Option<&Stream>) -> Result<LeafMemory<'static>> {
    let Some(value) = node.deferred() else { return Ok(leaf.memory) };
    if leaf.shape != value.shape
        || leaf.dtype != node.dtype
        || leaf.offset != 0
        || leaf.memory.home().map(Stream::device) != home.map(Stream::device)
    {
        let (got, of) = (leaf.shape.to_vec(), leaf.dtype);
        return Err(value.failed(format!("a result of shape {got:?} of {of} that it does not announce").into()));
    }
    Ok(leaf.memory)
}

/// Computations that are evaluated together with the expression of their results.
#[derive(Debug)]
pub(crate) enum Remaining<'a> {
    /// Reductions of rows. Nothing has been computed.
    Stages(Stages<'a>),
    /// One whose operands are in memory; all others have been computed.
    One(Surrounded<'a>),
}

/// A computation that may evaluate the expression around it.
#[derive(Debug)]
pub(crate) struct Surrounded<'a> {
    node: NodeRef<'a>,
    /// Its number among the leaves of the expression.
    leaf: usize,
    operands: SmallVec<[Lowered<'a>; 2]>,
}

impl<'a> Remaining<'a> {
    /// Writes the values of `code` into the elements of `target`.
    pub(crate) fn run(&self, code: &Code<'a>, target: LoweredTarget<'_>, stream: &Stream) -> Result<()> {
        let stages = match self {
            Self::One(one) => return one.run(code, target, stream),
            Self::Stages(stages) => stages,
        };
        if stages.run(code, target, stream)? {
            return Ok(());
        }
        let mut code = code.clone();
        match code.resolve_but_one(stream)? {
            Some(one) => one.run(&code, target, stream),
            None => device::run(&code, stream, &[target.address], &Strides::from_slice(target.strides), 0),
        }
    }
}

impl<'a> Surrounded<'a> {
    /// Writes the values of `code`, in which the computation is the only deferred value, into the elements of `target`.
    fn run(&self, code: &Code<'a>, target: LoweredTarget<'_>, stream: &Stream) -> Result<()> {
        device::check(code, stream)?;
        let Some(value) = self.node.deferred() else { return Ok(()) };
        let whole = Lowered::resolved(code.clone());
        let operands: SmallVec<[&Lowered<'_>; 2]> = self.operands.iter().collect();
        let around = Around::new(&whole, self.leaf, target);
        let results = match value.operation.evaluate_around(&operands, &around, stream) {
            Ok(Within::Whole) => return Ok(()),
            Ok(Within::Alone(results)) => results,
            Err(error) => return Err(value.failed(error)),
        };
        let mut results = results.into_iter();
        let (Some(result), None) = (results.next(), results.next()) else {
            return Err(value.failed("other than one result".into()));
        };
        let mut code = code.clone();
        code.leaves[self.leaf].memory = announced(&self.node, result, Some(stream))?;
        device::run(&code, stream, &[target.address], &Strides::from_slice(target.strides), 0)
    }
}

impl<'a> Code<'a> {
    /// Evaluates the deferred values that it reads, on the stream `home` (None on the host), and reads their results from now on.
    pub(crate) fn resolve(&mut self, home: Option<&Stream>) -> Result<()> {
        if self.has_deferred() { Results::default().resolve(self, home) } else { Ok(()) }
    }

    /// [`Code::resolve`] on a device, but for deferred values that the launch of the expression may evaluate too, if there are such.
    pub(crate) fn resolve_apart(&mut self, home: &Stream) -> Result<Option<Remaining<'a>>> {
        if let Some(stages) = Stages::of(self) {
            return Ok(Some(Remaining::Stages(stages)));
        }
        Ok(self.resolve_but_one(home)?.map(Remaining::One))
    }

    /// [`Code::resolve`] on a device, but for one deferred value that may evaluate the expression around it, if there is one.
    fn resolve_but_one(&mut self, home: &Stream) -> Result<Option<Surrounded<'a>>> {
        let mut results = Results::default();
        let Some((leaf, node)) = self.surrounded() else {
            results.resolve(self, Some(home))?;
            return Ok(None);
        };
        let mut others = self.clone();
        others.leaves[leaf].memory = LeafMemory::Nowhere;
        results.resolve(&mut others, Some(home))?;
        // It may be an operand of another one.
        let known = results.get(&node).cloned();
        self.leaves = others.leaves;
        self.leaves[leaf].memory = known.unwrap_or_else(|| LeafMemory::Deferred(node.clone()));
        if !self.has_deferred() {
            return Ok(None);
        }
        let mut operands = SmallVec::new();
        for operand in node.deferred().into_iter().flat_map(|value| value.operands.get()) {
            let mut code = operand.code().clone();
            results.resolve(&mut code, Some(home))?;
            operands.push(Lowered::resolved(code));
        }
        Ok(Some(Surrounded { node, leaf, operands }))
    }

    /// The last leaf that is a deferred value of the shape of the whole, and may evaluate an expression with one output that reads nothing at
    /// computed places.
    fn surrounded(&self) -> Option<(usize, NodeRef<'a>)> {
        if self.outputs.len() != 1 || !self.tables.is_empty() || !self.sources.is_empty() {
            return None;
        }
        self.leaves.iter().enumerate().rev().find_map(|(number, leaf)| {
            let LeafMemory::Deferred(node) = &leaf.memory else { return None };
            let value = node.deferred()?;
            let fits = value.shape == self.shape && value.operation.may_evaluate_around();
            fits.then(|| (number, node.clone()))
        })
    }

    /// Whether it reads values that have not been computed.
    pub(crate) fn has_deferred(&self) -> bool {
        self.leaves.iter().any(|leaf| matches!(leaf.memory, LeafMemory::Deferred(_)))
    }

    /// The deferred values that it reads.
    pub(crate) fn deferred(&self) -> impl Iterator<Item = (&NodeRef<'a>, &DeferredValue<'a>)> {
        self.leaves.iter().filter_map(|leaf| match &leaf.memory {
            LeafMemory::Deferred(node) => node.deferred().map(|value| (node, value)),
            _ => None,
        })
    }

    /// Whether both compute the same values from the same arrays.
    pub(crate) fn same_as(&self, other: &Code<'_>) -> bool {
        let words = |code: &Code<'_>| code.sources.iter().map(|source| source.words().to_vec()).collect::<Vec<_>>();
        self.shape == other.shape
            && self.scalars == other.scalars
            && self.key() == other.key()
            && words(self) == words(other)
            && self.leaves.len() == other.leaves.len()
            && self.tables.len() == other.tables.len()
            && self.leaves.iter().zip(&other.leaves).all(|(a, b)| a.reads_as(b))
            && self
                .tables
                .iter()
                .zip(&other.tables)
                .all(|(a, b)| (a.dtype, a.offset) == (b.dtype, b.offset) && a.memory.same_as(&b.memory))
    }
}

/// The result of a computation as an expression, of the type `T` and the shape `shape`. `home` is the stream to compute on where no array of the
/// expression around it, and none of the operands, has one.
///
/// # Errors
/// `eval` reports `TooLarge`; `TooDeep` for more than 16 computations, one in the operands of the next; the errors of the operands; the error of
/// the computation as `Deferred`.
pub fn deferred<'a, T: Element, D: ndarray::Dimension, P: Backend>(
    operation: Arc<dyn Deferred>,
    operands: impl IntoIterator<Item = Assembled<'a>>,
    shape: D,
    home: Option<Stream>,
) -> Expr<'a, T, D, P> {
    let operands = operands.into_iter().collect();
    let value = DeferredValue::value::<T>(operation, operands, shape.slice(), home);
    Expr::of(value.unwrap_or_else(|error| Value::failed(error, T::DTYPE)))
}
