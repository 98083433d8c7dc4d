//! Products and conjugate gradients on a device, timed: `sparse_device --case poisson3d:256:f64 --what spmv,cg,build`.
//!
//! Prints one JSON object a line, each as soon as it is measured; what fails is a line with `"what": "error"`, the rest goes on, and
//! the program ends with code 1. `--export DIR` writes the matrix for the programs of peers. `benches/peers/sparse_compare.py`
//! runs it and them in turn.
#![forbid(unsafe_code)]

mod build;
mod case;
mod cg;
mod export;
mod formats;
mod options;
mod reference;
mod report;
mod spmv;
mod timing;

use std::{error::Error, process::ExitCode, time::Instant};

use clap::Parser;
use gpu_driver::{Device, emulated::Emulated, nvrtc};
use gpu_sparse::{CsrMatrix, Scalar};
use serde_json::json;

use case::{Case, ElementType};
use export::Raw;
use formats::Resident;
use options::{Options, What};
use report::Report;

/// Why something could not be measured, for the person who reads the lines.
type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let options = Options::parse();
    let mut report = Report::default();
    match open(&options) {
        Ok(device) => {
            report.guard("device", |report| describe(device.as_ref(), report));
            for case in &options.cases {
                report.case(case.name());
                report.guard("case", |report| match case.element_type() {
                    ElementType::F64 => run::<f64>(case, device.as_ref(), &options, report),
                    ElementType::F32 => run::<f32>(case, device.as_ref(), &options, report),
                });
            }
        }
        Err(error) => report.error("device", error.as_ref()),
    }
    if report.failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The device to measure on; none where nothing asked for needs one.
fn open(options: &Options) -> Outcome<Option<Device>> {
    Ok(match (options.needs_device(), options.emulated) {
        (false, _) => None,
        (true, true) => Some(Emulated::new().open()?),
        (true, false) => Some(Device::first()?),
    })
}

fn describe(device: Option<&Device>, report: &mut Report) -> Outcome {
    let Some(device) = device else { return Ok(()) };
    let driver = if device.is_emulated() { None } else { Some(Device::driver_version()?.to_string()) };
    let nvrtc = nvrtc::version().map(|(version, _)| version.to_string()).ok();
    report.line(json!({
        "what": "device",
        "device": device.name(),
        "emulated": device.is_emulated(),
        "multiprocessors": device.multiprocessors()?,
        "memory_bytes": device.memory()?.1,
        "driver_cuda": driver,
        "nvrtc": nvrtc,
    }));
    Ok(())
}

/// Everything that was asked for of one matrix.
fn run<T: Scalar + Raw>(case: &Case, device: Option<&Device>, options: &Options, report: &mut Report) -> Outcome {
    let started = Instant::now();
    let a: CsrMatrix<T> = case.matrix(options)?;
    report.matrix(&a);
    report.line(json!({
        "what": "matrix",
        "cols": a.cols(),
        "generate_s": started.elapsed().as_secs_f64(),
        "threads": rayon::current_num_threads(),
        "contrast": options.contrast,
    }));
    let (x, b) = (case::random_vector::<T>(a.cols()), case::right_hand_side::<T>(a.rows()));
    if let Some(folder) = &options.export {
        report.guard("export", |report| export::write(folder, case.name(), &a, &x, &b, report));
    }
    if options.what.contains(&What::Build) {
        report.guard("build", |report| build::measure(&a, report));
    }
    let Some(device) = device else { return Ok(()) };
    for &format in &options.formats {
        report.format(Some(format));
        report.guard("upload", |report| {
            let resident = Resident::upload(&a, format, device)?;
            report.line(json!({"what": "upload", "format_bytes": resident.bytes(), "seconds": resident.upload_s()}));
            if options.what.contains(&What::Spmv) {
                report.guard("spmv", |report| spmv::measure(&a, &resident, &x, options, report));
            }
            if options.what.contains(&What::Cg) {
                report.guard("cg", |report| cg::measure(&a, &resident, &b, options, report));
            }
            Ok(())
        });
    }
    report.format(None);
    Ok(())
}
