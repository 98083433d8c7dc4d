//! The input of reductions, scans and selections: an expression of arrays, or a user's text.

use gpu_array::{
    expression::{Lowered, LoweredLeaf},
    gpu_driver::{Header, Stream},
};
use smallvec::SmallVec;

use crate::launch::unique;

/// An expression, as kernels and their launches need it.
pub(crate) trait ValueSource {
    /// The shape of the index space.
    fn shape(&self) -> &[usize];
    /// The operands that are read at each index.
    fn leaves(&self) -> SmallVec<[LoweredLeaf<'_>; 4]>;
    fn scalars(&self) -> &[u64];
    fn extra(&self) -> SmallVec<[u64; 4]>;
    /// The streams of the arrays, with repetitions.
    fn homes(&self) -> SmallVec<[&Stream; 4]>;
    /// Adds everything that the text depends on.
    fn add_key(&self, key: &mut SmallVec<[u64; 64]>);
    /// The text of the structure `name`, and the headers that it includes.
    fn text(&self, name: &str) -> (String, Vec<Header>);
}

impl ValueSource for Lowered<'_> {
    fn shape(&self) -> &[usize] {
        self.shape()
    }
    fn leaves(&self) -> SmallVec<[LoweredLeaf<'_>; 4]> {
        self.leaves().collect()
    }
    fn scalars(&self) -> &[u64] {
        self.scalars()
    }
    fn extra(&self) -> SmallVec<[u64; 4]> {
        SmallVec::from_vec(self.extra())
    }
    fn homes(&self) -> SmallVec<[&Stream; 4]> {
        unique(self.homes().map(|home| -> &Stream { home }))
    }
    fn add_key(&self, key: &mut SmallVec<[u64; 64]>) {
        key.extend(self.key());
    }
    fn text(&self, name: &str) -> (String, Vec<Header>) {
        (self.functor(name), self.headers())
    }
}
