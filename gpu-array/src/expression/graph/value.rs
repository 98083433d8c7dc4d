//! The graph that operators build.

pub(super) mod node;

use std::{fmt, sync::Arc};

use smallvec::SmallVec;

use self::node::NodeRef;
use super::{
    code::{
        deferred::DeferredValue,
        leaf::{Leaf, TakeTable},
    },
    op::Op,
    source::AnySource,
};
use crate::{ArrayError, DType, Element, Result, shape::Shape};

/// A value at each place, of a type, rank and place that the compiler checked. Cheap to clone; a clone is known as the same value.
#[derive(Clone)]
pub(crate) enum Value<'a> {
    /// A value that is the same everywhere, as the first of [`Element::to_words`]. Complex numbers are made of two.
    Scalar(DType, u64),
    /// Elements of an array.
    Leaf(Arc<Leaf<'a>>),
    /// A computed value.
    Node(NodeRef<'a>),
}

/// A value by the operation and the operands that it is computed from. Shapes are checked when the graph is assembled.
pub(crate) struct Node<'a> {
    pub(crate) kind: NodeKind<'a>,
    /// The element type of the value.
    pub(crate) dtype: DType,
    /// Whether its value depends on the shape around it: a place is counted in it, and no shape is given within.
    pub(crate) counts_places: bool,
    /// Nodes of the longest way down from here.
    height: u32,
    /// Operands, in order, without gaps. An operation has them in its own element type.
    pub(crate) args: [Option<Value<'a>>; 3],
}

/// The kind of a node. Small, since it is moved: large parts are in a box.
pub(crate) enum NodeKind<'a> {
    /// i64: the place along an axis, counted from the last one backwards, of whatever shape there is.
    FromLast(usize),
    /// i64: the place along an axis, counted from the first one.
    FromFirst(usize),
    /// The operand, at least in that shape.
    Broadcast(Box<Shape>),
    /// An operation.
    Step(Op),
    /// Elements of an array at computed offsets.
    Gather(Box<TakeTable<'a>>),
    /// The values of a source at computed places.
    Source(AnySource),
    /// The result of a computation that comes before.
    Deferred(Arc<DeferredValue<'a>>),
    /// A mistake in building, told when the expression is evaluated.
    Failed(Box<ArrayError>),
}

impl<'a> Value<'a> {
    /// A value that is the same everywhere.
    pub(crate) fn scalar<T: Element>(value: T) -> Self {
        let [first, second] = value.to_words();
        if !T::DTYPE.is_complex() {
            return Self::Scalar(T::DTYPE, first);
        }
        let part = T::DTYPE.part();
        Self::binary(Op::Complex, T::DTYPE, part, Self::Scalar(part, first), Self::Scalar(part, second))
    }

    pub(crate) fn leaf(leaf: Leaf<'a>) -> Self {
        Self::Leaf(Arc::new(leaf))
    }

    /// A value that is computed from no other value.
    pub(crate) fn new(kind: NodeKind<'a>, dtype: DType) -> Self {
        let counts_places = matches!(kind, NodeKind::FromLast(_) | NodeKind::FromFirst(_));
        Self::Node(NodeRef::new(Node { kind, dtype, counts_places, height: 1, args: [None, None, None] }))
    }

    fn with(kind: NodeKind<'a>, dtype: DType, args: [Option<Self>; 3]) -> Self {
        let nodes = || args.iter().flatten().filter_map(Self::node);
        let counts_places = nodes().any(|arg| arg.counts_places) && !matches!(kind, NodeKind::Broadcast(_));
        let height = nodes().map(|arg| arg.height).max().unwrap_or(0).saturating_add(1);
        Self::Node(NodeRef::new(Node { kind, dtype, counts_places, height, args }))
    }

    /// A value that is computed from one other value, or a few.
    pub(crate) fn from(kind: NodeKind<'a>, dtype: DType, args: impl IntoIterator<Item = Self>) -> Self {
        let mut args = args.into_iter();
        Self::with(kind, dtype, [args.next(), args.next(), args.next()])
    }

    /// The value in at least that shape.
    pub(crate) fn broadcast(self, shape: &[usize]) -> Self {
        let (kind, dtype) = (NodeKind::Broadcast(Box::new(Shape::from_slice(shape))), self.dtype());
        Self::from(kind, dtype, [self])
    }

    pub(crate) fn failed(error: ArrayError, dtype: DType) -> Self {
        Self::new(NodeKind::Failed(Box::new(error)), dtype)
    }

    pub(crate) fn unary(op: Op, dtype: DType, a: Self) -> Self {
        Self::with(NodeKind::Step(op), dtype, [Some(a), None, None])
    }

    /// An operation on two values of the type `common`, to which they are brought.
    pub(crate) fn binary(op: Op, dtype: DType, common: DType, a: Self, b: Self) -> Self {
        Self::with(NodeKind::Step(op), dtype, [Some(a.cast(common)), Some(b.cast(common)), None])
    }

    pub(crate) fn ternary(op: Op, dtype: DType, args: [Self; 3]) -> Self {
        Self::with(NodeKind::Step(op), dtype, args.map(Some))
    }

    /// The value in another type.
    pub(crate) fn cast(self, dtype: DType) -> Self {
        if self.dtype() == dtype { self } else { Self::unary(Op::Cast, dtype, self) }
    }

    /// Its element type.
    pub(crate) fn dtype(&self) -> DType {
        match self {
            Self::Scalar(dtype, _) => *dtype,
            Self::Leaf(leaf) => leaf.dtype,
            Self::Node(node) => node.dtype,
        }
    }

    /// Whether it is an array, and no value that is still to be computed.
    pub(crate) fn is_array(&self) -> bool {
        matches!(self, Self::Leaf(_))
    }

    /// The array that it is, for the operation `op` of arrays alone.
    ///
    /// # Errors
    /// `NotAnArray`; the error of an array that could not be read.
    pub(crate) fn as_array(&self, op: &'static str) -> Result<&Leaf<'a>> {
        if let Self::Leaf(leaf) = self {
            return Ok(leaf);
        }
        match self.node().map(|node| &node.kind) {
            Some(NodeKind::Failed(error)) => Err((**error).clone()),
            _ => Err(ArrayError::NotAnArray { op, expression: self.to_string() }),
        }
    }

    fn node(&self) -> Option<&Node<'a>> {
        match self {
            Self::Node(node) => Some(node),
            _ => None,
        }
    }

    /// The types of its first operand and its last; its own where it has none.
    pub(crate) fn operand_dtypes(&self) -> [DType; 2] {
        let args = || self.node().into_iter().flat_map(|node| node.args.iter().flatten());
        let (first, last) = (args().next(), args().next_back());
        [first, last].map(|arg| arg.unwrap_or(self).dtype())
    }
}

/// Nodes higher than this are dropped without recursion: a chain may have any length.
const HIGHEST_RECURSION: u32 = 64;

impl Drop for Node<'_> {
    fn drop(&mut self) {
        if self.height <= HIGHEST_RECURSION {
            return;
        }
        let mut left: SmallVec<[Value<'_>; 8]> = SmallVec::new();
        left.extend(self.args.iter_mut().filter_map(Option::take));
        while let Some(next) = left.pop() {
            // The last owner of a node takes it apart.
            if let Value::Node(node) = next
                && node.height > HIGHEST_RECURSION
                && let Some(mut node) = node.into_inner()
            {
                left.extend(node.args.iter_mut().filter_map(Option::take));
            }
        }
    }
}

/// Writes a value as a formula, cut off where it gets long.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 6)
    }
}

impl Value<'_> {
    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        if depth == 0 {
            return f.write_str("…");
        }
        let node = match self {
            Self::Leaf(leaf) => return write!(f, "{}{:?}", leaf.dtype, leaf.shape.as_slice()),
            Self::Scalar(dtype, word) => return write_scalar(f, *dtype, *word),
            Self::Node(node) => node,
        };
        match &node.kind {
            NodeKind::FromFirst(axis) => write!(f, "index({axis})"),
            NodeKind::FromLast(axis) => write!(f, "index(-{})", axis + 1),
            NodeKind::Failed(_) => f.write_str("?"),
            NodeKind::Deferred(value) => write!(f, "{}(…)", value.operation.name()),
            NodeKind::Broadcast(shape) => node.write_call(f, &format!("broadcast{:?}", shape.as_slice()), depth),
            NodeKind::Gather(_) => node.write_call(f, "take", depth),
            NodeKind::Source(source) => node.write_call(f, source.function(), depth),
            NodeKind::Step(op) => match (symbol(*op), &node.args) {
                (Some(symbol), [Some(a), Some(b), None]) => {
                    f.write_str("(")?;
                    a.write(f, depth - 1)?;
                    write!(f, " {symbol} ")?;
                    b.write(f, depth - 1)?;
                    f.write_str(")")
                }
                _ if *op == Op::Cast => node.write_call(f, node.dtype.name(), depth),
                _ => node.write_call(f, op.name(), depth),
            },
        }
    }
}

impl Node<'_> {
    fn write_call(&self, f: &mut fmt::Formatter<'_>, name: &str, depth: usize) -> fmt::Result {
        write!(f, "{name}(")?;
        for (i, arg) in self.args.iter().flatten().enumerate() {
            f.write_str(if i == 0 { "" } else { ", " })?;
            arg.write(f, depth - 1)?;
        }
        f.write_str(")")
    }
}

fn write_scalar(f: &mut fmt::Formatter<'_>, dtype: DType, word: u64) -> fmt::Result {
    match dtype {
        DType::Bool => write!(f, "{}", word != 0),
        DType::F16 => write!(f, "{}", half::f16::from_bits(word as u16)),
        DType::BF16 => write!(f, "{}", half::bf16::from_bits(word as u16)),
        DType::F32 => write!(f, "{}", f32::from_bits(word as u32)),
        DType::F64 => write!(f, "{}", f64::from_bits(word)),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => write!(f, "{word}"),
        _ => write!(f, "{}", word as i64),
    }
}

/// How an operation is written between its operands.
fn symbol(op: Op) -> Option<&'static str> {
    Some(match op {
        Op::Add => "+",
        Op::Subtract => "-",
        Op::Multiply => "*",
        Op::Divide => "/",
        Op::FloorDivide => "//",
        Op::Remainder => "%",
        Op::And => "&",
        Op::Or => "|",
        Op::Xor => "^",
        Op::ShiftLeft => "<<",
        Op::ShiftRight => ">>",
        Op::Equal => "==",
        Op::NotEqual => "!=",
        Op::Less => "<",
        Op::LessEqual => "<=",
        Op::Greater => ">",
        Op::GreaterEqual => ">=",
        _ => return None,
    })
}
