//! Inputs on both sides, made once for all figures that read them.

use std::cell::OnceCell;

use gpu_array::{Complex, Element, Float, GpuArray, f16};
use ndarray::{Ix1, aview1};

use crate::{
    data,
    harness::{Gpu, Outcome},
};

/// An element type of random inputs.
pub(crate) trait Random: Element {
    /// The type's name in ids.
    const NAME: &'static str;
    /// Uniform, in [-1, 1) for floats; those behind the first `from`.
    fn random(from: usize, n: usize) -> Vec<Self>;
}

impl Random for f32 {
    const NAME: &'static str = "f32";
    fn random(from: usize, n: usize) -> Vec<Self> {
        data::uniform_from(from, n)
    }
}

impl Random for f16 {
    const NAME: &'static str = "f16";
    fn random(from: usize, n: usize) -> Vec<Self> {
        data::uniform_from::<f64>(from, n).into_iter().map(Self::rounded_from_f64).collect()
    }
}

impl Random for Complex<f32> {
    const NAME: &'static str = "c64";
    fn random(from: usize, n: usize) -> Vec<Self> {
        let parts = data::uniform_from(2 * from, 2 * n);
        parts.as_chunks().0.iter().map(|&[re, im]| Self::new(re, im)).collect()
    }
}

impl Random for f64 {
    const NAME: &'static str = "f64";
    fn random(from: usize, n: usize) -> Vec<Self> {
        data::uniform_from(from, n)
    }
}

impl Random for u8 {
    const NAME: &'static str = "u8";
    fn random(from: usize, n: usize) -> Vec<Self> {
        data::bytes_from(from, n)
    }
}

/// Random elements in both memories.
pub(crate) struct Pair<T: Element> {
    pub(crate) host: Vec<T>,
    pub(crate) device: GpuArray<T, Ix1>,
}

/// A [`Pair`] that the first figure makes which is chosen.
pub(crate) struct Input<T: Element> {
    from: usize,
    n: usize,
    made: OnceCell<Pair<T>>,
}

impl<T: Random> Input<T> {
    /// The first of the random elements.
    pub(crate) fn new(n: usize) -> Self {
        Self { from: 0, n, made: OnceCell::new() }
    }

    /// An input of the same length whose elements come behind those of `other`.
    pub(crate) fn behind(other: &Self) -> Self {
        Self { from: other.from + other.n, ..Self::new(other.n) }
    }

    pub(crate) fn len(&self) -> usize {
        self.n
    }

    pub(crate) fn bytes(&self) -> u64 {
        (self.n * size_of::<T>()) as u64
    }

    /// The elements.
    pub(crate) fn on(&self, gpu: &Gpu) -> Outcome<&Pair<T>> {
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        let host = T::random(self.from, self.n);
        let device = GpuArray::from_ndarray(gpu.stream(), &aview1(&host))?;
        Ok(self.made.get_or_init(|| Pair { host, device }))
    }
}
