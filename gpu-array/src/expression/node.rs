//! The graph that operators build.

use std::{fmt, sync::Arc};

use smallvec::SmallVec;

use super::{AnySource, Leaf, Op, Shape, Table};
use crate::{ArrayError, DType};

/// A value at each place, by what it is computed from. Types, ranks and places were checked by the compiler; shapes are checked
/// when the graph is assembled.
pub(crate) struct Node<'a> {
    pub(crate) kind: Kind<'a>,
    /// The element type of the value.
    pub(crate) dtype: DType,
    /// Whether its value depends on what shape is around it: a place is counted in it, and no shape is given within.
    pub(crate) counts_places: bool,
    /// Operands, in order, without gaps. An operation has them in its own element type.
    pub(crate) args: [Option<Arc<Node<'a>>>; 3],
}

/// What a node is. Small, since it is moved: what is large is in a box.
#[derive(Clone)]
pub(crate) enum Kind<'a> {
    /// Elements of an array.
    Leaf(Box<Leaf<'a>>),
    /// [`crate::Element::to_word`] of a value that is the same everywhere.
    Scalar(u64),
    /// i64: the place along an axis, counted from the last one backwards, of whatever shape there is.
    FromLast(usize),
    /// As before, counted from the first axis.
    FromFirst(usize),
    /// The operand, at least in that shape.
    Broadcast(Box<Shape>),
    /// An operation.
    Step(Op),
    /// Elements of an array at computed offsets.
    Gather(Box<Table<'a>>),
    /// What a source has at computed places.
    Source(AnySource),
    /// A mistake in building, told when the expression is evaluated.
    Failed(Box<ArrayError>),
}

impl<'a> Node<'a> {
    pub(crate) fn new(kind: Kind<'a>, dtype: DType) -> Arc<Self> {
        let counts_places = matches!(kind, Kind::FromLast(_) | Kind::FromFirst(_));
        Arc::new(Self { kind, dtype, counts_places, args: [None, None, None] })
    }

    fn with(kind: Kind<'a>, dtype: DType, args: [Option<Arc<Self>>; 3]) -> Arc<Self> {
        let counts_places = args.iter().flatten().any(|arg| arg.counts_places) && !matches!(kind, Kind::Broadcast(_));
        Arc::new(Self { kind, dtype, counts_places, args })
    }

    /// What is computed from one other value, or a few.
    pub(crate) fn from(kind: Kind<'a>, dtype: DType, args: impl IntoIterator<Item = Arc<Self>>) -> Arc<Self> {
        let mut args = args.into_iter();
        Self::with(kind, dtype, [args.next(), args.next(), args.next()])
    }

    /// The value in at least that shape.
    pub(crate) fn broadcast(self: Arc<Self>, shape: &[usize]) -> Arc<Self> {
        let (kind, dtype) = (Kind::Broadcast(Box::new(Shape::from_slice(shape))), self.dtype);
        Self::from(kind, dtype, [self])
    }

    pub(crate) fn failed(error: ArrayError, dtype: DType) -> Arc<Self> {
        Self::new(Kind::Failed(Box::new(error)), dtype)
    }

    pub(crate) fn unary(op: Op, dtype: DType, a: Arc<Self>) -> Arc<Self> {
        Self::with(Kind::Step(op), dtype, [Some(a), None, None])
    }

    /// An operation on two values of the type `common`, to which they are brought.
    pub(crate) fn binary(op: Op, dtype: DType, common: DType, a: Arc<Self>, b: Arc<Self>) -> Arc<Self> {
        Self::with(Kind::Step(op), dtype, [Some(a.cast(common)), Some(b.cast(common)), None])
    }

    pub(crate) fn ternary(op: Op, dtype: DType, args: [Arc<Self>; 3]) -> Arc<Self> {
        Self::with(Kind::Step(op), dtype, args.map(Some))
    }

    /// The value in another type.
    pub(crate) fn cast(self: Arc<Self>, dtype: DType) -> Arc<Self> {
        if self.dtype == dtype { self } else { Self::unary(Op::Cast, dtype, self) }
    }

    pub(crate) fn args(&self) -> impl Iterator<Item = &Arc<Self>> {
        self.args.iter().flatten()
    }
}

/// Dropped without recursion: a chain may have any length.
impl Drop for Node<'_> {
    fn drop(&mut self) {
        // Operands that have none themselves need no care.
        if self.args().all(|arg| arg.args[0].is_none()) {
            return;
        }
        let mut left: SmallVec<[Arc<Self>; 8]> = SmallVec::new();
        left.extend(self.args.iter_mut().filter_map(Option::take));
        while let Some(next) = left.pop() {
            // The last owner of a node takes it apart.
            if let Some(mut node) = Arc::into_inner(next) {
                left.extend(node.args.iter_mut().filter_map(Option::take));
            }
        }
    }
}

/// As a formula, cut off where it gets long.
impl fmt::Display for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 6)
    }
}

impl Node<'_> {
    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        if depth == 0 {
            return f.write_str("…");
        }
        match &self.kind {
            Kind::Leaf(leaf) => write!(f, "{}{:?}", self.dtype, leaf.shape.as_slice()),
            Kind::Scalar(word) => write_scalar(f, self.dtype, *word),
            Kind::FromFirst(axis) => write!(f, "index({axis})"),
            Kind::FromLast(axis) => write!(f, "index(-{})", axis + 1),
            Kind::Failed(_) => f.write_str("?"),
            Kind::Broadcast(shape) => self.write_call(f, &format!("broadcast{:?}", shape.as_slice()), depth),
            Kind::Gather(_) => self.write_call(f, "take", depth),
            Kind::Source(source) => self.write_call(f, source.function(), depth),
            Kind::Step(op) => match (symbol(*op), &self.args) {
                (Some(symbol), [Some(a), Some(b), None]) => {
                    f.write_str("(")?;
                    a.write(f, depth - 1)?;
                    write!(f, " {symbol} ")?;
                    b.write(f, depth - 1)?;
                    f.write_str(")")
                }
                _ if *op == Op::Cast => self.write_call(f, self.dtype.name(), depth),
                _ => self.write_call(f, op.name(), depth),
            },
        }
    }

    fn write_call(&self, f: &mut fmt::Formatter<'_>, name: &str, depth: usize) -> fmt::Result {
        write!(f, "{name}(")?;
        for (i, arg) in self.args().enumerate() {
            f.write_str(if i == 0 { "" } else { ", " })?;
            arg.write(f, depth - 1)?;
        }
        f.write_str(")")
    }
}

fn write_scalar(f: &mut fmt::Formatter<'_>, dtype: DType, word: u64) -> fmt::Result {
    match dtype {
        DType::Bool => write!(f, "{}", word != 0),
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
