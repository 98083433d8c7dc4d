//! Others' libraries, in the same process, as peers that our figures are set against. A peer that is not there is a gap, never an error.
//!
//! NVIDIA's libraries are opened at run time, by way of `cudarc`'s declarations. They and `faer` take long to compile, so
//! they are there with the feature `peers` alone; `ndarray` and `sprs` always.

#[cfg(feature = "peers")]
mod cublas;
#[cfg(feature = "peers")]
mod cublaslt;
#[cfg(feature = "peers")]
mod curand;
#[cfg(feature = "peers")]
mod cusparse;
#[cfg(feature = "peers")]
mod driver;
#[cfg(feature = "peers")]
pub mod emulated;
#[cfg(feature = "peers")]
mod factorizations;
#[cfg(feature = "peers")]
mod faer;
#[cfg(feature = "peers")]
mod library;
mod reductions;
mod rust;
mod scans;

use gpu_sparse::Scalar;

use crate::{harness::Harness, sparse::Input};

/// The bound that `faer` puts on numbers.
#[cfg(feature = "peers")]
use ::faer::traits::RealField;
/// Nothing, where there is no `faer`.
#[cfg(not(feature = "peers"))]
trait RealField {}
#[cfg(not(feature = "peers"))]
impl<T> RealField for T {}

/// An element type that every peer knows.
#[cfg_attr(not(feature = "peers"), expect(private_bounds, reason = "it stands for no bound where there is no faer"))]
pub trait Real: Scalar + RealField {
    /// `y += A x` by `sprs`, whose bounds cannot be named for a generic type.
    fn add_product(a: sprs::CsMatView<'_, Self>, x: &[Self], y: &mut [Self]);
}

macro_rules! reals {
    ($($T:ty),*) => {$(
        impl Real for $T {
            fn add_product(a: sprs::CsMatView<'_, Self>, x: &[Self], y: &mut [Self]) {
                sprs::prod::mul_acc_mat_vec_csr(a, x, y);
            }
        }
    )*};
}
reals!(f32, f64);

/// Products and solves with one matrix.
pub fn sparse<T: Real>(harness: &mut Harness, input: &Input<'_, T>) {
    if !harness.peers() {
        return;
    }
    rust::products(harness, input);
    #[cfg(feature = "peers")]
    {
        cusparse::products(harness, input);
        faer::figures(harness, input);
    }
    #[cfg(not(feature = "peers"))]
    left_out(harness, if harness.on_gpu() { "cusparse" } else { "faer" });
}

/// Launches through the driver.
pub fn launches(harness: &mut Harness) {
    if !harness.peers() || !harness.on_gpu() {
        return;
    }
    #[cfg(feature = "peers")]
    driver::launches(harness);
    #[cfg(not(feature = "peers"))]
    left_out(harness, "culaunchkernel");
}

/// Dot products, norms, reductions and scans on the CPU, and on a device products of dense matrices too.
pub fn dense(harness: &mut Harness) {
    if !harness.peers() {
        return;
    }
    rust::dots(harness);
    reductions::figures(harness);
    scans::figures(harness);
    #[cfg(feature = "peers")]
    {
        cublas::figures(harness);
        cublaslt::figures(harness);
        factorizations::figures(harness);
    }
    #[cfg(not(feature = "peers"))]
    if harness.on_gpu() {
        ["cublas", "cublaslt", "cusolver"].into_iter().for_each(|peer| left_out(harness, peer));
    }
}

/// Expressions on the CPU. Those that Python has for a device are figures of its own program.
pub fn arrays(harness: &mut Harness) {
    if harness.peers() {
        rust::zips(harness);
    }
}

/// Random numbers.
pub fn random(harness: &mut Harness) {
    if !harness.peers() || !harness.on_gpu() {
        return;
    }
    #[cfg(feature = "peers")]
    curand::figures(harness);
    #[cfg(not(feature = "peers"))]
    left_out(harness, "curand");
}

#[cfg(not(feature = "peers"))]
fn left_out(harness: &mut Harness, peer: &str) {
    harness.gap(peer, None, "built without the feature `peers` of the crate benches");
}
