//! Lengths at which mistakes show.

/// Lengths that find mistakes at the edges of warps, blocks and vector widths.
pub const AWKWARD_LENGTHS: [usize; 16] = [0, 1, 2, 3, 31, 32, 33, 127, 255, 256, 257, 1000, 1023, 1024, 1025, 65_537];

/// [`AWKWARD_LENGTHS`], primes, and lengths around one tile and several, in rising order.
pub fn lengths_around(tile: usize) -> Vec<usize> {
    let around = [tile - 1, tile, tile + 1, 2 * tile - 1, 2 * tile + 1, 5 * tile - 7];
    let primes = [5, 1021, 6151, 20_011];
    let mut all: Vec<usize> = AWKWARD_LENGTHS.into_iter().chain(primes).chain(around).collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_have_lengths_on_both_sides() {
        let all = lengths_around(2048);
        assert!([0, 1, 33, 2047, 2048, 2049, 4095, 4097, 20_011].iter().all(|n| all.contains(n)), "{all:?}");
        assert!(all.is_sorted_by(|a, b| a < b));
    }
}
