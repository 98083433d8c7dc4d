//! Values without their types: the graph that operators build, and the steps into which it is assembled. Nothing here computes.
//!
//! `value.rs` has the graph, whose nodes (`value/node.rs`) are operations (`op.rs`) with operands: other nodes, arrays or sources (`source.rs`).
//! `assemble.rs` makes of it a list of steps in single assignment (`code.rs`), with one shape for all and a key. A code reads arrays
//! (`code/leaf.rs`). `code/lowered.rs` has it for loops of other crates.
//!
//! `code/deferred.rs` has computations that come before an expression's own, and whose operands are codes; `code/deferred/around.rs` the expressions
//! that one of them may evaluate itself, `code/deferred/chain.rs` those that a launch evaluates together with the reductions of rows in them.

mod assemble;
mod code;
mod op;
mod source;
mod value;

pub use code::{
    deferred::{
        Deferred, Evaluated,
        around::{Around, Within},
        chain::{Chain, Stage},
    },
    lowered::{Assembled, Lowered, LoweredLeaf, LoweredTarget},
};
#[cfg(test)]
pub(crate) use source::ErasedSource;
pub use source::{Scope, Source};
pub(crate) use {
    assemble::{assemble, assemble_into},
    code::{
        Code, LeafMemory, MOST_OPERATIONS, OwnedBuffer, Step,
        deferred::{DeferredValue, chain::Links},
        leaf::{Leaf, TakeTable},
    },
    op::Op,
    source::erased,
    value::{NodeKind, Value},
};
