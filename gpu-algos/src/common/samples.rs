//! The operand of samples.

use gpu_array::{
    DType,
    expression::LoweredLeaf,
    gpu_driver::{Header, Stream},
};
use smallvec::SmallVec;

use super::source::{ValueSource, identity};

/// A source that is an array of one element type.
pub(crate) struct Sample(pub(crate) DType);

impl ValueSource for Sample {
    fn shape(&self) -> &[usize] {
        &[1]
    }
    fn leaves(&self) -> SmallVec<[LoweredLeaf<'_>; 4]> {
        SmallVec::from_iter([LoweredLeaf { address: 0, dtype: self.0, is_place: false, strides: &[1] }])
    }
    fn scalars(&self) -> &[u64] {
        &[]
    }
    fn extra(&self) -> SmallVec<[u64; 4]> {
        SmallVec::new()
    }
    fn homes(&self) -> SmallVec<[&Stream; 4]> {
        SmallVec::new()
    }
    fn add_key(&self, _key: &mut SmallVec<[u64; 64]>) {}
    fn text(&self, structure: &str) -> (String, Vec<Header>) {
        identity(structure, self.0)
    }
}
