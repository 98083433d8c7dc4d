//! The operands of deferred values.
#![expect(
    unsafe_code,
    reason = "the drop of operands is no use of the arrays that they borrow, which only `may_dangle` could say in safe words"
)]

use std::marker::PhantomData;

use crate::expression::graph::code::lowered::Assembled;

/// The operands of a deferred value, each assembled. It does not use the arrays that `'a` borrows when it is dropped, as the nodes of the graph do not.
pub(crate) struct Operands<'a> {
    /// The source, of the lifetime `'a`, which only this type knows under the other one.
    assembled: Vec<Assembled<'static>>,
    _borrowed: PhantomData<&'a ()>,
}

impl<'a> Operands<'a> {
    pub(crate) fn new(operands: Vec<Assembled<'a>>) -> Self {
        // SAFETY: the two types differ in a lifetime only. Under the longer one nobody sees the operands but their drop: `get` gives them out under
        // `'a` or less, to read; they have no interior that could be changed through a shared reference. Drop takes apart boxes and buffers that
        // expressions own, and reads nothing that `'a` borrows: the references of leaves and tables are behind pointers.
        let assembled = unsafe { std::mem::transmute::<Vec<Assembled<'a>>, Vec<Assembled<'static>>>(operands) };
        Self { assembled, _borrowed: PhantomData }
    }

    pub(crate) fn get(&self) -> &[Assembled<'a>] {
        // SAFETY: their own lifetime, or a shorter one.
        unsafe { std::mem::transmute::<&[Assembled<'static>], &[Assembled<'a>]>(&self.assembled) }
    }
}
