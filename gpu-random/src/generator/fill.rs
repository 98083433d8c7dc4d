//! Fills of memory that exists.
//!
//! # From `fill_normal` to a launch
//! 1. A method checks the parameters. `Generator::fill` asks `StreamPosition::call` (`turns.rs`) which turns of which generators give the values,
//!    and hands the call to the engine with the memory that the target names. `StreamPosition::advance` moves the stream only after the engine has
//!    succeeded.
//! 2. On the host `xorwow/host.rs` steps all generators side by side, row after row. Threads take chunks of rows, each after a jump.
//! 3. On a device `device/xorwow.rs` takes the states that the last fill left. Otherwise the kernel `xorwow_start` makes them, or the host
//!    does after fills of several kinds. `policy.rs` cuts the rows into chunks, and the kernel `xorwow_tables` makes the jumps to
//!    them, which are kept. `xorwow_fill` reads the states from one array, its last chunk writes them to another, and the two swap.
//!    Short fills go to `xorwow_fill_few`, whose threads step to their part without a jump; other orders than cuRAND's to `xorwow_fill_any`.
//!    A captured fill has arrays of its own, whose states the graph makes first.
//! 4. Philox has no states. The kernel is told how many blocks the generators have made: in cuRAND's order one or two numbers.

use std::ops::Range;

use gpu_driver::DeviceVec;

use super::Generator;
use crate::{
    RandomError, Result,
    distribution::{
        Bernoulli, Discrete, Distribution, Exponential, HalfOpen, LargePoisson, LogNormal, MOST_VARIANCE, Normal,
        RandomBits, Ranged, Real, Uniform, integers,
    },
    engine::{Engine, FillRequest},
    target::{Memory, Strided, Target, Write},
};

impl<R: Engine> Generator<R> {
    /// Random words: cuRAND's `curandGenerate`.
    ///
    /// # Errors
    /// The errors of every fill: `Driver` (`NoNvrtc`, `OutOfMemory`, …) on a device, those of an earlier operation on the array. The stream then stays
    /// where it is.
    pub fn fill_bits<'a>(&mut self, out: impl Target<'a, u32>) -> Result<()> {
        self.fill(RandomBits, out)
    }

    /// Uniform numbers in (0, 1]: cuRAND's `curandGenerateUniform` and `curandGenerateUniformDouble`. 0 does not occur and 1 does;
    /// [`Generator::fill_half_open`] has it the other way round.
    ///
    /// # Errors
    /// The errors of [`Generator::fill_bits`].
    pub fn fill_uniform<'a, T: Real>(&mut self, out: impl Target<'a, T>) -> Result<()> {
        self.fill(Uniform(std::marker::PhantomData::<T>), out)
    }

    /// Uniform numbers in [0, 1), multiples of 2^-24 (f32) or 2^-53 (f64).
    ///
    /// # Errors
    /// The errors of [`Generator::fill_bits`].
    pub fn fill_half_open<'a, T: Real>(&mut self, out: impl Target<'a, T>) -> Result<()> {
        self.fill(HalfOpen { low: T::zero(), width: T::one(), most: sealed_below(T::one()) }, out)
    }

    /// Numbers from `range.start` to below `range.end`: floats uniformly, integers each as likely as any other.
    ///
    /// # Errors
    /// `EmptyRange` for a range without a value, or whose width is not finite; the errors of [`Generator::fill_bits`].
    pub fn fill_range<'a, T: Ranged>(&mut self, out: impl Target<'a, T>, range: Range<T>) -> Result<()> {
        self.fill(integers::over(&range)?, out)
    }

    /// Standard normal numbers: cuRAND's `curandGenerateNormal` and `curandGenerateNormalDouble` with mean 0 and deviation 1. They come in
    /// pairs; the second of a pair whose first was the last of a call begins the next call for normal numbers of this type, unless
    /// another kind of fill (with XORWOW) comes between.
    ///
    /// # Errors
    /// The errors of [`Generator::fill_bits`].
    pub fn fill_normal<'a, T: Real>(&mut self, out: impl Target<'a, T>) -> Result<()> {
        self.fill(Normal { mean: T::zero(), deviation: T::one() }, out)
    }

    /// Normal numbers `mean + deviation z`, with `z` as [`Generator::fill_normal`] gives it.
    ///
    /// # Errors
    /// `Parameter` unless both are finite and the deviation is at least 0; the errors of [`Generator::fill_bits`].
    pub fn fill_normal_with<'a, T: Real>(&mut self, out: impl Target<'a, T>, mean: T, deviation: T) -> Result<()> {
        check_normal("normal", mean, deviation)?;
        self.fill(Normal { mean, deviation }, out)
    }

    /// Log-normal numbers `exp(mean + deviation z)`: cuRAND's `curandGenerateLogNormal` and `curandGenerateLogNormalDouble`.
    ///
    /// # Errors
    /// The errors of [`Generator::fill_normal_with`].
    pub fn fill_log_normal<'a, T: Real>(&mut self, out: impl Target<'a, T>, mean: T, deviation: T) -> Result<()> {
        check_normal("log-normal", mean, deviation)?;
        self.fill(LogNormal { mean, deviation }, out)
    }

    /// Exponential numbers of that mean, `-mean ln u`.
    ///
    /// # Errors
    /// `Parameter` unless the mean is finite and above 0; the errors of [`Generator::fill_bits`].
    pub fn fill_exponential<'a, T: Real>(&mut self, out: impl Target<'a, T>, mean: T) -> Result<()> {
        if !(mean.is_finite() && mean > T::zero()) {
            return Err(parameter("exponential", "mean", mean, "above 0 and finite"));
        }
        self.fill(Exponential { mean }, out)
    }

    /// 1 with that probability, else 0; a `GpuArray<bool, _>` takes them as true and false.
    ///
    /// # Errors
    /// `Parameter` unless the probability is 0 to 1; the errors of [`Generator::fill_bits`].
    pub fn fill_bernoulli<'a>(&mut self, out: impl Target<'a, u8>, probability: f64) -> Result<()> {
        self.fill(Bernoulli::new(probability)?, out)
    }

    /// Poisson's distribution with expected value `lambda`. The distribution is cuRAND's, the numbers are our own.
    ///
    /// # Cost
    /// Up to 80,000 as of [`Discrete`], with one word for a number; a table is made at each call, which takes some microseconds and, for
    /// device memory, a copy: keep a [`Discrete::poisson`] for many short fills. Above that by transformed rejection, with two words.
    ///
    /// # Errors
    /// `Parameter` unless `lambda` is above 0 and at most 1e9; the errors of [`Generator::fill_bits`].
    pub fn fill_poisson<'a>(&mut self, out: impl Target<'a, u32>, lambda: f64) -> Result<()> {
        if lambda > 0.0 && lambda <= MOST_VARIANCE {
            return self.fill(Discrete::poisson(lambda)?, out);
        }
        self.fill(LargePoisson::new(lambda)?, out)
    }

    /// Successes among `n` trials of probability `p`: the binomial distribution.
    ///
    /// # Errors
    /// The errors of [`Discrete::binomial`] and [`Generator::fill_bits`].
    pub fn fill_binomial<'a>(&mut self, out: impl Target<'a, u32>, n: u32, p: f64) -> Result<()> {
        self.fill(Discrete::binomial(n, p)?, out)
    }

    /// Numbers of any discrete distribution: NumPy's `choice` with `p`, as indices.
    ///
    /// # Errors
    /// The errors of [`Generator::fill_bits`].
    #[doc(alias = "choice")]
    pub fn fill_discrete<'a>(&mut self, out: impl Target<'a, u32>, distribution: &Discrete) -> Result<()> {
        self.fill(distribution.clone(), out)
    }

    pub(super) fn fill<'a, D: Distribution>(&mut self, distribution: D, out: impl Target<'a, D::Value>) -> Result<()> {
        let memory = out.memory()?;
        let values = match &memory {
            Memory::Host(out) => out.len(),
            Memory::Device(out) => out.len(),
            Memory::Strided(out) => out.len,
        } as u64;
        if values == 0 {
            return Ok(());
        }
        let turn = R::turn::<D>();
        let call = self.turns.call(turn, values);
        let (seed, turns, step, states) = (&self.seed, &self.turns, self.step, &mut self.states);
        let request = FillRequest { seed, turns, call, step, states };
        match memory {
            Memory::Host(out) => R::fill_host(request, distribution, out),
            Memory::Device(out) => R::fill_device(request, distribution, out)?,
            Memory::Strided(Strided { len, write: Write::Host(write) }) => {
                let mut numbers = vec![D::Value::default(); len];
                R::fill_host(request, distribution, &mut numbers);
                write(numbers);
            }
            Memory::Strided(Strided { len, write: Write::Device(stream, write) }) => {
                // SAFETY: the fill writes every element, or the buffer is dropped.
                #[expect(unsafe_code, reason = "a buffer that is written whole")]
                let mut numbers = unsafe { DeviceVec::uninitialized(&stream, len)? };
                R::fill_device(request, distribution, numbers.as_mut_slice())?;
                if let Err(error) = write(numbers) {
                    // The states of the device are behind numbers that are lost: no step to come has theirs.
                    self.step += 2;
                    return Err(error);
                }
            }
        }
        self.turns.advance(&call, turn, values);
        self.step += 1;
        Ok(())
    }
}

fn sealed_below<T: Real>(value: T) -> T {
    crate::distribution::sealed::Real::below(value)
}

fn check_normal<T: Real>(distribution: &'static str, mean: T, deviation: T) -> Result<()> {
    if !mean.is_finite() {
        return Err(parameter(distribution, "mean", mean, "finite"));
    }
    if !(deviation.is_finite() && deviation >= T::zero()) {
        return Err(parameter(distribution, "deviation", deviation, "at least 0 and finite"));
    }
    Ok(())
}

fn parameter<T: Real>(distribution: &'static str, name: &'static str, value: T, range: &'static str) -> RandomError {
    RandomError::Parameter { distribution, name, value: crate::distribution::sealed::Real::wide(value), range }
}
