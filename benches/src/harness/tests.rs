use std::path::Path;

use super::*;

/// The results of a run: each line of facts, whether anything failed, and the ids that criterion has samples of.
struct Left {
    lines: Vec<Value>,
    failed: bool,
    sampled: Vec<String>,
}

impl Left {
    fn of(&self, kind: &str) -> Vec<&Value> {
        self.lines.iter().filter(|line| line["kind"] == kind).collect()
    }

    fn ids(&self, kind: &str) -> Vec<&str> {
        self.of(kind).into_iter().filter_map(|line| line["id"].as_str()).collect()
    }
}

/// Runs `benches` with criterion's shortest times.
fn run(backend: Backend, arguments: &[&str], benches: impl FnOnce(&mut Harness)) -> Outcome<Left> {
    let folder = tempfile::tempdir()?;
    let (facts, out) = (folder.path().join("facts.jsonl"), folder.path().join("criterion"));
    let short = Duration::from_micros(100);
    let criterion = defaults(Criterion::default()).warm_up_time(short).measurement_time(short).nresamples(10);
    let criterion = criterion.without_plots().output_directory(&out);
    let arguments = ["--bench"].iter().chain(arguments).map(|&argument| argument.to_owned());
    let settings = Settings {
        backend: Some(backend),
        set: Set::Tiny,
        peers: true,
        check: true,
        round: 1,
        facts: Some(facts.clone()),
    };
    let mut harness = Harness::open(criterion, Selection::from_arguments(arguments), settings)?;
    benches(&mut harness);
    let text = std::fs::read_to_string(facts)?;
    let lines = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let mut sampled = Vec::new();
    samples(&out, &mut sampled)?;
    sampled.sort();
    Ok(Left { lines, failed: harness.facts.failed(), sampled })
}

/// Collects the ids in `benchmark.json` beside each `sample.json`.
fn samples(folder: &Path, ids: &mut Vec<String>) -> Outcome {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry?.path();
        if path.join("sample.json").exists() && path.ends_with("new") {
            let facts: Value = serde_json::from_slice(&std::fs::read(path.join("benchmark.json"))?)?;
            ids.push(facts["full_id"].as_str().unwrap_or_default().to_owned());
        } else if path.is_dir() {
            samples(&path, ids)?;
        }
    }
    Ok(())
}

/// A figure whose answer is 1 where it should be `want`.
fn one(harness: &mut Harness, case: &str, by: &str, want: i32) {
    harness.figure("one", "i32", case, by).work(Work::computes(1)).on_cpu(
        || Ok(1),
        |&mut one| Ok(one),
        |_, got| Ok(Check::equal(&[got], &[want])),
    );
}

#[test]
fn what_is_wrong_or_fails_is_a_failure_and_the_rest_goes_on() -> Outcome {
    let left = run(Backend::Cpu, &[], |harness| {
        one(harness, "wrong", "gpu-test", 2);
        harness.figure("one", "i32", "no-set-up", "gpu-test").on_cpu(
            || Err::<(), _>("nothing to set up".into()),
            |()| Ok(()),
            |(), ()| Ok(Check::holds(true)),
        );
        harness.figure("one", "i32", "fails-late", "gpu-test").on_cpu(
            || Ok(0),
            |calls| {
                *calls += 1;
                if *calls < 20 { Ok(()) } else { Err("the device has gone".into()) }
            },
            |_, ()| Ok(Check::holds(true)),
        );
        harness.figure("one", "i32", "panics", "gpu-test").on_cpu(
            || Ok(0),
            |calls| {
                *calls += 1;
                assert!(*calls < 20, "as planned");
                Ok(())
            },
            |_, ()| Ok(Check::holds(true)),
        );
        one(harness, "right", "gpu-test", 1);
    })?;
    assert!(left.failed);
    let failures = ["wrong", "no-set-up", "fails-late", "panics"].map(|case| format!("one/i32/{case}/gpu-test/cpu"));
    assert_eq!(left.ids("failure"), failures);
    let reason = |at: usize| left.of("failure")[at]["reason"].to_string();
    assert!(reason(0).contains("wrong answer") && reason(1).contains("nothing to set up"), "{:?}", left.lines);
    assert!(reason(2).contains("the device has gone") && reason(3).contains("as planned"), "{:?}", left.lines);
    assert_eq!(left.sampled, ["one/i32/right/gpu-test/cpu"]);
    let right = left.of("figure").into_iter().find(|line| line["id"] == "one/i32/right/gpu-test/cpu");
    let right = right.ok_or("no line of a right answer")?;
    assert_eq!((&right["error"], &right["flops"], &right["bytes"]), (&json!(0.0), &json!(1), &Value::Null));
    assert_eq!(right["peer"], json!(false));
    Ok(())
}

#[test]
fn a_peer_that_fails_is_a_gap_but_not_one_that_is_wrong() -> Outcome {
    let left = run(Backend::Cpu, &[], |harness| {
        one(harness, "1", "scipy", 2);
        one(harness, "2", "scipy", 1);
        harness.figure("one", "i32", "3", "scipy").on_cpu(
            || Err::<(), _>("not there".into()),
            |()| Ok(()),
            |(), ()| Ok(Check::holds(true)),
        );
    })?;
    assert_eq!(left.ids("failure"), ["one/i32/1/scipy/cpu"]);
    assert_eq!(left.sampled, ["one/i32/2/scipy/cpu"]);
    let gaps = left.of("gap");
    assert_eq!(gaps, [&json!({"kind": "gap", "peer": "scipy", "id": "one/i32/3/scipy/cpu", "reason": "not there"})]);
    assert!(left.of("figure").iter().all(|line| line["peer"] == json!(true)));
    Ok(())
}

#[test]
fn what_is_not_chosen_costs_nothing() -> Outcome {
    for arguments in [["right/"].as_slice(), &["--exact", "one/i32/right/gpu-test/cpu"]] {
        let left = run(Backend::Cpu, arguments, |harness| {
            harness.figure("one", "i32", "left-out", "gpu-test").work_of(|| unreachable!("not chosen")).on_cpu(
                || unreachable!("not chosen"),
                |(): &mut ()| Ok(()),
                |(), ()| Ok(Check::holds(true)),
            );
        })?;
        assert!(!left.failed && left.of("figure").is_empty() && left.sampled.is_empty(), "{:?}", left.lines);
    }
    Ok(())
}
