//! Computations whose results are operands of expressions: the seam for reductions and scans.
#![expect(unsafe_code, reason = "a trait whose implementations write device memory")]

pub(in crate::expression::graph) mod around;
pub(in crate::expression::graph) mod chain;
mod operands;

use std::{any::Any, error::Error, fmt, sync::Arc};

use gpu_driver::Stream;
use smallvec::SmallVec;

use self::{
    around::{Around, Within},
    chain::Chain,
    operands::Operands,
};
use super::{
    leaf::Leaf,
    lowered::{Assembled, Lowered},
};
use crate::{ArrayError, DType, Result, layout::checked_len, shape::Shape};

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
pub struct Evaluated(pub(crate) Leaf<'static>);

/// A computation with its operands.
pub(crate) struct DeferredValue<'a> {
    pub(crate) operation: Arc<dyn Deferred>,
    operands: Operands<'a>,
    /// The type of the result.
    pub(crate) dtype: DType,
    /// The shape of the result.
    pub(crate) shape: Shape,
    /// The stream to compute on where no array of the expression has one.
    home: Option<Stream>,
    /// Levels of deferred values, from this one down.
    depth: u32,
}

impl<'a> DeferredValue<'a> {
    /// A computation whose result has that type and shape.
    ///
    /// # Errors
    /// `TooLarge`; `TooDeep` for too many computations, one in the operands of the next.
    pub(crate) fn new(
        operation: Arc<dyn Deferred>,
        operands: Vec<Assembled<'a>>,
        (dtype, shape): (DType, &[usize]),
        home: Option<Stream>,
    ) -> Result<Self> {
        checked_len(shape)?;
        let inner = operands.iter().flat_map(|operand| operand.code().deferred()).map(|inner| inner.depth);
        let depth = inner.max().unwrap_or(0) + 1;
        if depth > DEEPEST {
            return Err(ArrayError::TooDeep { op: operation.name(), limit: DEEPEST as usize });
        }
        let (operands, shape) = (Operands::new(operands), Shape::from_slice(shape));
        Ok(Self { operation, operands, dtype, shape, home, depth })
    }

    /// The operands.
    pub(crate) fn operands(&self) -> &[Assembled<'a>] {
        self.operands.get()
    }

    /// The stream to compute on.
    pub(crate) fn home(&self) -> Option<&Stream> {
        self.home.as_ref().or_else(|| self.operands().iter().find_map(|operand| operand.code().homes().next()))
    }

    /// Reports the error that an operator on an array of the operands could not return, and that of values outside their scope.
    pub(crate) fn check(&self) -> Result<()> {
        self.operands().iter().try_for_each(|operand| operand.code().check_operands())
    }

    /// Whether both have the same operands.
    pub(crate) fn has_operands_of(&self, other: &DeferredValue<'_>) -> bool {
        let (own, others) = (self.operands(), other.operands());
        own.len() == others.len() && own.iter().zip(others).all(|(a, b)| a.code().same_as(b.code()))
    }

    /// Whether both are the same computation.
    pub(crate) fn same_as(&self, other: &DeferredValue<'_>) -> bool {
        let (a, b) = (&*self.operation, &*other.operation);
        std::ptr::addr_eq(self, other)
            || a.as_any().type_id() == b.as_any().type_id() && a.key() == b.key() && self.has_operands_of(other)
    }

    pub(crate) fn failed(&self, error: Box<dyn Error + Send + Sync>) -> ArrayError {
        match error.downcast::<ArrayError>() {
            Ok(error) => *error,
            Err(error) => ArrayError::Deferred { op: self.operation.name(), source: Arc::from(error) },
        }
    }
}

impl fmt::Debug for DeferredValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} operands", self.operation.name(), self.operands().len())
    }
}
