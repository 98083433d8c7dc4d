//! Streams of random numbers that fill arrays.

mod create;
mod fill;
mod philox;
mod xorwow;

use std::fmt;

use crate::{
    Order, RandomError, Result,
    engine::{Engine, Seed},
    turns::StreamPosition,
};

/// A stream of random numbers, in cuRAND's order, that fills arrays of devices and of the host: [`crate::Xorwow`] or [`crate::Philox`].
///
/// Calls of any length and of mixed kinds follow one another as those of cuRAND's host API do. The stream goes on from where it is wherever
/// it is filled to; whenever it moves to another device, or to the host and back, its states are made anew from the seed.
///
/// # Determinism
/// The numbers depend on seed, order and the calls before, on nothing else. Integers and uniform numbers have the same bits on every device
/// and on the host, and on a GPU those of cuRAND, as have normal numbers there. Numbers that take logarithms and the like agree between GPU
/// and host up to rounding: standard normal ones `z` within 32 ulps (f32; f64: 8) of `max(1, abs(z))`, log-normal ones of deviation `s`
/// within 34 (10) of `x * max(1, s * abs(z))`, exponential ones within 2 of themselves; those of Poisson's distribution of a mean
/// above 80,000 compare such numbers, so that one in very many may be another one there.
///
/// # Cost
/// A fill of device memory is one launch and returns at once. The first one on a device, and the first after the stream was moved, makes the
/// states by another launch. Philox with other generators than cuRAND's, with a seed for each, or after calls of many kinds first sends tables
/// of seeds and of places to the device, and waits for that.
///
/// # Graphs
/// A fill into memory of the captured stream is captured with it, and gives the same numbers at each launch of the graph: those of its place in the
/// stream, which goes on behind it. With XORWOW the graph's first fill makes the states anew. The graph owns all that its fills use, so the
/// generator may go, or go on elsewhere. A fill of the same kind and length ahead of the capture makes tables for which the capture then
/// need not wait.
pub struct Generator<R: Engine> {
    pub(crate) seed: Seed,
    pub(crate) turns: StreamPosition,
    /// Changes with every fill and move.
    pub(crate) step: u64,
    pub(crate) states: R::States,
}

/// The position of a stream: a checkpoint, from [`Generator::position`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    turns: StreamPosition,
    of: &'static str,
}

impl<R: Engine> Generator<R> {
    /// The stream of a seed, in cuRAND's order, at its start.
    pub fn new(seed: u64) -> Self {
        Self::of(Seed::One(seed), R::GENERATORS)
    }

    /// The stream of one generator for each seed, with the subsequence of its number: element `i` is of generator
    /// `i mod seeds.len()`. With XORWOW this is how PyCUDA's generators are made.
    ///
    /// # Errors
    /// `Generators` for no seed, or more than 2^24.
    ///
    /// ```
    /// use gpu_random::{Xorwow, XorwowRng};
    /// use rand::Rng;
    /// let mut numbers = [0; 2];
    /// Xorwow::with_seeds(&[10, 20])?.fill_bits(&mut numbers[..])?;
    /// assert_eq!(numbers, [XorwowRng::new(10, 0, 0).next_u32(), XorwowRng::new(20, 1, 0).next_u32()]);
    /// # Ok::<(), gpu_random::RandomError>(())
    /// ```
    pub fn with_seeds(seeds: &[u32]) -> Result<Self> {
        let count = u32::try_from(seeds.len()).unwrap_or(u32::MAX);
        let generators = Order::Generators(count).generators(R::GENERATORS)?;
        Ok(Self::of(Seed::Each(seeds.into()), generators))
    }

    pub(crate) fn of(seed: Seed, generators: u32) -> Self {
        Self { seed, turns: StreamPosition::new(generators), step: 0, states: R::States::default() }
    }

    /// The stream of the same seed in that order, at its start.
    ///
    /// # Errors
    /// `Generators` for none, or more than 2^24; and for a stream with a seed for each generator unless it has as many.
    pub fn with_order(self, order: Order) -> Result<Self> {
        let generators = order.generators(R::GENERATORS)?;
        match &self.seed {
            Seed::Each(seeds) if seeds.len() as u64 != u64::from(generators) => {
                Err(RandomError::Generators { got: generators.into(), most: seeds.len() as u64 })
            }
            _ => Ok(Self::of(self.seed, generators)),
        }
    }

    /// The stream with its first `offset` words left out.
    #[must_use]
    pub fn with_offset(mut self, offset: u64) -> Self {
        self.set_offset(offset);
        self
    }

    /// Goes to the position `offset` words from the stream's start: [`Generator::fill_bits`] gives element `offset` next.
    pub fn set_offset(&mut self, offset: u64) {
        self.turns = StreamPosition::after(self.turns.generators(), R::WORD, offset);
        self.step += 1;
    }

    /// Starts the stream of another seed.
    pub fn set_seed(&mut self, seed: u64) {
        self.seed = Seed::One(seed);
        self.set_offset(0);
    }

    /// The stream's present position.
    pub fn position(&self) -> Position {
        Position { turns: self.turns.clone(), of: R::NAME }
    }

    /// Goes to a position of this stream, or of another one of this kind with as many generators.
    ///
    /// # Errors
    /// `PositionKind` for one of another kind of generator, `Position` for one with another number of them.
    pub fn set_position(&mut self, position: &Position) -> Result<()> {
        if position.of != R::NAME {
            return Err(RandomError::PositionKind { expected: position.of, got: R::NAME });
        }
        let (expected, got) = (position.turns.generators(), self.turns.generators());
        if expected != got {
            return Err(RandomError::Position { expected, got });
        }
        self.turns = position.turns.clone();
        self.step += 1;
        Ok(())
    }

    /// How many subsequences take turns.
    pub fn generators(&self) -> u32 {
        self.turns.generators()
    }
}

impl<R: Engine> Clone for Generator<R> {
    /// A stream that gives the same numbers; it makes states of its own.
    fn clone(&self) -> Self {
        Self { turns: self.turns.clone(), ..Self::of(self.seed.clone(), self.generators()) }
    }
}

impl<R: Engine> PartialEq for Generator<R> {
    /// Whether both give the same numbers from here on.
    fn eq(&self, other: &Self) -> bool {
        self.seed == other.seed && self.turns == other.turns
    }
}

impl<R: Engine> fmt::Debug for Generator<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} subsequences", R::NAME, self.generators())
    }
}
