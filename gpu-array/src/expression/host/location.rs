//! Locations of the values of steps while a chunk is computed.

use super::rows::Rows;
use crate::expression::graph::Code;

/// The place of a step's values while a chunk is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Location {
    /// Nobody needs them.
    Nowhere,
    /// A register of the step's type.
    Register(u32),
    Output(u32),
    /// A leaf whose elements stand one behind the other: they are read where they are.
    Leaf(u32),
    /// Each has the same; it is a word.
    Same(u32),
    /// The elements of such a leaf times a word: the sum or difference that they go into computes the product on its way.
    Scaled {
        leaf: u32,
        word: u32,
    },
}

/// A [`Code`] with the location of each step's values.
#[derive(Debug)]
pub(super) struct Located<'c, 'a> {
    pub(super) code: &'c Code<'a>,
    /// For each step.
    pub(super) places: Vec<Location>,
    /// The values that are the same at all places.
    pub(super) words: Vec<[u64; 2]>,
    /// For each leaf.
    pub(super) rows: Vec<Rows>,
}
