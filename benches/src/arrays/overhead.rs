//! The cost of an expression to the host: building it, looking its kernel up, launching it.

use gpu_array::GpuArray;
use ndarray::Ix1;

use super::{answers::check_lincomb, computing::elements, input::Input};
use crate::harness::Harness;

const OPERATION: &str = "expression-overhead";
const BY: &str = "gpu-array";

/// `5 x + 6 y` again and again, on arrays so short that the device is done first.
pub(super) fn figures(harness: &mut Harness) {
    let n = harness.set().pick(1 << 12, 1 << 14, 1 << 14);
    let x = Input::<f32>::new(n);
    let y = Input::behind(&x);
    harness.figure(OPERATION, "f32", format!("{n}-eval"), BY).enqueue_only().on_gpu(
        |gpu| Ok((x.on(gpu)?, y.on(gpu)?)),
        |(x, y)| Ok((5.0 * &x.device + 6.0 * &y.device).eval()?),
        |(x, y), got| Ok(check_lincomb(&x.host, &y.host, &elements(&got)?)),
    );
    harness.figure(OPERATION, "f32", format!("{n}-assign"), BY).enqueue_only().on_gpu(
        |gpu| Ok((x.on(gpu)?, y.on(gpu)?, GpuArray::<f32, Ix1>::zeros(gpu.stream(), n)?)),
        |(x, y, out)| Ok(out.assign(5.0 * &x.device + 6.0 * &y.device)?),
        |(x, y, out), ()| Ok(check_lincomb(&x.host, &y.host, &elements(out)?)),
    );
}
