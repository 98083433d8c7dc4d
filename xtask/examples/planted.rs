//! A benchmark that is as slow as it is told to be: the tests of `cargo xtask bench` plant regressions with it.
//!
//! `PLANTED_WORK` is the work of the figure `spin/u64/planted/xtask/cpu`, 1 by default. `PLANTED_WITHOUT=1` leaves that figure out,
//! `PLANTED_SCATTER=1` makes its work another one in each start, `PLANTED_FAILURE=1` gives a wrong answer. With `PLANTED_QUIET=1` the
//! times are computed instead of measured: those of a machine that nobody else uses, which scatter by half a percent from start to start.

use std::{env, fs::OpenOptions, hint::black_box, io::Write, process, time::Duration};

use criterion::Criterion;

const STEPS: f64 = 40_000.0;

/// Steps of a linear congruential generator, each of which needs the one before.
fn spin(steps: u64) -> u64 {
    (0..steps)
        .fold(black_box(1), |x, _| black_box(x).wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407))
}

/// The time of so many iterations on a machine that nobody else uses: 40 microseconds for work 1, within half a percent.
fn quiet_time(iterations: u64, work: f64) -> Duration {
    let start = f64::from(process::id().wrapping_mul(2_654_435_761) >> 16) / 65536.0;
    Duration::from_secs_f64(iterations as f64 * work * 40e-6 * (0.995 + 0.01 * start))
}

fn fact(line: &str) {
    let Some(path) = env::var_os("BENCH_FACTS") else { return };
    let written = OpenOptions::new().create(true).append(true).open(path).and_then(|mut file| writeln!(file, "{line}"));
    written.expect("the file of facts can be written");
}

fn is_set(name: &str) -> bool {
    env::var_os(name).is_some()
}

fn main() {
    fact(r#"{"kind":"environment","backend":"cpu"}"#);
    let mut criterion = Criterion::default().warm_up_time(Duration::from_millis(20)).configure_from_args();
    let mut bench = |case: &str, work: f64| {
        let id = format!("spin/u64/{case}/xtask/cpu");
        fact(&format!(r#"{{"kind":"figure","id":"{id}","bytes":8,"ceiling":"copy"}}"#));
        criterion.bench_function(&id, |bench| {
            if is_set("PLANTED_QUIET") {
                bench.iter_custom(|iterations| quiet_time(iterations, work));
            } else {
                bench.iter(|| spin((work * STEPS) as u64));
            }
        });
    };
    bench("steady", 1.0);
    if !is_set("PLANTED_WITHOUT") {
        let told = env::var("PLANTED_WORK").map_or(Ok(1.0), |work| work.parse()).expect("PLANTED_WORK is a number");
        let scatter = if is_set("PLANTED_SCATTER") { 0.4 + 0.2 * f64::from(process::id() % 7) } else { 1.0 };
        bench("planted", told * scatter);
    }
    if is_set("PLANTED_FAILURE") {
        fact(r#"{"kind":"failure","id":"spin/u64/wrong/xtask/cpu","reason":"the answer is off by 1"}"#);
        process::exit(1);
    }
}
