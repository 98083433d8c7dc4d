//! The interface between a stream and its kind of generator.

use std::sync::Arc;

use gpu_driver::DeviceSliceMut;

use crate::{
    Result,
    distribution::Distribution,
    turns::{FillCall, StreamPosition, Turn},
};

/// A kind of generator: [`XorwowRng`](crate::XorwowRng) or [`PhiloxRng`](crate::PhiloxRng).
#[expect(private_bounds, reason = "sealed")]
pub trait Engine: Rules {}

pub(crate) trait Rules: Sized + 'static {
    /// The name of its streams.
    const NAME: &'static str;
    /// Generators in cuRAND's order.
    const GENERATORS: u32;
    /// A turn of words.
    const WORD: Turn;
    /// The states kept from one fill to the next.
    type States: Default + Send + Sync;

    /// A turn of a distribution.
    fn turn<D: Distribution>() -> Turn;

    /// Fills host memory, of at least one element.
    fn fill_host<D: Distribution>(request: FillRequest<'_, Self>, distribution: D, out: &mut [D::Value]);

    /// Fills device memory, of at least one element.
    fn fill_device<D: Distribution>(
        request: FillRequest<'_, Self>,
        distribution: D,
        out: DeviceSliceMut<'_, D::Value>,
    ) -> Result<()>;
}

/// The seeds from which the generators of a stream start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seed {
    One(u64),
    /// One for each generator.
    Each(Arc<[u32]>),
}

/// One fill of a stream: the position and the states from which it goes on.
pub(crate) struct FillRequest<'a, R: Rules> {
    pub(crate) seed: &'a Seed,
    pub(crate) turns: &'a StreamPosition,
    pub(crate) call: FillCall,
    /// The states' mark before and after the fill: those with another one are not of this place of the stream.
    pub(crate) step: u64,
    pub(crate) states: &'a mut R::States,
}
