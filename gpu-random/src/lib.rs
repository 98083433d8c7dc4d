//! Random numbers that are the same on host and GPU.
//!
//! What is here now is the host half of the first generator: [`Xorwow`], with cuRAND's seeding, through the traits of
//! `rand_core`. The device half follows.
//!
//! ```
//! use gpu_random::Xorwow;
//! use rand::{Rng, RngExt, SeedableRng};
//!
//! let mut rng = Xorwow::seed_from_u64(1234);
//! assert_eq!(rng.next_u32(), 624_778_773); // the first number that cuRAND's XORWOW gives for this seed
//! let x: f64 = rng.random();
//! assert!((0.0..1.0).contains(&x));
//! ```
#![forbid(unsafe_code)]

mod xorwow;

pub use xorwow::Xorwow;
