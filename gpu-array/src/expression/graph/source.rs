//! Values that are made rather than read: the seam for random numbers and the like.
#![expect(unsafe_code, reason = "a trait whose C++ text runs on the device")]

use std::{
    fmt::Debug,
    marker::PhantomData,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use gpu_driver::Header;

use crate::{ArrayError, DType, Element, element::HostSliceMut};

/// A sequence of values, one for each place of an expression (in C order), computed by a function of the place.
///
/// The function is given twice: in CUDA C++ and in Rust. Both give the same bits for the same place and words.
///
/// # Safety
/// The C++ function reads nothing but its arguments and as many words as [`Source::words`] gives, and writes nothing.
pub unsafe trait Source<T: Element>: Debug + Send + Sync + 'static {
    /// The file that defines [`Source::function`].
    fn header(&self) -> Header;

    /// The name of a C++ function `T f(const uint64_t *words, uint64_t place)`, a pure one; `T` as in [`DType::cuda_name`].
    fn function(&self) -> &'static str;

    /// The words that the function takes beside the place: seeds, keys. Changing them compiles nothing. Asked for once, when the expression is made.
    fn words(&self) -> Vec<u64>;

    /// The value at `place`, as the C++ function computes it.
    fn value(&self, place: u64) -> T;

    /// The only expression that the values belong to, where they are there for it alone; None where any expression may read them. Asked for once.
    ///
    /// Another expression that reads them, or a computation within their own one, returns `OutOfScope` when it is evaluated.
    fn scope(&self) -> Option<Scope> {
        None
    }
}

/// The one expression in which values of a [`Source`] may be read: that which [`Assembled::in_scope`](super::Assembled::in_scope) marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    number: u64,
    op: &'static str,
    remedy: &'static str,
}

impl Scope {
    /// A scope of its own, of the function that is an argument of `op`. `remedy` ends the error's text: the program to write for values that are read
    /// elsewhere.
    #[must_use]
    pub fn new(op: &'static str, remedy: &'static str) -> Self {
        static SCOPES: AtomicU64 = AtomicU64::new(0);
        Self { number: SCOPES.fetch_add(1, Ordering::Relaxed), op, remedy }
    }

    /// The error of an expression that reads the values elsewhere.
    pub(crate) fn left(self) -> ArrayError {
        ArrayError::OutOfScope { op: self.op, remedy: self.remedy }
    }
}

/// A source of any element type.
pub(crate) type AnySource = Arc<dyn ErasedSource>;

/// [`Source`] with the element type as a value.
pub(crate) trait ErasedSource: Debug + Send + Sync {
    fn dtype(&self) -> DType;
    fn header(&self) -> Header;
    fn function(&self) -> &'static str;
    fn words(&self) -> &[u64];
    fn scope(&self) -> Option<Scope>;
    /// Writes the value at `places[i]` to `out[i]`, whose type is the source's.
    fn fill(&self, places: &[i64], out: HostSliceMut<'_>);
}

/// A source with its element type, behind the trait without. Everything that a kernel depends on was asked for once.
#[derive(Debug)]
struct Typed<S, T> {
    source: S,
    header: Header,
    function: &'static str,
    words: Vec<u64>,
    scope: Option<Scope>,
    _value: PhantomData<fn() -> T>,
}

/// Forgets the element type.
pub(crate) fn erased<T: Element>(source: impl Source<T>) -> AnySource {
    let (header, function, words, scope) = (source.header(), source.function(), source.words(), source.scope());
    Arc::new(Typed { source, header, function, words, scope, _value: PhantomData })
}

impl<T: Element, S: Source<T>> ErasedSource for Typed<S, T> {
    fn dtype(&self) -> DType {
        T::DTYPE
    }
    fn header(&self) -> Header {
        self.header
    }
    fn function(&self) -> &'static str {
        self.function
    }
    fn words(&self) -> &[u64] {
        &self.words
    }
    fn scope(&self) -> Option<Scope> {
        self.scope
    }
    fn fill(&self, places: &[i64], out: HostSliceMut<'_>) {
        for (value, &place) in T::of_host_slice_mut(out).unwrap_or_default().iter_mut().zip(places) {
            *value = self.source.value(place as u64);
        }
    }
}
