//! Lists of variants of a kernel.

use std::fmt;

use crate::{DevicePod, DeviceVec, DriverError, Result, Stream};

/// The outcome of a variant, which a tuner compares with those of the others.
pub trait Answer {
    /// The type of its elements.
    type Element: DevicePod;

    /// The elements, on the host.
    ///
    /// # Errors
    /// The driver's error.
    fn elements(&self) -> Result<Vec<Self::Element>>;
}

impl<T: DevicePod> Answer for DeviceVec<T> {
    type Element = T;
    fn elements(&self) -> Result<Vec<T>> {
        self.to_vec()
    }
}

impl<T: DevicePod> Answer for Vec<T> {
    type Element = T;
    fn elements(&self) -> Result<Vec<T>> {
        Ok(self.clone())
    }
}

/// Variants of a kernel by name: each enqueues work for an input `I` on a stream and gives its output `O`. For a [`Tuner`](crate::Tuner).
///
/// An input is borrowed, so a kernel that works in place copies it first.
pub struct Variants<'a, I: ?Sized, O> {
    kernel: String,
    list: Vec<Variant<'a, I, O>>,
}

/// The work of a variant.
type Work<'a, I, O> = Box<dyn Fn(&Stream, &I) -> Result<O> + 'a>;

struct Variant<'a, I: ?Sized, O> {
    name: String,
    reorders_sums: bool,
    work: Work<'a, I, O>,
}

impl<'a, I: ?Sized, O> Variants<'a, I, O> {
    /// No variants yet, of a kernel with that name. Choices are kept under the name: it names the facts that make one kernel another, such as the element
    /// type, and a version that changes with the kernel's text.
    pub fn new(kernel: impl Into<String>) -> Self {
        Self { kernel: kernel.into(), list: Vec::new() }
    }

    /// Adds a variant. Its output must have the same bits as those of the others.
    #[must_use]
    pub fn variant(self, name: impl Into<String>, work: impl Fn(&Stream, &I) -> Result<O> + 'a) -> Self {
        self.with(name.into(), false, Box::new(work))
    }

    /// Adds a variant that adds (or multiplies) floats in another order than the others, so that its results differ by rounding. It takes no part
    /// unless the tuner allows such variants ([`Tuner::allow_reordered_sums`](crate::Tuner::allow_reordered_sums)).
    #[must_use]
    pub fn reorders_sums(self, name: impl Into<String>, work: impl Fn(&Stream, &I) -> Result<O> + 'a) -> Self {
        self.with(name.into(), true, Box::new(work))
    }

    fn with(mut self, name: String, reorders_sums: bool, work: Work<'a, I, O>) -> Self {
        self.list.push(Variant { name, reorders_sums, work });
        self
    }

    /// The kernel's name.
    pub fn kernel(&self) -> &str {
        &self.kernel
    }

    /// The names of the variants, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|variant| variant.name.as_str())
    }

    /// Runs the variant of that name, such as [`Choice::variant`](crate::Choice::variant).
    ///
    /// # Errors
    /// `NoVariant`, or the variant's error.
    pub fn run(&self, name: &str, input: &I, stream: &Stream) -> Result<O> {
        match self.names().position(|known| known == name) {
            Some(at) => self.call(at, input, stream),
            None => Err(self.none_of(name)),
        }
    }

    pub(super) fn call(&self, at: usize, input: &I, stream: &Stream) -> Result<O> {
        (self.list[at].work)(stream, input)
    }

    pub(super) fn name(&self, at: usize) -> &str {
        &self.list[at].name
    }

    /// The places of the variants that take part; at least one.
    pub(super) fn taking_part(&self, reordered: bool) -> Result<Vec<usize>> {
        for (at, name) in self.names().enumerate() {
            if self.names().take(at).any(|earlier| earlier == name) {
                let (op, expected) = ("Tuner::tune", "variants with names of their own".to_owned());
                return Err(DriverError::Length { op, expected, got: format!("`{name}` twice") });
            }
        }
        let take_part = |&at: &usize| reordered || !self.list[at].reorders_sums;
        let places: Vec<usize> = (0..self.list.len()).filter(take_part).collect();
        if places.is_empty() { Err(self.none_of("any")) } else { Ok(places) }
    }

    fn none_of(&self, name: &str) -> DriverError {
        let known = self.names().map(str::to_owned).collect();
        DriverError::NoVariant { kernel: self.kernel.clone(), variant: name.to_owned(), known }
    }

    /// The error of two variants whose answers differ.
    pub(super) fn differ(&self, at: usize, reference: usize, mut difference: String) -> DriverError {
        if self.list[at].reorders_sums || self.list[reference].reorders_sums {
            difference += "; sums in another order differ by rounding: call tune_with with a bound";
        }
        DriverError::VariantsDiffer {
            kernel: self.kernel.as_str().into(),
            variant: self.name(at).into(),
            reference: self.name(reference).into(),
            difference: difference.into(),
        }
    }
}

impl<I: ?Sized, O> fmt::Debug for Variants<'_, I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Variants of {}: {:?}", self.kernel, self.names().collect::<Vec<_>>())
    }
}
