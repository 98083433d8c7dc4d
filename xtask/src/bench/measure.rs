//! Rounds: each program is started once a round, those of two revisions in turn, so that a disturbance of the machine meets both.

use std::{
    collections::{BTreeMap, HashSet},
    fs::{self, File},
    path::Path,
    process::{Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::{
    facts::{self, Fact, FigureFact},
    plan::Plan,
    record::{Compiler, FORMAT, Failure, Figure, Gap, MACHINE, Place, Run},
    side::{Bench, Side},
};
use crate::{Outcome, machine};

/// The fields of nvidia-smi for the state of the GPU before and after.
const CLOCKS: [&str; 7] = [
    "clocks.sm",
    "clocks.mem",
    "clocks.max.sm",
    "clocks.max.mem",
    "power.limit",
    "temperature.gpu",
    "clocks_event_reasons.active",
];

/// The program that measures the ceilings of the machine itself.
const CEILINGS: &str = "memory";

/// Seconds that a program has in any case, however little of the budget is left.
const LEAST_LIMIT: f64 = 30.0;

/// Measures the sides in turn. The first is always there; its failures are in its run.
pub(super) fn measure(sides: &[Side], plan: &Plan) -> Outcome<Vec<Run>> {
    let began = Instant::now();
    let before = machine::gpu(&CLOCKS);
    let driver = machine::gpu(&["driver_version"]).remove("driver_version");
    let mut collected: Vec<Collected> = sides.iter().map(|_| Collected::default()).collect();
    let mut names: Vec<&str> = sides.iter().flat_map(|side| &side.benches).map(|bench| bench.name.as_str()).collect();
    // The ceilings come first.
    names.sort_unstable_by_key(|name| (*name != CEILINGS, *name));
    names.dedup();
    let mut rounds = 0;
    // How long each program took the last time.
    let mut took: BTreeMap<(usize, &str), f64> = BTreeMap::new();
    while rounds < plan.rounds {
        let round = rounds;
        for name in &names {
            // The other order in every other round: slow drifts meet both alike.
            let mut order: Vec<usize> = (0..sides.len()).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for which in order {
                let in_turn = |bench: &&Bench| bench.name == *name && bench.in_turn(round);
                let Some(bench) = sides[which].benches.iter().find(in_turn) else { continue };
                let folder = plan.scratch.path().join(format!("round-{round}-{which}-{name}"));
                let started = Instant::now();
                let seen = start(bench, &sides[which], plan, &folder, round)?;
                let (label, seconds) = (&sides[which].label, started.elapsed().as_secs_f64());
                let figures = seen.seconds.len();
                eprintln!("round {}/{}: {name} of {label}: {figures} figures, {seconds:.1} s", round + 1, plan.rounds);
                collected[which].add(round, seen);
                took.insert((which, name), seconds);
                fs::remove_dir_all(&folder)?;
            }
        }
        rounds += 1;
        collected[0].clone().into_run(&sides[0], plan, rounds, driver.clone()).save(&plan.so_far)?;
        let next = sides.iter().enumerate().flat_map(|(which, side)| {
            let in_turn = side.benches.iter().filter(move |bench| bench.in_turn(rounds));
            in_turn.map(move |bench| (which, bench.name.as_str()))
        });
        let expected: f64 = next.filter_map(|key| took.get(&key)).sum();
        if plan.began.elapsed().as_secs_f64() + expected > plan.budget && rounds < plan.rounds {
            eprintln!("the time is up after {rounds} of {} rounds", plan.rounds);
            break;
        }
    }
    align(&mut collected);
    let clocks = clocks(before, machine::gpu(&CLOCKS));
    let seconds = began.elapsed().as_secs_f64();
    let run = |(side, collected): (&Side, Collected)| Run {
        clocks: clocks.clone(),
        seconds: Some(seconds),
        ..collected.into_run(side, plan, rounds, driver.clone())
    };
    Ok(sides.iter().zip(collected).map(run).collect())
}

fn clocks(before: BTreeMap<String, String>, after: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let named = |when: &'static str| move |(name, value): (String, String)| (format!("{name} {when}"), value);
    before.into_iter().map(named("before")).chain(after.into_iter().map(named("after"))).collect()
}

/// The times and facts of one start of a program.
#[derive(Default)]
struct Seen {
    seconds: BTreeMap<String, f64>,
    facts: Vec<Fact>,
}

fn start(bench: &Bench, side: &Side, plan: &Plan, folder: &Path, round: usize) -> Outcome<Seen> {
    fs::create_dir_all(folder)?;
    let (facts, log) = (folder.join("facts.jsonl"), folder.join("log"));
    let mut command = Command::new(&bench.path);
    command.args(&bench.arguments).env("BENCH_FACTS", &facts).env("CRITERION_HOME", folder);
    command.env("BENCH_SET", &plan.set).env("BENCH_PEERS", if side.peers { "1" } else { "0" });
    // Checks take longer than the calls that are timed: the first round makes them.
    command
        .env("BENCH_CHECK", if round == 0 { "1" } else { "0" })
        .env("BENCH_ROUND", round.to_string())
        .envs(plan.environment.iter().cloned());
    if let Some(backend) = &plan.backend {
        command.env("BENCH_BACKEND", backend);
    }
    if bench.is_criterion {
        command.args(["--bench", "--noplot", "--sample-size", "10", "--nresamples", "1001"]);
        command.arg("--warm-up-time").arg((plan.seconds / 3.0).to_string());
        command.arg("--measurement-time").arg(plan.seconds.to_string());
        // Ceilings are measured whatever else is.
        let ceilings =
            |filter: &String| if bench.name == CEILINGS { format!("(?:{filter})|/{MACHINE}/") } else { filter.clone() };
        command.args(plan.filter.as_ref().map(ceilings));
    } else {
        command.arg("--seconds").arg(plan.seconds.to_string());
        command.args(plan.filter.iter().flat_map(|filter| ["--filter", filter]));
    }
    let output = File::create(&log)?;
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
    let left = (plan.budget - plan.began.elapsed().as_secs_f64())
        .clamp(LEAST_LIMIT, plan.limit.as_secs_f64().max(LEAST_LIMIT));
    let limit = plan.limit.min(Duration::from_secs_f64(left));
    let ended = wait(&mut command, limit);

    let mut seen = Seen { facts: facts::read(&facts, &bench.name), ..Seen::default() };
    let mut problems = Vec::new();
    if bench.is_criterion {
        match facts::criterion(folder) {
            Ok(seconds) => seen.seconds = seconds,
            Err(error) => problems.push(error.to_string()),
        }
    }
    for fact in &seen.facts {
        if let Fact::Figure(FigureFact { id, seconds: Some(seconds), .. }) = fact {
            seen.seconds.insert(id.clone(), *seconds);
        }
    }
    let said_why = seen.facts.iter().any(|fact| matches!(fact, Fact::Failure(_)));
    problems.extend(match ended {
        Ok(Some(status)) if status.success() || said_why => None,
        Ok(Some(status)) => Some(format!("{status}: {}", last_lines(&log))),
        Ok(None) => Some(format!("stopped after {} s: {}", limit.as_secs(), last_lines(&log))),
        Err(error) => Some(format!("{}: {error}", bench.path.display())),
    });
    // A failure of others' programs is a gap.
    let told = |reason| match bench.is_criterion {
        true => Fact::Failure(Failure { id: bench.name.clone(), reason }),
        false => Fact::Gap(Gap { peer: bench.name.clone(), id: None, reason }),
    };
    seen.facts.extend(problems.into_iter().map(told));
    Ok(seen)
}

/// Waits for the end, at most so long; `None` when the program had to be stopped.
fn wait(command: &mut Command, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    let mut child = command.spawn()?;
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if began.elapsed() > limit {
            // Its children first, which it may have started in processes of their own.
            let _ = Command::new("pkill").args(["-KILL", "-P", &child.id().to_string()]).status();
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Runs a command that prepares something; its output when it fails.
pub(super) fn output(command: &mut Command, limit: Duration) -> Outcome {
    let log = tempfile::NamedTempFile::new()?;
    command.stdin(Stdio::null()).stdout(log.reopen()?).stderr(log.reopen()?);
    let said = || last_lines(log.path());
    match wait(command, limit).map_err(|error| format!("{}: {error}", command.get_program().display()))? {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(format!("{}: {status}: {}", command.get_program().display(), said()).into()),
        None => Err(format!("{}: stopped after {} s", command.get_program().display(), limit.as_secs()).into()),
    }
}

fn last_lines(log: &Path) -> String {
    let text = fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().filter(|line| !line.trim().is_empty()).take(6).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join(" | ")
}

/// All rounds of one side.
#[derive(Clone, Default)]
struct Collected {
    /// By full id, a place for each round.
    seconds: BTreeMap<String, Vec<Option<f64>>>,
    figures: BTreeMap<String, FigureFact>,
    place: Option<(String, Option<String>)>,
    driver: Option<String>,
    nvrtc: Option<String>,
    compile: BTreeMap<String, f64>,
    versions: BTreeMap<String, String>,
    gaps: Vec<Gap>,
    failures: Vec<Failure>,
}

impl Collected {
    fn add(&mut self, round: usize, seen: Seen) {
        for (id, seconds) in seen.seconds {
            let rounds = self.seconds.entry(id).or_default();
            rounds.resize(rounds.len().max(round + 1), None);
            rounds[round] = Some(seconds);
        }
        for fact in seen.facts {
            match fact {
                Fact::Environment { backend, device, driver_cuda, nvrtc } => {
                    self.place.get_or_insert((backend, device));
                    self.driver = self.driver.take().or(driver_cuda.map(|version| format!("of CUDA {version}")));
                    self.nvrtc = self.nvrtc.take().or(nvrtc);
                }
                // The first is the one that was checked.
                Fact::Figure(figure) => drop(self.figures.entry(figure.id.clone()).or_insert(figure)),
                // The first is the one that compiled; later rounds find the code on disk.
                Fact::Compile { id, seconds } => drop(self.compile.entry(id).or_insert(seconds)),
                Fact::Version { peer, version } => drop(self.versions.insert(peer, version)),
                Fact::Gap(gap) => push_new(&mut self.gaps, gap),
                Fact::Failure(failure) => push_new(&mut self.failures, failure),
            }
        }
    }

    fn into_run(mut self, side: &Side, plan: &Plan, rounds: usize, driver: Option<String>) -> Run {
        // A wrong answer has no time, though only one round checks it, and only the first of its measures is named.
        let of_one = |id: &str| id.rsplit_once('/').map_or_else(|| id.to_owned(), |(of_one, _)| of_one.to_owned());
        let failed: HashSet<String> = self.failures.iter().map(|failure| of_one(&failure.id)).collect();
        let missing: HashSet<&String> = self.gaps.iter().filter_map(|gap| gap.id.as_ref()).collect();
        self.seconds.retain(|id, _| !failed.contains(&of_one(id)) && !missing.contains(id));
        let figure = |(id, rounds): (String, Vec<Option<f64>>)| {
            let rounds = rounds.into_iter().flatten().collect();
            let figure = match self.figures.remove(&id) {
                Some(FigureFact { peer, bytes, flops, ceiling, error, timed_by, .. }) => {
                    Figure { rounds, peer, bytes, flops, ceiling, error, timed_by, ..Figure::default() }
                }
                None => Figure { rounds, ..Figure::default() },
            };
            (id, figure)
        };
        let (backend, device) = self.place.unwrap_or_else(|| ("cpu".to_owned(), None));
        let driver = driver.or(self.driver).filter(|_| backend == "cuda");
        let mut run = Run {
            format: FORMAT,
            date: machine::now(),
            revision: side.revision.clone(),
            place: Place { device: device.unwrap_or_else(|| backend.clone()), backend, driver, host: machine::host() },
            set: Some(plan.set.clone()),
            seconds_each: Some(plan.seconds),
            rounds,
            compiler: Compiler { rustc: side.rustc.clone(), nvrtc: self.nvrtc },
            figures: self.seconds.into_iter().map(figure).collect(),
            compile: self.compile,
            versions: self.versions,
            gaps: self.gaps,
            failures: self.failures,
            ..Run::default()
        };
        run.derive();
        run
    }
}

fn push_new<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

/// Drops the rounds of a figure in which one of its sides failed: the rounds that are left pair up.
fn align(collected: &mut [Collected]) {
    let ids: HashSet<String> = collected.iter().flat_map(|side| side.seconds.keys().cloned()).collect();
    for id in ids {
        let mut all: Vec<&mut Vec<Option<f64>>> =
            collected.iter_mut().filter_map(|side| side.seconds.get_mut(&id)).collect();
        let rounds = all.iter().map(|rounds| rounds.len()).max().unwrap_or(0);
        all.iter_mut().for_each(|side| side.resize(rounds, None));
        for round in 0..rounds {
            if all.iter().any(|side| side[round].is_none()) {
                all.iter_mut().for_each(|side| side[round] = None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn collected(rounds: &[(usize, f64)]) -> Collected {
        let mut collected = Collected::default();
        for &(round, seconds) in rounds {
            let seconds = BTreeMap::from([("a".to_owned(), seconds)]);
            collected.add(round, Seen { seconds, ..Seen::default() });
        }
        collected
    }

    #[test]
    fn rounds_that_one_side_lacks_are_dropped_from_both() {
        let mut all = [
            collected(&[(0, 1.0), (1, 2.0), (3, 4.0)]),
            collected(&[(1, 20.0), (2, 30.0), (3, 40.0)]),
            collected(&[(0, 5.0), (1, 6.0), (2, 7.0), (3, 8.0)]),
        ];
        align(&mut all);
        let plan = four_rounds(Path::new("nowhere"));
        let rounds = all.map(|side| side.into_run(&Side::default(), &plan, 4, None).figures["a"].rounds.clone());
        assert_eq!(rounds, [[2.0, 4.0], [20.0, 40.0], [6.0, 8.0]]);
    }

    fn four_rounds(folder: &Path) -> Plan {
        Plan {
            rounds: 4,
            filter: None,
            backend: None,
            set: "tiny".to_owned(),
            seconds: 0.1,
            budget: f64::INFINITY,
            began: Instant::now(),
            limit: Duration::from_secs(60),
            so_far: folder.join("so-far.json"),
            scratch: tempfile::tempdir().unwrap(),
            environment: Vec::new(),
        }
    }

    /// Measures with a shell script that tells one figure, and how the checks are asked for.
    fn measured(script: &str, every: usize, plan: impl FnOnce(Plan) -> Plan) -> Run {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        fs::write(&program, script).unwrap();
        let bench = Bench {
            name: "script".to_owned(),
            path: PathBuf::from("sh"),
            arguments: vec![program.display().to_string()],
            is_criterion: false,
            every,
        };
        let side = Side { benches: vec![bench], ..Side::default() };
        let plan = plan(four_rounds(folder.path()));
        let run = measure(&[side], &plan).unwrap().remove(0);
        assert_eq!(Run::load(&plan.so_far).unwrap().figures.len(), run.figures.len());
        run
    }

    const ONE_FIGURE: &str =
        r#"echo "{\"kind\":\"figure\",\"id\":\"a\",\"seconds\":1,\"error\":$BENCH_CHECK}" >> "$BENCH_FACTS""#;

    #[test]
    fn rounds_end_when_the_time_is_up_and_some_programs_pass_them_over() {
        let rounds = |run: &Run| (run.rounds, run.figures["a"].rounds.len());
        assert_eq!(rounds(&measured(ONE_FIGURE, 1, |plan| plan)), (4, 4));
        assert_eq!(rounds(&measured(ONE_FIGURE, 2, |plan| plan)), (4, 2));
        assert_eq!(rounds(&measured(ONE_FIGURE, 1, |plan| Plan { budget: 0.0, ..plan })), (1, 1));
    }

    #[test]
    fn the_round_that_checks_gives_the_error() {
        assert_eq!(measured(ONE_FIGURE, 1, |plan| plan).figures["a"].error, Some(1.0));
    }

    #[test]
    fn a_wrong_answer_has_no_time() {
        let wrong = format!(
            r#"{ONE_FIGURE}
               echo '{{"kind":"figure","id":"b/x/wall","seconds":1}}' >> "$BENCH_FACTS"
               [ $BENCH_CHECK = 0 ] || echo '{{"kind":"failure","id":"b/x/device","reason":"wrong"}}' >> "$BENCH_FACTS""#
        );
        let run = measured(&wrong, 1, |plan| plan);
        assert_eq!(run.figures.keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!(run.failures[0].reason, "wrong");
    }

    #[test]
    fn what_a_peer_said_last_is_the_reason_of_its_gap() {
        let run = measured("echo first; echo no memory >&2; exit 3", 1, |plan| plan);
        let [gap] = &run.gaps[..] else { panic!("{:?}", run.gaps) };
        assert!(gap.peer == "script" && gap.reason.contains("no memory") && run.failures.is_empty(), "{gap:?}");
    }

    #[test]
    fn a_program_that_hangs_is_stopped() {
        let began = Instant::now();
        let ended = wait(Command::new("sleep").arg("60"), Duration::from_millis(50)).unwrap();
        assert!(ended.is_none() && began.elapsed() < Duration::from_secs(30));
    }
}
