//! Random numbers in GPU memory, and the same numbers on the host: the sequences of cuRAND, bit for bit.
//!
//! ```no_run
//! use gpu_array::GpuArray;
//! use gpu_random::Philox;
//!
//! let device = gpu_driver::Device::first()?;
//! let mut rng = Philox::new(1234);
//! let x: GpuArray<f32, _> = rng.gen_normal(&device, (1000, 1000))?; // a new array
//! let mut y = GpuArray::<f64, _>::zeros(&device, 500)?;
//! rng.fill_uniform(&mut y)?; // one that is there; the stream goes on
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! [`Philox`] and [`Xorwow`] are streams: they fill arrays of a device in one launch that nothing waits for, and slices and ndarray arrays
//! of the host with all threads, with the same numbers in the same order:
//! ```
//! let (mut rng, mut x) = (gpu_random::Xorwow::new(1234), ndarray::Array2::<u32>::zeros((2, 2)));
//! rng.fill_bits(&mut x)?;
//! assert_eq!(x, ndarray::array![[624778773, 3522650202], [2363946744, 1266286439]]); // cuRAND's XORWOW
//! # Ok::<(), gpu_random::RandomError>(())
//! ```
//! # Which generator
//! Take [`Philox`] unless something asks for [`Xorwow`]. A number of Philox is a function of seed and place: there is no state to set up,
//! and TestU01's BigCrush finds nothing in it (Salmon et al. 2011). XORWOW is the default generator of cuRAND and of PyCUDA: take
//! it to get their numbers. Its two lowest bits are weak (linear complexity 162 and 323), single sequences of it fail two tests of
//! BigCrush (27 and 81), and streams of different seeds may be alike where subsequences of one seed are not: so one seed, and high bits.
//!
//! # The two conventions of uniform numbers
//! Uniform numbers are in (0, 1], as cuRAND's: 1 occurs and 0 does not. Rust's `rand` has [0, 1): that is [`Generator::fill_half_open`].
//!
//! # On the host, for the crates around `rand`
//! [`PhiloxRng`] and [`XorwowRng`] are single sequences with the traits of `rand_core` 0.10, as `curand_init(seed, subsequence, offset)`
//! starts them:
//! ```
//! use gpu_random::PhiloxRng;
//! use rand::{RngExt, SeedableRng};
//! let mut rng = PhiloxRng::seed_from_u64(1234);
//! let x: f64 = rng.random();
//! assert!((0.0..1.0).contains(&x));
//! ```
//! # From NumPy and CuPy
//! | NumPy, CuPy | here |
//! |---|---|
//! | `default_rng(1234)`, `cupy.random.seed(1234)` | `let mut rng = `[`Philox::new`](Generator::new)`(1234)`; each generator has a seed of its own |
//! | `rng.random((2, 3))` in [0, 1) | `rng.gen_half_open::<f64, _>(&device, (2, 3))?` |
//! | `curand`'s uniform numbers in (0, 1] | `rng.gen_uniform::<f32, _>(&device, (2, 3))?` |
//! | `rng.uniform(a, b, n)` | `(rng.gen_half_open::<f64, _>(&device, n)? * (b - a) + a).eval()?` |
//! | `rng.integers(0, 10, n)` | `rng.gen_range(&device, n, 0..10)?` |
//! | `rng.standard_normal(n)`, `rng.normal(5, 2, n)` | `rng.gen_normal(&device, n)?`, `rng.gen_normal_with(&device, n, 5.0, 2.0)?` |
//! | `rng.lognormal`, `exponential`, `poisson`, `binomial` | `gen_log_normal`, `gen_exponential`, `gen_poisson`, `gen_binomial`; `gen_bernoulli` of coins |
//! | `rng.choice(x, n)` | with `gpu_array`: `take(&x, &rng.gen_range(&device, n, 0..len)?, Outside::Wrap).eval()?` |
//! | `rng.choice(k, n, p=p)` | `rng.gen_discrete(&device, n, &`[`Discrete`]`::new(&p)?)?` |
//! | `rng.choice(x, n, replace=False)`, `permutation`, `shuffle` | not here: on the host, by `rand` over a [`PhiloxRng`] |
//! | `gamma`, `beta`, `multivariate_normal` | not here; `gen_normal` and a product with a Cholesky factor give the last |
//!
//! # In kernels of one's own
//! [`HEADERS`] bring the same generators to CUDA C++: `init`, `next`, `uniform`, `normal`, as cuRAND's device API has them.
//!
//! # Errors of several crates
//! A program that uses several of these crates returns `Box<dyn std::error::Error>` from `main`. In a function that returns [`Result`], `?`
//! turns the errors of `gpu-driver` and `gpu-array` into a [`RandomError`]. Where `gpu-algos` or `gpu-sparse` is used too, the function returns that
//! crate's `Result`: with its feature `random` `?` turns a [`RandomError`] into its error.
//!
//! # The crates around this one
//! The arrays, their slices and operators (`GpuArray`) are those of the crate `gpu-array`; `x.mean()`, `x.sum()`, `x.cumsum()` of the numbers come
//! with `use gpu_algos::prelude::*`; devices and streams are `gpu_driver`'s.
//!
//! # In a crate of your own
//! On a machine without the CUDA toolkit the build script of `cust`, below these crates, asks for a folder with a `lib64`; nothing in it is used:
//! `CUDA_LIBRARY_PATH=/usr cargo build`, or the same variable under `[env]` in `.cargo/config.toml`.
//!
//! Debug builds run the emulated device about five times slower unless two of its crates are optimised in `Cargo.toml`, as
//! [`gpu_driver::emulated`] shows.
//!
//! # Stability of the numbers
//! Which numbers a seed gives is part of this crate's version: no release but a new major one changes them. Words, uniform numbers in (0, 1],
//! normal and log-normal numbers are cuRAND's; the other distributions are ours.
#![deny(unsafe_code)]

pub mod curandom;
mod device;
pub mod distribution;
mod engine;
mod error;
mod generator;
mod order;
mod philox;
mod target;
mod turns;
mod xorwow;

pub use curandom::random_seed;
pub use device::{HEADERS, KERNELS, warm};
pub use distribution::Discrete;
pub use engine::Engine;
pub use error::{RandomError, Result};
pub use generator::{Generator, Position};
pub use order::Order;
pub use philox::{PhiloxRng, philox4x32};
pub use target::{Memory, Strided, Target};
pub use xorwow::XorwowRng;

/// XORWOW in cuRAND's order: its numbers, bit for bit.
pub type Xorwow = Generator<XorwowRng>;

/// Philox4x32-10 in cuRAND's order: the generator to choose where nothing asks for another.
pub type Philox = Generator<PhiloxRng>;
