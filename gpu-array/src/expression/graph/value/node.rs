//! Nodes that several values refer to.
#![expect(
    unsafe_code,
    reason = "the drop of a graph is no use of the arrays that it borrows, which only `may_dangle` could say in safe words"
)]

use std::{fmt, marker::PhantomData, ops::Deref, sync::Arc};

use super::Node;

/// A node that several values refer to. A clone is another reference to the same node.
///
/// Its drop does not use the arrays that `'a` borrows. So an expression that is not used any more borrows nothing, also if it is dropped later, at
/// the end of its scope.
pub(crate) struct NodeRef<'a> {
    /// A node of the lifetime `'a`, which only this type knows under the other one.
    node: Arc<Node<'static>>,
    _borrowed: PhantomData<&'a ()>,
}

impl<'a> NodeRef<'a> {
    pub(crate) fn new(node: Node<'a>) -> Self {
        // SAFETY: the two types differ in a lifetime only. Under the longer one nobody sees the node but its drop: `deref` gives it out under
        // `'a` or less. Drop takes apart references, boxes and buffers that expressions own, and reads nothing that `'a` borrows: its
        // references, those of leaves and tables, are behind pointers, and the operation of a deferred value is `'static`.
        let node = unsafe { std::mem::transmute::<Node<'a>, Node<'static>>(node) };
        Self { node: Arc::new(node), _borrowed: PhantomData }
    }

    /// Whether other values refer to the same node.
    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.node) > 1
    }

    /// The address, by which the node is known.
    pub(crate) fn address(&self) -> *const () {
        Arc::as_ptr(&self.node).cast()
    }

    /// The node, if no other value refers to it.
    pub(super) fn into_inner(self) -> Option<Node<'a>> {
        Arc::into_inner(self.node)
    }
}

impl<'a> Deref for NodeRef<'a> {
    type Target = Node<'a>;
    fn deref(&self) -> &Node<'a> {
        &self.node
    }
}

impl fmt::Debug for NodeRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {:?}", self.address())
    }
}

impl Clone for NodeRef<'_> {
    fn clone(&self) -> Self {
        Self { node: self.node.clone(), _borrowed: PhantomData }
    }
}
