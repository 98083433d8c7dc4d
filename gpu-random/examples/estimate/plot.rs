//! The intervals as a picture.

use std::{error::Error, path::Path};

use plotters::prelude::*;

use crate::running::Snapshot;

/// Draws each estimate's interval relative to the true value, over the number of values, as SVG.
pub(crate) fn intervals(path: &Path, series: &[(&str, Vec<Snapshot>)]) -> Result<(), Box<dyn Error>> {
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let all = || series.iter().flat_map(|(_, snapshots)| snapshots);
    let most = all().map(|snapshot| snapshot.count).max().unwrap_or(1) as f64;
    let least = all().map(|snapshot| snapshot.count).min().unwrap_or(1) as f64;
    let high = all().map(|at| (at.half_width + (at.mean - at.truth).abs()) / at.truth).fold(1e-9, f64::max);

    let root = SVGBackend::new(path, (800, 500)).into_drawing_area();
    root.fill(&WHITE).map_err(|error| wrong(&error))?;
    let mut chart = ChartBuilder::on(&root)
        .caption("Relative errors of the estimates; 95 % intervals", ("sans-serif", 20))
        .margin(15)
        .x_label_area_size(40)
        .y_label_area_size(70)
        .build_cartesian_2d((least..most.max(2.0 * least)).log_scale(), -high..high)
        .map_err(|error| wrong(&error))?;
    chart
        .configure_mesh()
        .x_desc("numbers")
        .x_label_formatter(&|x| format!("{x:.0e}"))
        .y_label_formatter(&|y| format!("{y:.3}"))
        .draw()
        .map_err(|error| wrong(&error))?;
    for ((_, snapshots), color) in series.iter().zip([BLUE, RED]) {
        for bound in [-1.0, 0.0, 1.0] {
            let points =
                snapshots.iter().map(|at| (at.count as f64, (at.mean + bound * at.half_width - at.truth) / at.truth));
            chart.draw_series(LineSeries::new(points, &color)).map_err(|error| wrong(&error))?;
        }
    }
    root.present().map_err(|error| wrong(&error))?;
    Ok(())
}
