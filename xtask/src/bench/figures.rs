//! `cargo xtask figures`: the tables in README.md and benches/PERFORMANCE.md, from the newest record of each device.

use std::{collections::BTreeMap, fs, path::Path};

use serde::Deserialize;

use super::{
    groups::{Group, against_peers, groups},
    id::Id,
    record::{self, Figure, Run},
    report::{markdown_table, place, speeds},
    units,
};
use crate::{Outcome, workspace_root};

const BEGIN: &str = "<!-- written by `cargo xtask figures`: begin -->";
const END: &str = "<!-- written by `cargo xtask figures`: end -->";

/// `benches/figures.json`: the parts of the tables that do not come from the record.
#[derive(Debug, Default, Deserialize)]
struct Tables {
    /// The rows of the README. Each is set against the fastest peer that the record has for the work, whoever that is.
    readme: Vec<Shown>,
    /// Figures that have a floor.
    rows: Vec<Row>,
    /// Why a peer is faster, by the beginning of the group's name.
    losses: BTreeMap<String, String>,
}

/// A row of the README.
#[derive(Debug, Deserialize)]
struct Shown {
    /// The work, in words.
    work: String,
    /// The full id of ours.
    figure: String,
}

#[derive(Debug, Deserialize)]
struct Row {
    /// The work, in words.
    work: String,
    /// The full id of ours.
    figure: String,
    /// By whom; the fastest of them counts.
    #[serde(default)]
    peers: Vec<String>,
    /// Instead of peers: the full id of a figure of the machine itself with as many bytes. The ratio is that of the bytes a second.
    #[serde(default)]
    limit: Option<String>,
    /// How many times as long the fastest peer is to take, at least; of a limit, the part of it that is to be reached.
    #[serde(default)]
    floor: Option<f64>,
}

/// Writes the tables; with `check` changes nothing and fails when a file would change.
pub(crate) fn update(check: bool) -> Outcome {
    let root = workspace_root();
    let benches = root.join("benches");
    let tables: Tables = serde_json::from_str(&fs::read_to_string(benches.join("figures.json"))?)?;
    let mut newest = record::newest_of_each(&benches.join("record"))?;
    newest.sort_by_key(|run| (run.place.backend != "cuda", run.place.folder()));
    let readme =
        newest.iter().find(|run| run.place.backend == "cuda").map(|run| summary(run, &tables)).unwrap_or_default();
    let whole = newest.iter().map(|run| page(run, &tables)).collect::<Vec<_>>().join("\n");
    replace(&root.join("README.md"), &readme, check)?;
    replace(&benches.join("PERFORMANCE.md"), &whole, check)
}

/// Puts the text between the marks.
fn replace(path: &Path, text: &str, check: bool) -> Outcome {
    let old = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let new = between_marks(&old, text)
        .ok_or_else(|| format!("{}: `{BEGIN}` and `{END}` do not stand in it", path.display()))?;
    if old == new {
        return Ok(());
    }
    if check {
        return Err(format!(
            "{} differs from the text that `cargo xtask figures` writes; run it and commit the result",
            path.display()
        )
        .into());
    }
    Ok(fs::write(path, new)?)
}

fn between_marks(old: &str, text: &str) -> Option<String> {
    let (before, rest) = old.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{}\n{END}{after}", text.trim()))
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Whether the run measured figures as this one: on the CPU or on a device, and no operation that is newer than the run, whoever else had it.
fn is_of(figure: &str, run: &Run) -> bool {
    let done_by = |id: &str| (id.split('/').next().map(str::to_owned), Id::parse(id).by.to_owned());
    figure.ends_with("/cpu") == (run.place.backend == "cpu")
        && run.figures.keys().any(|id| done_by(id) == done_by(figure))
}

/// The part of the README: the origin of the figures, and its rows.
fn summary(run: &Run, tables: &Tables) -> String {
    let rows: Vec<Vec<String>> =
        tables.readme.iter().filter(|row| is_of(&row.figure, run)).map(|row| shown(run, row)).collect();
    format!(
        "{}\n\n{}",
        source(run),
        markdown_table(&words(&["", "ours", "fastest peer", "ratio", "of ceiling"]), &rows)
    )
}

/// One row of the README.
fn shown(run: &Run, row: &Shown) -> Vec<String> {
    let figure = run.figures.get(&row.figure);
    let peer = groups(run).remove(&Id::parse(&row.figure).group).and_then(|group| group.best_peer());
    let ratio = figure.zip(peer).map(|(figure, (_, peer))| units::times(peer.median / figure.median));
    vec![
        row.work.clone(),
        figure.map_or_else(|| "gap".to_owned(), |figure| units::time(figure.median)),
        peer.map_or_else(|| "none".to_owned(), |(by, figure)| format!("{} ({by})", units::time(figure.median))),
        ratio.unwrap_or_default(),
        figure.and_then(|figure| run.of_ceiling(figure)).map_or_else(String::new, units::percent),
    ]
}

/// The origin of the figures: place, revision, day, rounds and the versions of peers.
fn source(run: &Run) -> String {
    let versions: Vec<String> = run.versions.iter().map(|(peer, version)| format!("{peer} {version}")).collect();
    let peers =
        if versions.is_empty() { String::new() } else { format!(" Peers in the same run: {}.", versions.join(", ")) };
    let day = run.date.get(..10).unwrap_or(&run.date);
    let rounds = match run.rounds {
        1 => "one round".to_owned(),
        rounds => format!("medians of {rounds} rounds"),
    };
    format!("{}. Revision {}, {day}, {rounds}.{peers}", place(run), run.revision)
}

/// One row of the tables with floors.
fn cells(run: &Run, row: &Row) -> Vec<String> {
    let by = Id::parse(&row.figure).by;
    let figure = run.figures.get(&row.figure);
    let time = |by: &str, figure: &Figure| format!("{} ({by})", units::time(figure.median));
    let peer = held_against(run, row);
    let ratio = figure.zip(peer).and_then(|(figure, (_, peer))| match row.limit {
        None => Some(peer.median / figure.median),
        Some(_) => Some(figure.bandwidth()? / peer.bandwidth()?),
    });
    let said = if row.limit.is_some() { units::share } else { units::times };
    let ratio_text = match (ratio, row.floor) {
        (None, _) => "gap".to_owned(),
        (Some(ratio), Some(floor)) if ratio < floor => format!("{} (short)", said(ratio)),
        (Some(ratio), _) => said(ratio),
    };
    vec![
        row.work.clone(),
        figure.map_or_else(|| "gap".to_owned(), |figure| time(by, figure)),
        peer.map_or_else(|| "gap".to_owned(), |(by, figure)| time(by, figure)),
        ratio_text,
        figure.and_then(|figure| run.of_ceiling(figure)).map_or_else(String::new, units::percent),
        row.floor.map_or_else(String::new, |floor| format!("≥ {}", said(floor))),
        fastest(run, row, figure).unwrap_or_default(),
    ]
}

/// The fastest peer of the record for a row's work, whoever it is, and how many times as long it takes.
fn fastest(run: &Run, row: &Row, figure: Option<&Figure>) -> Option<String> {
    let group = groups(run).remove(&Id::parse(&row.figure).group)?;
    let (by, peer) = group.best_peer()?;
    Some(format!("{} ({by})", units::times(peer.median / figure?.median)))
}

/// The figure that a row is set against: its limit, or the fastest of its peers.
fn held_against<'r>(run: &'r Run, row: &'r Row) -> Option<(&'r str, &'r Figure)> {
    if let Some(limit) = &row.limit {
        return Some((Id::parse(limit).by, run.figures.get(limit)?));
    }
    let group = groups(run).remove(&Id::parse(&row.figure).group)?;
    let named = |(by, _): &(&str, &Figure)| row.peers.iter().any(|peer| peer == by);
    let peers = group.peers.into_iter().filter(named).collect();
    Group { ours: Vec::new(), peers }.best_peer()
}

/// Everything of one device.
fn page(run: &Run, tables: &Tables) -> String {
    let mut parts = vec![format!("## {}\n\n{}", run.place.folder(), source(run))];
    let ceilings = run.ceilings.iter().map(|(name, &speed)| format!("{name} {}", units::bandwidth(speed)));
    let ceilings: Vec<String> = ceilings.collect();
    if !ceilings.is_empty() {
        parts.push(format!("The machine's own ceilings: {}.", ceilings.join(", ")));
    }
    let has_floor = |row: &&Row| row.floor.is_some() && is_of(&row.figure, run);
    let rows: Vec<Vec<String>> = tables.rows.iter().filter(has_floor).map(|row| cells(run, row)).collect();
    if !rows.is_empty() {
        let head = words(&["floors", "ours", "peer", "ratio", "of ceiling", "floor", "fastest of all peers"]);
        parts.push(markdown_table(&head, &rows));
    }
    parts.push(peers(run));
    parts.push(losses(run, tables));
    parts.push(alone(run));
    let gaps: Vec<String> = run.gaps.iter().map(gap).collect();
    if !gaps.is_empty() {
        parts.push(format!("### Not measured\n\n{}", gaps.join("\n")));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n") + "\n"
}

fn gap(gap: &record::Gap) -> String {
    let id = gap.id.as_ref().map_or_else(String::new, |id| format!(" `{id}`"));
    format!("- {}{id}: {}", gap.peer, gap.reason.replace('\n', " "))
}

fn peers(run: &Run) -> String {
    let rows = against_peers(run);
    if rows.is_empty() {
        return String::new();
    }
    let table = markdown_table(&words(&["figure", "ratio", "ours", "peers"]), &rows);
    format!("### Against peers\n\nThe ratio is the fastest peer's time to the fastest of ours.\n\n{table}")
}

/// The figures where a peer is faster, by reason.
fn losses(run: &Run, tables: &Tables) -> String {
    let why = |name: &str| {
        let known = tables.losses.iter().filter(|(start, _)| name.starts_with(start.as_str()));
        known.max_by_key(|(start, _)| start.len()).map_or("not looked into yet", |(_, why)| why.as_str())
    };
    let mut by_reason: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let all = groups(run);
    for (name, group) in &all {
        let (Some(ratio), Some((by, _))) = (group.ratio().filter(|&ratio| ratio < 1.0), group.best_peer()) else {
            continue;
        };
        by_reason.entry(why(name)).or_default().push(format!("`{name}` {} ({by})", units::times(ratio)));
    }
    let lines: Vec<String> =
        by_reason.iter().map(|(why, figures)| format!("- {why}: {}", figures.join(", "))).collect();
    let head = "### Where we lose\n\nA ratio below 1 is the part of the peer's speed that ours has.";
    if lines.is_empty() { String::new() } else { format!("{head}\n\n{}", lines.join("\n")) }
}

/// Every figure of ours.
fn alone(run: &Run) -> String {
    let row = |(id, figure): (&String, &Figure)| {
        let [speed, ceiling] = speeds(run, figure);
        vec![id.clone(), units::time(figure.median), units::percent(figure.spread), speed, ceiling]
    };
    let rows: Vec<Vec<String>> = run.figures.iter().filter(|(_, figure)| !figure.peer).map(row).collect();
    let head = words(&["figure", "median", "spread", "speed", "of ceiling"]);
    format!("### All of ours\n\n{}", markdown_table(&head, &rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> Run {
        let figure = |peer, seconds: f64| Figure { rounds: vec![seconds; 3], peer, ..Figure::default() };
        let figures = [
            ("spmv/f64/a/packets/device", figure(false, 2e-3)),
            ("spmv/f64/a/alg1/device", figure(true, 3e-3)),
            ("spmv/f64/a/sell/device", figure(true, 1e-3)),
        ];
        let mut run = Run { figures: figures.map(|(id, figure)| (id.to_owned(), figure)).into(), ..Run::default() };
        run.place.backend = "cuda".to_owned();
        run.derive();
        run
    }

    fn row(floor: f64) -> Row {
        Row {
            work: "y = A x".to_owned(),
            figure: "spmv/f64/a/packets/device".to_owned(),
            peers: vec!["alg1".to_owned()],
            limit: None,
            floor: Some(floor),
        }
    }

    #[test]
    fn a_row_is_set_against_the_peers_it_names() {
        let said = cells(&run(), &row(1.4));
        assert_eq!(said[1..], ["2.000 ms (packets)", "3.000 ms (alg1)", "1.50x", "", "≥ 1.40x", "0.50x (sell)"]);
        assert_eq!(cells(&run(), &row(1.6))[3], "1.50x (short)");
        let gap = Row { peers: vec!["cupy".to_owned()], ..row(1.0) };
        assert_eq!(cells(&run(), &gap)[2..4], ["gap", "gap"]);
    }

    #[test]
    fn a_limit_is_a_part_of_the_bytes_a_second() {
        let mut run = run();
        let figure = |bytes: f64, seconds| Figure { bytes: Some(bytes), rounds: vec![seconds], ..Figure::default() };
        run.figures.insert("copy/bytes/9/machine/device".to_owned(), figure(4e9, 2e-3));
        run.figures.insert("sum/f32/9/ours/device".to_owned(), figure(4e9, 2.5e-3));
        run.derive();
        let limit = Some("copy/bytes/9/machine/device".to_owned());
        let of_limit = |floor| Row {
            figure: "sum/f32/9/ours/device".to_owned(),
            peers: Vec::new(),
            limit: limit.clone(),
            ..row(floor)
        };
        assert_eq!(cells(&run, &of_limit(0.75))[1..4], ["2.500 ms (ours)", "2.000 ms (machine)", "80.0 %"]);
        assert_eq!(cells(&run, &of_limit(0.97))[3..], ["80.0 % (short)", "", "≥ 97.0 %", ""]);
    }

    /// The peer that the floor's row does not name is twice as fast as ours.
    #[test]
    fn a_row_of_the_readme_is_set_against_the_fastest_peer() {
        let row = Shown { work: "y = A x".to_owned(), figure: "spmv/f64/a/packets/device".to_owned() };
        assert_eq!(shown(&run(), &row)[1..], ["2.000 ms", "1.000 ms (sell)", "0.50x", ""]);
        let mut faster = run();
        let figure = Figure { rounds: vec![5e-4], peer: true, ..Figure::default() };
        faster.figures.insert("spmv/f64/a/planted/device".to_owned(), figure);
        faster.derive();
        assert_eq!(shown(&faster, &row)[2..4], ["500.0 us (planted)", "0.25x"]);
        let alone = Shown { figure: "spmv/f64/b/packets/device".to_owned(), ..row };
        assert_eq!(shown(&run(), &alone)[1..], ["gap", "none", "", ""]);
    }

    #[test]
    fn rows_are_of_what_a_run_measured() {
        let (measured, newer) = ("spmv/f64/a/packets/device", "sum/f32/9/ours/device");
        let (on_cpu, others) = ("spmv/f64/a/packets/cpu", "spmv/f64/a/ours/device");
        assert!(is_of(measured, &run()) && !is_of(newer, &run()) && !is_of(on_cpu, &run()));
        assert!(!is_of(others, &run()) && is_of("spmv/f64/b/packets/device", &run()), "another case of the same work");
        let mut run = run();
        run.place.backend = "cpu".to_owned();
        assert!(!is_of(measured, &run) && is_of(on_cpu, &run));
    }

    #[test]
    fn what_is_lost_is_said_with_the_reason() {
        let losses =
            [("spmv".to_owned(), "less special".to_owned()), ("spmv/f64".to_owned(), "columns".to_owned())].into();
        let said = page(&run(), &Tables { rows: vec![row(1.4)], losses, ..Tables::default() });
        assert!(said.contains("- columns: `spmv/f64/a/device` 0.50x (sell)"), "{said}");
        assert!(page(&run(), &Tables::default()).contains("not looked into yet"));
    }

    #[test]
    fn only_what_lies_between_the_marks_changes() {
        let old = format!("before {BEGIN}\nold\n{END} after");
        assert_eq!(between_marks(&old, "new\n").unwrap(), format!("before {BEGIN}\nnew\n{END} after"));
        assert_eq!(between_marks("no marks", "new"), None);
    }
}
