//! Time of device work between two events, in batches.

use gpu_driver::Stream;

use crate::Outcome;

/// Work before the first batch that counts: clocks and caches settle.
const WARM_UP_MS: f64 = 50.0;
/// A batch is as many runs as take this long, so that the clock's step of 0.5 us is lost in it.
const BATCH_MS: f64 = 1.25;
/// Of one batch, whatever a run takes.
const MAX_RUNS: f64 = 1e6;

pub(crate) struct Timing {
    /// Per run.
    pub(crate) median_ms: f64,
    pub(crate) least_ms: f64,
    pub(crate) runs_per_batch: usize,
}

/// Medians over `batches` batches of `work`, which enqueues on `stream` and does not wait.
pub(crate) fn device_ms(stream: &Stream, batches: usize, mut work: impl FnMut() -> Outcome) -> Outcome<Timing> {
    let mut batch = |runs: usize| -> Outcome<f64> {
        let start = stream.record()?;
        for _ in 0..runs {
            work()?;
        }
        Ok(f64::from(stream.record()?.elapsed_ms_since(&start)?))
    };
    // The first run loads kernels.
    batch(1)?;
    let (mut runs, mut warm_ms, mut run_ms) = (1, 0.0, 0.0);
    while warm_ms < WARM_UP_MS {
        let ms = batch(runs)?;
        warm_ms += ms.max(1e-3);
        run_ms = ms / runs as f64;
        runs = (runs * 2).min((WARM_UP_MS / 4.0 / run_ms.max(1e-6)).ceil() as usize).max(1);
    }
    let runs = (BATCH_MS / run_ms.max(1e-6)).ceil().clamp(1.0, MAX_RUNS) as usize;
    let mut times = (0..batches.max(1)).map(|_| Ok(batch(runs)? / runs as f64)).collect::<Outcome<Vec<f64>>>()?;
    Ok(Timing { median_ms: median(&mut times), least_ms: times[0], runs_per_batch: runs })
}

/// Sorts the numbers; NaN when there are none.
pub(crate) fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    match numbers.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => numbers[n / 2],
        n => f64::midpoint(numbers[n / 2 - 1], numbers[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&mut []).is_nan());
    }
}
