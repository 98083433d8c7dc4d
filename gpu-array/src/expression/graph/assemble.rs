//! From a graph to a list of steps: each value once, in an order in which operands come first, with one shape for all.

use std::{collections::HashMap, sync::Arc};

use smallvec::SmallVec;

use super::{
    code::{
        Code, LeafMemory, Step,
        leaf::Leaf,
        lowered::{Assembled, Lowered},
    },
    op::Op,
    value::{NodeKind, Value, node::NodeRef},
};
use crate::{
    ArrayError, DType, Result,
    layout::{broadcast, broadcast_strides, checked_len, dense_strides},
    shape::{Shape, Strides},
};

/// The number of a shape in [`Assembler::shapes`].
type ShapeId = u32;

/// The shape of values that have none of their own: scalars and places.
const ANY: ShapeId = u32::MAX;

/// Leaves that a new one is compared with: arrays that are used twice are read once.
const COMPARED_LEAVES: usize = 64;

struct Assembler<'c, 'a> {
    code: &'c mut Code<'a>,
    /// The shape of each step.
    shape_of: SmallVec<[ShapeId; 32]>,
    shapes: SmallVec<[Shape; 4]>,
    /// Steps of values that are referred to more than once.
    shared: Shared,
    /// The steps of the first leaves.
    step_of_leaf: SmallVec<[u32; 8]>,
    /// The f32 of numbers of 16 bits: their steps, by the steps of these.
    widened: HashMap<u32, u32, rustc_hash::FxBuildHasher>,
    /// Places in the shape of the whole: their steps. Strides follow at the end, when the shape is known.
    places: SmallVec<[(IndexLeaf, u32); 2]>,
}

#[derive(Clone, Copy, PartialEq)]
enum IndexLeaf {
    FromLast(usize),
    FromFirst(usize),
}

impl IndexLeaf {
    /// The axis in a shape, counted from the first.
    fn axis(self, shape: &[usize]) -> Result<usize> {
        let (axis, found) = match self {
            Self::FromFirst(axis) => (axis, Some(axis)),
            Self::FromLast(axis) => (axis, shape.len().checked_sub(axis + 1)),
        };
        let missing = ArrayError::Axis { op: "index", axis, ndim: shape.len() };
        found.filter(|&axis| axis < shape.len()).ok_or(missing)
    }
}

/// The key of a shared value: its address, and the shape that its places count in.
type Key = (*const (), ShapeId);

/// Steps by address; a few are compared one by one.
#[derive(Default)]
struct Shared {
    few: SmallVec<[(Key, u32); 16]>,
    many: HashMap<Key, u32, rustc_hash::FxBuildHasher>,
}

impl Shared {
    fn get(&self, key: Key) -> Option<u32> {
        let few = self.few.iter().find(|(known, _)| *known == key).map(|&(_, step)| step);
        few.or_else(|| self.many.get(&key).copied())
    }

    fn insert(&mut self, key: Key, step: u32) {
        if self.few.len() < self.few.inline_size() {
            self.few.push((key, step));
        } else {
            self.many.insert(key, step);
        }
    }
}

/// A node whose operands are being visited.
struct ShapeFrame<'n, 'a> {
    node: &'n NodeRef<'a>,
    next: usize,
    args: [u32; 3],
    /// The shape that places count in: that of the innermost [`NodeKind::Broadcast`] around, or [`ANY`] for that of the whole.
    within: ShapeId,
}

/// A value before its operands are visited: its step, or the node that they belong to.
enum FoundNode<'n, 'a> {
    Step(u32),
    /// The operands must be visited.
    Node(&'n NodeRef<'a>),
}

/// Writes the steps of the values `roots`, whose shapes must be equal, into an empty `code`. A value of no shape of its own has that of a single
/// element. The shape has `rank` axes at least.
///
/// # Errors
/// `Operands` for shapes that do not fit; `Outputs` for roots of different shapes; the errors of building the values.
pub(crate) fn assemble<'a>(code: &mut Code<'a>, roots: &[&Value<'a>], rank: usize) -> Result<()> {
    let mut assembler = Assembler::new(code);
    for root in roots {
        let step = assembler.visit(root)?;
        assembler.code.outputs.push(step);
    }
    let mut ids = assembler.code.outputs.iter().map(|&step| assembler.shape_of[step as usize]);
    let first = ids.next().unwrap_or(ANY);
    let shape_of = |id: ShapeId| assembler.shapes.get(id as usize).cloned().unwrap_or_default();
    if let Some(other) = ids.find(|&id| id != first && shape_of(id) != shape_of(first)) {
        return Err(ArrayError::Outputs { first: shape_of(first).to_vec(), other: shape_of(other).to_vec() });
    }
    if first == ANY && !assembler.places.is_empty() {
        return Err(ArrayError::NoShape);
    }
    let mut shape = shape_of(first);
    while shape.len() < rank {
        shape.insert(0, 1);
    }
    assembler.finish(shape)
}

/// Writes the steps of a value in that very shape, to which it is broadcast, into an empty `code`.
///
/// # Errors
/// The errors of [`assemble`]; `Operands` for a value that does not fit.
pub(crate) fn assemble_into<'a>(code: &mut Code<'a>, root: &Value<'a>, shape: &[usize]) -> Result<()> {
    let mut assembler = Assembler::new(code);
    let step = assembler.visit(root)?;
    assembler.code.outputs.push(step);
    let (shape, own) = (Shape::from_slice(shape), assembler.shape_of[step as usize]);
    let wanted = assembler.intern(&shape);
    if assembler.join(wanted, own) != Some(wanted) {
        return Err(assembler.mismatch(root, wanted, own));
    }
    assembler.finish(shape)
}

impl<'a> Assembled<'a> {
    /// The steps of values of one shape, in a shape of `rank` axes at least.
    pub(crate) fn of(values: &[&Value<'a>], rank: usize) -> Result<Self> {
        let mut code = Box::<Code<'_>>::default();
        assemble(&mut code, values, rank)?;
        checked_len(&code.shape)?;
        code.check_steps()?;
        if let Some(stream) = code.homes().next() {
            code.check_kernel(stream)?;
        }
        Ok(Self(Lowered(code)))
    }
}

impl<'c, 'a> Assembler<'c, 'a> {
    fn new(code: &'c mut Code<'a>) -> Self {
        Self {
            code,
            shape_of: SmallVec::new(),
            shapes: SmallVec::new(),
            shared: Shared::default(),
            step_of_leaf: SmallVec::new(),
            widened: HashMap::default(),
            places: SmallVec::new(),
        }
    }

    /// The step of a value.
    fn visit(&mut self, root: &Value<'a>) -> Result<u32> {
        let mut frames: SmallVec<[ShapeFrame<'_, 'a>; 16]> = SmallVec::new();
        match self.find(root, ANY)? {
            FoundNode::Step(step) => return Ok(step),
            FoundNode::Node(node) => frames.push(ShapeFrame { node, next: 0, args: [0; 3], within: ANY }),
        }
        loop {
            // Never empty here: the last frame returns.
            let Some(frame) = frames.last_mut() else { return Ok(0) };
            let (node, within) = (frame.node, frame.within);
            if let Some(arg) = node.args.get(frame.next).and_then(Option::as_ref) {
                let within = match &node.kind {
                    NodeKind::Broadcast(shape) => self.intern(shape),
                    _ => within,
                };
                match self.find(arg, within)? {
                    FoundNode::Step(step) => {
                        frame.args[frame.next] = step;
                        frame.next += 1;
                    }
                    FoundNode::Node(node) => frames.push(ShapeFrame { node, next: 0, args: [0; 3], within }),
                }
                continue;
            }
            let step = self.enter(node, frame.args, within)?;
            frames.pop();
            match frames.last_mut() {
                Some(parent) => {
                    parent.args[parent.next] = step;
                    parent.next += 1;
                }
                None => return Ok(step),
            }
        }
    }

    /// The step of a value that needs no visit of operands.
    fn find<'n>(&mut self, value: &'n Value<'a>, within: ShapeId) -> Result<FoundNode<'n, 'a>> {
        Ok(match value {
            Value::Scalar(dtype, word) => {
                self.code.scalars.push(*word);
                FoundNode::Step(self.push(Op::Scalar, *dtype, [self.code.scalars.len() as u32 - 1, 0, 0], ANY))
            }
            Value::Leaf(leaf) => {
                let key = (Arc::strong_count(leaf) > 1).then(|| (Arc::as_ptr(leaf).cast(), ANY));
                match key.and_then(|key| self.shared.get(key)) {
                    Some(step) => FoundNode::Step(step),
                    None => {
                        let step = self.leaf(leaf);
                        if let Some(key) = key {
                            self.shared.insert(key, step);
                        }
                        FoundNode::Step(step)
                    }
                }
            }
            Value::Node(node) => match self.known(node, within) {
                Some(step) => FoundNode::Step(step),
                None if node.args[0].is_none() => FoundNode::Step(self.enter(node, [0; 3], within)?),
                None => FoundNode::Node(node),
            },
        })
    }

    /// The key of a node. Where no place is counted in it, the shape around plays no part.
    fn key(node: &NodeRef<'a>, within: ShapeId) -> Key {
        (node.address(), if node.counts_places { within } else { ANY })
    }

    fn known(&self, node: &NodeRef<'a>, within: ShapeId) -> Option<u32> {
        if node.is_shared() { self.shared.get(Self::key(node, within)) } else { None }
    }

    /// The step of a node whose operands have theirs.
    fn enter(&mut self, node: &NodeRef<'a>, args: [u32; 3], within: ShapeId) -> Result<u32> {
        let step = match &node.kind {
            NodeKind::FromLast(axis) => self.place(IndexLeaf::FromLast(*axis), within)?,
            NodeKind::FromFirst(axis) => self.place(IndexLeaf::FromFirst(*axis), within)?,
            NodeKind::Broadcast(shape) => {
                let (wanted, own) = (self.intern(shape), self.shape_of[args[0] as usize]);
                if self.join(wanted, own) != Some(wanted) {
                    return Err(self.mismatch(&Value::Node(node.clone()), wanted, own));
                }
                // A step of its own, so that the operand keeps its shape where it is used elsewhere.
                self.push(Op::Copy, node.dtype, args, wanted)
            }
            NodeKind::Step(op) => {
                let shape = self.joined(node, &args)?;
                self.operation(*op, node.dtype, args, shape)
            }
            NodeKind::Gather(table) => {
                let shape = self.joined(node, &args)?;
                self.code.tables.push((**table).clone());
                self.push(Op::Gather, node.dtype, [self.code.tables.len() as u32 - 1, args[0], args[1]], shape)
            }
            NodeKind::Source(source) => {
                let shape = self.joined(node, &args)?;
                self.code.sources.push(source.clone());
                self.push(Op::Source, node.dtype, [self.code.sources.len() as u32 - 1, args[0], 0], shape)
            }
            NodeKind::Deferred(value) => {
                let (shape, strides) = (value.shape.clone(), dense_strides(&value.shape, false));
                let memory = LeafMemory::Deferred(value.clone());
                self.leaf(&Leaf { memory, dtype: node.dtype, offset: 0, shape, strides })
            }
            NodeKind::Failed(error) => return Err((**error).clone()),
        };
        if node.is_shared() {
            self.shared.insert(Self::key(node, within), step);
        }
        Ok(step)
    }

    /// The step of an operation. Numbers of 16 bits are moved and converted, and all else is computed in f32 and rounded: evaluators know no more.
    fn operation(&mut self, op: Op, dtype: DType, mut args: [u32; 3], shape: ShapeId) -> u32 {
        let is_half = |code: &Code<'_>, arg: u32| code.steps[arg as usize].dtype.is_half();
        let concerned = dtype.is_half() || args[op.operands()].iter().any(|&arg| is_half(self.code, arg));
        if !concerned || op.is_for_halves() {
            return self.push(op, dtype, args, shape);
        }
        if op == Op::Cast {
            return self.half_cast(dtype, args[0], shape);
        }
        for arg in &mut args[op.operands()] {
            if is_half(self.code, *arg) {
                *arg = self.widened(*arg);
            }
        }
        if !dtype.is_half() {
            return self.push(op, dtype, args, shape);
        }
        let wide = self.push(op, DType::F32, args, shape);
        self.push(Op::Cast, dtype, [wide, 0, 0], shape)
    }

    /// A number of 16 bits as f32.
    fn widened(&mut self, arg: u32) -> u32 {
        if let Some(&known) = self.widened.get(&arg) {
            return known;
        }
        let step = self.push(Op::Cast, DType::F32, [arg, 0, 0], self.shape_of[arg as usize]);
        self.widened.insert(arg, step);
        step
    }

    /// A cast from or to numbers of 16 bits, by the casts that [`Op::Cast`] has of them.
    fn half_cast(&mut self, dtype: DType, arg: u32, shape: ShapeId) -> u32 {
        let from = self.code.steps[arg as usize].dtype;
        let arg = match from {
            DType::F16 | DType::BF16 if dtype == DType::F32 => return self.widened(arg),
            DType::F16 | DType::BF16 => self.widened(arg),
            DType::C64 | DType::C128 => self.push(Op::Real, from.part(), [arg, 0, 0], shape),
            _ if from.bytes() <= 2 => self.push(Op::Cast, DType::F32, [arg, 0, 0], shape),
            _ => arg,
        };
        self.push(Op::Cast, dtype, [arg, 0, 0], shape)
    }

    fn push(&mut self, op: Op, dtype: DType, args: [u32; 3], shape: ShapeId) -> u32 {
        self.code.steps.push(Step { op, dtype, args });
        self.shape_of.push(shape);
        self.code.steps.len() as u32 - 1
    }

    fn leaf(&mut self, leaf: &Leaf<'a>) -> u32 {
        let known = self.code.leaves.iter().zip(&self.step_of_leaf).find(|(known, _)| known.same_as(leaf));
        if let Some((_, &step)) = known {
            return step;
        }
        let shape = self.intern(&leaf.shape);
        self.push_leaf(leaf.clone(), Op::Leaf, shape)
    }

    /// The place along an axis of the shape `within`, or of that of the whole.
    fn place(&mut self, place: IndexLeaf, within: ShapeId) -> Result<u32> {
        if within == ANY {
            if let Some(&(_, step)) = self.places.iter().find(|(known, _)| *known == place) {
                return Ok(step);
            }
            let step = self.push_place(Shape::new(), Strides::new(), ANY);
            self.places.push((place, step));
            return Ok(step);
        }
        // An array of one axis of that shape, whose elements are their places.
        let whole = self.shapes[within as usize].clone();
        let axis = place.axis(&whole)?;
        let mut shape: Shape = SmallVec::from_elem(1, whole.len());
        let mut strides: Strides = SmallVec::from_elem(0, whole.len());
        (shape[axis], strides[axis]) = (whole[axis], 1);
        let own = self.intern(&shape);
        let same = |(leaf, _): &(&Leaf<'_>, &u32)| {
            matches!(leaf.memory, LeafMemory::Nowhere) && leaf.shape == shape && leaf.strides == strides
        };
        if let Some((_, &step)) = self.code.leaves.iter().zip(&self.step_of_leaf).find(same) {
            return Ok(step);
        }
        Ok(self.push_place(shape, strides, own))
    }

    fn push_place(&mut self, shape: Shape, strides: Strides, id: ShapeId) -> u32 {
        let leaf = Leaf { memory: LeafMemory::Nowhere, dtype: DType::I64, offset: 0, shape, strides };
        self.push_leaf(leaf, Op::Index, id)
    }

    fn push_leaf(&mut self, leaf: Leaf<'a>, op: Op, shape: ShapeId) -> u32 {
        let dtype = leaf.dtype;
        self.code.leaves.push(leaf);
        let step = self.push(op, dtype, [self.code.leaves.len() as u32 - 1, 0, 0], shape);
        if self.step_of_leaf.len() < COMPARED_LEAVES {
            self.step_of_leaf.push(step);
        }
        step
    }

    fn intern(&mut self, shape: &Shape) -> ShapeId {
        let known = self.shapes.iter().position(|known| known == shape);
        let id = known.unwrap_or_else(|| {
            self.shapes.push(shape.clone());
            self.shapes.len() - 1
        });
        id as ShapeId
    }

    /// The shape that a node's operands have together.
    fn joined(&mut self, node: &NodeRef<'a>, args: &[u32]) -> Result<ShapeId> {
        let mut shape = ANY;
        for (&arg, _) in args.iter().zip(node.args.iter().flatten()) {
            let own = self.shape_of[arg as usize];
            match self.join(shape, own) {
                Some(both) => shape = both,
                None => return Err(self.mismatch(&Value::Node(node.clone()), shape, own)),
            }
        }
        Ok(shape)
    }

    /// The shape to which both are broadcast; None where they do not fit.
    fn join(&mut self, a: ShapeId, b: ShapeId) -> Option<ShapeId> {
        if a == b || b == ANY {
            return Some(a);
        }
        if a == ANY {
            return Some(b);
        }
        let shape = broadcast(&self.shapes[a as usize], &self.shapes[b as usize])?;
        Some(self.intern(&shape))
    }

    fn mismatch(&self, at: &Value<'a>, a: ShapeId, b: ShapeId) -> ArrayError {
        let shape = |id: ShapeId| self.shapes.get(id as usize).map(|shape| shape.to_vec()).unwrap_or_default();
        let [left_dtype, right_dtype] = at.operand_dtypes();
        let (left, right, expression) = (shape(a), shape(b), at.to_string());
        ArrayError::Operands { left, left_dtype, right, right_dtype, expression }
    }

    /// Gives every leaf strides for the common shape.
    fn finish(self, shape: Shape) -> Result<()> {
        for leaf in &mut self.code.leaves {
            if leaf.shape != shape {
                leaf.strides = broadcast_strides(&leaf.shape, &leaf.strides, shape.len());
                leaf.shape = shape.clone();
            }
        }
        for &(place, step) in &self.places {
            let number = self.code.steps[step as usize].args[0] as usize;
            let axis = place.axis(&shape)?;
            self.code.leaves[number].strides[axis] = 1;
        }
        self.code.shape = shape;
        Ok(())
    }
}
