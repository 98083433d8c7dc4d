//! Clocks: how long so many calls take.
#![expect(unsafe_code, reason = "a captured call is launched again")]

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use gpu_driver::{Graph, Stream};

use super::Outcome;

/// A call shorter than this is timed as part of a graph of many, or the gaps between launches would count.
const SHORT: Duration = Duration::from_micros(50);
/// The length of such a graph, about.
const GRAPH: Duration = Duration::from_millis(1);
/// The most calls in such a graph.
const MOST_CALLS: u64 = 1000;
/// The most calls that may wait on a stream: with more, the driver makes the host wait for the device.
const MOST_WAITING: u64 = 100;

/// `calls` calls on the CPU.
pub(super) fn host<R>(calls: u64, work: &mut impl FnMut() -> Outcome<R>) -> Outcome<Duration> {
    let started = Instant::now();
    for _ in 0..calls {
        black_box(work()?);
    }
    Ok(started.elapsed())
}

/// `calls` calls, each followed by waiting for the stream.
pub(super) fn wall<R>(stream: &Stream, calls: u64, work: &mut impl FnMut() -> Outcome<R>) -> Outcome<Duration> {
    host(calls, &mut || {
        let result = work()?;
        stream.synchronize()?;
        Ok(result)
    })
}

/// `calls` calls in batches; the stream is waited for between them, while no clock runs.
pub(super) fn enqueue<R>(stream: &Stream, calls: u64, work: &mut impl FnMut() -> Outcome<R>) -> Outcome<Duration> {
    let (mut time, mut left) = (Duration::ZERO, calls);
    while left > 0 {
        let batch = left.min(MOST_WAITING);
        time += host(batch, work)?;
        stream.synchronize()?;
        left -= batch;
    }
    Ok(time)
}

/// `calls` calls between two events.
fn between_events<R>(stream: &Stream, calls: u64, work: &mut impl FnMut() -> Outcome<R>) -> Outcome<Duration> {
    let start = stream.record()?;
    for _ in 0..calls {
        black_box(work()?);
    }
    let ms = stream.record()?.elapsed_ms_since(&start)?;
    // Events have a step of half a microsecond; criterion does not take a time of zero.
    Ok(Duration::from_secs_f64(f64::from(ms).max(1e-6) / 1e3))
}

/// How the time on the device is taken: call after call, or by a graph of captured calls.
pub(super) enum DeviceClock {
    Calls,
    Graph { graph: Graph, calls: u64 },
}

impl DeviceClock {
    /// Chooses by the time of a warm call. Calls that cannot be captured (they allocate, or wait) are timed call by call.
    pub(super) fn choose<R>(stream: &Stream, work: &mut impl FnMut() -> Outcome<R>) -> Outcome<Self> {
        const PROBE: u64 = 4;
        between_events(stream, PROBE, work)?;
        let one = between_events(stream, PROBE, work)? / PROBE as u32;
        if one >= SHORT {
            return Ok(Self::Calls);
        }
        let calls = (GRAPH.as_nanos() / one.as_nanos().max(1)).clamp(2, MOST_CALLS.into()) as u64;
        Ok(Self::capture(stream, calls, work).unwrap_or(Self::Calls))
    }

    fn capture<R>(stream: &Stream, calls: u64, work: &mut impl FnMut() -> Outcome<R>) -> Outcome<Self> {
        let enqueue = || -> Result<(), Uncaptured> {
            for _ in 0..calls {
                work().map_err(Uncaptured::Call)?;
            }
            Ok(())
        };
        let (graph, ()) = stream.capture(enqueue).map_err(|error| match error {
            Uncaptured::Call(error) => error,
            Uncaptured::Capture(error) => error.into(),
        })?;
        Ok(Self::Graph { graph, calls })
    }

    /// The name of the clock in the facts.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Graph { .. } => "graph",
        }
    }

    /// The time of `calls` calls. A graph is launched as often as makes at least as many; its time is scaled.
    pub(super) fn time<R>(
        &self,
        stream: &Stream,
        calls: u64,
        work: &mut impl FnMut() -> Outcome<R>,
    ) -> Outcome<Duration> {
        match self {
            Self::Calls => between_events(stream, calls, work),
            Self::Graph { graph, calls: in_one } => {
                let launches = calls.div_ceil(*in_one);
                let time = between_events(stream, launches, &mut || {
                    // SAFETY: the caller's `work` holds the buffers of the captured calls, exclusively, and all launches are on
                    // one stream, whose end is waited for before `work` is called again.
                    unsafe { Ok(graph.launch(stream)?) }
                })?;
                Ok(time.mul_f64(calls as f64 / (launches * in_one) as f64))
            }
        }
    }
}

/// The error of a call, or of the capture around it.
enum Uncaptured {
    Call(Box<dyn std::error::Error>),
    Capture(gpu_driver::DriverError),
}

impl From<gpu_driver::DriverError> for Uncaptured {
    fn from(error: gpu_driver::DriverError) -> Self {
        Self::Capture(error)
    }
}
