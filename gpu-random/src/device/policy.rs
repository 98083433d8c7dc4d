//! How a fill from XORWOW is cut into chunks of rows, to which the states jump. Numbers do not depend on it.

use crate::distribution::Distribution;

/// Chunks of a fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunks {
    /// Rows of each but the last one.
    pub(super) rows: u64,
    pub(super) count: u32,
}

/// How many chunks a long fill has, and the fewest rows of one.
struct Cut {
    chunks: u64,
    least: u64,
}

/// The cut for a distribution, by the words and values of its turn. Measured on an H200 (132 multiprocessors), with eight blocks of 256
/// threads to a chunk: where a number takes little time, few threads down long columns write fastest.
fn cut<D: Distribution>() -> Cut {
    match (D::WORDS, D::VALUES) {
        (1, 1) => Cut {
            chunks: 16, // tune gpu-random.word_chunks: 16 32 64; xorwow-(bits|uniform)/(u32|f32)/268435456/gpu-random/device
            least: 32,
        },
        (2, 1) => Cut {
            chunks: 64, // tune gpu-random.pair_chunks: 32 64 128; xorwow-uniform/f64/268435456/gpu-random/device
            least: 16,
        },
        (2, 2) => Cut {
            chunks: 128, // tune gpu-random.normal_chunks: 64 128 256; xorwow-normal/f32/268435456/gpu-random/device
            least: 16,
        },
        (4, 2) => Cut {
            chunks: 128, // tune gpu-random.wide_normal_chunks: 32 64 128 256; xorwow-normal/f64/268435456/gpu-random/device
            least: 16,
        },
        _ => Cut { chunks: 64, least: 16 },
    }
}

/// The cut of so many whole rows of cuRAND's 4096 generators.
pub(super) fn curand_order<D: Distribution>(rows: u64) -> Chunks {
    let Cut { chunks, least } = cut::<D>();
    chunked(rows, chunks, least)
}

/// The cut of a short fill into parts, to which threads step. None where a jump takes less time, at more than some hundred draws of each generator.
///
/// On an H200 2^16, 2^18 and 2^20 u32 take 1.2, 1.6 and 3.3 us in four parts, 1.1, 1.7 and 3.9 in one, and 1.8, 3.8 and 3.8 with jumps;
/// normal f64 take 1.5, 3.5 and 10.9 us in eight parts, 6.5, 13.1 and 13.2 with jumps.
pub(super) fn few<D: Distribution>(rows: u64) -> Option<Chunks> {
    let (most_draws, parts) = match (D::WORDS, D::VALUES) {
        // Values that take long to compute from the words are worth more steps.
        (4, 2) => (512, 8),
        _ => (256, 4),
    };
    (rows * D::WORDS as u64 <= most_draws).then(|| {
        let size = rows.div_ceil(parts).max(1);
        Chunks { rows: size, count: rows.div_ceil(size).max(1) as u32 }
    })
}

/// Threads that a fill from another number of generators has at most, unless there are more generators.
const THREADS: u64 = 1 << 16;

/// The cut of so many whole rows of any number of generators.
pub(super) fn any_order(rows: u64, generators: u32) -> Chunks {
    chunked(rows, (THREADS / u64::from(generators)).max(1), 64)
}

/// A cut into at most `chunks` chunks. Their rows are rounded up to four binary digits, so that fills of nearly the same length share their jumps.
fn chunked(rows: u64, chunks: u64, least: u64) -> Chunks {
    let exact = rows.div_ceil(chunks).max(least);
    let step = 1 << (61_u32.saturating_sub(exact.leading_zeros()).saturating_sub(1));
    let size = exact.next_multiple_of(step);
    Chunks { rows: size, count: u32::try_from(rows.div_ceil(size)).unwrap_or(u32::MAX).max(1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::{Normal, RandomBits};

    #[test]
    fn parts_of_short_fills_cover_all_rows() {
        for rows in 0..=256 {
            let parts = few::<RandomBits>(rows).expect("a short one");
            assert!(
                parts.rows * u64::from(parts.count) >= rows && parts.rows * u64::from(parts.count - 1) <= rows,
                "{rows}"
            );
        }
        assert_eq!(few::<RandomBits>(257), None);
        assert_eq!(few::<Normal<f64>>(128), Some(Chunks { rows: 16, count: 8 }));
        assert_eq!(few::<Normal<f64>>(129), None);
    }

    #[test]
    fn chunks_cover_all_rows_and_are_few() {
        for rows in (0..3000).chain([1 << 16, (1 << 16) + 1, 1 << 20, 1 << 36, (1 << 40) + 12345]) {
            for chunks in [1, 16, 128, 65536] {
                let cut = chunked(rows, chunks, 16);
                assert!(
                    cut.rows * u64::from(cut.count) >= rows && cut.rows * u64::from(cut.count.max(1) - 1) <= rows,
                    "{rows}: {cut:?}"
                );
                assert!(u64::from(cut.count) <= chunks && cut.rows >= 16, "{rows}: {cut:?}");
                let digits = 64 - cut.rows.leading_zeros() - cut.rows.trailing_zeros();
                assert!(digits <= 4, "{rows}: {cut:?}");
            }
        }
        assert_eq!(curand_order::<RandomBits>(1 << 16), Chunks { rows: 4096, count: 16 });
        assert_eq!(curand_order::<RandomBits>(256), Chunks { rows: 32, count: 8 });
        assert_eq!(curand_order::<RandomBits>(0), Chunks { rows: 32, count: 1 });
    }
}
