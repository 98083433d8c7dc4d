//! Normal and log-normal numbers, in pairs by Box and Muller's method.

use gpu_driver::DevicePod;

use super::{
    Distribution, Real,
    uniform::{uniform_f32, uniform_f64},
};

/// 2 pi / 2^32, as the product of two f32 numbers that cuRAND rounds it to.
const TURN_F32: f32 = 2.328_306_4e-10 * 6.283_185_5;

/// Two standard normal numbers, as cuRAND makes them: `s sin(w)` and `s cos(w)`, with `s = sqrt(-2 ln u)`, `u` from `x` in (0, 1] and
/// `w` from `y` in (0, 2 pi].
#[inline]
pub fn normal_f32(x: u32, y: u32) -> [f32; 2] {
    let u = uniform_f32(x);
    // The kernels' one rounding, of a product that is exact in f64.
    let w = (f64::from(y as f32) * f64::from(TURN_F32) + f64::from(TURN_F32 / 2.0)) as f32;
    let s = (-2.0 * u.ln()).sqrt();
    let (sine, cosine) = w.sin_cos();
    [sine * s, cosine * s]
}

/// Two standard normal numbers, as cuRAND makes them: as [`normal_f32`], with 53 bits for each of `u` and `w`.
#[inline]
pub fn normal_f64([x0, x1, y0, y1]: [u32; 4]) -> [f64; 2] {
    let s = (-2.0 * uniform_f64(x0, x1).ln()).sqrt();
    let (sine, cosine) = sine_and_cosine_of_turns(2.0 * uniform_f64(y0, y1));
    [sine * s, cosine * s]
}

/// `sin(pi w)` and `cos(pi w)` for `w` in [0, 2].
fn sine_and_cosine_of_turns(w: f64) -> (f64, f64) {
    let quarter = (2.0 * w).round();
    let (sine, cosine) = ((w - 0.5 * quarter) * std::f64::consts::PI).sin_cos();
    match quarter as u32 % 4 {
        0 => (sine, cosine),
        1 => (cosine, -sine),
        2 => (-sine, -cosine),
        _ => (-cosine, sine),
    }
}

/// Normal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Normal<T> {
    pub(crate) mean: T,
    pub(crate) deviation: T,
}

/// Implements [`Distribution`] for normal and log-normal numbers: `$of(mean + deviation z)`.
macro_rules! pairs {
    ($name:ident, $cuda:literal, $of:expr) => {
        impl<T: Real> Distribution for $name<T> {
            type Value = T;
            const WORDS: usize = 2 * T::WORDS;
            const VALUES: usize = 2;
            fn cuda() -> String {
                format!(concat!("gpu_random::", $cuda, "<{}>"), <T as DevicePod>::CUDA_NAME)
            }
            fn parameters(&self) -> [u64; 3] {
                [self.mean.wide().to_bits(), self.deviation.wide().to_bits(), 0]
            }
            #[inline(always)]
            fn values(&self, words: [u32; 4]) -> [T; 2] {
                T::normal(words).map(|z| $of(self.mean + self.deviation * z))
            }
        }
    };
}

/// The exponential of a normal number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogNormal<T> {
    pub(crate) mean: T,
    pub(crate) deviation: T,
}

pairs!(Normal, "Normal", |value| value);
pairs!(LogNormal, "LogNormal", |value: T| value.exp());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quarters_of_a_turn_are_exact() {
        let got = [0.0, 0.5, 1.0, 1.5, 2.0].map(sine_and_cosine_of_turns);
        assert_eq!(got, [(0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0), (0.0, 1.0)]);
        for step in 0..1000 {
            let w = f64::from(step) / 500.0;
            let (sine, cosine) = sine_and_cosine_of_turns(w);
            let want = (w * std::f64::consts::PI).sin_cos();
            assert!((sine - want.0).abs() < 1e-15 && (cosine - want.1).abs() < 1e-15, "{w}");
        }
    }

    #[test]
    fn both_precisions_follow_the_formula() {
        let [x, y] = [0x1234_5678, 0x9abc_def0];
        let (u, w) = (f64::from(x) / 4_294_967_296.0, f64::from(y) / 4_294_967_296.0 * std::f64::consts::TAU);
        let want = [w.sin(), w.cos()].map(|part| part * (-2.0 * u.ln()).sqrt());
        let (got, wide) = (normal_f32(x, y), normal_f64([0, x, 0, y]));
        for at in 0..2 {
            assert!((f64::from(got[at]) - want[at]).abs() < 1e-6, "{got:?}, {want:?}");
            assert!((wide[at] - want[at]).abs() < 1e-8, "{wide:?}, {want:?}");
        }
    }

    #[test]
    fn the_ends_of_the_range_are_finite() {
        for words in [[0; 4], [u32::MAX; 4], [0x1f_ffff, u32::MAX, 0, 0]] {
            assert!(normal_f32(words[0], words[2]).into_iter().all(f32::is_finite));
            assert!(normal_f64(words).into_iter().all(f64::is_finite));
        }
    }
}
