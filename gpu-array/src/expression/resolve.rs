//! Deferred values: they are evaluated before the kernel or pass of the expression that reads them, or together with it.

mod stages;

use std::{ops::Deref, sync::Arc};

use gpu_driver::Stream;
use smallvec::SmallVec;

use self::stages::Stages;
use super::{
    device,
    graph::{Around, Assembled, Code, Deferred, DeferredValue, Evaluated, LeafMemory, Lowered, LoweredTarget, Within},
};
use crate::{Result, shape::Strides};

/// An expression that a loop can read now: [`Assembled::ready`] gives it.
#[derive(Debug)]
pub struct Ready<'l, 'a>(ReadyCode<'l, 'a>);

#[derive(Debug)]
enum ReadyCode<'l, 'a> {
    /// Nothing had to be computed.
    Borrowed(&'l Lowered<'a>),
    Owned(Lowered<'a>),
}

impl<'a> Deref for Ready<'_, 'a> {
    type Target = Lowered<'a>;
    fn deref(&self) -> &Lowered<'a> {
        match &self.0 {
            ReadyCode::Borrowed(lowered) => lowered,
            ReadyCode::Owned(lowered) => lowered,
        }
    }
}

impl<'a> Assembled<'a> {
    /// Evaluates the [deferred](crate::expression::Deferred) computations in the expression, if there are any, on the stream `home`; None stands for
    /// the host.
    ///
    /// # Errors
    /// That of [`Assembled::check`]; those of the computations, as `Deferred`.
    pub fn ready(&self, home: Option<&Stream>) -> Result<Ready<'_, 'a>> {
        self.check()?;
        if !self.code().has_deferred() {
            return Ok(Ready(ReadyCode::Borrowed(&self.0)));
        }
        let mut code = self.code().clone();
        code.resolve(home)?;
        Ok(Ready(ReadyCode::Owned(Lowered::resolved(code))))
    }

    /// [`Assembled::ready`], on the stream of its arrays.
    pub(crate) fn into_ready(self) -> Result<Lowered<'a>> {
        self.check()?;
        let Lowered(mut code) = self.0;
        if code.has_deferred() {
            let home = code.homes().next().cloned();
            code.resolve(home.as_ref())?;
        }
        Ok(Lowered(code))
    }
}

/// The results of deferred values, while one expression is evaluated.
#[derive(Default)]
struct Results<'a> {
    known: Vec<(Arc<DeferredValue<'a>>, LeafMemory<'static>)>,
}

impl<'a> Results<'a> {
    fn get(&self, value: &DeferredValue<'a>) -> Option<&LeafMemory<'static>> {
        self.known.iter().find(|(known, _)| known.same_as(value)).map(|(_, memory)| memory)
    }

    /// Evaluates the deferred values of `code`, and puts the results in their places.
    fn resolve(&mut self, code: &mut Code<'a>, home: Option<&Stream>) -> Result<()> {
        let values: SmallVec<[Arc<DeferredValue<'a>>; 4]> = code.deferred().cloned().collect();
        for (number, value) in values.iter().enumerate() {
            if self.get(value).is_none() {
                self.evaluate(value, &values[number + 1..], home)?;
            }
        }
        for leaf in &mut code.leaves {
            if let LeafMemory::Deferred(value) = &leaf.memory
                && let Some(memory) = self.get(value)
            {
                leaf.memory = memory.clone();
            }
        }
        Ok(())
    }

    /// Evaluates a deferred value, together with one of `later` if one computation has both results.
    fn evaluate(
        &mut self,
        value: &Arc<DeferredValue<'a>>,
        later: &[Arc<DeferredValue<'a>>],
        home: Option<&Stream>,
    ) -> Result<()> {
        let others = later.iter().filter(|other| value.has_operands_of(other) && !value.same_as(other));
        let both = others.filter_map(|other| Some((value.operation.with(&*other.operation)?, other))).next();
        let mut operands: SmallVec<[Lowered<'a>; 1]> = SmallVec::new();
        for operand in value.operands() {
            let mut code = operand.code().clone();
            self.resolve(&mut code, home)?;
            operands.push(Lowered::resolved(code));
        }
        let operands: SmallVec<[&Lowered<'_>; 1]> = operands.iter().collect();
        let (operation, wanted): (&dyn Deferred, SmallVec<[&Arc<DeferredValue<'a>>; 2]>) = match &both {
            Some((operation, other)) => (&**operation, SmallVec::from_slice(&[value, *other])),
            None => (&*value.operation, SmallVec::from_slice(&[value])),
        };
        let results = operation.evaluate(&operands, home).map_err(|error| value.failed(error))?;
        if results.len() != wanted.len() {
            let (expected, got) = (wanted.len(), results.len());
            return Err(value.failed(format!("{got} results in place of {expected}").into()));
        }
        for (value, result) in wanted.into_iter().zip(results) {
            self.known.push((value.clone(), announced(value, result, home)?));
        }
        Ok(())
    }
}

/// The memory of a result, which has the shape and the type that its computation announces.
fn announced(
    value: &DeferredValue<'_>,
    Evaluated(leaf): Evaluated,
    home: Option<&Stream>,
) -> Result<LeafMemory<'static>> {
    if leaf.shape != value.shape
        || leaf.dtype != value.dtype
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
    value: Arc<DeferredValue<'a>>,
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
        code.check_kernel(stream)?;
        let value = &self.value;
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
        code.leaves[self.leaf].memory = announced(value, result, Some(stream))?;
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
        let Some((leaf, value)) = self.surrounded() else {
            results.resolve(self, Some(home))?;
            return Ok(None);
        };
        let mut others = self.clone();
        others.leaves[leaf].memory = LeafMemory::Nowhere;
        results.resolve(&mut others, Some(home))?;
        // It may be an operand of another one.
        let known = results.get(&value).cloned();
        self.leaves = others.leaves;
        self.leaves[leaf].memory = known.unwrap_or_else(|| LeafMemory::Deferred(value.clone()));
        if !self.has_deferred() {
            return Ok(None);
        }
        let mut operands = SmallVec::new();
        for operand in value.operands() {
            let mut code = operand.code().clone();
            results.resolve(&mut code, Some(home))?;
            operands.push(Lowered::resolved(code));
        }
        Ok(Some(Surrounded { value, leaf, operands }))
    }

    /// The last leaf that is a deferred value of the shape of the whole, and may evaluate an expression with one output that reads nothing at
    /// computed places.
    fn surrounded(&self) -> Option<(usize, Arc<DeferredValue<'a>>)> {
        if self.outputs.len() != 1 || !self.tables.is_empty() || !self.sources.is_empty() {
            return None;
        }
        self.leaves.iter().enumerate().rev().find_map(|(number, leaf)| {
            let LeafMemory::Deferred(value) = &leaf.memory else { return None };
            let fits = value.shape == self.shape && value.operation.may_evaluate_around();
            fits.then(|| (number, value.clone()))
        })
    }
}
