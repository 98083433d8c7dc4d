//! One figure, from its set-up to criterion's samples.
//!
//! 1. An area, such as `algos/reductions.rs`, names the figure, states the work of a call, and gives three closures: set-up, the call, the
//!    check of its answer.
//! 2. `Figure::measure` asks `Selection` which measures the command line chooses. Before the first one it sets up, makes the first call and
//!    checks the answer, unless `BENCH_CHECK=0`. A wrong answer is a line `failure`, and nothing is timed.
//! 3. On a device a second call is timed too. The excess of the first call is the line `compile`, unless the set-up has told it
//!    (`Gpu::prepare`). `DeviceClock::choose` captures calls shorter than 50 us into a graph.
//! 4. `Figure::sample` hands the clock to criterion's `iter_custom`. An error in the middle of a measurement unwinds through criterion, which
//!    has no other way out, and becomes a failure of this figure alone. Criterion has then written no sample of it.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::{Duration, Instant},
};

use criterion::BenchmarkId;
use serde_json::json;

use super::{Ceiling, Check, Gpu, Harness, Id, Measure, Outcome, Work, clock, clock::DeviceClock};

/// Less than this is no compilation, but noise between the first call and the second.
const LEAST_COMPILE_S: f64 = 1e-3;

/// A figure that is about to be measured; made by [`Harness::figure`].
pub struct Figure<'h> {
    harness: &'h mut Harness,
    id: Id,
    work: Work,
    /// Tells the work when the figure is set up.
    work_of: Option<Box<dyn FnOnce() -> Outcome<Work> + 'h>>,
    measures: &'static [Measure],
    whole: bool,
}

impl<'h> Figure<'h> {
    pub(super) fn new(harness: &'h mut Harness, id: Id) -> Self {
        Self {
            harness,
            id,
            work: Work::default(),
            work_of: None,
            measures: &[Measure::Device, Measure::Wall],
            whole: false,
        }
    }

    /// Sets the work of one call.
    #[must_use]
    pub fn work(self, work: Work) -> Self {
        Self { work, ..self }
    }

    /// Sets the work of one call where it takes making the input to know it: asked when the figure is set up, and never for one that is not chosen.
    #[must_use]
    pub fn work_of(self, work: impl FnOnce() -> Outcome<Work> + 'h) -> Self {
        Self { work_of: Some(Box::new(work)), ..self }
    }

    /// Takes the time between events alone: for ceilings and peers.
    #[must_use]
    pub fn device_only(self) -> Self {
        Self { measures: &[Measure::Device], ..self }
    }

    /// Takes the host's time alone: for calls that wait themselves, such as copies to the host.
    #[must_use]
    pub fn wall_only(self) -> Self {
        Self { measures: &[Measure::Wall], whole: true, ..self }
    }

    /// Takes the cost of a call to the host: its clock, around calls that nobody waits for. For calls so small that the device is done with one
    /// before the next comes.
    #[must_use]
    pub fn enqueue_only(self) -> Self {
        Self { measures: &[Measure::Enqueue], whole: true, ..self }
    }

    /// The call allocates or waits, so that it is never captured into a graph.
    #[must_use]
    pub fn whole_calls(self) -> Self {
        Self { whole: true, ..self }
    }

    /// Measures `call` on the device, where figures on one are wanted: `device` between events, and `wall`.
    ///
    /// `set_up` runs once, before the first measure that the command line chooses. `call` enqueues its work on the stream of
    /// the [`Gpu`] and need not wait. `check` sees the state and the result of the first call. An error of any of them is a failure of this figure
    /// alone.
    pub fn on_gpu<S, R>(
        self,
        set_up: impl FnOnce(&Gpu) -> Outcome<S>,
        mut call: impl FnMut(&mut S) -> Outcome<R>,
        check: impl FnOnce(&mut S, R) -> Outcome<Check>,
    ) {
        let Some(gpu) = self.harness.gpu.clone() else { return };
        let (measures, whole, test) = (self.measures, self.whole, self.harness.selection.is_test());
        let checked = self.harness.settings.check;
        let set_up = || {
            gpu.prepared.take();
            let mut ready = Ready::new(set_up(&gpu)?);
            let timed = |call: &mut dyn FnMut(&mut S) -> Outcome<R>, state: &mut S| {
                let started = Instant::now();
                let result = call(state)?;
                gpu.stream().synchronize()?;
                Ok::<_, Box<dyn std::error::Error>>((result, started.elapsed()))
            };
            let (result, first) = timed(&mut call, &mut ready.state)?;
            if checked {
                ready.check(|state| check(state, result))?;
            }
            ready.prepared = match gpu.prepared.take() {
                None if !test => Some(first.saturating_sub(timed(&mut call, &mut ready.state)?.1)),
                told => told,
            };
            Ok((ready, call))
        };
        self.measure(measures, set_up, |figure, measure, (ready, call)| {
            let stream = gpu.stream();
            let mut call = || call(&mut ready.state);
            if measure != Measure::Device {
                figure.write(measure, ready.error, "calls");
                return figure.sample(measure, |calls| match measure {
                    Measure::Enqueue => clock::enqueue(stream, calls, &mut call),
                    _ => clock::wall(stream, calls, &mut call),
                });
            }
            let clock = if whole { DeviceClock::Calls } else { DeviceClock::choose(stream, &mut call)? };
            figure.write(measure, ready.error, clock.name());
            figure.sample(measure, |calls| clock.time(stream, calls, &mut call))
        });
    }

    /// Measures `call` on the CPU, where figures on it are wanted; otherwise as [`on_gpu`](Self::on_gpu).
    pub fn on_cpu<S, R>(
        self,
        set_up: impl FnOnce() -> Outcome<S>,
        mut call: impl FnMut(&mut S) -> Outcome<R>,
        check: impl FnOnce(&mut S, R) -> Outcome<Check>,
    ) {
        if !self.harness.on_cpu() {
            return;
        }
        let checked = self.harness.settings.check;
        let set_up = || {
            let mut ready = Ready::new(set_up()?);
            let result = call(&mut ready.state)?;
            if checked {
                ready.check(|state| check(state, result))?;
            }
            Ok((ready, call))
        };
        self.measure(&[Measure::Cpu], set_up, |figure, measure, (ready, call)| {
            figure.write(measure, ready.error, "calls");
            figure.sample(measure, |calls| clock::host(calls, &mut || call(&mut ready.state)))
        });
    }

    fn chosen(&self, measures: &'static [Measure]) -> impl Iterator<Item = Measure> {
        let is_chosen = |measure: &Measure| self.harness.selection.chooses(&self.id.full(*measure));
        measures.iter().copied().filter(is_chosen)
    }

    /// Sets up for the first measure that is chosen, and times each.
    fn measure<S, C>(
        mut self,
        measures: &'static [Measure],
        set_up: impl FnOnce() -> Outcome<(Ready<S>, C)>,
        mut time: impl FnMut(&mut Self, Measure, &mut (Ready<S>, C)) -> Outcome,
    ) {
        let chosen: Vec<Measure> = self.chosen(measures).collect();
        let Some(&first) = chosen.first() else { return };
        if self.harness.selection.is_list() {
            // Criterion names them and calls nothing.
            for measure in chosen {
                let listed = self.sample(measure, |_| Ok(Duration::ZERO));
                self.report(measure, listed);
            }
            return;
        }
        let work_of = self.work_of.take();
        match caught(|| Ok((set_up()?, work_of.map(|work| work()).transpose()?))) {
            Ok((mut made, work)) => {
                self.work = work.unwrap_or(self.work);
                if let Some(seconds) = made.0.prepared.map(|time| time.as_secs_f64()).filter(|&s| s >= LEAST_COMPILE_S)
                {
                    let id = self.id.to_string();
                    self.harness.facts.line(json!({"kind": "compile", "id": id, "seconds": seconds}));
                }
                for measure in chosen {
                    let timed = caught(|| time(&mut self, measure, &mut made));
                    self.report(measure, timed);
                }
            }
            Err(error) => self.report(first, Err(error)),
        }
    }

    /// Makes a failure of an error. An error of a peer is a gap, unless its answer was wrong.
    fn report(&mut self, measure: Measure, outcome: Outcome) {
        let Err(error) = outcome else { return };
        let id = self.id.full(measure);
        if self.id.is_peer() && !error.is::<WrongAnswer>() {
            self.harness.facts.gap(self.id.by(), Some(&id), &error.to_string());
        } else {
            self.harness.facts.failure(&id, &error.to_string());
        }
    }

    /// The line of one measure.
    fn write(&mut self, measure: Measure, error: Option<f64>, timed_by: &str) {
        let Work { bytes, flops, ceiling } = self.work;
        self.harness.facts.line(json!({
            "kind": "figure",
            "id": self.id.full(measure),
            "peer": self.id.is_peer(),
            "bytes": bytes,
            "flops": flops,
            "ceiling": ceiling.map(Ceiling::name),
            "error": error,
            "timed_by": timed_by,
        }));
    }

    /// Hands `time`, which takes a number of calls, to criterion.
    fn sample(&mut self, measure: Measure, mut time: impl FnMut(u64) -> Outcome<Duration>) -> Outcome {
        let (group, case, value) = self.id.criterion_parts(measure);
        let mut group = self.harness.criterion.benchmark_group(group);
        if let Some(throughput) = self.work.throughput() {
            group.throughput(throughput);
        }
        let mut failed = None;
        let sampled = catch_unwind(AssertUnwindSafe(|| {
            group.bench_function(BenchmarkId::new(case, value), |bencher| {
                bencher.iter_custom(|calls| {
                    time(calls).unwrap_or_else(|error| {
                        failed = Some(error);
                        // Criterion knows no way out of a bench that cannot go on, and would write down whatever time it were given.
                        resume_unwind(Box::new(()))
                    })
                });
            });
        }));
        match (failed, sampled) {
            (Some(error), _) => Err(error),
            (None, Err(panic)) => Err(panic_text(&*panic).into()),
            (None, Ok(())) => Ok(()),
        }
    }
}

impl fmt::Debug for Figure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Figure({})", self.id)
    }
}

/// A set-up whose first call was right.
struct Ready<S> {
    state: S,
    /// The error of the answer.
    error: Option<f64>,
    prepared: Option<Duration>,
}

impl<S> Ready<S> {
    fn new(state: S) -> Self {
        Self { state, error: None, prepared: None }
    }

    fn check(&mut self, check: impl FnOnce(&mut S) -> Outcome<Check>) -> Outcome {
        let check = check(&mut self.state)?;
        self.error = Some(check.error);
        if check.is_right() { Ok(()) } else { Err(WrongAnswer(check).into()) }
    }
}

/// An answer beyond its bound.
#[derive(Debug, thiserror::Error)]
#[error("wrong answer: the largest error is {:e}, at most {:e} is right", .0.error, .0.bound)]
struct WrongAnswer(Check);

/// The outcome of `work`; a panic in it is an error of this figure alone.
fn caught<R>(work: impl FnOnce() -> Outcome<R>) -> Outcome<R> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panic_text(&*panic).into()))
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("panicked: {}", text.unwrap_or_else(|| "without a message".to_owned()))
}
