//! One HTML page: the comparison, and each figure over the recorded history.

use std::collections::BTreeMap;

use plotters::prelude::*;

use super::{id::Id, record::Run, report::Report};
use crate::Outcome;

const SIZE: (u32, u32) = (640, 260);
const STYLE: &str = "body{font:14px/1.4 sans-serif;margin:2em;max-width:100em}pre{background:#f6f6f6;padding:1em;overflow:auto}\
                     .plots{display:flex;flex-wrap:wrap;gap:1em}figure{margin:0}figcaption{font-family:monospace}";

/// The page. `history`: runs of one device, oldest first.
pub(crate) fn html(report: &Report<'_>, history: &[Run]) -> Outcome<String> {
    let mut plots = String::new();
    for (group, series) in series(history) {
        plots += &format!("<figure><figcaption>{}</figcaption>{}</figure>\n", escape(&group), plot(&series, history)?);
    }
    Ok(format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Benchmarks: {revision}</title><style>{STYLE}</style>\n\
         <h1>Benchmarks of {revision}</h1>\n<pre>{text}</pre>\n<h2>History: {count} runs of {folder}</h2>\n<p>Medians over the rounds \
         of each run, with the least and the greatest; time in ms.</p>\n<div class=\"plots\">\n{plots}</div></html>\n",
        revision = escape(&report.this.revision),
        text = escape(&report.text()),
        count = history.len(),
        folder = escape(&report.this.place.folder()),
    ))
}

/// A run's place in the history; median, least and greatest in ms.
struct Point {
    run: usize,
    median: f64,
    least: f64,
    greatest: f64,
}

/// For each group and hand, its points.
type Series = BTreeMap<String, Vec<Point>>;

fn series(history: &[Run]) -> BTreeMap<String, Series> {
    let mut all: BTreeMap<String, Series> = BTreeMap::new();
    for (run, figures) in history.iter().map(|run| &run.figures).enumerate() {
        for (id, figure) in figures {
            let Id { group, by } = Id::parse(id);
            let least = figure.rounds.iter().copied().fold(f64::INFINITY, f64::min);
            let greatest = figure.rounds.iter().copied().fold(0.0, f64::max);
            let point = Point { run, median: 1e3 * figure.median, least: 1e3 * least, greatest: 1e3 * greatest };
            all.entry(group).or_default().entry(by.to_owned()).or_default().push(point);
        }
    }
    all
}

fn plot(series: &Series, history: &[Run]) -> Outcome<String> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let top = series.values().flatten().map(|point| point.greatest).fold(0.0, f64::max) * 1.1;
        let last = history.len().saturating_sub(1) as f64;
        let mut chart = ChartBuilder::on(&root)
            .margin(8)
            .x_label_area_size(24)
            .y_label_area_size(64)
            .build_cartesian_2d(-0.5..last + 0.5, 0.0..top.max(f64::MIN_POSITIVE))?;
        let name = |x: &f64| {
            let run = history.get(x.round() as usize).filter(|_| (x - x.round()).abs() < 1e-6);
            run.map_or_else(String::new, |run| run.revision.clone())
        };
        chart
            .configure_mesh()
            .x_labels(history.len().min(8))
            .x_label_formatter(&name)
            .y_labels(6)
            .light_line_style(WHITE)
            .draw()?;
        for (index, (by, points)) in series.iter().enumerate() {
            let colour = Palette99::pick(index).to_rgba();
            let line = points.iter().map(|point| (point.run as f64, point.median));
            chart
                .draw_series(LineSeries::new(line, colour.stroke_width(2)).point_size(3))?
                .label(by)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
            let bar = |point: &Point| {
                let x = point.run as f64;
                PathElement::new([(x, point.least), (x, point.greatest)], colour.stroke_width(1))
            };
            chart.draw_series(points.iter().map(bar))?;
        }
        chart
            .configure_series_labels()
            .background_style(WHITE.mix(0.8))
            .position(SeriesLabelPosition::LowerLeft)
            .draw()?;
        root.present()?;
    }
    Ok(svg)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::record::Figure;
    use super::*;

    #[test]
    fn every_figure_has_a_line_over_the_history() {
        let run = |revision: &str, seconds: f64| {
            let figure = |peer| Figure { rounds: vec![seconds, 1.1 * seconds], peer, ..Figure::default() };
            let ids = [("spmv/f64/a/ours/device", false), ("spmv/f64/a/peer/device", true), ("odd<", false)];
            let figures = ids.into_iter().map(|(id, peer)| (id.to_owned(), figure(peer))).collect();
            let mut run = Run { revision: revision.to_owned(), figures, ..Run::default() };
            run.derive();
            run
        };
        let history = [run("aaa", 1e-3), run("bbb", 2e-3)];
        let report =
            Report { this: &history[1], base: None, base_name: "", rows: &[], threshold: 0.05, interleaved: false };
        let page = html(&report, &history).unwrap();
        assert_eq!(page.matches("<svg").count(), 2, "a plot for each group");
        for part in ["aaa", "bbb", "spmv/f64/a/device", "odd&lt;", "2 runs"] {
            assert!(page.contains(part), "{part}");
        }
        assert!(html(&report, &[]).unwrap().contains("0 runs"));
    }
}
