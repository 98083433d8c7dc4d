//! The tables that `cargo xtask bench` prints, as text and as Markdown.

use super::{
    compare::{Row, Verdict},
    groups::against_peers,
    record::{Failure, Figure, Gap, Run},
    units,
};

/// A comparison and the runs that it is of.
pub(crate) struct Report<'a> {
    pub(crate) this: &'a Run,
    /// Without one there is nothing to judge.
    pub(crate) base: Option<&'a Run>,
    pub(crate) base_name: &'a str,
    pub(crate) rows: &'a [Row],
    pub(crate) threshold: f64,
    pub(crate) interleaved: bool,
}

impl Report<'_> {
    /// The place, the runs, and how they were measured.
    pub(crate) fn heading(&self) -> Vec<String> {
        let mut lines = vec![place(self.this)];
        if let Some(base) = self.base {
            lines.push(format!("this      {}", of(self.this)));
            lines.push(format!("baseline  {} ({})", of(base), self.base_name));
            if self.interleaved {
                lines.push(format!("{} rounds in turn; intervals over the rounds' ratios", self.this.rounds));
            } else {
                lines.push(
                    "NOT measured in turn: whatever differed between the two times (clocks, load, another machine of the same \
                     kind) is in the changes"
                        .to_owned(),
                );
            }
            if self.this.compiler != base.compiler {
                lines.push(format!("compilers differ: {:?}, baseline {:?}", self.this.compiler, base.compiler));
            }
        } else {
            lines.push(of(self.this));
        }
        lines
    }

    /// How many of which verdict.
    pub(crate) fn summary(&self) -> String {
        let count = |verdict| self.rows.iter().filter(|row| row.verdict == verdict).count();
        let all = [
            Verdict::Slower,
            Verdict::Gone,
            Verdict::Faster,
            Verdict::Same,
            Verdict::Open,
            Verdict::NotJudged,
            Verdict::New,
        ];
        all.map(|verdict| format!("{} {}", count(verdict), verdict.text())).join(", ")
    }

    /// The comparison, or without a baseline the figures.
    pub(crate) fn text(&self) -> String {
        let mut lines = self.heading();
        lines.push(String::new());
        lines.extend(columns(&self.cells()));
        if self.base.is_some() {
            lines.extend([String::new(), format!("threshold {}: {}", units::percent(self.threshold), self.summary())]);
        }
        lines.extend(peers(self.this));
        lines.extend(compile(self.this));
        lines.extend(self.missing());
        lines.join("\n") + "\n"
    }

    /// The report for a pull request: the important rows first, the rest folded.
    pub(crate) fn markdown(&self) -> String {
        let mut lines: Vec<String> = self.heading().iter().map(|line| format!("{line}  ")).collect();
        if self.base.is_none() {
            let cells = self.cells();
            lines.extend([String::new(), markdown_table(&cells[0], &cells[1..])]);
        } else {
            self.markdown_verdicts(&mut lines);
        }
        for part in [peers(self.this), self.missing()] {
            if !part.is_empty() {
                lines.extend(["\n```".to_owned(), part.join("\n").trim().to_owned(), "```".to_owned()]);
            }
        }
        lines.join("\n") + "\n"
    }

    fn markdown_verdicts(&self, lines: &mut Vec<String>) {
        lines.extend([
            String::new(),
            format!("**threshold {}: {}**", units::percent(self.threshold), self.summary()),
            String::new(),
        ]);
        let cells = self.cells();
        let (head, body) = cells.split_first().expect("a table has a head");
        let matters = |row: &Row| !matches!(row.verdict, Verdict::Same | Verdict::New);
        let judged = self.rows.iter().zip(body);
        let (first, rest): (Vec<_>, Vec<_>) = judged.partition(|(row, _)| matters(row));
        let table = |rows: Vec<(&Row, &Vec<String>)>| {
            let rows: Vec<Vec<String>> = rows.into_iter().map(|(_, cells)| cells.clone()).collect();
            markdown_table(head, &rows)
        };
        if !first.is_empty() {
            lines.extend([table(first), String::new()]);
        }
        lines.push(format!("<details><summary>{} more</summary>\n\n{}\n\n</details>", rest.len(), table(rest)));
    }

    /// Gaps and failures.
    fn missing(&self) -> Vec<String> {
        let gap = |gap: &Gap| {
            let id = gap.id.as_ref().map_or_else(String::new, |id| format!(" {id}"));
            format!("gap: {}{id}: {}", gap.peer, gap.reason)
        };
        let failed =
            |of: &'static str| move |failure: &Failure| format!("FAILED{of}: {}: {}", failure.id, failure.reason);
        let mut lines: Vec<String> = self.this.gaps.iter().map(gap).collect();
        lines.extend(self.this.failures.iter().map(failed("")));
        lines.extend(self.base.iter().flat_map(|base| &base.failures).map(failed(" in the baseline")));
        if lines.is_empty() { lines } else { [vec![String::new()], lines].concat() }
    }

    /// A head, and a line for each figure.
    fn cells(&self) -> Vec<Vec<String>> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
        if self.base.is_none() {
            let figures = self.this.figures.iter();
            let row = |(id, figure): (&String, &Figure)| {
                let [speed, ceiling] = speeds(self.this, figure);
                vec![id.clone(), units::time(figure.median), units::percent(figure.spread), speed, ceiling]
            };
            return [words(&["figure", "median", "spread", "speed", "of ceiling"])]
                .into_iter()
                .chain(figures.map(row))
                .collect();
        }
        let time = |figure: &Option<Figure>| {
            figure.as_ref().map_or_else(|| "-".to_owned(), |figure| units::time(figure.median))
        };
        let row = |row: &Row| {
            let [speed, ceiling] = row.this.as_ref().map_or_else(Default::default, |figure| speeds(self.this, figure));
            let (change, interval) = row.change.map_or_else(Default::default, |change| {
                let (low, high) = (units::change(change.low), units::change(change.high));
                (units::change(change.estimate), format!("[{low}, {high}]"))
            });
            let allowed =
                if row.allowed && matches!(row.verdict, Verdict::Slower | Verdict::Gone) { " (allowed)" } else { "" };
            let reason = if row.reason.is_empty() { String::new() } else { format!(": {}", row.reason) };
            let verdict = format!("{}{allowed}{reason}", row.verdict.text());
            vec![row.id.clone(), time(&row.base), time(&row.this), change, interval, speed, ceiling, verdict]
        };
        let head = words(&["figure", "baseline", "this", "change", "95 %", "speed", "of ceiling", "verdict"]);
        [head].into_iter().chain(self.rows.iter().map(row)).collect()
    }
}

/// The place of a run: device, driver, compilers and host.
pub(crate) fn place(run: &Run) -> String {
    let place = &run.place;
    let driver = place.driver.as_ref().map(|driver| format!("driver {driver}"));
    let nvrtc = run.compiler.nvrtc.as_ref().map(|nvrtc| format!("NVRTC {nvrtc}"));
    let host = format!("{}, {} threads", place.host.processor, place.host.threads);
    let device = (place.device != place.backend).then(|| place.device.clone());
    let parts = [device, Some(place.backend.clone()), driver, nvrtc, run.compiler.rustc.clone(), Some(host)];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn of(run: &Run) -> String {
    let seconds = run.seconds.map_or_else(String::new, |seconds| format!(", {seconds:.0} s"));
    format!("{} of {}, {} rounds{seconds}", run.revision, run.date, run.rounds)
}

/// Bytes a second, or operations where it is not told how many bytes; and the part of the ceiling.
pub(crate) fn speeds(run: &Run, figure: &Figure) -> [String; 2] {
    let bandwidth = figure.bandwidth().map(units::bandwidth);
    let rate = figure.flops.map(|flops| units::rate(flops / figure.median));
    let ceiling = run.of_ceiling(figure).map(units::percent).zip(figure.ceiling.clone());
    [bandwidth.or(rate).unwrap_or_default(), ceiling.map_or_else(String::new, |(part, name)| format!("{part} {name}"))]
}

/// The groups that have peers.
fn peers(run: &Run) -> Vec<String> {
    let rows = against_peers(run);
    if rows.is_empty() {
        return Vec::new();
    }
    let head = ["against peers", "best / ours", "ours", "peers"].map(str::to_owned).to_vec();
    [vec![String::new()], columns(&[vec![head], rows].concat())].concat()
}

fn compile(run: &Run) -> Vec<String> {
    let mut lines = Vec::new();
    if !run.compile.is_empty() {
        lines.push("\ncompiling, loading, planning; in no figure:".to_owned());
        lines.extend(columns(&run.compile.iter().map(|(id, &s)| vec![id.clone(), units::time(s)]).collect::<Vec<_>>()));
    }
    lines
}

/// Rows of equal length as lines, each column as wide as its widest cell; the first to the left, the others to the right but the last.
fn columns(rows: &[Vec<String>]) -> Vec<String> {
    let count = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(width).collect();
    let line = |row: &Vec<String>| {
        let cell = |(column, text): (usize, &String)| match column {
            0 => format!("{text:<width$}", width = widths[0]),
            last if last + 1 == count && count > 3 => text.clone(),
            column => format!("{text:>width$}", width = widths[column]),
        };
        row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// A table in Markdown; the first column to the left, the others to the right.
pub(crate) fn markdown_table(head: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| {
        format!("| {} |", cells.iter().map(|cell| cell.replace('|', "\\|")).collect::<Vec<_>>().join(" | "))
    };
    let rule: Vec<String> = (0..head.len()).map(|column| if column == 0 { "---" } else { "---:" }.to_owned()).collect();
    let lines = [line(head), line(&rule)].into_iter().chain(rows.iter().map(|row| line(row)));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::compare::{Rules, compare};
    use super::*;

    fn run(by: f64) -> Run {
        let figure = |peer, rounds: [f64; 9]| {
            let rounds = rounds.map(|x| x * by).to_vec();
            Figure { rounds, peer, bytes: Some(4e9), ceiling: Some("copy".to_owned()), ..Figure::default() }
        };
        let mut run = Run {
            revision: "abc".to_owned(),
            rounds: 9,
            figures: BTreeMap::from([
                ("copy/bytes/4/machine/device".to_owned(), figure(true, [0.5; 9])),
                ("spmv/f64/a/packets/device".to_owned(), figure(false, [1.0; 9])),
                ("spmv/f64/a/cusparse/device".to_owned(), figure(true, [1.69; 9])),
            ]),
            gaps: vec![Gap { peer: "cupy".to_owned(), id: None, reason: "No module".to_owned() }],
            ..Run::default()
        };
        run.derive();
        run
    }

    #[test]
    fn a_comparison_is_told_in_both_forms() {
        let (this, base) = (run(1.2), run(1.0));
        let rules = Rules { threshold: 0.05, interleaved: true, allow: Vec::new() };
        let rows = compare(&this, &base, &rules);
        let report = Report {
            this: &this,
            base: Some(&base),
            base_name: "main",
            rows: &rows,
            threshold: rules.threshold,
            interleaved: true,
        };
        let text = report.text();
        for part in [
            "1.000 s",
            "1.200 s",
            "+20.0 %  [+20.0 %, +20.0 %]",
            "50 % copy  SLOWER",
            "1 SLOWER, 0 GONE",
            "1.69x",
            "gap: cupy: No module",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert!(report.markdown().contains("| spmv/f64/a/packets/device | 1.000 s |"), "{}", report.markdown());
        let alone = Report { base: None, rows: &[], ..report };
        for told in [alone.text(), alone.markdown()] {
            assert!(told.contains("spmv/f64/a/packets/device") && !told.contains("SLOWER"), "{told}");
        }
    }
}
