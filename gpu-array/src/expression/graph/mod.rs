//! Values without their types: the graph that operators build, and the steps into which it is assembled.
//!
//! `value.rs` has the graph, whose nodes are operations (`op.rs`) with operands: other nodes, arrays (`leaf.rs`) or sources (`source.rs`). `node.rs`
//! has the references to nodes.
//! `deferred.rs` has computations that come before an expression's own, `around.rs` the expressions that one of them may evaluate itself,
//! `chain.rs` those that a launch evaluates together with the reductions of rows in them.
//! `assemble.rs` makes of it a list of steps in single assignment (`code.rs`), with one shape for all and a key.

mod around;
mod assemble;
mod chain;
mod code;
mod deferred;
mod leaf;
mod node;
mod op;
mod source;
mod value;

pub(crate) use deferred::Remaining;
#[cfg(test)]
pub(crate) use source::ErasedSource;
pub use source::Source;
pub use {
    around::{Around, Within},
    chain::{Chain, Stage},
    deferred::{Deferred, Evaluated, deferred},
};
pub(crate) use {
    assemble::{assemble, assemble_into},
    code::{Code, MOST_OPERATIONS, Step},
    leaf::{Leaf, LeafMemory, OwnedBuffer, TakeTable},
    op::Op,
    source::erased,
    value::{NodeKind, Value},
};
