//! The residual history as a picture.

use std::{error::Error, path::Path};

use plotters::{prelude::*, style::FontTransform};

/// Draws |r|/|b| after each iteration, on a logarithmic axis, as SVG.
pub(crate) fn residuals(path: &Path, name: &str, history: &[f64], norm_b: f64) -> Result<(), Box<dyn Error>> {
    let points: Vec<(f64, f64)> = history.iter().enumerate().map(|(i, r)| (i as f64, r / norm_b)).collect();
    let points: Vec<(f64, f64)> = points.into_iter().filter(|(_, r)| *r > 0.0 && r.is_finite()).collect();
    if points.is_empty() {
        return Err(format!("{}: no residual to draw", path.display()).into());
    }
    let bounds = points.iter().fold((f64::MAX, 0.0), |(low, high): (f64, f64), (_, r)| (low.min(*r), high.max(*r)));
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());

    let root = SVGBackend::new(path, (800, 500)).into_drawing_area();
    root.fill(&WHITE).map_err(|error| wrong(&error))?;
    let mut chart = ChartBuilder::on(&root)
        .caption(format!("Conjugate gradients: {name}"), ("sans-serif", 20))
        .margin(15)
        .x_label_area_size(40)
        .y_label_area_size(70)
        .build_cartesian_2d(0.0..history.len() as f64, (bounds.0 * 0.5..bounds.1 * 2.0).log_scale())
        .map_err(|error| wrong(&error))?;
    chart
        .configure_mesh()
        .x_desc("iteration")
        .y_desc("|r| / |b|")
        .axis_desc_style(("sans-serif", 15).into_text_style(&root).transform(FontTransform::None))
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y:.0e}"))
        .draw()
        .map_err(|error| wrong(&error))?;
    chart.draw_series(LineSeries::new(points, &BLUE)).map_err(|error| wrong(&error))?;
    root.present().map_err(|error| wrong(&error))?;
    Ok(())
}
