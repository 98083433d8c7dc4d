//! Expressions on the host's threads: ours, and whoever has them.

use gpu_array::expression::host;
use ndarray::Array1;

use super::answers::{check_lincomb, check_wave};
use crate::{
    data,
    harness::{Check, Figure, Harness, Outcome, Work},
};

const BY: &str = "gpu-array-host";

/// A vector.
type Vector = Array1<f32>;

/// Lengths of vectors.
pub(crate) fn lengths(harness: &Harness) -> &'static [usize] {
    harness.set().pick(&[1 << 12], &[1 << 20], &[1 << 20, 10_000_000])
}

/// `5 x + 6 y` into a new vector, by whomever.
pub(crate) fn lincomb(harness: &mut Harness, n: usize, by: &str, call: impl Fn(&Vector, &Vector) -> Outcome<Vector>) {
    of_two(harness.figure("lincomb", "f32", n, by), n, call, check_lincomb);
}

/// `exp(x) sin(y) + sqrt(|x|)` into a new vector, by whomever.
pub(crate) fn wave(harness: &mut Harness, n: usize, by: &str, call: impl Fn(&Vector, &Vector) -> Outcome<Vector>) {
    of_two(harness.figure("wave", "f32", n, by), n, call, check_wave);
}

fn of_two(
    figure: Figure<'_>,
    n: usize,
    call: impl Fn(&Vector, &Vector) -> Outcome<Vector>,
    check: fn(&[f32], &[f32], &[f32]) -> Check,
) {
    figure.work(Work::copies(12 * n as u64)).on_cpu(
        || Ok((Vector::from_vec(data::uniform(n)), Vector::from_vec(data::uniform_from(n, n)))),
        |(x, y)| call(x, y),
        |(x, y), got| Ok(check(&x.to_vec(), &y.to_vec(), &got.to_vec())),
    );
}

/// Ours.
pub(super) fn figures(harness: &mut Harness) {
    for &n in lengths(harness) {
        lincomb(harness, n, BY, |x, y| Ok((5.0 * host(x) + 6.0 * host(y)).eval()?));
        wave(harness, n, BY, |x, y| Ok((host(x).exp() * host(y).sin() + host(x).abs().sqrt()).eval()?));
    }
}
