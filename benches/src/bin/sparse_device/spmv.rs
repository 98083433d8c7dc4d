//! One product with a matrix on the device.

use gpu_array::GpuArray;
use gpu_sparse::{CsrMatrix, Scalar};
use ndarray::aview1;
use serde_json::json;

use crate::{Outcome, formats::Resident, options::Options, reference::largest_error, report::Report, timing};

pub(crate) fn measure<T: Scalar>(
    a: &CsrMatrix<T>,
    resident: &Resident<T>,
    x: &[T],
    options: &Options,
    report: &mut Report,
) -> Outcome {
    let stream = resident.stream();
    let device_x = GpuArray::from_ndarray(stream, &aview1(x))?;
    // NaN shows a row that was not written.
    let mut y = GpuArray::full(stream, a.rows(), T::nan())?;
    resident.load_kernels()?;
    resident.matvec_into(&device_x, &mut y)?;
    let error = largest_error(a, x, y.to_ndarray()?.as_slice().unwrap_or_default());
    let timing = timing::device_ms(stream, options.batches, || resident.matvec_into(&device_x, &mut y))?;

    let bytes = resident.bytes() + (size_of::<T>() * (a.rows() + a.cols())) as u64;
    report.line(json!({
        "what": "spmv",
        "ms": timing.median_ms,
        "least_ms": timing.least_ms,
        "gb_per_s": bytes as f64 / timing.median_ms / 1e6,
        "format_bytes": resident.bytes(),
        "bytes_per_nonzero": resident.bytes() as f64 / a.nnz().max(1) as f64,
        "moved_bytes": bytes,
        "batches": options.batches,
        "runs_per_batch": timing.runs_per_batch,
        "error": error,
    }));
    Ok(())
}
