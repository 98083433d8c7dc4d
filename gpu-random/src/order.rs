//! Which generator gives which element.

use crate::{RandomError, Result};

/// Most generators of a stream.
const MOST_GENERATORS: u32 = 1 << 24;

/// The subsequences of the seed that take turns at the elements.
///
/// ```
/// use gpu_random::{Order, Xorwow};
/// let mut rng = Xorwow::new(1234).with_order(Order::Sequential)?;
/// let mut numbers = [0; 4];
/// rng.fill_bits(&mut numbers[..])?; // draws 0 to 3 of subsequence 0
/// assert_eq!(numbers, [624778773, 1867875844, 3739671282, 1954919316]);
/// # Ok::<(), gpu_random::RandomError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Order {
    /// The order of cuRAND's host API, called legacy, default or best there: 4096 subsequences for XORWOW, element `i` from subsequence
    /// `i mod 4096`; 65536 for Philox, elements `4 i` to `4 i + 3` from subsequence `i mod 65536`.
    #[default]
    Curand,
    /// Subsequence 0 alone.
    Sequential,
    /// A number of subsequences from 1 to 2^24, in turn as in cuRAND's order. With XORWOW, blocks times threads of PyCUDA's generators give their
    /// numbers.
    Generators(u32),
}

impl Order {
    /// How many generators there are; `of_curand` in cuRAND's order.
    pub(crate) fn generators(self, of_curand: u32) -> Result<u32> {
        let generators = match self {
            Self::Curand => of_curand,
            Self::Sequential => 1,
            Self::Generators(generators) => generators,
        };
        if (1..=MOST_GENERATORS).contains(&generators) {
            return Ok(generators);
        }
        Err(RandomError::Generators { got: generators.into(), most: MOST_GENERATORS.into() })
    }
}
