//! The residual history as a picture.

use plotters::{prelude::*, style::FontTransform};

use crate::Outcome;

/// |r|/|b| after each iteration, on a logarithmic axis, as SVG. Where there is none above 0, the picture says so.
pub(crate) fn residuals(name: &str, history: &[f64], norm_b: f64) -> Outcome<String> {
    let mut svg = String::new();
    draw(&mut svg, name, history, norm_b).map_err(|error| format!("the picture: {error}"))?;
    Ok(svg)
}

type Drawn = Result<(), Box<dyn std::error::Error>>;

fn draw(svg: &mut String, name: &str, history: &[f64], norm_b: f64) -> Drawn {
    let points: Vec<(f64, f64)> = history.iter().enumerate().map(|(i, r)| (i as f64, r / norm_b)).collect();
    let points: Vec<(f64, f64)> = points.into_iter().filter(|(_, r)| *r > 0.0 && r.is_finite()).collect();
    let root = SVGBackend::with_string(svg, (800, 500)).into_drawing_area();
    root.fill(&WHITE)?;
    let title = format!("Conjugate gradients: {name}");
    if points.is_empty() {
        let area = root.titled(&title, ("sans-serif", 20))?;
        area.draw(&Text::new("no residual above 0 to draw", (300, 230), ("sans-serif", 15)))?;
        return Ok(root.present()?);
    }
    let bounds = points.iter().fold((f64::MAX, 0.0), |(low, high): (f64, f64), (_, r)| (low.min(*r), high.max(*r)));
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 20))
        .margin(15)
        .x_label_area_size(40)
        .y_label_area_size(70)
        .build_cartesian_2d(0.0..history.len() as f64, (bounds.0 * 0.5..bounds.1 * 2.0).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("iteration")
        .y_desc("|r| / |b|")
        .axis_desc_style(("sans-serif", 15).into_text_style(&root).transform(FontTransform::None))
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y:.0e}"))
        .draw()?;
    chart.draw_series(LineSeries::new(points, &BLUE))?;
    Ok(root.present()?)
}
