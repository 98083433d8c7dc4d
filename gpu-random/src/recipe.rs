//! The interface between a stream and its kind of generator.

use gpu_driver::DeviceSliceMut;

use crate::{
    PhiloxRng, Result, XorwowRng,
    distribution::Distribution,
    generator::Seed,
    turns::{FillCall, StreamPosition, Turn},
};

/// A kind of generator: [`XorwowRng`] or [`PhiloxRng`].
#[expect(private_bounds, reason = "sealed")]
pub trait Engine: Rules {}
impl Engine for XorwowRng {}
impl Engine for PhiloxRng {}

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
    fn fill_host<D: Distribution>(stream: Stream<'_, Self>, distribution: D, out: &mut [D::Value]);

    /// Fills device memory, of at least one element.
    fn fill_device<D: Distribution>(
        stream: Stream<'_, Self>,
        distribution: D,
        out: DeviceSliceMut<'_, D::Value>,
    ) -> Result<()>;
}

/// A stream that is about to fill.
pub(crate) struct Stream<'a, R: Rules> {
    pub(crate) seed: &'a Seed,
    pub(crate) turns: &'a StreamPosition,
    pub(crate) call: FillCall,
    /// The states' mark before and after the fill: those with another one are not of this place of the stream.
    pub(crate) step: u64,
    pub(crate) states: &'a mut R::States,
}
