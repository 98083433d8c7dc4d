//! Values that are made rather than read: the seam for random numbers and the like.

use std::{fmt::Debug, sync::Arc};

use gpu_driver::Header;

use super::host::HostSliceMut;
use crate::{DType, Element};

/// A sequence of values, one for each place of an expression (in C order), computed by a function of the place.
///
/// The function is given twice: in CUDA C++ and in Rust. Both give the same bits for the same place and words.
pub trait Source<T: Element>: Debug + Send + Sync + 'static {
    /// The file that defines [`Source::function`].
    fn header(&self) -> Header;

    /// The name of a C++ function `T f(const uint64_t *words, uint64_t place)`, a pure one; `T` as in [`DType::cuda_name`].
    fn function(&self) -> &'static str;

    /// What the function takes beside the place: seeds, keys. Changing them compiles nothing; their number is always the same.
    fn words(&self) -> Vec<u64>;

    /// The value at `place`, as the C++ function computes it.
    fn value(&self, place: u64) -> T;
}

/// A source of any element type.
pub(crate) type AnySource = Arc<dyn ErasedSource>;

/// [`Source`] with the element type as a value.
pub(crate) trait ErasedSource: Debug + Send + Sync {
    fn dtype(&self) -> DType;
    fn header(&self) -> Header;
    fn function(&self) -> &'static str;
    fn words(&self) -> Vec<u64>;
    /// Writes the value at `places[i]` to `out[i]`, whose type is the source's.
    fn fill(&self, places: &[i64], out: HostSliceMut<'_>);
}

/// A source with its element type, behind the trait without.
#[derive(Debug)]
struct Typed<S, T>(S, std::marker::PhantomData<fn() -> T>);

/// Forgets the element type.
pub(crate) fn erased<T: Element>(source: impl Source<T>) -> AnySource {
    Arc::new(Typed(source, std::marker::PhantomData))
}

impl<T: Element, S: Source<T>> ErasedSource for Typed<S, T> {
    fn dtype(&self) -> DType {
        T::DTYPE
    }
    fn header(&self) -> Header {
        self.0.header()
    }
    fn function(&self) -> &'static str {
        self.0.function()
    }
    fn words(&self) -> Vec<u64> {
        self.0.words()
    }
    fn fill(&self, places: &[i64], out: HostSliceMut<'_>) {
        for (value, &place) in T::of_host_slice_mut(out).unwrap_or_default().iter_mut().zip(places) {
            *value = self.0.value(place as u64);
        }
    }
}
