//! New arrays of random numbers.
#![expect(unsafe_code, reason = "memory that a fill writes whole is not cleared first")]

use std::ops::Range;

use gpu_array::{Element, GpuArray};
use gpu_driver::{DeviceVec, Stream};
use ndarray::{Dimension, ShapeBuilder};

use super::Generator;
use crate::{
    Result,
    distribution::{Discrete, Ranged, Real},
    engine::Engine,
};

/// A new array that `fill` writes, all of it.
fn filled<T: Element, Sh: ShapeBuilder>(
    home: impl Into<Stream>,
    shape: Sh,
    fill: impl FnOnce(&mut DeviceVec<T::Storage>) -> Result<()>,
) -> Result<GpuArray<T, Sh::Dim>> {
    let shape = shape.into_shape_with_order();
    let Some(len) = shape.raw_dim().size_checked() else {
        return Ok(GpuArray::zeros(home, shape)?); // the error that says so
    };
    // SAFETY: `fill` writes every element, or the array is not returned.
    let mut data = unsafe { DeviceVec::uninitialized(&home.into(), len)? };
    fill(&mut data)?;
    Ok(GpuArray::from_storage(data, shape)?)
}

impl<R: Engine> Generator<R> {
    /// A new array of random words; see [`Generator::fill_bits`].
    ///
    /// # Errors
    /// The errors of the fill; `Array` for a shape that is too large.
    pub fn gen_bits<Sh: ShapeBuilder>(&mut self, home: impl Into<Stream>, shape: Sh) -> Result<GpuArray<u32, Sh::Dim>> {
        filled(home, shape, |out| self.fill_bits(out))
    }

    /// A new array of uniform numbers in (0, 1]; see [`Generator::fill_uniform`].
    ///
    /// ```no_run
    /// use gpu_random::Philox;
    /// let device = gpu_array::gpu_driver::Device::first()?;
    /// let x = Philox::new(1).gen_uniform::<f32, _>(&device, (3, 4))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Generator::gen_bits`].
    #[doc(alias("rand", "random"))]
    pub fn gen_uniform<T: Real, Sh: ShapeBuilder>(
        &mut self,
        home: impl Into<Stream>,
        shape: Sh,
    ) -> Result<GpuArray<T, Sh::Dim>> {
        filled(home, shape, |out| self.fill_uniform(out))
    }

    /// A new array of uniform numbers in [0, 1); see [`Generator::fill_half_open`].
    ///
    /// # Errors
    /// The errors of [`Generator::gen_bits`].
    pub fn gen_half_open<T: Real, Sh: ShapeBuilder>(
        &mut self,
        home: impl Into<Stream>,
        shape: Sh,
    ) -> Result<GpuArray<T, Sh::Dim>> {
        filled(home, shape, |out| self.fill_half_open(out))
    }

    /// A new array of numbers of a range; see [`Generator::fill_range`].
    ///
    /// # Errors
    /// The errors of [`Generator::gen_bits`].
    #[doc(alias("randint", "integers"))]
    pub fn gen_range<T: Ranged + Element<Storage = T>, Sh: ShapeBuilder>(
        &mut self,
        home: impl Into<Stream>,
        shape: Sh,
        range: Range<T>,
    ) -> Result<GpuArray<T, Sh::Dim>> {
        filled(home, shape, |out| self.fill_range(out, range))
    }

    /// A new array of standard normal numbers; see [`Generator::fill_normal`].
    ///
    /// # Errors
    /// The errors of [`Generator::gen_bits`].
    #[doc(alias("randn", "standard_normal"))]
    pub fn gen_normal<T: Real, Sh: ShapeBuilder>(
        &mut self,
        home: impl Into<Stream>,
        shape: Sh,
    ) -> Result<GpuArray<T, Sh::Dim>> {
        filled(home, shape, |out| self.fill_normal(out))
    }

    /// A new array of normal numbers `mean + deviation z`; see [`Generator::fill_normal_with`].
    ///
    /// # Errors
    /// `Parameter` unless both are finite and the deviation is at least 0; the errors of [`Generator::gen_bits`].
    pub fn gen_normal_with<T: Real, Sh: ShapeBuilder>(
        &mut self,
        home: impl Into<Stream>,
        shape: Sh,
        mean: T,
        deviation: T,
    ) -> Result<GpuArray<T, Sh::Dim>> {
        filled(home, shape, |out| self.fill_normal_with(out, mean, deviation))
    }

    /// A new array of log-normal numbers; see [`Generator::fill_log_normal`].
    ///
    /// # Errors
    /// The errors of [`Generator::gen_bits`].
    pub fn gen_log_normal<T: Real, Sh: ShapeBuilder>(
        &mut self,
        home: impl Into<Stream>,
        shape: Sh,
        mean: T,
        deviation: T,
    ) -> Result<GpuArray<T, Sh::Dim>> {
        filled(home, shape, |out| self.fill_log_normal(out, mean, deviation))
    }

    /// A new array of exponential numbers; see [`Generator::fill_exponential`].
    ///
    /// # Errors
    /// The errors of [`Generator::gen_bits`].
    pub fn gen_exponential<T: Real, Sh: ShapeBuilder>(
        &mut self,
        home: impl Into<Stream>,
        shape: Sh,
        mean: T,
    ) -> Result<GpuArray<T, Sh::Dim>> {
        filled(home, shape, |out| self.fill_exponential(out, mean))
    }

    /// A new array of coins; see [`Generator::fill_bernoulli`].
    ///
    /// # Errors
    /// The errors of [`Generator::gen_bits`].
    pub fn gen_bernoulli<Sh: ShapeBuilder>(
        &mut self,
        home: impl Into<Stream>,
        shape: Sh,
        probability: f64,
    ) -> Result<GpuArray<bool, Sh::Dim>> {
        filled(home, shape, |out| self.fill_bernoulli(out, probability))
    }

    /// A new array of Poisson's distribution; see [`Generator::fill_poisson`].
    ///
    /// # Errors
    /// The errors of [`Generator::gen_bits`].
    pub fn gen_poisson<Sh: ShapeBuilder>(
        &mut self,
        home: impl Into<Stream>,
        shape: Sh,
        lambda: f64,
    ) -> Result<GpuArray<u32, Sh::Dim>> {
        filled(home, shape, |out| self.fill_poisson(out, lambda))
    }

    /// A new array of the binomial distribution; see [`Generator::fill_binomial`].
    ///
    /// # Errors
    /// The errors of [`Discrete::binomial`] and [`Generator::gen_bits`].
    pub fn gen_binomial<Sh: ShapeBuilder>(
        &mut self,
        home: impl Into<Stream>,
        shape: Sh,
        n: u32,
        p: f64,
    ) -> Result<GpuArray<u32, Sh::Dim>> {
        filled(home, shape, |out| self.fill_binomial(out, n, p))
    }

    /// A new array of a discrete distribution; see [`Generator::fill_discrete`].
    ///
    /// # Errors
    /// The errors of [`Generator::gen_bits`].
    #[doc(alias = "choice")]
    pub fn gen_discrete<Sh: ShapeBuilder>(
        &mut self,
        home: impl Into<Stream>,
        shape: Sh,
        distribution: &Discrete,
    ) -> Result<GpuArray<u32, Sh::Dim>> {
        filled(home, shape, |out| self.fill_discrete(out, distribution))
    }
}
