//! Inputs, which are functions of the index alone, so that every program makes the same; and the names of their types.

use gpu_sparse::Scalar;
use rayon::prelude::*;

/// The name of an element type in ids: `f32` or `f64`.
pub fn dtype<T: Scalar>() -> &'static str {
    if size_of::<T>() == 4 { "f32" } else { "f64" }
}

/// One step of SplitMix64 (Steele, Lea & Flood 2014) from the state `i`.
fn mixed(i: u64) -> u64 {
    let mut z = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Random integers.
pub fn words(n: usize) -> Vec<u32> {
    (0..n).into_par_iter().map(|i| (mixed(i as u64) >> 32) as u32).collect()
}

/// Random bytes, behind the first `from`.
pub fn bytes_from(from: usize, n: usize) -> Vec<u8> {
    (from..from + n).into_par_iter().map(|i| (mixed(i as u64) >> 56) as u8).collect()
}

/// Uniform in [-1, 1).
pub fn uniform<T: Scalar>(n: usize) -> Vec<T> {
    uniform_from(0, n)
}

/// The numbers of [`uniform`] from index `from` on.
pub fn uniform_from<T: Scalar>(from: usize, n: usize) -> Vec<T> {
    let element = |i: usize| (mixed(i as u64) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0;
    (from..from + n).into_par_iter().map(|i| T::from_f64(element(i))).collect()
}

/// `b[i] = sin(i + 1)`.
pub fn sines<T: Scalar>(n: usize) -> Vec<T> {
    (0..n).into_par_iter().map(|i| T::from_f64(((i + 1) as f64).sin())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_fill_their_range() {
        let x: Vec<f64> = uniform(10_000);
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        assert!(x.iter().all(|x| (-1.0..1.0).contains(x)) && mean.abs() < 0.03, "{mean}");
        assert_eq!(uniform_from::<f64>(7, 20), x[7..27]);
        assert_eq!(bytes_from(7, 20), bytes_from(0, 27)[7..]);
        let ones: u32 = words(1000).iter().map(|word| word.count_ones()).sum();
        assert!((15_500..16_500).contains(&ones), "{ones}");
    }
}
